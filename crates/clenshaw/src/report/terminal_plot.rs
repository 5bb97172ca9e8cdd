//! Plots of filter responses in the terminal, with Braille characters of eight dots each.

use super::axis::Axis;

/// The minimum width, which fits the labels of the horizontal axis.
const MIN_COLUMNS: usize = 44;

/// Plots `h(mu)` over `mu` in [-1, 1], `width` characters wide and with `height` rows besides title and
/// axis; a plot too narrow for its labels is widened.
///
/// `points` must ascend in `mu`; values that are not finite are skipped. The vertical axis always
/// includes 0, the response that removes a frequency.
///
/// ```
/// use clenshaw::report::terminal_plot;
/// let low_pass = [(-1.0, 0.0), (0.0, 0.2), (1.0, 1.0)];
/// let plot = terminal_plot("h(mu) on cora", &low_pass, 60, 6);
/// assert!(plot.lines().all(|line| line.chars().count() <= 60));
/// assert!(plot.ends_with(" 1 (low frequency)\n"));
/// ```
pub fn terminal_plot(title: &str, points: &[(f64, f64)], width: usize, height: usize) -> String {
    let height = height.max(2);
    let points: Vec<(f64, f64)> = points.iter().copied().filter(|(_, h)| h.is_finite()).collect();
    let low = points.iter().fold(0.0, |low: f64, &(_, h)| low.min(h));
    let high = points.iter().fold(0.0, |high: f64, &(_, h)| high.max(h));
    let axis = Axis::linear(low, high, height / 2);

    let labels = row_labels(axis, height);
    let gutter = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(gutter + 2).max(MIN_COLUMNS);
    let mut canvas = BrailleCanvas::new(columns, height);
    if low < 0.0 && high > 0.0 {
        canvas.draw_dotted_line(axis.fraction(0.0));
    }
    canvas.draw_curve(|mu| interpolate(&points, mu).map(|h| axis.fraction(h)));

    let rows = labels.iter().enumerate().map(|(r, label)| {
        let edge = if label.is_empty() { '│' } else { '┤' };
        format!("{label:>gutter$} {edge}{}", canvas.row(r)).trim_end().to_owned() + "\n"
    });
    let indent = " ".repeat(gutter + 1);
    let rows: String = rows.collect();
    let (line, names) = (axis_line(columns), axis_labels(columns));
    format!("{indent} {title}\n{rows}{indent}└{line}\n{indent} {names}\n")
}

/// The label of each row: the label of the tick in that row, or empty.
fn row_labels(axis: Axis, height: usize) -> Vec<String> {
    let mut labels = vec![String::new(); height];
    for tick in axis.ticks() {
        labels[dot_row(axis.fraction(tick), height) / 4] = axis.label(tick);
    }
    labels
}

/// The horizontal axis, with ticks at -1, -1/2, 0, 1/2 and 1.
fn axis_line(columns: usize) -> String {
    let ticks = [0, 1, 2, 3, 4].map(|quarter| quarter * (columns - 1) / 4);
    (0..columns).map(|c| if ticks.contains(&c) { '┴' } else { '─' }).collect()
}

/// The labels of the horizontal axis: both ends of the spectrum, and its name in the middle.
fn axis_labels(columns: usize) -> String {
    let (left, middle, right) = ("-1 (high frequency)", "mu", "1 (low frequency)");
    let before = ((columns - middle.len()) / 2).saturating_sub(left.len());
    let after = columns - left.len() - before - middle.len();
    format!("{left}{:before$}{middle}{right:>after$}", "")
}

/// The value at `mu` by linear interpolation; `None` outside the points.
fn interpolate(points: &[(f64, f64)], mu: f64) -> Option<f64> {
    let after = points.partition_point(|&(x, _)| x < mu);
    let &(x1, h1) = points.get(after)?;
    if x1 == mu {
        return Some(h1);
    }
    let (x0, h0) = points[after.checked_sub(1)?];
    Some(h0 + (h1 - h0) * (mu - x0) / (x1 - x0))
}

/// The row of dots, counted from the top, at a fraction of the height.
fn dot_row(fraction: f64, height: usize) -> usize {
    ((1.0 - fraction) * (4 * height - 1) as f64).round() as usize
}

