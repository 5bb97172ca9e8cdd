//! What happens, on stderr: a live bar per run on a terminal, else a line when a run starts or ends.

use crate::output;
use clenshaw::experiment::{Event, Order, Record, Request};
use clenshaw::train::Epoch;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};

const RUN: &str = "{prefix} {wide_bar} epoch {pos:>4}/{len:<4} {msg} eta {eta:>3}";
const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} eta {eta:>3}";
const TRIALS: &str = "{prefix} {wide_bar} {pos}/{len} trials {msg} eta {eta:>3}";
const LINE: &str = "{wide_msg}";
const TOTAL: &str = "{prefix} {wide_bar} {percent}% eta {eta:>3}";

/// What a run counts in the bar of all runs: its epochs count against its limit.
const RUN_SHARE: u64 = 1000;

/// Shared by all runs and by the interrupt's message.
#[derive(Clone)]
pub struct Progress {
    form: Form,
    bars: MultiProgress,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Silent,
    Lines,
    Bars,
}

impl Progress {
    /// Bars on a terminal, lines elsewhere.
    pub fn on_stderr() -> Self {
        let form = if std::io::stderr().is_terminal() { Form::Bars } else { Form::Lines };
        Self { form, bars: MultiProgress::new() }
    }

    /// Nothing but what must be said.
    pub fn silent() -> Self {
        Self { form: Form::Silent, bars: MultiProgress::new() }
    }

    /// A line that is always printed, above the bars.
    pub fn say(&self, line: &str) {
        self.bars.suspend(|| output::tell(line));
    }

    /// A bar for all runs together, above theirs.
    pub fn total(&self, label: &'static str, length: u64) -> ProgressBar {
        match self.form {
            Form::Bars => self.bar(TOTAL, length).with_prefix(label),
            _ => ProgressBar::hidden(),
        }
    }

    /// A bar that counts bytes.
    pub fn bytes(&self) -> ProgressBar {
        match self.form {
            Form::Bars => self.bar(BYTES, 0),
            _ => ProgressBar::hidden(),
        }
    }

    /// A bar that counts the completed trials of a study.
    pub fn trials(&self, label: String, length: u64) -> ProgressBar {
        match self.form {
            Form::Bars => self.bar(TRIALS, length).with_prefix(label),
            _ => ProgressBar::hidden(),
        }
    }

    /// A line that can change, above the bars that come after it.
    pub fn line(&self) -> ProgressBar {
        match self.form {
            Form::Bars => self.bar(LINE, 0),
            _ => ProgressBar::hidden(),
        }
    }

    /// A line for those who see no bars.
    pub fn note(&self, line: &str) {
        if self.form == Form::Lines {
            output::tell(line);
        }
    }

    /// Follows the runs of a request.
    pub fn follow(&self, request: &Request) -> Follower {
        let patience =
            (request.hyper.word("stop") == "patience").then(|| request.hyper.int("patience"));
        Follower {
            progress: self.clone(),
            label: format!("{} {}", request.graph, request.model.name),
            patience,
            runs: Mutex::default(),
        }
    }

    /// Follows the runs of many orders, with a bar for all of them together.
    pub fn follow_all(&self, label: &'static str, orders: &[Order]) -> Followers {
        let n_runs: usize = orders.iter().map(|order| order.request.runs).sum();
        let total = self.total(label, RUN_SHARE * n_runs as u64);
        let follower = |order: &Order| {
            let max_epochs = order.request.hyper.int("max_epochs").max(1) as u64;
            (self.follow(&order.request), RUN_SHARE / max_epochs)
        };
        Followers { total, followers: orders.iter().map(follower).collect() }
    }

    fn bar(&self, template: &str, length: u64) -> ProgressBar {
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        let bar = ProgressBar::new(length).with_style(style.progress_chars("━╸ "));
        self.bars.add(bar)
    }
}

/// The runs of many orders.
pub struct Followers {
    total: ProgressBar,
    /// Each with what an epoch counts.
    followers: Vec<(Follower, u64)>,
}

impl Followers {
    /// Shows what happens to an order; called from several threads.
    pub fn see(&self, order: usize, event: &Event<'_>) {
        let (follower, share) = &self.followers[order];
        follower.see(event);
        match event {
            Event::Epoch { .. } => self.total.inc(*share),
            Event::Finished { record, .. } => {
                self.total.inc(RUN_SHARE - share * record.epochs as u64);
            }
            _ => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.total.finish_and_clear();
    }
}

/// The runs of one request.
pub struct Follower {
    progress: Progress,
    label: String,
    patience: Option<usize>,
    runs: Mutex<HashMap<usize, Run>>,
}

/// A run in progress.
struct Run {
    bar: ProgressBar,
    max_epochs: usize,
    lowest_loss: f64,
}

impl Follower {
    /// Shows an event; called from several threads.
    pub fn see(&self, event: &Event<'_>) {
        match (self.progress.form, event) {
            (Form::Bars, Event::Started { run, seed, max_epochs, .. }) => {
                self.start(*run, *seed, *max_epochs);
            }
            (Form::Bars, Event::Epoch { run, epoch }) => self.advance(*run, epoch),
            (Form::Bars, Event::Finished { run, .. }) => self.finish(*run),
            (Form::Lines, Event::Started { seed, max_epochs, epochs_done, .. }) => {
                let label = &self.label;
                let state = format!("epoch {epochs_done} of at most {max_epochs}");
                output::tell(&format!("{label} seed {seed}: {state}"));
            }
            (Form::Lines, Event::Finished { record, .. }) => {
                let (label, seed) = (&self.label, record.seed);
                output::tell(&format!("{label} seed {seed}: {}", finished(record)));
            }
            _ => {}
        }
    }

    fn start(&self, run: usize, seed: u64, max_epochs: usize) {
        let bar = self.progress.bar(RUN, max_epochs as u64);
        bar.set_prefix(format!("{} seed {seed}", self.label));
        let run_state = Run { bar, max_epochs, lowest_loss: f64::INFINITY };
        self.runs().insert(run, run_state);
    }

    /// Under patience the end is near when nothing improves, so the bar ends there and not at the limit.
    fn advance(&self, run: usize, epoch: &Epoch) {
        let mut runs = self.runs();
        let Some(run) = runs.get_mut(&run) else { return };
        if epoch.val_loss < run.lowest_loss {
            run.lowest_loss = epoch.val_loss;
            let end = self.patience.map_or(run.max_epochs, |patience| epoch.epoch + patience);
            run.bar.set_length(end.min(run.max_epochs) as u64);
        }
        run.bar.set_message(format!("val {:4.1}%", 100.0 * epoch.val_accuracy));
        run.bar.set_position(epoch.epoch as u64);
    }

    fn finish(&self, run: usize) {
        if let Some(run) = self.runs().remove(&run) {
            run.bar.finish_and_clear();
            self.progress.bars.remove(&run.bar);
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<usize, Run>> {
        self.runs.lock().expect("nobody panics while holding it")
    }
}

fn finished(record: &Record) -> String {
    let (epochs, seconds) = (record.epochs, record.seconds);
    let val = 100.0 * record.val_accuracy;
    format!("{epochs} epochs, best {}, val {val:.1}%, {seconds:.1} s", record.best_epoch)
}
