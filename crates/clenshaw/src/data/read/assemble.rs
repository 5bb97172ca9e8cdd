//! The last step of reading a user's own graph: a data set is built from the node table and the edges.

use crate::data::schema::{
    self, ColumnRole, EncodedNodes, Schema, StructuralFeatures, TableOptions, WeightChoice,
};
use crate::data::table::TextTable;
use crate::data::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;

/// Without feature columns, the nodes are one-hot encoded if there are at most this many.
const MAX_IDENTITY: usize = 100_000;
/// Number of degree features, one per range of degrees: 0, 1, 2-3, 4-7, ...; the last range is unbounded.
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
        /// The names of the classes.
        class_names: &'a [String],
    },
}

impl Default for Interpretation<'_> {
    /// Inferred from the table alone.
    fn default() -> Self {
        static NO_OPTIONS: TableOptions = TableOptions::new();
        Self::Inferred(&NO_OPTIONS)
    }
}

impl<'a> Interpretation<'a> {
    /// Where the weights of edges come from, as set in the options or in the stored schema.
    pub(super) fn weights(self) -> WeightChoice<'a> {
        let weight = match self {
            Self::Inferred(options) => &options.weight,
            Self::Stored { schema, .. } => &schema.weight,
        };
        WeightChoice::new(weight.as_deref())
    }

    /// The name of the id column in the options or in the stored schema; the table need not have this column.
    pub(super) fn id_column(self) -> Option<&'a str> {
        match self {
            Self::Inferred(options) => options.id.as_deref(),
            Self::Stored { schema, .. } => {
                schema.column(&ColumnRole::Id).map(|column| column.name.as_str())
            }
        }
    }

    /// The names of columns of the node table that occur in the options or in the stored schema.
    pub(super) fn column_names(self) -> Vec<&'a String> {
        match self {
            Self::Inferred(options) => options.names().collect(),
            Self::Stored { schema, .. } => {
                schema.columns.iter().map(|column| &column.name).collect()
            }
        }
    }
}

/// Encodes the nodes of a table, with a schema inferred from it or with the stored schema.
pub(super) fn encode(table: &TextTable, interpretation: Interpretation) -> Result<EncodedNodes> {
    match interpretation {
        Interpretation::Inferred(options) => schema::encode(table, options),
        Interpretation::Stored { schema, class_names } => {
            schema::encode_with_schema(table, schema, class_names)
        }
    }
}

/// A graph, with counts, notes and warnings about the edges in its file.
pub(super) struct ReadEdges {
    pub graph: Graph,
    /// Number of self-loops, which are not in the graph; those of weight 0 are not counted.
    pub n_loops: usize,
    /// Number of edges and self-loops of weight 0, which are not in the graph; 0 with [`WeightChoice::Unused`].
    pub n_zero_weights: usize,
    /// Number of other edges in the file; in formats that list an edge at both of its nodes, it counts once.
    pub n_listed: usize,
    /// Whether the file is known to contain directed edges.
    pub directed: bool,
    /// Where the weights come from, such as ``column `weight` ``, for a note; may be empty.
    pub weight_source: String,
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
}

impl ReadEdges {
    /// Builds an undirected graph from the edges of a file and counts the loops and the edges of weight 0,
    /// which are not in it; an error if [`Graph::from_weighted_edges`] returns one. With
    /// [`WeightChoice::Unused`], all weights are first set to 1.
    pub fn new(
        place: &str,
        n_nodes: usize,
        mut edges: Vec<(u32, u32, f32)>,
        weights: WeightChoice,
    ) -> Result<Self> {
        if weights == WeightChoice::Unused {
            edges.iter_mut().for_each(|(_, _, weight)| *weight = 1.0);
        }
        let graph = Graph::from_weighted_edges(place, n_nodes, &edges)?;
        let n_zero_weights = edges.iter().filter(|(_, _, weight)| *weight == 0.0).count();
        let n_loops = edges.iter().filter(|(u, v, weight)| u == v && *weight != 0.0).count();
        let n_listed = edges.len() - n_loops - n_zero_weights;
        Ok(Self { n_zero_weights, ..Self::with_counts(graph, n_loops, n_listed) })
    }

