//! Charts of bars, lines, points and rules in one frame, as self-contained SVG.

use super::axis::Axis;
use super::line_chart::{
    BOTTOM, HEIGHT, LEFT, LETTER_WIDTH, STROKES, TOP, WIDTH, draw_y_label, push_line, push_rect,
    push_text, svg_header,
};

/// Colour of whiskers, rules and labels.
const INK: &str = "#222";
const GRID: &str = "#e6e6e6";
const FRAME: &str = "#777";

/// A chart with layers that share two axes.
///
/// ```
/// use clenshaw::report::{Plot, PlotAxis, PlotLayer};
/// let line = PlotLayer::line("loss", 0, vec![(1.0, 2.0), (2.0, 1.0)]);
/// let plot = Plot {
///     title: "Loss".into(),
///     x: PlotAxis::linear("epoch", 1.0, 2.0),
///     y: PlotAxis::linear("loss", 0.0, 2.0),
///     layers: vec![line],
/// };
/// assert!(plot.to_svg().contains(">epoch<"));
/// ```
#[derive(Clone, Debug)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis.
    pub y: PlotAxis,
    /// The layers, drawn in order.
    pub layers: Vec<PlotLayer>,
}

/// An axis of a [`Plot`].
#[derive(Clone, Debug)]
pub struct PlotAxis {
    /// What the axis shows, with its unit.
    pub label: String,
    /// The values of the axis.
    pub range: PlotRange,
}

/// The values of an axis.
#[derive(Clone, Debug)]
pub enum PlotRange {
    /// Numbers from low to high.
    Linear(f64, f64),
    /// Shares from low to high, written in percent.
    Percent(f64, f64),
    /// Positive numbers on a logarithmic scale.
    Log(f64, f64),
    /// Names at the positions 0, 1, ...
    Categories(Vec<String>),
}

/// A layer of a [`Plot`]. A layer with a name is part of the legend; `colour` counts the colours of Okabe and
/// Ito.
#[derive(Clone, Debug)]
pub enum PlotLayer {
    /// Bars that start at 0 or, if 0 is not on the axis, at its lower end.
    Bars {
        /// Its name.
        name: String,
        /// The colour.
        colour: usize,
        /// The bars.
        bars: Vec<PlotBar>,
    },
    /// A line through points; points that are not finite are skipped.
    Line {
        /// Its name.
        name: String,
        /// The colour.
        colour: usize,
        /// The points.
        points: Vec<(f64, f64)>,
    },
    /// Dots with optional intervals and labels.
    Points {
        /// Its name.
        name: String,
        /// The colour.
        colour: usize,
        /// The dots.
        points: Vec<PlotPoint>,
    },
    /// A dashed vertical line with a label.
    VerticalRule(f64, String),
    /// A dashed horizontal line with a label.
    HorizontalRule(f64, String),
}

/// A bar from `from` to `to` on the horizontal axis.
#[derive(Clone, Debug)]
pub struct PlotBar {
    /// The left end.
    pub from: f64,
    /// The right end.
    pub to: f64,
    /// The height.
    pub value: f64,
    /// The ends of the whisker.
    pub interval: Option<(f64, f64)>,
}

/// A dot.
#[derive(Clone, Debug)]
pub struct PlotPoint {
    /// The position.
    pub at: (f64, f64),
    /// The ends of the vertical whisker.
    pub interval: Option<(f64, f64)>,
    /// Text beside the dot; may be empty.
    pub label: String,
}

