//! Tokens of Rust sources, without comments, literals and tests.

use std::path::Path;

/// A source file.
pub struct Source {
    /// Relative to the root of the repository, with `/` between folders.
    pub path: String,
    pub text: String,
}

/// An identifier, `::` or a single character, and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

impl Source {
    /// Reads every `.rs` file below a folder, sorted by name.
    pub fn below(root: &Path, folder: &Path) -> Vec<Self> {
        let listing = std::fs::read_dir(folder).expect("a folder of sources");
        let mut paths: Vec<_> = listing.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path).expect("a readable source");
            let path = path.strip_prefix(root).expect("a path below the root");
            let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            Self { path: parts.join("/"), text }
        };
        let is_rust = |path: &Path| path.extension().is_some_and(|e| e == "rs");
        paths
            .iter()
            .flat_map(|path| match path.is_dir() {
                true => Self::below(root, path),
                false => is_rust(path).then(|| read(path)).into_iter().collect(),
            })
            .collect()
    }

    /// The tokens that are compiled into the library or program.
    pub fn tokens(&self) -> Vec<Token> {
        // `#[cfg(test)] mod tests;` keeps its tests in a file of this name.
        if self.path.ends_with("tests.rs") {
            return vec![];
        }
        without_tests(tokens(&without_literals(&self.text)))
    }
}

/// Replaces comments, strings and characters by spaces; line numbers stay the same.
fn without_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside_identifier = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match literal(rest, inside_identifier) {
            0 => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
            length => {
                out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                rest = &rest[length..];
            }
        }
    }
    out
}

/// The length of the comment or literal that `text` starts with, 0 if it starts with neither.
fn literal(text: &str, inside_identifier: bool) -> usize {
    let to = |end: Option<usize>| end.unwrap_or(text.len());
    let hashes = text[1.min(text.len())..].chars().take_while(|c| *c == '#').count();
    match text.as_bytes() {
        [b'/', b'/', ..] => to(text.find('\n')),
        [b'/', b'*', ..] => to(text.find("*/").map(|at| at + 2)),
        [b'"', ..] => 1 + unescaped(&text[1..], '"'),
        [b'r', ..] if !inside_identifier && text[1 + hashes..].starts_with('"') => {
            let close = format!("\"{}", "#".repeat(hashes));
            let start = 2 + hashes;
            to(text[start..].find(&close).map(|at| start + at + close.len()))
        }
        [b'\'', b'\\', ..] => 1 + unescaped(&text[1..], '\''),
        // 'a' is a character, 'a alone a lifetime.
        [b'\'', ..] => match text.char_indices().nth(2) {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        _ => 0,
    }
}

/// The length up to and with the first `close` that no backslash precedes.
fn unescaped(text: &str, close: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == close => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn tokens(code: &str) -> Vec<Token> {
    let in_identifier = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    for (line, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|c| !in_identifier(c)) {
                Some(0) if rest.starts_with("::") => 2,
                Some(0) => first.len_utf8(),
                Some(length) => length,
                None => rest.len(),
            };
            tokens.push(Token { line: line + 1, text: rest[..length].to_owned() });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Removes every item marked `#[cfg(test)]`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = &tokens[..];
    while let Some(first) = rest.first() {
        let marked = rest.len() > MARK.len()
            && rest.iter().zip(MARK).all(|(token, mark)| token.text == mark);
        if marked {
            rest = &rest[MARK.len()..];
            rest = &rest[item(rest)..];
        } else {
            kept.push(first.clone());
            rest = &rest[1..];
        }
    }
    kept
}

/// The number of tokens up to the item's `;` or closing brace.
fn item(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            ";" if depth == 0 => return i + 1,
            "{" => depth += 1,
            "}" if depth == 1 => return i + 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}
