//! GraphML files, as written by NetworkX, igraph and Gephi.
//!
//! ```text
//! <key id="d0" for="node" attr.name="age" attr.type="double"><default>0</default></key>
//! <key id="d1" for="node" attr.name="label" attr.type="string"/>
//! <graph edgedefault="directed">
//!   <node id="ann"><data key="d0">31</data><data key="d1">doctor</data></node>
//!   <edge source="ann" target="bob"/>
//! </graph>
//! ```
//!
//! The node keys are the columns of a node table, see [`crate::data::schema`].
//! The graph is undirected; loops and duplicate edges are removed.
//! Entities other than the five predefined ones are rejected, so nothing is expanded.
//! Brandes et al., GD 2001; <http://graphml.graphdrawing.org/specification.html>.

mod key;

use self::key::GraphmlKeys;
use super::assemble::{self, ReadEdges};
use super::xml::{self, SourceText, XmlDocument};
use super::{Interpretation, text};
use crate::data::Dataset;
use crate::data::table::Table;
use crate::error::{Error, Result};
use crate::graph::Graph;
use quick_xml::events::BytesStart;
use std::collections::HashMap;
use std::path::Path;

/// The name of the key with the weights of edges.
const WEIGHT: &str = "weight";

/// Maximum number of values, and of bytes of default values, per byte of the file: defaults allow
/// many values in a small file.
const MAX_VALUES: usize = 16;

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
///
/// ```
/// use clenshaw::data::{TableOptions, read::{Interpretation, graphml}};
///
/// let pair = br#"<graphml>
///     <key id="k" for="node" attr.name="size" attr.type="int"/>
///     <key id="l" for="node" attr.name="colour" attr.type="string"/>
///     <graph edgedefault="undirected">
///         <node id="a"><data key="k">3</data><data key="l">red</data></node>
///         <node id="b"><data key="k">4</data><data key="l">blue</data></node>
///         <edge source="a" target="b"/>
///     </graph>
/// </graphml>"#;
/// let options = TableOptions { label: Some("colour".into()), ..TableOptions::default() };
/// let pair = graphml::read_bytes("pair", pair, Interpretation::Inferred(&options))?;
/// assert_eq!(pair.class_names, ["blue", "red"]);
/// assert_eq!(pair.x.values(), [3.0, 4.0]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    parse(place, &text::read_bytes(Path::new(place), bytes)?, interpretation)
}

/// Parses the text of a file; errors and the data set refer to it as `place`.
pub(super) fn parse(place: &str, text: &str, interpretation: Interpretation) -> Result<Dataset> {
    let mut document = GraphmlParser::new(SourceText { name: place, bytes: text.as_bytes() });
    xml::parse(document.place, text, &mut document)?;
    document.dataset(interpretation)
}

/// The state of the parser and the nodes and edges read so far.
struct GraphmlParser<'a> {
    place: SourceText<'a>,
    /// Position of the current event.
    at: usize,
    /// Number of open elements.
    depth: usize,
    /// Text since the last tag.
    text: String,
    keys: GraphmlKeys,
    in_graph: bool,
    directed: bool,
    /// The key that is being read.
    open_key: Option<usize>,
    /// The values of the current node by key.
    open_node: Option<Vec<Option<String>>>,
    open_data: Option<usize>,
    number_of: HashMap<String, u32>,
    /// Bytes of default values that nodes have so far.
    default_bytes: usize,
    /// The values of the nodes; its columns are known once the graph starts.
    table: Table,
    edges: Vec<(u32, u32, f32)>,
    /// Edges that precede their nodes, with their positions.
    pending_edges: Vec<(usize, [String; 2], f32)>,
    /// The ends and the weight of the current edge.
    open_edge: Option<([String; 2], f32)>,
}

impl<'a> GraphmlParser<'a> {
    fn new(place: SourceText<'a>) -> Self {
        Self {
            place,
            at: 0,
            depth: 0,
            text: String::new(),
            keys: GraphmlKeys::default(),
            in_graph: false,
            directed: false,
            open_key: None,
            open_node: None,
            open_data: None,
            number_of: HashMap::new(),
            default_bytes: 0,
            table: Table::default(),
            edges: vec![],
            pending_edges: vec![],
            open_edge: None,
        }
    }

    fn bad(&self, problem: impl Into<String>) -> Error {
        self.place.bad(self.at, problem)
    }

    fn attribute(&self, tag: &BytesStart, name: &str) -> Result<Option<String>> {
        self.place.attribute(self.at, tag, name)
    }

    fn required(&self, tag: &BytesStart, name: &str) -> Result<String> {
        self.place.required_attribute(self.at, tag, name)
    }

    fn key(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        if self.in_graph {
            let problem = format!("key `{id}` is declared after `<graph>`; expected it before");
            return Err(self.bad(problem));
        }
        if self.keys.find(&id).is_some() {
            return Err(self.bad(format!("duplicate key `{id}`")));
        }
        let name = self.attribute(tag, "attr.name")?.unwrap_or_else(|| id.clone());
        let element = self.attribute(tag, "for")?;
        let for_nodes = element.is_none_or(|element| element == "node" || element == "all");
        self.open_key = Some(self.keys.insert(id, name, for_nodes));
        Ok(())
    }

