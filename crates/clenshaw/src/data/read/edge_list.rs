//! Edge lists with Python dictionaries, as written by `networkx.write_edgelist`.
//!
//! ```text
//! ann bob {'weight': 2.5, 'kind': 'friend'}
//! bob cid {}
//! ```
//!
//! The dictionary may be missing (`data=False`) or replaced by a number, the weight
//! (`write_weighted_edgelist`). The weight is the entry `weight`, or the one that the user chose; other entries are
//! not used, and a note lists them, except for `id` and `key`.
//! The separator is a space, tab, comma or semicolon. Lines that start with `#` or `%` are
//! comments.

use super::assemble::ReadEdges;
use super::delimited::{LineResult, detect_separator, fields};
use super::edge_attributes::EdgeAttributes;
use super::edges::parse_weight;
use super::text::line_error;
use crate::data::schema::WeightChoice;
use crate::error::Result;
use std::collections::HashMap;

/// Whether the first line that is neither blank nor a comment contains `{` and ends with `}`.
pub(super) fn has_dictionaries(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = text.split(|byte| *byte == b'\n');
    lines
        .find(|line| is_edge(line))
        .is_some_and(|line| line.contains(&b'{') && line.trim_ascii_end().ends_with(b"}"))
}

/// Whether a line is neither blank nor a comment, which starts with `#` or `%`.
fn is_edge(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%")
}

/// Reads the edges between the nodes of a table; `nodes` maps their names to their numbers. A name that is
/// not in the table is an error.
pub(super) fn parse(
    place: &str,
    text: &str,
    nodes: &HashMap<String, u32>,
    weights: WeightChoice,
) -> Result<ReadEdges> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let mut attributes = EdgeAttributes::new(weights);
    let mut edges = vec![];
    for (number, line) in lines.filter(|(_, line)| is_edge(line.as_bytes())) {
        let edge = edge(line, nodes, &mut attributes);
        edges.push(edge.map_err(|problem| line_error(place, number, problem))?);
    }
    let mut edges = ReadEdges::new(place, nodes.len(), edges, weights)?;
    attributes.finish(place, &mut edges)?;
    Ok(edges)
}

/// Parses the edge in a line and adds the entries of its dictionary to `attributes`.
fn edge(
    line: &str,
    nodes: &HashMap<String, u32>,
    attributes: &mut EdgeAttributes,
) -> LineResult<(u32, u32, f32)> {
    let (ends, dictionary) = line.split_at(line.find('{').unwrap_or(line.len()));
    let separator = detect_separator(ends);
    let ends = ends.trim_end_matches([' ', '\r', separator as char]);
    let found: Vec<_> = fields(ends, separator).collect::<LineResult<_>>()?;
    let (u, v, weight) = match &found[..] {
        [u, v] if dictionary.is_empty() => (u, v, 1.0),
        [u, v] => (u, v, dictionary_weight(dictionary.trim_end(), attributes)?),
        [u, v, weight] if dictionary.is_empty() => (u, v, parse_weight(weight)?),
        _ => {
            let line = line.trim();
            return Err(format!(
                "`{line}`; expected two nodes and optionally a weight or a dictionary"
            ));
        }
    };
    let node = |name: &str| {
        let unknown = || format!("node `{name}` is not in the node table; add a row for it");
        nodes.get(name).copied().ok_or_else(unknown)
    };
    Ok((node(u)?, node(v)?, weight))
}

/// Adds the entries of a Python dictionary to the attributes; returns the weight, or 1 if there is none. An
/// error if the text is malformed or the weight is invalid.
fn dictionary_weight(text: &str, attributes: &mut EdgeAttributes) -> LineResult<f32> {
    let malformed = || format!("`{text}`; expected a dictionary such as `{{'weight': 2}}`");
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let mut rest = inside.ok_or_else(malformed)?.trim();
    let mut weight = 1.0;
    while !rest.is_empty() {
        let (key, after) = split_outside(rest, b':').ok_or_else(malformed)?;
        let (value, after) =
            split_outside(after.ok_or_else(malformed)?, b',').ok_or_else(malformed)?;
        let key = key.trim().trim_matches(['\'', '"']);
        attributes.add(key, number_text(value.trim()), &mut weight)?;
        rest = after.unwrap_or("").trim_start();
    }
    Ok(weight)
}

