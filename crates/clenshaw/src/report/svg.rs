//! Line charts as one self-contained SVG: no script, no style sheet, no font to fetch.
//!
//! Colours are Okabe and Ito's, safe for colour-blind eyes; dashes tell the lines apart in print.

use super::axis::{Axis, Scale};
use std::fmt::Write;

/// Okabe & Ito 2008, those that show on white, with a dash pattern each.
pub(super) const STROKES: [(&str, &str); 6] = [
    ("#0072B2", "none"),
    ("#D55E00", "9 3"),
    ("#009E73", "2 3"),
    ("#CC79A7", "9 3 2 3"),
    ("#E69F00", "5 4"),
    ("#56B4E9", "14 4"),
];
pub(super) const WIDTH: f64 = 640.0;
pub(super) const HEIGHT: f64 = 360.0;
pub(super) const LEFT: f64 = 62.0;
pub(super) const TOP: f64 = 44.0;
pub(super) const BOTTOM: f64 = 58.0;
/// A letter of the 12-pixel face, on the wide side.
const LETTER: f64 = 7.0;
/// So many points are measurements, not a curve.
const FEW: usize = 12;
/// The line and its gap before a name in the legend.
const KEY: f64 = 36.0;

/// A chart of named lines over one pair of axes.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What the chart shows.
    pub title: String,
    /// The name of the horizontal axis.
    pub x_label: String,
    /// What the left end stands for; may be empty.
    pub x_left: String,
    /// What the right end stands for; may be empty.
    pub x_right: String,
    /// The name of the vertical axis.
    pub y_label: String,
    /// The scale of the horizontal axis.
    pub x_scale: Scale,
    /// The scale of the vertical axis.
    pub y_scale: Scale,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// What stands behind them, if anything does.
    pub backdrop: Option<Backdrop>,
}

/// Columns behind the lines: how often what stands on the horizontal axis occurs.
#[derive(Clone, Debug)]
pub struct Backdrop {
    /// Its name in the legend.
    pub name: String,
    /// Left end, right end and height of every column; the highest is as high as the chart.
    pub columns: Vec<(f64, f64, f64)>,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, joined in order.
    pub points: Vec<(f64, f64)>,
}

impl Figure {
    /// The responses of filters over the spectrum of `P~`.
    pub fn responses(title: &str, series: Vec<Series>) -> Self {
        Self {
            title: title.into(),
            x_label: "μ".into(),
            x_left: "high frequency".into(),
            x_right: "low frequency".into(),
            y_label: "h(μ)".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            series,
            backdrop: None,
        }
    }
}

/// Draws a figure; points that are not finite, or have no logarithm to be drawn at, are left out.
/// Few points are marked.
///
/// 0 is always part of a linear vertical axis.
///
/// ```
/// use clenshaw::report::{Figure, Series, svg_plot};
/// let points = vec![(-1.0, 0.0), (1.0, 1.0)];
/// let figure = Figure::responses("Cora", vec![Series { name: "low pass".into(), points }]);
/// assert!(svg_plot(&figure).starts_with("<svg xmlns"));
/// ```
pub fn svg_plot(figure: &Figure) -> String {
    let frame = Frame::around(figure);
    let last = figure.series.len();
    let mut svg = opened(&figure.title);
    if let Some(backdrop) = &figure.backdrop {
        frame.draw_backdrop(&mut svg, last, backdrop);
    }
    frame.draw_grid(&mut svg);
    frame.draw_names(&mut svg, figure);
    for (i, series) in figure.series.iter().enumerate() {
        frame.draw_line(&mut svg, i, series);
        frame.draw_key(&mut svg, i, series);
    }
    svg + "</svg>\n"
}

/// The picture's beginning: its size, its ground and its title.
pub(super) fn opened(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" \
         font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
    )
}

/// The name of the vertical axis, read from below.
pub(super) fn draw_y_name(svg: &mut String, name: &str) {
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    let (name, turn) = (escaped(name), format!("rotate(-90 16 {middle:.1})"));
    push(
        svg,
        format_args!(
            "<text x=\"16\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"{turn}\">{name}</text>"
        ),
    );
}

/// The axes and the box they span.
struct Frame {
    scales: (Scale, Scale),
    x: Axis,
    y: Axis,
    right: f64,
}

