//! Data sets from values in memory.

use super::class_labels::encode_labels;
use super::{Dataset, Features};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern};

/// Builds a [`Dataset`] from edges, features and labels; see [`Dataset::builder`].
#[derive(Clone, Debug, Default)]
pub struct DatasetBuilder {
    name: String,
    edges: Vec<(u32, u32, f32)>,
    /// `None` if not set, or if the number of values was not a multiple of the number of nodes.
    features: Option<Features>,
    /// The label of each node; empty if it is unknown.
    labels: Vec<String>,
}

impl Dataset {
    /// Starts a data set from values in memory.
    ///
    /// ```
    /// use clenshaw::data::Dataset;
    /// let data = Dataset::builder("friends")
    ///     .edges(&[(0, 1), (1, 2), (2, 3)])
    ///     .dense_features(4, vec![0.5, 1.5, -1.0, 2.0])
    ///     .labels([Some("tea"), Some("coffee"), None, Some("tea")])
    ///     .build()?;
    /// assert_eq!(data.class_names, ["coffee", "tea"]);
    /// assert_eq!(data.y, [Some(1), Some(0), None, Some(1)]);
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn builder(name: &str) -> DatasetBuilder {
        DatasetBuilder { name: name.into(), ..DatasetBuilder::default() }
    }
}

impl DatasetBuilder {
    /// Adds edges between nodes, which are numbered from 0.
    pub fn edges(self, edges: &[(u32, u32)]) -> Self {
        let weighted: Vec<(u32, u32, f32)> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
        self.weighted_edges(&weighted)
    }

    /// Adds edges with weights; see [`Graph::from_weighted_edges`].
    pub fn weighted_edges(mut self, edges: &[(u32, u32, f32)]) -> Self {
        self.edges.extend_from_slice(edges);
        self
    }

    /// Sets the features of `n_nodes` nodes, row by row.
    pub fn dense_features(mut self, n_nodes: usize, values: Vec<f32>) -> Self {
        let n_cols = values.len() / n_nodes.max(1);
        self.features = match n_nodes * n_cols == values.len() {
            true => Some(Features::Dense(Mat::from_vec(n_nodes, n_cols, values))),
            false => None,
        };
        self
    }

    /// Sets sparse features: the positions and the values of the stored entries; all others are zero.
    pub fn sparse_features(mut self, pattern: Pattern, values: Vec<f32>) -> Self {
        self.features = Some(Features::Sparse { pattern, values });
        self
    }

    /// Sets the class of each node; `None` if it is unknown. An empty label, or one such as `nan`, also counts
    /// as unknown. [`Dataset::warnings`] lists the non-empty ones and, if `-1` occurs, states whether it counts as a
    /// class or as unknown.
    pub fn labels<'a>(mut self, labels: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        self.labels = labels.into_iter().map(|label| label.unwrap_or("").to_owned()).collect();
        self
    }

    /// Creates the data set.
    ///
    /// # Errors
    /// If features are missing or do not have the same number of values for each node, if the numbers of
    /// feature rows and labels differ, or if [`Graph::from_weighted_edges`] or [`Dataset::checked`] returns an
    /// error.
    pub fn build(self) -> Result<Dataset> {
        let features = self.features.ok_or_else(|| Error::Data {
            place: self.name.clone(),
            problem: "no features, or not the same number of values for each node".into(),
        })?;
        let n_nodes = features.n_rows().max(self.labels.len());
        let graph = Graph::from_weighted_edges(&self.name, n_nodes, &self.edges)?;
        let labels = encode_labels(self.labels.iter().map(String::as_str));
        Dataset {
            warnings: labels.warnings,
            ..Dataset::new(self.name, graph, features, labels.y, labels.class_names)
        }
        .checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_parts_are_rejected() {
        let start = || Dataset::builder("it").edges(&[(0, 1)]);
        let error = |builder: DatasetBuilder| builder.build().unwrap_err().to_string();
        let labels = [Some("a"), Some("b")];
        assert_eq!(
            error(start().labels(labels)),
            "it: no features, or not the same number of values for each node"
        );
        assert_eq!(
            error(start().dense_features(2, vec![1.0; 3]).labels(labels)),
            "it: no features, or not the same number of values for each node"
        );
        assert_eq!(
            error(start().dense_features(3, vec![1.0; 3]).labels(labels)),
            "it: 2 labels, but the graph has 3 nodes"
        );
        assert_eq!(
            error(
                Dataset::builder("it")
                    .edges(&[(0, 9)])
                    .dense_features(2, vec![1.0; 2])
                    .labels(labels)
            ),
            "it: node 9 in the edge list, but the graph has 2 nodes"
        );
    }

    #[test]
    fn later_features_and_labels_replace_earlier_ones() {
        let data = Dataset::builder("it")
            .edges(&[(0, 1)])
            .dense_features(3, vec![1.0; 3])
            .labels([Some("a"), Some("b"), None])
            .dense_features(2, vec![1.0; 2])
            .labels([Some("a"), Some("b")])
            .build();
        assert_eq!(data.unwrap().graph.n_nodes(), 2);
    }
}
