//! One line of a table: what stands between its fields, and the fields.
//!
//! A field may stand in double quotes, with `""` for a quote within; it ends where its line ends.
//! Spaces around a field do not count, and where a space separates, any number of them does.

use std::borrow::Cow;
use std::result::Result;

/// Whether the first line of a table names its columns.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Header {
    /// It has to be told from the line.
    Guessed,
    /// It does.
    Certain,
}

/// What stands between the fields of a line, outside quotes: the most frequent of tab, semicolon and
/// comma, and only if there is none of them a space.
pub(super) fn separator(line: &str) -> u8 {
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
    // The last of equals wins: a tab before a semicolon before a comma.
    let best = (0..3).max_by_key(|&i| counts[i]).filter(|&i| counts[i] > 0);
    best.map_or(b' ', |i| [b',', b';', b'\t'][i])
}

/// The fields of a line without its line end.
pub(super) fn fields(line: &str, separator: u8) -> Fields<'_> {
    Fields { rest: Some(line.trim_matches([' ', '\r'])), separator }
}

/// See [`fields`].
pub(super) struct Fields<'a> {
    rest: Option<&'a str>,
    separator: u8,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, str>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?.trim_start_matches(' ');
        match rest.strip_prefix('"') {
            Some(quoted) => Some(self.quoted(quoted)),
            None => Some(Ok(self.plain(rest).into())),
        }
    }
}

impl<'a> Fields<'a> {
    fn plain(&mut self, rest: &'a str) -> &'a str {
        let end = memchr::memchr(self.separator, rest.as_bytes());
        let (field, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.go_on(after);
        field.trim_end_matches(' ')
    }

    fn quoted(&mut self, rest: &'a str) -> Result<Cow<'a, str>, String> {
        let mut field = Cow::Borrowed("");
        let mut rest = rest;
        loop {
            let (part, after) = rest.split_once('"').ok_or("a quote opens and does not close")?;
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
            return Err(format!("`{after}` follows a closing quote"));
        }
        self.go_on(after);
        Ok(field)
    }

    /// `after` is empty or starts with the separator.
    fn go_on(&mut self, after: &'a str) {
        self.rest = after.strip_prefix(self.separator as char);
    }
}

/// Why a line with `n` fields does not fit.
pub(super) fn ragged(n: usize, expected: usize, first_line: usize) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("the line has {n} field{s}; expected {expected}, as in line {first_line}")
}

/// Does it look like a number, however large, negative or broken?
pub(super) fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

/// Where a table begins: behind a byte order mark, empty lines and remarks (`# ...`, `% ...`).
///
/// Returns the bytes and the lines to skip.
pub(super) fn preamble(bytes: &[u8]) -> (usize, usize) {
    let mut at = if bytes.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let mut lines = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (line, after) = split_line(rest);
        let line = line.trim_ascii();
        let remark = line == b"#" || line.starts_with(b"# ") || line.starts_with(b"%");
        if !line.is_empty() && !remark {
            break;
        }
        (at, lines) = (bytes.len() - after.len(), lines + 1);
    }
    (at, lines)
}

/// The first line without its end, and what follows it.
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
        fields(line, separator(line)).map(|field| field.map(Cow::into_owned)).collect()
    }

    #[test]
    fn the_separator_is_found() {
        let lines = ["a,b", "a\tb c", "1;0,5;x", "a  b", "\"a;b;c\",d", "a;b,c", "alone"];
        assert_eq!(lines.map(separator), [b',', b'\t', b';', b' ', b',', b';', b' ']);
    }

    #[test]
    fn fields_lose_spaces_and_quotes() {
        assert_eq!(all("a, b c ,,d\r").unwrap(), ["a", "b c", "", "d"]);
        assert_eq!(all("a,").unwrap(), ["a", ""]);
        assert_eq!(all("  1   2 3 ").unwrap(), ["1", "2", "3"]);
        assert_eq!(all(r#""x, ""y""" , z"#).unwrap(), [r#"x, "y""#, "z"]);
        assert_eq!(all(r#""a b"  "c" d"#).unwrap(), ["a b", "c", "d"]);
        assert!(fields("5\" nail,2", b',').map(Result::unwrap).eq(["5\" nail", "2"]));
    }

    #[test]
    fn broken_quotes_are_told() {
        assert_eq!(all("a,\"b").unwrap_err(), "a quote opens and does not close");
        assert_eq!(all("\"a\"b,c").unwrap_err(), "`b,c` follows a closing quote");
    }

    #[test]
    fn remarks_before_a_table_are_skipped() {
        let snap = "\u{feff}# Nodes: 3\n% x\n\n#\n#tag,1\n";
        let (at, lines) = preamble(snap.as_bytes());
        assert_eq!((&snap[at..], lines), ("#tag,1\n", 4));
        assert_eq!(preamble(b""), (0, 0));
        assert_eq!(preamble(b"\n\n"), (2, 2));
    }
}
