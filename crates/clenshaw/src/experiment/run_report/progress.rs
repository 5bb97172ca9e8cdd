//! What `clenshaw watch` shows about a run in any state: first a full [`ProgressReport`], then a
//! [`ProgressUpdate`] whenever only epochs or further filters have been added to its progress file. After other
//! changes, such as of its state or with its first filter, a full report is sent again.

use super::filter::{Density, FilterHistory, FilterReport};
use super::{EpochColumns, GraphReport, ScoreReport, SeedScore};
use crate::data::Store;
use crate::error::Result;
use crate::experiment::{FollowedFolder, FollowedRun, Request, RunState, TrainingProgress};
use crate::filter::Filter;
use crate::graph::{Normalisation, operator};
use serde::Serialize;
use std::collections::BTreeMap;

/// The spectral density of graphs with more edges than this is not computed for `clenshaw watch`.
const MAX_DENSITY_EDGES: usize = 1_000_000;

/// A run of a followed folder: its settings and progress and, once it has finished, its scores.
#[derive(Clone, Debug, Serialize)]
pub struct ProgressReport {
    model: &'static str,
    title: &'static str,
    paper: &'static str,
    equation: &'static str,
    hyper: BTreeMap<String, String>,
    split: String,
    seed: u64,
    state: RunState,
    /// Why training failed, if it did.
    failure: Option<String>,
    max_epochs: usize,
    seconds: f64,
    best_epoch: Option<usize>,
    epochs: EpochColumns,
    filter: Option<FilterReport>,
    scores: Option<ScoreReport>,
    /// The scores of the finished runs of the folder.
    all_seeds: Vec<SeedScore>,
}

/// The epochs added since a [`ProgressReport`] or the previous update, and a selection of the filters.
#[derive(Clone, Debug, Serialize)]
pub struct ProgressUpdate {
    /// The number of epochs that were reported before.
    from: usize,
    seconds: f64,
    best_epoch: Option<usize>,
    epochs: EpochColumns,
    /// Filters recorded since then, which may belong to epochs that were already reported.
    filters: Option<FilterHistory>,
}

/// A description of the graph of a followed folder.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct FollowedGraph {
    report: GraphReport,
    #[serde(skip)]
    density: Option<Density>,
}

impl ProgressReport {
    /// Describes a run of a folder; `graph` is the graph of the folder, if it has been loaded.
    pub fn new(folder: &FollowedFolder, run: &FollowedRun, graph: Option<&FollowedGraph>) -> Self {
        let (request, progress) = (folder.request(), run.progress());
        let density = graph.and_then(|graph| graph.density.clone());
        let records = folder.runs().iter().filter_map(|run| run.record.as_ref());
        Self {
            model: request.model.name,
            title: request.model.title,
            paper: request.model.paper,
            equation: request.model.equation,
            hyper: request
                .hyper
                .recorded()
                .map(|(hyper, value)| (hyper.name.to_owned(), value.to_string()))
                .collect(),
            split: request.split.to_string(),
            seed: run.seed,
            state: run.state,
            failure: progress.failure.clone(),
            max_epochs: request.hyper.int("max_epochs"),
            seconds: run.record.as_ref().map_or(progress.seconds, |record| record.seconds),
            best_epoch: progress.best_epoch,
            epochs: EpochColumns::new(&progress.epochs),
            filter: FilterReport::of_progress(request.model, progress, density),
            scores: run.record.as_ref().map(ScoreReport::new),
            all_seeds: records.map(SeedScore::new).collect(),
        }
    }
}

impl ProgressUpdate {
    /// Contains all epochs except the first `epochs`, and a selection of the filters of epochs later than
    /// `filter_epoch`, if they are valid.
    /// Returns `None` if there are neither, or if `progress` has fewer than `epochs` epochs.
    pub fn new(progress: &TrainingProgress, epochs: usize, filter_epoch: usize) -> Option<Self> {
        let start = progress.filters.partition_point(|filter| filter.epoch <= filter_epoch);
        let (new_epochs, new_filters) =
            (progress.epochs.get(epochs..)?, &progress.filters[start..]);
        if new_epochs.is_empty() && new_filters.is_empty() {
            return None;
        }
        let filter = |basis| Filter { basis, coefficients: vec![] };
        let filter = progress.basis.clone().map(filter);
        Some(Self {
            from: epochs,
            seconds: progress.seconds,
            best_epoch: progress.best_epoch,
            epochs: EpochColumns::new(new_epochs),
            filters: filter.and_then(|filter| FilterHistory::new(&filter, new_filters)),
        })
    }
}

impl FollowedGraph {
    /// Loads the graph of a request and describes it, with its spectral density unless it has more than a
    /// million edges.
    ///
    /// # Errors
    /// If the graph cannot be loaded.
    pub fn load(request: &Request, store: &Store) -> Result<Self> {
        let dataset = request.load(store)?;
        let split = request.split.draw(&dataset, request.seed).ok();
        let kind = request.model.operator.unwrap_or(Normalisation::Looped);
        let is_small = dataset.graph.n_edges() <= MAX_DENSITY_EDGES;
        let density = is_small.then(|| Density::of(&operator(&dataset.graph, kind)));
        Ok(Self { report: GraphReport::new(&dataset, split.as_ref()), density })
    }
}
