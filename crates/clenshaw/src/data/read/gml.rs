//! GML files, as written by NetworkX, igraph and Gephi.
//!
//! ```text
//! graph [
//!   directed 1
//!   node [ id 0 label "ann" age 31 class "tea" ]
//!   node [ id 1 label "bob" age 27 class "coffee" ]
//!   edge [ source 0 target 1 weight 2.0 ]
//! ]
//! ```
//!
//! The attributes of nodes are the columns of a node table, see [`crate::data::schema`]; a repeated
//! attribute is a list. Attributes in brackets, such as `graphics`, are ignored.
//!
//! NetworkX writes the names of nodes as `label`; in other files it may be the class. If all nodes have
//! different labels, the labels are their names and not their classes; otherwise, or if `label` was chosen
//! as a column, the ids are their names. An id column that the user chooses has precedence. A note in the
//! data set states which names are used.
//!
//! The graph is undirected; loops are removed and duplicate edges merged.
//! Himsolt, *GML: a portable graph file format*, University of Passau, 1997.

mod token;

use self::token::{GmlToken, GmlTokens};
use super::Interpretation;
use super::attributed::{AttributedGraph, NodeNames};
use super::delimited::LineResult;
use super::text::{self, line_error};
use crate::data::Dataset;
use crate::error::Result;
use std::borrow::Cow;
use std::path::Path;

/// Maximum number of open brackets within a list that is skipped.
const MAX_DEPTH: usize = 64;
/// Values that mark lists: NetworkX writes the first one before the only value of a list, and the others
/// for an empty list and an empty tuple.
const LIST_MARKS: [&str; 3] = ["_networkx_list_start", "[]", "()"];

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
///
/// ```
/// use clenshaw::data::read::{Interpretation, gml};
///
/// let pair = br#"graph [
///     node [ id 0 label "ann" size 3 class "red" ]
///     node [ id 1 label "bob" size 4 class "blue" ]
///     edge [ source 0 target 1 ]
/// ]"#;
/// let pair = gml::read_bytes("pair", pair, Interpretation::default())?;
/// assert_eq!(pair.node_names, ["ann", "bob"]);
/// assert_eq!(pair.class_names, ["blue", "red"]);
/// assert_eq!(pair.x.values(), [3.0, 4.0]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    parse(place, &text::read_bytes(Path::new(place), bytes)?, interpretation)
}

/// Parses the text of a file; errors and the data set refer to it as `place`.
pub(super) fn parse(place: &str, text: &str, interpretation: Interpretation) -> Result<Dataset> {
    let graph = AttributedGraph::new(place, text.len(), interpretation);
    let mut parser = GmlParser { tokens: GmlTokens::new(text), graph };
    parser.parse_file().map_err(|problem| line_error(place, parser.tokens.line, problem))?;
    let error_at = |line, problem| line_error(place, line, problem);
    parser.graph.into_dataset("GML", NodeNames::DistinctLabel, error_at)
}

/// Parses the tokens of a file into a graph.
struct GmlParser<'a> {
    tokens: GmlTokens<'a>,
    graph: AttributedGraph<'a>,
}

/// The value of a key.
enum GmlValue<'a> {
    /// A number or a quoted string.
    Scalar(Cow<'a, str>),
    /// An opening bracket; the content of the list has not been read yet.
    List,
}

impl<'a> GmlParser<'a> {
    fn parse_file(&mut self) -> LineResult<()> {
        let mut has_graph = false;
        while let Some(token) = self.tokens.next()? {
            let key = key(token)?;
            match (key, self.read_value(key)?) {
                ("graph", GmlValue::List) if has_graph => {
                    return Err("found a second graph; expected one".into());
                }
                ("graph", GmlValue::List) => {
                    has_graph = true;
                    self.parse_graph()?;
                }
                (_, GmlValue::List) => self.skip_list()?,
                (_, GmlValue::Scalar(_)) => {}
            }
        }
        match has_graph {
            true => Ok(()),
            false => Err("unexpected end of file; expected `graph [`".into()),
        }
    }

