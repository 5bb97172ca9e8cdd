//! Workers who take trials until the study has what was asked for.
//!
//! Whoever takes a trial holds the desk until its parameters are written down, so that the next one
//! knows them. Trials of other processes on the same study are seen, but nobody waits for them.
//!
//! Others may take a worker for dead that only slept. Its trial is then failed and its settings wait
//! again; a result that comes after that is written down as a trial of its own, and whoever takes up
//! the waiting settings finds it there.

use super::evaluate::{Bench, Evaluation, Taken, mean};
use super::outcome::{End, best_first};
use super::propose::{FAILED, Values, known, propose};
use super::{TuneEvent, study};
use crate::error::{Error, Result};
use crate::filter::Response;
use clenshaw_tune::{Ending, Notes, Params, State, Trial};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// So many diverged trainings in a row, and the space is to blame.
const HOPELESS: usize = 20;
/// Workers who wait for others look this often whether to stop.
const LOOK: Duration = Duration::from_millis(200);

struct Desk<'a> {
    bench: &'a Bench<'a>,
    deadline: Option<Instant>,
    /// A worker has failed.
    broken: AtomicBool,
    state: Mutex<Trials>,
    changed: Condvar,
}

#[derive(Default)]
struct Trials {
    /// Trials that our workers have, by id.
    running: BTreeSet<u64>,
    /// Trainings that diverged since one did not.
    diverged: usize,
    /// How it ended, once it has.
    end: Option<Result<End>>,
}

/// Why the work stops before its end.
enum Halt {
    Cancelled,
    OutOfTime,
}

/// Has trials carried out until there is a reason to stop.
pub(super) fn work(bench: &Bench<'_>, deadline: Option<Instant>) -> Result<End> {
    let (state, changed) = (Mutex::default(), Condvar::new());
    let desk = Desk { bench, deadline, broken: AtomicBool::new(false), state, changed };
    let jobs = bench.options.jobs.clamp(1, bench.asked.trials);
    let threads = (bench.options.threads / jobs).max(1);
    let (done, pause) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (desk, interval) = (&desk, bench.storage.interval());
        scope.spawn(move || {
            while pause.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                desk.beat();
            }
        });
        let others: Vec<_> = (1..jobs).map(|_| scope.spawn(|| desk.work(threads))).collect();
        desk.work(threads);
        for other in others {
            other.join().expect("a worker that panics ends the program");
        }
        drop(done);
    });
    let state = desk.state.into_inner().expect("all workers are done");
    state.end.expect("workers leave when it has ended")
}

