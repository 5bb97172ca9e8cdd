//! Splits one line of a table into fields.
//!
//! A field may be enclosed in double quotes, with `""` for a quote inside; it cannot span lines.
//! Spaces around a field are ignored; if the separator is a space, any number of spaces separates.

use std::borrow::Cow;
use std::result::Result;

/// The result of parsing a line; the error does not include the line number.
pub(super) type LineResult<T> = Result<T, String>;

/// Whether the first line of a table contains column names.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum HeaderMode {
    /// Detect it from the content of the line.
    Detect,
    /// The first line is a header.
    Present,
}

/// Detects the separator of a line: the most frequent of tab, semicolon and comma outside quotes, or a
/// space if none of them occurs.
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

/// Returns the fields of a line; a carriage return at the end is ignored.
pub(super) fn fields(line: &str, separator: u8) -> FieldIter<'_> {
    FieldIter { rest: Some(line.trim_matches([' ', '\r'])), separator }
}

/// The iterator returned by [`fields`].
pub(super) struct FieldIter<'a> {
    rest: Option<&'a str>,
    separator: u8,
}

impl<'a> Iterator for FieldIter<'a> {
    type Item = LineResult<Cow<'a, str>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?.trim_start_matches(' ');
        match rest.strip_prefix('"') {
            Some(quoted) => Some(self.quoted(quoted)),
            None => Some(Ok(self.plain(rest).into())),
        }
    }
}

impl<'a> FieldIter<'a> {
    fn plain(&mut self, rest: &'a str) -> &'a str {
        let end = memchr::memchr(self.separator, rest.as_bytes());
        let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.advance(after);
        field.trim_end_matches(' ')
    }

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
        let after = match self.separator {
            b' ' => rest,
            _ => rest.trim_start_matches(' '),
        };
        if !after.is_empty() && !after.starts_with(self.separator as char) {
            return Err(format!("`{after}` after a closing quote; expected a separator"));
        }
        self.advance(after);
        Ok(field)
    }

    /// Continues after a field; `after` is empty or starts with the separator.
    fn advance(&mut self, after: &'a str) {
        self.rest = after.strip_prefix(self.separator as char);
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

/// Finds the start of a table after a byte order mark, empty lines and comments (`# ...`, `% ...`).
///
/// Returns the numbers of bytes and lines to skip.
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

    fn all(line: &str) -> Result<Vec<String>, String> {
        fields(line, detect_separator(line)).map(|field| field.map(Cow::into_owned)).collect()
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
        assert_eq!(all("  1   2 3 ").unwrap(), ["1", "2", "3"]);
        assert_eq!(all(r#""x, ""y""" , z"#).unwrap(), [r#"x, "y""#, "z"]);
        assert_eq!(all(r#""a b"  "c" d"#).unwrap(), ["a b", "c", "d"]);
        assert!(fields("5\" nail,2", b',').map(Result::unwrap).eq(["5\" nail", "2"]));
    }

    #[test]
    fn rejects_malformed_quotes() {
        assert_eq!(all("a,\"b").unwrap_err(), "a quoted field is not closed");
        assert_eq!(
            all("\"a\"b,c").unwrap_err(),
            "`b,c` after a closing quote; expected a separator"
        );
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
