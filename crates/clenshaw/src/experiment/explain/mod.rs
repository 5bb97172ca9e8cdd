//! Explanations of single predictions: how much nodes and features contribute to the score of a node.
//!
//! The margin, the score of the predicted class minus that of the runner-up, is more meaningful than the
//! score: adding the same number to all scores of a node does not change its probabilities, so
//! contributions to a single score include a part that explains nothing. Contributions to both are returned.

mod drawing;
mod explanation;

pub use explanation::{
    ClassProbability, ClassShare, Explanation, FeatureContribution, FeatureContributions,
    HopContribution, NearNode, NearestNodes, NodeContribution, OtherContributions, Representation,
};

use super::folder::RunFolder;
use super::predict::{change_warning, choose_run, trained_model};
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use crate::graph::distances;
use crate::tensor::{GatherPrecision, Mat};
use crate::train::{Attribution, AttributionLimits, AttributionTarget, Contribution, TrainedModel};
use std::path::Path;

/// The maximum number of contributing nodes that an explanation lists.
const LISTED_NODES: usize = 10;
/// The maximum number of features that an explanation lists.
const LISTED_FEATURES: usize = 10;
/// The maximum number of similar training nodes that an explanation lists.
const LISTED_NEAREST: usize = 5;
/// The maximum number of similar names in an error.
const SIMILAR_NAMES: usize = 3;

/// Explains the prediction of a run for one node, given by its name or, if the nodes have no names, its number.
///
/// Without `seed`, the finished run with the lowest validation loss is used.
///
/// # Errors
/// If there is no such run or node, the model or the graph cannot be loaded or they do not match, the split
/// cannot be drawn, there are fewer than two classes, or the explanation would exceed the limits.
pub fn explain(
    folder: &Path,
    store: &Store,
    node: &str,
    seed: Option<u64>,
    limits: &AttributionLimits,
) -> Result<Explanation> {
    let (files, request) = RunFolder::open_existing(folder)?;
    let place = folder.display().to_string();
    let seed = choose_run(&files, &request, &place, seed)?.seed;
    let model = trained_model(&files, &place, seed)?;
    let dataset = request.load(store)?;
    let node = find_node(&dataset, node)?;
    let split = request.split.draw(&dataset, seed)?;
    let mut explanation = explain_with(&model, &dataset, &split, node, limits)?;
    let changed = change_warning(&dataset, &model.provenance().data_sha256);
    let changed =
        changed.map(|text| format!("{text}; its split may differ from the one used in training"));
    explanation.notes.extend(changed);
    Ok(explanation)
}

/// Explains the prediction of a trained model for one node of a graph. `split` provides the training nodes
/// among which similar ones are listed, and the part to which each listed node belongs.
///
/// # Errors
/// If the graph does not match the model, has no such node or has fewer than two classes; if the split contains
/// a node that is not in the graph or has no label; or if the explanation would exceed the limits.
pub fn explain_with(
    model: &TrainedModel,
    dataset: &Dataset,
    split: &Split,
    node: usize,
    limits: &AttributionLimits,
) -> Result<Explanation> {
    split.check(dataset)?;
    let n = dataset.graph.n_nodes();
    if node >= n {
        let problem = format!("no such node; expected a number from 0 to {}", n - 1);
        return Err(Error::Data { place: format!("node {node}"), problem });
    }
    let probabilities = model.predict(dataset, limits.threads)?;
    let explainer = Explainer::new(model, dataset, split, &probabilities)?;
    explainer.explain(node, limits).map(|(explanation, _)| explanation)
}

/// The number of the node with this name or, if the nodes have no names, with this number. Fails if there is no
/// such node.
fn find_node(dataset: &Dataset, text: &str) -> Result<usize> {
    let names = &dataset.node_names;
    let n = dataset.graph.n_nodes();
    let found = match names.is_empty() {
        true => text.parse().ok().filter(|&node: &usize| node < n),
        false => names.iter().position(|name| name == text),
    };
    found.ok_or_else(|| {
        let problem = match names.is_empty() {
            true => format!(
                "no such node; the nodes have no names, so a number from 0 to {} is expected",
                n - 1
            ),
            false => {
                format!("no node has this name; the most similar ones: {}", similar(names, text))
            }
        };
        Error::Data { place: format!("node `{text}`"), problem }
    })
}

/// The [`SIMILAR_NAMES`] names most similar to a text, as a list for an error message.
fn similar(names: &[String], text: &str) -> String {
    let lower = text.to_lowercase();
    let mut ranked: Vec<(f64, &String)> = names
        .iter()
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let quoted = ranked.iter().take(SIMILAR_NAMES).map(|(_, name)| format!("`{name}`"));
    quoted.collect::<Vec<String>>().join(", ")
}

