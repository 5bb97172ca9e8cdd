//! Grouped bar charts with error bars, as self-contained SVG.

use super::axis::Axis;
use super::distinct;
use super::line_chart::{
    BOTTOM, HEIGHT, LEFT, STROKES, WIDTH, draw_y_grid, draw_y_label, push_line, push_rect,
    push_text, svg_header, y_position,
};

/// The right end of the plot area.
const RIGHT: f64 = WIDTH - 24.0;
/// The fraction of a group's width that is left empty, half on each side.
const GAP: f64 = 0.2;

/// A grouped bar chart; bars start at 0.
///
/// ```
/// use clenshaw::report::BarChart;
/// let bar = |graph: &str, model: &str, mean| (graph.to_owned(), model.to_owned(), mean, 1.0);
/// let bars = vec![bar("chameleon", "gcn", 60.0), bar("chameleon", "clenshaw-gcn", 70.0)];
/// let bars = BarChart { title: "Ablation".into(), y_label: "accuracy, %".into(), bars };
/// assert!(bars.to_svg().contains(">70.0<"));
/// ```
#[derive(Clone, Debug)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The group, name, mean and half-width of the error bar of each bar, in drawing order.
    pub bars: Vec<(String, String, f64, f64)>,
}

impl BarChart {
    /// Draws the chart as SVG; bars with the same name have the same colour, and each is labelled with its
    /// mean.
    pub fn to_svg(&self) -> String {
        let highest =
            self.bars.iter().fold(1.0, |high: f64, (.., mean, half)| high.max(mean + half));
        let axis = Axis::linear(0.0, 1.08 * highest, 6);
        let y = |value: f64| y_position(axis, value);
        let mut svg = svg_header(&self.title);
        draw_y_grid(&mut svg, axis, RIGHT);
        draw_y_label(&mut svg, &self.y_label);
        let groups = distinct(self.bars.iter().map(|bar| bar.0.as_str()));
        let names = distinct(self.bars.iter().map(|bar| bar.1.as_str()));
        let group_width = (RIGHT - LEFT) / groups.len().max(1) as f64;
        let width = group_width * (1.0 - GAP) / names.len().max(1) as f64;
        for (g, group) in groups.iter().enumerate() {
            let middle = LEFT + group_width * (g as f64 + 0.5);
            push_text(&mut svg, (middle, HEIGHT - BOTTOM + 16.0), "middle", group);
        }
        for (group, name, mean, half) in &self.bars {
            let index = |list: &[&str], name: &str| list.iter().position(|entry| *entry == name);
            let (Some(g), Some(n)) = (index(&groups, group), index(&names, name)) else { continue };
            let left = LEFT + group_width * (g as f64 + GAP / 2.0) + width * n as f64;
            let (top, middle) = (y(*mean), left + width / 2.0);
            let (colour, _) = STROKES[n % STROKES.len()];
            push_rect(&mut svg, (left + 1.0, top), (width - 2.0, y(0.0) - top), colour);
            push_line(&mut svg, (middle, y(mean - half)), (middle, y(mean + half)), "#222");
            push_text(&mut svg, (middle, y(mean + half) - 5.0), "middle", &format!("{mean:.1}"));
        }
        draw_legend(&mut svg, &names);
        svg + "</svg>\n"
    }
}

/// Draws the legend on one line below the groups, with space in proportion to the length of names.
fn draw_legend(svg: &mut String, names: &[&str]) {
    let letters = |name: &str| name.chars().count() as f64 + 4.0;
    let letter = (RIGHT - LEFT) / names.iter().map(|name| letters(name)).sum::<f64>();
    let (mut x, y) = (LEFT, HEIGHT - 18.0);
    for (n, name) in names.iter().enumerate() {
        let (colour, _) = STROKES[n % STROKES.len()];
        *svg += &format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\n",
            y - 9.0
        );
        push_text(svg, (x + 14.0, y), "start", name);
        x += letter * letters(name);
    }
}

#[cfg(test)]
mod tests {
    use super::super::line_chart::TOP;
    use super::*;

    #[test]
    fn bar_heights_are_proportional_to_means() {
        let bar = |group: &str, name: &str, mean| (group.into(), name.into(), mean, 0.0);
        let bars = vec![bar("a", "x", 100.0), bar("a", "y", 50.0), bar("b", "x", 25.0)];
        let svg = BarChart { title: "t".into(), y_label: "%".into(), bars }.to_svg();
        let number = |text: &str, key: &str| {
            let rest = &text[text.find(key).unwrap() + key.len()..];
            rest[..rest.find('"').unwrap()].parse::<f64>().unwrap()
        };
        let rects: Vec<&str> = svg.lines().filter(|l| l.contains("fill=\"#0072B2\"")).collect();
        let (first, third) = (number(rects[0], "height=\""), number(rects[1], "height=\""));
        // The axis ends at 108% of the highest bar.
        assert!((first - (HEIGHT - BOTTOM - TOP) / 1.08).abs() < 0.06, "{first}");
        assert!((first / third - 4.0).abs() < 0.01);
        assert!(svg.contains("#D55E00") && svg.contains(">50.0<") && !svg.contains("NaN"));
        let empty = BarChart { title: "t".into(), y_label: "%".into(), bars: vec![] };
        assert!(!empty.to_svg().contains("NaN"));
    }

    #[test]
    fn legend_entries_do_not_overlap() {
        let names = ["gcn", "gcnii", "horner-gcn", "fixed-clenshaw-gcn", "clenshaw-gcn"];
        let bars = names.map(|name| ("a".into(), name.into(), 1.0, 0.0)).to_vec();
        let svg = BarChart { title: "t".into(), y_label: "%".into(), bars }.to_svg();
        let squares = svg.lines().filter(|line| line.contains("width=\"10\""));
        let x = |line: &str| line.split('"').nth(1).unwrap().parse::<f64>().unwrap();
        let mut starts: Vec<f64> = squares.map(x).collect();
        starts.push(RIGHT + 10.0);
        for (name, pair) in names.iter().zip(starts.windows(2)) {
            let end = pair[0] + 14.0 + 6.7 * name.len() as f64; // average width of a letter
            assert!(end < pair[1], "{name} ends at {end}, the next one starts at {}", pair[1]);
        }
    }
}
