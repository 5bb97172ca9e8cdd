//! Pajek files, as written by `networkx.write_pajek` and igraph.
//!
//! ```text
//! *vertices 3
//! 1 "ann" 0.0 0.0 ellipse
//! 2 "bob"
//! *edges
//! 1 2 2.5
//! *arcs
//! 2 3
//! ```
//!
//! Vertices have coordinates and shapes, but no attributes that are useful as features or labels, so a
//! Pajek file is read together with a node table: `NAME.nodes.csv` for `NAME.net`, or `nodes.csv` in the
//! same folder. The vertices are matched with the table by name; the name of a vertex without one is its
//! number. The third column of edges is their weight, 1 if it is missing.
//!
//! `*arcslist` and `*edgeslist` are also supported; `*matrix` is rejected, and partitions are skipped.
//! The graph is undirected; loops are removed and duplicate edges merged.

use super::assemble::ReadEdges;
use super::delimited::{LineResult, fields};
use super::edges::parse_weight;
use super::text::line_error;
use crate::data::schema::WeightChoice;
use crate::error::Result;
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads the edges between the nodes of a table; `nodes` maps their names to their numbers. An error if the
/// file is malformed, or if a vertex that is listed or has an edge is not in the table.
pub(super) fn parse(
    place: &str,
    text: &str,
    nodes: &HashMap<String, u32>,
    weights: WeightChoice,
) -> Result<ReadEdges> {
    let mut parser = PajekParser::new(nodes);
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        parser.read_line(line.trim()).map_err(|problem| line_error(place, number, problem))?;
    }
    if parser.section == PajekSection::Start {
        return Err(line_error(place, 1, "the file has no `*vertices`"));
    }
    let edges = ReadEdges::new(place, nodes.len(), parser.edges, weights)?;
    Ok(ReadEdges { directed: parser.directed, ..edges })
}

/// The part of the file that is being read.
#[derive(Clone, Copy, PartialEq)]
enum PajekSection {
    /// Before `*vertices`.
    Start,
    /// One vertex per line.
    Vertices,
    /// One edge per line, optionally with a weight.
    Edges,
    /// One vertex and its neighbours per line.
    EdgeLists,
    /// A section that is skipped.
    Other,
}

/// The state of the parser and the edges read so far.
struct PajekParser<'a> {
    /// From the name of a node to its number.
    nodes: &'a HashMap<String, u32>,
    section: PajekSection,
    n_vertices: usize,
    /// The node of each vertex that has a line in `*vertices`, by the number of the vertex.
    node_of: HashMap<usize, u32>,
    edges: Vec<(u32, u32, f32)>,
    /// Whether the file has a section of arcs.
    directed: bool,
}

impl<'a> PajekParser<'a> {
    fn new(nodes: &'a HashMap<String, u32>) -> Self {
        Self {
            nodes,
            section: PajekSection::Start,
            n_vertices: 0,
            node_of: HashMap::new(),
            edges: vec![],
            directed: false,
        }
    }

    fn read_line(&mut self, line: &str) -> LineResult<()> {
        if line.is_empty() || line.starts_with('%') {
            return Ok(());
        }
        if let Some(header) = line.strip_prefix('*') {
            return self.start_section(header);
        }
        let line = line.replace('\t', " ");
        match self.section {
            PajekSection::Start => Err(format!("`{line}`; expected `*vertices`")),
            PajekSection::Vertices => self.read_vertex(&line),
            PajekSection::Edges => self.read_edge(&line),
            PajekSection::EdgeLists => self.read_edge_list(&line),
            PajekSection::Other => Ok(()),
        }
    }

    fn start_section(&mut self, header: &str) -> LineResult<()> {
        let mut words = header.split_ascii_whitespace();
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        if self.section == PajekSection::Start && !["vertices", "network"].contains(&&*name) {
            return Err(format!("`*{name}`; expected `*vertices` first"));
        }
        self.section = match &*name {
            "network" => return Ok(()),
            "vertices" if self.section != PajekSection::Start => {
                return Err("found `*vertices` twice; expected one graph".into());
            }
            "vertices" => {
                let count = words.next().unwrap_or_default();
                let invalid = |_| format!("`*vertices {count}`; expected the number of vertices");
                self.n_vertices = count.parse().map_err(invalid)?;
                PajekSection::Vertices
            }
            "arcs" | "edges" => PajekSection::Edges,
            "arcslist" | "edgeslist" => PajekSection::EdgeLists,
            "matrix" => {
                return Err("found `*matrix`; expected `*arcs` or `*edges`".into());
            }
            "partition" | "vector" | "cluster" | "permutation" => PajekSection::Other,
            _ => return Err(format!("unknown section `*{name}`; expected `*arcs` or `*edges`")),
        };
        self.directed |= name.starts_with("arcs");
        Ok(())
    }

    fn read_vertex(&mut self, line: &str) -> LineResult<()> {
        let mut fields = fields(line, b' ');
        let number = fields.next().unwrap_or(Ok(Cow::Borrowed("")))?;
        let vertex = self.vertex_number(&number)?;
        let name = fields.next().transpose()?.filter(|name| !name.is_empty());
        let node = self.node_named(&name.unwrap_or(number))?;
        match self.node_of.insert(vertex, node) {
            None => Ok(()),
            Some(_) => Err(format!("vertex {vertex} is listed twice")),
        }
    }