/// Everything that the explanations of different nodes share.
pub(super) struct Explainer<'a> {
    model: &'a TrainedModel,
    dataset: &'a Dataset,
    split: &'a Split,
    /// The model's predictions for all nodes, `[n, C]`.
    probabilities: &'a Mat<f32>,
    /// For each node, the part of the split that contains it, or empty.
    parts: Vec<&'static str>,
    representation: Representation,
    /// The representation of every node.
    values: Mat<f32>,
    /// Empty if the features have no names.
    feature_names: Vec<String>,
}

impl<'a> Explainer<'a> {
    /// Computes the representation of every node. Fails if there are fewer than two classes or the graph does not
    /// match the model.
    pub fn new(
        model: &'a TrainedModel,
        dataset: &'a Dataset,
        split: &'a Split,
        probabilities: &'a Mat<f32>,
    ) -> Result<Self> {
        if model.class_names().len() < 2 {
            let problem = "an explanation compares classes; expected at least two".into();
            return Err(Error::Data { place: dataset.name.clone(), problem });
        }
        let (representation, values) = match model.hidden(dataset)? {
            Some(hidden) => (Representation::HiddenLayer, hidden),
            None => (Representation::Scores, centred(model.scores(dataset, 1)?)),
        };
        let mut parts = vec![""; dataset.graph.n_nodes()];
        for (nodes, part) in split.parts().into_iter().zip(["train", "val", "test"]) {
            nodes.iter().for_each(|&node| parts[node as usize] = part);
        }
        let feature_names = dataset.schema.as_ref().map_or(vec![], |schema| schema.feature_names());
        Ok(Self {
            model,
            dataset,
            split,
            probabilities,
            parts,
            representation,
            values,
            feature_names,
        })
    }

    /// Explains the prediction of one node; also returns [`Attribution::operations`]. Fails if the explanation would
    /// exceed the limits.
    pub fn explain(&self, node: usize, limits: &AttributionLimits) -> Result<(Explanation, f64)> {
        let order = self.classes_by_probability(node);
        let target = AttributionTarget { node, class: order[0], other: order[1] };
        let attribution = self.model.attribution(self.dataset, target, limits)?;
        let distances = distances(&self.dataset.graph, node as u32);
        let (nodes, other_nodes) = self.strongest_nodes(&attribution, &distances);
        let drawing = drawing::draw(self, node, &attribution, &distances);
        let class = |&class: &usize| ClassProbability {
            class: self.model.class_names()[class].clone(),
            probability: self.probabilities[(node, class)],
            score: attribution.scores[class],
        };
        let explanation = Explanation {
            node: self.name(node),
            index: node,
            model: self.model.info().name,
            seed: self.model.provenance().seed,
            classes: order.iter().map(class).collect(),
            label: self.label(node),
            part: self.parts[node],
            degree: self.dataset.graph.degree(node),
            neighbour_labels: self.neighbour_labels(node),
            method: attribution.method,
            reach: attribution.reach,
            total: attribution.total,
            without_nodes: attribution.without_nodes,
            gap: attribution.node_gap(),
            hops: by_hop(&attribution, &distances),
            nodes,
            other_nodes,
            features: self.features(&attribution),
            terms: attribution.terms.clone(),
            nearest: self.nearest(node),
            notes: self.notes(&attribution),
            drawing,
        };
        Ok((explanation, attribution.operations))
    }

    /// The name of a node, or its number.
    fn name(&self, node: usize) -> String {
        self.dataset.node_names.get(node).map_or_else(|| node.to_string(), String::clone)
    }

    /// The name of the class in the label of a node; `None` if the node has no label.
    fn label(&self, node: usize) -> Option<String> {
        self.dataset.y[node].map(|class| self.dataset.class_names[class as usize].clone())
    }

    /// The classes of the model, the most likely first; in a tie, the lower one first. If the labels have changed since
    /// training, the graph may have other classes.
    fn classes_by_probability(&self, node: usize) -> Vec<usize> {
        let row = self.probabilities.row(node);
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        order
    }