impl Desk<'_> {
    fn work(&self, threads: usize) {
        while let Some((trial, values)) = self.next() {
            let result = self.carry_out(trial, &values, threads);
            let mut state = self.state();
            state.running.remove(&trial.id);
            match result {
                Ok(None) => state.diverged = 0,
                Ok(Some(error)) => {
                    state.diverged += 1;
                    if state.diverged >= HOPELESS {
                        self.end(&mut state, Err(error));
                    }
                }
                Err(error) => self.end(&mut state, Err(error)),
            }
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, Trials> {
        self.state.lock().expect("a worker that panics ends the program")
    }

    /// Only the first reason counts.
    fn end(&self, state: &mut Trials, end: Result<End>) {
        self.broken.fetch_or(end.is_err(), Ordering::Relaxed);
        state.end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn halt(&self) -> Option<Halt> {
        let cancelled = self.bench.options.cancel.load(Ordering::Relaxed);
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match (cancelled || self.broken.load(Ordering::Relaxed), late) {
            (true, _) => Some(Halt::Cancelled),
            (false, true) => Some(Halt::OutOfTime),
            (false, false) => None,
        }
    }

    /// A trial for this worker; nothing, when the study has ended.
    fn next(&self) -> Option<(Taken, Values)> {
        let mut state = self.state();
        while state.end.is_none() {
            match self.try_next(&state) {
                Ok(Next::Trial(trial, values)) => {
                    state.running.insert(trial.id);
                    return Some((trial, values));
                }
                Ok(Next::Wait) => {
                    let waited = self.changed.wait_timeout(state, LOOK);
                    state = waited.expect("a worker that panics ends the program").0;
                }
                Ok(Next::End(end)) => self.end(&mut state, Ok(end)),
                Err(error) => self.end(&mut state, Err(error)),
            }
        }
        None
    }

    fn try_next(&self, state: &Trials) -> Result<Next> {
        match self.halt() {
            Some(Halt::Cancelled) => return Ok(Next::End(End::Interrupted)),
            Some(Halt::OutOfTime) => return Ok(Next::End(End::OutOfTime)),
            None => {}
        }
        let trials = self.bench.storage.trials(self.bench.study)?;
        let complete = trials.iter().filter(|trial| trial.state == State::Complete).count();
        let taken = match complete + state.running.len() < self.bench.asked.trials {
            true => self.take(&trials)?,
            false => None,
        };
        Ok(match taken {
            Some((trial, values)) => Next::Trial(trial, values),
            None if !state.running.is_empty() => Next::Wait,
            None if complete >= self.bench.asked.trials => Next::End(End::Reached),
            None => Next::End(End::Exhausted),
        })
    }

    /// A trial that waits, else a new one; nothing, if there is nothing new to try.
    fn take(&self, trials: &[Trial]) -> Result<Option<(Taken, Values)>> {
        let Bench { asked, storage, study, ref pruner, .. } = *self.bench;
        let waiting = storage.claim_waiting(study)?;
        let number = waiting.as_ref().map_or(trials.len() as u64, |trial| trial.number);
        let drawn = propose(asked, pruner, trials, number)?;
        let trial = match waiting {
            Some(trial) => trial,
            None if drawn.is_none() => return Ok(None),
            None => storage.create_trial(study)?,
        };
        storage.beat(trial.id)?;
        // Another process may have been faster: what is tried belongs to the number.
        let drawn = match trial.number == number {
            true => drawn,
            false => propose(asked, pruner, &storage.trials(study)?, trial.number)?,
        };
        let value = |name: &String| {
            let fixed = trial.fixed(name, &asked.space[name]);
            fixed.or_else(|| drawn.as_ref()?.get(name).copied())
        };
        let values: Option<Values> =
            asked.space.keys().map(|name| Some((name.clone(), value(name)?))).collect();
        let Some(values) = values else {
            storage.finish(trial.id, Ending::Fail)?;
            return Ok(None);
        };
        storage.set_params(trial.id, &self.params(&values))?;
        Ok(Some((Taken { id: trial.id, number: trial.number }, values)))
    }

    fn params(&self, values: &Values) -> Params {
        let space = &self.bench.asked.space;
        values.iter().map(|(name, x)| (name.clone(), (space[name].clone(), *x))).collect()
    }

    /// Says that our trials run, and sees to those of the dead. What goes wrong here goes wrong for the
    /// workers, too, who will tell.
    fn beat(&self) {
        let Bench { storage, study, .. } = *self.bench;
        let running = self.state().running.clone();
        running.iter().for_each(|trial| drop(storage.beat(*trial)));
        drop(study::reap(storage, study));
    }

    /// Trains and writes down how it ended; the error, if training diverged.
    fn carry_out(&self, trial: Taken, values: &Values, threads: usize) -> Result<Option<Error>> {
        (self.bench.options.watch)(TuneEvent::Started { number: trial.number });
        let found = self.find_out(trial, values, threads);
        let concluded = self.conclude(trial, &found);
        let (evaluation, error) = match (found, concluded) {
            (Ok(_) | Err(Error::Interrupted), Ok(())) => return self.tell(trial).map(|()| None),
            (Err(error @ Error::Diverged { .. }), Ok(())) => {
                return self.tell(trial).map(|()| Some(error));
            }
            (Ok(evaluation), Err(error)) => (Some(evaluation), error),
            (Err(_), Err(error)) | (Err(error), Ok(())) => (None, error),
        };
        if !self.was_taken(trial, &error)? {
            return Err(error);
        }
        if let Some(evaluation) = evaluation {
            self.record_late(trial, values, &evaluation)?;
        }
        self.tell(trial).map(|()| None)
    }

    /// Writes down how a trial ended; errors that say nothing about the trial are not its end.
    fn conclude(&self, trial: Taken, found: &Result<Evaluation>) -> Result<()> {
        match found {
            Ok(evaluation) => self.record(trial, evaluation),
            Err(error @ Error::Diverged { .. }) => {
                self.note(trial, FAILED, json!(error.to_string()))?;
                self.finish(trial, Ending::Fail)
            }
            Err(Error::Interrupted) => {
                self.note(trial, "interrupted", json!(true))?;
                self.finish(trial, Ending::Fail)?;
                self.set_aside(trial)
            }
            Err(_) => Ok(()),
        }
    }

    fn record(&self, trial: Taken, evaluation: &Evaluation) -> Result<()> {
        match evaluation {
            Evaluation::Complete(accuracies, filter) => {
                self.note(trial, "val_accuracies", json!(accuracies))?;
                self.finish(trial, Ending::Complete(mean(accuracies)))?;
                self.draw_best(trial, filter.as_ref())
            }
            Evaluation::Known { twin, value } => {
                self.note(trial, "duplicate_of", json!(twin))?;
                self.finish(trial, Ending::Complete(*value))
            }
            Evaluation::Pruned(last) => self.finish(trial, Ending::Pruned(Some(*last))),
        }
    }

    fn note(&self, trial: Taken, key: &str, value: serde_json::Value) -> Result<()> {
        let attrs = [(key.to_owned(), value)].into();
        Ok(self.bench.storage.set_trial_attrs(trial.id, Notes::User, &attrs)?)
    }

    fn finish(&self, trial: Taken, ending: Ending) -> Result<()> {
        self.bench.storage.finish(trial.id, ending)?;
        Ok(())
    }

    /// Whether an error came of others having failed a trial that we still had.
    fn was_taken(&self, taken: Taken, error: &Error) -> Result<bool> {
        if !matches!(error, Error::Study(clenshaw_tune::Error::Data { .. })) {
            return Ok(false);
        }
        let trials = self.bench.storage.trials(self.bench.study)?;
        let trial = trials.iter().find(|trial| trial.id == taken.id);
        Ok(trial.is_some_and(|trial| trial.state == State::Fail))
    }

    /// Writes a result down as a trial of its own: the one it belongs to was failed by others.
    fn record_late(&self, late: Taken, values: &Values, evaluation: &Evaluation) -> Result<()> {
        let Bench { storage, study, .. } = *self.bench;
        let trial = storage.create_trial(study)?;
        let trial = Taken { id: trial.id, number: trial.number };
        storage.beat(trial.id)?;
        storage.set_params(trial.id, &self.params(values))?;
        self.note(trial, "late_for", json!(late.number))?;
        self.record(trial, evaluation)
    }

    /// What these values are worth: known, or to be trained.
    fn find_out(&self, trial: Taken, values: &Values, threads: usize) -> Result<Evaluation> {
        let Bench { asked, storage, study, .. } = *self.bench;
        if let Some((twin, value)) = known(asked, &storage.trials(study)?, trial.number, values) {
            return Ok(Evaluation::Known { twin, value });
        }
        let request = asked.settings(&self.params(values))?;
        self.bench.evaluate(trial, &request, threads, &|| self.halt().is_none())
    }

    /// Lets the parameters of an interrupted trial wait for whoever goes on.
    fn set_aside(&self, taken: Taken) -> Result<()> {
        let Bench { storage, study, .. } = *self.bench;
        let trials = storage.trials(study)?;
        let trial = trials.iter().find(|trial| trial.id == taken.id).expect("it is ours and stays");
        study::wait_again(storage, study, trial)
    }

    /// Draws the filter of a trial, if no other is better.
    fn draw_best(&self, taken: Taken, filter: Option<&Response>) -> Result<()> {
        let Bench { storage, study, .. } = *self.bench;
        let Some(filter) = filter else { return Ok(()) };
        // Held so that an older best cannot be drawn over a newer one.
        let _desk = self.state();
        let trials = storage.trials(study)?;
        match best_first(&trials).first() {
            Some(best) if best.id == taken.id => study::draw(storage, study, taken.number, filter),
            _ => Ok(()),
        }
    }

    fn tell(&self, trial: Taken) -> Result<()> {
        let Bench { storage, study, options, .. } = *self.bench;
        let trials = storage.trials(study)?;
        (options.watch)(TuneEvent::Ended { number: trial.number, trials: &trials });
        Ok(())
    }
}

/// What a worker does next.
enum Next {
    Trial(Taken, Values),
    Wait,
    End(End),
}
