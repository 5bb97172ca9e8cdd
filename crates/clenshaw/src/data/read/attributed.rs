//! Graphs in one file whose nodes have attributes: the attributes become the columns of a node table.
//!
//! An attribute `x` with several values in one node is a list; its values are the columns `x`, `x[1]`,
//! `x[2]`, ...

use super::Interpretation;
use super::assemble::{self, ReadEdges};
use super::delimited::LineResult;
use super::edge_attributes::EdgeAttributes;
use crate::data::Dataset;
use crate::data::schema::is_missing;
use crate::data::table::TextTable;
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// Maximum number of cells of the node table per byte of the file; a node also has cells for the
/// attributes that it lacks.
const MAX_CELLS: usize = 16;
/// The attribute that contains the names of the nodes or their classes.
const LABEL: &str = "label";

/// Where the names of nodes come from, unless the options or a stored schema have an id column.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NodeNames {
    /// The ids by which edges refer to the nodes.
    Id,
    /// The attribute `label`, if it differs between all nodes and neither the options nor a stored schema
    /// use it as a column. Otherwise the ids; `label` is then a column, by default the class.
    DistinctLabel,
}

/// The nodes and edges that have been read so far.
///
/// A [`LineResult`] error does not include a position, which the reader of the format adds.
pub(super) struct AttributedGraph<'a> {
    place: &'a str,
    max_cells: usize,
    table: TextTable,
    /// From the name of a column to its index.
    column_of: HashMap<String, usize>,
    /// For each column: the number of the last row, counted from 1, to which [`Self::add_attribute`] added an
    /// attribute of this name, and how many values.
    counts: Vec<(usize, usize)>,
    /// From the id of a node to its number.
    number_of: HashMap<String, u32>,
    edges: Vec<(u32, u32, f32)>,
    /// The attributes of edges.
    pub edge_attributes: EdgeAttributes<'a>,
    interpretation: Interpretation<'a>,
    /// The position, ends and weight of each edge with a node that had not been read when it was added.
    pending_edges: Vec<(usize, [String; 2], f32)>,
    /// Whether the file contains directed edges.
    pub directed: bool,
}

impl<'a> AttributedGraph<'a> {
    /// Creates a graph without nodes; `size` is the number of bytes of the text.
    pub fn new(place: &'a str, size: usize, interpretation: Interpretation<'a>) -> Self {
        Self {
            place,
            max_cells: MAX_CELLS.saturating_mul(size),
            table: TextTable::new(place, []),
            column_of: HashMap::new(),
            counts: vec![],
            number_of: HashMap::new(),
            edges: vec![],
            edge_attributes: EdgeAttributes::new(interpretation.weights()),
            interpretation,
            pending_edges: vec![],
            directed: false,
        }
    }

    /// Adds a column for an attribute that nodes may have, unless it exists; an error if the table becomes too
    /// large.
    pub fn add_column(&mut self, name: &str) -> LineResult<()> {
        self.find_or_add_column(name).map(drop)
    }

    /// Starts a node, whose attributes and id follow; an error if the table becomes too large.
    pub fn start_node(&mut self) -> LineResult<()> {
        self.table.start_row();
        self.check_size()
    }

    /// Adds a value of an attribute of the current node; further values of the same attribute are stored
    /// in the columns `name[1]`, `name[2]`, ...
    ///
    /// # Errors
    /// If that column already has a value for this node, or the table or the column becomes too large.
    pub fn add_attribute(&mut self, name: &str, value: &str) -> LineResult<()> {
        let column = self.find_or_add_column(name)?;
        let row = self.table.n_rows();
        let (last_row, count) = &mut self.counts[column];
        *count = if *last_row == row { *count + 1 } else { 1 };
        *last_row = row;
        let column = match *count {
            1 => column,
            n => self.find_or_add_column(&format!("{name}[{}]", n - 1))?,
        };
        match self.table.set_cell(column, value)? {
            true => Ok(()),
            false => Err(format!("attribute `{name}` has two values in one node; expected one")),
        }
    }

