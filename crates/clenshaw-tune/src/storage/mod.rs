//! Storages: files and databases that many workers share.

mod clock;
mod database_url;
mod journal;
mod json;
mod location;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod rdb;
mod validation;
mod worker;

pub use database_url::{DatabaseUrl, redact_password};
pub use journal::{JournalStorage, LockOptions};
pub use location::StorageLocation;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use rdb::{DatabaseOptions, RdbStorage};

use crate::error::Result;
use crate::{Attributes, Direction, ParamValue, Params, Trial, TrialOutcome, TrialState};
use std::collections::BTreeMap;
use std::time::Duration;

/// A study as listed by a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudySummary {
    /// The id of the study, unique within the storage.
    pub id: u64,
    /// The name of the study.
    pub name: String,
    /// The direction; `None` if the study has multiple objectives or no direction.
    pub direction: Option<Direction>,
}

/// User or system attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// Attributes set by users.
    User,
    /// Attributes set by samplers, pruners, storages and dashboards.
    System,
}

/// What happens to the parameters of a stale trial after it is marked as failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StaleParams {
    Drop,
    Requeue,
}

/// A file or database with studies.
///
/// In the storages of this crate, no other worker can change what a call has read before the call writes.
/// Trials are identified by [`Trial::id`]. Changing a finished trial is an error
/// ([`Error::TrialFinished`](crate::Error::TrialFinished)), and so is a missing study or trial;
/// [`record_heartbeat`](Storage::record_heartbeat) ignores both.
pub trait Storage: Send + Sync {
    /// Lists all studies.
    fn studies(&self) -> Result<Vec<StudySummary>>;

    /// Returns the id of the study with this name; creates the study if it does not exist.
    ///
    /// # Errors
    /// If the study exists with another direction, without a direction or with multiple objectives.
    fn open_study(&self, name: &str, direction: Direction) -> Result<u64>;

    /// Returns the attributes of a study.
    fn study_attrs(&self, study: u64, kind: AttrKind) -> Result<Attributes>;

    /// Sets attributes of a study, replacing existing values with the same names.
    fn set_study_attrs(&self, study: u64, kind: AttrKind, attrs: &Attributes) -> Result<()>;

    /// Creates a running trial for this worker.
    fn create_trial(&self, study: u64) -> Result<Trial>;

    /// Creates a waiting trial with fixed values for some parameters; see [`Trial::fixed_param`].
    ///
    /// # Errors
    /// If a value is NaN or infinite.
    fn enqueue_trial(&self, study: u64, fixed: &BTreeMap<String, ParamValue>) -> Result<Trial>;

    /// Starts the first waiting trial for this worker; `None` if no waiting trial is available.
    fn claim_waiting_trial(&self, study: u64) -> Result<Option<Trial>>;

    /// Sets parameters of a trial.
    ///
    /// # Errors
    /// If a distribution is invalid, if a value is not finite or not the index of a choice, or if the study
    /// contains a parameter of the same name with an incompatible distribution. In these cases, no parameter is
    /// set. Numbers outside the bounds of their distribution are accepted.
    fn set_params(&self, trial: u64, params: &Params) -> Result<()>;

    /// Reports an intermediate value; NaN and infinities are ignored. Databases reject steps above
    /// `i32::MAX`.
    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()>;

    /// Sets attributes of a trial, replacing existing values with the same names.
    fn set_trial_attrs(&self, trial: u64, kind: AttrKind, attrs: &Attributes) -> Result<()>;

    /// Finishes a trial and returns its final state. Databases accept a second call with the same outcome.
    fn finish(&self, trial: u64, outcome: TrialOutcome) -> Result<TrialState>;

    /// Returns all trials of a study, ordered by number.
    fn trials(&self, study: u64) -> Result<Vec<Trial>>;

    /// The time between two heartbeats of a running trial.
    fn heartbeat_interval(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Records a heartbeat of a running trial; a no-op in storages without heartbeats. After the first
    /// heartbeat of a trial, another is due every [`Self::heartbeat_interval`]; a trial is stale if none has
    /// been recorded for two intervals.
    fn record_heartbeat(&self, _trial: u64) -> Result<()> {
        Ok(())
    }

    /// Marks stale trials as failed and returns their ids. A running trial is stale if its heartbeats have
    /// stopped or its worker process is known to have ended. The default implementation does nothing.
    fn fail_stale_trials(&self, _study: u64) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }

    /// Like [`Self::fail_stale_trials`], and enqueues a trial with the parameters of each failed one that has
    /// any. The storages of this crate write both together, so that no parameters are lost if the calling
    /// process is killed; the default implementation does not.
    fn requeue_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        let failed = self.fail_stale_trials(study)?;
        if failed.is_empty() {
            return Ok(failed);
        }
        for trial in self.trials(study)?.iter().filter(|trial| failed.contains(&trial.id)) {
            let params = trial.retry_params();
            if !params.is_empty() {
                self.enqueue_trial(study, &params)?;
            }
        }
        Ok(failed)
    }
}
