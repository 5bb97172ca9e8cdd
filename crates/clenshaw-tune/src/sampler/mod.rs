//! Samplers: which values the next trial tries.
//!
//! A sampler is a function of the study so far. Its chance depends on the study's seed, the trial's
//! number and, for parameters drawn on their own, their name: never on who asks first.

mod line;
mod random;
mod grid;
pub(super) mod tpe;

pub(super) use line::Line;

pub use tpe::{Tpe, View};

use super::{Direction, Distribution, Trial};
use crate::error::Result;
use clenshaw_rng::Stream;
use std::collections::BTreeMap;

/// A way to choose the values of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Sampler {
    /// Evenly, whatever came before.
    Random,
    /// Every combination once, in an order that the seed shuffles.
    Grid,
    /// More of what was good, by Parzen estimators.
    Tpe(Tpe),
}

/// What a sampler is asked: values for trial `number`, given the study so far.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The parameters and what they may be.
    pub space: &'a BTreeMap<String, Distribution>,
    /// The study's trials by number; the one that is asked for may be among them.
    pub trials: &'a [Trial],
    /// Which end of the objective is good.
    pub direction: Direction,
    /// The study's seed.
    pub seed: u64,
    /// The number of the trial that wants values.
    pub number: u64,
}

impl Sampler {
    /// The internal value of every parameter; nothing when a grid has no point left.
    ///
    /// ```
    /// use clenshaw_tune::{Ask, Direction, Distribution, Sampler, Tpe};
    /// let rate = Distribution::Float { low: 1e-4, high: 1e-1, log: true, step: None };
    /// let space = [("rate".to_owned(), rate)].into();
    /// let direction = Direction::Maximise;
    /// let ask = Ask { space: &space, trials: &[], direction, seed: 1, number: 0 };
    /// let values = Sampler::Tpe(Tpe::default()).sample(&ask)?.expect("only grids end");
    /// assert!((1e-4..=1e-1).contains(&values["rate"]));
    /// # Ok::<(), clenshaw_tune::Error>(())
    /// ```
    pub fn sample(&self, ask: &Ask) -> Result<Option<BTreeMap<String, f64>>> {
        match self {
            Self::Random => Ok(Some(random::sample(ask))),
            Self::Grid => grid::sample(ask),
            Self::Tpe(tpe) => Ok(Some(tpe.sample(ask))),
        }
    }
}

impl Ask<'_> {
    /// The chance of this trial.
    fn stream(&self) -> Stream {
        Stream::new(self.seed, "tuning").numbered(self.number)
    }

    /// The other trials of the study.
    fn others(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.number != self.number)
    }
}