impl Frame {
    /// As wide as the legend's longest name allows.
    fn around(figure: &Figure) -> Self {
        let (x, y) = axes(figure);
        let names = figure.series.iter().map(|series| &series.name);
        let names = names.chain(figure.backdrop.iter().map(|backdrop| &backdrop.name));
        let name = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let legend = KEY + LETTER * name as f64 + 24.0;
        let scales = (figure.x_scale, figure.y_scale);
        Self { scales, x, y, right: (WIDTH - legend).max(WIDTH / 2.0) }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.share(value) * (self.right - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.share(value) * (HEIGHT - BOTTOM - TOP)
    }

    /// Ticks, their values and faint lines; the line of 0 is drawn darker.
    fn draw_grid(&self, svg: &mut String) {
        let (right, bottom) = (self.right, HEIGHT - BOTTOM);
        for tick in self.x.ticks() {
            let (x, label) = (self.x(tick), self.x.label(tick));
            line(svg, (x, TOP), (x, bottom), "#e6e6e6");
            text(svg, (x, bottom + 16.0), "middle", &label);
        }
        for tick in self.y.ticks() {
            let (y, label) = (self.y(tick), self.y.label(tick));
            let colour = if tick == 0.0 { "#777" } else { "#e6e6e6" };
            line(svg, (LEFT, y), (right, y), colour);
            text(svg, (LEFT - 8.0, y + 4.0), "end", &label);
        }
        line(svg, (LEFT, TOP), (LEFT, bottom), "#777");
        line(svg, (LEFT, bottom), (right, bottom), "#777");
    }

    fn draw_names(&self, svg: &mut String, figure: &Figure) {
        let y = HEIGHT - BOTTOM + 38.0;
        text(svg, (LEFT, y), "start", &figure.x_left);
        text(svg, ((LEFT + self.right) / 2.0, y), "middle", &figure.x_label);
        text(svg, (self.right, y), "end", &figure.x_right);
        draw_y_name(svg, &figure.y_label);
    }

    fn draw_line(&self, svg: &mut String, i: usize, series: &Series) {
        let points: Vec<(f64, f64)> =
            drawable(self.scales, series).map(|&(x, y)| (self.x(x), self.y(y))).collect();
        let corners: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let corners = corners.join(" ");
        push(svg, format_args!("<polyline points=\"{corners}\" {}/>", stroke(i)));
        let colour = STROKES[i % STROKES.len()].0;
        for (x, y) in points.iter().filter(|_| points.len() <= FEW) {
            push(
                svg,
                format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"),
            );
        }
    }

    /// Columns from the bottom, cut where the axis ends, and their key below the lines'.
    fn draw_backdrop(&self, svg: &mut String, i: usize, backdrop: &Backdrop) {
        let highest = backdrop.columns.iter().fold(0.0, |high: f64, column| high.max(column.2));
        let bottom = HEIGHT - BOTTOM;
        for &(left, right, height) in backdrop.columns.iter().filter(|column| column.2 > 0.0) {
            let edge = |value: f64| self.x(value).clamp(LEFT, self.right);
            let (x, width) = (edge(left), edge(right) - edge(left));
            let height = height / highest * (bottom - TOP);
            rectangle(svg, (x, bottom - height), (width, height));
        }
        let (x, y) = (self.right + 14.0, TOP + 8.0 + 20.0 * i as f64);
        rectangle(svg, (x, y - 6.0), (28.0, 12.0));
        text(svg, (x + KEY, y + 4.0), "start", &backdrop.name);
    }

    fn draw_key(&self, svg: &mut String, i: usize, series: &Series) {
        let (x, y) = (self.right + 14.0, TOP + 8.0 + 20.0 * i as f64);
        let points = format!("{x:.1},{y:.1} {:.1},{y:.1}", x + 28.0);
        push(svg, format_args!("<polyline points=\"{points}\" {}/>", stroke(i)));
        text(svg, (x + KEY, y + 4.0), "start", &series.name);
    }
}

fn stroke(i: usize) -> String {
    let (colour, dashes) = STROKES[i % STROKES.len()];
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\" \
         stroke-linejoin=\"round\""
    )
}

pub(super) fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
    push(
        svg,
        format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
        ),
    );
}

fn rectangle(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64)) {
    push(
        svg,
        format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#e3e3e3\"/>"
        ),
    );
}

pub(super) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, content: &str) {
    let content = escaped(content);
    push(
        svg,
        format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>"),
    );
}