/// A grid of Braille characters, each two dots wide and four dots high.
struct BrailleCanvas {
    columns: usize,
    height: usize,
    cells: Vec<u8>,
}

impl BrailleCanvas {
    fn new(columns: usize, height: usize) -> Self {
        Self { columns, height, cells: vec![0; columns * height] }
    }

    /// Draws the dot in column `x` and row `y`, counted in dots from the top left.
    fn draw_dot(&mut self, x: usize, y: usize) {
        // The bits of U+2800: the upper three rows column by column, then the lowest row.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.cells[y / 4 * self.columns + x / 2] |= BITS[y % 4][x % 2];
    }

    /// Draws a dotted horizontal line at a fraction of the height.
    fn draw_dotted_line(&mut self, fraction: f64) {
        let y = dot_row(fraction, self.height);
        (0..2 * self.columns).step_by(4).for_each(|x| self.draw_dot(x, y));
    }

    /// Draws a curve, connecting the dots of adjacent columns.
    fn draw_curve(&mut self, fraction_at: impl Fn(f64) -> Option<f64>) {
        let mut previous: Option<usize> = None;
        for x in 0..2 * self.columns {
            let mu = 2.0 * x as f64 / (2 * self.columns - 1) as f64 - 1.0;
            let y = fraction_at(mu).map(|fraction| dot_row(fraction, self.height));
            if let Some(y) = y {
                let (top, bottom) = match previous {
                    Some(from) if from < y => (from + 1, y),
                    Some(from) if from > y => (y, from - 1),
                    _ => (y, y),
                };
                (top..=bottom).for_each(|y| self.draw_dot(x, y));
            }
            previous = y;
        }
    }

    /// The characters of a row, counted from the top.
    fn row(&self, r: usize) -> String {
        let cells = &self.cells[r * self.columns..(r + 1) * self.columns];
        let shape = |&bits: &u8| match bits {
            0 => ' ',
            bits => char::from_u32(0x2800 + u32::from(bits))
                .expect("the Braille block has 256 characters"),
        };
        cells.iter().map(shape).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(h: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=200).map(|i| i as f64 / 100.0 - 1.0).map(|mu| (mu, h(mu))).collect()
    }

    #[test]
    fn draws_a_straight_line_and_a_dotted_zero() {
        let expected = [
            "    h(mu) = mu",
            " 1 ┤                                       ⣀⣀⠤⠤⠒⠒⠉",
            "   │                               ⣀⣀⠤⠤⠒⠒⠉⠉",
            "   │                       ⣀⣀⠤⠤⠒⠒⠉⠉",
            " 0 ┤⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁⣀⣁⠤⠥⠒⠓⠉⠉ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁ ⠁",
            "   │       ⣀⣀⠤⠤⠒⠒⠉⠉",
            "-1 ┤⣀⠤⠤⠒⠒⠉⠉",
            "   └┴──────────┴──────────┴──────────┴───────────┴",
            "    -1 (high frequency)   mu     1 (low frequency)",
            "",
        ];
        let plot = terminal_plot("h(mu) = mu", &sampled(|mu| mu), 50, 6);
        assert_eq!(plot, expected.join("\n"), "\n{plot}");
    }

    #[test]
    fn constant_response_is_a_horizontal_line() {
        let plot = terminal_plot("h(mu) = 1", &sampled(|_| 1.0), 80, 8);
        let lines: Vec<&str> = plot.lines().collect();
        assert_eq!(lines[1], format!("1.0 ┤{}", "⠉".repeat(75)));
        assert_eq!(lines[8], "0.0 ┤");
    }

    #[test]
    fn degenerate_input_still_fits_the_width() {
        let broken = [(-1.0, f64::NAN), (0.0, 1.0), (0.5, f64::INFINITY), (1.0, -1.0)];
        for points in [&broken[..], &broken[..1], &[]] {
            let plot = terminal_plot("broken", points, 80, 5);
            assert_eq!(plot.lines().count(), 8);
            assert!(plot.lines().all(|line| line.chars().count() <= 80), "{plot}");
        }
        assert!(terminal_plot("tiny", &broken, 3, 0).contains("(low frequency)"));
    }
}
