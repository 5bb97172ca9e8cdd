//! The equations of a model, recorded for a data set: on all nodes, on some of them, or on a batch of rows of
//! precomputed matrices.

use super::precompute::{PrecomputeOptions, PrecomputedTerms, TermSource};
use crate::data::{Dataset, Features, Scaler};
use crate::error::Result;
use crate::filter::FilterTerms;
use crate::graph::{operator, unordered_operator};
use crate::hyper::Params;
use crate::model::{ModelInfo, Net};
use crate::tensor::{Sparse, Var};
use std::borrow::Cow;

/// The name of the hidden representation among the values of a plan.
pub(super) const HIDDEN: &str = "hidden";

/// Records the equations of the model and names its hidden representation; returns the net and its class scores.
/// With `nodes`, only these nodes and the entries of operators between them are recorded.
pub(super) fn record(
    dataset: &Dataset,
    info: &ModelInfo,
    hp: &Params,
    scaler: &Scaler,
    nodes: Option<&[u32]>,
) -> Result<(Net, Var)> {
    let mut p = info.operator.map(|kind| operator(&dataset.graph, kind));
    let mut x = Cow::Borrowed(&dataset.x);
    if let Some(nodes) = nodes {
        p = p.map(|p| p.restricted_to(nodes));
        x = Cow::Owned(x.rows(nodes));
    }
    let mut net = match scaler.apply(&x) {
        Features::Dense(x) => Net::dense(x.cast(), p, dataset.n_classes()),
        Features::Sparse { pattern, values } => {
            let values = values.into_iter().map(f64::from).collect();
            Net::sparse(Sparse::new(pattern, values), p, dataset.n_classes())
        }
    };
    net = net.with_graph(&dataset.graph);
    if let Some(nodes) = nodes {
        net = net.restricted_to(nodes);
    }
    build(net, info, hp)
}

/// Computes the terms of a precomputed filter.
pub(super) fn precompute(
    dataset: &Dataset,
    info: &ModelInfo,
    scaler: &Scaler,
    terms: &FilterTerms,
    options: &PrecomputeOptions<'_>,
) -> Result<PrecomputedTerms> {
    let kind = info.operator.expect("a filter is a polynomial in the operator of its model");
    let p = unordered_operator(&dataset.graph, kind)?;
    let operator = &format!("{kind:?}");
    PrecomputedTerms::compute(TermSource { dataset, scaler, p: &p, operator, terms }, options)
}

/// [`record`] for a batch of rows of precomputed matrices.
pub(super) fn record_batch(
    info: &ModelInfo,
    hp: &Params,
    (n_rows, n_features): (usize, usize),
    n_classes: usize,
) -> Result<(Net, Var)> {
    let terms = info.precomputed_terms(hp).expect("the model has a precomputed filter");
    build(Net::precomputed((n_rows, n_features), terms.n_matrices(), n_classes), info, hp)
}

/// Records the equations of the model on this net.
fn build(mut net: Net, info: &ModelInfo, hp: &Params) -> Result<(Net, Var)> {
    let logits = (info.build)(&mut net, hp);
    if let Some(hidden) = net.hidden() {
        net.name(HIDDEN, hidden);
    }
    Ok((net.into_checked()?, logits))
}
