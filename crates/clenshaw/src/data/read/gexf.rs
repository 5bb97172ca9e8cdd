//! GEXF files, as written by NetworkX and Gephi.
//!
//! ```text
//! <graph defaultedgetype="directed" mode="static">
//!   <attributes class="node">
//!     <attribute id="0" title="age" type="long"><default>0</default></attribute>
//!   </attributes>
//!   <nodes>
//!     <node id="0" label="ann"><attvalues><attvalue for="0" value="31"/></attvalues></node>
//!   </nodes>
//!   <edges><edge source="0" target="1" weight="2.0"/></edges>
//! </graph>
//! ```
//!
//! The attributes of nodes are the columns of a node table, see [`crate::data::schema`].
//!
//! If all nodes have different values of `label`, these are their names. Otherwise, or if `label` was chosen
//! as a column, the ids are their names and `label` is a column, by default the class. An id column that the
//! user chooses has precedence.
//! NetworkX writes a node's attribute `label`, or its name if it has none, to the XML attribute `label`.
//! If the file declares a node attribute called `label`, the XML attribute is not used.
//!
//! The graph is undirected; loops are removed and duplicate edges merged.
//! Graphs that change over time and nodes inside nodes are rejected.
//! <https://gexf.net/schema.html>, versions 1.1 to 1.3.

use super::attributed::{AttributedGraph, NodeNames};
use super::xml::{self, SourceText, XmlHandler};
use super::{Interpretation, text};
use crate::data::Dataset;
use crate::error::{Error, Result};
use quick_xml::events::BytesStart;
use std::collections::HashMap;
use std::path::Path;

/// Maximum number of bytes of default values that are added to nodes, per byte of the file.
const MAX_DEFAULT_BYTES: usize = 16;
const LABEL: &str = "label";

/// Reads the bytes of a file; errors and the data set refer to it as `place`.
///
/// ```
/// use clenshaw::data::read::{Interpretation, gexf};
///
/// let triple = br#"<gexf><graph>
///     <attributes class="node"><attribute id="0" title="size" type="integer"/></attributes>
///     <nodes>
///         <node id="a" label="red"><attvalues><attvalue for="0" value="3"/></attvalues></node>
///         <node id="b" label="blue"><attvalues><attvalue for="0" value="4"/></attvalues></node>
///         <node id="c" label="red"><attvalues><attvalue for="0" value="5"/></attvalues></node>
///     </nodes>
///     <edges><edge source="a" target="b"/></edges>
/// </graph></gexf>"#;
/// let triple = gexf::read_bytes("triple", triple, Interpretation::default())?;
/// assert_eq!(triple.class_names, ["blue", "red"]);
/// assert_eq!(triple.x.values(), [3.0, 4.0, 5.0]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: &[u8], interpretation: Interpretation) -> Result<Dataset> {
    parse(place, &text::read_bytes(Path::new(place), bytes)?, interpretation)
}

/// Parses the text of a file; errors and the data set refer to it as `place`.
pub(super) fn parse(place: &str, text: &str, interpretation: Interpretation) -> Result<Dataset> {
    let source = SourceText { name: place, bytes: text.as_bytes() };
    let mut document = GexfParser::new(source, interpretation);
    xml::parse(document.place, text, &mut document)?;
    document.into_dataset()
}

/// An attribute that the file declares for nodes.
struct GexfAttribute {
    title: String,
    /// The default value, for nodes that do not have the attribute; `None` if the file declares none.
    default: Option<String>,
}

/// The node that is being read.
struct OpenNode {
    id: String,
    /// The indices of the declared attributes for which the node has a value.
    attributes: Vec<usize>,
}

