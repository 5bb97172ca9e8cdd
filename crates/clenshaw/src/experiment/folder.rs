//! A run folder on disk. Every file and every finished run is written under a temporary name and
//! renamed, so that a reader never sees a partial file or run.

use super::{Provenance, Request, RunRecord, Summary};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that requests the process that trains in a folder to stop.
const STOP: &str = "stop";
/// Number of attempts to lock a folder; processes that follow a run lock it for a moment.
const LOCK_ATTEMPTS: usize = 10;
/// Pause between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A run folder, opened for reading or, with a lock, for writing.
pub(super) struct RunFolder {
    path: PathBuf,
    /// The lock held while runs are written to this folder; `None` if it is open for reading.
    _lock: Option<File>,
}

/// The files of a finished run: name and contents.
pub(super) type RunFiles = Vec<(&'static str, Vec<u8>)>;

impl RunFolder {
    /// Creates or reuses a folder, and locks it. Earlier results are removed unless `resume`.
    ///
    /// # Errors
    /// If `path` is a file or cannot be written; if the folder contains a different request, unrelated files
    /// or, with `resume`, runs on different data or splits; or if another process is training in it.
    pub fn open(
        path: &Path,
        request: &Request,
        fingerprint: &DataFingerprint,
        resume: bool,
    ) -> Result<Self> {
        let (run_toml, text) = (path.join("run.toml"), request.to_toml());
        let occupied = |problem| Error::Occupied { folder: path.to_owned(), problem };
        match fs::read_to_string(&run_toml) {
            Ok(existing) if existing != text => {
                return Err(occupied("contains a run with different settings"));
            }
            Ok(_) => {}
            Err(_) if path.is_file() => return Err(occupied("is a file, not a folder")),
            Err(_) if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) => {
                return Err(occupied("is not empty and has no run.toml"));
            }
            Err(_) => {}
        }
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let folder = Self { path: path.to_owned(), _lock: Some(lock(path)?) };
        // A request that an earlier process has not seen does not concern this one.
        ignore_missing(fs::remove_file(path.join(STOP)), path.join(STOP))?;
        let data_json = path.join("data.json");
        if !resume {
            folder.clear()?;
        } else if read_json::<DataFingerprint>(&data_json)?
            .is_some_and(|before| before != *fingerprint)
        {
            return Err(occupied("contains runs on different data or splits"));
        }
        fs::create_dir_all(folder.runs_path()).map_err(Error::io(folder.runs_path()))?;
        write(&run_toml, text.as_bytes())?;
        write(&data_json, &json(fingerprint))?;
        Ok(folder)
    }

    /// Opens an existing folder for reading, and parses its request. Fails if `run.toml` is missing or
    /// invalid.
    pub fn open_existing(path: &Path) -> Result<(Self, Request)> {
        let run_toml = path.join("run.toml");
        let text = fs::read_to_string(&run_toml).map_err(Error::io(&run_toml))?;
        let request = Request::from_toml(&run_toml.display().to_string(), &text)?;
        Ok((Self { path: path.to_owned(), _lock: None }, request))
    }

    /// Removes earlier results.
    fn clear(&self) -> Result<()> {
        for file in ["summary.json", "receipt.json", "data.json"] {
            ignore_missing(fs::remove_file(self.path.join(file)), self.path.join(file))?;
        }
        ignore_missing(fs::remove_dir_all(self.runs_path()), self.runs_path())
    }

    fn runs_path(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn run_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(seed.to_string())
    }

    /// Reads a file of a finished run.
    pub fn read(&self, seed: u64, file: &str) -> Result<Vec<u8>> {
        let path = self.run_path(seed).join(file);
        fs::read(&path).map_err(Error::io(path))
    }

    /// The record of a run; `None` unless it is finished.
    pub fn record(&self, seed: u64) -> Result<Option<RunRecord>> {
        read_json(&self.run_path(seed).join("record.json"))
    }

    /// The digests of the data and splits of this folder; `None` if they were not written.
    pub fn fingerprint(&self) -> Result<Option<DataFingerprint>> {
        read_json(&self.path.join("data.json"))
    }

    /// The receipt; `None` unless all runs are finished.
    pub fn receipt(&self) -> Result<Option<RunReceipt>> {
        read_json(&self.path.join("receipt.json"))
    }

    /// Writes the files of a finished run and removes its checkpoint.
    pub fn finish_run(&self, seed: u64, files: RunFiles) -> Result<()> {
        let partial = self.runs_path().join(format!(".{seed}.partial"));
        ignore_missing(fs::remove_dir_all(&partial), partial.clone())?;
        fs::create_dir_all(&partial).map_err(Error::io(&partial))?;
        for (name, bytes) in files {
            write(&partial.join(name), &bytes)?;
        }
        fs::rename(&partial, self.run_path(seed)).map_err(Error::io(self.run_path(seed)))?;
        // Not an error: the file is a by-product.
        let _ = fs::remove_file(self.progress_path(seed));
        ignore_missing(fs::remove_file(self.checkpoint_path(seed)), self.checkpoint_path(seed))
    }

    /// The file with the progress of a run that is not finished.
    pub fn progress_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(progress_name(seed))
    }

    /// Returns whether a process has requested to stop, and forgets the request.
    pub fn take_stop_request(&self) -> bool {
        fs::remove_file(self.path.join(STOP)).is_ok()
    }

    fn checkpoint_path(&self, seed: u64) -> PathBuf {
        self.runs_path().join(format!("{seed}.checkpoint"))
    }

    /// The checkpoint of an interrupted run: its path and contents; `None` if there is none.
    pub fn checkpoint(&self, seed: u64) -> Option<(String, Vec<u8>)> {
        let path = self.checkpoint_path(seed);
        fs::read(&path).ok().map(|bytes| (path.display().to_string(), bytes))
    }

    /// Writes the checkpoint of a run in progress.
    pub fn save_checkpoint(&self, seed: u64, bytes: &[u8]) -> Result<()> {
        write(&self.checkpoint_path(seed), bytes)
    }

    /// Writes the summary and the receipt.
    pub fn finish(&self, summary: &Summary, receipt: &RunReceipt) -> Result<()> {
        write(&self.path.join("summary.json"), &json(summary))?;
        write(&self.path.join("receipt.json"), &json(receipt))
    }
}

