//! Splits in text files: one line `node,part` per node.
//!
//! A node is given by its name, or by its number from 0 if nodes have no names. Fields are separated by
//! a comma, tab or spaces. A first line `node,part` is a header. Empty lines are skipped. Nodes that are
//! not listed are in no part.

use super::PARTS;
use crate::data::Dataset;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// Reads the three parts from a file; every node must have a label.
pub(super) fn read(path: &Path, dataset: &Dataset) -> Result<[Vec<u32>; 3]> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    read_bytes(&path.display().to_string(), &bytes, &dataset.node_names, &dataset.y)
}

/// Reads the three parts from the bytes of a file; errors refer to it as `place`. Without names, nodes
/// are numbers.
pub fn read_bytes(
    place: &str,
    bytes: &[u8],
    names: &[String],
    y: &[Option<u32>],
) -> Result<[Vec<u32>; 3]> {
    parse(place, text(place, bytes)?, names, y)
}

fn text<'a>(place: &str, bytes: &'a [u8]) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        at(place, line, "the text is not UTF-8".into())
    })
}

fn parse(place: &str, text: &str, names: &[String], y: &[Option<u32>]) -> Result<[Vec<u32>; 3]> {
    let numbers: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut parts = [vec![], vec![], vec![]];
    let mut line_of = vec![0; y.len()];
    for (line, content) in (1..).zip(text.lines()) {
        let bad = |problem| at(place, line, problem);
        let Some((node, part)) = fields(content).map_err(bad)? else { continue };
        if line == 1 && (node, part) == ("node", "part") {
            continue;
        }
        let name = node;
        let number = match names {
            [] => labelled(name, y),
            _ => labelled_name(name, &numbers, y),
        };
        let node = number.map_err(bad)?;
        let part = PARTS.iter().position(|name| *name == part).ok_or_else(|| {
            bad(format!("unknown part `{part}`; expected one of {}", PARTS.join(", ")))
        })?;
        if line_of[node] > 0 {
            return Err(bad(format!("node {name} occurs twice, first on line {}", line_of[node])));
        }
        line_of[node] = line;
        parts[part].push(node as u32);
    }
    Ok(parts)
}

/// The two fields of a line; `None` if it is empty.
fn fields(line: &str) -> std::result::Result<Option<(&str, &str)>, String> {
    let separator = |c: char| c == ',' || c.is_whitespace();
    let fields: Vec<&str> = line.split(separator).filter(|field| !field.is_empty()).collect();
    match fields[..] {
        [] => Ok(None),
        [node, part] => Ok(Some((node, part))),
        _ => Err(format!("`{}`; expected `node,part`", line.trim())),
    }
}

fn labelled(node: &str, y: &[Option<u32>]) -> std::result::Result<usize, String> {
    let n = y.len();
    let index: usize =
        node.parse().map_err(|_| format!("node `{node}`; expected a number below {n}"))?;
    match y.get(index) {
        None => Err(format!("node {index}, but the graph has {n} nodes, counted from 0")),
        Some(None) => Err(format!("node {index} has no label")),
        Some(Some(_)) => Ok(index),
    }
}

fn labelled_name(
    name: &str,
    numbers: &HashMap<&str, usize>,
    y: &[Option<u32>],
) -> std::result::Result<usize, String> {
    match numbers.get(name).map(|&node| (node, y[node])) {
        None => Err(format!("node `{name}` is not in the graph; expected the name of a node")),
        Some((_, None)) => Err(format!("node `{name}` has no label")),
        Some((node, Some(_))) => Ok(node),
    }
}

fn at(place: &str, line: usize, problem: String) -> Error {
    Error::Data { place: format!("{place}:{line}"), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Y: [Option<u32>; 5] = [Some(0), Some(1), Some(0), None, Some(1)];

    fn read_error(bytes: &[u8]) -> String {
        read_bytes("s.csv", bytes, &[], &Y).unwrap_err().to_string()
    }

    #[test]
    fn reads_all_separators_headers_and_empty_lines() {
        let expected = [vec![4, 0], vec![1], vec![2]];
        for text in [
            "node,part\n4,train\n1,val\n2,test\n0,train\n",
            "4\ttrain\r\n1\tval\r\n\r\n2\ttest\r\n0\ttrain",
            "4 train\n1 val\n 2, test \n0,train\n\n",
        ] {
            assert_eq!(parse("s.csv", text, &[], &Y).unwrap(), expected, "{text:?}");
        }
        let with_mark = text("s.csv", b"\xef\xbb\xbf1,val").unwrap();
        assert_eq!(parse("s.csv", with_mark, &[], &Y).unwrap()[1], [1]);
    }

    #[test]
    fn nodes_with_names_are_found_by_name() {
        let names = ["3", "1", "0", "x", "y z"].map(String::from);
        let read = |text: &[u8]| read_bytes("s.csv", text, &names, &Y);
        assert_eq!(read(b"3,train\n1,val\n0,test").unwrap(), [vec![0], vec![1], vec![2]]);
        let error = read(b"2,train").unwrap_err().to_string();
        assert_eq!(error, "s.csv:1: node `2` is not in the graph; expected the name of a node");
        assert_eq!(read(b"x,val").unwrap_err().to_string(), "s.csv:1: node `x` has no label");
    }

    #[test]
    fn errors_include_the_line() {
        let cases: [(&[u8], &str); 8] = [
            (b"0,train\n1,dev\n", "s.csv:2: unknown part `dev`; expected one of train, val, test"),
            (b"5,test", "s.csv:1: node 5, but the graph has 5 nodes, counted from 0"),
            (b"-1,test", "s.csv:1: node `-1`; expected a number below 5"),
            (b"0,val\n\nnode,part\n", "s.csv:3: node `node`; expected a number below 5"),
            (b"3,val", "s.csv:1: node 3 has no label"),
            (b"1,val\n1,test", "s.csv:2: node 1 occurs twice, first on line 1"),
            (b"1,val,2\n", "s.csv:1: `1,val,2`; expected `node,part`"),
            (b"1,val\n2,t\xffst\n", "s.csv:2: the text is not UTF-8"),
        ];
        for (bytes, message) in cases {
            assert_eq!(read_error(bytes), message);
        }
    }

    #[test]
    fn error_includes_the_missing_file() {
        let dataset = crate::data::load("csbm:nodes=60").unwrap();
        let error = read(Path::new("/nowhere/split.csv"), &dataset).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/split.csv: "), "{error}");
    }
}
