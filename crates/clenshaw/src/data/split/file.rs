//! Splits in text files: one line `node,part` per node.
//!
//! A node is given by its name, or by its number from 0 if nodes have no names; `part` is train, val or test
//! (synonyms in `part_named`). The file is a text table, see `read/delimited.rs`; a first line such as
//! `node,part` or `id,split` is a header. Nodes that are not listed are in no part.

use super::part_named;
use crate::data::read::delimited::{LineResult, parse_table};
use crate::data::read::text;
use crate::data::schema::is_id_name;
use crate::data::{Dataset, count};
use crate::error::Result;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// Names of the second column in a header.
const PART_COLUMN: [&str; 2] = ["part", "split"];

/// Reads the three parts from a file; see [`read_bytes`].
pub(super) fn read(path: &Path, dataset: &Dataset) -> Result<[Vec<u32>; 3]> {
    let bytes = crate::files::read(path)?;
    read_bytes(&path.display().to_string(), &bytes, &dataset.node_names, &dataset.y)
}

/// Reads the three parts from the bytes of a file; errors refer to the file as `place`. If `names` is empty,
/// nodes are given by number. A node that does not exist, has no label or occurs twice is an error.
pub fn read_bytes(
    place: &str,
    bytes: &[u8],
    names: &[String],
    y: &[Option<u32>],
) -> Result<[Vec<u32>; 3]> {
    let text = text::read_bytes(Path::new(place), bytes)?;
    let table = parse_table(place, &text, |first, _| is_header(first))?;
    let [nodes, parts] = &table.columns[..] else {
        let columns = count(table.columns.len(), "column", "columns");
        return Err(table.error(format!("{columns}; expected `node,part`")));
    };
    let numbers: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut split = [vec![], vec![], vec![]];
    let mut row_of = vec![None; y.len()];
    for (row, (name, part)) in nodes.cells().zip(parts.cells()).enumerate() {
        let bad = |problem| table.row_error(row, problem);
        let node = match names {
            [] => node_number(name, y.len()),
            _ => numbers.get(name).copied().ok_or_else(|| {
                format!("node `{name}` is not in the graph; expected the name of a node")
            }),
        };
        let node = node.map_err(bad)?;
        if y[node].is_none() {
            return Err(bad(format!("node `{name}` has no label")));
        }
        let part = part_named(part).ok_or_else(|| {
            bad(format!("unknown part `{part}`; expected one of train, val, test"))
        })?;
        if let Some(first) = row_of[node].replace(row) {
            let line = table.lines[first];
            return Err(bad(format!("node `{name}` occurs twice, first on line {line}")));
        }
        split[part].push(node as u32);
    }
    Ok(split)
}

/// Whether the first line is a header: the name of an id column and one of [`PART_COLUMN`].
fn is_header(first: &[Cow<str>]) -> bool {
    let is_part_column =
        |name: &str| PART_COLUMN.iter().any(|word| name.eq_ignore_ascii_case(word));
    matches!(first, [node, part] if is_id_name(node) && is_part_column(part))
}

/// Parses a node number below `n`.
fn node_number(text: &str, n: usize) -> LineResult<usize> {
    let number: usize =
        text.parse().map_err(|_| format!("node `{text}`; expected a number below {n}"))?;
    match number < n {
        true => Ok(number),
        false => Err(format!("node {number}, but the graph has {n} nodes, counted from 0")),
    }
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
            "4 train\n1 val\n 2  test \n0 train\n\n",
            "\u{feff}# seed 7\nID;Split\n4;training\n1;\"dev\"\n2;test\n0; train\n",
        ] {
            let split = read_bytes("s.csv", text.as_bytes(), &[], &Y);
            assert_eq!(split.unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn nodes_with_names_are_found_by_name() {
        let names = ["3", "1", "0", "x", "y, z"].map(String::from);
        let read = |text: &[u8]| read_bytes("s.csv", text, &names, &Y);
        assert_eq!(read(b"3,train\n1,val\n0,test").unwrap(), [vec![0], vec![1], vec![2]]);
        assert_eq!(read(b"3,train\n\"y, z\",val").unwrap()[1], [4]);
        let error = read(b"2,train").unwrap_err().to_string();
        assert_eq!(error, "s.csv:1: node `2` is not in the graph; expected the name of a node");
        assert_eq!(read(b"x,val").unwrap_err().to_string(), "s.csv:1: node `x` has no label");
    }

    #[test]
    fn errors_include_the_line() {
        let cases: [(&[u8], &str); 8] = [
            (
                b"0,train\n1,later\n",
                "s.csv:2: unknown part `later`; expected one of train, val, test",
            ),
            (b"5,test", "s.csv:1: node 5, but the graph has 5 nodes, counted from 0"),
            (b"-1,test", "s.csv:1: node `-1`; expected a number below 5"),
            (b"0,val\n\nnode,part\n", "s.csv:3: node `node`; expected a number below 5"),
            (b"3,val", "s.csv:1: node `3` has no label"),
            (b"1,val\n1,test", "s.csv:2: node `1` occurs twice, first on line 1"),
            (b"1,val,2\n", "s.csv: 3 columns; expected `node,part`"),
            (b"1,val\n2,t\xffst\n", "s.csv:2: not valid UTF-8"),
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