    /// Ends the current node; an error if its id is not unique or there are too many nodes.
    pub fn finish_node(&mut self, id: String) -> LineResult<()> {
        let number = u32::try_from(self.table.n_rows() - 1);
        let number = number.map_err(|_| format!("expected at most {} nodes", u32::MAX))?;
        if self.number_of.contains_key(&id) {
            return Err(format!("duplicate node `{id}`"));
        }
        self.number_of.insert(id, number);
        Ok(())
    }

    /// Adds an edge, whose nodes may follow later; `at` is its position for errors.
    pub fn add_edge(&mut self, at: usize, ends: [String; 2], weight: f32) {
        match ends.each_ref().map(|end| self.number_of.get(end).copied()) {
            [Some(u), Some(v)] => self.edges.push((u, v, weight)),
            _ => self.pending_edges.push((at, ends, weight)),
        }
    }

    /// Adds an edge between nodes that have been read; an error if one has not.
    pub fn add_edge_of_known_nodes(&mut self, ends: &[String; 2], weight: f32) -> LineResult<()> {
        let [u, v] = ends.each_ref().map(|end| self.node_number(end));
        self.edges.push((u?, v?, weight));
        Ok(())
    }

    /// Returns the number of the node with this id; an error if there is none.
    fn node_number(&self, id: &str) -> LineResult<u32> {
        self.number_of.get(id).copied().ok_or_else(|| format!("edge to unknown node `{id}`"))
    }

    /// Returns the index of a column; an error if the table becomes too large.
    fn find_or_add_column(&mut self, name: &str) -> LineResult<usize> {
        if let Some(&column) = self.column_of.get(name) {
            return Ok(column);
        }
        let column = self.table.add_column(name.to_owned());
        self.column_of.insert(name.to_owned(), column);
        self.counts.push((0, 0));
        self.check_size()?;
        Ok(column)
    }

    /// Returns an error if the table has more than `max_cells` cells.
    fn check_size(&self) -> LineResult<()> {
        match self.table.n_rows().saturating_mul(self.table.columns.len()) <= self.max_cells {
            true => Ok(()),
            false => Err("too many nodes and attributes for the size of the file".into()),
        }
    }

    /// Builds the data set; `error_at` creates the error for an edge at the position that was passed to
    /// [`Self::add_edge`]. `format` names the format in the source of the data set.
    pub fn into_dataset(
        mut self,
        format: &str,
        node_names: NodeNames,
        error_at: impl Fn(usize, String) -> Error,
    ) -> Result<Dataset> {
        let interpretation = self.interpretation;
        for (at, ends, weight) in std::mem::take(&mut self.pending_edges) {
            self.add_edge_of_known_nodes(&ends, weight).map_err(|problem| error_at(at, problem))?;
        }
        self.table.fill_missing();
        let mut ids = vec![String::new(); self.table.n_rows()];
        for (id, number) in self.number_of.drain() {
            ids[number as usize] = id;
        }
        self.table.ids = Some(ids);
        let note = match node_names {
            NodeNames::Id => None,
            NodeNames::DistinctLabel => Some(use_distinct_labels(&mut self.table, interpretation)),
        };
        let n_nodes = self.table.n_rows();
        let edges = ReadEdges::new(self.place, n_nodes, self.edges, interpretation.weights())?;
        let nodes = assemble::encode(&self.table, interpretation)?;
        let mut edges = ReadEdges { directed: self.directed, ..edges };
        self.edge_attributes.finish(self.place, &mut edges)?;
        let source = format!("{format}, {}", self.place);
        let mut dataset = assemble::dataset(self.place, source, nodes, edges, interpretation)?;
        dataset.notes.splice(0..0, note);
        Ok(dataset)
    }
}