    /// The labels of the labelled neighbours of a node, the most frequent class first.
    fn neighbour_labels(&self, node: usize) -> Vec<ClassShare> {
        let mut counts = vec![0; self.dataset.n_classes()];
        let neighbours = self.dataset.graph.neighbours(node).iter();
        neighbours
            .filter_map(|&u| self.dataset.y[u as usize])
            .for_each(|class| counts[class as usize] += 1);
        let known: usize = counts.iter().sum();
        let mut shares: Vec<ClassShare> = counts
            .into_iter()
            .zip(&self.dataset.class_names)
            .filter(|(nodes, _)| *nodes > 0)
            .map(|(nodes, class)| ClassShare {
                class: class.clone(),
                nodes,
                share: nodes as f64 / known as f64,
            })
            .collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.nodes));
        shares
    }

    /// The nodes that contribute most to the margin, and the sum of the others.
    fn strongest_nodes(
        &self,
        attribution: &Attribution,
        distances: &[Option<usize>],
    ) -> (Vec<NodeContribution>, OtherContributions) {
        let parts: Vec<(usize, Contribution)> =
            attribution.by_node.iter().map(|&(node, part)| (node as usize, part)).collect();
        let (strongest, others) = split_strongest(parts, LISTED_NODES);
        let node = |(node, contribution): (usize, Contribution)| NodeContribution {
            node: self.name(node),
            index: node,
            hop: distances[node],
            label: self.label(node),
            predicted: self.model.class_names()[self.classes_by_probability(node)[0]].clone(),
            part: self.parts[node],
            contribution,
        };
        (strongest.into_iter().map(node).collect(), others)
    }

    /// The features that contribute most to the margin, and the sum of the others.
    fn features(&self, attribution: &Attribution) -> FeatureContributions {
        let parts = attribution.by_feature.iter().copied().enumerate().collect();
        let (strongest, others) = split_strongest(parts, LISTED_FEATURES);
        let feature = |(index, contribution): (usize, Contribution)| FeatureContribution {
            feature: self
                .feature_names
                .get(index)
                .map_or_else(|| format!("feature {index}"), String::clone),
            index,
            contribution,
        };
        FeatureContributions {
            strongest: strongest.into_iter().map(feature).collect(),
            others,
            by_adjacency: attribution.by_adjacency,
            without_features: attribution.without_features,
            gap: attribution.feature_gap(),
            points: attribution.points,
        }
    }

    /// The training nodes with the most similar representation, without the node itself.
    fn nearest(&self, node: usize) -> NearestNodes {
        let distance = |other: usize| {
            let pairs = self.values.row(node).iter().zip(self.values.row(other));
            pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
        };
        let train = self.split.train().iter().map(|&other| other as usize);
        let mut ranked: Vec<(f64, usize)> =
            train.filter(|&other| other != node).map(|other| (distance(other), other)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let near = |&(distance, node): &(f64, usize)| NearNode {
            node: self.name(node),
            index: node,
            label: self.label(node).unwrap_or_default(),
            distance,
        };
        let nodes = ranked.iter().take(LISTED_NEAREST).map(near).collect();
        NearestNodes { representation: self.representation, nodes }
    }

    /// Warnings if the model uses reduced precision, or if the error of the integrated gradients of features exceeds
    /// 1% of the change of the margin.
    fn notes(&self, attribution: &Attribution) -> Vec<String> {
        let mut notes = vec![];
        if self.model.hp().choice::<GatherPrecision>("gather") == GatherPrecision::Bf16 {
            notes.push(
                "the model reads bf16 numbers (gather=bf16); the explanation is computed in full \
                 precision, so its scores differ slightly"
                    .to_owned(),
            );
        }
        let change = (attribution.total - attribution.without_features).margin.abs();
        let gap = attribution.feature_gap().margin.abs();
        if gap > 0.01 * change {
            notes.push(format!(
                "after {} points, the sum of the integrated gradients still differs by {gap:.2e} from the \
                 change of the margin, {change:.2e}",
                attribution.points
            ));
        }
        notes
    }
}

/// The `n` contributions with the largest absolute margins, and the sum of the others.
fn split_strongest(
    mut parts: Vec<(usize, Contribution)>,
    n: usize,
) -> (Vec<(usize, Contribution)>, OtherContributions) {
    parts.sort_by(|(_, a), (_, b)| b.margin.abs().total_cmp(&a.margin.abs()));
    let rest = parts.split_off(n.min(parts.len()));
    let contribution = rest.iter().fold(Contribution::default(), |sum, (_, part)| sum + *part);
    (parts, OtherContributions { count: rest.len(), contribution })
}

/// The sum over the nodes at each distance; unconnected nodes last.
fn by_hop(attribution: &Attribution, distances: &[Option<usize>]) -> Vec<HopContribution> {
    let mut hops: Vec<HopContribution> = vec![];
    let mut parts: Vec<(usize, Contribution)> = attribution
        .by_node
        .iter()
        .map(|&(node, part)| (distances[node as usize].unwrap_or(usize::MAX), part))
        .collect();
    parts.sort_by_key(|(hop, _)| *hop);
    for (hop, part) in parts {
        let hop = (hop < usize::MAX).then_some(hop);
        match hops.last_mut().filter(|last| last.hop == hop) {
            Some(last) => {
                last.nodes += 1;
                last.contribution += part;
            }
            None => hops.push(HopContribution { hop, nodes: 1, contribution: part }),
        }
    }
    hops
}

/// Subtracts the mean of each row.
fn centred(mut scores: Mat<f32>) -> Mat<f32> {
    let cols = scores.cols();
    for row in scores.as_mut_slice().chunks_exact_mut(cols) {
        let mean = row.iter().sum::<f32>() / cols as f32;
        row.iter_mut().for_each(|score| *score -= mean);
    }
    scores
}
