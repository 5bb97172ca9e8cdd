//! A run folder on disk. Results and checkpoints are written under a temporary name and renamed, so that a
//! reader never sees a part of a file or of a finished run.

use super::{Provenance, Request, RunRecord, Summary};
use crate::data::{Dataset, Split};
use crate::error::{Error, FolderConflict, Result};
use crate::files::{self, write_atomically};
use crate::tensor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file whose presence requests the process that trains in a folder to stop.
const STOP: &str = "stop";
/// Number of attempts to lock a folder; a process that follows runs also locks it, but only briefly.
const LOCK_ATTEMPTS: usize = 10;
/// Pause between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A run folder, opened for reading or, with a lock, for writing.
pub(super) struct RunFolder {
    path: PathBuf,
    /// The lock held while runs are written to this folder; `None` if it is open for reading.
    lock: Option<File>,
}

/// The files of a finished run: names and contents.
pub(super) type RunFiles = Vec<(&'static str, Vec<u8>)>;

impl RunFolder {
    /// Creates or reuses a folder, and locks it for this process. Removes earlier results unless `resume` is set.
    ///
    /// # Errors
    /// If `path` is a file or cannot be written; if the folder contains a different request or unrelated files;
    /// with `resume`, if it contains runs on different data or splits or with other processor instructions, or its
    /// `data.json` is invalid; or if another process is training in it.
    pub fn open(
        path: &Path,
        request: &Request,
        fingerprint: &DataFingerprint,
        resume: bool,
    ) -> Result<Self> {
        let (run_toml, text) = (path.join("run.toml"), request.to_toml());
        let occupied = |problem| Error::Occupied { folder: path.to_owned(), problem };
        check_contents(path).map_err(occupied)?;
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let folder = Self { path: path.to_owned(), lock: Some(lock(path)?) };
        folder.remove_partials();
        match read_text(&run_toml)? {
            Some(existing) if existing != text => {
                return Err(occupied(FolderConflict::Settings));
            }
            Some(_) => {}
            // Written before all other files: a folder with other files but without this one is not a run folder.
            None => write(&run_toml, text.as_bytes())?,
        }
        let (data_json, origin) = (path.join("data.json"), RunOrigin::new(fingerprint));
        // A request that an earlier process has not read does not concern this one.
        ignore_missing(fs::remove_file(path.join(STOP)), path.join(STOP))?;
        if !resume {
            folder.clear()?;
        } else if let Some(before) = read_json::<RunOrigin>(&data_json)? {
            before.check_same(&origin).map_err(occupied)?;
        }
        fs::create_dir_all(folder.runs_path()).map_err(Error::io(folder.runs_path()))?;
        write(&data_json, &json(&origin))?;
        Ok(folder)
    }

    /// Opens an existing folder for reading, without a lock, and parses its request. Fails if `run.toml` cannot be
    /// read or is invalid.
    pub fn open_existing(path: &Path) -> Result<(Self, Request)> {
        let run_toml = path.join("run.toml");
        let text = files::read_text(&run_toml)?;
        let request = Request::from_toml(&run_toml.display().to_string(), &text)?;
        Ok((Self { path: path.to_owned(), lock: None }, request))
    }

    /// Removes earlier results. All runs are removed at once, before the digests of their data, so that a
    /// process killed here leaves neither a partial run nor runs on unknown data.
    fn clear(&self) -> Result<()> {
        let removed = self.path.join(REMOVED_RUNS);
        ignore_missing(fs::rename(self.runs_path(), &removed), self.runs_path())?;
        for file in ["summary.json", "receipt.json", "data.json"] {
            ignore_missing(fs::remove_file(self.path.join(file)), self.path.join(file))?;
        }
        ignore_missing(fs::remove_dir_all(&removed), removed)
    }

    /// Removes the temporary files and folders of processes that were killed while writing.
    fn remove_partials(&self) {
        // A file with the ID of this process was left behind by an earlier process with the same ID.
        let is_dead = |process| process == std::process::id() || !files::is_running(process);
        files::remove_partials(&self.path, is_dead);
        files::remove_partials(&self.runs_path(), is_dead);
        let _ = fs::remove_dir_all(self.path.join(REMOVED_RUNS));
        let entries = fs::read_dir(self.runs_path()).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_partial_run(&entry.file_name().to_string_lossy())) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }

    /// Fails if the folder was deleted or replaced since it was locked. Does nothing if it is open for reading.
    pub fn check_presence(&self) -> Result<()> {
        let present = match &self.lock {
            Some(lock) => files::is_same_file(lock, &self.path.join(LOCK)),
            None => true,
        };
        present.then_some(()).ok_or_else(|| Error::FolderLost { folder: self.path.clone() })
    }

    /// Converts the error of a failed write: a missing path means that the folder or a part of it was deleted.
    fn check_written<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error.is_not_found() {
            true => Error::FolderLost { folder: self.path.clone() },
            false => error,
        })
    }

    fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn run_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(seed.to_string())
    }

    /// Reads a file of a finished run. Fails if it does not exist or cannot be read.
    pub fn read(&self, seed: u64, file: &str) -> Result<Vec<u8>> {
        files::read(&self.run_path(seed).join(file))
    }

    /// The record of a run; `None` unless it is finished. Fails if the file cannot be read or is invalid.
    pub fn record(&self, seed: u64) -> Result<Option<RunRecord>> {
        read_json(&self.run_path(seed).join("record.json"))
    }

    /// The digests of the data and splits of this folder; `None` if there are none. Fails if the file cannot be read
    /// or is invalid.
    pub fn fingerprint(&self) -> Result<Option<DataFingerprint>> {
        read_json(&self.path.join("data.json"))
    }

    /// The receipt, which is written after the last run; `None` if there is none. Fails if the file cannot be read or
    /// is invalid.
    pub fn receipt(&self) -> Result<Option<RunReceipt>> {
        read_json(&self.path.join("receipt.json"))
    }

    /// Writes the files of a finished run and removes its checkpoint. Fails if the folder was removed or cannot be
    /// written.
    pub fn finish_run(&self, seed: u64, files: RunFiles) -> Result<()> {
        self.check_presence()?;
        let partial = self.runs_path().join(format!(".{seed}.partial"));
        ignore_missing(fs::remove_dir_all(&partial), partial.clone())?;
        let write_all = || {
            fs::create_dir(&partial).map_err(Error::io(&partial))?;
            for (name, bytes) in files {
                write(&partial.join(name), &bytes)?;
            }
            // Without a record, a folder with this name is not a finished run.
            let path = self.run_path(seed);
            ignore_missing(fs::remove_dir_all(&path), path.clone())?;
            fs::rename(&partial, &path).map_err(Error::io(path))
        };
        self.check_written(write_all())?;
        // Not an error: the file is a by-product.
        let _ = fs::remove_file(self.progress_path(seed));
        ignore_missing(fs::remove_file(self.checkpoint_path(seed)), self.checkpoint_path(seed))
    }

    /// The file with the progress of a run that is not finished.
    pub fn progress_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(progress_name(seed))
    }

    /// Removes the request to stop; returns whether there was one.
    pub fn take_stop_request(&self) -> bool {
        fs::remove_file(self.path.join(STOP)).is_ok()
    }

    fn checkpoint_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(format!("{seed}.checkpoint"))
    }

    /// The checkpoint of an interrupted run: its path and contents; `None` if it is missing or cannot be read.
    pub fn checkpoint(&self, seed: u64) -> Option<(String, Vec<u8>)> {
        let path = self.checkpoint_path(seed);
        files::read(&path).ok().map(|bytes| (path.display().to_string(), bytes))
    }

    /// Writes the checkpoint of a run in progress. Fails if the folder was removed or cannot be written.
    pub fn save_checkpoint(&self, seed: u64, bytes: &[u8]) -> Result<()> {
        self.check_presence()?;
        self.check_written(write(&self.checkpoint_path(seed), bytes))
    }

    /// Writes the summary and the receipt. Fails if the folder was removed or cannot be written.
    pub fn finish(&self, summary: &Summary, receipt: &RunReceipt) -> Result<()> {
        self.check_presence()?;
        self.check_written(write(&self.path.join("summary.json"), &json(summary)))?;
        self.check_written(write(&self.path.join("receipt.json"), &json(receipt)))
    }
}

