//! An experiment of many cells: several at a time, each kept as soon as it is done.
//!
//! ```text
//! <folder>/records/<cell>.json      {"settings": .., "occasion": .., "record": ..}
//! ```
//!
//! A cell is a function of its settings. One that has a record of the same settings is not done again,
//! so an experiment can be stopped at any moment and goes on where it stopped.

use super::Only;
use crate::data::Store;
use crate::error::{Error, Result};
use crate::experiment::{Occasion, folder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whom an experiment is done for, and how.
pub struct Errand<'a> {
    /// Threads at most; they change no result.
    pub threads: usize,
    /// Where files are looked for.
    pub store: &'a Store,
    /// Where records are kept.
    pub folder: &'a Path,
    /// Which part is wanted.
    pub only: &'a Only,
    /// How many runs, where that is not left to the experiment's file.
    pub runs: Option<usize>,
    /// Sees every cell that is done; called from several threads.
    pub watch: &'a (dyn Fn(Done<'_>) + Sync),
    /// Set it to stop early; what is finished is kept.
    pub cancel: &'a AtomicBool,
}

/// A cell is done, and so are this many.
pub struct Done<'a> {
    /// Cells that are done.
    pub done: usize,
    /// Cells in all.
    pub all: usize,
    /// The one that was done last; none before the first.
    pub cell: Option<&'a str>,
}

/// A cell: its name, what decides its record, and what to do it with.
pub(super) struct Cell<T> {
    pub name: String,
    pub settings: Value,
    pub subject: T,
}

#[derive(Serialize, Deserialize)]
struct Kept<R> {
    settings: Value,
    occasion: Occasion,
    record: R,
}

/// Every cell's record in their order, and a sentence on when and where they were made.
pub(super) struct Made<R> {
    pub records: Vec<R>,
    pub occasion: Option<String>,
}

impl Errand<'_> {
    /// The record of every cell; `work` does those that have none, on one thread each.
    pub(super) fn each<T: Sync, R: Serialize + DeserializeOwned + Send + Sync>(
        &self,
        cells: &[Cell<T>],
        work: impl Fn(&T) -> Result<R> + Sync,
    ) -> Result<Made<R>> {
        let folder = self.folder.join("records");
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let (next, done, failed) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let results: Vec<OnceLock<Result<Kept<R>>>> =
            cells.iter().map(|_| OnceLock::new()).collect();
        (self.watch)(Done { done: 0, all: cells.len(), cell: None });
        let hand = || {
            while !self.is_cancelled() && !failed.load(Ordering::Relaxed) {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(cell) = cells.get(i) else { break };
                let result = kept_or_done(&folder, cell, &work);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                if result.is_ok() {
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    (self.watch)(Done { done, all: cells.len(), cell: Some(&cell.name) });
                }
                let _ = results[i].set(result);
            }
        };
        std::thread::scope(|scope| {
            (1..self.threads.min(cells.len())).for_each(|_| drop(scope.spawn(hand)));
            hand();
        });
        let mut results: Vec<Option<Result<Kept<R>>>> =
            results.into_iter().map(OnceLock::into_inner).collect();
        // What went wrong says more than that others were not begun.
        let broken = results.iter_mut().find(|result| matches!(result, Some(Err(_))));
        if let Some(Err(error)) = broken.and_then(Option::take) {
            return Err(error);
        }
        let results = results.into_iter().map(|result| result.unwrap_or(Err(Error::Interrupted)));
        let kept: Vec<Kept<R>> = results.collect::<Result<_>>()?;
        let occasion = Occasion::sentence(kept.iter().map(|kept| &kept.occasion));
        Ok(Made { records: kept.into_iter().map(|kept| kept.record).collect(), occasion })
    }

    /// Whether somebody wants it to stop.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

fn kept_or_done<T, R: Serialize + DeserializeOwned>(
    folder: &Path,
    cell: &Cell<T>,
    work: impl Fn(&T) -> Result<R>,
) -> Result<Kept<R>> {
    let path = folder.join(format!("{}.json", cell.name));
    if let Some(kept) = kept(&path, &cell.settings) {
        return Ok(kept);
    }
    let record = work(&cell.subject)?;
    let kept = Kept { settings: cell.settings.clone(), occasion: Occasion::now(1), record };
    folder::write(&path, &folder::json(&kept))?;
    Ok(kept)
}

/// A record of these very settings; one that cannot be read is done again.
fn kept<R: DeserializeOwned>(path: &Path, settings: &Value) -> Option<Kept<R>> {
    let kept: Kept<R> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (kept.settings == *settings).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errand<'a>(folder: &'a Path, store: &'a Store, cancel: &'a AtomicBool) -> Errand<'a> {
        static EVERYTHING: OnceLock<Only> = OnceLock::new();
        let only = EVERYTHING.get_or_init(Only::default);
        Errand { threads: 3, store, folder, only, runs: None, watch: &|_| {}, cancel }
    }

    fn cells(factor: u64) -> Vec<Cell<u64>> {
        let cell =
            |i| Cell { name: format!("c{i}"), settings: json!({ "by": factor }), subject: i };
        (0..7).map(cell).collect()
    }

    #[test]
    fn what_is_kept_is_not_done_again_unless_its_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let errand = errand(folder.path(), &store, &cancel);
        let worked = AtomicUsize::new(0);
        let times = |factor: u64| {
            let work = |i: &u64| {
                worked.fetch_add(1, Ordering::Relaxed);
                Ok(factor * i)
            };
            errand.each(&cells(factor), work).unwrap().records
        };
        assert_eq!(times(2), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(times(2), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(worked.load(Ordering::Relaxed), 7);
        assert_eq!(times(3)[6], 18);
        assert_eq!(worked.load(Ordering::Relaxed), 14);
        fs::write(folder.path().join("records/c4.json"), "{\"settings\"").unwrap();
        assert_eq!(times(3)[4], 12);
        assert_eq!(worked.load(Ordering::Relaxed), 15);
    }

    #[test]
    fn an_interruption_loses_nothing_that_was_done() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let errand = Errand { threads: 1, ..errand(folder.path(), &store, &cancel) };
        let work = |i: &u64| {
            cancel.store(*i == 2, Ordering::Relaxed);
            Ok(*i)
        };
        assert!(matches!(errand.each(&cells(1), work), Err(Error::Interrupted)));
        cancel.store(false, Ordering::Relaxed);
        let rest = errand.each(&cells(1), |i| if *i < 3 { panic!("{i} again") } else { Ok(*i) });
        assert_eq!(rest.unwrap().records, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_error_is_told_before_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let errand = errand(folder.path(), &store, &cancel);
        let broken = |i: &u64| match i {
            3 => Err(Error::Data { place: "c3".into(), problem: "broken".into() }),
            i => Ok(*i),
        };
        assert_eq!(errand.each(&cells(1), broken).err().unwrap().to_string(), "c3: broken");
    }
}
