//! A study on stderr: the best trials and one bar on a terminal, else a line when a trial ends.

use crate::progress::Progress;
use crate::tuned::{named, percent};
use clenshaw::experiment::{TuneEvent, TuneRequest, best_first};
use clenshaw_tune::{State, Trial};
use indicatif::ProgressBar;

/// How many of the best trials are shown.
pub const ROWS: usize = 5;

/// What is shown while a study is carried out.
pub struct Board<'a> {
    asked: &'a TuneRequest,
    progress: &'a Progress,
    rows: Vec<ProgressBar>,
    bar: ProgressBar,
}

impl<'a> Board<'a> {
    /// An empty board.
    pub fn new(asked: &'a TuneRequest, progress: &'a Progress) -> Self {
        let rows = (0..ROWS).map(|_| progress.line()).collect();
        let label = format!("{} {}", asked.request.graph, asked.request.model.name);
        let bar = progress.trials(label, asked.trials as u64);
        Self { asked, progress, rows, bar }
    }

    /// Shows an event; called from several threads.
    pub fn see(&self, event: &TuneEvent<'_>) {
        match event {
            TuneEvent::Loaded { trials, .. } => {
                self.show(trials);
                let done = complete(trials);
                if done > 0 {
                    let asked = self.asked.trials;
                    self.progress.note(&format!("going on: {done} of {asked} trials complete"));
                }
                self.bar.reset_eta();
            }
            TuneEvent::Reported { number, value, .. } => {
                self.bar.set_message(format!("(trial {number}: {})", percent(*value)));
            }
            TuneEvent::Ended { number, trials } => {
                self.show(trials);
                if let Some(trial) = trials.iter().find(|trial| trial.number == *number) {
                    self.progress.note(&self.line(trial, trials));
                }
            }
            TuneEvent::Away { problem } => {
                self.progress.say(&format!("waiting for the database: {problem}"));
            }
            TuneEvent::Started { .. } => {}
        }
    }

    /// Takes everything away again.
    pub fn clear(&self) {
        self.rows.iter().chain([&self.bar]).for_each(ProgressBar::finish_and_clear);
    }

    fn show(&self, trials: &[Trial]) {
        self.bar.set_position(complete(trials) as u64);
        for (row, trial) in self.rows.iter().zip(best_first(trials)) {
            let values: Vec<String> =
                named(self.asked, trial).into_iter().map(|(k, v)| format!("{k}={v}")).collect();
            let value = percent(trial.value.unwrap_or_default());
            row.set_message(format!("trial {:>4}  {value}  {}", trial.number, values.join(" ")));
        }
    }

    /// `trial 7: 84.32%; best 86.49% (trial 3); 8 of 100 complete`.
    fn line(&self, trial: &Trial, trials: &[Trial]) -> String {
        let value = trial.value.map_or_else(String::new, percent);
        let ended = match trial.state {
            State::Complete => value,
            State::Pruned => format!("pruned at {value}"),
            _ => match trial.user_attrs.get("failed").and_then(|reason| reason.as_str()) {
                Some(reason) => format!("failed: {reason}"),
                None => "interrupted".into(),
            },
        };
        let best = best_first(trials).first().map_or_else(String::new, |best| {
            let value = percent(best.value.unwrap_or_default());
            format!("; best {value} (trial {})", best.number)
        });
        let (number, done, asked) = (trial.number, complete(trials), self.asked.trials);
        format!("trial {number}: {ended}{best}; {done} of {asked} complete")
    }
}

fn complete(trials: &[Trial]) -> usize {
    trials.iter().filter(|trial| trial.state == State::Complete).count()
}
