//! Progress of a study on stderr: the best trials and a bar on a terminal, otherwise a line per trial.

use super::report::{percentage, tuned_settings};
use crate::interrupt::STOP_REQUESTED;
use crate::progress::Progress;
use clenshaw::experiment::{TuneEvent, TuneRequest, ranked_trials};
use clenshaw_tune::{Trial, TrialState};
use indicatif::ProgressBar;

/// Maximum number of best trials to show.
pub const BEST_TRIALS: usize = 5;

/// Shows a running study.
pub struct StudyProgress<'a> {
    request: &'a TuneRequest,
    progress: &'a Progress,
    rows: Vec<ProgressBar>,
    bar: ProgressBar,
}

impl<'a> StudyProgress<'a> {
    /// Adds a row for each of the best trials, and a bar.
    pub fn new(request: &'a TuneRequest, progress: &'a Progress) -> Self {
        let rows = (0..BEST_TRIALS).map(|_| progress.text_row()).collect();
        let label = format!("{} {}", request.training.graph, request.training.model.name);
        let bar = progress.trials(label, request.trials as u64);
        Self { request, progress, rows, bar }
    }

    /// Shows an event; called from several threads.
    pub fn update(&self, event: &TuneEvent<'_>) {
        match event {
            TuneEvent::Loaded { trials, .. } => {
                self.show(trials);
                let (done, target) = (n_complete(trials), self.request.trials);
                if done > 0 {
                    self.progress
                        .line(&format!("resuming the study: {done} of {target} trials complete"));
                }
                self.bar.reset_eta();
            }
            TuneEvent::Reported { number, value, .. } => {
                self.bar.set_message(format!("(trial {number}: {})", percentage(*value)));
            }
            TuneEvent::Finished { number, trials } => {
                self.show(trials);
                if let Some(trial) = trials.iter().find(|trial| trial.number == *number) {
                    self.progress.line(&self.line(trial, trials));
                }
            }
            TuneEvent::StorageUnavailable { problem } => {
                self.progress.message(&format!("waiting for the database: {problem}"));
            }
            TuneEvent::StopRequested => self.progress.message(STOP_REQUESTED),
            TuneEvent::Started { .. } => {}
        }
    }

    /// Removes the rows and the bar.
    pub fn clear(&self) {
        self.rows.iter().chain([&self.bar]).for_each(ProgressBar::finish_and_clear);
    }

    /// Shows the number of complete trials and the best of them.
    fn show(&self, trials: &[Trial]) {
        self.bar.set_position(n_complete(trials) as u64);
        for (row, trial) in self.rows.iter().zip(ranked_trials(trials)) {
            let settings: Vec<String> = tuned_settings(self.request, trial)
                .into_iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            let value = percentage(trial.value.unwrap_or_default());
            row.set_message(format!("trial {:>4}  {value}  {}", trial.number, settings.join(" ")));
        }
    }

    /// Formats the outcome of a trial, such as
    /// `trial 7: 84.32%; best 86.49% (trial 3); 8 of 100 complete`.
    fn line(&self, trial: &Trial, trials: &[Trial]) -> String {
        let value = trial.value.map_or_else(String::new, percentage);
        let outcome = match trial.state {
            TrialState::Complete => value,
            TrialState::Pruned => format!("pruned at {value}"),
            _ => match trial.user_attrs.get("failed").and_then(|reason| reason.as_str()) {
                Some(reason) => format!("failed: {reason}"),
                None => "interrupted".into(),
            },
        };
        let best = ranked_trials(trials).first().map_or_else(String::new, |best| {
            let value = percentage(best.value.unwrap_or_default());
            format!("; best {value} (trial {})", best.number)
        });
        let (number, done, target) = (trial.number, n_complete(trials), self.request.trials);
        format!("trial {number}: {outcome}{best}; {done} of {target} complete")
    }
}

fn n_complete(trials: &[Trial]) -> usize {
    trials.iter().filter(|trial| trial.state == TrialState::Complete).count()
}
