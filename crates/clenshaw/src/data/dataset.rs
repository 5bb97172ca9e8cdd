//! Data sets: a graph with node features and labels.

use super::class_labels::COUNTS_AS_MISSING;
use super::fingerprint::Fingerprint;
use super::{Features, Schema, Split, count};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// A graph with features, labels and a description.
///
/// The fields are public and not checked when they are set; [`Setup::new`](crate::train::Setup::new) returns an
/// error if [`Dataset::check_shapes`] does.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The name; for a data set that was loaded, a name or path that [`load`](super::load) accepts.
    pub name: String,
    /// The edges.
    pub graph: Graph,
    /// The features, one row per node.
    pub x: Features,
    /// The class of each node; `None` if it is unknown.
    pub y: Vec<Option<u32>>,
    /// The names of the classes.
    pub class_names: Vec<String>,
    /// Its origin, for display.
    pub source: String,
    /// Warnings for the user, such as known flaws that affect results.
    pub warnings: Vec<String>,
    /// Notes for the user, such as what was done with the data when it was read.
    pub notes: Vec<String>,
    /// The names of the nodes; empty if they have none.
    pub node_names: Vec<String>,
    /// The splits that come with it.
    pub splits: Vec<FixedSplit>,
    /// The evaluation metric; for a published data set, the one that papers report.
    pub metric: Metric,
    /// The schema by which it was read, if any; a trained model reads other graphs by the same schema.
    pub schema: Option<Schema>,
}

/// A split that comes with a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedSplit {
    /// Its name, for example `geom:3`.
    pub name: String,
    /// The nodes of each part.
    pub split: Split,
}

/// The evaluation metric of a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The share of nodes classified correctly.
    #[default]
    Accuracy,
    /// The area under the ROC curve of the second of two classes.
    RocAuc,
}

