//! Text tables: node tables, edge tables and split files are all read by these rules.
//!
//! - A byte order mark, empty lines and comments (`# ...`, `%...`) before the table are skipped, and so are
//!   empty lines within it. Lines end with LF or CRLF.
//! - The separator is the most frequent of tab, semicolon and comma outside quotes in the first line, or a
//!   space if it has none of them; one or more spaces then separate two fields.
//! - Spaces around a field are ignored. A field in double quotes may contain separators, `""` for a
//!   quote and, except in edge tables, line ends.
//! - Every row has as many fields as the first, and the names in a header are distinct or empty.
//! - Whether the first line is a header depends on the kind of table.

use super::text::{NOT_UTF8, line_error};
use crate::data::table::TextTable;
use crate::error::Result;
use crate::memory;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum number of columns that [`parse_table`] accepts.
const MAX_COLUMNS: usize = 100_000;

/// The result of parsing a part of a file; the error is a message without the place.
pub(crate) type LineResult<T> = std::result::Result<T, String>;

/// Whether the first line of a table contains column names.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum HeaderMode {
    /// Detect it from the content.
    Detect,
    /// The first line is a header.
    Present,
}

/// The first line of a table that is neither empty nor a comment.
#[derive(Debug, PartialEq)]
pub(super) struct FirstLine<'a> {
    pub text: &'a str,
    pub separator: u8,
    /// The number of bytes before the line.
    pub offset: usize,
    /// The number of the line, counted from 1.
    pub number: usize,
}

impl<'a> FirstLine<'a> {
    /// Finds the first line; an error if there is none, if it is not UTF-8 or if it contains a carriage return
    /// before its end. The error for an empty table states that `row` was expected.
    pub fn find(place: &str, bytes: &'a [u8], row: &str) -> Result<Self> {
        let (offset, n_skipped) = preamble(bytes);
        let number = n_skipped + 1;
        let (line, _) = split_line(&bytes[offset..]);
        let bad = |problem: String| line_error(place, number, problem);
        if line.is_empty() {
            return Err(bad(format!("the table is empty; expected {row}")));
        }
        let text = str::from_utf8(line).map_err(|_| bad(NOT_UTF8.into()))?;
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.contains('\r') {
            let problem = "lines end with a carriage return alone; save the file with line feeds";
            return Err(bad(problem.into()));
        }
        Ok(Self { text, separator: detect_separator(text), offset, number })
    }
}

/// Parses a node table or a split file; errors refer to it as `place`.
///
/// `is_header` determines from the first two rows whether the first one is a header; the second one is
/// empty if there is only one row.
pub(crate) fn parse_table(
    place: &str,
    text: &str,
    is_header: impl Fn(&[Cow<str>], &[Cow<str>]) -> bool,
) -> Result<TextTable> {
    // The cells are about as long as the text.
    let what = || format!("the table {place}");
    memory::require(text.len() as u64, what, "remove columns that are not needed")?;
    let start = FirstLine::find(place, text.as_bytes(), "one row per node")?;
    let bad = |(line, problem): (usize, String)| line_error(place, line, problem);
    let mut rows =
        RowReader { rest: &text[start.offset..], line: start.number, separator: start.separator };
    let (mut first, mut row) = (vec![], vec![]);
    rows.read(&mut first).map_err(bad)?;
    let n = first.len();
    if n > MAX_COLUMNS {
        let problem = format!("{n} columns; expected at most {MAX_COLUMNS}");
        return Err(bad((start.number, problem)));
    }
    let mut line = rows.read(&mut row).map_err(bad)?;
    let has_header = is_header(&first, &row);
    let mut table = if has_header {
        check_distinct(&first).map_err(|problem| bad((start.number, problem)))?;
        TextTable::new(place, first.iter().map(|name| name.clone().into_owned()))
    } else {
        let mut table = TextTable::new(place, (1..=n).map(|column| column.to_string()));
        push_row(&mut table, &first, start.number)?;
        table
    };
    table.has_header = has_header;
    table.notes.extend(format_note(place, start.separator, has_header));
    while let Some(number) = line {
        if row.len() != n {
            return Err(bad((number, field_count_error(row.len(), n, start.number))));
        }
        push_row(&mut table, &row, number)?;
        line = rows.read(&mut row).map_err(bad)?;
    }
    Ok(table)
}

