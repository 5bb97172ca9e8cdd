//! A storage that waits for its database, so that no result is lost because a server is restarted.

use super::{TuneEvent, TuneOptions};
use clenshaw_tune::{
    Attributes, Choice, Direction, Ending, Error, Notes, Params, Result, State, Storage, Study,
    Trial,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A database that is away for longer than this does not come back.
const GIVE_UP: Duration = Duration::from_secs(3600);
/// Between two calls; storages have pauses of their own besides.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats every call until the database answers or somebody stops us.
pub(super) struct Steady<'a> {
    pub storage: &'a dyn Storage,
    pub options: &'a TuneOptions<'a>,
}

impl Steady<'_> {
    fn hold<T>(&self, call: impl Fn() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        loop {
            let error = match call() {
                Err(error @ Error::Unavailable { .. }) => error,
                told => return told,
            };
            if self.options.cancel.load(Ordering::Relaxed) || began.elapsed() > GIVE_UP {
                return Err(error);
            }
            (self.options.watch)(TuneEvent::Away { problem: &error.to_string() });
            std::thread::sleep(PAUSE);
        }
    }
}

impl Storage for Steady<'_> {
    fn studies(&self) -> Result<Vec<Study>> {
        self.hold(|| self.storage.studies())
    }

    fn study(&self, name: &str, direction: Direction) -> Result<u64> {
        self.hold(|| self.storage.study(name, direction))
    }

    fn study_attrs(&self, study: u64, notes: Notes) -> Result<Attributes> {
        self.hold(|| self.storage.study_attrs(study, notes))
    }

    fn set_study_attrs(&self, study: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        self.hold(|| self.storage.set_study_attrs(study, notes, attrs))
    }

    fn create_trial(&self, study: u64) -> Result<Trial> {
        self.hold(|| self.storage.create_trial(study))
    }

    fn enqueue(&self, study: u64, fixed: &BTreeMap<String, Choice>) -> Result<Trial> {
        self.hold(|| self.storage.enqueue(study, fixed))
    }

    fn claim_waiting(&self, study: u64) -> Result<Option<Trial>> {
        self.hold(|| self.storage.claim_waiting(study))
    }

    fn set_params(&self, trial: u64, params: &Params) -> Result<()> {
        self.hold(|| self.storage.set_params(trial, params))
    }

    fn report(&self, trial: u64, step: u64, value: f64) -> Result<()> {
        self.hold(|| self.storage.report(trial, step, value))
    }

    fn set_trial_attrs(&self, trial: u64, notes: Notes, attrs: &Attributes) -> Result<()> {
        self.hold(|| self.storage.set_trial_attrs(trial, notes, attrs))
    }

    fn finish(&self, trial: u64, ending: Ending) -> Result<State> {
        self.hold(|| self.storage.finish(trial, ending))
    }

    fn trials(&self, study: u64) -> Result<Vec<Trial>> {
        self.hold(|| self.storage.trials(study))
    }

    fn interval(&self) -> Duration {
        self.storage.interval()
    }

    /// Once: whoever is away hears nothing, and the next beat comes soon.
    fn beat(&self, trial: u64) -> Result<()> {
        match self.storage.beat(trial) {
            Err(Error::Unavailable { .. }) => Ok(()),
            told => told,
        }
    }

    /// Once, likewise.
    fn reap_dead(&self, study: u64) -> Result<Vec<u64>> {
        match self.storage.reap_dead(study) {
            Err(Error::Unavailable { .. }) => Ok(Vec::new()),
            told => told,
        }
    }
}
