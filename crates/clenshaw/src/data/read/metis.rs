//! METIS graph files, which are read together with a node table.
//!
//! ```text
//! % n nodes, m edges, format: 1 for edge weights, 10 for node weights, 100 for node sizes
//! 3 2 001
//! 2 5
//! 1 5 3 1
//! 2 1
//! ```
//!
//! Line `i` after the first one lists the neighbours of node `i`, which is row `i` of the node table; all are
//! counted from 1. With edge weights, each neighbour is followed by a weight. Every edge is listed by both
//! of its nodes. An empty line is a node without edges. Weights and sizes of nodes are ignored.
//! Karypis, *METIS 5.1.0 manual*, section 4.1.1.

use super::assemble::ReadEdges;
use super::delimited::LineResult;
use super::edges::parse_weight;
use super::text::line_error;
use crate::data::count;
use crate::data::schema::WeightChoice;
use crate::error::Result;

/// Reads the edges between the `n_nodes` rows of a table. Fails if the file is malformed or does not have
/// `n_nodes` nodes, or if the number of listed neighbours, not counting loops, is not twice the number of edges
/// in the first line.
pub(super) fn parse(
    place: &str,
    text: &str,
    n_nodes: usize,
    weights: WeightChoice,
) -> Result<ReadEdges> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let mut lines = lines.filter(|(_, line)| !line.trim_start().starts_with('%'));
    let (number, first) = lines.next().unwrap_or((1, ""));
    let header = MetisHeader::parse(first).map_err(|problem| line_error(place, number, problem))?;
    if header.n_nodes != n_nodes {
        let problem = format!(
            "{}, but the node table has {}; expected one row per node",
            count(header.n_nodes, "node", "nodes"),
            count(n_nodes, "row", "rows")
        );
        return Err(line_error(place, number, problem));
    }
    let (mut edges, mut node, mut last) = (vec![], 0, number);
    for (number, line) in lines {
        last = number;
        if node == n_nodes && line.trim().is_empty() {
            continue;
        }
        let read = header.read_neighbours(node, line, &mut edges);
        read.map_err(|problem| line_error(place, number, problem))?;
        node += 1;
    }
    // The empty line of a last node without edges may be missing.
    if node + 1 < n_nodes {
        let nodes = count(node, "node", "nodes");
        let problem = format!("unexpected end of file after {nodes}; expected {n_nodes}");
        return Err(line_error(place, last, problem));
    }
    let n_neighbours = edges.iter().filter(|(u, v, _)| u != v).count();
    let expected = header.n_edges.saturating_mul(2);
    if n_neighbours != expected {
        let problem = format!(
            "{}, not counting loops; expected {expected}, twice the number of edges in the first line",
            count(n_neighbours, "neighbour", "neighbours")
        );
        return Err(line_error(place, last, problem));
    }
    let n_zero_loops = edges.iter().filter(|(u, v, weight)| u == v && *weight == 0.0).count();
    let mut edges = ReadEdges::new(place, n_nodes, edges, weights)?;
    // Both nodes of an edge list it, but loops are listed once.
    edges.n_listed /= 2;
    if edges.n_zero_weights > 0 {
        edges.n_zero_weights = n_zero_loops + (edges.n_zero_weights - n_zero_loops) / 2;
    }
    if header.n_skipped > 0 {
        edges.notes.push(format!("{place}: weights and sizes of nodes are not used"));
    }
    Ok(edges)
}

/// The first line of a file that is not a comment.
struct MetisHeader {
    n_nodes: usize,
    n_edges: usize,
    /// How many numbers precede the neighbours in each line: the size and the weights of the node.
    n_skipped: usize,
    has_edge_weights: bool,
}

