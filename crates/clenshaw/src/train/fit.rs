//! The training loop, one epoch at a time, all of its state in the open.
//!
//! ```text
//! epoch e:  gradient with dropout of stream (seed, e)  ->  optimiser step  ->  one evaluation pass
//! ```

use super::setup::{Setup, optimiser};
use super::stop::EarlyStopping;
use super::{most_likely, weights};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::tensor::{AlignedVec, Mat, Optimiser, Targets, ThreadTeam, Workspace, log_sum_exp};
use std::time::{Duration, Instant};

/// What one epoch brought.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Epoch {
    /// Counted from one.
    pub epoch: usize,
    /// The loss on the training nodes, with dropout, before the step.
    pub train_loss: f64,
    /// The loss on the validation nodes after the step.
    pub val_loss: f64,
    /// The share of validation nodes whose class is right after the step.
    pub val_accuracy: f64,
}

/// A run in progress.
pub struct Fit<'a> {
    setup: &'a Setup,
    stop: EarlyStopping,
    targets: Targets<f32>,
    val: Vec<(usize, u32)>,
    chance: Stream,
    work: Workspace<f32>,
    threads: usize,
    params: AlignedVec<f32>,
    best: AlignedVec<f32>,
    optimiser: Optimiser<f32>,
    history: Vec<Epoch>,
    /// When it was begun or restored, and the time it had taken before.
    begun: Instant,
    before: Duration,
}

/// What a checkpoint says beside its tensors.
#[derive(serde::Serialize, serde::Deserialize)]
struct CheckpointLog {
    elapsed: Duration,
    history: Vec<Epoch>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every epoch.
    pub history: Vec<Epoch>,
    /// The epoch whose weights were kept.
    pub best: Epoch,
    /// These weights, in the order of the plan's parameters.
    pub weights: AlignedVec<f32>,
    /// The probability of every class for every node, `[n, C]`.
    pub probabilities: Mat<f32>,
}

impl<'a> Fit<'a> {
    /// Starts a run; only the labels of training and validation nodes are looked at.
    pub fn new(
        setup: &'a Setup,
        dataset: &Dataset,
        split: &Split,
        seed: u64,
        threads: usize,
    ) -> Self {
        let label = |i: u32| dataset.y[i as usize].expect("a split holds labelled nodes only");
        let params = setup.initial(seed);
        Self {
            stop: EarlyStopping::from_params(&setup.hp),
            targets: Targets::mean_over(dataset.graph.n_nodes(), &split.train, label),
            val: split.val.iter().map(|&i| (i as usize, label(i))).collect(),
            chance: Stream::new(seed, "dropout"),
            work: setup.plan().workspace(ThreadTeam::new(threads)),
            threads,
            best: params.clone(),
            params,
            optimiser: optimiser(setup.plan(), setup.info, &setup.hp),
            history: Vec::new(),
            begun: Instant::now(),
            before: Duration::ZERO,
            setup,
        }
    }

    /// One training step and one evaluation.
    pub fn epoch(&mut self) -> Result<Epoch> {
        let epoch = self.history.len() + 1;
        let plan = self.setup.plan();
        let chance = self.chance.numbered(epoch as u64);
        let loss = plan.gradient(&mut self.work, &self.params, &self.targets, &chance);
        self.check(epoch, "training loss", f64::from(loss))?;
        self.optimiser.step(&mut self.params, self.work.gradients());
        let (val_loss, val_accuracy) = self.validate();
        self.check(epoch, "validation loss", val_loss)?;
        let record = Epoch { epoch, train_loss: f64::from(loss), val_loss, val_accuracy };
        self.history.push(record);
        if self.stop.best(&self.history) + 1 == epoch {
            self.best.copy_from_slice(&self.params);
        }
        Ok(record)
    }

    /// Every epoch so far.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// Whether the stopping rule or the limit of epochs has been reached.
    pub fn finished(&self) -> bool {
        self.stop.should_stop(&self.history)
    }

