//! A graph whose nodes carry features and, some of them, labels.

use super::fingerprint::Fingerprint;
use super::{Features, Split};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// What a model learns from.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// What to type to get it again.
    pub name: String,
    /// Who neighbours whom.
    pub graph: Graph,
    /// One row per node.
    pub x: Features,
    /// The class of each node, where it is known.
    pub y: Vec<Option<u32>>,
    /// What the classes are called.
    pub class_names: Vec<String>,
    /// Where it comes from, in one sentence.
    pub source: String,
    /// What a user should know before trusting results on it.
    pub warnings: Vec<String>,
    /// What the nodes are called; empty when they are called by their numbers.
    pub node_names: Vec<String>,
    /// Splits published with it, by the name people type.
    pub splits: Vec<FixedSplit>,
    /// What its papers measure.
    pub metric: Metric,
}

/// A split that came with a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedSplit {
    /// What to type: `geom:3`.
    pub name: String,
    /// The nodes.
    pub split: Split,
}

/// What predictions are judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The share of nodes whose class is right.
    #[default]
    Accuracy,
    /// The chance that a node of the second class scores higher than one of the first.
    RocAuc,
}

impl Dataset {
    /// The parts without which there is nothing to learn; all else is empty.
    pub fn new(
        name: impl Into<String>,
        graph: Graph,
        x: Features,
        y: Vec<Option<u32>>,
        class_names: Vec<String>,
    ) -> Self {
        Self {
            name: name.into(),
            graph,
            x,
            y,
            class_names,
            source: String::new(),
            warnings: vec![],
            node_names: vec![],
            splits: vec![],
            metric: Metric::Accuracy,
        }
    }

    /// Refuses parts that do not fit together, and features or labels nothing can be learned from.
    ///
    /// ```
    /// use clenshaw::data::{Dataset, Features};
    /// use clenshaw::graph::Graph;
    /// use clenshaw::tensor::Mat;
    ///
    /// let graph = Graph::from_edges("pair", 2, &[(0, 1)])?;
    /// let x = Features::Dense(Mat::from_vec(2, 1, vec![0.5, f32::NAN]));
    /// let classes = vec!["left".into(), "right".into()];
    /// let pair = Dataset::new("pair", graph, x, vec![Some(0), Some(1)], classes);
    /// let error = pair.checked().unwrap_err();
    /// assert_eq!(error.to_string(), "pair: node 1, feature 0 is NaN; expected a finite number");
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn checked(self) -> Result<Self> {
        match self.problem() {
            Some(problem) => Err(Error::Data { place: self.name, problem }),
            None => Ok(self),
        }
    }

    /// What [`Dataset::checked`] would refuse it for.
    pub(super) fn problem(&self) -> Option<String> {
        self.feature_problem().or_else(|| self.label_problem())
    }

    fn feature_problem(&self) -> Option<String> {
        let (n, rows) = (self.graph.n_nodes(), self.x.n_rows());
        if rows != n {
            return Some(format!("{rows} rows of features, but the graph has {n} nodes"));
        }
        if self.x.n_cols() == 0 {
            return Some("the nodes have no features; expected at least one column".into());
        }
        self.x.first_not_finite().map(|(node, column, value)| {
            format!("node {node}, feature {column} is {value}; expected a finite number")
        })
    }

    fn label_problem(&self) -> Option<String> {
        let (n, labels, classes) = (self.graph.n_nodes(), self.y.len(), self.n_classes());
        if labels != n {
            return Some(format!("{labels} labels, but the graph has {n} nodes"));
        }
        let outside = |label: &Option<u32>| label.is_some_and(|class| class as usize >= classes);
        if let Some(node) = self.y.iter().position(outside) {
            let class = self.y[node].unwrap_or_default();
            return Some(format!("node {node} has label {class}, but there are {classes} classes"));
        }
        match self.class_sizes().iter().filter(|&&size| size > 0).count() {
            0 => Some("no node has a label; expected labels of at least two classes".into()),
            1 => Some("all labels are of one class; expected at least two".into()),
            _ => None,
        }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.class_names.len()
    }