    fn read_edge(&mut self, line: &str) -> LineResult<()> {
        let mut words = line.split_ascii_whitespace();
        let (Some(u), Some(v)) = (words.next(), words.next()) else {
            return Err(format!("`{line}`; expected two vertices and optionally a weight"));
        };
        let ends = (self.node(u)?, self.node(v)?);
        let weight = words.next().map_or(Ok(1.0), parse_weight)?;
        self.edges.push((ends.0, ends.1, weight));
        Ok(())
    }

    fn read_edge_list(&mut self, line: &str) -> LineResult<()> {
        let mut words = line.split_ascii_whitespace();
        let u = self.node(words.next().unwrap_or_default())?;
        for word in words {
            self.edges.push((u, self.node(word)?, 1.0));
        }
        Ok(())
    }

    /// Parses the number of a vertex; an error unless it is from 1 to the number of vertices.
    fn vertex_number(&self, word: &str) -> LineResult<usize> {
        let n = self.n_vertices;
        let number = word.parse().ok().filter(|vertex| (1..=n).contains(vertex));
        number.ok_or_else(|| format!("vertex `{word}`; expected a number from 1 to {n}"))
    }

    /// Returns the node of the vertex with this number; if it has no line in `*vertices`, its number is its name.
    fn node(&self, word: &str) -> LineResult<u32> {
        let vertex = self.vertex_number(word)?;
        match self.node_of.get(&vertex) {
            Some(&node) => Ok(node),
            None => self.node_named(&vertex.to_string()),
        }
    }

    /// Returns the number of a node of the table; an error if it has no node with this name.
    fn node_named(&self, name: &str) -> LineResult<u32> {
        let unknown = || format!("node `{name}` is not in the node table; add a row for it");
        self.nodes.get(name).copied().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nx.write_pajek` of NetworkX 3.6 for a `MultiDiGraph`.
    const NETWORKX_FILE: &str = "*vertices 3\n1 ann 0.0 0.0 ellipse\n2 bob 0.0 0.0 ellipse\n\
        3 \"c d\" 0.0 0.0 ellipse\n*arcs\n1 2 2.0\n2 3 1.0\n3 3 3\n";
    /// `write_pajek` of igraph 1.0.
    const IGRAPH_FILE: &str =
        "*Vertices 3\r\n1 \"ann\"\r\n2 \"bob\"\r\n3 \"c d\"\r\n*Edges\r\n1 2 2\r\n2 3 1\r\n";

    /// Reads a file beside a table whose rows are in a different order from the vertices.
    fn read(text: &str) -> Result<ReadEdges> {
        let nodes = [("c d", 0), ("ann", 1), ("bob", 2), ("4", 3)];
        let nodes = nodes.map(|(name, node)| (name.to_owned(), node)).into();
        parse("x.net", text, &nodes, WeightChoice::ByName)
    }

    fn read_error(text: &str) -> String {
        read(text).err().unwrap().to_string().replace("x.net:", "")
    }

    #[test]
    fn reads_networkx_and_igraph_files() {
        for (text, directed) in [(NETWORKX_FILE, true), (IGRAPH_FILE, false)] {
            let edges = read(text).unwrap();
            assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(0, 2), (1, 2)]);
            assert_eq!(edges.graph.weights(), Some(&[1.0, 2.0, 1.0, 2.0][..]));
            assert_eq!((edges.directed, edges.n_loops), (directed, usize::from(directed)));
        }
    }

    #[test]
    fn reads_lists_and_vertices_without_lines() {
        let text = "% comment\n*Network x\n*Vertices 4 \n1 ann\n2\tbob\n*Edgeslist\n1 2 4\n\
            *Partition p\nanything\n*arcs :1 \"likes\"\n4 2\n";
        let edges = read(text).unwrap();
        assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(1, 2), (1, 3), (2, 3)]);
        assert!(edges.directed && edges.graph.weights().is_none());
    }

    #[test]
    fn errors_include_the_line() {
        let cases = [
            ("", "1: the file has no `*vertices`"),
            ("1 2\n", "1: `1 2`; expected `*vertices`"),
            ("*edges\n1 2\n", "1: `*edges`; expected `*vertices` first"),
            ("*vertices x\n", "1: `*vertices x`; expected the number of vertices"),
            (
                "*vertices 2\n1 ann\n2 zed\n",
                "3: node `zed` is not in the node table; add a row for it",
            ),
            (
                "*vertices 2\n*edges\n1 2\n",
                "3: node `1` is not in the node table; add a row for it",
            ),
            ("*vertices 1\n2 ann\n", "2: vertex `2`; expected a number from 1 to 1"),
            ("*vertices 1\n1 ann\n1 bob\n", "3: vertex 1 is listed twice"),
            ("*vertices 1\n1 \"ann\n", "2: a quoted field is not closed"),
            (
                "*vertices 1\n1 ann\n*arcs\n1\n",
                "4: `1`; expected two vertices and optionally a weight",
            ),
            (
                "*vertices 1\n1 ann\n*arcs\n1 1 -2\n",
                "4: the weight is `-2`; expected a finite, non-negative number",
            ),
            ("*vertices 1\n*matrix\n", "2: found `*matrix`; expected `*arcs` or `*edges`"),
            ("*vertices 1\n*foo\n", "2: unknown section `*foo`; expected `*arcs` or `*edges`"),
            ("*vertices 1\n*vertices 1\n", "2: found `*vertices` twice; expected one graph"),
        ];
        for (text, problem) in cases {
            assert_eq!(read_error(text), problem);
        }
        // No memory is allocated for the declared number of vertices.
        assert!(read("*vertices 99999999999\n1 ann\n").is_ok());
    }
}
