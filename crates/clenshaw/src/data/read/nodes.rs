//! A user's table of nodes: ids, features, labels and, if there is one, a split.
//!
//! | column | called | else |
//! |---|---|---|
//! | id | `id`, `node`, `name` | the first |
//! | label | `label`, `class`, `y`, `target` | the last, if it holds texts |
//! | split | `split` | there is none |
//! | features | anything else; without a name it is ignored | |
//!
//! A column of numbers is one feature.
//! A column of at most 100 different texts is one feature a text, 1 where it stands; an empty field is
//! none of them.
//! A node without a label has an empty one, and parts of the split are `train`, `val` and `test`.
//!
//! The first line is a header if it starts with an empty field or a word for ids, or if none of its
//! fields is a number and either one of them is a word from above or the second line has a number.

mod columns;
mod fill;

use super::fields::{Fields, Header, fields, is_number, preamble, separator};
use super::text;
use crate::data::{Features, FixedSplit};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// How many columns a table may have.
const MOST_COLUMNS: usize = 100_000;

const ID: &[&str] = &["id", "node", "name"];
const LABEL: &[&str] = &["label", "class", "y", "target"];
const SPLIT: &[&str] = &["split"];

/// What a table of nodes says.
#[derive(Debug)]
pub(super) struct Nodes {
    /// In the order of the table.
    pub names: Vec<String>,
    /// The number of each name.
    pub numbers: HashMap<String, u32>,
    pub x: Features,
    pub y: Vec<Option<u32>>,
    pub class_names: Vec<String>,
    pub split: Option<FixedSplit>,
    pub warnings: Vec<String>,
}

/// Reads a table; `place` names it in errors.
pub(super) fn parse(place: &str, text: &str, header: Header) -> Result<Nodes> {
    let table = Table::of(place, text, header)?;
    let plan = columns::plan(&table)?;
    fill::fill(&table, plan)
}

/// Reads a table of nodes for itself.
#[cfg(fuzzing)]
pub fn read_bytes(bytes: &[u8]) -> Result<()> {
    let text = text::read_bytes(std::path::Path::new("nodes"), bytes)?;
    parse("nodes", &text, Header::Guessed).map(drop)
}

/// A problem is told without its place.
type Outcome<T> = std::result::Result<T, String>;

/// The lines of a table and what is known from the first.
struct Table<'a> {
    place: &'a str,
    /// The names of the columns; their numbers, from 1, where there is no header.
    names: Vec<Cow<'a, str>>,
    has_header: bool,
    separator: u8,
    /// The number of the first line.
    first_line: usize,
    /// All lines behind the header.
    body: &'a str,
}

impl<'a> Table<'a> {
    fn of(place: &'a str, text: &'a str, header: Header) -> Result<Self> {
        let (at, skipped) = preamble(text.as_bytes());
        let (first_line, text) = (skipped + 1, text.get(at..).unwrap_or(""));
        let bad = |problem: String| text::at(place, first_line, problem);
        if text.is_empty() {
            return Err(bad("the table ends before it begins; expected a line a node".into()));
        }
        let (head, body) = text.split_once('\n').unwrap_or((text, ""));
        let separator = separator(head);
        let head: Vec<_> = fields(head, separator).collect::<Outcome<_>>().map_err(bad)?;
        if head.len() > MOST_COLUMNS {
            return Err(bad(format!("{} columns; expected at most {MOST_COLUMNS}", head.len())));
        }
        let second = body.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let mut second = fields(second, separator).map_while(Outcome::ok);
        let has_header =
            header == Header::Certain || is_header(&head, second.any(|field| is_number(&field)));
        let (names, body) = match has_header {
            true => (head, body),
            false => ((1..=head.len()).map(|n| n.to_string().into()).collect(), text),
        };
        if let Some(name) = repeated(&names) {
            return Err(bad(format!("two columns are called `{name}`; expected different names")));
        }
        Ok(Self { place, names, has_header, separator, first_line, body })
    }

    /// The number and the fields of every line that is not empty.
    fn rows(&self) -> impl Iterator<Item = (usize, Fields<'a>)> + use<'a> {
        let first = self.first_line + usize::from(self.has_header);
        let separator = self.separator;
        let lines = (first..).zip(self.body.lines());
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        lines.map(move |(number, line)| (number, fields(line, separator)))
    }

    /// How errors call a column.
    fn title(&self, column: usize) -> String {
        match (self.has_header, self.names.get(column)) {
            (true, Some(name)) => format!("column `{name}`"),
            _ => format!("column {}", column + 1),
        }
    }

    /// The column that is called by one of these words.
    fn called(&self, words: &[&str]) -> Option<usize> {
        let column =
            |word: &&str| self.names.iter().position(|name| name.eq_ignore_ascii_case(word));
        words.iter().find_map(column).filter(|_| self.has_header)
    }

    fn error(&self, problem: impl Into<String>) -> Error {
        Error::Data { place: self.place.into(), problem: problem.into() }
    }
}

fn is_header(head: &[Cow<str>], numbers_follow: bool) -> bool {
    let among = |words: &[&str], name: &str| words.iter().any(|w| name.eq_ignore_ascii_case(w));
    let first = head.first().map_or("", |name| name);
    let known = |name: &Cow<str>| [ID, LABEL, SPLIT].iter().any(|words| among(words, name));
    first.is_empty()
        || among(ID, first)
        || !head.iter().any(|name| is_number(name)) && (numbers_follow || head.iter().any(known))
}

fn repeated<'a>(names: &'a [Cow<str>]) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.iter().map(|name| &**name).find(|name| !name.is_empty() && !seen.insert(*name))
}

#[cfg(test)]
mod tests;