    /// How many labelled nodes each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_classes()];
        for class in self.y.iter().flatten() {
            sizes[*class as usize] += 1;
        }
        sizes
    }

    /// The nodes whose class is known, ascending.
    pub fn labelled(&self) -> Vec<u32> {
        (0..self.y.len() as u32).filter(|&node| self.y[node as usize].is_some()).collect()
    }

    /// The sha256 of graph, features and labels, in hexadecimal; names and provenance do not count.
    pub fn sha256(&self) -> String {
        let adjacency = self.graph.adjacency();
        let offsets = |offsets: &[usize]| offsets.iter().map(|&o| o as u64).collect::<Vec<_>>();
        let mut digest = Fingerprint::of("clenshaw dataset 1")
            .list(offsets(adjacency.offsets()))
            .list(adjacency.indices().iter().copied())
            .number(self.x.n_cols() as u64);
        if let Features::Sparse { pattern, .. } = &self.x {
            digest =
                digest.list(offsets(pattern.offsets())).list(pattern.indices().iter().copied());
        }
        digest
            .list(self.x.values().iter().map(|value| value.to_bits()))
            .number(self.n_classes() as u64)
            .list(self.y.iter().map(|label| label.map_or(0, |class| u64::from(class) + 1)))
            .hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Mat;

    fn path(x: Features, y: Vec<Option<u32>>) -> Dataset {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        Dataset::new("path", graph, x, y, vec!["a".into(), "b".into()])
    }

    fn numbers(values: &[f32]) -> Features {
        Features::Dense(Mat::from_vec(values.len(), 1, values.to_vec()))
    }

    fn refused(x: Features, y: &[Option<u32>]) -> String {
        path(x, y.to_vec()).checked().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_learned_from_is_refused_by_place() {
        let good = [Some(0), None, Some(1)];
        let x = || numbers(&[1.0, 2.0, 3.0]);
        assert!(path(x(), good.to_vec()).checked().is_ok());
        let cases = [
            (numbers(&[1.0]), &good[..], "path: 1 rows of features, but the graph has 3 nodes"),
            (
                Features::Dense(Mat::zeros(3, 0)),
                &good,
                "path: the nodes have no features; expected at least one column",
            ),
            (
                numbers(&[1.0, f32::INFINITY, 2.0]),
                &good,
                "path: node 1, feature 0 is inf; expected a finite number",
            ),
            (x(), &good[..2], "path: 2 labels, but the graph has 3 nodes"),
            (
                x(),
                &[Some(0), Some(1), Some(2)],
                "path: node 2 has label 2, but there are 2 classes",
            ),
            (x(), &[None; 3], "path: no node has a label; expected labels of at least two classes"),
            (x(), &[Some(1); 3], "path: all labels are of one class; expected at least two"),
        ];
        for (x, y, message) in cases {
            assert_eq!(refused(x, y), message);
        }
    }

    #[test]
    fn the_digest_sees_content_and_not_names() {
        let original = path(numbers(&[1.0, 2.0, 3.0]), vec![Some(0), None, Some(1)]);
        let digest = original.sha256();
        assert_eq!(digest.len(), 64);
        let renamed = Dataset { name: "other".into(), ..original.clone() };
        assert_eq!(renamed.sha256(), digest);
        let changed = [
            Dataset { x: numbers(&[1.0, 2.0, 4.0]), ..original.clone() },
            Dataset { y: vec![Some(0), Some(0), Some(1)], ..original.clone() },
            Dataset { graph: Graph::from_edges("x", 3, &[(0, 1)]).unwrap(), ..original },
        ];
        assert!(changed.iter().all(|other| other.sha256() != digest));
    }
}
