//! Training requests, run folders, tuning studies and reproduction of the paper's results.
//!
//! A [`Request`] names a graph, a model and their settings; [`run`] trains the model and returns a
//! [`Summary`].
//! This is the only module that writes run folders:
//!
//! ```text
//! <folder>/run.toml                        the request with all settings, enough to rerun it
//! <folder>/data.json                       sha256 of the data and of every split
//! <folder>/receipt.json                    provenance: version, data, splits, processor, threads, time
//! <folder>/summary.json                    the records of all runs and their statistics
//! <folder>/runs/<seed>/record.json         the scores of one run
//!                     /epochs.jsonl        one line per epoch
//!                     /filters.jsonl       the filter after every epoch; empty without coefficients
//!                     /model.safetensors   the trained model: weights, hyper-parameters, columns, scaling, classes
//!                     /predictions.csv     node, predicted class, probability per class, part of the split
//! <folder>/runs/<seed>.checkpoint          an unfinished run
//! ```
//!
//! Run `i` of a request has the seed `request.seed + i`. Its initial weights, its dropout and, unless
//! the split is fixed, its split are drawn from that seed with separate random streams, so every run can be
//! rerun on its own.

mod config;
mod request;
mod preset;
mod record;
mod provenance;
mod folder;
mod job;
mod scheduler;
mod predict;
mod explain;
mod run_report;
mod reproduce;
mod tuning;

pub use config::Config;
pub use explain::{
    ClassProbability, ClassShare, Explanation, FeatureContribution, FeatureContributions,
    HopContribution, NearNode, NearestNodes, NodeContribution, OtherContributions, Representation,
    explain, explain_with,
};
use folder::DataFingerprint;
pub use predict::{FinishedRun, Predictions, predict, predict_with, read_run};
pub use preset::{
    SettingsOrigin, preset, preset_graphs, preset_origin, preset_settings, preset_source,
};
use provenance::Provenance;
pub use record::{RunRecord, Summary};
pub use reproduce::{
    CellProgress, EXPERIMENTS, ExperimentInfo, ExperimentKind, ExperimentOptions, Filters,
    GraphStatistics, PlannedCell, Receipts, ResultTable, Selection, Theorems, find_experiment,
};
pub use request::Request;
pub use run_report::{Report, ReportedRun};
pub use scheduler::{RunEvent, RunOptions, TrainingJob, run, run_all};
use scheduler::{finished_job, finished_runs};
pub use tuning::{
    PrunerKind, StudyEnd, TuneEvent, TuneOptions, TuneRequest, TuneResult, declared_distribution,
    ranked_trials, sampler, tune,
};
