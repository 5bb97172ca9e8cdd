//! Line charts as self-contained SVG, without scripts, style sheets or external fonts.
//!
//! The colours are those of Okabe and Ito, which colour-blind readers can distinguish; dash patterns
//! distinguish the lines in black-and-white print.

use super::axis::{Axis, Scale};

/// Colours of Okabe & Ito (2008) that are visible on white, each with a dash pattern.
pub(super) const STROKES: [(&str, &str); 6] = [
    ("#0072B2", "none"),
    ("#D55E00", "9 3"),
    ("#009E73", "2 3"),
    ("#CC79A7", "9 3 2 3"),
    ("#E69F00", "5 4"),
    ("#56B4E9", "14 4"),
];
const HISTOGRAM_COLOUR: &str = "#e3e3e3";
/// Width of a chart in pixels.
pub(super) const WIDTH: f64 = 640.0;
/// Height of a chart in pixels.
pub(super) const HEIGHT: f64 = 360.0;
/// Margin to the left of the plot area.
pub(super) const LEFT: f64 = 62.0;
/// Margin above the plot area.
pub(super) const TOP: f64 = 44.0;
/// Margin below the plot area.
pub(super) const BOTTOM: f64 = 58.0;
/// Width of a wide letter at 12 pixels.
pub(super) const LETTER_WIDTH: f64 = 7.0;
/// A line of at most this many points has a marker at each.
const MAX_MARKERS: usize = 12;
/// Width of the line and the gap before a name in the legend.
const LEGEND_LINE: f64 = 36.0;

/// A chart of named lines.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// The label of the horizontal axis.
    pub x_label: String,
    /// The label at the left end of the horizontal axis; may be empty.
    pub x_left: String,
    /// The label at the right end of the horizontal axis; may be empty.
    pub x_right: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The scale of the horizontal axis.
    pub x_scale: Scale,
    /// The lines, in the order of the legend.
    pub series: Vec<LineSeries>,
    /// A histogram behind the lines.
    pub histogram: Option<Histogram>,
}

/// Bars behind the lines that show the distribution of the values on the horizontal axis.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Its name in the legend.
    pub name: String,
    /// Left end, right end and height of every bin; the tallest bar fills the height of the plot.
    pub bins: Vec<(f64, f64, f64)>,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct LineSeries {
    /// Its name in the legend.
    pub name: String,
    /// Its points, connected in order.
    pub points: Vec<(f64, f64)>,
}

impl LineChart {
    /// A chart of filter responses over the eigenvalues `μ` of the operator.
    pub fn responses(title: &str, series: Vec<LineSeries>) -> Self {
        Self {
            title: title.into(),
            x_label: "μ".into(),
            x_left: "high frequency".into(),
            x_right: "low frequency".into(),
            y_label: "h(μ)".into(),
            series,
            ..Self::default()
        }
    }

    /// Draws the chart as SVG.
    ///
    /// Points that are not finite, or not positive on a logarithmic axis, are skipped. A line of few
    /// points gets a marker at each. The vertical axis always includes 0.
    ///
    /// ```
    /// use clenshaw::report::{LineChart, LineSeries};
    /// let points = vec![(-1.0, 0.0), (1.0, 1.0)];
    /// let chart = LineChart::responses("Cora", vec![LineSeries { name: "low pass".into(), points }]);
    /// assert!(chart.to_svg().starts_with("<svg xmlns"));
    /// ```
    pub fn to_svg(&self) -> String {
        let area = PlotArea::for_chart(self);
        let mut svg = svg_header(&self.title);
        if let Some(histogram) = &self.histogram {
            area.draw_histogram(&mut svg, self.series.len(), histogram);
        }
        area.draw_grid(&mut svg);
        area.draw_labels(&mut svg, self);
        for (i, series) in self.series.iter().enumerate() {
            area.draw_line(&mut svg, i, series);
            area.draw_legend_entry(&mut svg, i, series);
        }
        svg + "</svg>\n"
    }
}

/// The opening tag, the background and the title.
pub(super) fn svg_header(title: &str) -> String {
    svg_header_of(title, (WIDTH, HEIGHT))
}

/// Like [`svg_header`], for a chart of another size.
pub(super) fn svg_header_of(title: &str, (width, height): (f64, f64)) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" \
         font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"15\" font-weight=\"600\">{title}</text>\n",
    )
}

/// Draws the label of the vertical axis, rotated.
pub(super) fn draw_y_label(svg: &mut String, name: &str) {
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    let (name, rotation) = (escaped(name), format!("rotate(-90 16 {middle:.1})"));
    *svg += &format!(
        "<text x=\"16\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"{rotation}\">{name}</text>\n"
    );
}

/// The vertical position of a value, in pixels.
pub(super) fn y_position(axis: Axis, value: f64) -> f64 {
    HEIGHT - BOTTOM - axis.fraction(value) * (HEIGHT - BOTTOM - TOP)
}

