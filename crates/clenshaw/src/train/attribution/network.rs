//! A model compiled for the nodes within reach of one node.

use super::limits::{AttributionMemory, feature_bytes};
use super::path::Integral;
use super::{
    AttributionLimits, AttributionMethod, AttributionTarget, Contribution, PolynomialTerm,
    PolynomialTerms,
};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::filter::{Filter, Response};
use crate::graph::{distances, operator};
use crate::model::{Net, NodeInput};
use crate::rng::Stream;
use crate::tensor::{
    AlignedVec, FeatureProduct, Mat, Plan, Tape, Targets, ThreadTeam, Var, Workspace,
};
use crate::train::TrainedModel;
use crate::train::record::record;

/// A model, recorded and compiled for the nodes within reach of one node.
pub(super) struct Network {
    net: Net,
    logits: Var,
    pub plan: Plan<f64>,
    pub params: AlignedVec<f64>,
    target: AttributionTarget,
    pub nodes: Vec<u32>,
    /// The position of the explained node among `nodes`.
    position: usize,
    pub reach: Option<usize>,
    pub input: Option<NodeInput>,
    /// The products of the features.
    own: Vec<FeatureProduct>,
    /// The weights that multiply features, each once.
    pub feature_weights: Vec<usize>,
    /// The weights that multiply rows of the adjacency, each once.
    pub adjacency_weights: Vec<usize>,
    pub n_nodes: usize,
    pub n_features: usize,
}

/// The name of the i-th watched value.
fn watched_name(i: usize) -> String {
    format!("watched.{i}")
}

impl Network {
    /// Records and compiles the model; returns an error if it needs too much memory.
    pub fn record(
        model: &TrainedModel,
        dataset: &Dataset,
        target: AttributionTarget,
        limits: &AttributionLimits,
    ) -> Result<Self> {
        let node = target.node as u32;
        let dataset = &Dataset { class_names: model.class_names().to_vec(), ..dataset.clone() };
        let record = |nodes: Option<&[u32]>| {
            record(dataset, model.info(), model.hp(), model.scaler(), nodes)
        };
        let (alone, logits) = record(Some(&[node]))?;
        if let Some(reason) = alone.attribution_refusal() {
            let place = format!("explaining {}", model.info().name);
            return Err(Error::Data { place, problem: reason.into() });
        }
        let reach = alone.reach(logits);
        let nodes = nodes_within(dataset, node, reach);
        let n_nodes = dataset.graph.n_nodes();
        let memory = AttributionMemory { target, reach, n_nodes: nodes.len(), limit: limits.bytes };
        memory.check(feature_bytes(&dataset.x, &nodes))?;
        let (mut net, logits) = record((nodes.len() < n_nodes).then_some(&nodes[..]))?;
        let own = net.products_of(net.x());
        let adjacency = net.recorded_adjacency();
        let of_adjacency = adjacency.map_or(vec![], |a| net.products_of(a));
        let (feature_weights, adjacency_weights) = (weights(&own), weights(&of_adjacency));
        let input = net.node_input();
        let watched: Vec<Var> = match input {
            Some(input) => vec![input.value],
            None => own.iter().map(|product| product.value).collect(),
        };
        for (i, &value) in watched.iter().enumerate() {
            net.name(watched_name(i), value);
        }
        let scaled = [&feature_weights[..], &adjacency_weights].concat();
        let plan = Plan::<f64>::compile_watching(&net, logits, &scaled, &watched);
        let n_params = plan.zeros().len();
        let values: usize = watched.iter().map(|v| net.shape(*v).0 * net.shape(*v).1).sum();
        let numbers = size_of::<f64>() * (3 * n_params + values);
        // Exact contributions need the scores without the node input as well, in another workspace.
        let workspace = plan.allocated_bytes(limits.threads);
        let exact = if input.is_some() { plan.allocated_bytes(1) } else { 0 };
        memory.check(feature_bytes(&dataset.x, &nodes) + workspace + exact + numbers)?;
        let params = plan.param_vector(|param| model.weight(&param.name).into_vec());
        let position = nodes.binary_search(&node).expect("a node is within its own reach");
        // The rows of the adjacency connect neighbours although the features do not.
        let reach = reach.map(|reach| reach.max(usize::from(adjacency.is_some())));
        let n_features = dataset.x.n_cols();
        Ok(Self {
            net,
            logits,
            plan,
            params,
            target,
            nodes,
            position,
            reach,
            input,
            own,
            feature_weights,
            adjacency_weights,
            n_nodes,
            n_features,
        })
    }