impl PlotAxis {
    /// An axis of numbers.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.into(), range: PlotRange::Linear(low, high) }
    }

    /// An axis of shares, in percent.
    pub fn percent(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.into(), range: PlotRange::Percent(low, high) }
    }

    /// An axis around all finite values, with some room.
    pub fn around(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (value.min(low), value.max(high))
        });
        if low > high {
            return Self::linear(label, 0.0, 1.0);
        }
        let room = if high > low { 0.06 * (high - low) } else { (0.1 * high.abs()).max(1e-6) };
        Self::linear(label, low - room, high + room)
    }

    /// Names at the positions 0, 1, ...
    pub fn categories(label: &str, names: Vec<String>) -> Self {
        Self { label: label.into(), range: PlotRange::Categories(names) }
    }

    /// The same axis in percent.
    #[must_use]
    pub fn in_percent(self) -> Self {
        match self.range {
            PlotRange::Linear(low, high) => Self { range: PlotRange::Percent(low, high), ..self },
            _ => self,
        }
    }

    /// The lower and the upper end.
    fn ends(&self) -> (f64, f64) {
        match &self.range {
            PlotRange::Linear(low, high) | PlotRange::Percent(low, high) if low < high => {
                (*low, *high)
            }
            PlotRange::Log(low, high) if *low > 0.0 && low < high => (*low, *high),
            PlotRange::Log(..) => (1.0, 10.0),
            PlotRange::Categories(names) => (-0.5, names.len().max(1) as f64 - 0.5),
            PlotRange::Linear(low, _) | PlotRange::Percent(low, _) => (low - 1.0, low + 1.0),
        }
    }

    /// The relative position of a value: 0 at the low end, 1 at the high end.
    fn fraction(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        match self.range {
            PlotRange::Log(..) => (value / low).ln() / (high / low).ln(),
            _ => (value - low) / (high - low),
        }
    }

    /// The ticks and their labels.
    fn ticks(&self, n_steps: usize) -> Vec<(f64, String)> {
        let (low, high) = self.ends();
        let axis = Axis::linear(low, high, n_steps);
        match &self.range {
            PlotRange::Linear(..) => axis.ticks().map(|tick| (tick, axis.label(tick))).collect(),
            PlotRange::Percent(..) => {
                axis.ticks().map(|tick| (tick, percent_label(tick))).collect()
            }
            PlotRange::Categories(names) => {
                names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect()
            }
            PlotRange::Log(..) => log_ticks(low, high),
        }
    }
}

/// A share in percent, with a decimal only where it is needed.
fn percent_label(share: f64) -> String {
    let percent = (1e4 * share).round() / 1e2;
    format!("{percent}%")
}

/// The numbers 1, 2 and 5 times a power of ten; over more than three powers, only the powers.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let ticks = (first..=last).flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
    let inside = ticks.filter(|tick| (low..=high).contains(tick));
    inside.map(|tick| (tick, tick.to_string())).collect()
}

impl PlotLayer {
    /// A line.
    pub fn line(name: &str, colour: usize, points: Vec<(f64, f64)>) -> Self {
        Self::Line { name: name.into(), colour, points }
    }

    /// Dots without a name in the legend.
    pub fn points(colour: usize, points: Vec<PlotPoint>) -> Self {
        Self::Points { name: String::new(), colour, points }
    }

    /// The name and the colour of an entry of the legend.
    fn legend(&self) -> Option<(&str, usize)> {
        match self {
            Self::Bars { name, colour, .. }
            | Self::Line { name, colour, .. }
            | Self::Points { name, colour, .. } => Some((name.as_str(), *colour)),
            _ => None,
        }
        .filter(|(name, _)| !name.is_empty())
    }
}

impl Plot {
    /// Draws the chart as SVG.
    pub fn to_svg(&self) -> String {
        let legend: Vec<(&str, usize)> = self.layers.iter().filter_map(PlotLayer::legend).collect();
        let longest = legend.iter().map(|(name, _)| name.chars().count()).max();
        let room = longest.map_or(24.0, |n| LETTER_WIDTH * n as f64 + 56.0);
        let frame = Frame { plot: self, right: (WIDTH - room).max(WIDTH / 2.0) };
        let mut svg = svg_header(&self.title);
        frame.draw_axes(&mut svg);
        self.layers.iter().for_each(|layer| frame.draw_layer(&mut svg, layer));
        for (i, (name, colour)) in legend.into_iter().enumerate() {
            let (x, y) = (frame.right + 14.0, TOP + 8.0 + 20.0 * i as f64);
            push_rect(&mut svg, (x, y - 3.0), (20.0, 6.0), stroke_colour(colour));
            push_text(&mut svg, (x + 26.0, y + 4.0), "start", name);
        }
        svg + "</svg>\n"
    }
}

