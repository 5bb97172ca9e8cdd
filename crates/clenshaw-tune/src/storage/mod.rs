//! Where studies are kept, so that many workers share one and a crash loses at most a trial.
//!
//! ```
//! use clenshaw_tune::{Direction, Distribution, Ending, Journal, Storage};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! let storage = Journal::open(folder.path().join("study.log"))?;
//! let study = storage.study("parabola", Direction::Minimise)?;
//! let x = Distribution::Float { low: -1.0, high: 1.0, log: false, step: None };
//! for value in [-0.5, 0.25] {
//!     let trial = storage.create_trial(study)?;
//!     storage.set_params(trial.id, &[("x".into(), (x.clone(), value))].into())?;
//!     storage.finish(trial.id, Ending::Complete(value * value))?;
//! }
//! assert_eq!(storage.trials(study)?[1].value, Some(0.0625));
//! # Ok::<(), clenshaw_tune::Error>(())
//! ```

pub(super) mod json;
mod clock;
mod worker;
mod rules;
mod journal;
mod address;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod relational;
mod place;

pub use address::{Address, without_password};
pub use journal::{Journal, Patience};
pub use place::Place;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use relational::{Habits, Relational};

use super::{Attributes, Choice, Direction, Ending, Params, State, Trial};
use crate::error::Result;
use std::collections::BTreeMap;
use std::time::Duration;

/// A study as a storage lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Study {
    /// Its identity within the storage.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What it looks for; nothing, if it has several objectives or none was said.
    pub direction: Option<Direction>,
}

/// Whose notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notes {
    /// Those of users.
    User,
    /// Those of samplers, pruners and dashboards.
    System,
}

/// A place that keeps studies. No other worker comes between what a call sees and what it changes.
///
/// Trials are named by [`Trial::id`]; one that is finished does not change, and trying to is an error.
pub trait Storage: Send + Sync {
    /// The studies there are.
    fn studies(&self) -> Result<Vec<Study>>;

    /// The study of a name, which is made if there is none; an error if its direction is another.
    fn study(&self, name: &str, direction: Direction) -> Result<u64>;

    /// What is noted about a study.
    fn study_attrs(&self, study: u64, notes: Notes) -> Result<Attributes>;

    /// Notes something about a study, in place of earlier notes of the same names.
    fn set_study_attrs(&self, study: u64, notes: Notes, attrs: &Attributes) -> Result<()>;

    /// A new trial, running, for this worker.
    fn create_trial(&self, study: u64) -> Result<Trial>;

    /// A new trial, waiting, some of whose parameters are chosen beforehand; [`Trial::fixed`] finds them.
    fn enqueue(&self, study: u64, fixed: &BTreeMap<String, Choice>) -> Result<Trial>;

    /// The first waiting trial, now running, for this worker alone; nothing, if none waits.
    fn claim_waiting(&self, study: u64) -> Result<Option<Trial>>;

    /// Says what was drawn; an error, and nothing is kept, if a name has another kind of distribution in
    /// the study.
    fn set_params(&self, trial: u64, params: &Params) -> Result<()>;

    /// Says how a trial is doing; a value that is not finite is not kept.
    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()>;

    /// Notes something about a trial.
    fn set_trial_attrs(&self, trial: u64, notes: Notes, attrs: &Attributes) -> Result<()>;

    /// Ends a trial; returns the state that is kept, by [`Ending::kept`].
    fn finish(&self, trial: u64, ending: Ending) -> Result<State>;

    /// All trials of a study by number, as of now.
    fn trials(&self, study: u64) -> Result<Vec<Trial>>;

    /// How far apart signs of life of a running trial are to be.
    fn interval(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// A sign of life while a trial runs; nothing, where the storage knows its workers otherwise. Whoever
    /// gives one must go on doing so, or the trial is held for dead.
    fn beat(&self, _trial: u64) -> Result<()> {
        Ok(())
    }

    /// Fails the running trials whose workers are known to be dead, and returns their ids.
    fn reap_dead(&self, _study: u64) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }
}
