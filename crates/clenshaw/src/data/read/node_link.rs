//! Node-link JSON, as written by `networkx.node_link_data` of NetworkX 2 and 3, and read by D3.
//!
//! ```text
//! {"directed": false,
//!  "nodes": [{"id": "ann", "age": 31, "label": "tea"}, {"id": "bob", "age": null}],
//!  "links": [{"source": "ann", "target": "bob", "weight": 2}]}
//! ```
//!
//! The edges are called `links` or `edges`. The attributes of nodes are the columns of a node table, see
//! [`crate::data::schema`]: numbers, strings, booleans, null for a missing value, and lists of these, with
//! one column per element. Objects, and lists that contain objects or lists, are ignored with a warning.
//! `NaN` and `Infinity`, which Python writes, are read as null.
//!
//! The file is parsed in one pass, and only one node or edge at a time is stored as JSON.
//! The graph is undirected; loops are removed and duplicate edges merged.

use super::Interpretation;
use super::attributed::{AttributedGraph, NodeNames};
use super::delimited::LineResult;
use super::text::{self, line_error};
use crate::data::Dataset;
use crate::error::{Error, Result};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

const EXPECTED: &str = "expected an object with `nodes` and `links` (or `edges`)";

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
///
/// ```
/// use clenshaw::data::read::{Interpretation, node_link};
///
/// let pair = br#"{"nodes": [{"id": "a", "size": 3, "label": "red"},
///                           {"id": "b", "size": 4, "label": "blue"}],
///                 "links": [{"source": "a", "target": "b"}]}"#;
/// let pair = node_link::read_bytes("pair", pair, Interpretation::default())?;
/// assert_eq!(pair.class_names, ["blue", "red"]);
/// assert_eq!(pair.x.values(), [3.0, 4.0]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    parse(place, &text::read_bytes(Path::new(place), bytes)?, interpretation)
}

/// Parses the text of a file; errors and the data set refer to it as `place`.
pub(super) fn parse(place: &str, text: &str, interpretation: Interpretation) -> Result<Dataset> {
    let text = without_nan(text.trim_start_matches('\u{feff}'));
    let mut document = Document {
        graph: AttributedGraph::new(place, text.len(), interpretation),
        ignored: BTreeSet::new(),
        has_nodes: false,
        has_edges: false,
    };
    let mut reader = serde_json::Deserializer::from_str(&text);
    let read = reader.deserialize_any(&mut document).and_then(|()| reader.end());
    read.map_err(|error| located(place, &error))?;
    let whole = |problem| Error::Data { place: place.into(), problem };
    for (found, names) in
        [(document.has_nodes, "`nodes`"), (document.has_edges, "`links` and no `edges`")]
    {
        if !found {
            return Err(whole(format!("the object has no {names}; {EXPECTED}")));
        }
    }
    let ignored: Vec<String> = document.ignored.into_iter().collect();
    let error_at = |edge, problem| whole(format!("edge {edge}: {problem}"));
    let graph = document.graph;
    let mut dataset = graph.into_dataset("node-link JSON", NodeNames::Id, error_at)?;
    if !ignored.is_empty() {
        let ignored = ignored.join(", ");
        dataset.warnings.push(format!(
            "{place}: ignored attributes that are objects or lists of lists: {ignored}"
        ));
    }
    Ok(dataset)
}

/// Converts a JSON error; its line number becomes part of the place and is removed from the message.
fn located(place: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let problem = message.strip_suffix(&position).unwrap_or(&message);
    line_error(place, error.line().max(1), problem)
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings with `null`; line numbers do not change.
fn without_nan(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return text.into();
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        let (before, found) = rest.split_at(at);
        result.push_str(before);
        let number = ["NaN", "Infinity", "-Infinity"].into_iter().find(|n| found.starts_with(n));
        let length = match number {
            Some(number) => number.len(),
            None if found.starts_with('"') => quoted_length(found),
            None => 1,
        };
        result.push_str(if number.is_some() { "null" } else { &found[..length] });
        rest = &found[length..];
    }
    (result + rest).into()
}