/// Draws the name of a category at an angle, shortened to fit below the axis.
fn push_turned_text(svg: &mut String, (x, y): (f64, f64), name: &str) {
    let mut text: String = name.chars().take(10).collect();
    if text.len() < name.len() {
        text.push('.');
    }
    let start = svg.len();
    push_text(svg, (x, y), "end", &text);
    let turn = format!("<text transform=\"rotate(-30 {x:.1} {y:.1})\"");
    svg.replace_range(start..start + "<text".len(), &turn);
}

/// A colour of the palette.
pub(super) fn stroke_colour(colour: usize) -> &'static str {
    STROKES[colour % STROKES.len()].0
}

/// The plot and the right end of its area.
struct Frame<'a> {
    plot: &'a Plot,
    right: f64,
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.plot.x.fraction(value) * (self.right - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let bottom = HEIGHT - BOTTOM;
        (bottom - self.plot.y.fraction(value) * (bottom - TOP)).clamp(TOP, bottom)
    }

    fn draw_axes(&self, svg: &mut String) {
        let bottom = HEIGHT - BOTTOM;
        for (tick, label) in self.plot.y.ticks(6) {
            push_line(svg, (LEFT, self.y(tick)), (self.right, self.y(tick)), GRID);
            push_text(svg, (LEFT - 8.0, self.y(tick) + 4.0), "end", &label);
        }
        let ticks = self.plot.x.ticks(8);
        let longest = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let room = (self.right - LEFT) / ticks.len().max(1) as f64;
        let every = ((LETTER_WIDTH * longest as f64 + 4.0) / room).ceil().max(1.0) as usize;
        let is_turned = every > 1 && matches!(self.plot.x.range, PlotRange::Categories(_));
        for (i, (tick, label)) in ticks.iter().enumerate() {
            let x = self.x(*tick);
            if is_turned {
                push_turned_text(svg, (x + 4.0, bottom + 14.0), label);
            } else if i % every == 0 {
                push_text(svg, (x, bottom + 16.0), "middle", label);
            }
        }
        push_line(svg, (LEFT, bottom), (self.right, bottom), FRAME);
        let middle = (LEFT + self.right) / 2.0;
        push_text(svg, (middle, HEIGHT - 6.0), "middle", &self.plot.x.label);
        draw_y_label(svg, &self.plot.y.label);
    }

    fn draw_layer(&self, svg: &mut String, layer: &PlotLayer) {
        match layer {
            PlotLayer::Bars { colour, bars, .. } => {
                bars.iter().for_each(|bar| self.draw_bar(svg, bar, stroke_colour(*colour)));
            }
            PlotLayer::Line { colour, points, .. } => {
                self.draw_line(svg, points, stroke_colour(*colour));
            }
            PlotLayer::Points { colour, points, .. } => {
                points.iter().for_each(|point| self.draw_point(svg, point, stroke_colour(*colour)));
            }
            PlotLayer::VerticalRule(x, label) => {
                let x = self.x(*x);
                self.draw_rule(svg, (x, TOP), (x, HEIGHT - BOTTOM));
                let fits = x + LETTER_WIDTH * (label.chars().count() as f64) < self.right;
                let (at, anchor) = if fits { (x + 5.0, "start") } else { (x - 5.0, "end") };
                push_text(svg, (at, TOP + 10.0), anchor, label);
            }
            PlotLayer::HorizontalRule(y, label) => {
                let y = self.y(*y);
                self.draw_rule(svg, (LEFT, y), (self.right, y));
                // A white outline keeps the label readable on bars.
                *svg += "<g paint-order=\"stroke\" stroke=\"#fff\" stroke-width=\"3\">\n";
                push_text(svg, (self.right, y - 5.0), "end", label);
                *svg += "</g>\n";
            }
        }
    }

    fn draw_bar(&self, svg: &mut String, bar: &PlotBar, colour: &str) {
        if !bar.value.is_finite() {
            return;
        }
        let (low, high) = self.plot.y.ends();
        let (base, value) = (self.y(0f64.clamp(low, high)), self.y(bar.value));
        let (left, right) = (self.x(bar.from), self.x(bar.to));
        let size = ((right - left - 1.0).max(0.5), (base - value).abs());
        push_rect(svg, (left, base.min(value)), size, colour);
        self.draw_whisker(svg, (left + right) / 2.0, bar.interval);
    }

    fn draw_whisker(&self, svg: &mut String, x: f64, interval: Option<(f64, f64)>) {
        let Some((low, high)) = interval else { return };
        push_line(svg, (x, self.y(low)), (x, self.y(high)), INK);
        for y in [self.y(low), self.y(high)] {
            push_line(svg, (x - 4.0, y), (x + 4.0, y), INK);
        }
    }

    fn draw_line(&self, svg: &mut String, points: &[(f64, f64)], colour: &str) {
        let finite = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let coordinates: Vec<String> =
            finite.map(|&(x, y)| format!("{:.1},{:.1}", self.x(x), self.y(y))).collect();
        *svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-linejoin=\"round\"/>\n",
            coordinates.join(" ")
        );
    }

    fn draw_point(&self, svg: &mut String, point: &PlotPoint, colour: &str) {
        let (x, y) = (self.x(point.at.0), self.y(point.at.1));
        if !(x.is_finite() && y.is_finite()) {
            return;
        }
        self.draw_whisker(svg, x, point.interval);
        *svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\n");
        if !point.label.is_empty() {
            let fits = x + 8.0 + LETTER_WIDTH * (point.label.chars().count() as f64) < self.right;
            let (at, anchor) = if fits { (x + 8.0, "start") } else { (x - 8.0, "end") };
            push_text(svg, (at, y - 6.0), anchor, &point.label);
        }
    }

    fn draw_rule(&self, svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        *svg += &format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{INK}\" stroke-dasharray=\"4 3\"/>\n"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(y: PlotAxis, layers: Vec<PlotLayer>) -> String {
        let x = PlotAxis::linear("x", 0.0, 4.0);
        Plot { title: "<t>".into(), x, y, layers }.to_svg()
    }

    #[test]
    fn heights_are_proportional_and_negative_bars_hang_down() {
        let bar = |from: f64, value| PlotBar { from, to: from + 1.0, value, interval: None };
        let bars = vec![bar(0.0, 1.0), bar(1.0, -0.5), bar(2.0, f64::NAN)];
        let layer = PlotLayer::Bars { name: String::new(), colour: 0, bars };
        let svg = plot(PlotAxis::linear("y", -1.0, 1.0), vec![layer]);
        // The plot area is 258 high, from 44 to 302; zero is in the middle, at 173.
        assert!(svg.contains("y=\"44.0\" width=\"137.5\" height=\"129.0\""), "{svg}");
        assert!(svg.contains("y=\"173.0\" width=\"137.5\" height=\"64.5\""), "{svg}");
        assert!(!svg.contains("NaN") && svg.contains("&lt;t&gt;"));
    }

    #[test]
    fn whiskers_rules_and_lines_have_their_positions() {
        let at = |x, y, interval| PlotPoint { at: (x, y), interval, label: "a".into() };
        let points = vec![at(2.0, 0.5, Some((0.25, 0.75))), at(f64::NAN, 0.5, None)];
        let layers = vec![
            PlotLayer::points(1, points),
            PlotLayer::line("l", 0, vec![(0.0, 0.0), (1.0, f64::NAN), (4.0, 1.0)]),
            PlotLayer::HorizontalRule(0.5, "half".into()),
        ];
        let svg = plot(PlotAxis::percent("y", 0.0, 1.0), layers);
        assert!(svg.contains("cy=\"173.0\" r=\"4\" fill=\"#D55E00\""), "{svg}");
        assert!(svg.contains("y1=\"237.5\"") && svg.contains("y2=\"108.5\""), "{svg}");
        assert!(svg.contains("points=\"62.0,302.0 577.0,44.0\""), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.contains(">50%<") || svg.contains(">40%<"), "{svg}");
    }

    #[test]
    fn logarithmic_ticks_are_round() {
        let labels: Vec<String> = log_ticks(0.3, 30.0).into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0.5", "1", "2", "5", "10", "20"]);
        let axis = PlotAxis { label: String::new(), range: PlotRange::Log(1.0, 100.0) };
        assert!((axis.fraction(10.0) - 0.5).abs() < 1e-12);
    }
}