/// Adds a row and its line number to a table.
fn push_row(table: &mut TextTable, row: &[Cow<str>], line: usize) -> Result<()> {
    table.push_row(row.iter().map(|cell| &**cell))?;
    table.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
    Ok(())
}

/// Reads a table row by row.
struct RowReader<'a> {
    /// The text that has not been read yet.
    rest: &'a str,
    /// The number of its first line.
    line: usize,
    separator: u8,
}

impl<'a> RowReader<'a> {
    /// Replaces `row` with the fields of the next row that is not empty and returns the number of its
    /// first line; `None` and no fields at the end. An error includes this number.
    fn read(
        &mut self,
        row: &mut Vec<Cow<'a, str>>,
    ) -> std::result::Result<Option<usize>, (usize, String)> {
        row.clear();
        while !self.rest.is_empty() {
            let (line, after) = split_line(self.rest.as_bytes());
            if !line.trim_ascii().is_empty() {
                break;
            }
            self.rest = &self.rest[self.rest.len() - after.len()..];
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let number = self.line;
        let mut fields = fields(self.rest, self.separator);
        for field in &mut fields {
            row.push(field.map_err(|problem| (number, problem))?);
        }
        let n_bytes = self.rest.len() - fields.after.len();
        self.line += memchr::memchr_iter(b'\n', &self.rest.as_bytes()[..n_bytes]).count();
        self.rest = fields.after;
        Ok(Some(number))
    }
}

/// Returns the fields of the first row in `text`. A quoted field may have several lines.
pub(super) fn fields(text: &str, separator: u8) -> Fields<'_> {
    Fields { rest: Some(text), separator, after: "" }
}

/// The iterator returned by [`fields`].
pub(super) struct Fields<'a> {
    /// The start of the next field; `None` at the end of the row.
    rest: Option<&'a str>,
    separator: u8,
    /// At the end of the row, the text after it.
    after: &'a str,
}

impl<'a> Iterator for Fields<'a> {
    type Item = LineResult<Cow<'a, str>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?.trim_start_matches(' ');
        match rest.strip_prefix('"') {
            Some(quoted) => Some(self.quoted(quoted)),
            None => Some(Ok(self.plain(rest).into())),
        }
    }
}

