//! The state of the followed runs or study, shared by the thread that updates it and the connections.

use super::details::{DetailJob, GraphKey, LoadState};
use crate::run_folder;
use clenshaw::experiment::{
    self, FollowedFolder, FollowedGraph, FollowedRun, RunState, request_study_stop,
};
use clenshaw::{Error, Result};
use clenshaw_tune::Storage;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

/// The id of run `i` of folder number `n` is `n` times this number plus `i`; no folder has as many runs.
const IDS_PER_FOLDER: usize = 1_000_000;
/// The maximum number of folders that are shown: the newest ones.
pub const MAX_FOLDERS: usize = 100;
/// The maximum number of reports that are kept in memory.
const MAX_REPORTS: usize = 3;

/// The state, and a signal that it has changed.
pub struct SharedState {
    state: Mutex<WatchState>,
    changed: Condvar,
}

impl SharedState {
    pub fn new(state: WatchState) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().expect("no thread panics while holding the lock")
    }

    /// Announces a change to all connections.
    pub fn announce(&self) {
        self.changed.notify_all();
    }

    /// Waits for the next change, at most this long.
    pub fn wait_for_change(&self, timeout: Duration) {
        let waited = self.changed.wait_timeout(self.lock(), timeout);
        drop(waited.expect("no thread panics while holding the lock"));
    }
}

/// A run in the list of the page.
#[derive(Serialize)]
pub struct RunItem {
    pub id: usize,
    /// The name of the run folder.
    folder: String,
    graph: String,
    model: &'static str,
    seed: u64,
    pub state: RunState,
    /// The number of epochs so far.
    epoch: usize,
    max_epochs: usize,
    /// The validation accuracy of the best epoch so far; `None` if it is unknown.
    val_accuracy: Option<f64>,
    /// The test accuracy of a finished run; `None` before it has finished or without test nodes.
    accuracy: Option<f64>,
    seconds: Option<f64>,
    /// Whether a process can be requested to stop.
    active: bool,
    stop_requested: bool,
}

/// The study that is followed.
pub struct WatchedStudy {
    pub storage: Arc<dyn Storage>,
    pub name: String,
    /// The data of the page.
    pub report: Arc<Value>,
}

/// Everything that pages show.
pub struct WatchState {
    /// What is followed, for the pages: a folder, or the name and the storage of a study.
    pub place: String,
    /// Why the state could not be updated; `None` if it could.
    pub problem: Option<String>,
    /// The number of run folders, including those that are not shown.
    pub n_folders: usize,
    /// The followed folders, newest first, each with its number.
    folders: Vec<(usize, FollowedFolder)>,
    /// The number of the folder that was followed last.
    last_number: usize,
    /// Folders that cannot be read, and why.
    unreadable: BTreeMap<PathBuf, String>,
    pub study: Option<WatchedStudy>,
    pub graphs: HashMap<GraphKey, LoadState<Arc<FollowedGraph>>>,
    /// Reports, the oldest first, each with the id of the run and the start of the process that trained it.
    reports: Vec<(usize, Option<SystemTime>, LoadState<Arc<str>>)>,
    jobs: Sender<DetailJob>,
}

impl WatchState {
    pub fn new(place: String, jobs: Sender<DetailJob>) -> Self {
        Self {
            place,
            problem: None,
            n_folders: 0,
            folders: vec![],
            last_number: 0,
            unreadable: BTreeMap::new(),
            study: None,
            graphs: HashMap::new(),
            reports: vec![],
            jobs,
        }
    }

    /// Follows these folders and no others; if there are more than [`MAX_FOLDERS`], only the newest ones. Returns why
    /// folders could not be read, without the problems that were returned before.
    pub fn follow(&mut self, mut paths: Vec<PathBuf>) -> Vec<String> {
        self.n_folders = paths.len();
        paths.sort_by_cached_key(|path| Reverse(started(path)));
        paths.truncate(MAX_FOLDERS);
        self.folders.retain(|(_, folder)| paths.iter().any(|path| path == folder.path()));
        let mut problems = vec![];
        for path in paths {
            if self.folders.iter().any(|(_, folder)| folder.path() == path) {
                continue;
            }
            match FollowedFolder::open(&path) {
                Ok(folder) => {
                    self.unreadable.remove(&path);
                    self.last_number += 1;
                    self.folders.push((self.last_number, folder));
                }
                Err(error) => {
                    let text = error.to_string();
                    let before = self.unreadable.insert(path, text.clone());
                    problems.extend(Some(text).filter(|text| before.as_ref() != Some(text)));
                }
            }
        }
        self.folders.sort_by_key(|(_, folder)| Reverse(folder.started()));
        problems
    }

    /// Reads what has changed in the followed folders; returns one of the errors, if any.
    pub fn update_folders(&mut self) -> Result<()> {
        let mut result = Ok(());
        for (_, folder) in &mut self.folders {
            result = folder.update().and(result);
        }
        result
    }

    /// All runs, those of the newest folder first.
    pub fn items(&self) -> Vec<RunItem> {
        let items = |(number, folder): &(usize, FollowedFolder)| {
            let base = number * IDS_PER_FOLDER;
            let runs = folder.runs().iter().enumerate();
            runs.map(|(i, run)| item(base + i, folder, run)).collect::<Vec<_>>()
        };
        self.folders.iter().flat_map(items).collect()
    }

