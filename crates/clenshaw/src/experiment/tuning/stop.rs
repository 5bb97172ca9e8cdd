//! Requests to stop all workers of a study, whatever storage and machine they use.
//!
//! A request is a new value of a user attribute of the study. A worker stops when the value differs from the
//! one it found when it started, so an old request stops no new worker, and nothing has to be reset.

use crate::error::{Error, Result};
use clenshaw_tune::{AttrKind, Storage};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// The user attribute of the study that holds the last request.
const STOP: &str = "stop_requested";

/// Requests all workers of a study to stop, as with Ctrl-C: they requeue the trials in progress and end, and
/// the same command resumes the study. Optuna's workers ignore the request.
///
/// # Errors
/// If the study does not exist or the storage cannot be written.
pub fn request_study_stop(storage: &dyn Storage, study: &str) -> Result<()> {
    let studies = storage.studies()?;
    let found = studies.iter().find(|summary| summary.name == study);
    let found = found.ok_or_else(|| Error::Data {
        place: format!("study `{study}`"),
        problem: "no such study in this storage".into(),
    })?;
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let value = format!("{}-{}", time.as_nanos(), std::process::id());
    let attrs = [(STOP.to_owned(), json!(value))].into();
    Ok(storage.set_study_attrs(found.id, AttrKind::User, &attrs)?)
}

/// Detects requests made after it was created.
pub(in crate::experiment) struct StopListener<'a> {
    storage: &'a dyn Storage,
    study: u64,
    /// The request that was stored when the listener was created.
    initial: Option<Value>,
}

impl<'a> StopListener<'a> {
    pub fn new(storage: &'a dyn Storage, study: u64) -> Result<Self> {
        let initial = storage.study_attrs(study, AttrKind::User)?.remove(STOP);
        Ok(Self { storage, study, initial })
    }

    /// Whether there is a new request; `false` if the storage cannot be read.
    pub fn is_requested(&self) -> bool {
        let attrs = self.storage.study_attrs(self.study, AttrKind::User);
        attrs.is_ok_and(|mut attrs| attrs.remove(STOP) != self.initial)
    }
}
