//! What the lines of an edge table look like, and what their ids mean.

use crate::data::read::fields::{
    Header, fields, is_number, preamble, ragged, separator, split_line,
};
use crate::data::read::text::{self, NOT_UTF8};
use crate::error::Result;
use std::collections::HashMap;
use std::path::Path;

pub(super) type Edge = (u32, u32);

/// A problem is told without its place.
type Outcome<T> = std::result::Result<T, String>;

/// What the columns of the two ids are called.
const PAIRS: [(&str, &str); 7] = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("numeric_id_1", "numeric_id_2"),
];

/// Stands for a number that no node has as its name.
const NOBODY: u32 = u32::MAX;
/// Names that are numbers up to so many times the number of nodes are looked up without hashing.
const MOST_SPREAD: usize = 4;

/// What an id may be.
pub(super) enum Ids<'a> {
    /// A number below this.
    Numbers(usize),
    /// The name of a node; for names that are small numbers, the node is found by that number too.
    Names { nodes: &'a HashMap<String, u32>, by_number: Vec<u32> },
}

impl<'a> Ids<'a> {
    pub fn names(nodes: &'a HashMap<String, u32>) -> Self {
        let mut by_number = vec![NOBODY; MOST_SPREAD * nodes.len()];
        for (name, &node) in nodes {
            // `007` is not the name of node 7.
            let plain = name.parse::<usize>().ok().filter(|number| number.to_string() == *name);
            if let Some(at) = plain.and_then(|number| by_number.get_mut(number)) {
                *at = node;
            }
        }
        Self::Names { nodes, by_number }
    }

    /// The node with this number, written without zeros in front, for its id; not all are found.
    pub fn quick(&self, number: u32) -> Option<u32> {
        match self {
            Self::Numbers(end) => Some(number).filter(|&number| (number as usize) < *end),
            Self::Names { by_number, .. } => {
                by_number.get(number as usize).copied().filter(|&node| node != NOBODY)
            }
        }
    }

    /// Could it be meant as an id?
    fn claims(&self, field: &str) -> bool {
        is_number(field)
            || match self {
                Self::Numbers(_) => false,
                Self::Names { nodes, .. } => nodes.contains_key(field),
            }
    }

    fn node(&self, field: &str) -> Outcome<u32> {
        if field.is_empty() {
            return Err("an id is missing".into());
        }
        match self {
            Self::Names { nodes, .. } => nodes.get(field).copied().ok_or_else(|| {
                format!("node `{field}` is not in the node table; add a line for it there")
            }),
            Self::Numbers(end) => {
                let digits = field.bytes().all(|byte| byte.is_ascii_digit());
                let number = || field.parse::<u32>().ok();
                match digits.then(number) {
                    None => Err(format!("id `{field}`; expected a node number, 0 or above")),
                    Some(None) => Err(format!("id {field}; node numbers end at {}", u32::MAX)),
                    Some(Some(id)) if id as usize >= *end => {
                        Err(format!("node {id}, but the graph has {end} nodes, counted from 0"))
                    }
                    Some(Some(id)) => Ok(id),
                }
            }
        }
    }
}

/// Where the ids stand in a line.
pub(super) struct Layout {
    pub separator: u8,
    pub columns: [usize; 2],
    pub n_fields: usize,
    /// The number of the line that says so.
    line: usize,
    /// How many bytes and lines come before the first edge.
    pub start: (usize, usize),
    pub warnings: Vec<String>,
}

impl Layout {
    /// Told from the first line of the table.
    pub fn of(path: &Path, bytes: &[u8], ids: &Ids, header: Header) -> Result<Self> {
        let place = path.display().to_string();
        let (at, lines) = preamble(bytes);
        let (line, after) = split_line(&bytes[at..]);
        let number = lines + 1;
        let bad = |problem: String| text::at(&place, number, problem);
        if line.is_empty() {
            return Err(bad("the table ends before it begins; expected lines of two ids".into()));
        }
        let line = str::from_utf8(line).map_err(|_| bad(NOT_UTF8.into()))?;
        let separator = separator(line);
        let names: Vec<_> = fields(line, separator).collect::<Outcome<_>>().map_err(bad)?;
        let [first, second, ..] = &names[..] else {
            let line = line.trim();
            return Err(bad(format!(
                "`{line}`; expected two ids with a comma, tab, semicolon or space between them"
            )));
        };
        let n_fields = names.len();
        let mut layout = Self {
            separator,
            columns: [0, 1],
            n_fields,
            line: number,
            start: (at, lines),
            warnings: vec![],
        };
        if header == Header::Certain || !ids.claims(first) && !ids.claims(second) {
            layout.start = (bytes.len() - after.len(), number);
            layout.name(&place, &names, header);
        }
        if n_fields > 2 {
            let ignored = (0..n_fields).filter(|column| !layout.columns.contains(column));
            let ignored: Vec<_> = match layout.start.1 == number {
                true => ignored.map(|column| format!("`{}`", names[column])).collect(),
                false => ignored.map(|column| (column + 1).to_string()).collect(),
            };
            layout.warnings.push(format!("{place}: ignored columns {}", ignored.join(", ")));
        }
        Ok(layout)
    }

    fn name(&mut self, place: &str, names: &[impl AsRef<str>], header: Header) {
        let column =
            |word: &str| names.iter().position(|name| name.as_ref().eq_ignore_ascii_case(word));
        let pair = PAIRS.iter().find_map(|(u, v)| Some([column(u)?, column(v)?]));
        // A column without a name is an index that a data frame left behind.
        let named = |&column: &usize| !names[column].as_ref().is_empty();
        let mut first_two = (0..names.len()).filter(named);
        match (pair, first_two.next(), first_two.next()) {
            (Some(pair), ..) => self.columns = pair,
            (None, Some(u), Some(v)) => self.columns = [u, v],
            _ => {}
        }
        if pair.is_none() && header == Header::Guessed {
            let [u, v] = self.columns.map(|column| names[column].as_ref());
            self.warnings
                .push(format!("{place}: took line {} (`{u}`, `{v}`) as header", self.line));
        }
    }

    /// The edge in a line, if the line is not empty.
    pub fn edge(&self, line: &[u8], ids: &Ids) -> Outcome<Option<Edge>> {
        let line = str::from_utf8(line).map_err(|_| NOT_UTF8)?;
        if line.trim().is_empty() {
            return Ok(None);
        }
        let mut ends = [None, None];
        let mut n = 0;
        for field in fields(line, self.separator) {
            let field = field?;
            for (end, _) in ends.iter_mut().zip(self.columns).filter(|(_, column)| *column == n) {
                *end = Some(field.clone());
            }
            n += 1;
        }
        match ends {
            [Some(u), Some(v)] if n == self.n_fields => Ok(Some((ids.node(&u)?, ids.node(&v)?))),
            _ => Err(ragged(n, self.n_fields, self.line)),
        }
    }
}
