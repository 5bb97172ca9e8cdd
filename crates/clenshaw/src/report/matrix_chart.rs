//! Confusion matrices, parallel coordinates and drawings of graphs, as self-contained SVG.

use super::line_chart::{LEFT, LETTER_WIDTH, TOP, push_line, push_rect, push_text, svg_header_of};
use super::plot::stroke_colour;

/// The width of these charts in pixels.
const WIDTH: f64 = 640.0;

/// Draws a matrix of counts; the shade of a cell is its share of the row.
pub fn matrix_svg(title: &str, names: &[String], counts: &[Vec<usize>]) -> String {
    let n = names.len().max(1) as f64;
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(24) as f64;
    let left = 24.0 + LETTER_WIDTH * longest + 20.0;
    let cell = ((WIDTH - left - 20.0) / n).clamp(4.0, 56.0);
    let top = TOP + 40.0;
    let mut svg = svg_header_of(title, (WIDTH, top + cell * n + 24.0));
    push_text(&mut svg, (LEFT, TOP + 4.0), "start", "rows: true class, columns: predicted class");
    for (i, row) in counts.iter().enumerate() {
        let total = row.iter().sum::<usize>().max(1) as f64;
        let y = top + cell * i as f64;
        if cell >= 10.0 {
            let name: String = names[i].chars().take(24).collect();
            push_text(&mut svg, (left - 8.0, y + cell / 2.0 + 4.0), "end", &name);
            let room = (cell / LETTER_WIDTH).max(1.0) as usize;
            let name: String = names[i].chars().take(room).collect();
            push_text(&mut svg, (left + cell * (i as f64 + 0.5), top - 8.0), "middle", &name);
        }
        for (j, &count) in row.iter().enumerate() {
            let (share, x) = (count as f64 / total, left + cell * j as f64);
            push_rect(&mut svg, (x, y), (cell - 1.0, cell - 1.0), &shade(share));
            let text = count.to_string();
            if count > 0 && cell > LETTER_WIDTH * text.len() as f64 {
                let colour = if share > 0.75 { "#fff" } else { "#222" };
                let (x, y) = (x + cell / 2.0, y + cell / 2.0 + 4.0);
                svg += &format!(
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"{colour}\">{text}</text>\n"
                );
            }
        }
    }
    svg + "</svg>\n"
}

/// White at 0, blue at 1.
fn shade(share: f64) -> String {
    let mix = |from: f64, to: f64| (from + share.clamp(0.0, 1.0) * (to - from)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(244.0, 0.0), mix(245.0, 114.0), mix(247.0, 178.0))
}

/// A drawing of a graph; a colour is one of the palette, or `None` for grey.
pub struct NodeDrawing<'a> {
    /// The title.
    pub title: &'a str,
    /// The positions of the nodes, from 0 to 1.
    pub positions: Vec<(f64, f64)>,
    /// Pairs of nodes.
    pub edges: &'a [(usize, usize)],
    /// The colour of every node.
    pub colours: Vec<Option<usize>>,
    /// Whether a node is drawn as a square.
    pub squares: Vec<bool>,
    /// The names of the colours.
    pub legend: Vec<(String, Option<usize>)>,
}

/// Draws a graph.
pub fn drawing_svg(drawing: &NodeDrawing<'_>) -> String {
    let NodeDrawing { title, positions, edges, colours, squares, legend } = drawing;
    let (top, side) = (TOP + 10.0, WIDTH - 160.0);
    let mut svg = svg_header_of(title, (WIDTH, top + side + 20.0));
    let place = |k: usize| (20.0 + positions[k].0 * side, top + positions[k].1 * side);
    svg += "<g stroke-opacity=\"0.35\">\n";
    edges.iter().for_each(|&(a, b)| push_line(&mut svg, place(a), place(b), "#8a939d"));
    svg += "</g>\n";
    let radius = if positions.len() > 300 { 3.0 } else { 5.0 };
    let colour = |index: Option<usize>| index.map_or("#b9bfc6", stroke_colour);
    for (k, (&index, &is_square)) in colours.iter().zip(squares).enumerate() {
        let ((x, y), fill) = (place(k), colour(index));
        svg += &match is_square {
            true => format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{size}\" height=\"{size}\" fill=\"{fill}\"/>\n",
                x - radius,
                y - radius,
                size = 2.0 * radius,
            ),
            false => {
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\"/>\n")
            }
        };
    }
    for (i, (name, index)) in legend.iter().enumerate() {
        let (x, y) = (WIDTH - 124.0, top + 20.0 * i as f64);
        push_rect(&mut svg, (x, y - 9.0), (10.0, 10.0), colour(*index));
        push_text(&mut svg, (x + 16.0, y), "start", &name.chars().take(15).collect::<String>());
    }
    svg + "</svg>\n"
}

