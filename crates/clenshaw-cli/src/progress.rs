//! Progress on stderr: bars on a terminal, otherwise a line when a run starts or ends and, at most every ten
//! seconds, a line about an epoch.

use crate::train::{describe, interpretation};
use crate::{interrupt, output};
use clenshaw::Result;
use clenshaw::experiment::{self, Request, RunEvent, RunOptions, RunRecord, Summary, TrainingJob};
use clenshaw::train::{Epoch, PrecomputeProgress, StopRule};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

const RUN_TEMPLATE: &str = "{prefix} {wide_bar} epoch {pos:>4}/{len:<4} {msg} eta {eta:>3}";
const BYTES_TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} eta {eta:>3}";
const TRIALS_TEMPLATE: &str = "{prefix} {wide_bar} {pos}/{len} trials {msg} eta {eta:>3}";
const TEXT_TEMPLATE: &str = "{wide_msg}";
const FILTER_TEMPLATE: &str = "{prefix} {wide_bar} filtering {pos}/{len} terms eta {eta:>3}";
const TOTAL_TEMPLATE: &str = "{prefix} {wide_bar} {percent}% eta {eta:>3}";

/// A progress display on stderr, shared by all runs and by the interrupt handler.
#[derive(Clone)]
pub struct Progress {
    mode: DisplayMode,
    bars: MultiProgress,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq)]
enum DisplayMode {
    Silent,
    Lines,
    Bars,
}

impl Progress {
    /// Shows bars if stderr is a terminal, lines otherwise.
    pub fn on_stderr() -> Self {
        let mode =
            if std::io::stderr().is_terminal() { DisplayMode::Bars } else { DisplayMode::Lines };
        Self { mode, bars: MultiProgress::new() }
    }

    /// Shows no bars or progress lines, only the lines of [`Progress::message`].
    pub fn silent() -> Self {
        Self { mode: DisplayMode::Silent, bars: MultiProgress::new() }
    }

    /// Prints a line above the bars, in every mode.
    pub fn message(&self, line: &str) {
        self.bars.suspend(|| output::message(line));
    }

    /// Prints a line in place of a bar; does nothing unless the mode is [`DisplayMode::Lines`].
    pub fn line(&self, line: &str) {
        if self.mode == DisplayMode::Lines {
            output::message(line);
        }
    }

    /// Adds a bar for a whole command, which shows the progress as a percentage of `length`.
    pub fn total(&self, label: &'static str, length: u64) -> ProgressBar {
        self.add(TOTAL_TEMPLATE, length).with_prefix(label)
    }

    /// Adds a bar that counts bytes; its length is 0 until the caller sets it.
    pub fn bytes(&self) -> ProgressBar {
        self.add(BYTES_TEMPLATE, 0)
    }

    /// Adds a bar that counts the completed trials of a study.
    pub fn trials(&self, label: String, length: u64) -> ProgressBar {
        self.add(TRIALS_TEMPLATE, length).with_prefix(label)
    }

    /// Adds a row of text that can be replaced.
    pub fn text_row(&self) -> ProgressBar {
        self.add(TEXT_TEMPLATE, 0)
    }

    /// Returns a display for the runs of one request.
    pub fn runs(&self, request: &Request) -> RunProgress {
        let hp = &request.hyper;
        let uses_patience = hp.choice::<StopRule>("stop") == StopRule::Patience;
        RunProgress {
            progress: self.clone(),
            label: format!("{} {}", request.graph, request.model.name),
            first_seed: request.seed,
            patience: uses_patience.then(|| hp.int("patience")),
            bars: Mutex::default(),
            filter_bar: OnceLock::new(),
            said_recomputing: AtomicBool::new(false),
            last_epoch_line: Mutex::new(Instant::now()),
        }
    }