/// The provenance of the results in a run folder.
#[derive(Serialize, Deserialize)]
pub(super) struct RunReceipt {
    /// The version of the library.
    pub version: String,
    /// The name of the data set.
    graph: String,
    /// Where the data set comes from.
    source: String,
    #[serde(flatten)]
    pub fingerprint: DataFingerprint,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Wall-clock time of the job that completed the folder, in seconds, without earlier jobs.
    seconds: f64,
}

/// The contents of `data.json`: what must be the same for all runs of a folder and is not in `run.toml`.
#[derive(Serialize, Deserialize)]
pub(super) struct RunOrigin {
    #[serde(flatten)]
    fingerprint: DataFingerprint,
    /// The [`tensor::bit_class`] of the instruction set; `None` in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bit_class: Option<String>,
}

impl RunOrigin {
    /// The origin of runs that this process trains.
    fn new(fingerprint: &DataFingerprint) -> Self {
        let bit_class = tensor::bit_class(tensor::instruction_set()).to_owned();
        Self { fingerprint: fingerprint.clone(), bit_class: Some(bit_class) }
    }

    /// If runs of this origin cannot be in one folder with runs of the other, returns the reason as an error.
    fn check_same(&self, other: &Self) -> std::result::Result<(), FolderConflict> {
        if self.fingerprint != other.fingerprint {
            return Err(FolderConflict::Data);
        }
        match (self.bit_class.as_deref(), other.bit_class.as_deref()) {
            (Some(before), Some(now)) if before != now => match before {
                "portable" => Err(FolderConflict::PortableBits),
                _ => Err(FolderConflict::VectorBits),
            },
            _ => Ok(()),
        }
    }
}

