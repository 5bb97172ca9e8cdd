//! Predictions of single nodes, and scores of groups of nodes.

use crate::data::{Dataset, Split};
use crate::graph::{self, Graph};
use crate::tensor::Mat;
use crate::train::{metrics, most_likely};
use serde::Serialize;

/// The page lists at most this number of nodes.
const MAX_LISTED: usize = 100_000;
/// The drawing shows at most this number of nodes.
const MAX_DRAWN: usize = 600;
/// The page contains at most this number of probabilities.
const MAX_PROBABILITIES: usize = 200_000;
/// The number of intervals of confidence in the reliability diagram.
const CONFIDENCE_BINS: usize = 10;
/// The number of intervals of local homophily.
const HOMOPHILY_BINS: usize = 5;

/// Facts about the nodes; every list has one entry per node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeList {
    /// `None` if the nodes have no names.
    name: Option<Vec<String>>,
    /// The class, or -1 if it is unknown.
    label: Vec<i64>,
    predicted: Vec<u32>,
    /// The probability of the predicted class.
    confidence: Vec<f32>,
    /// The part of the split that contains the node, or empty.
    part: Vec<&'static str>,
    degree: Vec<usize>,
    /// The share of labelled neighbours that have the node's class; `None` if the node or all of its
    /// neighbours are unlabelled.
    homophily: Vec<Option<f64>>,
    /// The probability of every class, rounded to three decimals; `None` if these are more than
    /// [`MAX_PROBABILITIES`] numbers.
    probabilities: Option<Vec<Vec<f32>>>,
    /// Whether only the first [`MAX_LISTED`] nodes are listed.
    truncated: bool,
}

/// Precision, recall and F1 of one class; `None` if undefined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ClassScores {
    name: String,
    precision: Option<f64>,
    recall: Option<f64>,
    f1: Option<f64>,
    /// The number of scored nodes of the class.
    support: usize,
}

/// The accuracy on a group of test nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GroupAccuracy {
    pub(super) label: String,
    pub(super) n: usize,
    pub(super) accuracy: f64,
}

/// How well probabilities agree with the share of correct predictions.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Calibration {
    pub(super) bins: Vec<ConfidenceBin>,
    /// The expected calibration error: the distance between the mean confidence and the accuracy of a bin,
    /// averaged over nodes.
    pub(super) ece: f64,
}

/// The test nodes whose confidence is in one interval: their number, mean confidence and accuracy.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConfidenceBin {
    low: f64,
    high: f64,
    pub(super) n: usize,
    pub(super) confidence: f64,
    pub(super) accuracy: f64,
}

/// A drawing of some or all nodes: their numbers and positions, and the edges between them as pairs of indices into `nodes`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DrawingReport {
    pub(super) nodes: Vec<u32>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) edges: Vec<(usize, usize)>,
    /// Whether only some of the nodes are drawn.
    sampled: bool,
}

impl NodeList {
    pub fn new(dataset: &Dataset, split: &Split, probabilities: &Mat<f32>) -> Self {
        let n = dataset.graph.n_nodes();
        let mut part = vec![""; n];
        for (nodes, name) in split.parts().into_iter().zip(["train", "val", "test"]) {
            nodes.iter().for_each(|&node| part[node as usize] = name);
        }
        let predicted: Vec<u32> = (0..n).map(|i| most_likely(probabilities.row(i))).collect();
        Self {
            name: (!dataset.node_names.is_empty()).then(|| dataset.node_names.clone()),
            label: dataset.y.iter().map(|label| label.map_or(-1, i64::from)).collect(),
            confidence: (0..n).map(|i| probabilities.row(i)[predicted[i] as usize]).collect(),
            predicted,
            part,
            degree: (0..n).map(|i| dataset.graph.degree(i)).collect(),
            homophily: (0..n).map(|i| local_homophily(dataset, i)).collect(),
            probabilities: (n * probabilities.cols() <= MAX_PROBABILITIES).then(|| {
                let rounded = |p: &f32| (p * 1e3).round() / 1e3;
                (0..n).map(|i| probabilities.row(i).iter().map(rounded).collect()).collect()
            }),
            truncated: false,
        }
    }

    /// Keeps only the first [`MAX_LISTED`] nodes.
    pub fn truncated(mut self) -> Self {
        self.truncated = self.label.len() > MAX_LISTED;
        if let Some(names) = &mut self.name {
            names.truncate(MAX_LISTED);
        }
        self.label.truncate(MAX_LISTED);
        self.predicted.truncate(MAX_LISTED);
        self.confidence.truncate(MAX_LISTED);
        self.part.truncate(MAX_LISTED);
        self.degree.truncate(MAX_LISTED);
        self.homophily.truncate(MAX_LISTED);
        self
    }

    pub fn test_nodes(&self) -> Vec<usize> {
        (0..self.part.len()).filter(|&node| self.part[node] == "test").collect()
    }

    /// The class of a node, or -1 if it is unknown or the node is not listed.
    pub fn label_of(&self, node: usize) -> i64 {
        self.label.get(node).copied().unwrap_or(-1)
    }

