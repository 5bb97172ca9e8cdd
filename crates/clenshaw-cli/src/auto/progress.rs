//! Progress of `clenshaw auto` on stderr: a bar on a terminal, otherwise a line per trial.

use crate::interrupt::STOP_REQUESTED;
use crate::output::{count, percent};
use crate::progress::Progress;
use clenshaw::experiment::{AutoEvent, AutoRequest, GraphOverview, TuneEvent};
use clenshaw_tune::{Trial, TrialState};
use indicatif::ProgressBar;
use std::time::Instant;

/// Shows the progress of a search.
pub struct AutoProgress<'a> {
    request: &'a AutoRequest,
    progress: &'a Progress,
    bar: ProgressBar,
    start: Instant,
}

impl<'a> AutoProgress<'a> {
    pub fn new(request: &'a AutoRequest, progress: &'a Progress) -> Self {
        let bar = progress.total("auto", 100);
        Self { request, progress, bar, start: Instant::now() }
    }

    /// Shows an event; called from several threads.
    pub fn update(&self, event: &AutoEvent<'_>) {
        match event {
            AutoEvent::Graph(overview) => self.show_graph(overview),
            AutoEvent::Trials(TuneEvent::Loaded { trials, .. }) => {
                let n = trials.iter().filter(|trial| trial.state.is_finished()).count();
                if n > 0 {
                    let trials = count(n, "trial");
                    self.progress.line(&format!("resuming the study: {trials} finished earlier"));
                }
            }
            AutoEvent::Trials(TuneEvent::Finished { number, trials }) => {
                self.bar.set_position(self.percentage(trials));
                if let Some(trial) = trials.iter().find(|trial| trial.number == *number) {
                    self.show_trial(trial, trials);
                }
            }
            AutoEvent::Trials(TuneEvent::StorageUnavailable { problem }) => {
                self.progress.message(&format!("waiting for the database: {problem}"));
            }
            AutoEvent::Trials(TuneEvent::StopRequested) => self.progress.message(STOP_REQUESTED),
            AutoEvent::Trials(TuneEvent::Started { .. } | TuneEvent::Reported { .. }) => {}
            AutoEvent::Selecting => self.progress.line("selecting the ensemble"),
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn show_graph(&self, overview: &GraphOverview) {
        self.progress.line(&format!("{}: {}", overview.name, overview.homophily_sentence()));
    }

    /// How much of the search is done, in percent: of the trials or of the time, whichever is more. The time before
    /// an interruption is not included.
    fn percentage(&self, trials: &[Trial]) -> u64 {
        let ended = trials.iter().filter(|trial| trial.state.is_finished()).count();
        let of_trials = self.request.trials.map_or(0.0, |target| ended as f64 / target as f64);
        let of_time = self.request.budget.map_or(0.0, |budget| {
            self.start.elapsed().as_secs_f64() / budget.as_secs_f64().max(1e-9)
        });
        (100.0 * of_trials.max(of_time)).min(100.0) as u64
    }

    /// Prints the outcome of a trial, such as `trial 7: gcn-cora 84.32% on 2 splits; best 86.49%`. The reason for
    /// a failure is printed in every display mode.
    fn show_trial(&self, trial: &Trial, trials: &[Trial]) {
        let name = configuration_name(trial);
        let scores = trial.user_attrs.get("scores").and_then(|scores| scores.as_array());
        let n_splits = scores.map_or(0, Vec::len);
        let splits = if n_splits == 1 { "split" } else { "splits" };
        let (number, value) = (trial.number, trial.value.map_or_else(String::new, percent));
        let failed = trial.user_attrs.get("failed").and_then(|reason| reason.as_str());
        match (trial.state, failed) {
            (TrialState::Complete | TrialState::Pruned, _) => {
                let complete = trials.iter().filter(|trial| trial.state == TrialState::Complete);
                let best = complete.filter_map(|trial| trial.value).reduce(f64::max);
                let best =
                    best.map_or_else(String::new, |best| format!("; best {}%", percent(best)));
                self.progress
                    .line(&format!("trial {number}: {name} {value}% on {n_splits} {splits}{best}"));
            }
            (_, Some(reason)) => {
                self.progress.message(&format!("trial {number}: {name} skipped: {reason}"));
            }
            _ => self.progress.line(&format!("trial {number}: {name} interrupted")),
        }
    }
}

/// The configuration of a trial, such as `gcn-cora` or `gcn-cora, tuned`; `?` in place of an unknown name.
fn configuration_name(trial: &Trial) -> String {
    let params = trial.external_params();
    let entry = params.get("configuration").map(|entry| entry.to_json());
    let entry = entry.as_ref().and_then(|entry| entry.as_str()).unwrap_or("?").to_owned();
    if params.len() > 1 { format!("{entry}, tuned") } else { entry }
}