/// Draws a line from the left margin to `right` at every tick of the vertical axis, with the tick's label; the
/// zero line is darker.
pub(super) fn draw_y_grid(svg: &mut String, axis: Axis, right: f64) {
    for tick in axis.ticks() {
        let y = y_position(axis, tick);
        let colour = if tick == 0.0 { "#777" } else { "#e6e6e6" };
        push_line(svg, (LEFT, y), (right, y), colour);
        push_text(svg, (LEFT - 8.0, y + 4.0), "end", &axis.label(tick));
    }
}

/// The axes and the rectangle they span.
struct PlotArea {
    x_scale: Scale,
    x: Axis,
    y: Axis,
    right: f64,
}

impl PlotArea {
    /// The plot area that leaves enough space for the legend.
    fn for_chart(chart: &LineChart) -> Self {
        let (x, y) = axes(chart);
        let names = chart.series.iter().map(|series| &series.name);
        let names = names.chain(chart.histogram.iter().map(|histogram| &histogram.name));
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let legend = LEGEND_LINE + LETTER_WIDTH * longest as f64 + 24.0;
        let right = (WIDTH - legend).max(WIDTH / 2.0);
        Self { x_scale: chart.x_scale, x, y, right }
    }

    /// The horizontal position of a value, in pixels.
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.fraction(value) * (self.right - LEFT)
    }

    /// Draws the ticks, their labels and the grid.
    fn draw_grid(&self, svg: &mut String) {
        let (right, bottom) = (self.right, HEIGHT - BOTTOM);
        for tick in self.x.ticks() {
            let (x, label) = (self.x(tick), self.x.label(tick));
            push_line(svg, (x, TOP), (x, bottom), "#e6e6e6");
            push_text(svg, (x, bottom + 16.0), "middle", &label);
        }
        draw_y_grid(svg, self.y, right);
        push_line(svg, (LEFT, TOP), (LEFT, bottom), "#777");
        push_line(svg, (LEFT, bottom), (right, bottom), "#777");
    }

    fn draw_labels(&self, svg: &mut String, chart: &LineChart) {
        let y = HEIGHT - BOTTOM + 38.0;
        push_text(svg, (LEFT, y), "start", &chart.x_left);
        push_text(svg, ((LEFT + self.right) / 2.0, y), "middle", &chart.x_label);
        push_text(svg, (self.right, y), "end", &chart.x_right);
        draw_y_label(svg, &chart.y_label);
    }

    fn draw_line(&self, svg: &mut String, i: usize, series: &LineSeries) {
        let points: Vec<(f64, f64)> = drawable(self.x_scale, series)
            .map(|&(x, y)| (self.x(x), y_position(self.y, y)))
            .collect();
        let coordinates: Vec<String> =
            points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let coordinates = coordinates.join(" ");
        *svg += &format!("<polyline points=\"{coordinates}\" {}/>\n", stroke(i));
        let colour = STROKES[i % STROKES.len()].0;
        for (x, y) in points.iter().filter(|_| points.len() <= MAX_MARKERS) {
            *svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n");
        }
    }

    /// Draws the bins, clipped to the axis, and entry `i` of the legend.
    fn draw_histogram(&self, svg: &mut String, i: usize, histogram: &Histogram) {
        let highest = histogram.bins.iter().fold(0.0, |high: f64, bin| high.max(bin.2));
        let bottom = HEIGHT - BOTTOM;
        for &(left, right, height) in histogram.bins.iter().filter(|bin| bin.2 > 0.0) {
            let edge = |value: f64| self.x(value).clamp(LEFT, self.right);
            let (x, width) = (edge(left), edge(right) - edge(left));
            let height = height / highest * (bottom - TOP);
            push_rect(svg, (x, bottom - height), (width, height), HISTOGRAM_COLOUR);
        }
        let (x, y) = (self.right + 14.0, TOP + 8.0 + 20.0 * i as f64);
        push_rect(svg, (x, y - 6.0), (28.0, 12.0), HISTOGRAM_COLOUR);
        push_text(svg, (x + LEGEND_LINE, y + 4.0), "start", &histogram.name);
    }

    fn draw_legend_entry(&self, svg: &mut String, i: usize, series: &LineSeries) {
        let (x, y) = (self.right + 14.0, TOP + 8.0 + 20.0 * i as f64);
        let points = format!("{x:.1},{y:.1} {:.1},{y:.1}", x + 28.0);
        *svg += &format!("<polyline points=\"{points}\" {}/>\n", stroke(i));
        push_text(svg, (x + LEGEND_LINE, y + 4.0), "start", &series.name);
    }
}

/// The SVG attributes of line `i`.
fn stroke(i: usize) -> String {
    let (colour, dashes) = STROKES[i % STROKES.len()];
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\" \
         stroke-linejoin=\"round\""
    )
}

pub(super) fn push_line(
    svg: &mut String,
    (x1, y1): (f64, f64),
    (x2, y2): (f64, f64),
    colour: &str,
) {
    *svg += &format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
    );
}

