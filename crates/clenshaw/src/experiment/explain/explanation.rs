//! The contents of an explanation, as plain data.

use crate::report::NeighbourhoodDrawing;
use crate::train::{AttributionMethod, Contribution, PolynomialTerms};
use serde::Serialize;

/// The explanation of the prediction of one node.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The name of the node, or its number.
    pub node: String,
    /// Its number, from 0.
    pub index: usize,
    /// The model's name.
    pub model: &'static str,
    /// The seed with which the model was trained.
    pub seed: u64,
    /// Score and probability of every class, the most likely first.
    pub classes: Vec<ClassProbability>,
    /// The label of the node; `None` if it has none.
    pub label: Option<String>,
    /// The part of the split that contains the node: `train`, `val` or `test`, or empty if none does.
    pub part: &'static str,
    /// The number of neighbours.
    pub degree: usize,
    /// The labels of the labelled neighbours, the most frequent class first.
    pub neighbour_labels: Vec<ClassShare>,
    /// How the contributions of nodes were computed.
    pub method: AttributionMethod,
    /// Nodes farther away than this number of edges contribute nothing; `None` if all nodes can contribute.
    pub reach: Option<usize>,
    /// The score of the predicted class, and its margin to the runner-up.
    pub total: Contribution,
    /// The part of the total that no node contributes: biases or, for integrated gradients, the score without
    /// features.
    pub without_nodes: Contribution,
    /// The total minus `without_nodes` and the contributions of all nodes: the error of the method.
    pub gap: Contribution,
    /// The contributions of nodes by their distance.
    pub hops: Vec<HopContribution>,
    /// The nodes with the largest contributions to the margin, in either direction.
    pub nodes: Vec<NodeContribution>,
    /// The sum of the contributions of all other nodes within reach.
    pub other_nodes: OtherContributions,
    /// The terms of the polynomial, for models whose scores are a polynomial filter of a value per node;
    /// `None` for others.
    pub terms: Option<PolynomialTerms>,
    /// The contributions of features to the total.
    pub features: FeatureContributions,
    /// The training nodes with the most similar representation.
    pub nearest: NearestNodes,
    /// Warnings about the accuracy of these numbers and about changed data.
    pub notes: Vec<String>,
    /// The node, the nodes that contribute most, and the paths from them to the node.
    #[serde(skip)]
    pub drawing: NeighbourhoodDrawing,
}

/// A class with its score and probability.
#[derive(Clone, Debug, Serialize)]
pub struct ClassProbability {
    /// The name of the class.
    pub class: String,
    /// Its probability.
    pub probability: f32,
    /// Its score before the softmax.
    pub score: f64,
}

/// How many neighbours are labelled with one class.
#[derive(Clone, Debug, Serialize)]
pub struct ClassShare {
    /// The name of the class.
    pub class: String,
    /// The number of neighbours with this label.
    pub nodes: usize,
    /// Their share of all neighbours with a label.
    pub share: f64,
}

/// The sum of the contributions of all nodes at one distance.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HopContribution {
    /// The distance in edges; `None` for nodes that are not connected to the explained one.
    pub hop: Option<usize>,
    /// The number of nodes within reach at this distance.
    pub nodes: usize,
    /// The sum of their contributions.
    #[serde(flatten)]
    pub contribution: Contribution,
}

/// The contribution of one node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeContribution {
    /// The name of the node, or its number.
    pub node: String,
    /// Its number, from 0.
    pub index: usize,
    /// The distance in edges; `None` if it is not connected to the explained one.
    pub hop: Option<usize>,
    /// The label of the node; `None` if it has none.
    pub label: Option<String>,
    /// The predicted class.
    pub predicted: String,
    /// The part of the split that contains it: `train`, `val` or `test`, or empty if none does.
    pub part: &'static str,
    /// Its contribution.
    #[serde(flatten)]
    pub contribution: Contribution,
}

/// The sum of the contributions of nodes or features that are not listed one by one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OtherContributions {
    /// The number of these nodes or features.
    pub count: usize,
    /// The sum of their contributions.
    #[serde(flatten)]
    pub contribution: Contribution,
}

/// The contributions of features, summed over nodes, by integrated gradients.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureContributions {
    /// The features with the largest contributions to the margin, in either direction.
    pub strongest: Vec<FeatureContribution>,
    /// The sum of the contributions of all other features.
    pub others: OtherContributions,
    /// The contribution of the edges, for models that read rows of the adjacency as features; zero for others.
    pub by_adjacency: Contribution,
    /// The score and margin if all features of all nodes were zero.
    pub without_features: Contribution,
    /// The total minus `without_features`, `by_adjacency` and the contributions of all features: the error of
    /// the numerical integration.
    pub gap: Contribution,
    /// The number of points at which the gradient was evaluated.
    pub points: usize,
}

/// The contribution of one feature.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureContribution {
    /// Its name, or `feature` and its number from 0.
    pub feature: String,
    /// Its number, from 0.
    pub index: usize,
    /// Its contribution.
    #[serde(flatten)]
    pub contribution: Contribution,
}

/// The training nodes, without the explained node itself, whose representations are closest to its own.
#[derive(Clone, Debug, Serialize)]
pub struct NearestNodes {
    /// The values that are compared.
    pub representation: Representation,
    /// The nodes, the closest first.
    pub nodes: Vec<NearNode>,
}

/// The values of a node that are compared to find similar nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Representation {
    /// The last hidden layer.
    HiddenLayer,
    /// The class scores minus their mean, for models without a hidden layer.
    Scores,
}

/// A training node and its distance from the explained node.
#[derive(Clone, Debug, Serialize)]
pub struct NearNode {
    /// The name of the node, or its number.
    pub node: String,
    /// Its number, from 0.
    pub index: usize,
    /// Its label.
    pub label: String,
    /// The Euclidean distance of the representations.
    pub distance: f64,
}
