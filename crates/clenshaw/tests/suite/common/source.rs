//! Tokens of Rust sources, without comments, literals and tests.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
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
    /// Reads every `.rs` file below a folder, sorted by name; their paths are relative to `root`.
    pub fn read_all(root: &Path, folder: &Path) -> Vec<Self> {
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
                true => Self::read_all(root, path),
                false => is_rust(path).then(|| read(path)).into_iter().collect(),
            })
            .collect()
    }

    /// The tokens that are compiled into the library or program.
    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens = Vec::new();
        // `#[cfg(test)] mod tests;` keeps its tests in a file of this name.
        if !self.path.ends_with("tests.rs") {
            let stream = self.text.parse().unwrap_or_else(|e| panic!("{}: {e}", self.path));
            append(stream, &mut tokens);
        }
        tokens
    }
}

/// Appends the tokens of a stream, except literals and items marked `#[cfg(test)]`.
fn append(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let mut push = |line, text: &str| tokens.push(Token { line, text: text.to_owned() });
        let line = tree.span().start().line;
        match tree {
            TokenTree::Literal(_) => {}
            TokenTree::Ident(name) => push(line, &name.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == '#' && trees.next_if(is_test).is_some() => {
                trees.find(is_last);
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Joint => {
                trees.next();
                push(line, "::");
            }
            TokenTree::Punct(mark) => push(line, &mark.to_string()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                push(line, open);
                append(group.stream(), tokens);
                tokens.push(Token { line: group.span_close().start().line, text: close.into() });
            }
        }
    }
}

/// Whether an attribute is `[cfg(test)]`.
fn is_test(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.stream().to_string() == "cfg (test)")
}

/// Whether a tree is the `;` or the braces at the end of an item.
fn is_last(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}