    /// The parameters of the model, with the weights of features and of the adjacency multiplied by `factor`.
    pub fn scaled_params(&self, factor: f64) -> AlignedVec<f64> {
        let (mut params, ranges) = (self.params.clone(), self.plan.ranges());
        for &weight in self.feature_weights.iter().chain(&self.adjacency_weights) {
            params[ranges[weight].clone()].iter_mut().for_each(|w| *w *= factor);
        }
        params
    }

    /// The predicted and the other class, with the factors by which their scores count.
    pub fn classes(&self) -> [(usize, Factors); 2] {
        let predicted = Factors { score: 1.0, margin: 1.0 };
        let other = Factors { score: 0.0, margin: -1.0 };
        [(self.target.class, predicted), (self.target.other, other)]
    }

    /// The scores of the explained node.
    pub fn scores(&self, work: &mut Workspace<f64>, params: &[f64]) -> Vec<f64> {
        self.row(self.plan.scores(work, params)).to_vec()
    }

    /// The row of the explained node.
    fn row<'a>(&self, scores: &'a [f64]) -> &'a [f64] {
        let (_, c) = self.plan.shape();
        &scores[self.position * c..(self.position + 1) * c]
    }

    /// The values of which gradients are computed: the node input or, without it, the products of the features
    /// without their biases.
    pub fn watched_values(&self, work: &mut Workspace<f64>) -> Vec<Mat<f64>> {
        let mut values = self.plan.values(work, &self.params);
        let mut named = |i: usize| {
            let name = watched_name(i);
            let found = values.iter().position(|(other, _)| *other == name);
            values.swap_remove(found.expect("every watched value is named")).1
        };
        match self.input {
            Some(_) => vec![named(0)],
            None => {
                let product = |(i, product): (usize, &FeatureProduct)| {
                    self.without_bias(named(i), product.bias)
                };
                self.own.iter().enumerate().map(product).collect()
            }
        }
    }

    /// Subtracts a bias, if there is one, from every row.
    fn without_bias(&self, mut value: Mat<f64>, bias: Option<usize>) -> Mat<f64> {
        if let Some(bias) = bias {
            let bias = &self.params[self.plan.ranges()[bias].clone()];
            let rows = value.as_mut_slice().chunks_exact_mut(bias.len());
            rows.for_each(|row| row.iter_mut().zip(bias).for_each(|(y, b)| *y -= b));
        }
        value
    }

    /// Differentiates the score of a class at the explained node; the gradients are then in the workspace.
    pub fn gradient(&self, work: &mut Workspace<f64>, params: &[f64], class: usize) {
        let (n, c) = self.plan.shape();
        let mut coefficients = vec![0.0; c];
        coefficients[class] = 1.0;
        let targets = Targets::combination(n, self.position, &coefficients);
        self.plan.gradient(work, params, &targets, &Stream::new(0, "dropout"));
    }

    /// Replaces the contributions of nodes with exact ones, and adds the terms of the polynomial.
    pub fn make_exact(
        &self,
        model: &TrainedModel,
        dataset: &Dataset,
        input: NodeInput,
        integral: &mut Integral,
    ) {
        let Integral { attribution, watched, work } = integral;
        let z = &watched[0];
        let mut parts = vec![Contribution::default(); self.nodes.len()];
        for (class, factors) in self.classes() {
            self.gradient(work, &self.params, class);
            if let Some(gradient) = self.plan.watched_gradients(work)[0] {
                add_products(&mut parts, z.as_slice(), gradient, factors);
            }
        }
        attribution.method = AttributionMethod::Exact;
        attribution.by_node = self.nodes.iter().copied().zip(parts).collect();
        attribution.without_nodes = self.without(input);
        if input.is_filtered {
            attribution.terms = self.terms(model, dataset, z);
        }
    }

    /// The score and the margin with zeros in place of the node input.
    fn without(&self, input: NodeInput) -> Contribution {
        let mut tape = Tape::clone(&self.net);
        tape.set_zero(input.value);
        let plan = Plan::<f64>::compile_watching(&tape, self.logits, &[], &[]);
        let mut work = plan.workspace(ThreadTeam::new(1));
        Contribution::of(self.target, self.row(plan.scores(&mut work, &self.params)))
    }

    /// The terms of the filter of the predicted class, and their differences from those of the other class; `None`
    /// if the filter is not a polynomial per class.
    fn terms(
        &self,
        model: &TrainedModel,
        dataset: &Dataset,
        z: &Mat<f64>,
    ) -> Option<PolynomialTerms> {
        let target = self.target;
        let (kind, filter) = (model.info().operator?, model.info().filter?);
        let filter_of = |response: &Response, class: usize| match response {
            Response::Shared(filter) => Some(filter.clone()),
            Response::Channels(filters) => filters.get(class).cloned(),
            Response::Gain(_) | Response::Tabulated(_) => None,
        };
        let response = filter(&|name| model.weight(name), model.hp());
        let p = operator(&dataset.graph, kind).restricted_to(&self.nodes);
        let mut unit = Mat::zeros(self.nodes.len(), 1);
        unit[(self.position, 0)] = 1.0;
        let terms = |filter: &Filter, class: usize| {
            let column: Vec<f64> = (0..z.rows()).map(|u| z[(u, class)]).collect();
            filter.terms(&p, &unit, &column)
        };
        let (own, other) =
            (filter_of(&response, target.class)?, filter_of(&response, target.other)?);
        let pairs = terms(&own, target.class).into_iter().zip(terms(&other, target.other));
        let terms = pairs.zip(&own.coefficients).map(|((score, other), &coefficient)| {
            let contribution = Contribution { score, margin: score - other };
            PolynomialTerm { coefficient, contribution }
        });
        Some(PolynomialTerms { basis: own.basis.clone(), terms: terms.collect() })
    }
}

