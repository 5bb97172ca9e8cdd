//! What a study found.

use super::{DIRECTION, TuneRequest};
use crate::data::{Dataset, SplitKind};
use crate::error::Result;
use crate::experiment::Request;
use clenshaw_tune::{State, Trial, importances};

/// Runs of the final evaluation, as many as the paper has.
const RUNS: usize = 20;

/// Why a study ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has as many completed trials as were asked for.
    Reached,
    /// Every point of its space has been tried.
    Exhausted,
    /// Its time is over.
    OutOfTime,
    /// It was told to stop.
    Interrupted,
}

/// A study and what it says.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// All its trials, by number.
    pub trials: Vec<Trial>,
    /// Why it ended.
    pub end: End,
    /// The best trial, and the request that evaluates its settings: twenty runs whose splits tuning has
    /// not seen, or every published split once.
    pub best: Option<(Trial, Request)>,
    /// The tuned parameters and their shares of the importance, largest first.
    pub importances: Vec<(String, f64)>,
}

impl Tuned {
    pub(super) fn new(
        asked: &TuneRequest,
        dataset: &Dataset,
        trials: Vec<Trial>,
        end: End,
    ) -> Result<Self> {
        let best = best_first(&trials).first().map(|trial| {
            let request = asked.settings(&trial.params)?;
            Result::Ok(((*trial).clone(), evaluation(request, dataset)))
        });
        let importances = importances(&trials, DIRECTION);
        Ok(Self { best: best.transpose()?, end, importances, trials })
    }

    /// How many trials stand so.
    pub fn count(&self, state: State) -> usize {
        self.trials.iter().filter(|trial| trial.state == state).count()
    }
}

/// The completed trials, the best first, of equals the earlier.
pub fn best_first(trials: &[Trial]) -> Vec<&Trial> {
    let mut complete: Vec<(f64, &Trial)> = trials
        .iter()
        .filter(|trial| trial.state == State::Complete)
        .filter_map(|trial| Some((trial.value?, trial)))
        .collect();
    complete.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.number.cmp(&b.1.number)));
    complete.into_iter().map(|(_, trial)| trial).collect()
}

/// Splits that come after those of tuning; published ones are what they are.
fn evaluation(request: Request, dataset: &Dataset) -> Request {
    match request.split {
        SplitKind::All => Request { runs: dataset.splits.len().max(1), seed: 0, ..request },
        _ => Request { runs: RUNS, seed: request.seed + request.runs as u64, ..request },
    }
}
