//! Statistics of a data set.

use super::{Dataset, Metric};
use crate::graph::{component_sizes, edge_homophily, node_homophily};
use serde::Serialize;
use std::collections::HashSet;

/// The statistics that `clenshaw data show` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The name of the data set.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges, each counted once, without loops.
    pub edges: usize,
    /// Number of feature columns.
    pub features: usize,
    /// Number of non-zero feature values.
    pub feature_entries: usize,
    /// Number of classes.
    pub classes: usize,
    /// Number of labelled nodes per class.
    pub class_sizes: Vec<usize>,
    /// Class names.
    pub class_names: Vec<String>,
    /// Number of nodes without a label.
    pub unlabelled: usize,
    /// See [`edge_homophily`](crate::graph::edge_homophily); `None` if no edge has two labelled ends.
    pub edge_homophily: Option<f64>,
    /// Geom-GCN's H(G), see [`node_homophily`](crate::graph::node_homophily); `None` if no labelled node has a
    /// labelled neighbour.
    pub node_homophily: Option<f64>,
    /// Number of nodes without neighbours.
    pub isolated: usize,
    /// Number of nodes, isolated ones excluded, with the same neighbours and class as an earlier node.
    pub duplicates: usize,
    /// Number of connected components.
    pub components: usize,
    /// Number of nodes in the largest component.
    pub largest_component: usize,
    /// Number of nodes of degree 0, 1, 2-3, 4-7, ...
    pub degree_histogram: Vec<usize>,
    /// The evaluation metric.
    pub metric: Metric,
    /// Names of the splits that come with the data set.
    pub splits: Vec<String>,
    /// [`Dataset::sha256`].
    pub sha256: String,
    /// Where the data comes from, for display.
    pub source: String,
    /// The warnings of the data set.
    pub warnings: Vec<String>,
}

impl Description {
    /// Computes the statistics of a data set.
    ///
    /// ```
    /// use clenshaw::data::{self, Description};
    /// let cora = Description::of(&data::load("cora")?);
    /// assert_eq!((cora.nodes, cora.edges, cora.features), (2708, 5278, 1433));
    /// assert_eq!((cora.components, cora.largest_component), (78, 2485));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    ///
    /// # Panics
    /// Possibly, if [`Dataset::check_shapes`] returns an error.
    pub fn of(dataset: &Dataset) -> Self {
        let (graph, y) = (&dataset.graph, &dataset.y);
        let sizes = component_sizes(graph);
        let degrees = (0..graph.n_nodes()).map(|i| graph.degree(i));
        Self {
            name: dataset.name.clone(),
            nodes: graph.n_nodes(),
            edges: graph.n_edges(),
            features: dataset.x.n_cols(),
            feature_entries: dataset.x.values().iter().filter(|v| **v != 0.0).count(),
            classes: dataset.n_classes(),
            class_sizes: dataset.class_sizes(),
            class_names: dataset.class_names.clone(),
            unlabelled: y.iter().filter(|label| label.is_none()).count(),
            edge_homophily: edge_homophily(graph, y),
            node_homophily: node_homophily(graph, y),
            isolated: degrees.clone().filter(|&degree| degree == 0).count(),
            duplicates: duplicates(dataset),
            components: sizes.len(),
            largest_component: sizes.into_iter().max().unwrap_or(0),
            degree_histogram: histogram(degrees),
            metric: dataset.metric,
            splits: dataset.splits.iter().map(|split| split.name.clone()).collect(),
            sha256: dataset.sha256(),
            source: dataset.source.clone(),
            warnings: dataset.warnings.clone(),
        }
    }
}

/// Counts degree 0, then one bin per power of two: 1, 2-3, 4-7, ...
fn histogram(degrees: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = Vec::new();
    for degree in degrees {
        let bin = (usize::BITS - degree.leading_zeros()) as usize;
        if counts.len() <= bin {
            counts.resize(bin + 1, 0);
        }
        counts[bin] += 1;
    }
    counts
}

/// Counts [`Description::duplicates`].
fn duplicates(dataset: &Dataset) -> usize {
    let mut seen = HashSet::new();
    let connected = (0..dataset.graph.n_nodes()).filter(|&i| dataset.graph.degree(i) > 0);
    connected.filter(|&i| !seen.insert((dataset.graph.neighbours(i), dataset.y[i]))).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Features;
    use crate::graph::Graph;
    use crate::tensor::Mat;

    #[test]
    fn describes_star_with_duplicate_leaves() {
        // Node 0 is the centre, 1 to 3 are leaves, 4 is isolated.
        let graph = Graph::from_edges("star", 5, &[(0, 1), (0, 2), (0, 3)]).unwrap();
        let x = Features::Dense(Mat::from_vec(5, 1, vec![0.0, 1.0, 1.0, 2.0, 1.0]));
        let y = vec![Some(0), Some(1), Some(1), Some(0), None];
        let star = Dataset::new("star", graph, x, y, vec!["a".into(), "b".into()]);
        let star = Description::of(&star);
        assert_eq!((star.duplicates, star.isolated, star.unlabelled), (1, 1, 1));
        assert_eq!((star.components, star.largest_component), (2, 4));
        assert_eq!(star.degree_histogram, [1, 3, 1]);
        assert_eq!(star.feature_entries, 4);
    }
}