    fn parse_graph(&mut self) -> LineResult<()> {
        while let Some(key) = self.read_key_or_end()? {
            match (key, self.read_value(key)?) {
                ("directed", GmlValue::Scalar(value)) => self.graph.directed = value == "1",
                ("node", GmlValue::List) => self.parse_node()?,
                ("edge", GmlValue::List) => self.parse_edge()?,
                ("node" | "edge", GmlValue::Scalar(value)) => {
                    return Err(format!("`{key} {value}`; expected `{key} [`"));
                }
                (_, GmlValue::List) => self.skip_list()?,
                (_, GmlValue::Scalar(_)) => {}
            }
        }
        Ok(())
    }

    fn parse_node(&mut self) -> LineResult<()> {
        self.graph.start_node()?;
        let mut id = None;
        while let Some(key) = self.read_key_or_end()? {
            match self.read_value(key)? {
                GmlValue::Scalar(value) if key == "id" => id = Some(value.into_owned()),
                GmlValue::Scalar(value) if LIST_MARKS.contains(&&*value) => {}
                GmlValue::Scalar(value) => self.graph.add_attribute(key, &value)?,
                GmlValue::List => self.skip_list()?,
            }
        }
        self.graph.finish_node(id.ok_or("the node has no `id`")?)
    }

    fn parse_edge(&mut self) -> LineResult<()> {
        let (mut source, mut target, mut weight) = (None, None, 1.0);
        while let Some(key) = self.read_key_or_end()? {
            match (key, self.read_value(key)?) {
                ("source", GmlValue::Scalar(value)) => source = Some(value.into_owned()),
                ("target", GmlValue::Scalar(value)) => target = Some(value.into_owned()),
                (name, GmlValue::Scalar(value)) => {
                    self.graph.edge_attributes.add(name, &value, &mut weight)?;
                }
                (_, GmlValue::List) => self.skip_list()?,
            }
        }
        let ends =
            [source.ok_or("the edge has no `source`")?, target.ok_or("the edge has no `target`")?];
        self.graph.add_edge(self.tokens.line, ends, weight);
        Ok(())
    }

    /// Reads a key of the current list; `None` at the end of the list.
    fn read_key_or_end(&mut self) -> LineResult<Option<&'a str>> {
        match self.tokens.next()? {
            Some(GmlToken::Close) => Ok(None),
            Some(token) => key(token).map(Some),
            None => Err("unexpected end of file; expected `]`".into()),
        }
    }

    /// Reads a value up to its end, or up to the opening bracket of a list; errors refer to it by `key`.
    fn read_value(&mut self, key: &str) -> LineResult<GmlValue<'a>> {
        let expected = "expected a number, a quoted string or `[`";
        match self.tokens.next()? {
            Some(GmlToken::Text(text)) => Ok(GmlValue::Scalar(text)),
            Some(GmlToken::Open) => Ok(GmlValue::List),
            Some(GmlToken::Word(word)) if word.parse::<f64>().is_ok() => {
                Ok(GmlValue::Scalar(word.into()))
            }
            Some(token) => Err(format!("`{token}` after `{key}`; {expected}")),
            None => Err(format!("unexpected end of file after `{key}`; {expected}")),
        }
    }

    /// Skips the rest of a list; an error if it is not closed or nested too deeply.
    fn skip_list(&mut self) -> LineResult<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.tokens.next()? {
                Some(GmlToken::Open) if depth == MAX_DEPTH => {
                    return Err(format!("more than {MAX_DEPTH} open brackets"));
                }
                Some(GmlToken::Open) => depth += 1,
                Some(GmlToken::Close) => depth -= 1,
                Some(_) => {}
                None => return Err("unexpected end of file; expected `]`".into()),
            }
        }
        Ok(())
    }
}

/// Returns the key that a token contains; an error for other tokens.
fn key(token: GmlToken<'_>) -> LineResult<&str> {
    match token {
        GmlToken::Word(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
            Ok(word)
        }
        token => Err(format!("`{token}`; expected a key")),
    }
}

#[cfg(test)]
pub(super) mod tests;
