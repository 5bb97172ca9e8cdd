//! Following the runs of a folder while another process trains them.
//!
//! Nothing is written except a request to stop. The lock of the folder shows whether a process is training
//! in it. Progress files that are older than `data.json`, which every process writes when it starts to train,
//! belong to an earlier process.

use super::folder::{
    RunFolder, has_stop_request, is_locked, progress_name, read_json, write_stop_request,
};
use super::progress::ProgressReader;
use super::{Request, RunRecord, TrainingProgress};
use crate::error::{Error, Result};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file that every process writes when it starts training in a folder.
const START_FILE: &str = "data.json";
/// On file systems without locks, a folder counts as active if a file has changed within this time.
const RECENT: Duration = Duration::from_secs(30);

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Not started, or interrupted or failed earlier and not yet started again by the process that is training
    /// in the folder.
    Waiting,
    /// A process is training the run.
    Running,
    /// The run is complete.
    Finished,
    /// The run was started but not finished, and no process is training in the folder.
    Interrupted,
    /// Training failed, for example because it diverged, and no later process is training in the folder.
    Failed,
}

/// A run of a followed folder.
pub struct FollowedRun {
    /// Its seed.
    pub seed: u64,
    /// Its state.
    pub state: RunState,
    /// Its scores; `None` unless it is finished.
    pub record: Option<RunRecord>,
    reader: ProgressReader,
}

/// A run folder that another process may be writing to.
pub struct FollowedFolder {
    path: PathBuf,
    request: Request,
    runs: Vec<FollowedRun>,
    is_active: bool,
    stop_requested: bool,
    /// When the last process that trained in this folder started; `None` if unknown.
    started: Option<SystemTime>,
}

impl FollowedFolder {
    /// Reads the state of a folder.
    ///
    /// # Errors
    /// If it has no valid `run.toml`, or the record of a run is invalid or cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let (_, request) = RunFolder::open_existing(path)?;
        let mut folder = Self {
            path: path.to_owned(),
            runs: new_runs(&request),
            request,
            is_active: false,
            stop_requested: false,
            started: None,
        };
        folder.started = modified(&path.join(START_FILE));
        folder.read_runs()?;
        Ok(folder)
    }

    /// Reads what has changed since the last call.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn update(&mut self) -> Result<()> {
        let started = modified(&self.path.join(START_FILE));
        if started != self.started {
            // A new process may have removed earlier results.
            *self = Self::open(&self.path)?;
            return Ok(());
        }
        match self.is_active || is_locked(&self.path) != Some(false) {
            true => self.read_runs(),
            false => Ok(()),
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The graph, the model and their settings.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// One entry per seed.
    pub fn runs(&self) -> &[FollowedRun] {
        &self.runs
    }

    /// Whether a process was training in this folder at the last update.
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether, at the last update, the process had been requested to stop and had not yet read the request.
    pub fn stop_requested(&self) -> bool {
        self.stop_requested
    }

    /// When the last process that trained in this folder started, by the time of `data.json`; `None` if unknown.
    pub fn started(&self) -> Option<SystemTime> {
        self.started
    }

    /// Reads whether the folder is active, and the states of its unfinished runs.
    fn read_runs(&mut self) -> Result<()> {
        // First, so that a run that ends in the meantime is not reported as interrupted.
        let runs = self.path.join("runs");
        self.is_active = is_locked(&self.path).unwrap_or_else(|| has_recent_file(&runs));
        self.stop_requested = self.is_active && has_stop_request(&self.path);
        let names = file_names(&runs);
        for run in self.runs.iter_mut().filter(|run| run.record.is_none()) {
            let progress = runs.join(progress_name(run.seed));
            let has_progress = names.contains(&progress_name(run.seed));
            if has_progress {
                run.reader.read(&progress);
            }
            if names.contains(&run.seed.to_string()) {
                run.record = read_json(&runs.join(run.seed.to_string()).join("record.json"))?;
            }
            let is_current = has_progress && modified(&progress) >= self.started;
            let has_checkpoint = names.contains(&format!("{}.checkpoint", run.seed));
            let has_failed = run.progress().failure.is_some();
            run.state = match self.is_active {
                _ if run.record.is_some() => RunState::Finished,
                true if is_current && has_failed => RunState::Failed,
                true if is_current => RunState::Running,
                true => RunState::Waiting,
                false if has_failed => RunState::Failed,
                false if has_progress || has_checkpoint => RunState::Interrupted,
                false => RunState::Waiting,
            };
        }
        Ok(())
    }
}

impl FollowedRun {
    /// The progress so far; empty for a run that was finished when it was first seen.
    pub fn progress(&self) -> &TrainingProgress {
        self.reader.progress()
    }
}

/// One entry per run of a request, before anything is read.
fn new_runs(request: &Request) -> Vec<FollowedRun> {
    let run = |seed| FollowedRun {
        seed,
        state: RunState::Waiting,
        record: None,
        reader: ProgressReader::default(),
    };
    request.seeds().map(run).collect()
}

/// When a file was last modified; `None` if it cannot be read.
fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// The names of the files and folders in a folder; empty if it cannot be read.
fn file_names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether a file or folder in the folder has changed within [`RECENT`].
fn has_recent_file(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut times = entries.filter_map(|entry| modified(&entry.path()));
    times.any(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age < RECENT))
}

/// Requests the process that trains in a folder to stop, as with Ctrl-C: it writes checkpoints, from which the runs
/// can be resumed, and ends. The process checks for requests only between epochs.
///
/// # Errors
/// If the lock of the folder shows that no process is training in it, or the request cannot be written.
pub fn request_stop(folder: &Path) -> Result<()> {
    if is_locked(folder) == Some(false) {
        let problem = "no process is training in this folder".into();
        return Err(Error::Data { place: folder.display().to_string(), problem });
    }
    write_stop_request(folder)
}

#[cfg(test)]
mod tests;