/// The provenance of the results in a run folder.
#[derive(Serialize, Deserialize)]
pub(super) struct RunReceipt {
    pub version: String,
    graph: String,
    source: String,
    #[serde(flatten)]
    pub fingerprint: DataFingerprint,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Wall-clock time of the job that completed the folder.
    seconds: f64,
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
    /// The kind, sizes and seed of the split, as text.
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
    /// The digests of the data and of splits drawn from consecutive seeds.
    pub fn new(data_sha256: String, seed: u64, splits: &[Split]) -> Self {
        let split = |(i, split): (usize, &Split)| SplitFingerprint {
            seed: seed + i as u64,
            provenance: split.provenance().to_owned(),
            sha256: split.sha256(),
        };
        Self { data_sha256, splits: splits.iter().enumerate().map(split).collect() }
    }
}

/// Locks a folder against other processes until the file is dropped, if the file system supports it; fails
/// if another process has locked it.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
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

/// Whether a process is training in a folder; `None` if the file system does not support locks.
pub(super) fn is_locked(folder: &Path) -> Option<bool> {
    let Ok(file) = File::open(folder.join(".lock")) else { return Some(false) };
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
    fs::write(&path, "requested by `clenshaw watch`\n").map_err(Error::io(path))
}

/// Whether a request to stop has not been seen yet.
pub(super) fn has_stop_request(folder: &Path) -> bool {
    folder.join(STOP).exists()
}

/// Parses a JSON file; `None` if it cannot be read, an error if it is invalid.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Ok(bytes) = fs::read(path) else { return Ok(None) };
    let invalid = |e: serde_json::Error| Error::Data {
        place: path.display().to_string(),
        problem: e.to_string(),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(invalid)
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

/// Converts the result of removing a path; a missing file or folder is not an error.
fn ignore_missing(result: std::io::Result<()>, path: PathBuf) -> Result<()> {
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}
