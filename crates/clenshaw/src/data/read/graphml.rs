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
//! The node keys are the columns of a node table, see [`crate::data::schema`]. The weights of edges are
//! the values of the edge key `weight` or of another edge key that the user chooses.
//! Edges are treated as undirected; loops are removed and duplicate edges merged.
//! Custom entities are rejected, so a small file cannot expand into a huge string.
//! Brandes et al., GD 2001; <http://graphml.graphdrawing.org/specification.html>.

mod key;

use self::key::{GraphmlKeys, KeyScope};
use super::attributed::{AttributedGraph, NodeNames};
use super::xml::{self, SourceText, XmlHandler};
use super::{Interpretation, text};
use crate::data::Dataset;
use crate::error::{Error, Result};
use quick_xml::events::BytesStart;
use std::path::Path;

/// Maximum number of values, and of bytes of default values, per byte of the file.
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
    let source = SourceText { name: place, bytes: text.as_bytes() };
    let mut document = GraphmlParser::new(source, interpretation);
    xml::parse(document.place, text, &mut document)?;
    document.into_dataset()
}

/// The state of the parser and the nodes and edges read so far.
struct GraphmlParser<'a> {
    place: SourceText<'a>,
    /// Position of the current XML event in the file.
    at: usize,
    /// Number of open elements.
    depth: usize,
    /// Text since the last tag.
    text: String,
    keys: GraphmlKeys,
    /// Whether `<graph>` has started.
    has_graph: bool,
    /// The index of the key that is being declared.
    open_key: Option<usize>,
    /// The id of the current node and its value for each key.
    open_node: Option<(String, Vec<Option<String>>)>,
    /// The ends and the weight of the current edge.
    open_edge: Option<([String; 2], f32)>,
    /// The index of the key of the current `<data>` of a node or an edge.
    open_data: Option<usize>,
    n_nodes: usize,
    /// Number of bytes of default values that have been added to nodes.
    default_bytes: usize,
    /// The weight of edges without a value for the key of the weights.
    default_weight: f32,
    graph: AttributedGraph<'a>,
}

impl<'a> GraphmlParser<'a> {
    fn new(place: SourceText<'a>, interpretation: Interpretation<'a>) -> Self {
        Self {
            place,
            at: 0,
            depth: 0,
            text: String::new(),
            keys: GraphmlKeys::default(),
            has_graph: false,
            open_key: None,
            open_node: None,
            open_edge: None,
            open_data: None,
            n_nodes: 0,
            default_bytes: 0,
            default_weight: 1.0,
            graph: AttributedGraph::new(place.name, place.bytes.len(), interpretation),
        }
    }

    /// An error on the line of the current XML event.
    fn error(&self, problem: impl Into<String>) -> Error {
        self.place.error(self.at, problem)
    }

    /// Returns an XML attribute, if the element has it.
    fn attribute(&self, tag: &BytesStart, name: &str) -> Result<Option<String>> {
        self.place.attribute(self.at, tag, name)
    }

    /// Returns an XML attribute; an error if the element does not have it.
    fn required(&self, tag: &BytesStart, name: &str) -> Result<String> {
        self.place.required_attribute(self.at, tag, name)
    }

    fn declare_key(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        if self.has_graph {
            let problem = format!("key `{id}` is declared after `<graph>`; expected it before");
            return Err(self.error(problem));
        }
        if self.keys.find(&id).is_some() {
            return Err(self.error(format!("duplicate key `{id}`")));
        }
        let name = self.attribute(tag, "attr.name")?.unwrap_or_else(|| id.clone());
        let scope = match self.attribute(tag, "for")?.as_deref() {
            None | Some("all") => KeyScope::All,
            Some("node") => KeyScope::Nodes,
            Some("edge") => KeyScope::Edges,
            Some(_) => KeyScope::Other,
        };
        self.open_key = Some(self.keys.insert(id, name, scope));
        Ok(())
    }

    /// Starts the graph: adds a column for each key of nodes, and sets the default weight of edges.
    fn start_graph(&mut self, tag: &BytesStart) -> Result<()> {
        if self.has_graph {
            return Err(self.error("found a second graph; expected one"));
        }
        self.has_graph = true;
        self.graph.directed = self.attribute(tag, "edgedefault")?.as_deref() == Some("directed");
        for key in &self.keys.list {
            let declared = match key.scope {
                KeyScope::Nodes => self.graph.add_column(&key.name),
                KeyScope::All => self.graph.add_column(&key.name).and_then(|()| {
                    let (attributes, weight) =
                        (&mut self.graph.edge_attributes, &mut self.default_weight);
                    attributes.add_default_weight(&key.name, &key.default, weight)
                }),
                KeyScope::Edges if !key.default.is_empty() => {
                    let (attributes, weight) =
                        (&mut self.graph.edge_attributes, &mut self.default_weight);
                    attributes.add_default(&key.name, &key.default, weight)
                }
                KeyScope::Edges | KeyScope::Other => Ok(()),
            };
            declared.map_err(|problem| self.place.error(self.at, problem))?;
        }
        Ok(())
    }

