//! Experiments made of independent cells, computed in parallel or one after another; each record is saved as soon
//! as it is complete.
//!
//! ```text
//! <folder>/records/<cell>.json      {"settings": .., "provenance": .., "record": ..}
//! ```
//!
//! A cell with a saved record of the same settings is not computed again, so an experiment can be stopped at
//! any time and resumed.

use super::Selection;
use crate::data::Store;
use crate::error::{Error, Result};
use crate::experiment::scheduler::all_or_first_error;
use crate::experiment::{Provenance, folder};
use crate::files;
use crate::parallel;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How an experiment is executed, and which part of it.
pub struct ExperimentOptions<'a> {
    /// Maximum number of threads.
    pub threads: usize,
    /// The data folders and the cache from which graphs are loaded.
    pub store: &'a Store,
    /// Where records are saved.
    pub folder: &'a Path,
    /// The part of the experiment to run.
    pub selection: &'a Selection,
    /// Requested number of runs; `None` for that in the experiment's file. An experiment can limit or reject it.
    pub runs: Option<usize>,
    /// Called at the start and for every finished cell, from several threads.
    pub on_progress: &'a (dyn Fn(CellProgress<'_>) + Sync),
    /// Set to `true` to stop early; finished cells are kept.
    pub cancel: &'a AtomicBool,
}

/// How many cells of an experiment are finished.
pub struct CellProgress<'a> {
    /// Finished cells.
    pub done: usize,
    /// All cells.
    pub total: usize,
    /// The name of the cell that has just finished; `None` at the start.
    pub cell: Option<&'a str>,
}

/// A cell to compute: its name, the settings with which a saved record must agree, and the input of the
/// computation.
pub(super) struct CellTask<T> {
    pub name: String,
    pub settings: Value,
    pub input: T,
}

/// The contents of a record file.
#[derive(Serialize, Deserialize)]
struct StoredRecord<R> {
    settings: Value,
    #[serde(alias = "occasion")]
    provenance: Provenance,
    record: R,
}

/// The results of an experiment.
pub(super) struct CellResults<R> {
    /// One record per cell, in the order of the cells.
    pub records: Vec<R>,
    /// A sentence that states when and on which machines the records were computed; `None` without cells.
    pub provenance: Option<String>,
}

impl ExperimentOptions<'_> {
    /// Returns the record of every cell; `compute` is called for those without a saved one, on one thread
    /// each. After an error or cancellation, no further cell is started and the error is returned.
    pub(super) fn run_cells<T: Sync, R: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        cells: &[CellTask<T>],
        compute: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<CellResults<R>> {
        self.run_cells_on(self.threads, 1, cells, compute)
    }

    /// As [`run_cells`](Self::run_cells), but computes one cell at a time; `compute` may use all threads.
    pub(super) fn run_cells_in_turn<T: Sync, R: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        cells: &[CellTask<T>],
        compute: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<CellResults<R>> {
        self.run_cells_on(1, self.threads, cells, compute)
    }

    /// As [`run_cells`](Self::run_cells), with `n_parallel` cells at a time. `threads`, the number of threads that
    /// `compute` may use, is only recorded in the provenance.
    fn run_cells_on<T: Sync, R: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        n_parallel: usize,
        threads: usize,
        cells: &[CellTask<T>],
        compute: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<CellResults<R>> {
        let folder = self.folder.join("records");
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        files::remove_partials(&folder, |process| !files::is_running(process));
        let (done, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let total = cells.len();
        (self.on_progress)(CellProgress { done: 0, total, cell: None });
        let results = parallel::map(n_parallel, cells, |cell| {
            if self.cancel.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let result = load_or_compute(&folder, cell, threads, &compute);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            if result.is_ok() {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                (self.on_progress)(CellProgress { done, total, cell: Some(&cell.name) });
            }
            result
        });
        let stored: Vec<StoredRecord<R>> = all_or_first_error(results)?;
        let provenance = Provenance::sentence(stored.iter().map(|stored| &stored.provenance));
        let records = stored.into_iter().map(|stored| stored.record).collect();
        Ok(CellResults { records, provenance })
    }
}

/// Returns the saved record of a cell, or computes it and saves it. `threads` is only recorded in the provenance.
fn load_or_compute<T, R: Serialize + DeserializeOwned>(
    folder: &Path,
    cell: &CellTask<T>,
    threads: usize,
    compute: impl Fn(&T) -> Result<R>,
) -> Result<StoredRecord<R>> {
    let path = folder.join(format!("{}.json", cell.name));
    if let Some(stored) = load(&path, &cell.settings) {
        return Ok(stored);
    }
    let record = compute(&cell.input)?;
    let provenance = Provenance::now(threads);
    let stored = StoredRecord { settings: cell.settings.clone(), provenance, record };
    match folder::write(&path, &folder::json(&stored)) {
        Err(error) if error.is_not_found() => Err(Error::FolderLost { folder: folder.to_owned() }),
        written => written.map(|()| stored),
    }
}