impl MetisHeader {
    /// Parses `nodes edges [format [number of node weights]]`.
    fn parse(line: &str) -> LineResult<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let invalid =
            || format!("`{}`; expected `nodes edges`, optionally with a format", line.trim());
        let number = |word: &str| word.parse::<usize>().ok().filter(|n| *n <= u32::MAX as usize);
        let (n_nodes, n_edges) = match words[..] {
            [n, m, ..] if words.len() <= 4 => {
                (number(n).ok_or_else(invalid)?, number(m).ok_or_else(invalid)?)
            }
            _ => return Err(invalid()),
        };
        let format = words.get(2).copied().unwrap_or("0");
        if format.len() > 3 || !format.bytes().all(|byte| b"01".contains(&byte)) {
            return Err(format!("format `{format}`; expected one to three digits, each 0 or 1"));
        }
        let is_set = |place: usize| format.bytes().rev().nth(place) == Some(b'1');
        let n_weights = match words.get(3) {
            Some(word) => number(word).ok_or_else(invalid)?,
            None => 1,
        };
        let n_skipped = usize::from(is_set(2)) + if is_set(1) { n_weights } else { 0 };
        Ok(Self { n_nodes, n_edges, n_skipped, has_edge_weights: is_set(0) })
    }

    /// Adds the edges in the line of node number `node`, counted from 0, to `edges`; an error if there is no
    /// such node or the line is malformed.
    fn read_neighbours(
        &self,
        node: usize,
        line: &str,
        edges: &mut Vec<(u32, u32, f32)>,
    ) -> LineResult<()> {
        let n = self.n_nodes;
        if node >= n {
            return Err(format!("unexpected line after the last node, {n}"));
        }
        let mut words = line.split_ascii_whitespace().skip(self.n_skipped);
        while let Some(word) = words.next() {
            let number = word.parse().ok().filter(|number| (1..=n).contains(number));
            let number = number
                .ok_or_else(|| format!("neighbour `{word}`; expected a number from 1 to {n}"))?;
            let missing = || format!("neighbour {number} has no weight");
            let weight = match self.has_edge_weights {
                true => parse_weight(words.next().ok_or_else(missing)?)?,
                false => 1.0,
            };
            edges.push((node as u32, number as u32 - 1, weight));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 2 (a) of the manual.
    const MANUAL_FILE: &str = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n";
    /// Figure 2 (c): the same graph with weights of edges and nodes.
    const WEIGHTED_FILE: &str = "% a comment\n7 11 011\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n\
        5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n1 1 1 3 3 6 2\n6 5 2 4 2 7 6\n2 6 6 4 5\n";

    fn read(text: &str, n_nodes: usize) -> Result<ReadEdges> {
        parse("x.metis", text, n_nodes, WeightChoice::ByName)
    }

    fn read_error(text: &str, n_nodes: usize) -> String {
        read(text, n_nodes).err().unwrap().to_string().replace("x.metis:", "")
    }

    #[test]
    fn reads_examples_of_the_manual() {
        let plain = read(MANUAL_FILE, 7).unwrap();
        let expected = [
            (0, 1),
            (0, 2),
            (0, 4),
            (1, 2),
            (1, 3),
            (2, 3),
            (2, 4),
            (3, 5),
            (3, 6),
            (4, 5),
            (5, 6),
        ];
        assert_eq!(plain.graph.edges().collect::<Vec<_>>(), expected);
        assert_eq!((plain.n_listed, plain.n_loops, plain.directed), (11, 0, false));
        assert!(plain.graph.weights().is_none());
        let weighted = read(WEIGHTED_FILE, 7).unwrap();
        assert_eq!(weighted.notes, ["x.metis: weights and sizes of nodes are not used"]);
        let weighted = weighted.graph;
        assert_eq!(weighted.edges().collect::<Vec<_>>(), expected);
        // Node 1: neighbours 2, 3 and 5 with weights 1, 2 and 1.
        assert_eq!(weighted.weights().unwrap()[..3], [1.0, 2.0, 1.0]);
    }

    #[test]
    fn empty_lines_are_nodes_without_edges() {
        for text in ["4 1\n\n3\n2\n\n", "4 1\n\n3\n2\n", "4 1\n\n3\n% x\n2\n\n\n"] {
            let edges = read(text, 4).unwrap();
            assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(1, 2)]);
        }
    }

    #[test]
    fn errors_include_the_line() {
        let cases = [
            ("", 2, "1: ``; expected `nodes edges`, optionally with a format"),
            ("a b\n", 2, "1: `a b`; expected `nodes edges`, optionally with a format"),
            ("2 1 2\n", 2, "1: format `2`; expected one to three digits, each 0 or 1"),
            ("%\n3 1\n", 2, "2: 3 nodes, but the node table has 2 rows; expected one row per node"),
            ("2 1\n2\n3\n", 2, "3: neighbour `3`; expected a number from 1 to 2"),
            ("2 1\n2\n0\n", 2, "3: neighbour `0`; expected a number from 1 to 2"),
            ("2 1\n2\n1\n1\n", 2, "4: unexpected line after the last node, 2"),
            ("3 1\n2\n", 3, "2: unexpected end of file after 1 node; expected 3"),
            ("2 1 1\n2 5\n1\n", 2, "3: neighbour 1 has no weight"),
            ("2 1 1\n2 x\n", 2, "2: the weight is `x`; expected a finite, non-negative number"),
            (
                "2 2\n2\n1\n",
                2,
                "3: 2 neighbours, not counting loops; expected 4, twice the number of edges in the first line",
            ),
        ];
        for (text, n_nodes, problem) in cases {
            assert_eq!(read_error(text, n_nodes), problem);
        }
    }
}