/// Returns the argument of a NumPy value such as `np.float64(2.5)`; other text is returned unchanged.
fn number_text(value: &str) -> &str {
    let inside = value.strip_prefix("np.").and_then(|value| value.strip_suffix(')'));
    inside.and_then(|value| value.split_once('(')).map_or(value, |(_, number)| number)
}

/// Splits `text` at the first separator outside quotes and brackets; the second part is `None` if there
/// is no separator. Returns `None` if quotes or brackets before the separator are unbalanced.
fn split_outside(text: &str, separator: u8) -> Option<(&str, Option<&str>)> {
    let (mut quote, mut depth) = (None, 0usize);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.checked_sub(1)?,
            (None, _) if byte == separator && depth == 0 => {
                return Some((&text[..at], Some(&text[at + 1..])));
            }
            _ => {}
        }
    }
    (quote.is_none() && depth == 0).then_some((text, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ReadEdges> {
        let nodes = [("ann", 0), ("bob", 1), ("cid", 2)];
        let nodes = nodes.map(|(name, node)| (name.to_owned(), node)).into();
        parse("x", text, &nodes, WeightChoice::ByName)
    }

    fn weight(dictionary: &str) -> LineResult<f32> {
        dictionary_weight(dictionary, &mut EdgeAttributes::new(WeightChoice::ByName))
    }

    fn read_error(text: &str) -> String {
        read(text).err().unwrap().to_string()
    }

    /// `nx.write_edgelist` of NetworkX 3.6, with spaces and with commas.
    #[test]
    fn reads_dictionaries() {
        let spaces = "ann bob {'weight': 2.0}\nbob cid {}\ncid cid {'weight': 3}\n";
        let commas = "ann,bob,{'weight': 2.0}\nbob,cid,{}\ncid,cid,{'weight': 3}\n";
        for text in [spaces, commas] {
            for comment in ["", "#nodes\n", "% edges\n\n# 3\n"] {
                let text = format!("{comment}{text}");
                assert!(has_dictionaries(text.as_bytes()));
                assert_eq!(read(&text).unwrap().graph.n_edges(), 2);
            }
            let edges = read(text).unwrap();
            assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
            assert_eq!(edges.graph.weights(), Some(&[2.0, 2.0, 1.0, 1.0][..]));
            assert_eq!(edges.n_loops, 1);
        }
    }

    #[test]
    fn reads_lists_without_dictionaries() {
        let plain = read("# a comment\nann bob\n\nbob cid\n").unwrap();
        assert_eq!((plain.graph.n_edges(), plain.graph.weights()), (2, None));
        let weighted = read("ann bob 2.5\r\nbob cid 1\r\n").unwrap();
        assert_eq!(weighted.graph.weights(), Some(&[2.5, 2.5, 1.0, 1.0][..]));
        for text in ["ann bob\n", "ann bob 2\n", "", "# {}\n", "{'a': 1\n"] {
            assert!(!has_dictionaries(text.as_bytes()));
        }
    }

    #[test]
    fn finds_the_weight_in_a_dictionary() {
        let cases = [
            ("{}", 1.0),
            ("{'weight': 2}", 2.0),
            ("{'a': 'weight: 5, }', \"weight\": 2.5, 'b': None}", 2.5),
            (r"{'a': 'it\'s, {', 'weight': np.float64(0.5)}", 0.5),
            ("{'a': {'weight': 7}, 'b': [1, 2], 'c': (3, 'weight')}", 1.0),
            ("{'weight': 1e2, }", 100.0),
        ];
        for (text, expected) in cases {
            assert_eq!(weight(text), Ok(expected), "{text}");
        }
        for text in ["{'weight'}", "{'a': 'b}", "{'a': [}", "{'a': 1", "{'a': 1)}"] {
            let expected = format!("`{text}`; expected a dictionary such as `{{'weight': 2}}`");
            assert_eq!(weight(text), Err(expected));
        }
    }

    #[test]
    fn errors_include_the_line() {
        let cases = [
            (
                "ann bob {'weight': 'x'}\n",
                "x:1: the weight is `'x'`; expected a finite, non-negative number",
            ),
            ("ann bob\nann zed\n", "x:2: node `zed` is not in the node table; add a row for it"),
            (
                "ann {}\n",
                "x:1: `ann {}`; expected two nodes and optionally a weight or a dictionary",
            ),
            (
                "#\nann bob red\n",
                "x:2: the weight is `red`; expected a finite, non-negative number",
            ),
        ];
        for (text, problem) in cases {
            assert_eq!(read_error(text), problem);
        }
    }
}
