//! Data that takes too long to compute during an update: graphs with their spectral density, and reports of
//! finished runs. A separate thread computes them when a page needs them.

use super::state::SharedState;
use clenshaw::data::Store;
use clenshaw::experiment::{FollowedGraph, Report, ReportedRun, Request};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::SystemTime;

/// Identifies a [`FollowedGraph`]: the parts of a request that its graph, split and spectral density depend on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GraphKey(String);

impl GraphKey {
    pub fn new(request: &Request) -> Self {
        let Request { graph, split, seed, table, model, .. } = request;
        Self(format!("{graph:?} {split} {seed} {table:?} {:?}", model.operator))
    }
}

/// A value that another thread computes.
#[derive(Clone)]
pub enum LoadState<T> {
    Pending,
    Ready(T),
    /// It cannot be computed, for this reason.
    Failed(Arc<str>),
}

impl<T> LoadState<T> {
    fn from_result(result: clenshaw::Result<T>) -> Self {
        result.map_or_else(|error| Self::Failed(error.to_string().into()), Self::Ready)
    }
}

/// A value to compute: a graph with its spectral density, or the report of a finished run.
pub enum DetailJob {
    Graph {
        key: GraphKey,
        request: Box<Request>,
    },
    /// The report of run `id`; `started` is when the last process that trained in its folder started.
    Report {
        id: usize,
        started: Option<SystemTime>,
        path: PathBuf,
        seed: u64,
    },
}

/// Runs jobs until all senders are dropped, one at a time, to leave the other cores to training.
pub fn compute(jobs: &Receiver<DetailJob>, state: &SharedState, store: &Store) {
    for job in jobs {
        match job {
            DetailJob::Graph { key, request } => {
                let graph =
                    LoadState::from_result(FollowedGraph::load(&request, store).map(Arc::new));
                state.lock().graphs.insert(key, graph);
            }
            DetailJob::Report { id, started, path, seed } => {
                let run = ReportedRun { folder: path, seed: Some(seed) };
                let report = Report::new(&[run], store, 1).map(|report| {
                    serde_json::to_string(&report).expect("a report is plain data").into()
                });
                state.lock().store_report(id, started, LoadState::from_result(report));
            }
        }
        state.announce();
    }
}
