//! Requests in, records out: the only room that writes run folders.
//!
//! ```text
//! <folder>/run.toml                        everything needed to do it again
//! <folder>/receipt.json                    version, data and split sha256, processor, threads, time
//! <folder>/summary.json                    the records of all runs and what they say together
//! <folder>/runs/<seed>/record.json         one run's numbers
//!                     /epochs.jsonl        one line an epoch
//!                     /model.safetensors   weights and filter coefficients
//!                     /predictions.csv     node, prediction, probability per class, part
//! <folder>/runs/<seed>.checkpoint          an interrupted run
//! ```
//!
//! Run `i` of a request has the seed `request.seed + i`, from which its split, its initial weights and
//! its dropout are drawn, each by a stream of its own; so any run can be done again alone.

mod config;
mod request;
mod preset;
mod record;
mod occasion;
mod folder;
mod job;
mod run;
mod predict;
mod reproduce;
mod tuning;

pub use config::Config;
use folder::Ground;
use occasion::Occasion;
pub use predict::{Predictions, predict};
pub use preset::{Origin, preset_graphs, preset_origin, preset_settings, preset_source};
pub use record::{Record, Summary};
pub use reproduce::{
    Contest, Done, EXPERIMENTS, Errand, ExperimentInfo, Filters, Kind, Only, Planned, Receipts,
    Statistics, Theorems, find_experiment,
};
pub use request::Request;
pub use run::{Event, Options, Order, run, run_all};
use run::{finished, finished_runs};
pub use tuning::{
    End, Judge, TuneEvent, TuneOptions, TuneRequest, Tuned, best_first, sampler, tune,
};