    /// Describes a graph that was built from `n_listed` edges and `n_loops` self-loops, none of weight 0.
    pub fn with_counts(graph: Graph, n_loops: usize, n_listed: usize) -> Self {
        Self {
            graph,
            n_loops,
            n_zero_weights: 0,
            n_listed,
            directed: false,
            weight_source: String::new(),
            notes: vec![],
            warnings: vec![],
        }
    }

    /// Returns the graph, the notes and the warnings; adds notes on edges that were removed or merged, on
    /// weights and on directions.
    pub fn into_parts(self) -> (Graph, Vec<String>, Vec<String>) {
        let Self { graph, mut notes, warnings, .. } = self;
        let n_edges = graph.n_edges();
        if self.n_loops > 0 {
            notes.push(format!("self-loops removed: {}", self.n_loops));
        }
        if self.n_zero_weights > 0 {
            notes.push(format!("edges of weight 0 removed: {}", self.n_zero_weights));
        }
        if n_edges > 0 && self.n_listed == 2 * n_edges {
            notes.push(
                "half of the listed edges repeat others, in either direction, and were merged"
                    .into(),
            );
        } else if self.n_listed > n_edges {
            let n = self.n_listed - n_edges;
            notes.push(format!("repeated edges, in either direction, merged: {n}"));
        }
        if graph.weights().is_some() {
            let source = match &*self.weight_source {
                "" => String::new(),
                source => format!(" ({source})"),
            };
            notes.push(format!("the edges have weights{source}; most models use them"));
        }
        if self.directed {
            notes.push("the edges in the file are directed; the directions are not used".into());
        }
        (graph, notes, warnings)
    }
}

/// Combines nodes and edges; nodes without feature columns get features computed from the graph.
///
/// # Errors
/// Those of [`structural_features`].
pub(super) fn dataset(
    name: &str,
    source: String,
    nodes: EncodedNodes,
    edges: ReadEdges,
    interpretation: Interpretation,
) -> Result<Dataset> {
    let (graph, mut notes, warnings) = edges.into_parts();
    let mut schema = nodes.schema;
    let mut x = nodes.x;
    if x.n_cols() == 0 {
        let (features, structural, note) = structural_features(name, &graph, interpretation)?;
        (x, schema.structural) = (features, Some(structural));
        notes.push(note);
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

/// Computes features from the graph for nodes without feature columns; returns them, their kind and a
/// note.
///
/// # Errors
/// If the nodes are one-hot encoded in a stored schema, because such a model does not apply to other graphs.
pub(super) fn structural_features(
    place: &str,
    graph: &Graph,
    interpretation: Interpretation,
) -> Result<(Features, StructuralFeatures, String)> {
    let n = graph.n_nodes();
    let kind = match interpretation {
        Interpretation::Stored { schema, .. } => schema.structural,
        Interpretation::Inferred(_) if n <= MAX_IDENTITY => Some(StructuralFeatures::Identity),
        Interpretation::Inferred(_) => Some(StructuralFeatures::Degree),
    };
    match (kind, interpretation) {
        (Some(StructuralFeatures::Identity), Interpretation::Stored { .. }) => {
            let problem = "the model was trained without feature columns, on one feature per node; \
                           it can only predict the nodes of its own graph";
            Err(Error::Data { place: place.into(), problem: problem.into() })
        }
        (Some(StructuralFeatures::Identity), _) => {
            let note = "no feature columns: the nodes are one-hot encoded";
            Ok((identity(n), StructuralFeatures::Identity, note.into()))
        }
        _ => {
            let note = "no feature columns: the features are node degrees, binned by powers of two";
            Ok((degrees(graph), StructuralFeatures::Degree, note.into()))
        }
    }
}

/// One-hot encodes the nodes.
fn identity(n: usize) -> Features {
    let pattern = Pattern::new(n, (0..=n).collect(), (0..n as u32).collect());
    Features::Sparse { pattern, values: vec![1.0; n] }
}

/// One-hot encodes the range of each node's degree.
fn degrees(graph: &Graph) -> Features {
    let n = graph.n_nodes();
    let bin = |i| (usize::BITS - graph.degree(i).leading_zeros()) as usize;
    let bins = (0..n).map(|i| bin(i).min(DEGREE_FEATURES - 1) as u32).collect();
    let pattern = Pattern::new(DEGREE_FEATURES, (0..=n).collect(), bins);
    Features::Sparse { pattern, values: vec![1.0; n] }
}