/// The factors by which the score of a class counts in the explained score and in the margin.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    score: f64,
    margin: f64,
}

/// Adds to each sum the inner product of its rows in two matrices, multiplied by the factors.
pub(super) fn add_products(sums: &mut [Contribution], a: &[f64], b: &[f64], factors: Factors) {
    let cols = a.len() / sums.len();
    for ((sum, a), b) in sums.iter_mut().zip(a.chunks_exact(cols)).zip(b.chunks_exact(cols)) {
        let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        let Factors { score, margin } = factors;
        *sum += Contribution { score: score * product, margin: margin * product };
    }
}

/// The distinct weights of products.
fn weights(products: &[FeatureProduct]) -> Vec<usize> {
    let mut weights: Vec<usize> = products.iter().map(|product| product.weight).collect();
    weights.sort_unstable();
    weights.dedup();
    weights
}

/// The nodes at most `reach` edges from a node, ascending; all nodes if it is `None`.
fn nodes_within(dataset: &Dataset, node: u32, reach: Option<usize>) -> Vec<u32> {
    let all = 0..dataset.graph.n_nodes() as u32;
    let Some(reach) = reach else { return all.collect() };
    let distances = distances(&dataset.graph, node);
    all.filter(|&u| distances[u as usize].is_some_and(|distance| distance <= reach)).collect()
}
