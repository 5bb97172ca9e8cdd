//! The columns of an edge table and the meaning of its ids.

use crate::data::read::fields::{
    HeaderMode, LineResult, detect_separator, field_count_error, fields, is_number, preamble,
    split_line,
};
use crate::data::read::text::{self, NOT_UTF8};
use crate::error::Result;
use std::collections::HashMap;
use std::path::Path;

pub(super) type EdgeEnds = (u32, u32);

/// Recognised names of the two id columns.
const ID_COLUMNS: [(&str, &str); 7] = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("numeric_id_1", "numeric_id_2"),
];

/// Recognised names of the weight column.
const WEIGHT_COLUMNS: [&str; 2] = ["weight", "edge_weight"];

/// Marks numbers that are not the name of a node.
const NO_NODE: u32 = u32::MAX;
/// Numeric names up to this multiple of the number of nodes are looked up without hashing.
const MAX_ID_SPREAD: usize = 4;

/// How ids are mapped to nodes.
pub(super) enum IdLookup<'a> {
    /// An id is a node number below this.
    Numbers(usize),
    /// An id is a node name; `by_number` maps names that are small numbers to nodes.
    Names { nodes: &'a HashMap<String, u32>, by_number: Vec<u32> },
}

impl<'a> IdLookup<'a> {
    pub fn names(nodes: &'a HashMap<String, u32>) -> Self {
        let mut by_number = vec![NO_NODE; MAX_ID_SPREAD * nodes.len()];
        for (name, &node) in nodes {
            // `007` differs from `7`.
            let plain = name.parse::<usize>().ok().filter(|number| number.to_string() == *name);
            if let Some(at) = plain.and_then(|number| by_number.get_mut(number)) {
                *at = node;
            }
        }
        Self::Names { nodes, by_number }
    }

    /// Looks up an id that is a number without leading zeros; not all of them are found.
    pub fn find_number(&self, number: u32) -> Option<u32> {
        match self {
            Self::Numbers(end) => Some(number).filter(|&number| (number as usize) < *end),
            Self::Names { by_number, .. } => {
                by_number.get(number as usize).copied().filter(|&node| node != NO_NODE)
            }
        }
    }

    /// Whether a field may be an id.
    fn may_be_id(&self, field: &str) -> bool {
        is_number(field)
            || match self {
                Self::Numbers(_) => false,
                Self::Names { nodes, .. } => nodes.contains_key(field),
            }
    }

    fn node(&self, field: &str) -> LineResult<u32> {
        if field.is_empty() {
            return Err("the id is empty".into());
        }
        match self {
            Self::Names { nodes, .. } => nodes.get(field).copied().ok_or_else(|| {
                format!("node `{field}` is not in the node table; add a row for it")
            }),
            Self::Numbers(end) => {
                let digits = field.bytes().all(|byte| byte.is_ascii_digit());
                let number = || field.parse::<u32>().ok();
                match digits.then(number) {
                    None => Err(format!("id `{field}`; expected a non-negative integer")),
                    Some(None) => Err(format!("id {field}; expected at most {}", u32::MAX)),
                    Some(Some(id)) if id as usize >= *end => {
                        Err(format!("node {id}, but the graph has {end} nodes, counted from 0"))
                    }
                    Some(Some(id)) => Ok(id),
                }
            }
        }
    }
}

/// The separator and columns of an edge table.
pub(super) struct EdgeLayout {
    pub separator: u8,
    pub columns: [usize; 2],
    /// The column with the weights, if there is one.
    pub weight: Option<usize>,
    pub n_fields: usize,
    /// The number of the line that determined the layout.
    line: usize,
    /// Number of bytes and lines before the first edge.
    pub start: (usize, usize),
    pub warnings: Vec<String>,
}