    /// Whether the class of a listed node is known and the prediction differs from it.
    pub fn is_wrong(&self, node: usize) -> bool {
        self.label_of(node) >= 0 && !self.is_correct(node)
    }

    /// The centre of the drawing of a large graph: the most confident mistake on a test node that has neighbours
    /// or, if there is none, a node with the most neighbours.
    fn centre(&self, graph: &Graph, test: &[usize]) -> usize {
        let mistakes = test.iter().filter(|&&node| !self.is_correct(node));
        let connected = mistakes.filter(|&&node| graph.degree(node) > 0);
        let centre = connected.max_by(|&&a, &&b| self.confidence[a].total_cmp(&self.confidence[b]));
        let most_neighbours = || (0..graph.n_nodes()).max_by_key(|&node| graph.degree(node));
        centre.copied().or_else(most_neighbours).unwrap_or(0)
    }

    /// At most `n` nodes to explain: the [centre](Self::centre), then the most confident mistakes on test nodes.
    pub fn to_explain(&self, graph: &Graph, n: usize) -> Vec<usize> {
        let test = self.test_nodes();
        let centre = self.centre(graph, &test);
        let is_candidate = |node: &usize| !self.is_correct(*node) && *node != centre;
        let mut mistakes: Vec<usize> = test.into_iter().filter(is_candidate).collect();
        mistakes.sort_by(|&a, &b| self.confidence[b].total_cmp(&self.confidence[a]));
        std::iter::once(centre).chain(mistakes).take(n).collect()
    }

    /// Whether the prediction is the class of the node; `false` if the class is unknown.
    fn is_correct(&self, node: usize) -> bool {
        self.label[node] == i64::from(self.predicted[node])
    }

    /// Entry `[t][p]` counts the nodes of class `t` that are predicted as class `p`; all nodes must have labels.
    pub fn confusion(&self, nodes: &[usize], n_classes: usize) -> Vec<Vec<usize>> {
        let truth: Vec<u32> = nodes.iter().map(|&node| self.label[node] as u32).collect();
        let predicted: Vec<u32> = nodes.iter().map(|&node| self.predicted[node]).collect();
        metrics::confusion(&predicted, &truth, n_classes)
    }

    pub fn class_scores(&self, nodes: &[usize], class_names: &[String]) -> Vec<ClassScores> {
        let counts = self.confusion(nodes, class_names.len());
        let scores = |(class, name): (usize, &String)| {
            let correct = counts[class][class] as f64;
            let support: usize = counts[class].iter().sum();
            let predicted: usize = counts.iter().map(|row| row[class]).sum();
            let share = |of: usize| (of > 0).then(|| correct / of as f64);
            let both = support + predicted;
            ClassScores {
                name: name.clone(),
                precision: share(predicted),
                recall: share(support),
                f1: (both > 0).then(|| 2.0 * correct / both as f64),
                support,
            }
        };
        class_names.iter().enumerate().map(scores).collect()
    }

    /// The accuracy for degree 0, 1, 2-3, 4-7, ..., without empty groups.
    pub fn accuracy_by_degree(&self, nodes: &[usize]) -> Vec<GroupAccuracy> {
        let bin = |node: usize| Some((usize::BITS - self.degree[node].leading_zeros()) as usize);
        self.accuracy_by(nodes, bin, |bin| match bin {
            0 | 1 => bin.to_string(),
            _ => format!("{}-{}", 1usize << (bin - 1), (1usize << bin) - 1),
        })
    }

    /// The accuracy by the share of labelled neighbours that have the node's own class, without empty groups.
    pub fn accuracy_by_homophily(&self, nodes: &[usize]) -> Vec<GroupAccuracy> {
        let last = HOMOPHILY_BINS - 1;
        let bin = |node: usize| {
            self.homophily[node].map(|share| ((share * HOMOPHILY_BINS as f64) as usize).min(last))
        };
        self.accuracy_by(nodes, bin, |bin| {
            let edge = |bin: usize| bin as f64 / HOMOPHILY_BINS as f64;
            format!("{} to {}", edge(bin), edge(bin + 1))
        })
    }

    /// The accuracy per bin, without empty bins; nodes without a bin are ignored.
    fn accuracy_by(
        &self,
        nodes: &[usize],
        bin: impl Fn(usize) -> Option<usize>,
        label: impl Fn(usize) -> String,
    ) -> Vec<GroupAccuracy> {
        let mut counts: Vec<(usize, usize)> = vec![];
        for &node in nodes {
            let Some(bin) = bin(node) else { continue };
            counts.resize(counts.len().max(bin + 1), (0, 0));
            counts[bin].0 += 1;
            counts[bin].1 += usize::from(self.is_correct(node));
        }
        let counts = counts.into_iter().enumerate().filter(|(_, (n, _))| *n > 0);
        counts
            .map(|(bin, (n, correct))| GroupAccuracy {
                label: label(bin),
                n,
                accuracy: correct as f64 / n as f64,
            })
            .collect()
    }