pub(super) fn push(svg: &mut String, element: std::fmt::Arguments) {
    writeln!(svg, "{element}").expect("writing to a string cannot fail");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Linear ones vertically with 0, and room around the lines, but none beyond 0 when it is the end.
fn axes(figure: &Figure) -> (Axis, Axis) {
    let scales = (figure.x_scale, figure.y_scale);
    let points = || figure.series.iter().flat_map(|series| drawable(scales, series));
    let (left, right) = range(points().map(|p| p.0)).unwrap_or((1.0, 2.0));
    let x = match figure.x_scale {
        Scale::Linear => Axis::over(left, right, 8),
        scale => Axis::powers(scale, left, right),
    };
    if figure.y_scale != Scale::Linear {
        let (low, high) = range(points().map(|p| p.1)).unwrap_or((1.0, 2.0));
        return (x, Axis::powers(figure.y_scale, low, high));
    }
    let (low, high) = range(points().map(|p| p.1).chain([0.0])).unwrap_or((0.0, 1.0));
    let room = 0.04 * (high - low);
    let y_low = if low < 0.0 { low - room } else { low };
    let y_high = if high > 0.0 { high + room } else { high };
    (x, Axis::over(y_low, y_high, 6))
}

/// The points that have a place on both axes.
fn drawable((x, y): (Scale, Scale), series: &Series) -> impl Iterator<Item = &(f64, f64)> {
    series.points.iter().filter(move |point| x.holds(point.0) && y.holds(point.1))
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| {
        let (low, high) = range.unwrap_or((v, v));
        Some((v.min(low), v.max(high)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, points: &[(f64, f64)]) -> String {
        let series = Series { name: name.into(), points: points.to_vec() };
        svg_plot(&Figure::responses("a < b & c", vec![series]))
    }

    #[test]
    fn a_line_runs_from_corner_to_corner() {
        let svg = figure("two", &[(-1.0, 0.0), (0.0, f64::NAN), (1.0, 25.0)]);
        // The box is 62..559 wide (3 letters of legend) and 44..302 high, less 1/26 of room.
        assert!(svg.contains("<polyline points=\"62.0,302.0 559.0,53.9\" "), "{svg}");
    }

    #[test]
    fn every_part_is_named() {
        let svg = figure("<script>", &[(-1.0, -1.0), (1.0, 1.0)]);
        let words = ["a &lt; b &amp; c", ">μ<", ">h(μ)<", ">high frequency<", ">low frequency<"];
        for word in words.into_iter().chain([">-1.0<", ">0.5<", "&lt;script&gt;"]) {
            assert!(svg.contains(word), "{word} is missing:\n{svg}");
        }
        assert!(!svg.contains("<script"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn columns_stand_behind_the_lines() {
        let points = vec![(-1.0, 0.0), (1.0, 1.0)];
        let mut figure = Figure::responses("", vec![Series { name: "h".into(), points }]);
        let columns = vec![(-1.0, 0.0, 0.25), (0.0, 1.0, 0.5), (1.0, 2.0, 0.0)];
        figure.backdrop = Some(Backdrop { name: "few".into(), columns });
        let svg = svg_plot(&figure);
        // Half as high as the box of 258, and as high; the third has nothing in it.
        let columns = [
            "<rect x=\"62.0\" y=\"173.0\" width=\"248.5\" height=\"129.0\" ",
            "<rect x=\"310.5\" y=\"44.0\" width=\"248.5\" height=\"258.0\" ",
        ];
        let at = |part: &str| svg.find(part).unwrap_or_else(|| panic!("no {part} in\n{svg}"));
        assert!(columns.iter().all(|column| at(column) < at("<polyline")));
        assert_eq!(svg.matches("<rect").count(), 4, "paper, two columns and a key");
        assert!(svg.contains(">few<"));
    }

    #[test]
    fn nothing_to_draw_is_an_empty_frame() {
        assert!(!svg_plot(&Figure::default()).contains("NaN"));
        assert!(!figure("broken", &[(0.0, f64::NAN)]).contains("NaN"));
    }

    #[test]
    fn on_logarithmic_axes_a_power_is_a_straight_line() {
        let points = [0.0, 1.0, 10.0, 100.0].map(|x| (x, x * x)).to_vec();
        let series = vec![Series { name: "two".into(), points }];
        let (x_scale, y_scale) = (Scale::Decades, Scale::Decades);
        let svg = svg_plot(&Figure { x_scale, y_scale, series, ..Figure::default() });
        // The point at 0 has no place; the others are corner, middle, corner.
        assert!(svg.contains("<polyline points=\"62.0,302.0 310.5,173.0 559.0,44.0\" "), "{svg}");
        assert!(svg.contains(">10²<") && svg.contains(">10⁴<"), "{svg}");
    }

    #[test]
    fn where_ratios_count_a_logarithm_is_a_straight_line() {
        let points = [(0.0, 7.0), (2.0, 0.0), (4.0, 12.5), (8.0, 25.0)].to_vec();
        let series = vec![Series { name: "two".into(), points }];
        let svg = svg_plot(&Figure { x_scale: Scale::Doubling, series, ..Figure::default() });
        // The point at 0 has no place; the others have equal steps, each with its mark.
        assert!(svg.contains("<polyline points=\"62.0,302.0 310.5,178.0 559.0,53.9\" "), "{svg}");
        assert!(svg.contains("<circle cx=\"310.5\" cy=\"178.0\" "), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!([">2<", ">4<", ">8<"].iter().all(|tick| svg.contains(tick)), "{svg}");
    }
}
