//! Readers as functions of one input, for fuzzing and for the test of damaged files: those of settings, run
//! folders, models, checkpoints, studies and receipts, and the readers of data files (`data/read/fuzz.rs`).

use super::folder::{RunOrigin, RunReceipt, json_lines, read_json};
use super::progress::ProgressReader;
use super::reproduce::read_cell_record;
use super::tuning::parse_space;
use super::{Config, ModelEnsemble, Receipts, Request, RunRecord};
use crate::data::{self, Dataset, Features, Split, SplitKind};
use crate::error::Result;
use crate::filter::Filter;
use crate::graph::Graph;
use crate::model;
use crate::tensor::Mat;
use crate::train::{Epoch, EpochFilter, Fit, Setup, TrainedModel, is_checkpoint};
use clenshaw_tune::{AttrKind, JournalStorage, Storage, StorageLocation};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Reads the input of a fuzz target and uses the result; returns whether the input is valid.
///
/// # Panics
/// If the target is unknown.
pub fn is_valid(target: &str, bytes: &[u8]) -> bool {
    // Readers of settings take text. Elsewhere, invalid UTF-8 is rejected before they are called.
    let text = String::from_utf8_lossy(bytes);
    match target {
        "cell_receipts" => with_file(bytes, |path| {
            Receipts::read_file(path).map(|receipts| receipts.to_jsonl()).is_ok()
        }),
        "cell_record" => with_file(bytes, |path| read_cell_record(path).is_some()),
        "checkpoint" => {
            RUN.with_borrow_mut(|fit| access_checkpoint(fit, bytes));
            is_checkpoint("it", bytes)
        }
        "config" => apply_config(&text).is_ok(),
        "data_json" => with_file(bytes, |path| is_present(read_json::<RunOrigin>(path))),
        "ensemble_json" => ModelEnsemble::from_json("ensemble.json", &text).is_ok(),
        "epochs" => json_lines::<Epoch>("it", bytes).is_ok(),
        "filters" => json_lines::<EpochFilter>("it", bytes).is_ok(),
        "journal" => with_file(bytes, |path| access_journal(path).is_ok()),
        "model" => TrainedModel::from_bytes("it", bytes).is_ok_and(|model| {
            DATASET.with(|dataset| drop(model.predict(dataset, 1)));
            drop(model.to_bytes());
            true
        }),
        "progress" => with_file(bytes, access_progress),
        "receipt_json" => with_file(bytes, |path| {
            read_json::<RunReceipt>(path).is_ok_and(|receipt| {
                receipt.is_some_and(|receipt| !receipt.provenance.day().is_empty())
            })
        }),
        "record" => with_file(bytes, |path| {
            let record = read_json::<RunRecord>(path).ok().flatten();
            let filter = record.as_ref().and_then(|record| record.filter.as_ref());
            filter.inspect(|filter| drop(filter.sample(5)));
            record.is_some()
        }),
        "run_toml" => Request::from_toml("run.toml", &text).is_ok_and(|request| {
            drop((request.command(), request.folder_name()));
            Request::from_toml("run.toml", &request.to_toml()).is_ok()
        }),
        "search_space" => {
            let hypers: Vec<_> =
                model::find("clenshaw-gcn").expect("it exists").hyper_params().collect();
            parse_space("space.toml", &text, &hypers).is_ok()
        }
        "storage_location" => text.parse::<StorageLocation>().is_ok(),
        _ => data::read::fuzz::is_valid(target, bytes),
    }
}

/// Applies settings to a request, as `--config` does.
fn apply_config(text: &str) -> Result<()> {
    let config = Config::from_toml("config.toml", text)?;
    let model = config.model.as_deref().unwrap_or("clenshaw-gcn");
    let mut request = Request::new(config.graph.as_deref().unwrap_or("cora"), model)?;
    request.apply(&config)?;
    request.check()
}

/// Reads a journal: its studies, their user attributes and their trials.
fn access_journal(path: &Path) -> clenshaw_tune::Result<()> {
    let storage = JournalStorage::open(path)?;
    for study in storage.studies()? {
        storage.study_attrs(study.id, AttrKind::User)?;
        for trial in storage.trials(study.id)? {
            drop(trial.external_params());
        }
    }
    Ok(())
}

/// Reads a progress file and evaluates its last filter; returns whether its first line is valid and states
/// a positive number of epochs.
fn access_progress(path: &Path) -> bool {
    let mut reader = ProgressReader::default();
    reader.read(path);
    let progress = reader.progress();
    let fits = |filter: &EpochFilter, max| filter.coefficients.len() <= max;
    if let Some(basis) = &progress.basis
        && let Some(last) = progress.filters.last().filter(|last| fits(last, basis.max_terms()))
    {
        let filter = Filter { basis: basis.clone(), coefficients: last.coefficients.clone() };
        filter.sample(5);
    }
    progress.max_epochs > 0
}

/// Restores a checkpoint; if this succeeds, trains one more epoch and computes the outcome.
fn access_checkpoint(fit: &mut Fit, bytes: &[u8]) {
    if fit.restore("it", bytes).is_ok() {
        let _ = fit.epoch();
        drop((fit.seconds(), fit.checkpoint()));
        // Without an epoch, there is no outcome.
        if !fit.history().is_empty() {
            drop(fit.outcome().expect("no files are read"));
        }
    }
}

/// Whether a file exists and is valid.
fn is_present<T>(read: Result<Option<T>>) -> bool {
    read.is_ok_and(|value| value.is_some())
}

/// Calls `read` with the path of a temporary file with this content, and removes the file.
fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(format!("clenshaw-fuzz-{process}-{thread:?}"));
    std::fs::write(&path, bytes).expect("the temporary folder can be written");
    let result = read(&path);
    std::fs::remove_file(&path).expect("the file was just written");
    result
}

thread_local! {
    static DATASET: Dataset = dataset();
    /// A run that checkpoints are restored to.
    static RUN: RefCell<Fit> = RefCell::new(run().0);
}

/// A path of six nodes with three features.
fn dataset() -> Dataset {
    let graph = Graph::from_edges("path", 6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    let values = (0..18).map(|i| (i % 5) as f32 / 4.0).collect();
    let y = (0..6).map(|i| Some(i / 3)).collect();
    let x = Features::Dense(Mat::from_vec(6, 3, values));
    let classes = vec!["left".into(), "right".into()];
    Dataset::new("path", graph.expect("a valid path"), x, y, classes)
}

/// A run of a small model on [`dataset`], before its first epoch, and its setup.
fn run() -> (Fit, Arc<Setup>) {
    let info = model::find("clenshaw-gcn").expect("it exists");
    let mut hp = info.defaults();
    for (key, value) in [("hidden", "2"), ("K", "2"), ("max_epochs", "9")] {
        hp.set(key, value).expect("a valid setting");
    }
    let dataset = Arc::new(dataset());
    let split: Split = SplitKind::Stratified.draw(&dataset, 0).expect("two classes");
    let setup = Arc::new(Setup::new(dataset, info, hp).expect("a valid model"));
    (Fit::new(setup.clone(), &split, 0, 1).expect("a valid split"), setup)
}

#[cfg(test)]
mod tests;