    fn node(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        if self.open_node.is_some() || !self.in_graph {
            return Err(
                self.bad(format!("node `{id}` is outside the graph or inside another node"))
            );
        }
        let number = u32::try_from(self.number_of.len());
        let number = number.map_err(|_| self.bad(format!("more than {} nodes", u32::MAX)))?;
        if self.number_of.contains_key(&id) {
            return Err(self.bad(format!("duplicate node `{id}`")));
        }
        self.number_of.insert(id, number);
        let n_keys = self.keys.list.len();
        self.open_node = Some(vec![None; n_keys]);
        match self.number_of.len().saturating_mul(n_keys) <= MAX_VALUES * self.place.bytes.len() {
            true => Ok(()),
            false => Err(self.bad("too many nodes and keys for the size of the file")),
        }
    }

    fn data(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "key")?;
        self.open_data = self.keys.find(&id);
        match self.open_data {
            Some(_) => Ok(()),
            None => Err(self.bad(format!("undeclared key `{id}`"))),
        }
    }

    /// Adds the values of a node, or the defaults of the keys.
    fn finish_node(&mut self) -> Result<()> {
        let values = self.open_node.take().unwrap_or_default();
        let keys = self.keys.list.iter().zip(&values).filter(|(key, _)| key.for_nodes);
        let unset = keys.clone().filter(|(_, value)| value.is_none());
        self.default_bytes += unset.map(|(key, _)| key.default.len()).sum::<usize>();
        if self.default_bytes > MAX_VALUES * self.place.bytes.len() {
            return Err(self.bad("the defaults of the keys are too long for the size of the file"));
        }
        self.table
            .push_row(keys.map(|(key, value)| value.as_ref().unwrap_or(&key.default).as_str()))
    }

    fn edge(&mut self, tag: &BytesStart) -> Result<()> {
        let ends = [self.required(tag, "source")?, self.required(tag, "target")?];
        self.open_edge = Some((ends, 1.0));
        Ok(())
    }

    /// Reads the weight of the current edge; other data of edges is ignored.
    fn edge_data(&mut self, text: &str) -> Result<()> {
        let key = self.open_data.take().map(|key| &self.keys.list[key]);
        if key.is_none_or(|key| key.for_nodes || key.name != WEIGHT) {
            return Ok(());
        }
        let weight = text.parse().ok().filter(|weight: &f32| weight.is_finite() && *weight >= 0.0);
        let invalid = || {
            self.bad(format!("the weight of an edge is `{text}`; expected a number of at least 0"))
        };
        let weight = weight.ok_or_else(invalid)?;
        if let Some((_, current)) = &mut self.open_edge {
            *current = weight;
        }
        Ok(())
    }

    fn finish_edge(&mut self) {
        let Some((ends, weight)) = self.open_edge.take() else { return };
        match ends.each_ref().map(|end| self.number_of.get(end).copied()) {
            [Some(u), Some(v)] => self.edges.push((u, v, weight)),
            _ => self.pending_edges.push((self.at, ends, weight)),
        }
    }

    fn dataset(mut self, interpretation: Interpretation) -> Result<Dataset> {
        if self.depth > 0 || !self.in_graph {
            let problem = "unexpected end of file; expected `<graphml>` with one `<graph>`";
            return Err(self.bad(problem));
        }
        for (at, ends, weight) in &self.pending_edges {
            let number = |end: &String| {
                let unknown = || self.place.bad(*at, format!("edge to unknown node `{end}`"));
                self.number_of.get(end).copied().ok_or_else(unknown)
            };
            self.edges.push((number(&ends[0])?, number(&ends[1])?, *weight));
        }
        let n = self.number_of.len();
        let graph = Graph::from_weighted_edges(self.place.name, n, &self.edges)?;
        let mut node_names = vec![String::new(); n];
        for (name, number) in self.number_of {
            node_names[number as usize] = name;
        }
        self.table.ids = Some(node_names);
        let nodes = assemble::encode(&self.table, interpretation)?;
        let edges = ReadEdges::new(graph, &self.edges, self.directed);
        let source = format!("GraphML, {}", self.place.name);
        assemble::dataset(self.place.name, source, nodes, edges, interpretation)
    }
}

impl XmlDocument for GraphmlParser<'_> {
    fn set_position(&mut self, at: usize) {
        self.at = at;
    }

    fn text(&mut self) -> &mut String {
        &mut self.text
    }

    fn start(&mut self, tag: &BytesStart) -> Result<()> {
        self.depth += 1;
        self.text.clear();
        match tag.name().into_inner() {
            "key" => self.key(tag),
            "graph" if self.in_graph => Err(self.bad("found a second graph; expected one")),
            "graph" => {
                self.in_graph = true;
                self.directed = self.attribute(tag, "edgedefault")?.as_deref() == Some("directed");
                self.table = Table::new(self.place.name, self.keys.node_names());
                Ok(())
            }
            "node" => self.node(tag),
            "data" if self.open_node.is_some() || self.open_edge.is_some() => self.data(tag),
            "edge" => self.edge(tag),
            "hyperedge" => Err(self.bad("found a hyperedge; expected edges between two nodes")),
            _ => Ok(()),
        }
    }

    fn end(&mut self, name: &str) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        let text = std::mem::take(&mut self.text);
        match name {
            "default" => {
                if let Some(key) = self.open_key.and_then(|key| self.keys.list.get_mut(key)) {
                    key.default = text.trim().into();
                }
            }
            "key" => self.open_key = None,
            "data" if self.open_edge.is_some() => self.edge_data(text.trim())?,
            "data" => {
                let values = self.open_node.as_mut();
                let value = values.zip(self.open_data.take()).and_then(|(v, key)| v.get_mut(key));
                if let Some(value) = value {
                    *value = Some(text.trim().into());
                }
            }
            "node" => self.finish_node()?,
            "edge" => self.finish_edge(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