/// One axis of parallel coordinates: its name and the labels of its lower and upper end.
pub struct ParallelAxis {
    /// The name.
    pub name: String,
    /// Positions from 0 to 1 with their labels.
    pub ticks: Vec<(f64, String)>,
}

/// Draws one line per row, from its position on the first axis to that on the last; a row may lack
/// positions. `highlighted` is the row drawn in another colour.
pub fn parallel_svg(
    title: &str,
    axes: &[ParallelAxis],
    rows: &[Vec<Option<f64>>],
    highlighted: Option<usize>,
) -> String {
    let (height, top) = (360.0, TOP + 40.0);
    let bottom = height - 24.0;
    let x =
        |k: usize| 30.0 + k as f64 * (WIDTH - 110.0) / axes.len().saturating_sub(1).max(1) as f64;
    let y = |position: f64| bottom - position * (bottom - top);
    let mut svg = svg_header_of(title, (WIDTH, height));
    let order = (0..rows.len()).filter(|&i| Some(i) != highlighted).chain(highlighted);
    for i in order {
        let is_best = Some(i) == highlighted;
        let (colour, width) = if is_best { ("#D55E00", 3.0) } else { ("#0072B2", 1.0) };
        let mut path = String::new();
        let mut command = 'M';
        for (k, position) in rows[i].iter().enumerate() {
            match position {
                Some(position) => {
                    path += &format!("{command}{:.1},{:.1}", x(k), y(*position));
                    command = 'L';
                }
                None => command = 'M',
            }
        }
        let opacity = if is_best { 1.0 } else { 0.5 };
        svg += &format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-opacity=\"{opacity}\"/>\n"
        );
    }
    for (k, axis) in axes.iter().enumerate() {
        push_line(&mut svg, (x(k), top), (x(k), bottom), "#777");
        let name: String = axis.name.chars().take(14).collect();
        // Names alternate between two lines, so that long ones do not overlap.
        push_text(&mut svg, (x(k), top - 10.0 - 14.0 * (k % 2) as f64), "middle", &name);
        for (position, label) in &axis.ticks {
            let label: String = label.chars().take(9).collect();
            push_text(&mut svg, (x(k) + 4.0, y(*position) + 4.0), "start", &label);
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_shades_are_shares_of_the_row() {
        let names = ["<a>".to_owned(), "b".to_owned()];
        let svg = matrix_svg("t", &names, &[vec![4, 0], vec![1, 1]]);
        assert!(svg.contains("fill=\"#0072b2\"") && svg.contains("fill=\"#f4f5f7\""), "{svg}");
        assert_eq!(svg.matches("fill=\"#7ab4d5\"").count(), 2, "{svg}");
        assert!(svg.contains("&lt;a&gt;") && svg.contains(">4<") && !svg.contains(">0<"));
    }

    #[test]
    fn missing_positions_interrupt_a_line() {
        let axis =
            |name: &str| ParallelAxis { name: name.into(), ticks: vec![(0.0, "low".into())] };
        let axes = [axis("a"), axis("b"), axis("c")];
        let rows = [vec![Some(0.0), None, Some(1.0)], vec![Some(0.0), Some(0.5), Some(1.0)]];
        let svg = parallel_svg("t", &axes, &rows, Some(1));
        assert!(svg.contains("<path d=\"M30.0,336.0M560.0,84.0\""), "{svg}");
        assert!(svg.contains("<path d=\"M30.0,336.0L295.0,210.0L560.0,84.0\""), "{svg}");
        assert!(svg.find("#D55E00").unwrap() > svg.find("#0072B2").unwrap());
    }

    #[test]
    fn wrong_nodes_are_squares() {
        let positions = vec![(0.0, 0.0), (1.0, 1.0)];
        let legend = vec![("a".to_owned(), Some(0))];
        let svg = drawing_svg(&NodeDrawing {
            title: "t",
            positions,
            edges: &[(0, 1)],
            colours: vec![Some(0), None],
            squares: vec![false, true],
            legend,
        });
        assert!(
            svg.contains("<circle cx=\"20.0\" cy=\"54.0\" r=\"5\" fill=\"#0072B2\"/>"),
            "{svg}"
        );
        let square = "<rect x=\"495.0\" y=\"529.0\" width=\"10\" height=\"10\" fill=\"#b9bfc6\"/>";
        assert!(svg.contains(square), "{svg}");
    }
}
