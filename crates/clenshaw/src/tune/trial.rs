//! One try of a study: what was drawn, what came out.

use super::Distribution;
use std::collections::BTreeMap;

/// Which end of the objective is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Small values.
    Minimise,
    /// Large values.
    Maximise,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A worker has it.
    Running,
    /// It has a value.
    Complete,
    /// It was stopped early.
    Pruned,
    /// It ended without a value.
    Fail,
    /// Its parameters were chosen beforehand; no worker has it yet.
    Waiting,
}

/// A trial as a storage shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its identity within the storage.
    pub id: u64,
    /// Its place in the study, from 0.
    pub number: u64,
    /// Where it stands.
    pub state: State,
    /// The objective, when it is complete; the last report, when it was pruned.
    pub value: Option<f64>,
    /// The parameters, with the internal value of each.
    pub params: BTreeMap<String, (Distribution, f64)>,
    /// Values reported on the way, by step.
    pub reports: BTreeMap<u64, f64>,
    /// What users note.
    pub user_attrs: BTreeMap<String, serde_json::Value>,
    /// What samplers, pruners and dashboards note.
    pub system_attrs: BTreeMap<String, serde_json::Value>,
    /// When a worker took it, RFC 3339.
    pub started: Option<String>,
    /// When it ended, RFC 3339.
    pub finished: Option<String>,
}
