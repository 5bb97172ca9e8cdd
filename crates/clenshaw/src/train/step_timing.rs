//! Timing of a training step, compared with the limits of the machine.

use super::batches::Batches;
use super::setup::{Setup, optimiser};
use crate::data::Split;
use crate::error::Result;
use crate::graph::{Graph, operator};
use crate::rng::Stream;
use crate::tensor::{Cost, Phase, PhaseTimer, Roofline, ThreadTeam};
use std::sync::Arc;
use std::time::Instant;

/// The time of one phase of a step.
#[derive(Clone, Debug)]
pub struct PhaseTiming {
    /// The name of the phase.
    pub name: &'static str,
    /// Its operations and memory traffic.
    pub cost: Cost,
    /// The measured seconds: the mean over the threads, and the median of these means over the steps.
    pub seconds: f64,
    /// The seconds it would take at the rates of the [`Roofline`].
    pub bound: f64,
}

/// The time of a training step: forward pass, backward pass, optimiser.
#[derive(Clone, Debug)]
pub struct StepTiming {
    /// The median time of a step in seconds.
    pub seconds: f64,
    /// The fastest step in seconds.
    pub fastest: f64,
    /// The median time in seconds of an evaluation pass, which follows every step in training unless the next
    /// step computes the same scores.
    pub evaluation: f64,
    /// The phases of the step.
    pub phases: Vec<PhaseTiming>,
    /// The seconds the step would take at the rates of the [`Roofline`].
    pub bound: f64,
    /// The size of a single-threaded workspace in bytes.
    pub workspace_bytes: usize,
    /// What is done before the first step.
    pub preparation: Preparation,
}

/// The seconds that are spent before the first step.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// The search for a node order; once per graph, and not at all if the graph comes from the cache of parsed
    /// graphs.
    pub node_order: f64,
    /// The reordering of the operator, and the search for shared sums; once per loaded graph. 0 for a model
    /// without an operator.
    pub shared_sums: f64,
    /// The compilation of the model, including the transposition of sparse features; once per model.
    pub compilation: f64,
}

impl Preparation {
    /// Prepares a copy of the graph of `setup`.
    fn measure(setup: &Setup) -> Result<Self> {
        let dataset = setup.dataset();
        let graph = Graph::from_adjacency(&dataset.name, (**dataset.graph.adjacency()).clone())?;
        let node_order = time(|| _ = graph.node_order());
        let shared_sums = setup.info().operator.map_or(0.0, |kind| {
            let operator = operator(&graph, kind);
            time(|| _ = operator.layout())
        });
        let (scaler, hp) = (setup.scaler().clone(), setup.hp().clone());
        let dataset = Arc::clone(dataset);
        let start = Instant::now();
        Setup::with_scaler(dataset, setup.info(), hp, scaler)?;
        Ok(Self { node_order, shared_sums, compilation: start.elapsed().as_secs_f64() })
    }
}

