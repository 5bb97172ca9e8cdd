//! Optuna's journal: an append-only file of JSON lines, shared with Optuna's workers.
//!
//! A call that writes takes the lock, reads what others have appended, checks the request, appends its
//! entries in one write, syncs the file and releases the lock. Since every writer takes the lock, nothing
//! changes between check and write. Reading takes no lock.
//!
//! A worker that is killed can leave a truncated line, a lock and a running trial. The next writer from this
//! crate removes the line, and the lock is broken after 30 seconds. The trial is marked as failed by
//! `fail_stale_trials` if this process can tell that its worker has ended; see [`WorkerProcess`]. Journals
//! have no heartbeats, so the trials of other dead workers, including Optuna's, stay in the state `Running`.

mod entry;
mod file;
mod lock;
mod new_entry;
mod replay;
mod storage;
#[cfg(test)]
mod tests;

pub use lock::LockOptions;

use super::worker::{WORKER, WorkerProcess};
use super::{StaleParams, clock, validation};
use crate::error::{Error, Result};
use crate::{Attributes, Direction, Params, Trial, TrialState};
use file::JournalFile;
use lock::JournalLock;
use new_entry::NewEntry;
use replay::{Replay, StudyRecord};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A storage in a journal file: Optuna's `JournalStorage` with its `JournalFileBackend`.
///
/// Requires no cargo feature. Use it on one machine, or on a network file system for a few workers.
pub struct JournalStorage {
    path: PathBuf,
    /// The `worker_id` of the entries of this storage.
    worker_id: String,
    /// The current process; `None` if it cannot be identified.
    process: Option<WorkerProcess>,
    lock: JournalLock,
    contents: Mutex<Contents>,
}

/// The part of the file that has been read, and the studies it describes.
struct Contents {
    file: JournalFile,
    replay: Replay,
}

impl JournalStorage {
    /// Opens a journal and reads it. A missing file is created by the first write.
    ///
    /// # Errors
    /// If the file cannot be read or contains an invalid entry.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, LockOptions::default())
    }

    /// Like [`Self::open`], with custom lock timeouts.
    pub fn open_with(path: impl AsRef<Path>, options: LockOptions) -> Result<Self> {
        let path = path.as_ref();
        let path = std::path::absolute(path).map_err(Error::io(path))?;
        let worker_id = format!("clenshaw-{}", clock::unique_id());
        let lock = JournalLock::new(&path, &worker_id, options);
        let file = JournalFile::new(path.clone());
        let contents = Mutex::new(Contents { file, replay: Replay::new(worker_id.clone()) });
        let process = WorkerProcess::current();
        let journal = Self { path, worker_id, process, lock, contents };
        journal.read().map(drop)?;
        Ok(journal)
    }

    /// Reads new entries and returns the current contents.
    fn read(&self) -> Result<MutexGuard<'_, Contents>> {
        // A panic leaves no partial change: an entry is applied completely or not at all.
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.update()?;
        Ok(contents)
    }

    /// Takes the lock, appends the entries that `decide` returns for the current contents, and returns
    /// the updated contents.
    fn append(
        &self,
        decide: impl FnOnce(&Replay) -> Result<Vec<NewEntry>>,
    ) -> Result<MutexGuard<'_, Contents>> {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let guard = self.lock.acquire()?;
        contents.update()?;
        contents.replay.last_own_trial_id = None;
        let entries = decide(&contents.replay)?;
        let text: String =
            entries.iter().map(|entry| new_entry::line(&self.worker_id, entry)).collect();
        if !text.is_empty() {
            contents.file.append(&text)?;
        }
        drop(guard);
        contents.update()?;
        Ok(contents)
    }

    fn error(&self, problem: String) -> Error {
        Error::Data { location: self.path.display().to_string(), problem }
    }

    fn find_study<'a>(&self, replay: &'a Replay, id: u64) -> Result<&'a StudyRecord> {
        replay.study(id).ok_or_else(|| self.error(validation::missing_study(id)))
    }

    /// Returns the study of a trial, or an error if the trial is missing or finished.
    fn study_of_unfinished<'a>(&self, replay: &'a Replay, trial: u64) -> Result<&'a StudyRecord> {
        let found = replay.trial(trial);
        let (study, trial) = found.ok_or_else(|| self.error(validation::missing_trial(trial)))?;
        if trial.state.is_finished() {
            return Err(Error::TrialFinished {
                location: self.path.display().to_string(),
                study: study.summary.name.clone(),
                number: trial.number,
            });
        }
        Ok(study)
    }

    /// Returns the id of a study, or an error if it has another direction or multiple objectives.
    fn check_direction(&self, study: &StudyRecord, expected: Direction) -> Result<u64> {
        let checked = validation::check_direction(&study.summary, study.n_objectives, expected);
        checked.map_err(|problem| self.error(problem))
    }

    /// Creates a trial with these system attributes and returns it.
    fn new_trial(&self, study: u64, state: TrialState, attrs: &Attributes) -> Result<Trial> {
        let contents = self.append(|replay| {
            self.find_study(replay, study)?;
            Ok(vec![new_entry::create_trial(study, state, attrs)])
        })?;
        let created = contents.replay.last_own_trial();
        created.ok_or_else(|| self.error("the new trial was not accepted".into()))
    }

    /// Marks stale trials as failed, and enqueues trials with their parameters if requested, in one write.
    /// Returns the ids of the failed trials.
    fn end_stale_trials(&self, study: u64, params: StaleParams) -> Result<Vec<u64>> {
        if self.stale_trials(&self.read()?.replay, study)?.is_empty() {
            return Ok(Vec::new());
        }
        let mut failed = Vec::new();
        let decide = |replay: &Replay| {
            let mut entries = Vec::new();
            for trial in self.stale_trials(replay, study)? {
                failed.push(trial.id);
                // The new trial comes first: if only this entry is written, no parameters are lost.
                let retry = validation::retry_attrs(trial);
                let retry = retry.filter(|_| params == StaleParams::Requeue);
                entries.extend(
                    retry.map(|attrs| new_entry::create_trial(study, TrialState::Waiting, &attrs)),
                );
                entries.push(new_entry::finish_trial(trial.id, TrialState::Fail, None));
            }
            Ok(entries)
        };
        self.append(decide).map(drop)?;
        Ok(failed)
    }

    /// The running trials of a study whose workers are known to have died; none if the current process cannot
    /// be identified.
    fn stale_trials<'a>(&self, replay: &'a Replay, study: u64) -> Result<Vec<&'a Trial>> {
        let Some(process) = &self.process else { return Ok(Vec::new()) };
        let is_stale = |trial: &&Trial| {
            let worker = trial.system_attrs.get(WORKER).cloned();
            trial.state == TrialState::Running
                && worker.is_some_and(|worker| WorkerProcess::has_died(worker, process))
        };
        let trials = replay.trials(self.find_study(replay, study)?);
        Ok(trials.filter(is_stale).collect())
    }

    /// Returns an error if a parameter is invalid, or if the study contains an incompatible distribution for
    /// it.
    fn check_params(&self, replay: &Replay, study: &StudyRecord, params: &Params) -> Result<()> {
        for (name, (new, internal)) in params {
            validation::check_param(name, new, *internal)?;
            let old = replay.distribution(study, name);
            let conflict =
                old.and_then(|old| validation::conflict(name, &study.summary.name, old, new));
            if let Some(problem) = conflict {
                return Err(self.error(problem));
            }
        }
        Ok(())
    }
}

impl Contents {
    /// Reads and applies new entries.
    fn update(&mut self) -> Result<()> {
        self.file.read(|line| self.replay.apply(line))
    }
}
