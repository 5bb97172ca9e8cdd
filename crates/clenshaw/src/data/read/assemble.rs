//! The last step of reading a user's own graph: node table and edges become a data set.

use crate::data::schema::{self, EncodedNodes, Schema, StructuralFeatures, TableOptions};
use crate::data::table::Table;
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;

/// Up to this number of nodes, nodes without features get one feature each.
const MAX_IDENTITY: usize = 100_000;
/// Number of degree features: degree 0, 1, 2-3, 4-7, ...
const DEGREE_FEATURES: usize = 24;

/// How the columns of a node table are interpreted.
#[derive(Clone, Copy, Debug)]
pub enum Interpretation<'a> {
    /// Inferred from the table and these options.
    Inferred(&'a TableOptions),
    /// Taken from a trained model.
    Stored {
        /// The columns.
        schema: &'a Schema,
        /// The classes.
        class_names: &'a [String],
    },
}

impl Default for Interpretation<'_> {
    /// Inferred from the table alone.
    fn default() -> Self {
        static NOTHING_STATED: TableOptions = TableOptions::new();
        Self::Inferred(&NOTHING_STATED)
    }
}

impl Interpretation<'_> {
    /// The names that the user has chosen for columns.
    pub(super) fn column_names(&self) -> Vec<&String> {
        match self {
            Self::Inferred(options) => options.names().collect(),
            Self::Stored { schema, .. } => {
                schema.columns.iter().map(|column| &column.name).collect()
            }
        }
    }
}

/// Encodes the nodes of a table.
pub(super) fn encode(table: &Table, interpretation: Interpretation) -> Result<EncodedNodes> {
    match interpretation {
        Interpretation::Inferred(options) => schema::encode(table, options),
        Interpretation::Stored { schema, class_names } => {
            schema::encode_other(table, schema, class_names)
        }
    }
}

/// Edges between numbered nodes, and what is to be said about them.
pub(super) struct ReadEdges {
    pub graph: Graph,
    pub n_loops: usize,
    /// Number of edges in the file, without loops.
    pub n_listed: usize,
    pub directed: bool,
    pub warnings: Vec<String>,
}

impl ReadEdges {
    /// A graph and the edges it was built from.
    pub fn new(graph: Graph, edges: &[(u32, u32, f32)], directed: bool) -> Self {
        let n_loops = edges.iter().filter(|(u, v, _)| u == v).count();
        let n_listed = edges.len() - n_loops;
        Self { graph, n_loops, n_listed, directed, warnings: vec![] }
    }
}

/// Combines nodes and edges.
pub(super) fn dataset(
    name: &str,
    source: String,
    nodes: EncodedNodes,
    edges: ReadEdges,
    interpretation: Interpretation,
) -> Result<Dataset> {
    let ReadEdges { graph, n_loops, n_listed, directed, warnings } = edges;
    let mut notes = vec![];
    if n_loops > 0 {
        notes.push(format!("self-loops removed: {n_loops}"));
    }
    if n_listed > graph.n_edges() {
        let n = n_listed - graph.n_edges();
        notes.push(format!("repeated edges, in either direction, merged: {n}"));
    }
    if graph.weights().is_some() {
        notes.push("the edges have weights; the models use them".into());
    }
    if directed {
        notes.push("the file declares directed edges; directions are not used".into());
    }
    let mut schema = nodes.schema;
    let mut x = nodes.x;
    if x.n_cols() == 0 {
        let features = match interpretation {
            Interpretation::Stored { schema, .. } => schema.structural,
            Interpretation::Inferred(_) if graph.n_nodes() <= MAX_IDENTITY => {
                Some(StructuralFeatures::Identity)
            }
            Interpretation::Inferred(_) => Some(StructuralFeatures::Degree),
        };
        schema.structural = features;
        x = match features {
            Some(StructuralFeatures::Identity)
                if matches!(interpretation, Interpretation::Stored { .. }) =>
            {
                let problem = "the model was trained without feature columns, on one feature per node; \
                               it can only predict the nodes of its own graph";
                return Err(Error::Data { place: name.into(), problem: problem.into() });
            }
            Some(StructuralFeatures::Identity) => {
                notes.push("no feature columns: every node has one feature of its own".into());
                identity(graph.n_nodes())
            }
            _ => {
                notes.push("no feature columns: the degree of a node is its only feature".into());
                degrees(&graph)
            }
        };
    }
    Ok(Dataset {
        source,
        warnings: warnings.into_iter().chain(nodes.warnings).collect(),
        notes,
        node_names: nodes.names,
        splits: nodes.split.into_iter().collect(),
        schema: Some(schema),
        ..Dataset::new(name, graph, x, nodes.y, nodes.class_names)
    })
}

fn identity(n: usize) -> Features {
    let pattern = Pattern::new(n, (0..=n).collect(), (0..n as u32).collect());
    Features::Sparse { pattern, values: vec![1.0; n] }
}

fn degrees(graph: &Graph) -> Features {
    let n = graph.n_nodes();
    let bin = |i| (usize::BITS - graph.degree(i).leading_zeros()) as usize;
    let bins = (0..n).map(|i| bin(i).min(DEGREE_FEATURES - 1) as u32).collect();
    let pattern = Pattern::new(DEGREE_FEATURES, (0..=n).collect(), bins);
    Features::Sparse { pattern, values: vec![1.0; n] }
}