impl<'a> Fields<'a> {
    /// Reads an unquoted field.
    fn plain(&mut self, rest: &'a str) -> &'a str {
        let end = memchr::memchr2(self.separator, b'\n', rest.as_bytes());
        let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.advance(after);
        field.trim_ascii()
    }

    /// Reads a field after its opening quote; an error if it is not closed or the field does not end there.
    fn quoted(&mut self, rest: &'a str) -> LineResult<Cow<'a, str>> {
        let mut field = Cow::Borrowed("");
        let mut rest = rest;
        loop {
            let (part, after) = rest.split_once('"').ok_or("a quoted field is not closed")?;
            field += part;
            match after.strip_prefix('"') {
                Some(after) => (field, rest) = (field + "\"", after),
                None => {
                    rest = after;
                    break;
                }
            }
        }
        match self.advance(rest) {
            true => Ok(field),
            false => {
                let found = rest.lines().next().unwrap_or_default().trim_ascii();
                Err(format!("`{found}` after a closing quote; expected a separator"))
            }
        }
    }

    /// Continues after a field; returns whether it is followed by a separator or the end of the row.
    fn advance(&mut self, after: &'a str) -> bool {
        let next = after.trim_start_matches(' ');
        let line_end = next.strip_prefix('\r').unwrap_or(next);
        if line_end.is_empty() || line_end.starts_with('\n') {
            self.after = line_end.get(1..).unwrap_or("");
            return true;
        }
        self.rest = match self.separator {
            b' ' => (next.len() < after.len()).then_some(next),
            separator => next.strip_prefix(separator as char),
        };
        self.rest.is_some()
    }
}

/// Detects the separator from the first line of a table.
pub(super) fn detect_separator(line: &str) -> u8 {
    let mut quoted = false;
    let mut counts = [0; 3];
    for byte in line.bytes() {
        quoted ^= byte == b'"';
        match byte {
            b'\t' if !quoted => counts[2] += 1,
            b';' if !quoted => counts[1] += 1,
            b',' if !quoted => counts[0] += 1,
            _ => {}
        }
    }
    // For equal counts, the last wins: tab before semicolon before comma.
    let best = (0..3).max_by_key(|&i| counts[i]).filter(|&i| counts[i] > 0);
    best.map_or(b' ', |i| [b',', b';', b'\t'][i])
}

/// Describes the detected format of a table; `None` for the usual one, commas and a header.
pub(super) fn format_note(place: &str, separator: u8, has_header: bool) -> Option<String> {
    let separator = match separator {
        b',' => None,
        b';' => Some("separated by semicolons"),
        b'\t' => Some("separated by tabs"),
        _ => Some("separated by spaces"),
    };
    let header = (!has_header).then_some("no header");
    let parts: Vec<&str> = separator.into_iter().chain(header).collect();
    (!parts.is_empty()).then(|| format!("{place}: {}", parts.join(", ")))
}

/// Returns an error if a name occurs twice in a header; several columns may have no name.
pub(super) fn check_distinct(names: &[impl AsRef<str>]) -> LineResult<()> {
    let mut seen = BTreeSet::new();
    let mut names = names.iter().map(AsRef::as_ref);
    match names.find(|name| !name.is_empty() && !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(format!("duplicate column `{name}`; expected distinct names")),
    }
}

/// The error message for a line with `n` fields instead of `expected`, the number on `first_line`.
pub(super) fn field_count_error(n: usize, expected: usize, first_line: usize) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("the line has {n} field{s}; expected {expected}, as on line {first_line}")
}

/// Whether a field can be parsed as a float, including `inf` and `nan`.
pub(super) fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

/// Returns the numbers of bytes and of lines before the first line of a table.
pub(super) fn preamble(bytes: &[u8]) -> (usize, usize) {
    let mut at = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let mut lines = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (line, after) = split_line(rest);
        let line = line.trim_ascii();
        let is_comment = line == b"#" || line.starts_with(b"# ") || line.starts_with(b"%");
        if !line.is_empty() && !is_comment {
            break;
        }
        (at, lines) = (bytes.len() - after.len(), lines + 1);
    }
    (at, lines)
}