/// Removes the column `label` if it identifies the nodes, unless it occurs in the options or in the stored
/// schema. Its values are then the names of the nodes, unless there is an id column. Returns a note on the names.
fn use_distinct_labels(table: &mut TextTable, interpretation: Interpretation) -> String {
    let id_column = interpretation.id_column().filter(|name| table.find(name).is_some());
    let named_by_id = |reason: &str| match id_column {
        Some(name) => format!("nodes are named by `{name}`"),
        None => format!("nodes are named by `id`{reason}"),
    };
    let Some(column) = table.columns.iter().position(|column| column.name == LABEL) else {
        return named_by_id("");
    };
    if interpretation.column_names().iter().any(|name| table.find(name) == Some(column)) {
        return named_by_id(", because `label` was chosen as a column");
    }
    let mut seen = HashSet::new();
    let is_new = |label| !is_missing(label) && seen.insert(label);
    let are_distinct = table.columns[column].cells().all(is_new);
    if !are_distinct {
        return named_by_id(", because `label` does not identify them");
    }
    let labels = table.columns.remove(column);
    if let Some(name) = id_column {
        return format!(
            "nodes are named by `{name}`; `label` differs between all nodes, so it is not used"
        );
    }
    table.ids = Some(labels.cells().map(str::to_owned).collect());
    "nodes are named by `label`, so it is not used as the class".into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TableOptions;

    fn graph(size: usize) -> AttributedGraph<'static> {
        AttributedGraph::new("it", size, Interpretation::default())
    }

    #[test]
    fn repeated_attributes_are_lists() {
        let mut graph = graph(100);
        for (id, values) in [("a", &["1", "2", "3"][..]), ("b", &["4"]), ("c", &["5", "6"])] {
            graph.start_node().unwrap();
            values.iter().for_each(|value| graph.add_attribute("x", value).unwrap());
            graph.finish_node(id.into()).unwrap();
        }
        graph.table.fill_missing();
        let columns = graph.table.columns.iter();
        let columns: Vec<(&str, Vec<&str>)> =
            columns.map(|column| (&*column.name, column.cells().collect())).collect();
        let expected =
            [("x", vec!["1", "4", "5"]), ("x[1]", vec!["2", "", "6"]), ("x[2]", vec!["3", "", ""])];
        assert_eq!(columns, expected);
        graph.start_node().unwrap();
        graph.add_attribute("x[1]", "7").unwrap();
        graph.add_attribute("x", "8").unwrap();
        let problem = graph.add_attribute("x", "9").unwrap_err();
        assert_eq!(problem, "attribute `x` has two values in one node; expected one");
    }

    #[test]
    fn an_id_column_takes_precedence_over_labels_and_ids() {
        let by_name = "nodes are named by `name`";
        let distinct =
            "nodes are named by `name`; `label` differs between all nodes, so it is not used";
        let by_label = "nodes are named by `Label`";
        let cases = [
            ("name", ["x", "x"], ["n0", "n1"], by_name),
            ("name", ["x", "y"], ["n0", "n1"], distinct),
            ("Label", ["x", "y"], ["x", "y"], by_label),
        ];
        for (id_column, labels, names, note) in cases {
            let options = TableOptions { id: Some(id_column.into()), ..TableOptions::new() };
            let mut graph = AttributedGraph::new("it", 100, Interpretation::Inferred(&options));
            for (id, label) in ["0", "1"].into_iter().zip(labels) {
                graph.start_node().unwrap();
                graph.add_attribute("name", &format!("n{id}")).unwrap();
                graph.add_attribute(LABEL, label).unwrap();
                graph.add_attribute("class", id).unwrap();
                graph.finish_node(id.into()).unwrap();
            }
            let error_at = |_, problem| Error::Data { place: "it".into(), problem };
            let dataset = graph.into_dataset("it", NodeNames::DistinctLabel, error_at).unwrap();
            assert_eq!(dataset.node_names, names);
            assert_eq!(dataset.notes[0], note);
        }
    }

    #[test]
    fn number_of_cells_is_limited() {
        // 8 bytes allow 128 cells.
        let mut graph = graph(8);
        let mut add = |node| {
            graph.start_node()?;
            graph.add_attribute(&format!("attribute {node}"), "1")
        };
        assert!((0..11).all(|node| add(node).is_ok()));
        let expected = "too many nodes and attributes for the size of the file";
        assert_eq!(add(11), Err(expected.into()));
    }
}