/// The state of the parser and the nodes and edges read so far.
struct GexfParser<'a> {
    place: SourceText<'a>,
    /// Position of the current XML event in the file.
    at: usize,
    /// Number of open elements.
    depth: usize,
    /// Text since the last tag.
    text: String,
    has_graph: bool,
    /// Whether the current `<attributes>` element declares attributes of nodes.
    for_nodes: bool,
    /// Whether the current `<attributes>` element declares attributes of edges.
    for_edges: bool,
    /// From the id of an edge attribute to its title.
    edge_titles: HashMap<String, String>,
    /// The title of the edge attribute that is being declared.
    open_edge_attribute: Option<String>,
    /// The weight of edges without a value for the attribute with the weights.
    default_weight: f32,
    /// The ends and the weight of the current edge.
    open_edge: Option<([String; 2], f32)>,
    /// The declared attributes of nodes.
    attributes: Vec<GexfAttribute>,
    /// From the id of a node attribute to its index in `attributes`.
    attribute_index: HashMap<String, usize>,
    /// The indices of the attributes with a default.
    with_default: Vec<usize>,
    /// Number of bytes of default values that have been added to nodes.
    default_bytes: usize,
    open_node: Option<OpenNode>,
    graph: AttributedGraph<'a>,
}

impl<'a> GexfParser<'a> {
    fn new(place: SourceText<'a>, interpretation: Interpretation<'a>) -> Self {
        Self {
            place,
            at: 0,
            depth: 0,
            text: String::new(),
            has_graph: false,
            for_nodes: false,
            for_edges: false,
            edge_titles: HashMap::new(),
            open_edge_attribute: None,
            default_weight: 1.0,
            open_edge: None,
            attributes: vec![],
            attribute_index: HashMap::new(),
            with_default: vec![],
            default_bytes: 0,
            open_node: None,
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

    fn start_graph(&mut self, tag: &BytesStart) -> Result<()> {
        if self.has_graph {
            return Err(self.error("found a second graph; expected one"));
        }
        if self.attribute(tag, "mode")?.as_deref() == Some("dynamic") {
            return Err(
                self.error("found a graph that changes over time; expected `mode=\"static\"`")
            );
        }
        self.has_graph = true;
        self.graph.directed =
            self.attribute(tag, "defaultedgetype")?.as_deref() == Some("directed");
        Ok(())
    }

    fn declare_node_attribute(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        let title = self.attribute(tag, "title")?.unwrap_or_else(|| id.clone());
        if self.attribute_index.insert(id.clone(), self.attributes.len()).is_some() {
            return Err(self.error(format!("duplicate attribute `{id}`")));
        }
        self.attributes.push(GexfAttribute { title, default: None });
        Ok(())
    }

    fn declare_edge_attribute(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        let title = self.attribute(tag, "title")?.unwrap_or_else(|| id.clone());
        self.open_edge_attribute = Some(title.clone());
        self.edge_titles.insert(id, title);
        Ok(())
    }

    /// Stores the default value of the attribute that is being declared.
    fn finish_default(&mut self, text: &str) -> Result<()> {
        if self.for_nodes
            && let Some((number, last)) = self.attributes.iter_mut().enumerate().next_back()
            && last.default.replace(text.into()).is_none()
        {
            self.with_default.push(number);
        }
        if let Some(title) = self.open_edge_attribute.as_ref().filter(|_| !text.is_empty()) {
            let added =
                self.graph.edge_attributes.add_default(title, text, &mut self.default_weight);
            added.map_err(|problem| self.place.error(self.at, problem))?;
        }
        Ok(())
    }

    fn start_node(&mut self, tag: &BytesStart) -> Result<()> {
        let id = self.required(tag, "id")?;
        if self.open_node.is_some() || !self.has_graph {
            let problem = format!("node `{id}` is outside the graph or inside another node");
            return Err(self.error(problem));
        }
        self.graph.start_node().map_err(|problem| self.error(problem))?;
        let is_label = |attribute: &GexfAttribute| attribute.title == LABEL;
        if let Some(label) = self.attribute(tag, LABEL)?
            && !self.attributes.iter().any(is_label)
        {
            self.graph.add_attribute(LABEL, label.trim()).map_err(|problem| self.error(problem))?;
        }
        self.open_node = Some(OpenNode { id, attributes: vec![] });
        Ok(())
    }

    /// Adds the value of an `<attvalue>` to the current edge or node.
    fn read_value(&mut self, tag: &BytesStart) -> Result<()> {
        let id = match self.attribute(tag, "for")? {
            Some(id) => id,
            // The name of this attribute in version 1.0.
            None => self.required(tag, "id")?,
        };
        let value = self.required(tag, "value")?;
        if let Some((_, weight)) = &mut self.open_edge {
            let title = self.edge_titles.get(&id).unwrap_or(&id);
            let added = self.graph.edge_attributes.add(title, value.trim(), weight);
            return added.map_err(|problem| self.place.error(self.at, problem));
        }
        let undeclared = || self.error(format!("undeclared attribute `{id}`"));
        let number = self.attribute_index.get(&id).copied().ok_or_else(undeclared)?;
        let title = &self.attributes[number].title;
        let added = self.graph.add_attribute(title, value.trim());
        added.map_err(|problem| self.error(problem))?;
        if let Some(node) = &mut self.open_node {
            node.attributes.push(number);
        }
        Ok(())
    }

    /// Adds the default values of attributes that the current node lacks, and ends the node.
    fn finish_node(&mut self) -> Result<()> {
        let Some(OpenNode { id, mut attributes }) = self.open_node.take() else { return Ok(()) };
        attributes.sort_unstable();
        for number in &self.with_default {
            let GexfAttribute { title, default } = &self.attributes[*number];
            let Some(default) = default.as_ref() else { continue };
            if attributes.binary_search(number).is_ok() {
                continue;
            }
            self.default_bytes += default.len();
            if self.default_bytes > MAX_DEFAULT_BYTES * self.place.bytes.len() {
                return Err(self.error("the defaults are too long for the size of the file"));
            }
            let added = self.graph.add_attribute(title, default);
            added.map_err(|problem| self.place.error(self.at, problem))?;
        }
        self.graph.finish_node(id).map_err(|problem| self.place.error(self.at, problem))
    }

    fn start_edge(&mut self, tag: &BytesStart) -> Result<()> {
        let ends = [self.required(tag, "source")?, self.required(tag, "target")?];
        let mut weight = self.default_weight;
        if let Some(value) = self.attribute(tag, "weight")? {
            let added = self.graph.edge_attributes.add("weight", value.trim(), &mut weight);
            added.map_err(|problem| self.error(problem))?;
        }
        self.graph.directed |= self.attribute(tag, "type")?.as_deref() == Some("directed");
        self.open_edge = Some((ends, weight));
        Ok(())
    }

    fn into_dataset(self) -> Result<Dataset> {
        if self.depth > 0 || !self.has_graph {
            let problem = "unexpected end of file; expected `<gexf>` with one `<graph>`";
            return Err(self.error(problem));
        }
        let place = self.place;
        let error_at = |at, problem| place.error(at, problem);
        self.graph.into_dataset("GEXF", NodeNames::DistinctLabel, error_at)
    }
}

impl XmlHandler for GexfParser<'_> {
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
            "graph" => self.start_graph(tag),
            "attributes" => {
                let class = self.attribute(tag, "class")?;
                self.for_nodes = class.as_deref() == Some("node");
                self.for_edges = class.as_deref() == Some("edge");
                Ok(())
            }
            "attribute" if self.for_edges => self.declare_edge_attribute(tag),
            "attribute" if self.for_nodes => self.declare_node_attribute(tag),
            "node" => self.start_node(tag),
            "attvalue" if self.open_node.is_some() || self.open_edge.is_some() => {
                self.read_value(tag)
            }
            "edge" => self.start_edge(tag),
            _ => Ok(()),
        }
    }

    fn end_element(&mut self, name: &str) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        let text = std::mem::take(&mut self.text);
        match name {
            "attributes" => (self.for_nodes, self.for_edges) = (false, false),
            "attribute" => self.open_edge_attribute = None,
            "default" => self.finish_default(text.trim())?,
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
