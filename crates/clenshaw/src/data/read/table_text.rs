//! Tables in text files: CSV, TSV and other separators.
//!
//! The separator is the most frequent of tab, semicolon and comma in the first line, or a space if
//! there is none of them; any number of spaces separates two fields. Fields may be quoted. Lines that
//! start with `# ` or `%` before the table are comments.
//!
//! The first line is a header if its first field is empty or the name of an id column, if a field is
//! the name of another special column, or if none of its fields is a number but the second line has one.

use super::fields::{HeaderMode, detect_separator, field_count_error, is_number, preamble};
use super::text::{self, line_error};
use crate::data::schema::{is_id_name, is_known_name};
use crate::data::table::Table;
use crate::error::{Error, Result};
use csv::{ReaderBuilder, StringRecord, Trim};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

/// Maximum number of columns.
const MAX_COLUMNS: usize = 100_000;

/// Reads a table from the bytes of a file; errors refer to it as `place`.
pub(crate) fn read_bytes(place: &str, bytes: &[u8]) -> Result<Table> {
    parse(place, &text::read_bytes(Path::new(place), bytes)?, HeaderMode::Detect, &[])
}

/// Parses a table; errors refer to it as `place`. A first line with one of `names` is a header.
pub(crate) fn parse(
    place: &str,
    text: &str,
    header: HeaderMode,
    names: &[&String],
) -> Result<Table> {
    let (at, skipped) = preamble(text.as_bytes());
    let (first_line, text) = (skipped + 1, text.get(at..).unwrap_or(""));
    let bad = |line: usize, problem: String| line_error(place, line, problem);
    if text.is_empty() {
        return Err(bad(first_line, "the table is empty; expected one row per node".into()));
    }
    let separator = detect_separator(text.lines().next().unwrap_or(""));
    let text = if separator == b' ' { single_spaces(text) } else { text.into() };
    let mut rows = Rows::new(place, &text, separator, first_line);
    let mut first = StringRecord::new();
    rows.next(&mut first)?;
    if first.len() > MAX_COLUMNS {
        let problem = format!("{} columns; expected at most {MAX_COLUMNS}", first.len());
        return Err(bad(first_line, problem));
    }
    let mut row = StringRecord::new();
    let mut line = rows.next(&mut row)?;
    let is_named = |field: &str| names.iter().any(|name| name.eq_ignore_ascii_case(field));
    let has_header = header == HeaderMode::Present || is_header(&first, &row, is_named);
    let number = |(i, _): (usize, &str)| (i + 1).to_string();
    let mut table = match has_header {
        true => Table::new(place, first.iter().map(str::to_owned)),
        false => Table::new(place, first.iter().enumerate().map(number)),
    };
    table.has_header = has_header;
    if let Some(name) = duplicate(table.columns.iter().map(|column| &column.name)) {
        let problem = format!("duplicate column `{name}`; expected distinct names");
        return Err(bad(first_line, problem));
    }
    if !has_header {
        table.push_row(first.iter())?;
        table.lines.push(first_line as u32);
    }
    while let Some(at) = line {
        if row.len() != first.len() {
            return Err(bad(at, field_count_error(row.len(), first.len(), first_line)));
        }
        table.push_row(row.iter())?;
        table.lines.push(u32::try_from(at).unwrap_or(u32::MAX));
        line = rows.next(&mut row)?;
    }
    Ok(table)
}

/// The rows of a text table.
struct Rows<'a> {
    place: &'a str,
    text: &'a str,
    separator: u8,
    first_line: usize,
    reader: csv::Reader<&'a [u8]>,
}

impl<'a> Rows<'a> {
    fn new(place: &'a str, text: &'a str, separator: u8, first_line: usize) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        Self { place, text, separator, first_line, reader }
    }

    /// Reads the next row that is not empty; returns its line, or `None` at the end.
    fn next(&mut self, row: &mut StringRecord) -> Result<Option<usize>> {
        loop {
            let found = self.reader.read_record(row).map_err(|error| Error::Data {
                place: self.place.into(),
                problem: error.to_string(),
            })?;
            if !found {
                return Ok(None);
            }
            let line = self.first_line + self.line_index(row);
            if self.reader.position().byte() as usize == self.text.len() && self.is_unclosed(row) {
                return Err(line_error(self.place, line, "a quoted field is not closed"));
            }
            if row.len() > 1 || row.get(0).is_some_and(|field| !field.is_empty()) {
                return Ok(Some(line));
            }
        }
    }

    /// The number of lines before a row; the position of a row includes empty lines before it.
    fn line_index(&self, row: &StringRecord) -> usize {
        let Some(position) = row.position() else { return 0 };
        let start = self.text[position.byte() as usize..].bytes();
        let empty = start.take_while(|byte| b"\r\n".contains(byte)).filter(|&byte| byte == b'\n');
        position.line() as usize - 1 + empty.count()
    }

    /// Whether the last quote of the last row opens a field.
    fn is_unclosed(&self, row: &StringRecord) -> bool {
        let start = row.position().map_or(0, |position| position.byte() as usize);
        let text = &self.text[start..];
        let before =
            text.rfind('"').map(|at| &text[..at]).filter(|_| text.matches('"').count() % 2 == 1);
        before.is_some_and(|before| before.is_empty() || before.ends_with(self.separator as char))
    }
}

/// Replaces runs of spaces outside quotes by one space, and removes those at the ends of lines.
fn single_spaces(text: &str) -> Cow<'_, str> {
    let mut result = String::with_capacity(text.len());
    let mut quoted = false;
    for line in text.split_inclusive('\n') {
        for character in line.trim_matches(' ').chars() {
            quoted ^= character == '"';
            let is_repeated =
                character == ' ' && (result.ends_with([' ', '\n']) || result.is_empty());
            if quoted || !is_repeated {
                result.push(character);
            }
        }
    }
    result.into()
}

fn is_header(first: &StringRecord, second: &StringRecord, is_named: impl Fn(&str) -> bool) -> bool {
    let start = first.get(0).unwrap_or("");
    let has_numbers = |row: &StringRecord| row.iter().any(is_number);
    let is_special = |field: &str| is_known_name(field) || is_named(field);
    start.is_empty()
        || is_id_name(start)
        || !has_numbers(first) && (has_numbers(second) || first.iter().any(is_special))
}

fn duplicate<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.map(String::as_str).find(|name| !name.is_empty() && !seen.insert(*name))
}
