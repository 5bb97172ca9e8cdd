//! The facts about a graph that a report page shows.

use crate::data::{Dataset, Description, Split};
use serde::Serialize;

/// What the page shows about a graph.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GraphReport {
    pub(super) name: String,
    nodes: usize,
    edges: usize,
    features: usize,
    pub(super) classes: Vec<ClassSize>,
    unlabelled: usize,
    edge_homophily: Option<f64>,
    node_homophily: Option<f64>,
    isolated: usize,
    components: usize,
    weighted: bool,
    notes: Vec<String>,
    warnings: Vec<String>,
}

/// The name of a class and its number of nodes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ClassSize {
    pub(super) name: String,
    size: usize,
}

impl GraphReport {
    /// Describes a graph; with a split, the warnings include those about classes in the split.
    pub fn new(dataset: &Dataset, split: Option<&Split>) -> Self {
        let description = Description::of(dataset);
        let mut warnings = dataset.warnings.clone();
        warnings.extend(split.map(|split| split.class_warnings(dataset)).unwrap_or_default());
        let classes = description.class_names.into_iter().zip(description.class_sizes);
        Self {
            name: dataset.name.clone(),
            nodes: description.nodes,
            edges: description.edges,
            features: description.features,
            classes: classes.map(|(name, size)| ClassSize { name, size }).collect(),
            unlabelled: description.unlabelled,
            edge_homophily: description.edge_homophily,
            node_homophily: description.node_homophily,
            isolated: description.isolated,
            components: description.components,
            weighted: dataset.graph.weights().is_some(),
            notes: dataset.notes.clone(),
            warnings,
        }
    }
}
