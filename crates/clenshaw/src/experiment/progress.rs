//! The progress of a run while it trains: a file of JSON lines beside the folder of the run, which other
//! processes can follow.
//!
//! ```text
//! {"start":{"id":..,"max_epochs":2000,"basis":"chebyshev"}}       once
//! {"epoch":{"epoch":1,"train_loss":1.9,..}}                       every epoch
//! {"now":{"epoch":7,"seconds":0.3,"best_epoch":6,"coefficients":[..]}}   every write after the first epoch
//! {"failed":"the training loss is NaN .."}                        if training fails
//! ```
//!
//! The file is a by-product: it is not synced, a failure to write it is ignored, and the training never reads it.
//! A process that starts or resumes a run replaces the file, so it never contains an epoch or a filter twice. A
//! new file starts with all epochs so far and some of the earlier filters. A reader stops at a line that is not
//! complete.

use crate::error::Error;
use crate::filter::Basis;
use crate::train::{Epoch, EpochFilter, Fit};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Minimum time between two writes; `end` does not wait for it.
const INTERVAL: Duration = Duration::from_millis(250);
/// Minimum time between a failed write and the next attempt; `end` does not wait for it.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// The training time must grow by this factor before the filter is written again, so that long runs do not write
/// large files. `end` does not wait for it.
const FILTER_TIME_GROWTH: f64 = 1.02;
/// A new file starts with at most this many filters of earlier epochs, and the latest one.
const MAX_EARLIER_FILTERS: usize = 50;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProgressLine {
    Start(RunStart),
    Epoch(Epoch),
    Now(RunSnapshot),
    Failed(String),
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct RunStart {
    /// Identifies the file; differs from that of other files of the same run.
    id: String,
    max_epochs: usize,
    /// The basis of the filter; `None` if its coefficients are not recorded.
    basis: Option<Basis>,
}

/// The state of the run when the line is written.
#[derive(Serialize, Deserialize)]
struct RunSnapshot {
    /// The epoch of the coefficients or, without coefficients, the last epoch.
    epoch: usize,
    seconds: f64,
    best_epoch: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coefficients: Option<Vec<f64>>,
}

/// Writes the progress of one run. Failed writes are ignored.
pub(super) struct ProgressWriter {
    path: PathBuf,
    max_epochs: usize,
    /// `None` before the first write and after a failed one; the next write then replaces the file.
    file: Option<File>,
    /// Number of epochs in the file.
    written: usize,
    next_write: Instant,
    /// The training time at which the filter is written again, in seconds.
    next_filter: f64,
    /// The epoch of the last filter in the file; 0 if there is none.
    last_filter: usize,
}

impl ProgressWriter {
    /// Replaces the file with the progress so far.
    pub fn start(path: PathBuf, max_epochs: usize, fit: &Fit) -> Self {
        let mut writer = Self {
            path,
            max_epochs,
            file: None,
            written: 0,
            next_write: Instant::now(),
            next_filter: 0.0,
            last_filter: 0,
        };
        writer.write(fit);
        writer
    }

    /// Writes what is new, unless the last write was less than [`INTERVAL`] ago or has failed recently; returns
    /// whether a write was attempted.
    pub fn update(&mut self, fit: &Fit) -> bool {
        let is_due = Instant::now() >= self.next_write;
        if is_due {
            self.write(fit);
        }
        is_due
    }

    /// Writes the remaining epochs, the last filter and, if the run has failed, the error.
    pub fn end(mut self, fit: &Fit, error: Option<&Error>) {
        self.next_filter = 0.0;
        self.write(fit);
        if let (Some(mut file), Some(error)) = (self.file, error) {
            let _ = file.write_all(line(&ProgressLine::Failed(error.to_string())).as_bytes());
        }
    }

    /// Appends what is new, or replaces the file if it is not open, and sets the time of the next write.
    fn write(&mut self, fit: &Fit) {
        let has_filter = fit.seconds() >= self.next_filter;
        let result = match &mut self.file {
            Some(file) => {
                let last = fit.filters().last();
                let filter = last.filter(|last| has_filter && last.epoch > self.last_filter);
                self.last_filter = filter.map_or(self.last_filter, |filter| filter.epoch);
                let lines = epoch_lines(&fit.history()[self.written..]) + &now_line(fit, filter);
                file.write_all(lines.as_bytes())
            }
            None => self.replace(fit),
        };
        if has_filter {
            self.next_filter = fit.seconds() * FILTER_TIME_GROWTH;
        }
        self.written = fit.history().len();
        self.next_write = Instant::now() + INTERVAL;
        if result.is_err() {
            self.file = None;
            self.next_write = Instant::now() + RETRY_INTERVAL;
        }
    }

    /// Writes a new file with all epochs under a temporary name and renames it, so that a reader never sees an
    /// incomplete file.
    fn replace(&mut self, fit: &Fit) -> std::io::Result<()> {
        let temporary = self.path.with_extension("partial");
        let start =
            RunStart { id: unique_id(), max_epochs: self.max_epochs, basis: fit.filter_basis() };
        let filters = fit.filters();
        let step = filters.len().div_ceil(MAX_EARLIER_FILTERS).max(1);
        let earlier = filters.iter().step_by(step);
        let earlier = earlier.filter(|filter| filter.epoch < fit.history().len());
        let mut lines = line(&ProgressLine::Start(start)) + &epoch_lines(fit.history());
        for filter in earlier {
            lines += &now_line(fit, Some(filter));
        }
        lines += &now_line(fit, filters.last());
        let mut file = File::create(&temporary)?;
        file.write_all(lines.as_bytes())?;
        fs::rename(&temporary, &self.path)?;
        self.file = Some(file);
        self.last_filter = filters.last().map_or(0, |filter| filter.epoch);
        Ok(())
    }
}

/// A text that identifies a file: the process ID and the time in nanoseconds.
fn unique_id() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), time.as_nanos())
}