    /// Adds a bar with this template; without a terminal, the bar is hidden.
    fn add(&self, template: &str, length: u64) -> ProgressBar {
        if self.mode != DisplayMode::Bars {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template(template).expect("the templates are constants");
        let bar = ProgressBar::new(length).with_style(style.progress_chars("━╸ "));
        self.bars.add(bar)
    }
}

/// Trains all jobs with a bar for each run and one for the whole batch, and prints how the columns and edges of
/// users' own graphs were interpreted.
///
/// `costs` contains the relative cost of an epoch of each job, for the estimate of the remaining time.
/// The `on_event` of the options is ignored. Returns one result per job, in the order of `jobs`.
pub fn train_batch(
    label: &'static str,
    jobs: &[TrainingJob],
    costs: &[u64],
    progress: &Progress,
    options: &RunOptions<'_>,
) -> Vec<Result<Summary>> {
    let max_epochs: Vec<usize> =
        jobs.iter().map(|job| job.request.hyper.int("max_epochs")).collect();
    let work = |i: usize| costs[i] * (jobs[i].request.runs * max_epochs[i]) as u64;
    let total = progress.total(label, (0..jobs.len()).map(work).sum());
    let runs: Vec<RunProgress> = jobs.iter().map(|job| progress.runs(&job.request)).collect();
    // Indices of the job and the run. A run that an earlier command has finished is never started.
    let started = Mutex::new(HashSet::new());
    let lock_started = || started.lock().expect("no thread panics while holding the lock");
    let described = Mutex::new(HashSet::new());
    let on_event = |i: usize, event: RunEvent<'_>| {
        runs[i].update(&event);
        match event {
            RunEvent::Loaded { dataset } => {
                let interpretation = interpretation(dataset);
                let mut described =
                    described.lock().expect("no thread panics while holding the lock");
                if !interpretation.is_empty() && described.insert(dataset.name.clone()) {
                    progress.message(&(describe(dataset) + &interpretation));
                }
            }
            RunEvent::Started { run, epochs_done, .. } => {
                lock_started().insert((i, run));
                total.inc(costs[i] * epochs_done as u64);
            }
            RunEvent::Epoch { .. } => total.inc(costs[i]),
            RunEvent::Precomputed { .. }
            | RunEvent::Recomputing { .. }
            | RunEvent::StopRequested => {}
            RunEvent::Finished { run, record } => {
                let counted = if lock_started().contains(&(i, run)) { record.epochs } else { 0 };
                total.inc(costs[i] * (max_epochs[i] - counted) as u64);
            }
        }
    };
    let results = experiment::run_all(jobs, &RunOptions { on_event: &on_event, ..*options });
    total.finish_and_clear();
    results
}

/// Minimum time between two lines about epochs of one request.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Shows the runs of one request.
pub struct RunProgress {
    progress: Progress,
    label: String,
    first_seed: u64,
    /// The patience in epochs, if the stopping rule is [`StopRule::Patience`].
    patience: Option<usize>,
    /// The bars of unfinished runs, by the index of the run.
    bars: Mutex<HashMap<usize, RunBar>>,
    /// The bar of a precomputed filter.
    filter_bar: OnceLock<ProgressBar>,
    /// Whether the message about recomputed values was printed; a job that is postponed sends the event again.
    said_recomputing: AtomicBool,
    /// When the last line about an epoch or a filter was printed or, before the first one, when this was created.
    last_epoch_line: Mutex<Instant>,
}

/// The bar of an unfinished run.
struct RunBar {
    bar: ProgressBar,
    max_epochs: usize,
    /// The lowest validation loss since the bar was added.
    lowest_loss: f64,
}

impl RunProgress {
    /// Shows an event; called from several threads.
    pub fn update(&self, event: &RunEvent<'_>) {
        if matches!(event, RunEvent::StopRequested) {
            self.progress.message(interrupt::STOP_REQUESTED);
        }
        if let RunEvent::Recomputing { additional_work } = event
            && !self.said_recomputing.swap(true, Ordering::Relaxed)
        {
            self.progress.message(&format!(
                "{}: to save memory, values are computed again in the backward pass: {:.0}% more work per \
                 epoch, the same results",
                self.label,
                100.0 * additional_work
            ));
        }
        match self.progress.mode {
            DisplayMode::Silent => {}
            DisplayMode::Lines => {
                if let Some(line) = self.line(event, Instant::now()) {
                    output::message(&line);
                }
            }
            DisplayMode::Bars => match event {
                RunEvent::Started { run, seed, max_epochs, .. } => {
                    self.start(*run, *seed, *max_epochs);
                }
                RunEvent::Epoch { run, epoch } => self.advance(*run, epoch),
                RunEvent::Finished { run, .. } => self.finish(*run),
                RunEvent::Precomputed { progress } => self.advance_filter(*progress),
                RunEvent::Loaded { .. }
                | RunEvent::Recomputing { .. }
                | RunEvent::StopRequested => {}
            },
        }
    }

    /// Returns the line for an event at time `now`, if it has one. An epoch has a line only if
    /// [`LINE_INTERVAL`] has passed since the last one; `now` then becomes the time of the last line.
    fn line(&self, event: &RunEvent<'_>, now: Instant) -> Option<String> {
        let (seed, text) = match event {
            RunEvent::Loaded { .. } | RunEvent::Recomputing { .. } | RunEvent::StopRequested => {
                return None;
            }
            RunEvent::Precomputed { progress: PrecomputeProgress { done, total } } => {
                let is_due = self.is_line_due(now);
                return is_due.then(|| format!("{}: filtered {done} of {total} terms", self.label));
            }
            RunEvent::Started { seed, max_epochs, epochs_done: 0, .. } => {
                (*seed, format!("started, at most {}", output::count(*max_epochs, "epoch")))
            }
            RunEvent::Started { seed, max_epochs, epochs_done, .. } => {
                let [done, max] = [epochs_done, max_epochs].map(|n| output::count(*n, "epoch"));
                (*seed, format!("resumed after {done}, at most {max}"))
            }
            RunEvent::Epoch { run, epoch } => {
                if !self.is_line_due(now) {
                    return None;
                }
                let seed = self.first_seed + *run as u64;
                (seed, format!("epoch {}{}", epoch.epoch, val_accuracy(epoch.val_accuracy)))
            }
            RunEvent::Finished { record, .. } => (record.seed, finished(record)),
        };
        Some(format!("{} seed {seed}: {text}", self.label))
    }

