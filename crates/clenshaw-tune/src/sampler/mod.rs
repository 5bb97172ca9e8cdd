//! Samplers: choose the parameter values of the next trial.
//!
//! A sampler is a pure function of its [`SamplingContext`]. Its random numbers depend on the study's seed
//! and, except for the order of a grid, on the trial number and the names of the parameters sampled together.
//! They do not depend on the order in which workers request trials.

mod grid;
mod numeric_range;
mod random;
pub(crate) mod tpe;

pub(crate) use numeric_range::NumericRange;

pub use tpe::Tpe;

use crate::error::Result;
use crate::{Direction, Distribution, Trial};
use clenshaw_rng::Stream;
use std::collections::BTreeMap;

/// A method for choosing the parameter values of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Sampler {
    /// Samples uniformly, independently of earlier trials.
    Random,
    /// Visits every combination of values, in an order shuffled by the seed.
    Grid,
    /// Samples near the best trials: tree-structured Parzen estimators.
    Tpe(Tpe),
}

/// The input of a sampler: the study so far and the trial to sample for.
#[derive(Clone, Copy, Debug)]
pub struct SamplingContext<'a> {
    /// The search space.
    pub space: &'a BTreeMap<String, Distribution>,
    /// The trials to take into account, ordered by number. The trial to sample for may be among them; it is
    /// ignored.
    pub trials: &'a [Trial],
    /// The direction of the study.
    pub direction: Direction,
    /// The seed of the study.
    pub seed: u64,
    /// The number of the trial to sample for.
    pub number: u64,
}

impl Sampler {
    /// Returns an internal value for every parameter, or `None` if a grid has no points left.
    ///
    /// # Errors
    /// If a distribution is invalid, or if a grid is infinite or has too many points.
    ///
    /// ```
    /// use clenshaw_tune::{Direction, Distribution, Sampler, SamplingContext, Tpe};
    /// let rate = Distribution::Float { low: 1e-4, high: 1e-1, log: true, step: None };
    /// let space = [("rate".to_owned(), rate)].into();
    /// let direction = Direction::Maximize;
    /// let context = SamplingContext { space: &space, trials: &[], direction, seed: 1, number: 0 };
    /// let values = Sampler::Tpe(Tpe::default()).sample(&context)?.expect("only a grid can be exhausted");
    /// assert!((1e-4..=1e-1).contains(&values["rate"]));
    /// # Ok::<(), clenshaw_tune::Error>(())
    /// ```
    pub fn sample(&self, context: &SamplingContext) -> Result<Option<BTreeMap<String, f64>>> {
        context.space.iter().try_for_each(|(name, distribution)| distribution.check(name))?;
        match self {
            Self::Random => Ok(Some(random::sample(context))),
            Self::Grid => grid::sample(context),
            Self::Tpe(tpe) => Ok(Some(tpe.sample(context))),
        }
    }
}

impl SamplingContext<'_> {
    /// The random stream of the trial.
    fn stream(&self) -> Stream {
        Stream::new(self.seed, "tuning").numbered(self.number)
    }

    /// All trials except the one to sample for.
    fn other_trials(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.number != self.number)
    }
}