/// Digests of the graph and of every split; results of one request are comparable only if these match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DataFingerprint {
    pub data_sha256: String,
    pub splits: Vec<SplitFingerprint>,
}

/// The digest of the split of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SplitFingerprint {
    /// The seed of the run that uses the split.
    seed: u64,
    /// A description of the split, see [`Split::provenance`].
    provenance: String,
    pub sha256: String,
}

impl RunReceipt {
    pub fn new(
        dataset: &Dataset,
        fingerprint: DataFingerprint,
        threads: usize,
        seconds: f64,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            graph: dataset.name.clone(),
            source: dataset.source.clone(),
            fingerprint,
            provenance: Provenance::now(threads),
            seconds,
        }
    }
}

impl DataFingerprint {
    /// The digests of the data and of splits drawn from consecutive seeds, the first from `seed`.
    pub fn new(data_sha256: String, seed: u64, splits: &[Split]) -> Self {
        let split = |(i, split): (usize, &Split)| SplitFingerprint {
            seed: seed + i as u64,
            provenance: split.provenance().to_owned(),
            sha256: split.sha256(),
        };
        Self { data_sha256, splits: splits.iter().enumerate().map(split).collect() }
    }
}

/// The name of the file that is locked while a folder is written to.
const LOCK: &str = ".lock";

/// The name of the folder of earlier runs while it is being deleted.
const REMOVED_RUNS: &str = ".runs.partial";

/// If a path cannot become a run folder, returns the reason as an error: it is a file, or a folder without
/// `run.toml` that contains anything other than the lock file, `.NAME.partial` entries and an empty folder `runs`.
fn check_contents(path: &Path) -> std::result::Result<(), FolderConflict> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.flatten(),
        Err(_) if path.exists() && !path.is_dir() => return Err(FolderConflict::File),
        Err(_) => return Ok(()),
    };
    let is_known = |name: &str| name == LOCK || name.starts_with('.') && name.ends_with(".partial");
    let is_empty = |path: PathBuf| fs::read_dir(path).is_ok_and(|mut runs| runs.next().is_none());
    let mut unknown = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !(is_known(&name) || name == "runs" && is_empty(entry.path()))
    });
    // Another process may write `run.toml` and then other files while the entries are listed.
    match unknown.next().is_some() && !path.join("run.toml").exists() {
        true => Err(FolderConflict::OtherContent),
        false => Ok(()),
    }
}

/// Whether a name is that of an unfinished folder of a run, `.SEED.partial`.
fn is_partial_run(name: &str) -> bool {
    let seed = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
    seed.is_some_and(|seed| seed.parse::<u64>().is_ok())
}

/// Locks a folder against other processes until the returned file is dropped, if the file system supports locks;
/// fails if another process has locked it or the lock file cannot be created.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(Error::io(&path))?;
    for _ in 1..LOCK_ATTEMPTS {
        if !matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(file);
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Busy { folder: folder.to_owned() }),
        _ => Ok(file),
    }
}

/// Reads a text file; `None` if it does not exist. Fails if it cannot be read.
fn read_text(path: &Path) -> Result<Option<String>> {
    match files::read_text(path) {
        Err(error) if error.is_not_found() => Ok(None),
        text => text.map(Some),
    }
}

/// Whether a process is training in a folder; `None` if the file system does not support locks, and `false` if
/// the lock file cannot be opened.
pub(super) fn is_locked(folder: &Path) -> Option<bool> {
    let Ok(file) = File::open(folder.join(LOCK)) else { return Some(false) };
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// The name of the file with the progress of a run.
pub(super) fn progress_name(seed: u64) -> String {
    format!("{seed}.progress.jsonl")
}

/// Requests the process that trains in a folder to stop.
pub(super) fn write_stop_request(folder: &Path) -> Result<()> {
    let path = folder.join(STOP);
    fs::write(&path, "stop requested\n").map_err(Error::io(path))
}

/// Whether there is a request to stop that the process has not read yet.
pub(super) fn has_stop_request(folder: &Path) -> bool {
    folder.join(STOP).exists()
}

/// Parses a JSON file; `None` if it does not exist, an error if it cannot be read or is invalid.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let invalid = |e: serde_json::Error| Error::Data {
        place: path.display().to_string(),
        problem: e.to_string(),
    };
    serde_json::from_str(&text).map(Some).map_err(invalid)
}

/// Parses a file of JSON lines; `place` names it in errors.
pub(super) fn json_lines<T: DeserializeOwned>(place: &str, bytes: &[u8]) -> Result<Vec<T>> {
    let parse = |line: &[u8]| {
        serde_json::from_slice(line)
            .map_err(|error| Error::Data { place: place.into(), problem: error.to_string() })
    };
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(parse).collect()
}

/// Indented JSON with a final newline.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("text and numbers only");
    bytes.push(b'\n');
    bytes
}

/// Writes a file so that readers see either the old or the new contents.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, [bytes])
}

/// Converts the result of removing or renaming `path`; a missing file or folder is not an error.
fn ignore_missing(result: std::io::Result<()>, path: PathBuf) -> Result<()> {
    match result {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}