impl Dataset {
    /// Creates a data set from these fields; the others are empty, and the metric is accuracy.
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
            notes: vec![],
            node_names: vec![],
            splits: vec![],
            metric: Metric::Accuracy,
            schema: None,
        }
    }

    /// Returns the data set, or an error if [`Dataset::check_shapes`] returns one or it cannot be trained on: it
    /// has no features, a non-finite feature value, or fewer than two classes with labelled nodes. Splits and
    /// names of nodes are not checked.
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

    /// The problem that [`Dataset::checked`] reports, if any.
    pub(super) fn problem(&self) -> Option<String> {
        let shape = self.shape_problem();
        shape.or_else(|| self.feature_problem()).or_else(|| self.label_problem())
    }

    /// Returns an error if features or labels do not match the graph or the class names, or if sparse
    /// features do not have one value per entry.
    pub fn check_shapes(&self) -> Result<()> {
        match self.shape_problem() {
            Some(problem) => Err(Error::Data { place: self.name.clone(), problem }),
            None => Ok(()),
        }
    }

    /// The problem that [`Dataset::check_shapes`] reports, if any.
    fn shape_problem(&self) -> Option<String> {
        let (n, rows, labels) = (self.graph.n_nodes(), self.x.n_rows(), self.y.len());
        let (nodes, classes) = (count(n, "node", "nodes"), self.n_classes());
        if rows != n {
            let rows = count(rows, "row", "rows");
            return Some(format!("{rows} of features, but the graph has {nodes}"));
        }
        if let Features::Sparse { pattern, values } = &self.x
            && values.len() != pattern.n_entries()
        {
            let values = count(values.len(), "value", "values");
            let entries = count(pattern.n_entries(), "entry", "entries");
            return Some(format!("{values} for {entries} of sparse features"));
        }
        if labels != n {
            let labels = count(labels, "label", "labels");
            return Some(format!("{labels}, but the graph has {nodes}"));
        }
        let outside = |label: &Option<u32>| label.is_some_and(|class| class as usize >= classes);
        let node = self.y.iter().position(outside)?;
        let class = self.y[node].unwrap_or_default();
        let are = if classes == 1 { "is" } else { "are" };
        let classes = count(classes, "class", "classes");
        Some(format!("node {node} has label {class}, but there {are} {classes}"))
    }

    /// Describes the problem if there are no features or a value is not finite.
    fn feature_problem(&self) -> Option<String> {
        if self.x.n_cols() == 0 {
            return Some("the nodes have no features; expected at least one column".into());
        }
        self.x.first_non_finite().map(|(node, column, value)| {
            format!("node {node}, feature {column} is {value}; expected a finite number")
        })
    }

    /// Describes the problem if fewer than two classes have labelled nodes.
    fn label_problem(&self) -> Option<String> {
        let problem = match self.class_sizes().iter().filter(|&&size| size > 0).count() {
            0 => "no node has a label; expected labels of at least two classes",
            1 => "all labelled nodes have the same class; expected at least two classes",
            _ => return None,
        };
        let missing = self.warnings.iter().filter(|warning| warning.ends_with(COUNTS_AS_MISSING));
        let reasons: Vec<&str> = missing.map(String::as_str).collect();
        Some(match reasons.is_empty() {
            true => problem.into(),
            false => format!("{problem}; {}", reasons.join("; ")),
        })
    }

    /// The number of classes, including those without nodes.
    pub fn n_classes(&self) -> usize {
        self.class_names.len()
    }

    /// The number of labelled nodes of each class. Panics if a label is not a class.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.n_classes()];
        for class in self.y.iter().flatten() {
            sizes[*class as usize] += 1;
        }
        sizes
    }

    /// The labelled nodes, ascending.
    pub fn labelled(&self) -> Vec<u32> {
        (0..self.y.len() as u32).filter(|&node| self.y[node as usize].is_some()).collect()
    }

    /// The SHA-256 of graph, features, labels and the number of classes, in hexadecimal; names, splits and origin are
    /// not included. Dense and sparse features with the same values have different digests.
    pub fn sha256(&self) -> String {
        self.inputs_fingerprint("clenshaw dataset 1")
            .number(self.n_classes() as u64)
            .list(self.y.iter().map(|label| label.map_or(0, |class| u64::from(class) + 1)))
            .hex()
    }

    /// The SHA-256 of graph and features without the labels, as 64 hexadecimal digits.
    pub(crate) fn inputs_sha256(&self) -> String {
        self.inputs_fingerprint("clenshaw graph and features 1").hex()
    }

    /// The digest of graph and features; `what` is its kind.
    fn inputs_fingerprint(&self, what: &str) -> Fingerprint {
        let adjacency = self.graph.adjacency();
        let to_u64 = |offsets: &[usize]| offsets.iter().map(|&o| o as u64).collect::<Vec<_>>();
        let mut digest = Fingerprint::new(what)
            .list(to_u64(adjacency.offsets()))
            .list(adjacency.indices().iter().copied())
            .number(self.x.n_cols() as u64);
        if let Some(weights) = self.graph.weights() {
            digest = digest.list(weights.iter().map(|weight| weight.to_bits()));
        }
        if let Features::Sparse { pattern, .. } = &self.x {
            digest = digest.list(to_u64(pattern.offsets())).list(pattern.indices().iter().copied());
        }
        digest.list(self.x.values().iter().map(|value| value.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Mat, Pattern};

    fn path(x: Features, y: Vec<Option<u32>>) -> Dataset {
        let graph = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
        Dataset::new("path", graph, x, y, vec!["a".into(), "b".into()])
    }

    fn one_column(values: &[f32]) -> Features {
        Features::Dense(Mat::from_vec(values.len(), 1, values.to_vec()))
    }

    fn check_error(x: Features, y: &[Option<u32>]) -> String {
        path(x, y.to_vec()).checked().unwrap_err().to_string()
    }

    #[test]
    fn checked_reports_each_problem() {
        let good = [Some(0), None, Some(1)];
        let x = || one_column(&[1.0, 2.0, 3.0]);
        assert!(path(x(), good.to_vec()).checked().is_ok());
        let cases = [
            (one_column(&[1.0]), &good[..], "path: 1 row of features, but the graph has 3 nodes"),
            (
                Features::Dense(Mat::zeros(3, 0)),
                &good,
                "path: the nodes have no features; expected at least one column",
            ),
            (
                one_column(&[1.0, f32::INFINITY, 2.0]),
                &good,
                "path: node 1, feature 0 is inf; expected a finite number",
            ),
            (
                Features::Sparse {
                    pattern: Pattern::new(2, vec![0, 1, 1, 2], vec![0, 1]),
                    values: vec![1.0],
                },
                &good,
                "path: 1 value for 2 entries of sparse features",
            ),
            (x(), &good[..2], "path: 2 labels, but the graph has 3 nodes"),
            (
                x(),
                &[Some(0), Some(1), Some(2)],
                "path: node 2 has label 2, but there are 2 classes",
            ),
            (x(), &[None; 3], "path: no node has a label; expected labels of at least two classes"),
            (
                x(),
                &[Some(1); 3],
                "path: all labelled nodes have the same class; expected at least two classes",
            ),
        ];
        for (x, y, message) in cases {
            assert_eq!(check_error(x, y), message);
        }
    }

    #[test]
    fn sha256_covers_content_but_not_names() {
        let original = path(one_column(&[1.0, 2.0, 3.0]), vec![Some(0), None, Some(1)]);
        let digest = original.sha256();
        assert_eq!(digest.len(), 64);
        let renamed = Dataset { name: "other".into(), ..original.clone() };
        assert_eq!(renamed.sha256(), digest);
        let changed = [
            Dataset { x: one_column(&[1.0, 2.0, 4.0]), ..original.clone() },
            Dataset { y: vec![Some(0), Some(0), Some(1)], ..original.clone() },
            Dataset { graph: Graph::from_edges("x", 3, &[(0, 1)]).unwrap(), ..original },
        ];
        assert!(changed.iter().all(|other| other.sha256() != digest));
        let inputs = |other: &Dataset| other.inputs_sha256();
        let [x, y, graph] = &changed;
        assert_ne!(inputs(x), inputs(&renamed));
        assert_ne!(inputs(graph), inputs(&renamed));
        assert_eq!(inputs(y), inputs(&renamed));
    }
}
