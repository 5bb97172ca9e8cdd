//! One training step, measured beside what this machine allows.

use super::setup::{Setup, optimiser};
use crate::data::Split;
use crate::error::Result;
use crate::rng::Stream;
use crate::tensor::{Cost, Phase, PhaseTimer, Roofline, ThreadTeam};
use std::time::Instant;

/// A part of a step: what it took and what it could take.
#[derive(Clone, Debug)]
pub struct PhaseTiming {
    /// What it is called.
    pub name: &'static str,
    /// Its work.
    pub work: Cost,
    /// Seconds, the time of all threads divided by their number.
    pub seconds: f64,
    /// Seconds at the machine's rates.
    pub bound: f64,
}

/// A measured step: forward, backward, optimiser.
#[derive(Clone, Debug)]
pub struct StepTiming {
    /// The median.
    pub seconds: f64,
    /// The fastest.
    pub fastest: f64,
    /// The median of an evaluation pass, which follows every step of a training.
    pub evaluation: f64,
    /// The step's parts.
    pub parts: Vec<PhaseTiming>,
    /// What the step would take at the machine's rates.
    pub bound: f64,
    /// The size of the memory that a step works in.
    pub workspace_bytes: usize,
}

impl StepTiming {
    /// Times `n_steps` training steps, and the phases of as many others.
    ///
    /// # Errors
    /// If the split does not fit the data set of `setup`.
    pub fn measure(
        setup: &Setup,
        split: &Split,
        roofline: &mut Roofline,
        n_steps: usize,
    ) -> Result<Self> {
        assert!(n_steps > 0, "measure: expected at least one step");
        let (plan, threads) = (setup.plan(), roofline.threads());
        let targets = setup.targets(split)?;
        let mut work = plan.workspace(ThreadTeam::new(threads));
        let mut params = setup.initial(0);
        let mut optimiser = optimiser(plan, setup.info(), setup.hp());
        let dropout = Stream::new(0, "dropout");
        let (mut steps, mut evaluations) = (Vec::new(), Vec::new());
        let (mut metered, mut updates) = (Vec::new(), Vec::new());
        for i in 0..n_steps + 1 {
            let dropout = dropout.numbered(i as u64);
            let step = seconds(|| {
                plan.gradient(&mut work, &params, &targets, &dropout);
                optimiser.step(&mut params, work.gradients());
            });
            let meter = PhaseTimer::default();
            plan.metered_gradient(&mut work, &params, &targets, &dropout, &meter);
            let update = seconds(|| optimiser.step(&mut params, work.gradients()));
            let evaluation = seconds(|| _ = plan.scores(&mut work, &params));
            // The first round warms the caches.
            if i > 0 {
                steps.push(step);
                evaluations.push(evaluation);
                metered.push(meter);
                updates.push(update);
            }
        }
        let workspace_bytes = plan.workspace_bytes();
        let mut part = |name, work: Cost, seconds| {
            let bound = roofline.seconds(&work, workspace_bytes);
            PhaseTiming { name, work, seconds, bound }
        };
        let of_phase = |phase: Phase| {
            let times = metered.iter().map(|meter| meter.seconds(phase) / threads as f64);
            median(times.collect())
        };
        let phases = plan.costs().into_iter();
        let mut parts: Vec<PhaseTiming> =
            phases.map(|(phase, work)| part(phase.name(), work, of_phase(phase))).collect();
        // Weights, gradients and two moments are read, all but the gradients written.
        let moved = (7 * size_of_val(&*params)) as f64;
        let moved = Cost { streamed: moved, ..Cost::default() };
        parts.push(part("optimiser", moved, median(updates)));
        Ok(Self {
            fastest: steps.iter().copied().fold(f64::INFINITY, f64::min),
            seconds: median(steps),
            evaluation: median(evaluations),
            bound: parts.iter().map(|part| part.bound).sum(),
            parts,
            workspace_bytes,
        })
    }

    /// The step's time beyond that of its parts: threads that wait for each other.
    pub fn waiting(&self) -> f64 {
        (self.seconds - self.parts.iter().map(|part| part.seconds).sum::<f64>()).max(0.0)
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
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
    fn the_parts_of_a_step_carry_its_work() {
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
        // Three products a layer; the first layer needs no gradient of its features.
        let flops = 2.0 * n * (3.0 * 3.0 * width * width + 3.0 * width * classes);
        let first = 2.0 * 2.0 * n * features * width;
        assert_eq!(step.parts[0].name, "dense products");
        assert_eq!(step.parts[0].work.flops, flops + first);
        let entries = (2 * graph.graph.n_edges()) as f64 + n;
        let gathered = step.parts[1].work.gathered_bytes();
        // Layers 1 and 2 spread forward; both hand their gradients back the same way.
        assert_eq!(gathered, 4.0 * entries * width * 4.0);
        assert!(step.fastest <= step.seconds && step.bound > 0.0);
    }

    #[test]
    fn medians_of_odd_and_even_lists() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
