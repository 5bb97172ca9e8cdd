//! The tokens of a GML file.

use crate::data::read::delimited::LineResult;
use quick_xml::escape::resolve_xml_entity;
use std::borrow::Cow;
use std::fmt;

/// The length of the longest entity that is decoded, `&#x10ffff;`, without `&` and `;`.
const MAX_ENTITY: usize = 8;

/// A token of a GML file.
pub(super) enum GmlToken<'a> {
    /// Text without quotes, such as a key or a number.
    Word(&'a str),
    /// A quoted string without its quotes, with entities decoded.
    Text(Cow<'a, str>),
    /// `[`
    Open,
    /// `]`
    Close,
}

impl fmt::Display for GmlToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Open => f.write_str("["),
            Self::Close => f.write_str("]"),
        }
    }
}

/// Splits the content of a file into tokens; `#` outside quotes starts a comment.
pub(super) struct GmlTokens<'a> {
    rest: &'a str,
    /// The line on which the last token ends or, at the end of the file, the last line; counted from 1.
    pub line: usize,
}

impl<'a> GmlTokens<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}'), line: 1 }
    }

    /// Returns the next token, or `None` at the end; an error if a quoted string is not closed.
    pub fn next(&mut self) -> LineResult<Option<GmlToken<'a>>> {
        self.skip_space();
        let Some(first) = self.rest.bytes().next() else { return Ok(None) };
        let token = match first {
            b'[' | b']' => {
                self.advance(1);
                if first == b'[' { GmlToken::Open } else { GmlToken::Close }
            }
            b'"' => {
                let after = &self.rest[1..];
                let end = after.find('"').ok_or("the quoted string is not closed")?;
                self.advance(end + 2);
                GmlToken::Text(decode(&after[..end]))
            }
            _ => {
                let is_end = |c: char| c.is_ascii_whitespace() || "[]\"#".contains(c);
                let end = self.rest.find(is_end).unwrap_or(self.rest.len());
                GmlToken::Word(self.advance(end))
            }
        };
        Ok(Some(token))
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            let space = self.rest.len() - self.rest.trim_ascii_start().len();
            self.advance(space);
            if !self.rest.starts_with('#') {
                return;
            }
            self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    /// Skips this number of bytes and returns them.
    fn advance(&mut self, n: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(n);
        self.line += memchr::memchr_iter(b'\n', skipped.as_bytes()).count();
        self.rest = rest;
        skipped
    }
}

/// Decodes entities such as `&amp;` and `&#233;`; other text after `&` is kept.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        rest = after;
        let end = after.bytes().take(MAX_ENTITY + 1).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&after[..end])?, end))) {
            Some((character, end)) => {
                decoded.push(character);
                rest = &after[end + 1..];
            }
            None => decoded.push('&'),
        }
    }
    (decoded + rest).into()
}

/// Returns the character that an entity represents; `None` if it is unknown.
fn character(entity: &str) -> Option<char> {
    let Some(number) = entity.strip_prefix('#') else {
        return resolve_xml_entity(entity).and_then(|text| text.chars().next());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_and_counts_lines() {
        let text = "graph [ # x\n  key 1.5e3]\n\"two\nlines\"[";
        let mut tokens = GmlTokens::new(text);
        let mut found = vec![];
        while let Some(token) = tokens.next().unwrap() {
            found.push(format!("{} {token}", tokens.line));
        }
        let expected = ["1 graph", "1 [", "2 key", "2 1.5e3", "2 ]", "4 \"two\nlines\"", "4 ["];
        assert_eq!(found, expected);
    }

    #[test]
    fn decodes_entities() {
        let cases = [
            ("a&amp;b&#233;&#xe9;", "a&béé"),
            ("&quot;&#34;&lt;", "\"\"<"),
            ("a & b; &unknown; &#99999999; &", "a & b; &unknown; &#99999999; &"),
            ("&é;&é&#39;", "&é;&é'"),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(text), expected);
        }
    }
}