    /// Whether [`LINE_INTERVAL`] has passed since the last line about an epoch or a filter; `now` then becomes the
    /// time of the last line.
    fn is_line_due(&self, now: Instant) -> bool {
        let last = self.last_epoch_line.lock();
        let mut last = last.expect("no thread panics while holding the lock");
        let is_due = now.saturating_duration_since(*last) >= LINE_INTERVAL;
        if is_due {
            *last = now;
        }
        is_due
    }

    /// Shows how much of a precomputed filter is done; the bar is removed at the end.
    fn advance_filter(&self, PrecomputeProgress { done, total }: PrecomputeProgress) {
        let bar = self.filter_bar.get_or_init(|| {
            let bar = self.progress.add(FILTER_TEMPLATE, total as u64);
            bar.with_prefix(self.label.clone())
        });
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
        }
    }

    /// Adds the bar of a run.
    fn start(&self, run: usize, seed: u64, max_epochs: usize) {
        let bar = self.progress.add(RUN_TEMPLATE, max_epochs as u64);
        bar.set_prefix(format!("{} seed {seed}", self.label));
        self.lock_bars().insert(run, RunBar { bar, max_epochs, lowest_loss: f64::INFINITY });
    }

    /// Advances the bar of a run; under [`StopRule::Patience`], its end is where training would stop if the
    /// validation loss never became lower.
    fn advance(&self, run: usize, epoch: &Epoch) {
        let mut bars = self.lock_bars();
        let Some(run) = bars.get_mut(&run) else { return };
        if let Some(loss) = epoch.val_loss.filter(|loss| *loss < run.lowest_loss) {
            run.lowest_loss = loss;
            let end = self.patience.map_or(run.max_epochs, |patience| epoch.epoch + patience);
            run.bar.set_length(end.min(run.max_epochs) as u64);
        }
        if let Some(accuracy) = epoch.val_accuracy {
            run.bar.set_message(format!("val {:4.1}%", 100.0 * accuracy));
        }
        run.bar.set_position(epoch.epoch as u64);
    }

    /// Removes the bar of a run.
    fn finish(&self, run: usize) {
        if let Some(run) = self.lock_bars().remove(&run) {
            run.bar.finish_and_clear();
            self.progress.bars.remove(&run.bar);
        }
    }

    fn lock_bars(&self) -> MutexGuard<'_, HashMap<usize, RunBar>> {
        self.bars.lock().expect("no thread panics while holding the lock")
    }
}

/// Formats a finished run, such as `57 epochs, best epoch 32, val acc 86.5%, 1.2 s`.
fn finished(record: &RunRecord) -> String {
    let epochs = output::count(record.epochs, "epoch");
    let (best, seconds) = (record.best_epoch, record.seconds);
    let val = val_accuracy(record.val_accuracy);
    format!("{epochs}, best epoch {best}{val}, {seconds:.1} s")
}

/// Formats a validation accuracy, such as `, val acc 86.5%`; empty if `accuracy` is `None`.
fn val_accuracy(accuracy: Option<f64>) -> String {
    accuracy.map_or(String::new(), |accuracy| format!(", val acc {:.1}%", 100.0 * accuracy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_an_epoch_is_reported_every_ten_seconds() {
        let mut request = Request::new("csbm", "gcn").unwrap();
        request.seed = 5;
        let runs = Progress { mode: DisplayMode::Lines, bars: MultiProgress::new() }.runs(&request);
        let start = *runs.last_epoch_line.lock().unwrap();
        // Two runs in parallel, one epoch of each per second.
        let lines: Vec<(u64, String)> = (1..=30)
            .flat_map(|second| [(second, 0), (second, 1)])
            .filter_map(|(second, run)| {
                let epoch = second as usize;
                let epoch = Epoch {
                    epoch,
                    train_loss: 1.0,
                    val_loss: None,
                    val_accuracy: Some(0.5),
                    val_roc_auc: None,
                };
                let event = RunEvent::Epoch { run, epoch: &epoch };
                Some((second, runs.line(&event, start + Duration::from_secs(second))?))
            })
            .collect();
        let expected = [10, 20, 30]
            .map(|second| (second, format!("csbm gcn seed 5: epoch {second}, val acc 50.0%")));
        assert_eq!(lines, expected);
    }
}