impl EdgeLayout {
    /// Determines the layout from the first line of the table.
    pub fn of(path: &Path, bytes: &[u8], ids: &IdLookup, header: HeaderMode) -> Result<Self> {
        let place = path.display().to_string();
        let (at, lines) = preamble(bytes);
        let (line, after) = split_line(&bytes[at..]);
        let number = lines + 1;
        let bad = |problem: String| text::line_error(&place, number, problem);
        if line.is_empty() {
            return Err(bad("the table is empty; expected lines with two ids".into()));
        }
        let line = str::from_utf8(line).map_err(|_| bad(NOT_UTF8.into()))?;
        let separator = detect_separator(line);
        let names: Vec<_> = fields(line, separator).collect::<LineResult<_>>().map_err(bad)?;
        let [first, second, ..] = &names[..] else {
            let line = line.trim();
            return Err(bad(format!(
                "`{line}`; expected two ids separated by a comma, tab, semicolon or space"
            )));
        };
        let n_fields = names.len();
        let mut layout = Self {
            separator,
            columns: [0, 1],
            weight: None,
            n_fields,
            line: number,
            start: (at, lines),
            warnings: vec![],
        };
        if header == HeaderMode::Present || !ids.may_be_id(first) && !ids.may_be_id(second) {
            layout.start = (bytes.len() - after.len(), number);
            layout.find_columns(&place, &names, header);
        }
        if n_fields > 2 {
            let is_used =
                |column: &usize| layout.columns.contains(column) || layout.weight == Some(*column);
            let ignored = (0..n_fields).filter(|column| !is_used(column));
            let has_header = layout.start.1 == number;
            let ignored: Vec<_> = match has_header {
                true => ignored.map(|column| format!("`{}`", names[column])).collect(),
                false => ignored.map(|column| (column + 1).to_string()).collect(),
            };
            if !ignored.is_empty() {
                let advice = match has_header {
                    true => "",
                    false => "; add the header `source,target,weight` if they hold edge weights",
                };
                let ignored = ignored.join(", ");
                layout.warnings.push(format!("{place}: ignored columns: {ignored}{advice}"));
            }
        }
        Ok(layout)
    }

    fn find_columns(&mut self, place: &str, names: &[impl AsRef<str>], header: HeaderMode) {
        let column =
            |word: &str| names.iter().position(|name| name.as_ref().eq_ignore_ascii_case(word));
        let pair = ID_COLUMNS.iter().find_map(|(u, v)| Some([column(u)?, column(v)?]));
        // A column without a name is the index of a data frame.
        let named = |&column: &usize| !names[column].as_ref().is_empty();
        let mut first_two = (0..names.len()).filter(named);
        match (pair, first_two.next(), first_two.next()) {
            (Some(pair), ..) => self.columns = pair,
            (None, Some(u), Some(v)) => self.columns = [u, v],
            _ => {}
        }
        self.weight = WEIGHT_COLUMNS.iter().find_map(|name| column(name));
        if pair.is_none() && header == HeaderMode::Detect {
            let [u, v] = self.columns.map(|column| names[column].as_ref());
            self.warnings.push(format!(
                "{place}: line {} (`{u}`, `{v}`) was treated as a header",
                self.line
            ));
        }
    }

    /// Parses the edge in a line and its weight, which is 1 without a weight column; `None` if the line
    /// is empty.
    pub fn edge(&self, line: &[u8], ids: &IdLookup) -> LineResult<Option<(EdgeEnds, f32)>> {
        let line = str::from_utf8(line).map_err(|_| NOT_UTF8)?;
        if line.trim().is_empty() {
            return Ok(None);
        }
        let (mut ends, mut weight) = ([None, None], 1.0);
        let mut n = 0;
        for field in fields(line, self.separator) {
            let field = field?;
            if self.weight == Some(n) {
                weight = parse_weight(&field)?;
            }
            for (end, _) in ends.iter_mut().zip(self.columns).filter(|(_, column)| *column == n) {
                *end = Some(field.clone());
            }
            n += 1;
        }
        match ends {
            [Some(u), Some(v)] if n == self.n_fields => {
                Ok(Some(((ids.node(&u)?, ids.node(&v)?), weight)))
            }
            _ => Err(field_count_error(n, self.n_fields, self.line)),
        }
    }
}

/// Parses the weight of an edge; `0,5` is also a number.
pub(in crate::data::read) fn parse_weight(field: &str) -> LineResult<f32> {
    let weight = field
        .replace(',', ".")
        .parse()
        .ok()
        .filter(|weight: &f32| weight.is_finite() && *weight >= 0.0);
    weight.ok_or_else(|| format!("the weight is `{field}`; expected a number of at least 0"))
}
