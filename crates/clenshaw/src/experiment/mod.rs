//! Training requests, run folders, tuning studies and reproduction of the paper's results.
//!
//! A [`Request`] names a graph, a model and their settings; [`run`] trains the model and returns a
//! [`Summary`].
//! This is the only module that writes run folders:
//!
//! ```text
//! <folder>/run.toml                        the request with all settings, enough to rerun it
//! <folder>/data.json                       sha256 of the data and of every split, class of the instruction set
//! <folder>/receipt.json                    provenance: version, data, splits, processor, threads, time
//! <folder>/summary.json                    the records of all runs and their statistics
//! <folder>/runs/<seed>/record.json         the scores of one run
//!                     /epochs.jsonl        one line per epoch
//!                     /filters.jsonl       the coefficients of the filter before training and after every
//!                                          epoch; empty unless the filter is a single polynomial that
//!                                          depends on the parameters alone
//!                     /model.safetensors   the trained model: weights, hyper-parameters, columns, scaling, classes
//!                     /predictions.csv     node, predicted class, probability per class, part of the split
//! <folder>/runs/<seed>.checkpoint          the state of an unfinished run
//! <folder>/runs/<seed>.progress.jsonl      the epochs of an unfinished run so far, for other processes to follow
//! <folder>/stop                            a request to stop that has not been read yet
//! ```
//!
//! Run `i` of a request has the seed `request.seed + i`. Its initial weights, its dropout and, unless
//! the split is fixed, its split are drawn from that seed with separate random streams, so every run can be
//! rerun on its own.

mod config;
mod request;
mod command;
mod preset;
mod record;
mod provenance;
mod folder;
mod progress;
mod follow;
mod job;
mod scheduler;
mod predict;
mod verify;
mod explain;
mod run_report;
mod reproduce;
mod tuning;
mod auto;
#[cfg(any(test, fuzzing))]
pub mod fuzz;

pub use auto::{
    AutoAnswer, AutoEvent, AutoOptions, AutoRequest, ConfigurationRow, EnsembleMember, Estimate,
    GraphOverview, LabelSpectrum, ModelEnsemble, Objective, Portfolio, PortfolioEntry, SingleBest,
    SpectralFilter, auto,
};
pub use config::Config;
pub use explain::{
    ClassProbability, ClassShare, Explanation, FeatureContribution, FeatureContributions,
    HopContribution, NearNode, NearestNodes, NodeContribution, OtherContributions, Representation,
    explain, explain_with,
};
use folder::DataFingerprint;
pub use follow::{FollowedFolder, FollowedRun, RunState, request_stop};
pub use predict::{FinishedRun, Predictions, predict, predict_with, read_run};
pub use preset::{
    PAPER, SettingsOrigin, further_presets, preset, preset_graphs, preset_names, preset_origin,
    preset_settings, preset_source,
};
pub use progress::TrainingProgress;
use provenance::Provenance;
pub use record::{RunRecord, Summary};
pub use reproduce::{
    AutoExperiment, CellProgress, EXPERIMENTS, ExperimentInfo, ExperimentKind, ExperimentOptions,
    Filters, GraphStatistics, PlannedCell, Receipts, ResultTable, Selection, Theorems,
    find_experiment,
};
pub use request::Request;
pub use run_report::{
    Figure, FittedRun, FollowedGraph, ProgressReport, ProgressUpdate, Report, ReportedRun,
    ReportedStudy,
};
pub use scheduler::{RunEvent, RunOptions, TrainingJob, run, run_all};
use scheduler::{finished_job, finished_runs};
pub use tuning::{
    PrunerKind, StudyEnd, TuneEvent, TuneOptions, TuneRequest, TuneResult, declared_distribution,
    ranked_trials, request_study_stop, sampler, tune,
};
pub use verify::{
    ACCURACY_TOLERANCE, MIN_AGREEMENT, RunVerifier, Verification, VerificationMode, VerifiedItem,
};
