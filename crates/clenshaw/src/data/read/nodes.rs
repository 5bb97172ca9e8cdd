//! Node tables: ids, features, labels and an optional split.
//!
//! | column | names | otherwise |
//! |---|---|---|
//! | id | `id`, `node`, `name` | the first column |
//! | label | `label`, `class`, `y`, `target` | the last column, if it holds text |
//! | split | `split` | no split |
//! | features | all others; columns without a name are ignored | |
//!
//! A column of numbers is one feature. A column of at most 100 distinct strings is one-hot encoded;
//! an empty field is encoded as zeros. An empty label is unknown; the values of a split are `train`,
//! `val`, `test` or empty.
//!
//! The first line is a header if its first field is empty or the name of an id column, or if none of its
//! fields is a number and either one is a name listed above or the second line has a number.

mod columns;
mod fill;

use super::fields::{
    FieldIter, HeaderMode, LineResult, detect_separator, fields, is_number, preamble,
};
use super::text;
use crate::data::{Features, FixedSplit};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of columns.
const MAX_COLUMNS: usize = 100_000;

const ID: &[&str] = &["id", "node", "name"];
const LABEL: &[&str] = &["label", "class", "y", "target"];
const SPLIT: &[&str] = &["split"];

/// The content of a node table.
#[derive(Debug)]
pub(super) struct NodeData {
    /// Node names in table order.
    pub names: Vec<String>,
    /// The node number of each name.
    pub numbers: HashMap<String, u32>,
    pub x: Features,
    pub y: Vec<Option<u32>>,
    pub class_names: Vec<String>,
    pub split: Option<FixedSplit>,
    pub warnings: Vec<String>,
}

/// Parses a node table; errors refer to it as `place`.
pub(super) fn parse(place: &str, text: &str, header: HeaderMode) -> Result<NodeData> {
    let table = NodeTable::of(place, text, header)?;
    let plan = columns::plan(&table)?;
    fill::fill(&table, plan)
}

/// Parses a node table, for fuzzing.
#[cfg(any(test, fuzzing))]
pub fn read_bytes(bytes: &[u8]) -> Result<()> {
    let text = text::read_bytes(std::path::Path::new("nodes"), bytes)?;
    parse("nodes", &text, HeaderMode::Detect).map(drop)
}

/// The lines of a node table and the names of its columns.
struct NodeTable<'a> {
    place: &'a str,
    /// Column names, or column numbers from 1 if there is no header.
    names: Vec<Cow<'a, str>>,
    has_header: bool,
    separator: u8,
    /// The number of the first line.
    first_line: usize,
    /// All lines after the header.
    body: &'a str,
}

impl<'a> NodeTable<'a> {
    fn of(place: &'a str, text: &'a str, header: HeaderMode) -> Result<Self> {
        let (at, skipped) = preamble(text.as_bytes());
        let (first_line, text) = (skipped + 1, text.get(at..).unwrap_or(""));
        let bad = |problem: String| text::line_error(place, first_line, problem);
        if text.is_empty() {
            return Err(bad("the table is empty; expected one row per node".into()));
        }
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        let separator = detect_separator(head);
        let head: Vec<_> = fields(head, separator).collect::<LineResult<_>>().map_err(bad)?;
        if head.len() > MAX_COLUMNS {
            return Err(bad(format!("{} columns; expected at most {MAX_COLUMNS}", head.len())));
        }
        let second = body.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let mut second = fields(second, separator).map_while(LineResult::ok);
        let has_header = header == HeaderMode::Present
            || is_header(&head, second.any(|field| is_number(&field)));
        let (names, body) = match has_header {
            true => (head, body),
            false => ((1..=head.len()).map(|n| n.to_string().into()).collect(), text),
        };
        if let Some(name) = find_duplicate(&names) {
            return Err(bad(format!("duplicate column `{name}`; expected distinct names")));
        }
        Ok(Self { place, names, has_header, separator, first_line, body })
    }

    /// Returns the line number and fields of every non-empty line.
    fn rows(&self) -> impl Iterator<Item = (usize, FieldIter<'a>)> + use<'a> {
        let first = self.first_line + usize::from(self.has_header);
        let separator = self.separator;
        let lines = (first..).zip(self.body.lines());
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        lines.map(move |(number, line)| (number, fields(line, separator)))
    }

    /// Returns the name of a column for error messages.
    fn title(&self, column: usize) -> String {
        match (self.has_header, self.names.get(column)) {
            (true, Some(name)) => format!("column `{name}`"),
            _ => format!("column {}", column + 1),
        }
    }

    /// Returns the column with one of these names.
    fn find_column(&self, words: &[&str]) -> Option<usize> {
        let column =
            |word: &&str| self.names.iter().position(|name| name.eq_ignore_ascii_case(word));
        words.iter().find_map(column).filter(|_| self.has_header)
    }

    fn error(&self, problem: impl Into<String>) -> Error {
        Error::Data { place: self.place.into(), problem: problem.into() }
    }
}

fn is_header(head: &[Cow<str>], numbers_in_next_row: bool) -> bool {
    let is_one_of = |words: &[&str], name: &str| words.iter().any(|w| name.eq_ignore_ascii_case(w));
    let first = head.first().map_or("", |name| name);
    let known = |name: &Cow<str>| [ID, LABEL, SPLIT].iter().any(|words| is_one_of(words, name));
    first.is_empty()
        || is_one_of(ID, first)
        || !head.iter().any(|name| is_number(name))
            && (numbers_in_next_row || head.iter().any(known))
}

fn find_duplicate<'a>(names: &'a [Cow<str>]) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.iter().map(|name| &**name).find(|name| !name.is_empty() && !seen.insert(*name))
}

#[cfg(test)]
mod tests;