    /// The id of the run that is shown first: one that is training or, if there is none, the first of the newest
    /// folder. `None` if there are no runs.
    pub fn default_run(&self) -> Option<usize> {
        let items = self.items();
        let running = items.iter().find(|item| item.state == RunState::Running);
        running.or(items.first()).map(|item| item.id)
    }

    /// The run with this id and its folder; `None` if there is no such run.
    pub fn find(&self, id: usize) -> Option<(&FollowedFolder, &FollowedRun)> {
        let (_, folder) = self.folders.iter().find(|(number, _)| *number == id / IDS_PER_FOLDER)?;
        Some((folder, folder.runs().get(id % IDS_PER_FOLDER)?))
    }

    /// The graph of a run; `None` if there is no such run. The first call for a graph starts loading it and returns
    /// [`LoadState::Pending`].
    pub fn graph(&mut self, id: usize) -> Option<LoadState<Arc<FollowedGraph>>> {
        let request = self.find(id)?.0.request().clone();
        let key = GraphKey::new(&request);
        if let Some(graph) = self.graphs.get(&key) {
            return Some(graph.clone());
        }
        self.graphs.insert(key.clone(), LoadState::Pending);
        // The thread that loads ends only with the program.
        let _ = self.jobs.send(DetailJob::Graph { key, request: Box::new(request) });
        Some(LoadState::Pending)
    }

    /// The report of a run that the caller knows to be finished; `None` if no run has this id. Unless the report is
    /// in memory, starts computing it and returns [`LoadState::Pending`].
    pub fn report(&mut self, id: usize) -> Option<LoadState<Arc<str>>> {
        let (folder, run) = self.find(id)?;
        let (started, path, seed) = (folder.started(), folder.path().to_owned(), run.seed);
        let found = self.reports.iter().find(|(other, time, _)| (*other, *time) == (id, started));
        if let Some((_, _, report)) = found {
            return Some(report.clone());
        }
        self.reports.retain(|(other, ..)| *other != id);
        if self.reports.len() == MAX_REPORTS {
            self.reports.remove(0);
        }
        self.reports.push((id, started, LoadState::Pending));
        let _ = self.jobs.send(DetailJob::Report { id, started, path, seed });
        Some(LoadState::Pending)
    }

    /// Stores a computed report, unless it is no longer in the list of reports, for example because the run has
    /// been trained again in the meantime.
    pub fn store_report(
        &mut self,
        id: usize,
        started: Option<SystemTime>,
        report: LoadState<Arc<str>>,
    ) {
        let mut entries = self.reports.iter_mut();
        if let Some(entry) = entries.find(|(other, time, _)| (*other, *time) == (id, started)) {
            entry.2 = report;
        }
    }

    /// What a request to stop this run refers to: the study, if one is followed. Otherwise fails if there is no such
    /// run.
    pub fn stop_target(&self, id: usize) -> Result<StopTarget> {
        if let Some(study) = &self.study {
            return Ok(StopTarget::Study(Arc::clone(&study.storage), study.name.clone()));
        }
        let found = self.find(id).map(|(folder, _)| StopTarget::Folder(folder.path().to_owned()));
        found.ok_or_else(|| Error::Data {
            place: self.place.clone(),
            problem: "this run no longer exists".into(),
        })
    }
}

/// What to stop.
pub enum StopTarget {
    /// The process that trains in this folder.
    Folder(PathBuf),
    /// All workers of this study.
    Study(Arc<dyn Storage>, String),
}

impl StopTarget {
    /// Requests the process or the workers to stop. Fails if there is no such process or study, or the request cannot
    /// be written.
    pub fn request(self) -> Result<()> {
        match self {
            Self::Folder(path) => experiment::request_stop(&path),
            Self::Study(storage, name) => request_study_stop(storage.as_ref(), &name),
        }
    }
}

/// When the last process that trained in a folder started; `None` if unknown.
fn started(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder.join("data.json")).and_then(|file| file.modified()).ok()
}

/// The entry of a run in the list.
fn item(id: usize, folder: &FollowedFolder, run: &FollowedRun) -> RunItem {
    let (request, progress, record) = (folder.request(), run.progress(), run.record.as_ref());
    let best = progress.best_epoch.and_then(|epoch| progress.epochs.get(epoch - 1));
    let seconds = Some(progress.seconds).filter(|_| !progress.epochs.is_empty());
    RunItem {
        id,
        folder: run_folder::name(folder.path()),
        graph: request.graph.clone(),
        model: request.model.name,
        seed: run.seed,
        state: run.state,
        epoch: record.map_or(progress.epochs.len(), |record| record.epochs),
        max_epochs: request.hyper.int("max_epochs"),
        val_accuracy: match record {
            Some(record) => record.val_accuracy,
            None => best.and_then(|epoch| epoch.val_accuracy),
        },
        accuracy: record.map(|record| record.test_accuracy).filter(|accuracy| accuracy.is_finite()),
        seconds: record.map(|record| record.seconds).or(seconds),
        active: folder.is_active(),
        stop_requested: folder.stop_requested(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_of_an_earlier_training_is_not_stored() {
        let (jobs, _queue) = std::sync::mpsc::channel();
        let mut state = WatchState::new("runs".into(), jobs);
        let started = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(9));
        state.reports.push((7, started, LoadState::Pending));
        state.store_report(7, Some(SystemTime::UNIX_EPOCH), LoadState::Ready("old".into()));
        assert!(matches!(state.reports[0].2, LoadState::Pending));
        state.store_report(7, started, LoadState::Ready("new".into()));
        assert!(matches!(&state.reports[0].2, LoadState::Ready(report) if &**report == "new"));
    }
}