    pub fn calibration(&self, nodes: &[usize]) -> Calibration {
        let bin = |node: usize| {
            let bin = (f64::from(self.confidence[node]) * CONFIDENCE_BINS as f64) as usize;
            bin.min(CONFIDENCE_BINS - 1)
        };
        let mut sums = vec![(0usize, 0.0f64, 0usize); CONFIDENCE_BINS];
        for &node in nodes {
            let (n, confidence, correct) = &mut sums[bin(node)];
            *n += 1;
            *confidence += f64::from(self.confidence[node]);
            *correct += usize::from(self.is_correct(node));
        }
        let bins: Vec<ConfidenceBin> = sums
            .into_iter()
            .enumerate()
            .filter(|(_, (n, ..))| *n > 0)
            .map(|(i, (n, confidence, correct))| ConfidenceBin {
                low: i as f64 / CONFIDENCE_BINS as f64,
                high: (i + 1) as f64 / CONFIDENCE_BINS as f64,
                n,
                confidence: confidence / n as f64,
                accuracy: correct as f64 / n as f64,
            })
            .collect();
        let distance = |bin: &ConfidenceBin| bin.n as f64 * (bin.confidence - bin.accuracy).abs();
        let ece = bins.iter().map(distance).sum::<f64>() / nodes.len().max(1) as f64;
        Calibration { bins, ece }
    }
}

impl DrawingReport {
    /// Draws the graph or, if it is large, the surroundings of its [centre](NodeList::centre); `None` if the graph
    /// has no edges.
    pub fn new(graph: &Graph, nodes: &NodeList, test: &[usize]) -> Option<Self> {
        if graph.n_edges() == 0 {
            return None;
        }
        let drawing = graph::draw(graph, nodes.centre(graph, test) as u32, MAX_DRAWN);
        let round = |value: f64| (value * 1e4).round() / 1e4;
        Some(Self {
            sampled: drawing.nodes.len() < graph.n_nodes(),
            nodes: drawing.nodes,
            x: drawing.positions.iter().map(|position| round(position.0)).collect(),
            y: drawing.positions.iter().map(|position| round(position.1)).collect(),
            edges: drawing.edges,
        })
    }
}

/// The share of a node's labelled neighbours that have its class; `None` if it or all neighbours are
/// unlabelled.
fn local_homophily(dataset: &Dataset, node: usize) -> Option<f64> {
    let class = dataset.y[node]?;
    let neighbours = dataset.graph.neighbours(node).iter();
    let labels: Vec<u32> = neighbours.filter_map(|&v| dataset.y[v as usize]).collect();
    let same = labels.iter().filter(|&&label| label == class).count();
    (!labels.is_empty()).then(|| same as f64 / labels.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Features;

    /// A path of four nodes of classes 0, 0, 1, 1, all of them test nodes.
    fn path() -> NodeList {
        let graph = Graph::from_edges("path", 4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        let x = Features::Dense(Mat::zeros(4, 1));
        let y = vec![Some(0), Some(0), Some(1), Some(1)];
        let dataset = Dataset::new("path", graph, x, y, vec!["a".into(), "b".into()]);
        let split = Split::new("all", [vec![], vec![], vec![0, 1, 2, 3]]).unwrap();
        // Node 2 is wrong.
        let p = Mat::from_vec(4, 2, vec![0.91, 0.09, 0.8, 0.2, 0.7, 0.3, 0.05, 0.95]);
        NodeList::new(&dataset, &split, &p)
    }

    #[test]
    fn scores_of_a_path_can_be_checked_by_hand() {
        let nodes = path();
        let test = nodes.test_nodes();
        assert_eq!(nodes.confusion(&test, 2), [[2, 0], [1, 1]]);
        assert_eq!(nodes.homophily, [Some(1.0), Some(0.5), Some(0.5), Some(1.0)]);
        let names = ["a".to_owned(), "b".to_owned()];
        let [a, b] = &nodes.class_scores(&test, &names)[..] else { panic!() };
        assert_eq!((a.precision, a.recall, a.support), (Some(2.0 / 3.0), Some(1.0), 2));
        assert_eq!((b.precision, b.recall, b.f1), (Some(1.0), Some(0.5), Some(2.0 / 3.0)));
        let by_degree: Vec<(String, usize, f64)> = nodes
            .accuracy_by_degree(&test)
            .into_iter()
            .map(|group| (group.label, group.n, group.accuracy))
            .collect();
        assert_eq!(by_degree, [("1".into(), 2, 1.0), ("2-3".into(), 2, 0.5)]);
        let by_homophily = nodes.accuracy_by_homophily(&test);
        assert_eq!((by_homophily[0].label.as_str(), by_homophily[0].accuracy), ("0.4 to 0.6", 0.5));
    }

    #[test]
    fn calibration_compares_confidence_with_accuracy() {
        let nodes = path();
        let calibration = nodes.calibration(&nodes.test_nodes());
        // 0.7 is wrong; 0.8, 0.91 and 0.95 are right.
        let expected = (0.7 + (1.0 - 0.8) + 2.0 * (1.0 - 0.93)) / 4.0;
        assert!((calibration.ece - expected).abs() < 1e-6, "{}", calibration.ece);
        assert_eq!(calibration.bins.iter().map(|bin| bin.n).collect::<Vec<_>>(), [1, 1, 2]);
    }
}