/// Formats a line, with its line feed.
fn line(line: &ProgressLine) -> String {
    serde_json::to_string(line).expect("epochs are finite numbers") + "\n"
}

/// Formats one line per epoch.
fn epoch_lines(epochs: &[Epoch]) -> String {
    epochs.iter().map(|epoch| line(&ProgressLine::Epoch(*epoch))).collect()
}

/// A line with the training time, the best epoch so far and, if given, a filter with its epoch; empty before the
/// first epoch.
fn now_line(fit: &Fit, filter: Option<&EpochFilter>) -> String {
    let epochs = fit.history().len();
    if epochs == 0 {
        return String::new();
    }
    line(&ProgressLine::Now(RunSnapshot {
        epoch: filter.map_or(epochs, |filter| filter.epoch),
        seconds: fit.seconds(),
        best_epoch: fit.best().0.epoch,
        coefficients: filter.map(|filter| filter.coefficients.clone()),
    }))
}

/// The progress of a run, as far as it has been written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingProgress {
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// The epochs so far.
    pub epochs: Vec<Epoch>,
    /// The filter after some of the epochs, where epoch 0 is the initial filter; empty if its coefficients are not
    /// recorded.
    pub filters: Vec<EpochFilter>,
    /// The basis of the filter; `None` if its coefficients are not recorded.
    pub basis: Option<Basis>,
    /// The epoch whose weights would be kept if training stopped now.
    pub best_epoch: Option<usize>,
    /// Training time so far.
    pub seconds: f64,
    /// Why training failed; `None` if it did not.
    pub failure: Option<String>,
}

/// Reads a progress file incrementally while it grows.
#[derive(Default)]
pub(super) struct ProgressReader {
    /// The first line of the file, which differs between files of the same run.
    start: Vec<u8>,
    /// The end of the last complete line that was read.
    offset: u64,
    progress: TrainingProgress,
}

impl ProgressReader {
    /// Reads what has been written since the last call, or everything if the file has been replaced; nothing if
    /// there is no file or its first line is not valid.
    pub fn read(&mut self, path: &Path) {
        // The file may be replaced or removed at any time; the next call reads the new one.
        let _ = self.try_read(path);
    }

    /// As [`read`](Self::read); `None` if the file cannot be read, or if its first line has changed and is not valid.
    fn try_read(&mut self, path: &Path) -> Option<()> {
        let mut file = BufReader::new(File::open(path).ok()?);
        let mut start = vec![];
        file.read_until(b'\n', &mut start).ok()?;
        if start != self.start {
            let Ok(ProgressLine::Start(first)) = serde_json::from_slice(&start) else {
                return None;
            };
            let RunStart { max_epochs, basis, .. } = first;
            let progress = TrainingProgress { max_epochs, basis, ..TrainingProgress::default() };
            *self = Self { offset: start.len() as u64, start, progress };
        }
        let mut lines = vec![];
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        file.read_to_end(&mut lines).ok()?;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(parsed) if line.ends_with(b"\n") => self.add(parsed),
                // Not complete yet, or damaged; what follows is read when this line is complete.
                _ => break,
            }
            self.offset += line.len() as u64;
        }
        Some(())
    }

    /// What has been read so far.
    pub fn progress(&self) -> &TrainingProgress {
        &self.progress
    }

    /// Adds the contents of a line to the progress.
    fn add(&mut self, line: ProgressLine) {
        let progress = &mut self.progress;
        match line {
            ProgressLine::Start(_) => {}
            ProgressLine::Epoch(epoch) => progress.epochs.push(epoch),
            ProgressLine::Now(RunSnapshot { epoch, seconds, best_epoch, coefficients }) => {
                progress.seconds = seconds;
                progress.best_epoch = Some(best_epoch);
                let filter = coefficients.map(|coefficients| EpochFilter { epoch, coefficients });
                progress.filters.extend(filter);
            }
            ProgressLine::Failed(failure) => progress.failure = Some(failure),
        }
    }
}

#[cfg(test)]
mod tests;
