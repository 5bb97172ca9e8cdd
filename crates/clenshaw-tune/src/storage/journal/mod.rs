//! Optuna's journal: one file of JSON lines that only grows, for workers of both programs.
//!
//! A call takes the lock, reads what others have added, decides, adds its lines in one write, waits for
//! the disk and lets the lock go. Since every writer takes the lock, what was decided still holds when it
//! is written. Reading takes no lock.
//!
//! A worker that is killed, at any moment, leaves at most half a line, a lock and a trial that seems to
//! run. The line is cut off by the next writer and the lock is broken after half a minute; the trial is
//! failed by `reap_dead`, if its worker ran on this machine, for this user, since the machine
//! was started. Journals have no sign of life, so of workers elsewhere, and of Optuna's, nothing is known
//! and their trials stay as they are.

mod file;
mod line;
mod lock;
mod replay;
mod storage;
mod write;
#[cfg(test)]
mod tests;

pub use lock::Patience;

use super::worker::{WORKER, Worker};
use super::{clock, rules};
use crate::error::{Error, Result};
use crate::{Attributes, Direction, Params, State, Trial};
use file::JournalFile;
use lock::Lock;
use replay::{Entry, Replay};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use write::Written;

/// A journal in a file.
pub struct Journal {
    path: PathBuf,
    /// The name our lines carry, ours alone.
    worker: String,
    me: Option<Worker>,
    lock: Lock,
    known: Mutex<Known>,
}

/// What we have read so far.
struct Known {
    file: JournalFile,
    replay: Replay,
}

impl Journal {
    /// Opens a journal and reads it; the file is made by the first write.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Patience::default())
    }

    /// Opens a journal, with another patience than Optuna's.
    pub fn open_with(path: impl AsRef<Path>, patience: Patience) -> Result<Self> {
        let path = path.as_ref();
        let path = std::path::absolute(path).map_err(Error::io(path))?;
        let worker = format!("clenshaw-{}", clock::unique_id());
        let lock = Lock::new(&path, &worker, patience);
        let file = JournalFile::new(path.clone());
        let replay = Replay::new(worker.clone());
        let known = Mutex::new(Known { file, replay });
        let journal = Self { path, worker, me: Worker::me(), lock, known };
        journal.look().map(drop)?;
        Ok(journal)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known now.
    fn look(&self) -> Result<MutexGuard<'_, Known>> {
        // Whoever panicked has changed nothing in part: a line is applied whole.
        let mut guard = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        guard.sync()?;
        Ok(guard)
    }

    /// Adds the lines that are decided upon with the lock in hand; what is known after.
    fn act(
        &self,
        decide: impl FnOnce(&Replay) -> Result<Vec<Written>>,
    ) -> Result<MutexGuard<'_, Known>> {
        let mut guard = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.lock.acquire()?;
        guard.sync()?;
        guard.replay.won = None;
        let lines = decide(&guard.replay)?;
        let text: String = lines.iter().map(|(op, fields)| op.line(&self.worker, fields)).collect();
        if !text.is_empty() {
            guard.file.append(&text)?;
        }
        drop(held);
        guard.sync()?;
        Ok(guard)
    }

    fn wrong(&self, problem: String) -> Error {
        Error::Data { place: self.path.display().to_string(), problem }
    }

    fn study_of<'a>(&self, replay: &'a Replay, id: u64) -> Result<&'a Entry> {
        replay.study(id).ok_or_else(|| self.wrong(rules::no_study(id)))
    }

    /// A trial that may change, and its study.
    fn open_trial<'a>(&self, replay: &'a Replay, id: u64) -> Result<(&'a Entry, &'a Trial)> {
        let (entry, trial) = replay.trial(id).ok_or_else(|| self.wrong(rules::no_trial(id)))?;
        if trial.state.is_finished() {
            return Err(self.wrong(rules::is_finished(trial.number, &entry.study.name)));
        }
        Ok((entry, trial))
    }

    /// The id of a study, if it has this direction.
    fn check(&self, entry: &Entry, asked: Direction) -> Result<u64> {
        let checked = rules::check_direction(&entry.study, entry.n_directions, asked);
        checked.map_err(|problem| self.wrong(problem))
    }

    /// The trial that the last lines made or claimed.
    fn won(&self, known: &Known) -> Option<Trial> {
        known.replay.won.and_then(|id| known.replay.trial(id)).map(|(_, trial)| trial.clone())
    }

    /// Makes a trial.
    fn make_trial(&self, study: u64, state: State, system_attrs: &Attributes) -> Result<Trial> {
        let known = self.act(|replay| {
            self.study_of(replay, study)?;
            Ok(vec![write::trial(study, state, system_attrs)])
        })?;
        self.won(&known).ok_or_else(|| self.wrong("the new trial was not accepted".into()))
    }

    /// The running trials of a study whose workers are dead.
    fn dead(&self, replay: &Replay, study: u64) -> Result<Vec<u64>> {
        let Some(me) = &self.me else { return Ok(Vec::new()) };
        let is_dead = |trial: &&Trial| {
            let signed = trial.system_attrs.get(WORKER).cloned();
            trial.state == State::Running && signed.is_some_and(|it| Worker::has_died(it, me))
        };
        let trials = replay.trials(self.study_of(replay, study)?);
        Ok(trials.filter(is_dead).map(|trial| trial.id).collect())
    }

    fn refuse_conflicts(&self, replay: &Replay, entry: &Entry, params: &Params) -> Result<()> {
        for (name, (new, internal)) in params {
            rules::check_param(name, new, *internal)?;
            let old = replay.distribution(entry, name);
            let problem = old.and_then(|old| rules::conflict(name, &entry.study.name, old, new));
            if let Some(problem) = problem {
                return Err(self.wrong(problem));
            }
        }
        Ok(())
    }
}

impl Known {
    fn sync(&mut self) -> Result<()> {
        self.file.read(|line| self.replay.apply(line))
    }
}
