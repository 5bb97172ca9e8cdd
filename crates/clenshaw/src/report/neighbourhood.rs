//! A drawing of some nodes around one node, as self-contained SVG.

use super::line_chart::{HEIGHT, STROKES, TOP, WIDTH, push_line, push_text, svg_header};

/// The margin around the nodes.
const MARGIN: f64 = 40.0;
/// The left end of the legend.
const LEGEND: f64 = WIDTH - 170.0;
/// The radius of the node with the largest contribution.
const LARGEST: f64 = 16.0;
/// The radius of a node without a contribution.
const SMALLEST: f64 = 4.0;
/// The outline of nodes that raise and lower the margin.
const OUTLINES: [(&str, &str); 2] = [("#1a7f37", "for"), ("#b3261e", "against")];
/// The fill of nodes without a label.
const NO_LABEL: &str = "#d0d0d0";
/// Drawings name at most this number of classes.
const NAMED_CLASSES: usize = 6;

/// Nodes with positions, classes and contributions.
#[derive(Clone, Debug, Default)]
pub struct NeighbourhoodDrawing {
    /// The title.
    pub title: String,
    /// The nodes.
    pub nodes: Vec<DrawnNode>,
    /// Pairs of indices into `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The names of the classes.
    pub class_names: Vec<String>,
}

/// A node of a drawing.
#[derive(Clone, Debug)]
pub struct DrawnNode {
    /// Its name.
    pub name: String,
    /// Its position, each coordinate from 0 to 1.
    pub position: (f64, f64),
    /// Its class, if it is known.
    pub class: Option<usize>,
    /// Its contribution: the size and the outline of the node.
    pub contribution: f64,
    /// Whether it is the explained node.
    pub is_centre: bool,
}

impl NeighbourhoodDrawing {
    /// Draws the nodes: filled by class, outlined by the sign of their contribution, and with an area that grows
    /// with its absolute value.
    pub fn to_svg(&self) -> String {
        let mut svg = svg_header(&self.title);
        let place = |node: &DrawnNode| {
            let (x, y) = node.position;
            let (width, height) = (LEGEND - 2.0 * MARGIN, HEIGHT - TOP - 2.0 * MARGIN);
            (MARGIN + x * width, TOP + MARGIN + y * height)
        };
        for &(a, b) in &self.edges {
            push_line(&mut svg, place(&self.nodes[a]), place(&self.nodes[b]), "#bbb");
        }
        let largest =
            self.nodes.iter().fold(0.0, |max: f64, node| max.max(node.contribution.abs()));
        for node in &self.nodes {
            let share =
                if largest > 0.0 { (node.contribution.abs() / largest).sqrt() } else { 0.0 };
            let radius = SMALLEST + share * (LARGEST - SMALLEST);
            push_node(&mut svg, place(node), radius, node);
        }
        self.draw_legend(&mut svg);
        svg + "</svg>\n"
    }

    fn draw_legend(&self, svg: &mut String) {
        let mut y = TOP + 12.0;
        let mut entry = |fill: &str, outline: &str, name: &str| {
            *svg += &format!(
                "<circle cx=\"{LEGEND}\" cy=\"{:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{outline}\" \
                 stroke-width=\"2\"/>\n",
                y - 4.0
            );
            push_text(svg, (LEGEND + 12.0, y), "start", name);
            y += 18.0;
        };
        let present = |class: &usize| self.nodes.iter().any(|node| node.class == Some(*class));
        for class in (0..self.class_names.len()).filter(present).take(NAMED_CLASSES) {
            entry(fill(Some(class)), fill(Some(class)), &self.class_names[class]);
        }
        if self.nodes.iter().any(|node| node.class.is_none()) {
            entry(NO_LABEL, NO_LABEL, "no label");
        }
        for (colour, name) in OUTLINES {
            entry("#fff", colour, name);
        }
    }
}

fn push_node(svg: &mut String, (x, y): (f64, f64), radius: f64, node: &DrawnNode) {
    let outline = match node.contribution {
        c if c > 0.0 => OUTLINES[0].0,
        c if c < 0.0 => OUTLINES[1].0,
        _ => "#888",
    };
    let fill = fill(node.class);
    *svg += &format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" stroke=\"{outline}\" \
         stroke-width=\"2.5\"/>\n"
    );
    if node.is_centre {
        *svg += &format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"none\" stroke=\"#222\"/>\n",
            radius + 4.0
        );
    }
    push_text(svg, (x, y - radius - 5.0), "middle", &node.name);
}

/// The colour of a class; classes beyond the last colour start again with the first.
fn fill(class: Option<usize>) -> &'static str {
    class.map_or(NO_LABEL, |class| STROKES[class % STROKES.len()].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_outlines_show_contributions_and_names_are_text() {
        let node = |name: &str, x, contribution| DrawnNode {
            name: name.into(),
            position: (x, 0.5),
            class: Some(0),
            contribution,
            is_centre: x == 0.0,
        };
        let drawing = NeighbourhoodDrawing {
            title: "t".into(),
            nodes: vec![node("<b>", 0.0, 4.0), node("n", 0.5, -1.0), node("m", 1.0, 0.0)],
            edges: vec![(0, 1), (1, 2)],
            class_names: vec!["a".into(), "b".into()],
        };
        let svg = drawing.to_svg();
        let radii: Vec<&str> = svg
            .lines()
            .filter(|line| line.contains("stroke-width=\"2.5\""))
            .map(|line| line.split(" r=\"").nth(1).unwrap().split('"').next().unwrap())
            .collect();
        // The area above the smallest one is proportional to the contribution.
        assert_eq!(radii, ["16.0", "10.0", "4.0"]);
        assert!(svg.contains("#1a7f37") && svg.contains("#b3261e"));
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert_eq!(svg.matches("<line ").count(), 2);
        // The class `b` does not occur.
        assert!(svg.contains(">a<") && !svg.contains(">b<"));
    }
}