impl StepTiming {
    /// Times `n_steps` training steps, and the phases of another `n_steps` steps, after a warm-up. With a precomputed
    /// filter, all of them use the same batch, whose rows are loaded before.
    ///
    /// # Errors
    /// If the split does not fit the data set of `setup` or has no training nodes, or the terms of a precomputed filter
    /// cannot be read.
    ///
    /// # Panics
    /// If `n_steps` is 0.
    pub fn measure(
        setup: &Setup,
        split: &Split,
        roofline: &mut Roofline,
        n_steps: usize,
    ) -> Result<Self> {
        assert!(n_steps > 0, "measure: expected at least one step");
        let (plan, threads) = (setup.plan(), roofline.threads());
        let mut targets = setup.targets(split)?;
        let mut work = plan.workspace(ThreadTeam::new(threads));
        if let Some(mut batches) = Batches::new(setup, split)? {
            let nodes = batches.of_epoch(0, 1).swap_remove(0);
            batches.load(&mut work, &nodes)?;
            targets = targets.select(&nodes, plan.shape().0);
        }
        let mut params = setup.initial_params(0);
        let mut optimiser = optimiser(plan, setup.info(), setup.hp());
        let dropout = Stream::new(0, "dropout");
        let (mut steps, mut evaluations) = (Vec::new(), Vec::new());
        let (mut timers, mut updates) = (Vec::new(), Vec::new());
        for i in 0..n_steps + 1 {
            let dropout = dropout.numbered(i as u64);
            let step = time(|| {
                plan.gradient(&mut work, &params, &targets, &dropout);
                work.update(&mut optimiser, &mut params);
            });
            let timer = PhaseTimer::default();
            plan.timed_gradient(&mut work, &params, &targets, &dropout, &timer);
            let update = time(|| work.update(&mut optimiser, &mut params));
            let evaluation = time(|| _ = plan.scores(&mut work, &params));
            // The first iteration is a warm-up.
            if i > 0 {
                steps.push(step);
                evaluations.push(evaluation);
                timers.push(timer);
                updates.push(update);
            }
        }
        let workspace_bytes = plan.workspace_bytes();
        let mut timing = |name, cost: Cost, seconds| {
            let bound = roofline.lower_bound(&cost, workspace_bytes);
            PhaseTiming { name, cost, seconds, bound }
        };
        let phase_seconds = |phase: Phase| {
            let times = timers.iter().map(|timer| timer.seconds(phase) / threads as f64);
            median(times.collect())
        };
        let costs = plan.costs().into_iter();
        let mut phases: Vec<PhaseTiming> =
            costs.map(|(phase, cost)| timing(phase.name(), cost, phase_seconds(phase))).collect();
        // Weights, gradients and two moments are read, and all except the gradients written.
        let moved = (7 * size_of_val(&*params)) as f64;
        let moved = Cost { streamed: moved, ..Cost::default() };
        phases.push(timing("optimiser", moved, median(updates)));
        Ok(Self {
            fastest: steps.iter().copied().fold(f64::INFINITY, f64::min),
            seconds: median(steps),
            evaluation: median(evaluations),
            bound: phases.iter().map(|phase| phase.bound).sum(),
            phases,
            workspace_bytes,
            preparation: Preparation::measure(setup)?,
        })
    }

    /// The seconds of a step that belong to no phase: the time in which threads wait for each other.
    pub fn waiting(&self) -> f64 {
        (self.seconds - self.phases.iter().map(|phase| phase.seconds).sum::<f64>()).max(0.0)
    }
}

/// Runs `work` and returns its duration in seconds.
fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, SplitKind};

    #[test]
    fn phase_costs_match_the_operation_counts() {
        let graph = data::load("csbm:nodes=200").unwrap();
        let info = crate::model::find("clenshaw-gcn").unwrap();
        let mut hp = info.defaults();
        hp.set("K", "2").unwrap();
        let split = SplitKind::Balanced.draw(&graph, 0).unwrap();
        let setup = Setup::new(graph, info, hp).unwrap();
        let step = StepTiming::measure(&setup, &split, &mut Roofline::new(1), 2).unwrap();
        let graph = setup.dataset();
        let (n, width, classes) = (200.0, 64.0, graph.n_classes() as f64);
        let features = graph.x.n_cols() as f64;
        // Three products per layer; the first layer needs no gradient of its features.
        let flops = 2.0 * n * (3.0 * 3.0 * width * width + 3.0 * width * classes);
        let first = 2.0 * 2.0 * n * features * width;
        assert_eq!(step.phases[0].name, "dense products");
        assert_eq!(step.phases[0].cost.flops, flops + first);
        let entries = (2 * graph.graph.n_edges()) as f64 + n;
        let gathered = step.phases[1].cost.gathered_bytes();
        // Layers 1 and 2 propagate in the forward pass, and in the backward pass again.
        assert_eq!(gathered, 4.0 * entries * width * 4.0);
        assert!(step.fastest <= step.seconds && step.bound > 0.0);
        let Preparation { node_order, shared_sums, compilation } = step.preparation;
        assert!(node_order > 0.0 && shared_sums > 0.0 && compilation > 0.0);
    }

    #[test]
    fn median_of_odd_and_even_lists() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
