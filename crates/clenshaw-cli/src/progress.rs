//! Progress on stderr: bars on a terminal, otherwise a line when a run starts or ends and every ten
//! seconds in between.

use crate::output;
use clenshaw::Result;
use clenshaw::experiment::{self, Request, RunEvent, RunOptions, RunRecord, Summary, TrainingJob};
use clenshaw::train::{Epoch, StopRule};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

const RUN: &str = "{prefix} {wide_bar} epoch {pos:>4}/{len:<4} {msg} eta {eta:>3}";
const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} eta {eta:>3}";
const TRIALS: &str = "{prefix} {wide_bar} {pos}/{len} trials {msg} eta {eta:>3}";
const TEXT: &str = "{wide_msg}";
const TOTAL: &str = "{prefix} {wide_bar} {percent}% eta {eta:>3}";

/// A progress display on stderr, shared by all runs and by the interrupt handler.
#[derive(Clone)]
pub struct Progress {
    mode: DisplayMode,
    bars: MultiProgress,
}

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

    /// Adds a bar for a whole command, which shows the percentage of `length`.
    pub fn total(&self, label: &'static str, length: u64) -> ProgressBar {
        self.add(TOTAL, length).with_prefix(label)
    }

    /// Adds a bar that counts bytes.
    pub fn bytes(&self) -> ProgressBar {
        self.add(BYTES, 0)
    }

    /// Adds a bar that counts the completed trials of a study.
    pub fn trials(&self, label: String, length: u64) -> ProgressBar {
        self.add(TRIALS, length).with_prefix(label)
    }

    /// Adds a row of text that can be replaced.
    pub fn text_row(&self) -> ProgressBar {
        self.add(TEXT, 0)
    }

    /// Returns a display for the runs of one request.
    pub fn runs(&self, request: &Request) -> RunProgress {
        let hp = &request.hyper;
        let waits = hp.choice::<StopRule>("stop") == StopRule::Patience;
        let patience = waits.then(|| hp.int("patience"));
        RunProgress {
            progress: self.clone(),
            label: format!("{} {}", request.graph, request.model.name),
            patience,
            bars: Mutex::default(),
            last_line: Mutex::new(Instant::now()),
        }
    }

    fn add(&self, template: &str, length: u64) -> ProgressBar {
        if self.mode != DisplayMode::Bars {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template(template).expect("the templates are constants");
        let bar = ProgressBar::new(length).with_style(style.progress_chars("━╸ "));
        self.bars.add(bar)
    }
}

/// Trains all jobs with a bar for each run and one for the whole batch.
///
/// `costs` contains the relative cost of an epoch of each job, for the estimate of the remaining time.
/// The `on_event` of the options is ignored.
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
    let on_event = |i: usize, event: RunEvent<'_>| {
        runs[i].update(&event);
        match event {
            RunEvent::Epoch { .. } => total.inc(costs[i]),
            RunEvent::Finished { record, .. } => {
                total.inc(costs[i] * (max_epochs[i] - record.epochs) as u64);
            }
            _ => {}
        }
    };
    let results = experiment::run_all(jobs, &RunOptions { on_event: &on_event, ..*options });
    total.finish_and_clear();
    results
}

/// Time between lines about a run in progress.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Shows the runs of one request.
pub struct RunProgress {
    progress: Progress,
    label: String,
    patience: Option<usize>,
    bars: Mutex<HashMap<usize, RunBar>>,
    /// When the last line was printed.
    last_line: Mutex<Instant>,
}

/// The bar of an unfinished run.
struct RunBar {
    bar: ProgressBar,
    max_epochs: usize,
    lowest_loss: f64,
}

impl RunProgress {
    /// Shows an event; called from several threads.
    pub fn update(&self, event: &RunEvent<'_>) {
        match (self.progress.mode, event) {
            (DisplayMode::Bars, RunEvent::Started { run, seed, max_epochs, .. }) => {
                self.start(*run, *seed, *max_epochs);
            }
            (DisplayMode::Bars, RunEvent::Epoch { run, epoch }) => self.advance(*run, epoch),
            (DisplayMode::Bars, RunEvent::Finished { run, .. }) => self.finish(*run),
            (DisplayMode::Lines, RunEvent::Started { seed, max_epochs, epochs_done, .. }) => {
                let state = match epochs_done {
                    0 => "started".into(),
                    n => format!("resumed after {n} epochs"),
                };
                let label = &self.label;
                output::message(&format!(
                    "{label} seed {seed}: {state}, at most {max_epochs} epochs"
                ));
            }
            (DisplayMode::Lines, RunEvent::Epoch { run, epoch }) => self.epoch_line(*run, epoch),
            (DisplayMode::Lines, RunEvent::Finished { record, .. }) => {
                let (label, seed) = (&self.label, record.seed);
                output::message(&format!("{label} seed {seed}: {}", finished(record)));
            }
            _ => {}
        }
    }

    /// Prints a line about an epoch if there was none for some time.
    fn epoch_line(&self, run: usize, epoch: &Epoch) {
        let mut last = self.last_line.lock().expect("no thread panics while holding the lock");
        if last.elapsed() < LINE_INTERVAL {
            return;
        }
        *last = Instant::now();
        let val = epoch
            .val_accuracy
            .map_or(String::new(), |accuracy| format!(", val acc {:.1}%", 100.0 * accuracy));
        let (label, number) = (&self.label, epoch.epoch);
        output::message(&format!("{label} run {}: epoch {number}{val}", run + 1));
    }

    fn start(&self, run: usize, seed: u64, max_epochs: usize) {
        let bar = self.progress.add(RUN, max_epochs as u64);
        bar.set_prefix(format!("{} seed {seed}", self.label));
        self.bars().insert(run, RunBar { bar, max_epochs, lowest_loss: f64::INFINITY });
    }

    /// Advances the bar of a run; with patience, its end is where training would stop without a
    /// further improvement.
    fn advance(&self, run: usize, epoch: &Epoch) {
        let mut bars = self.bars();
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

    fn finish(&self, run: usize) {
        if let Some(run) = self.bars().remove(&run) {
            run.bar.finish_and_clear();
            self.progress.bars.remove(&run.bar);
        }
    }

    fn bars(&self) -> MutexGuard<'_, HashMap<usize, RunBar>> {
        self.bars.lock().expect("no thread panics while holding the lock")
    }
}

/// Formats a finished run, such as `57 epochs, best epoch 32, val acc 86.5%, 1.2 s`.
fn finished(record: &RunRecord) -> String {
    let (epochs, best, seconds) = (record.epochs, record.best_epoch, record.seconds);
    let percent = |accuracy: f64| format!(", val acc {:.1}%", 100.0 * accuracy);
    let val = record.val_accuracy.map_or(String::new(), percent);
    format!("{epochs} epochs, best epoch {best}{val}, {seconds:.1} s")
}
