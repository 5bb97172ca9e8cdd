//! Gathering in bf16 changes the scores and gradients of every model that uses the graph, but only slightly.

use clenshaw::data::{self, Dataset, SplitKind};
use clenshaw::model::{MODELS, ModelInfo};
use clenshaw::rng::Stream;
use clenshaw::tensor::ThreadTeam;
use clenshaw::train::Setup;

/// Scores and gradients of a model with noise added to its initial parameters.
fn scores_and_gradients(
    graph: &Dataset,
    info: &'static ModelInfo,
    gather: &str,
    threads: usize,
) -> Vec<f32> {
    let mut hp = info.defaults();
    hp.set("gather", gather).unwrap();
    let setup = Setup::new(graph.clone(), info, hp).unwrap();
    let plan = setup.plan();
    let mut noise = Stream::new(1, "bf16 test");
    let params: Vec<f32> =
        setup.initial_params(0).iter().map(|w| w + noise.symmetric(0.1) as f32).collect();
    let split = SplitKind::Balanced.draw(graph, 0).unwrap();
    let targets = setup.targets(&split).unwrap();
    let mut work = plan.workspace(ThreadTeam::new(threads));
    let mut all = plan.scores(&mut work, &params).to_vec();
    plan.gradient(&mut work, &params, &targets, &Stream::new(2, "dropout"));
    all.extend(work.gradients());
    all
}

#[test]
fn every_model_stays_close_to_full_precision() {
    let graph = data::load("csbm:nodes=200,features=9").unwrap();
    for info in MODELS {
        let full = scores_and_gradients(&graph, info, "f32", 1);
        let rounded = scores_and_gradients(&graph, info, "bf16", 1);
        assert!(
            scores_and_gradients(&graph, info, "bf16", 3) == rounded,
            "{}: depends on the number of threads",
            info.name
        );
        let norm = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let difference: Vec<f32> = full.iter().zip(&rounded).map(|(a, b)| a - b).collect();
        let error = norm(&difference) / norm(&full);
        // Eight significant bits: at most 2^-9 per rounding; orthogonalisation amplifies it.
        let limit = if info.name == "opt-basis-gnn" { 0.1 } else { 0.02 };
        assert!(error < limit, "{}: relative error {error}", info.name);
        // Attention has its own weights per edge and reads full precision.
        // Attention, an eigendecomposition and a basis computed before training read full precision.
        let full = ["gat", "gat-sep", "specformer", "uni-filter"];
        let reads_bf16 = info.operator.is_some() && !full.contains(&info.name);
        assert_eq!(error > 0.0, reads_bf16, "{}: relative error {error}", info.name);
    }
}
