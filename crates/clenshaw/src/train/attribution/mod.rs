//! Contributions of nodes and features to the class scores of one node.
//!
//! ```text
//! f          the score of the predicted class, or its margin: the difference from the runner-up
//!
//! exact      f = b + sum_u <g_u, z_u>            z_u = F(x_u): f is affine in z, with the gradient g
//! path       f(X) = f(0) + sum_uj x_uj int_0^1 df/dx_uj (a X) da         integrated gradients
//! ```
//!
//! For models that mark their node input z (decoupled models, FavardGNN, H2GCN and MLP), the contributions
//! `<g_u, z_u>` of nodes are exact. For all others, and for features, gradients are integrated along the
//! straight path from zero features to the actual ones. With the first weights W of the network, the path is
//!
//! ```text
//! f(a X; W) = f(X; a W),      Y = X W,      df/da = sum_u <y_u, df/dy_u> = sum_j <w_j, df/dw_j>
//! ```
//!
//! so that the contributions of nodes and features need no gradient as large as X: the gradients of Y and W
//! suffice. A model that reads the rows of the adjacency, like LINKX, has a row of W for every node, and
//! the path also scales the adjacency.
//!
//! The integral is computed by the midpoint rule with 3, 9, 27, 81 or 243 points, until the gap is
//! below 1% of `f(X) - f(0)`; each set of points contains the one before it. The gap is the difference between
//! `f(X) - f(0)` and the sum of the contributions.
//! Sundararajan, Taly & Yan, ICML 2017, arXiv:1703.01365.
//!
//! Everything is computed in f64, without dropout and with running statistics, on the nodes within reach of
//! the model only: entries of operators between other nodes do not affect the node.

mod limits;
mod network;
mod path;

pub use limits::AttributionLimits;

use super::TrainedModel;
use crate::data::Dataset;
use crate::error::Result;
use crate::filter::Basis;
use crate::tensor::Mat;
use network::Network;
use serde::Serialize;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A part of the score of the predicted class, and of the margin by which it exceeds that of the runner-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Contribution {
    /// Part of the score of the predicted class.
    pub score: f64,
    /// Part of the difference between this score and that of the other class.
    pub margin: f64,
}

/// How the contributions of nodes were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributionMethod {
    /// From the gradient of an input per node in which the scores are affine, so that the contributions add up to
    /// the score.
    Exact,
    /// By integrating gradients along the path from zero features to the actual ones.
    IntegratedGradients,
}

/// The node and classes to explain.
#[derive(Clone, Copy, Debug)]
pub struct AttributionTarget {
    /// The node.
    pub node: usize,
    /// The predicted class.
    pub class: usize,
    /// The class that the predicted one is compared with.
    pub other: usize,
}

/// The contributions of nodes and features to the scores of one node.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// How the contributions of nodes were computed.
    pub method: AttributionMethod,
    /// Nodes farther away than this number of edges contribute nothing; `None` if all nodes can contribute.
    pub reach: Option<usize>,
    /// The score of every class.
    pub scores: Vec<f64>,
    /// The score and the margin.
    pub total: Contribution,
    /// The contribution of each node within reach, ascending by node.
    pub by_node: Vec<(u32, Contribution)>,
    /// The part of the total that no node contributes: biases or, for integrated gradients, the score without
    /// features.
    pub without_nodes: Contribution,
    /// The contribution of each feature, summed over nodes.
    pub by_feature: Vec<Contribution>,
    /// The contribution of the adjacency, for models that read its rows; zero for others.
    pub by_adjacency: Contribution,
    /// The score and the margin without features.
    pub without_features: Contribution,
    /// The number of points of the midpoint rule.
    pub points: usize,
    /// The terms of the model's polynomial, if the scores are a polynomial filter of the node input.
    pub terms: Option<PolynomialTerms>,
    /// The approximate number of arithmetic operations of the integration, counted from the compiled model.
    pub operations: f64,
}

/// The terms `c_k <z, phi_k(P) e_v>` of the score of node v.
#[derive(Clone, Debug, Serialize)]
pub struct PolynomialTerms {
    /// The basis.
    pub basis: Basis,
    /// One term per polynomial.
    pub terms: Vec<PolynomialTerm>,
}

/// A coefficient and its term.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PolynomialTerm {
    /// The coefficient for the predicted class.
    pub coefficient: f64,
    /// Its contribution.
    #[serde(flatten)]
    pub contribution: Contribution,
}

impl Contribution {
    /// The score of the predicted class and its margin.
    fn of(target: AttributionTarget, scores: &[f64]) -> Self {
        let score = scores[target.class];
        Self { score, margin: score - scores[target.other] }
    }
}

impl Attribution {
    /// The total minus `without_nodes` and the contributions of nodes: a rounding error if these are exact.
    pub fn node_gap(&self) -> Contribution {
        let sum = self.by_node.iter().fold(self.without_nodes, |sum, (_, part)| sum + *part);
        self.total - sum
    }

    /// The total minus `without_features` and the contributions of the adjacency and the features.
    pub fn feature_gap(&self) -> Contribution {
        let start = self.without_features + self.by_adjacency;
        self.total - self.by_feature.iter().fold(start, |sum, part| sum + *part)
    }
}

impl TrainedModel {
    /// Computes the contributions of nodes and features to the scores of one node.
    ///
    /// # Errors
    /// As [`TrainedModel::predict`], or if the limits are too small.
    ///
    /// # Panics
    /// If the node or a class does not exist.
    pub fn attribution(
        &self,
        dataset: &Dataset,
        target: AttributionTarget,
        limits: &AttributionLimits,
    ) -> Result<Attribution> {
        self.check(dataset)?;
        let n = dataset.graph.n_nodes();
        assert!(target.node < n, "attribution: node {}, but there are {n}", target.node);
        let network = Network::record(self, dataset, target, limits)?;
        let mut integral = path::integrate(&network, target, limits)?;
        if let Some(input) = network.input {
            network.make_exact(self, dataset, input, &mut integral);
        }
        Ok(integral.attribution)
    }

    /// The parameter of this name in f64.
    fn weight(&self, name: &str) -> Mat<f64> {
        let found = self.weights().iter().find(|(other, _)| other == name);
        found.expect("the weights of a trained model are complete").1.cast()
    }
}

impl Add for Contribution {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { score: self.score + other.score, margin: self.margin + other.margin }
    }
}

impl AddAssign for Contribution {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Contribution {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + other * -1.0
    }
}

impl Mul<f64> for Contribution {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { score: factor * self.score, margin: factor * self.margin }
    }
}