    /// Trains until [`Fit::finished`]; `watch` sees every epoch and ends the run with `false`.
    ///
    /// # Errors
    /// [`Error::Diverged`] when a loss is no number, [`Error::Interrupted`] when `watch` says so; the
    /// state stays where it was and can be saved with [`Fit::checkpoint`].
    pub fn run(&mut self, mut watch: impl FnMut(&Self, &Epoch) -> bool) -> Result<()> {
        while !self.finished() {
            let epoch = self.epoch()?;
            if !watch(self, &epoch) && !self.finished() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }

    /// The best weights and what they predict; panics before the first epoch.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            history: self.history.clone(),
            best: self.history[self.stop.best(&self.history)],
            weights: self.best.clone(),
            probabilities: self.setup.predict(&self.best, self.threads),
        }
    }

    /// The time it has taken, that before the last [`Fit::checkpoint`] it was restored from included.
    pub fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    fn elapsed(&self) -> Duration {
        self.before + self.begun.elapsed()
    }

    /// Everything needed to go on from here to the same bits.
    pub fn checkpoint(&self) -> Vec<u8> {
        let row = |values: &[f32]| Mat::from_vec(1, values.len(), values.to_vec());
        let log = CheckpointLog { elapsed: self.elapsed(), history: self.history.clone() };
        let log = serde_json::to_string(&log).expect("epochs are plain numbers");
        let state = [
            ("params".to_owned(), row(&self.params)),
            ("best".to_owned(), row(&self.best)),
            ("first".to_owned(), row(&self.optimiser.first)),
            ("second".to_owned(), row(&self.optimiser.second)),
        ];
        weights::write_weights(&state, &log)
    }

    /// Goes on from a checkpoint of the same run; `place` names it in errors.
    pub fn restore(&mut self, place: &str, bytes: &[u8]) -> Result<()> {
        let state = weights::read_weights(place, bytes)?;
        let wrong = |problem: String| Error::Data { place: place.into(), problem };
        let CheckpointLog { elapsed, history } =
            serde_json::from_str(&state.metadata).map_err(|e| wrong(e.to_string()))?;
        let part = |name: &str| {
            let found =
                state.tensors.iter().find(|(n, m)| n == name && m.cols() == self.params.len());
            let missing = || wrong(format!("no `{name}` of {} numbers", self.params.len()));
            found.map(|(_, m)| m.as_slice().to_vec()).ok_or_else(missing)
        };
        let (params, best) = (part("params")?, part("best")?);
        (self.optimiser.first, self.optimiser.second) = (part("first")?, part("second")?);
        (self.params, self.best) = (AlignedVec::from(&params[..]), AlignedVec::from(&best[..]));
        self.optimiser.steps = history.len() as u64;
        self.history = history;
        (self.before, self.begun) = (elapsed, Instant::now());
        Ok(())
    }

    /// Loss and accuracy on the validation nodes, without dropout.
    fn validate(&mut self) -> (f64, f64) {
        let plan = self.setup.plan();
        let c = plan.shape().1;
        let scores = plan.scores(&mut self.work, &self.params);
        let (mut loss, mut right) = (0.0, 0);
        for &(i, label) in &self.val {
            let z = &scores[i * c..(i + 1) * c];
            loss += f64::from(log_sum_exp(z) - z[label as usize]);
            right += usize::from(most_likely(z) == label);
        }
        let n = self.val.len() as f64;
        (loss / n, right as f64 / n)
    }

    fn check(&self, epoch: usize, what: &'static str, value: f64) -> Result<()> {
        if value.is_finite() {
            return Ok(());
        }
        let rates = self.setup.info.groups.iter().map(|group| group.rate);
        let mut lower: Vec<String> =
            rates.map(|key| format!("`{key}` (now {})", self.setup.hp.real(key))).collect();
        lower.dedup();
        Err(Error::Diverged { epoch, what, value, lower: lower.join(" or ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, SplitKind};
    use crate::model;

    #[test]
    fn a_restored_run_has_the_time_it_took_before() {
        let graph = data::load("csbm:nodes=60").unwrap();
        let info = model::find("gcn").unwrap();
        let setup = Setup::new(&graph, info, info.defaults());
        let split = SplitKind::Balanced.draw(&graph, 0).unwrap();
        let mut first = Fit::new(&setup, &graph, &split, 0, 1);
        first.before = Duration::from_secs(3600);
        first.epoch().unwrap();
        let mut second = Fit::new(&setup, &graph, &split, 0, 1);
        second.restore("t", &first.checkpoint()).unwrap();
        assert!(second.seconds() > 3600.0, "{}", second.seconds());
        assert_eq!(second.history(), first.history());
    }
}
