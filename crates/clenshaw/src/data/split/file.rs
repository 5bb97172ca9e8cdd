//! Splits in text files: one line `node,part` per node.
//!
//! Fields are separated by a comma, tab or spaces. A first line `node,part` is a header. Empty lines are
//! skipped. Nodes that are not listed are in no part.

use super::PARTS;
use crate::error::{Error, Result};
use std::path::Path;

/// Reads the three parts from a file; every node must have a label.
pub(super) fn read(path: &Path, y: &[Option<u32>]) -> Result<[Vec<u32>; 3]> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    read_bytes(&path.display().to_string(), &bytes, y)
}

/// Reads the three parts from the bytes of a file; errors refer to it as `place`.
pub fn read_bytes(place: &str, bytes: &[u8], y: &[Option<u32>]) -> Result<[Vec<u32>; 3]> {
    parse(place, text(place, bytes)?, y)
}

fn text<'a>(place: &str, bytes: &'a [u8]) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        at(place, line, "the text is not UTF-8".into())
    })
}

fn parse(place: &str, text: &str, y: &[Option<u32>]) -> Result<[Vec<u32>; 3]> {
    let mut parts = [vec![], vec![], vec![]];
    let mut line_of = vec![0; y.len()];
    for (line, content) in (1..).zip(text.lines()) {
        let bad = |problem| at(place, line, problem);
        let Some((node, part)) = fields(content).map_err(bad)? else { continue };
        if line == 1 && (node, part) == ("node", "part") {
            continue;
        }
        let node = labelled(node, y).map_err(bad)?;
        let part = PARTS.iter().position(|name| *name == part).ok_or_else(|| {
            bad(format!("unknown part `{part}`; expected one of {}", PARTS.join(", ")))
        })?;
        if line_of[node] > 0 {
            return Err(bad(format!("node {node} occurs twice, first on line {}", line_of[node])));
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

fn at(place: &str, line: usize, problem: String) -> Error {
    Error::Data { place: format!("{place}:{line}"), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Y: [Option<u32>; 5] = [Some(0), Some(1), Some(0), None, Some(1)];

    fn read_error(bytes: &[u8]) -> String {
        read_bytes("s.csv", bytes, &Y).unwrap_err().to_string()
    }

    #[test]
    fn reads_all_separators_headers_and_empty_lines() {
        let expected = [vec![4, 0], vec![1], vec![2]];
        for text in [
            "node,part\n4,train\n1,val\n2,test\n0,train\n",
            "4\ttrain\r\n1\tval\r\n\r\n2\ttest\r\n0\ttrain",
            "4 train\n1 val\n 2, test \n0,train\n\n",
        ] {
            assert_eq!(parse("s.csv", text, &Y).unwrap(), expected, "{text:?}");
        }
        let with_mark = text("s.csv", b"\xef\xbb\xbf1,val").unwrap();
        assert_eq!(parse("s.csv", with_mark, &Y).unwrap()[1], [1]);
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
        let error = read(Path::new("/nowhere/split.csv"), &Y).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/split.csv: "), "{error}");
    }
}