/// The saved record if it has these settings; `None` if there is none or it cannot be read.
fn load<R: DeserializeOwned>(path: &Path, settings: &Value) -> Option<StoredRecord<R>> {
    let stored: StoredRecord<R> = serde_json::from_slice(&files::read(path).ok()?).ok()?;
    (stored.settings == *settings).then_some(stored)
}

/// The record of a cell with any settings, for fuzzing; `None` if it cannot be read.
#[cfg(any(test, fuzzing))]
pub(in crate::experiment) fn read_cell_record(path: &Path) -> Option<Value> {
    let stored: StoredRecord<Value> = serde_json::from_slice(&files::read(path).ok()?).ok()?;
    load::<Value>(path, &stored.settings).map(|stored| stored.record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options_in<'a>(
        folder: &'a Path,
        store: &'a Store,
        cancel: &'a AtomicBool,
    ) -> ExperimentOptions<'a> {
        static ALL: std::sync::LazyLock<Selection> = std::sync::LazyLock::new(Selection::default);
        let on_progress = &|_: CellProgress<'_>| {};
        let selection = &*ALL;
        ExperimentOptions { threads: 3, store, folder, selection, runs: None, on_progress, cancel }
    }

    fn cells(factor: u64) -> Vec<CellTask<u64>> {
        let cell =
            |i| CellTask { name: format!("c{i}"), settings: json!({ "by": factor }), input: i };
        (0..7).map(cell).collect()
    }

    #[test]
    fn saved_records_are_reused_unless_the_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let options = options_in(folder.path(), &store, &cancel);
        let computed = AtomicUsize::new(0);
        let times = |factor: u64| {
            let compute = |i: &u64| {
                computed.fetch_add(1, Ordering::Relaxed);
                Ok(factor * i)
            };
            options.run_cells(&cells(factor), compute).unwrap().records
        };
        assert_eq!(times(2), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(times(2), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(computed.load(Ordering::Relaxed), 7);
        assert_eq!(times(3)[6], 18);
        assert_eq!(computed.load(Ordering::Relaxed), 14);
        let c4 = folder.path().join("records/c4.json");
        let text = fs::read_to_string(&c4).unwrap();
        fs::write(&c4, text.replace("\"provenance\"", "\"occasion\"")).unwrap();
        assert_eq!(times(3)[4], 12, "a record with the former name of a key");
        assert_eq!(computed.load(Ordering::Relaxed), 14);
        fs::write(&c4, "{\"settings\"").unwrap();
        assert_eq!(times(3)[4], 12);
        assert_eq!(computed.load(Ordering::Relaxed), 15);
    }

    #[test]
    fn records_state_the_threads_of_their_computation() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let options = options_in(folder.path(), &store, &cancel);
        let parallel = options.run_cells(&cells(1), |i| Ok(*i)).unwrap().provenance.unwrap();
        assert!(parallel.ends_with("(threads: 1)."), "{parallel}");
        let in_turn = options.run_cells_in_turn(&cells(2), |i| Ok(*i)).unwrap().provenance.unwrap();
        assert!(in_turn.ends_with("(threads: 3)."), "{in_turn}");
    }

    #[test]
    fn interruption_keeps_finished_cells() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let options =
            ExperimentOptions { threads: 1, ..options_in(folder.path(), &store, &cancel) };
        let compute = |i: &u64| {
            cancel.store(*i == 2, Ordering::Relaxed);
            Ok(*i)
        };
        assert!(matches!(options.run_cells(&cells(1), compute), Err(Error::Interrupted)));
        cancel.store(false, Ordering::Relaxed);
        let rest =
            options.run_cells(&cells(1), |i| if *i < 3 { panic!("{i} again") } else { Ok(*i) });
        assert_eq!(rest.unwrap().records, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn errors_take_precedence_over_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let options = options_in(folder.path(), &store, &cancel);
        let broken = |i: &u64| match i {
            3 => Err(Error::Data { place: "c3".into(), problem: "broken".into() }),
            i => Ok(*i),
        };
        assert_eq!(options.run_cells(&cells(1), broken).err().unwrap().to_string(), "c3: broken");
    }
}