pub(super) fn push_rect(
    svg: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    colour: &str,
) {
    *svg += &format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n"
    );
}

pub(super) fn push_text(svg: &mut String, (x, y): (f64, f64), anchor: &str, content: &str) {
    let content = escaped(content);
    *svg += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The axes of a chart. The vertical axis includes 0 and has a margin at each nonzero end.
fn axes(chart: &LineChart) -> (Axis, Axis) {
    let points = || chart.series.iter().flat_map(|series| drawable(chart.x_scale, series));
    let (left, right) = range(points().map(|p| p.0)).unwrap_or((1.0, 2.0));
    let x = match chart.x_scale {
        Scale::Linear => Axis::linear(left, right, 8),
        Scale::Log2 => Axis::log2(left, right),
    };
    let (low, high) = range(points().map(|p| p.1).chain([0.0])).unwrap_or((0.0, 1.0));
    let margin = 0.04 * (high - low);
    let y_low = if low < 0.0 { low - margin } else { low };
    let y_high = if high > 0.0 { high + margin } else { high };
    (x, Axis::linear(y_low, y_high, 6))
}

/// The points that can be drawn on both axes.
fn drawable(x_scale: Scale, series: &LineSeries) -> impl Iterator<Item = &(f64, f64)> {
    series.points.iter().filter(move |point| x_scale.accepts(point.0) && point.1.is_finite())
}

/// The smallest and the largest value; `None` if there are none.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| {
        let (low, high) = range.unwrap_or((v, v));
        Some((v.min(low), v.max(high)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart_svg(name: &str, points: &[(f64, f64)]) -> String {
        let series = LineSeries { name: name.into(), points: points.to_vec() };
        LineChart::responses("a < b & c", vec![series]).to_svg()
    }

    #[test]
    fn line_spans_the_plot_area() {
        let svg = chart_svg("two", &[(-1.0, 0.0), (0.0, f64::NAN), (1.0, 25.0)]);
        // The plot area is 62..559 by 44..302, with a margin of 1/26 at the top.
        assert!(svg.contains("<polyline points=\"62.0,302.0 559.0,53.9\" "), "{svg}");
    }

    #[test]
    fn labels_are_drawn_and_escaped() {
        let svg = chart_svg("<script>", &[(-1.0, -1.0), (1.0, 1.0)]);
        let fragments =
            ["a &lt; b &amp; c", ">μ<", ">h(μ)<", ">high frequency<", ">low frequency<"];
        for fragment in fragments.into_iter().chain([">-1.0<", ">0.5<", "&lt;script&gt;"]) {
            assert!(svg.contains(fragment), "{fragment} is missing:\n{svg}");
        }
        assert!(!svg.contains("<script"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn histogram_is_drawn_behind_the_lines() {
        let points = vec![(-1.0, 0.0), (1.0, 1.0)];
        let mut chart = LineChart::responses("", vec![LineSeries { name: "h".into(), points }]);
        let bins = vec![(-1.0, 0.0, 0.25), (0.0, 1.0, 0.5), (1.0, 2.0, 0.0)];
        chart.histogram = Some(Histogram { name: "few".into(), bins });
        let svg = chart.to_svg();
        // Half of the plot height of 258, and all of it; the third bin is empty.
        let bars = [
            "<rect x=\"62.0\" y=\"173.0\" width=\"248.5\" height=\"129.0\" ",
            "<rect x=\"310.5\" y=\"44.0\" width=\"248.5\" height=\"258.0\" ",
        ];
        let position = |part: &str| svg.find(part).unwrap_or_else(|| panic!("no {part} in\n{svg}"));
        assert!(bars.iter().all(|bar| position(bar) < position("<polyline")));
        assert_eq!(svg.matches("<rect").count(), 4, "background, two bins and a legend entry");
        assert!(svg.contains(">few<"));
    }

    #[test]
    fn empty_chart_has_no_nan() {
        assert!(!LineChart::default().to_svg().contains("NaN"));
        assert!(!chart_svg("broken", &[(0.0, f64::NAN)]).contains("NaN"));
    }

    #[test]
    fn logarithm_is_straight_on_a_log2_axis() {
        let points = [(0.0, 7.0), (2.0, 0.0), (4.0, 12.5), (8.0, 25.0)].to_vec();
        let series = vec![LineSeries { name: "two".into(), points }];
        let svg = LineChart { x_scale: Scale::Log2, series, ..LineChart::default() }.to_svg();
        // The point at 0 is skipped; the others have equal steps and a marker each.
        assert!(svg.contains("<polyline points=\"62.0,302.0 310.5,178.0 559.0,53.9\" "), "{svg}");
        assert!(svg.contains("<circle cx=\"310.5\" cy=\"178.0\" "), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!([">2<", ">4<", ">8<"].iter().all(|tick| svg.contains(tick)), "{svg}");
    }
}
