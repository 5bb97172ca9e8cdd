//! A storage that retries while its database is unavailable, so that a server restart loses no results.

use super::{TuneEvent, TuneOptions};
use clenshaw_tune::{
    AttrKind, Attributes, Direction, Error, ParamValue, Params, Result, Storage, StudySummary,
    Trial, TrialOutcome, TrialState,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a database may be unavailable before the study fails.
const MAX_OUTAGE: Duration = Duration::from_secs(3600);
/// Pause between attempts, on top of the retries inside the storage.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats every call until the database responds or the study is cancelled.
pub(super) struct RetryingStorage<'a> {
    pub storage: &'a dyn Storage,
    pub options: &'a TuneOptions<'a>,
}

impl RetryingStorage<'_> {
    fn retry<T>(&self, call: impl Fn() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        loop {
            let error = match call() {
                Err(error @ Error::Unavailable { .. }) => error,
                result => return result,
            };
            if self.options.cancel.load(Ordering::Relaxed) || start.elapsed() > MAX_OUTAGE {
                return Err(error);
            }
            (self.options.on_event)(TuneEvent::StorageUnavailable { problem: &error.to_string() });
            std::thread::sleep(PAUSE);
        }
    }
}

impl Storage for RetryingStorage<'_> {
    fn studies(&self) -> Result<Vec<StudySummary>> {
        self.retry(|| self.storage.studies())
    }

    fn open_study(&self, name: &str, direction: Direction) -> Result<u64> {
        self.retry(|| self.storage.open_study(name, direction))
    }

    fn study_attrs(&self, study: u64, kind: AttrKind) -> Result<Attributes> {
        self.retry(|| self.storage.study_attrs(study, kind))
    }

    fn set_study_attrs(&self, study: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        self.retry(|| self.storage.set_study_attrs(study, kind, attrs))
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        self.retry(|| self.storage.create_trial(study))
    }

    fn enqueue_trial(&self, study: u64, fixed: &BTreeMap<String, ParamValue>) -> Result<Trial> {
        self.retry(|| self.storage.enqueue_trial(study, fixed))
    }

    fn claim_waiting_trial(&self, study: u64) -> Result<Option<Trial>> {
        self.retry(|| self.storage.claim_waiting_trial(study))
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        self.retry(|| self.storage.set_params(trial, params))
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        self.retry(|| self.storage.report(trial, step, value))
    }

    fn set_trial_attrs(&self, trial: u64, kind: AttrKind, attrs: &Attributes) -> Result<()> {
        self.retry(|| self.storage.set_trial_attrs(trial, kind, attrs))
    }

    fn finish(&self, trial: u64, outcome: TrialOutcome) -> Result<TrialState> {
        self.retry(|| self.storage.finish(trial, outcome))
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        self.retry(|| self.storage.trials(study))
    }

    fn heartbeat_interval(&self) -> Duration {
        self.storage.heartbeat_interval()
    }

    /// Not retried: the next heartbeat follows soon.
    fn record_heartbeat(&self, trial: u64) -> Result<()> {
        match self.storage.record_heartbeat(trial) {
            Err(Error::Unavailable { .. }) => Ok(()),
            result => result,
        }
    }

    /// Not retried, for the same reason.
    fn fail_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        match self.storage.fail_stale_trials(study) {
            Err(Error::Unavailable { .. }) => Ok(Vec::new()),
            result => result,
        }
    }
}
