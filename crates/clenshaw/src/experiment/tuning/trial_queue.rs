//! The workers of a study: each takes trials until the study is complete.
//!
//! A worker that takes a trial holds the lock until the trial's parameters are stored, so that the next
//! proposal takes them into account. Trials of other processes in the same study are considered as well,
//! but not waited for.

mod execute;

use super::evaluate::{StudyContext, TrialRef};
use super::propose::{TrialValues, propose};
use super::result::StudyEnd;
use super::study;
use crate::error::Result;
use clenshaw_tune::{Params, Trial, TrialOutcome, TrialState};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A study ends with an error after this many diverged trials in a row.
const MAX_DIVERGED: usize = 20;
/// How often a waiting worker checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

struct TrialQueue<'a> {
    context: &'a StudyContext<'a>,
    deadline: Option<Instant>,
    /// Whether a worker has failed.
    failed: AtomicBool,
    status: Mutex<QueueStatus>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueStatus {
    /// Ids of the trials that our workers are running.
    running: BTreeSet<u64>,
    /// Number of diverged trials since the last one that did not diverge.
    diverged: usize,
    /// How the study ended, once it has.
    end: Option<Result<StudyEnd>>,
}

/// Why workers stop before the study is complete.
enum StopReason {
    Cancelled,
    TimedOut,
}

/// What a worker does next.
enum NextStep {
    Run(TrialRef, TrialValues),
    Wait,
    End(StudyEnd),
}

/// Runs trials until the study is complete or there is a reason to stop.
pub(super) fn run_trials(
    context: &StudyContext<'_>,
    deadline: Option<Instant>,
) -> Result<StudyEnd> {
    let (status, changed) = (Mutex::default(), Condvar::new());
    let queue = TrialQueue { context, deadline, failed: AtomicBool::new(false), status, changed };
    let jobs = context.options.jobs.clamp(1, context.request.trials);
    let threads = (context.options.threads / jobs).max(1);
    let (done, heartbeat) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (queue, interval) = (&queue, context.storage.heartbeat_interval());
        scope.spawn(move || {
            while heartbeat.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                queue.send_heartbeats();
            }
        });
        let others: Vec<_> = (1..jobs).map(|_| scope.spawn(|| queue.work(threads))).collect();
        queue.work(threads);
        for other in others {
            other.join().expect("a worker that panics ends the program");
        }
        drop(done);
    });
    let status = queue.status.into_inner().expect("all workers are done");
    status.end.expect("workers return when the study has ended")
}

impl TrialQueue<'_> {
    fn work(&self, threads: usize) {
        while let Some((trial, values)) = self.next() {
            let result = self.run_trial(trial, &values, threads);
            let mut status = self.status();
            status.running.remove(&trial.id);
            match result {
                Ok(None) => status.diverged = 0,
                Ok(Some(error)) => {
                    status.diverged += 1;
                    if status.diverged >= MAX_DIVERGED {
                        self.end(&mut status, Err(error));
                    }
                }
                Err(error) => self.end(&mut status, Err(error)),
            }
            self.changed.notify_all();
        }
    }

    fn status(&self) -> MutexGuard<'_, QueueStatus> {
        self.status.lock().expect("a worker that panics ends the program")
    }

    /// Ends the study; only the first reason is kept.
    fn end(&self, status: &mut QueueStatus, end: Result<StudyEnd>) {
        self.failed.fetch_or(end.is_err(), Ordering::Relaxed);
        status.end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn stop_reason(&self) -> Option<StopReason> {
        let cancelled = self.context.options.cancel.load(Ordering::Relaxed);
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match (cancelled || self.failed.load(Ordering::Relaxed), late) {
            (true, _) => Some(StopReason::Cancelled),
            (false, true) => Some(StopReason::TimedOut),
            (false, false) => None,
        }
    }

    /// Waits for the next trial; `None` when the study has ended.
    fn next(&self) -> Option<(TrialRef, TrialValues)> {
        let mut status = self.status();
        while status.end.is_none() {
            match self.next_step(&status) {
                Ok(NextStep::Run(trial, values)) => {
                    status.running.insert(trial.id);
                    return Some((trial, values));
                }
                Ok(NextStep::Wait) => {
                    let waited = self.changed.wait_timeout(status, POLL_INTERVAL);
                    status = waited.expect("a worker that panics ends the program").0;
                }
                Ok(NextStep::End(end)) => self.end(&mut status, Ok(end)),
                Err(error) => self.end(&mut status, Err(error)),
            }
        }
        None
    }

    fn next_step(&self, status: &QueueStatus) -> Result<NextStep> {
        match self.stop_reason() {
            Some(StopReason::Cancelled) => return Ok(NextStep::End(StudyEnd::Interrupted)),
            Some(StopReason::TimedOut) => return Ok(NextStep::End(StudyEnd::TimedOut)),
            None => {}
        }
        let StudyContext { request, storage, study_id, .. } = *self.context;
        let trials = storage.trials(study_id)?;
        let complete = trials.iter().filter(|trial| trial.state == TrialState::Complete).count();
        let taken = match complete + status.running.len() < request.trials {
            true => self.take_trial(&trials)?,
            false => None,
        };
        Ok(match taken {
            Some((trial, values)) => NextStep::Run(trial, values),
            None if !status.running.is_empty() => NextStep::Wait,
            None if complete >= request.trials => NextStep::End(StudyEnd::TrialsCompleted),
            None => NextStep::End(StudyEnd::SpaceExhausted),
        })
    }

    /// Claims a waiting trial or creates a new one; `None` if no untried configuration is left.
    fn take_trial(&self, trials: &[Trial]) -> Result<Option<(TrialRef, TrialValues)>> {
        let StudyContext { request, storage, study_id, ref pruner, .. } = *self.context;
        let waiting = storage.claim_waiting_trial(study_id)?;
        let number = waiting.as_ref().map_or(trials.len() as u64, |trial| trial.number);
        let drawn = propose(request, pruner, trials, number)?;
        let trial = match waiting {
            Some(trial) => trial,
            None if drawn.is_none() => return Ok(None),
            None => storage.create_trial(study_id)?,
        };
        storage.record_heartbeat(trial.id)?;
        // If another process created a trial meanwhile, draw again: values depend on its number.
        let drawn = match trial.number == number {
            true => drawn,
            false => propose(request, pruner, &storage.trials(study_id)?, trial.number)?,
        };
        let value = |name: &String| {
            let fixed = trial.fixed_param(name, &request.space[name]);
            fixed.or_else(|| drawn.as_ref()?.get(name).copied())
        };
        let values: Option<TrialValues> =
            request.space.keys().map(|name| Some((name.clone(), value(name)?))).collect();
        let Some(values) = values else {
            storage.finish(trial.id, TrialOutcome::Fail)?;
            return Ok(None);
        };
        storage.set_params(trial.id, &self.params(&values))?;
        Ok(Some((TrialRef { id: trial.id, number: trial.number }, values)))
    }

    fn params(&self, values: &TrialValues) -> Params {
        let space = &self.context.request.space;
        values.iter().map(|(name, x)| (name.clone(), (space[name].clone(), *x))).collect()
    }

    /// Sends heartbeats for our trials and requeues those of dead workers.
    ///
    /// Errors are ignored here: the workers run into the same errors and report them.
    fn send_heartbeats(&self) {
        let StudyContext { storage, study_id, .. } = *self.context;
        let running = self.status().running.clone();
        running.iter().for_each(|trial| drop(storage.record_heartbeat(*trial)));
        drop(study::requeue_dead_trials(storage, study_id));
    }
}