/// Returns the first line without its line feed, and the rest.
pub(super) fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> LineResult<Vec<String>> {
        fields(line, detect_separator(line)).map(|field| field.map(Cow::into_owned)).collect()
    }

    fn table(text: &str) -> Result<TextTable> {
        parse_table("t", text, |_, _| true)
    }

    fn cells(table: &TextTable) -> Vec<Vec<&str>> {
        table.columns.iter().map(|column| column.cells().collect()).collect()
    }

    #[test]
    fn detects_separator() {
        let lines = ["a,b", "a\tb c", "1;0,5;x", "a  b", "\"a;b;c\",d", "a;b,c", "alone"];
        assert_eq!(lines.map(detect_separator), [b',', b'\t', b';', b' ', b',', b';', b' ']);
    }

    #[test]
    fn strips_spaces_and_quotes() {
        assert_eq!(all("a, b c ,,d\r").unwrap(), ["a", "b c", "", "d"]);
        assert_eq!(all("a,").unwrap(), ["a", ""]);
        assert_eq!(all("a,\t b, \r").unwrap(), ["a", "b", ""]);
        assert_eq!(all("a\t\t\r").unwrap(), ["a", "", ""]);
        assert_eq!(all("  1   2 3 ").unwrap(), ["1", "2", "3"]);
        assert_eq!(all(r#""x, ""y""" , z"#).unwrap(), [r#"x, "y""#, "z"]);
        assert_eq!(all(r#"a, "b", c"#).unwrap(), ["a", "b", "c"]);
        assert_eq!(all(r#""a b"  "c" d"#).unwrap(), ["a b", "c", "d"]);
        assert!(fields("5\" nail,2", b',').map(LineResult::unwrap).eq(["5\" nail", "2"]));
    }

    #[test]
    fn rejects_malformed_quotes() {
        assert_eq!(all("a,\"b").unwrap_err(), "a quoted field is not closed");
        for line in ["\"a\"b,c", "\"a\"b,c\r\nd"] {
            let expected = "`b,c` after a closing quote; expected a separator";
            assert_eq!(all(line).unwrap_err(), expected);
        }
    }

    #[test]
    fn all_separators_give_the_same_table() {
        let texts = [
            "id,town,x\na,New York,1\nb,,2\n",
            "\u{feff}# comment\n\nid, town, x\r\n\r\na, \"New York\", 1\r\nb, , 2",
            "id;town;x\na;New York;1\n \t\nb;;2\n\n",
            "id\ttown\tx\na\tNew York\t1\nb\t\t2",
            "id town  x\n a \"New York\" 1\nb \"\"   2 \n",
        ];
        for text in texts {
            let table = table(text).unwrap();
            let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
            assert_eq!(names, ["id", "town", "x"], "{text}");
            let expected = [["a", "b"], ["New York", ""], ["1", "2"]];
            assert_eq!(cells(&table), expected, "{text}");
        }
    }

    #[test]
    fn rows_with_line_ends_in_quotes_keep_their_line_numbers() {
        let table = table("id,note\na,\"one\ntwo\"\n\nb,\"5\"\" nail\"\n").unwrap();
        assert_eq!(cells(&table), [["a", "b"], ["one\ntwo", "5\" nail"]]);
        assert_eq!(table.lines, [2, 5]);
    }

    #[test]
    fn unusual_formats_are_described() {
        let note = |text: &str, has_header| {
            let notes = parse_table("t", text, |_, _| has_header).unwrap().notes;
            notes.join("; ")
        };
        assert_eq!(note("a,b\n1,2\n", true), "");
        assert_eq!(note("1,2\n", false), "t: no header");
        assert_eq!(note("a;b\n1;2\n", true), "t: separated by semicolons");
        assert_eq!(note("a\tb\n", true), "t: separated by tabs");
        assert_eq!(note("1 2\n", false), "t: separated by spaces, no header");
    }

    #[test]
    fn errors_include_the_line() {
        let cases = [
            ("# only\n", "t:2: the table is empty; expected one row per node"),
            ("a,b\n1,2\n1\n", "t:3: the line has 1 field; expected 2, as on line 1"),
            ("\na,a\n", "t:2: duplicate column `a`; expected distinct names"),
            ("a,b\n1,2\n\n3,\"4\n5,6\n", "t:4: a quoted field is not closed"),
            (
                "a,b\r1,2\r",
                "t:1: lines end with a carriage return alone; save the file with line feeds",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(table(text).unwrap_err().to_string(), expected);
        }
        let error = table(&",".repeat(100_000)).unwrap_err().to_string();
        assert_eq!(error, "t:1: 100001 columns; expected at most 100000");
    }

    #[test]
    fn skips_comments_before_a_table() {
        let snap = "\u{feff}# Nodes: 3\n% x\n\n#\n#tag,1\n";
        let (at, lines) = preamble(snap.as_bytes());
        assert_eq!((&snap[at..], lines), ("#tag,1\n", 4));
        assert_eq!(preamble(b""), (0, 0));
        assert_eq!(preamble(b"\n\n"), (2, 2));
    }
}