    fn start_node(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        if self.open_node.is_some() || !self.has_graph {
            return Err(
                self.error(format!("node `{id}` is outside the graph or inside another node"))
            );
        }
        self.n_nodes += 1;
        let n_keys = self.keys.list.len();
        if self.n_nodes.saturating_mul(n_keys) > MAX_VALUES * self.place.bytes.len() {
            return Err(self.error("too many nodes and keys for the size of the file"));
        }
        self.open_node = Some((id, vec![None; n_keys]));
        self.graph.start_node().map_err(|problem| self.error(problem))
    }

    fn start_data(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "key")?;
        self.open_data = self.keys.find(&id);
        match self.open_data {
            Some(_) => Ok(()),
            None => Err(self.error(format!("undeclared key `{id}`"))),
        }
    }

    /// Stores the value of the current `<data>` in the current node; for an edge, only the weight is stored.
    fn finish_data(&mut self, text: &str) -> Result<()> {
        let Some(key) = self.open_data.take() else { return Ok(()) };
        if let Some((_, weight)) = &mut self.open_edge {
            let added = self.graph.edge_attributes.add(&self.keys.list[key].name, text, weight);
            added.map_err(|problem| self.place.error(self.at, problem))?;
        } else if let Some((_, values)) = &mut self.open_node {
            values[key] = Some(text.into());
        }
        Ok(())
    }

    /// Adds the values of the current node, with defaults for keys without a value, and ends the node.
    fn finish_node(&mut self) -> Result<()> {
        let Some((id, values)) = self.open_node.take() else { return Ok(()) };
        let keys = self.keys.list.iter().zip(&values);
        let keys = keys.filter(|(key, _)| key.scope.includes_nodes());
        for (key, value) in keys {
            if value.is_none() {
                self.default_bytes += key.default.len();
            }
            let value = value.as_ref().unwrap_or(&key.default);
            let added = self.graph.add_attribute(&key.name, value);
            added.map_err(|problem| self.place.error(self.at, problem))?;
        }
        if self.default_bytes > MAX_VALUES * self.place.bytes.len() {
            return Err(
                self.error("the defaults of the keys are too long for the size of the file")
            );
        }
        self.graph.finish_node(id).map_err(|problem| self.error(problem))
    }

    fn start_edge(&mut self, tag: &BytesStart) -> Result<()> {
        let ends = [self.required(tag, "source")?, self.required(tag, "target")?];
        self.graph.directed |= self.attribute(tag, "directed")?.as_deref() == Some("true");
        self.open_edge = Some((ends, self.default_weight));
        Ok(())
    }

    fn into_dataset(self) -> Result<Dataset> {
        if self.depth > 0 || !self.has_graph {
            let problem = "unexpected end of file; expected `<graphml>` with one `<graph>`";
            return Err(self.error(problem));
        }
        let place = self.place;
        let error_at = |at, problem| place.error(at, problem);
        self.graph.into_dataset("GraphML", NodeNames::Id, error_at)
    }
}

impl XmlHandler for GraphmlParser<'_> {
    fn set_position(&mut self, at: usize) {
        self.at = at;
    }

    fn text_buffer(&mut self) -> &mut String {
        &mut self.text
    }

    fn start_element(&mut self, tag: &BytesStart) -> Result<()> {
        self.depth += 1;
        self.text.clear();
        match tag.name().into_inner() {
            "key" => self.declare_key(tag),
            "graph" => self.start_graph(tag),
            "node" => self.start_node(tag),
            "data" if self.open_node.is_some() || self.open_edge.is_some() => self.start_data(tag),
            "edge" => self.start_edge(tag),
            "hyperedge" => Err(self.error("found a hyperedge; expected edges between two nodes")),
            _ => Ok(()),
        }
    }

    fn end_element(&mut self, name: &str) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        let text = std::mem::take(&mut self.text);
        match name {
            "default" => {
                if let Some(key) = self.open_key.and_then(|key| self.keys.list.get_mut(key)) {
                    key.default = text.trim().into();
                }
            }
            "key" => self.open_key = None,
            "data" => self.finish_data(text.trim())?,
            "node" => self.finish_node()?,
            "edge" => {
                if let Some((ends, weight)) = self.open_edge.take() {
                    self.graph.add_edge(self.at, ends, weight);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
