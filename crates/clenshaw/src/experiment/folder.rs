//! A run folder on disk: nothing in it is ever half written.

use super::{Occasion, Record, Request, Summary};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) struct Folder {
    path: PathBuf,
    /// Held while runs are written here.
    _lock: Option<File>,
}

/// What one finished run leaves, by file name.
pub(super) type Files = Vec<(&'static str, Vec<u8>)>;

impl Folder {
    /// Makes or reuses a folder; one that holds something else, or is in use, is refused.
    pub fn open(path: &Path, request: &Request, ground: &Ground, resume: bool) -> Result<Self> {
        let (run_toml, text) = (path.join("run.toml"), request.to_toml());
        let refused = |holds| Error::Occupied { folder: path.to_owned(), holds };
        match fs::read_to_string(&run_toml) {
            Ok(existing) if existing != text => {
                return Err(refused("holds a run with other settings"));
            }
            Ok(_) => {}
            Err(_) if path.is_file() => return Err(refused("is a file, not a folder")),
            Err(_) if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) => {
                return Err(refused("is not empty and holds no run.toml"));
            }
            Err(_) => {}
        }
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let folder = Self { path: path.to_owned(), _lock: Some(lock(path)?) };
        let data_json = path.join("data.json");
        if !resume {
            folder.forget()?;
        } else if read_json::<Ground>(&data_json)?.is_some_and(|before| before != *ground) {
            return Err(refused("holds runs on other data or other splits"));
        }
        fs::create_dir_all(folder.runs()).map_err(Error::io(folder.runs()))?;
        write(&run_toml, text.as_bytes())?;
        write(&data_json, &json(ground))?;
        Ok(folder)
    }

    /// Opens a folder that must exist, and its request.
    pub fn existing(path: &Path) -> Result<(Self, Request)> {
        let run_toml = path.join("run.toml");
        let text = fs::read_to_string(&run_toml).map_err(Error::io(&run_toml))?;
        let request = Request::from_toml(&run_toml.display().to_string(), &text)?;
        Ok((Self { path: path.to_owned(), _lock: None }, request))
    }

    /// Removes the results of an earlier time.
    fn forget(&self) -> Result<()> {
        for file in ["summary.json", "receipt.json", "data.json"] {
            remove(fs::remove_file(self.path.join(file)), self.path.join(file))?;
        }
        remove(fs::remove_dir_all(self.runs()), self.runs())
    }

    fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn run(&self, seed: u64) -> PathBuf {
        self.runs().join(seed.to_string())
    }

    /// A file of a finished run.
    pub fn read(&self, seed: u64, file: &str) -> Result<Vec<u8>> {
        let path = self.run(seed).join(file);
        fs::read(&path).map_err(Error::io(path))
    }

    /// The record of a run, if it is finished.
    pub fn record(&self, seed: u64) -> Result<Option<Record>> {
        read_json(&self.run(seed).join("record.json"))
    }

    /// The receipt, if all runs are finished.
    pub fn receipt(&self) -> Result<Option<Receipt>> {
        read_json(&self.path.join("receipt.json"))
    }

    /// Writes a run's files beside, then gives their folder its name; its checkpoint goes.
    pub fn finish_run(&self, seed: u64, files: Files) -> Result<()> {
        let partial = self.runs().join(format!(".{seed}.partial"));
        remove(fs::remove_dir_all(&partial), partial.clone())?;
        fs::create_dir_all(&partial).map_err(Error::io(&partial))?;
        for (name, bytes) in files {
            write(&partial.join(name), &bytes)?;
        }
        fs::rename(&partial, self.run(seed)).map_err(Error::io(self.run(seed)))?;
        remove(fs::remove_file(self.checkpoint_path(seed)), self.checkpoint_path(seed))
    }

    fn checkpoint_path(&self, seed: u64) -> PathBuf {
        self.runs().join(format!("{seed}.checkpoint"))
    }

    /// The state of an interrupted run, and the name of its file.
    pub fn checkpoint(&self, seed: u64) -> Option<(String, Vec<u8>)> {
        let path = self.checkpoint_path(seed);
        fs::read(&path).ok().map(|bytes| (path.display().to_string(), bytes))
    }

    /// Keeps the state of a run in progress.
    pub fn keep_checkpoint(&self, seed: u64, bytes: &[u8]) -> Result<()> {
        write(&self.checkpoint_path(seed), bytes)
    }

    /// Writes summary and receipt.
    pub fn finish(&self, summary: &Summary, receipt: &Receipt) -> Result<()> {
        write(&self.path.join("summary.json"), &json(summary))?;
        write(&self.path.join("receipt.json"), &json(receipt))
    }
}

/// Where a result comes from.
#[derive(Serialize, Deserialize)]
pub(super) struct Receipt {
    pub version: String,
    graph: String,
    source: String,
    #[serde(flatten)]
    pub ground: Ground,
    #[serde(flatten)]
    pub occasion: Occasion,
    seconds: f64,
}

/// What runs of the same settings must share to stand in one row: the graph and the splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ground {
    pub data_sha256: String,
    pub splits: Vec<SplitReceipt>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SplitReceipt {
    seed: u64,
    provenance: String,
    pub sha256: String,
}

impl Receipt {
    pub fn new(dataset: &Dataset, ground: Ground, threads: usize, seconds: f64) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            graph: dataset.name.clone(),
            source: dataset.source.clone(),
            ground,
            occasion: Occasion::now(threads),
            seconds,
        }
    }
}

impl Ground {
    /// Splits are numbered from the first seed on.
    pub fn new(data_sha256: String, seed: u64, splits: &[Split]) -> Self {
        let split = |(i, split): (usize, &Split)| SplitReceipt {
            seed: seed + i as u64,
            provenance: split.provenance.clone(),
            sha256: split.sha256(),
        };
        Self { data_sha256, splits: splits.iter().enumerate().map(split).collect() }
    }
}

/// Keeps other processes out until it is dropped, where the file system can.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let file = File::create(&path).map_err(Error::io(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Busy { folder: folder.to_owned() }),
        _ => Ok(file),
    }
}

/// What a file holds, if there is one.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Ok(bytes) = fs::read(path) else { return Ok(None) };
    let wrong = |e: serde_json::Error| Error::Data {
        place: path.display().to_string(),
        problem: e.to_string(),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(wrong)
}

/// Indented JSON with a newline at the end.
pub(super) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("texts and numbers only");
    bytes.push(b'\n');
    bytes
}

/// Writes beside, then renames: a reader sees the old file or the new one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().expect("a file, not a folder").to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.partial"));
    let put = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    put().map_err(Error::io(path))
}

/// It is fine if there was nothing to remove.
fn remove(result: std::io::Result<()>, path: PathBuf) -> Result<()> {
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path)(e)),
        _ => Ok(()),
    }
}
