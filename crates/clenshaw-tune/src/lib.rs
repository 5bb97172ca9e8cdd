//! Hyper-parameter studies in Optuna's storage formats.
//!
//! Optuna 4 and 5 and optuna-dashboard can open the studies that this crate writes, and Rust and Python
//! workers can run trials of the same study at the same time.
//!
//! # A first study
//!
//! A [`Study`] belongs to a [`Storage`]. [`Study::ask`] samples parameter values for a trial,
//! [`Study::report`] stores intermediate values and applies the pruner, and [`Study::tell`] stores the
//! outcome:
//!
//! ```
//! use clenshaw_tune::{Direction, Distribution, JournalStorage, Study, TrialOutcome};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("studies.journal");
//! # let path = path.to_str().unwrap();
//! # /*
//! let path = "studies.journal";
//! # */
//! let storage = JournalStorage::open(path)?;
//! let study = Study::open(&storage, "parabola", Direction::Minimize)?;
//! let x = Distribution::Float { low: -1.0, high: 1.0, log: false, step: None };
//! let space = [("x".to_owned(), x)].into();
//!
//! for _ in 0..20 {
//!     let Some(trial) = study.ask(&space)? else { break };
//!     let x = trial.params["x"].1;
//!     let is_pruned = study.report(&trial, 0, x * x + 1.0)?;
//!     let outcome = match is_pruned {
//!         true => TrialOutcome::Pruned(Some(x * x + 1.0)),
//!         false => TrialOutcome::Complete(x * x),
//!     };
//!     study.tell(&trial, outcome)?;
//! }
//! let best = study.best_trial()?.expect("at least one trial is complete");
//! assert!(best.value.expect("complete trials have a value") < 0.1);
//! # Ok::<(), clenshaw_tune::Error>(())
//! ```
//!
//! The same study in Python:
//!
//! ```python
//! import optuna
//! from optuna.storages import JournalStorage
//! from optuna.storages.journal import JournalFileBackend
//! storage = JournalStorage(JournalFileBackend("studies.journal"))
//! study = optuna.load_study(study_name="parabola", storage=storage)
//! ```
//!
//! # Overview
//!
//! - [`Storage`]: [`JournalStorage`] for a file, `RdbStorage` for SQLite (feature `sqlite`) and PostgreSQL
//!   (feature `postgres`). [`StorageLocation`] opens any of them by path or URL.
//! - [`Sampler`]: random, grid and TPE. A sampler is a deterministic function of its [`SamplingContext`].
//! - [`Pruner`]: median, successive halving and Hyperband.
//! - [`param_importances`][]: PED-ANOVA.
//! - [`dashboard`]: notes and plots for optuna-dashboard.
//!
//! TPE's density estimates and the importances match those of Optuna 5 numerically, and so do the pruners'
//! decisions if `min_resource` and `max_resource` are set. Sampled values differ, because the random number
//! generators differ.
//!
//! Not supported: multiple objectives, constraints, MySQL and Optuna's gRPC proxy.

mod distribution;
mod error;
mod importance;
mod pruner;
mod sampler;
mod storage;
mod study;
mod trial;
pub mod dashboard;
#[cfg(test)]
mod fixtures;

pub use distribution::{Distribution, ParamValue};
pub use error::{Error, Result};
pub use importance::param_importances;
pub use pruner::{Hyperband, Median, Pruner, PruningDecision, SuccessiveHalving};
pub use sampler::{Sampler, SamplingContext, Tpe};
pub use storage::{
    AttrKind, DatabaseUrl, JournalStorage, LockOptions, Storage, StorageLocation, StudySummary,
    redact_password,
};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use storage::{DatabaseOptions, RdbStorage};
pub use study::{NextTrial, Study};
pub use trial::{Attributes, Direction, Params, Trial, TrialOutcome, TrialState};

/// The example of the README, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;
