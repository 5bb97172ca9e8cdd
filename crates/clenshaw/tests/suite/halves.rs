//! Gathering from upper halves moves every model's scores and gradients a little, and only a little.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

use clenshaw::data::{self, Dataset, SplitKind};
use clenshaw::model::{MODELS, ModelInfo};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Targets, ThreadTeam};
use clenshaw::train::Setup;

/// Scores and gradients of a model after its initial parameters were moved off zero.
fn computed(graph: &Dataset, info: &'static ModelInfo, gather: &str, threads: usize) -> Vec<f32> {
    let mut hp = info.defaults();
    hp.set("gather", gather).unwrap();
    let setup = Setup::new(graph, info, hp);
    let plan = setup.plan();
    let mut noise = Stream::new(1, "halves");
    let params: Vec<f32> =
        setup.initial(0).iter().map(|w| w + noise.symmetric(0.1) as f32).collect();
    let split = SplitKind::Balanced.draw(graph, 0).unwrap();
    let label = |i: u32| graph.y[i as usize].unwrap();
    let targets = Targets::mean_over(graph.graph.n_nodes(), &split.train, label);
    let mut work = plan.workspace(ThreadTeam::new(threads));
    let mut all = plan.scores(&mut work, &params).to_vec();
    plan.gradient(&mut work, &params, &targets, &Stream::new(2, "dropout"));
    all.extend(work.gradients());
    all
}

#[test]
fn every_model_computes_nearly_the_same() {
    let graph = data::load("csbm:nodes=200,features=9").unwrap();
    for info in MODELS {
        let whole = computed(&graph, info, "f32", 1);
        let halves = computed(&graph, info, "bf16", 1);
        assert!(computed(&graph, info, "bf16", 3) == halves, "{}: threads matter", info.name);
        let norm = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let difference: Vec<f32> = whole.iter().zip(&halves).map(|(a, b)| a - b).collect();
        let error = norm(&difference) / norm(&whole);
        // Eight binary digits: 2^-9 at most for a single rounding; orthogonalising amplifies it.
        let most = if info.name == "opt-basis-gnn" { 0.1 } else { 0.02 };
        assert!(error < most, "{}: relative error {error}", info.name);
        let spreads = info.operator.is_some() && info.name != "linkx";
        assert!(!spreads || error > 0.0, "{}: nothing was rounded", info.name);
    }
}