/// Returns the length in bytes of the quoted string at the start of `text`, including the quotes; that of
/// `text` if the string is not closed.
fn quoted_length(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    text.len()
}

/// The nodes and edges that have been read so far.
struct Document<'a> {
    graph: AttributedGraph<'a>,
    /// The names of node attributes that are objects, or lists that contain objects or lists, in some node.
    ignored: BTreeSet<String>,
    has_nodes: bool,
    has_edges: bool,
}

impl<'de> Visitor<'de> for &mut Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED.trim_start_matches("expected "))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<(), M::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "directed" => self.graph.directed = map.next_value()?,
                "nodes" if self.has_nodes => {
                    return Err(M::Error::custom("found `nodes` twice; expected it once"));
                }
                "nodes" => {
                    map.next_value_seed(Elements { document: self, kind: ElementKind::Nodes })?;
                    self.has_nodes = true;
                }
                "links" | "edges" => {
                    map.next_value_seed(Elements { document: self, kind: ElementKind::Edges })?;
                    self.has_edges = true;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum ElementKind {
    Nodes,
    Edges,
}

/// Reads the list of nodes or edges into the document.
struct Elements<'d, 'a> {
    document: &'d mut Document<'a>,
    kind: ElementKind,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> std::result::Result<(), D::Error> {
        input.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ElementKind::Nodes => "a list of nodes",
            ElementKind::Edges => "a list of edges",
        })
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> std::result::Result<(), S::Error> {
        let mut number = 0;
        while let Some(element) = list.next_element::<Map<String, Value>>()? {
            number += 1;
            let added = match self.kind {
                ElementKind::Nodes => self.document.add_node(&element),
                ElementKind::Edges => self.document.add_edge(number, &element),
            };
            added.map_err(S::Error::custom)?;
        }
        Ok(())
    }
}

impl Document<'_> {
    fn add_node(&mut self, node: &Map<String, Value>) -> LineResult<()> {
        self.graph.start_node()?;
        for (name, value) in node.iter().filter(|(name, _)| *name != "id") {
            match value {
                Value::Array(values) if values.iter().all(|value| scalar(value).is_some()) => {
                    for value in values.iter().filter_map(scalar) {
                        self.graph.add_attribute(name, &value)?;
                    }
                }
                _ => match scalar(value) {
                    Some(value) => self.graph.add_attribute(name, &value)?,
                    None if self.ignored.contains(name) => {}
                    None => drop(self.ignored.insert(name.clone())),
                },
            }
        }
        self.graph.finish_node(id(node, "node", "id")?)
    }

    fn add_edge(&mut self, number: usize, edge: &Map<String, Value>) -> LineResult<()> {
        let ends = [id(edge, "edge", "source")?, id(edge, "edge", "target")?];
        let mut weight = 1.0;
        for (name, value) in
            edge.iter().filter(|(name, _)| !["source", "target"].contains(&&***name))
        {
            let text = scalar(value).filter(|_| !value.is_null());
            let text = text.unwrap_or_else(|| value.to_string().into());
            self.graph.edge_attributes.add(name, &text, &mut weight)?;
        }
        match self.has_nodes {
            true => self.graph.add_edge_of_known_nodes(&ends, weight),
            false => {
                self.graph.add_edge(number, ends, weight);
                Ok(())
            }
        }
    }
}

/// Returns the text of a cell, empty for null; `None` for objects and lists.
fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => Some("".into()),
        Value::Bool(flag) => Some(flag.to_string().into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::String(text) => Some(text.as_str().into()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the node id with this key: a string, number or boolean, or a list such as `[0,1]`, which is
/// written for a Python tuple; an error if it is missing or of a different type.
fn id(element: &Map<String, Value>, kind: &str, key: &str) -> LineResult<String> {
    match element.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_))) => {
            Ok(value.to_string())
        }
        Some(value) => {
            Err(format!("`{key}` of the {kind} is `{value}`; expected a string or number"))
        }
        None => Err(format!("the {kind} has no `{key}`")),
    }
}

#[cfg(test)]
pub(super) mod tests;
