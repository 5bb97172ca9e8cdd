//! A storage that retries while its database is unavailable, so that no result is lost when a server
//! restarts.

use super::{TuneEvent, TuneOptions};
use clenshaw_tune::{
    AttrKind, Attributes, Direction, Error, ParamValue, Params, Result, Storage, StudySummary,
    Trial, TrialOutcome, TrialState,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a call is repeated before the study fails.
const MAX_OUTAGE: Duration = Duration::from_secs(3600);
/// Pause between attempts, on top of the retries inside the storage.
const PAUSE: Duration = Duration::from_millis(200);

/// A storage that repeats calls to another one, except those about heartbeats, until the database responds, the
/// study is cancelled or [`MAX_OUTAGE`] has passed.
pub(in crate::experiment) struct RetryingStorage<'a> {
    pub storage: &'a dyn Storage,
    pub options: &'a TuneOptions<'a>,
}

impl RetryingStorage<'_> {
    /// Repeats a call while it fails because the database is unavailable, and emits an event before each
    /// repetition. Returns the error if the study is cancelled or [`MAX_OUTAGE`] has passed.
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

/// Replaces the error of an unavailable database with an empty result.
fn empty_if_unavailable<T: Default>(result: Result<T>) -> Result<T> {
    match result {
        Err(Error::Unavailable { .. }) => Ok(T::default()),
        result => result,
    }
}

/// Implements methods of [`Storage`] that repeat the call of the inner storage.
macro_rules! retried_calls {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> Result<$output> {
            self.retry(|| self.storage.$name($($argument),*))
        })*
    };
}

impl Storage for RetryingStorage<'_> {
    retried_calls! {
        studies() -> Vec<StudySummary>;
        open_study(name: &str, direction: Direction) -> u64;
        study_attrs(study: u64, kind: AttrKind) -> Attributes;
        set_study_attrs(study: u64, kind: AttrKind, attrs: &Attributes) -> ();
        create_trial(study: u64) -> Trial;
        enqueue_trial(study: u64, fixed: &BTreeMap<String, ParamValue>) -> Trial;
        claim_waiting_trial(study: u64) -> Option<Trial>;
        set_params(trial: u64, params: &Params) -> ();
        report(trial: u64, step: u64, value: f64) -> ();
        set_trial_attrs(trial: u64, kind: AttrKind, attrs: &Attributes) -> ();
        finish(trial: u64, outcome: TrialOutcome) -> TrialState;
        trials(study: u64) -> Vec<Trial>;
    }

    fn heartbeat_interval(&self) -> Duration {
        self.storage.heartbeat_interval()
    }

    /// Not retried, and no error if the database is unavailable: the next heartbeat follows soon.
    fn record_heartbeat(&self, trial: u64) -> Result<()> {
        empty_if_unavailable(self.storage.record_heartbeat(trial))
    }

    /// Not retried, for the same reason.
    fn fail_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        empty_if_unavailable(self.storage.fail_stale_trials(study))
    }

    /// Not retried, for the same reason.
    fn requeue_stale_trials(&self, study: u64) -> Result<Vec<u64>> {
        empty_if_unavailable(self.storage.requeue_stale_trials(study))
    }
}
