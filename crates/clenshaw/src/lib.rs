//! Spectral graph learning without a framework.
//!
//! You have a graph whose nodes carry features and, some of them, labels. You want the other labels,
//! and you want to know which frequencies of the graph carried the signal, whether neighbours agree or
//! not. The heart is ClenshawGCN (Guo & Wei, KDD 2023): a GCN whose two residual connections make each
//! layer one step of Clenshaw's summation.
//!
//! ```
//! use clenshaw::data::{self, SplitKind};
//! use clenshaw::train::{Fit, Setup, test_scores};
//!
//! let graph = data::load("csbm:nodes=300,homophily=0.1")?;
//! let info = clenshaw::model::find("clenshaw-gcn")?;
//! let mut hp = info.defaults();
//! hp.set("max_epochs", "60")?;
//!
//! let setup = Setup::new(&graph, info, hp);
//! let split = SplitKind::Balanced.draw(&graph, 0)?;
//! let mut fit = Fit::new(&setup, &graph, &split, 0, 2);
//! fit.run(|_, epoch| epoch.val_accuracy < 1.0)?;
//!
//! let outcome = fit.outcome();
//! assert!(test_scores(&outcome.probabilities, &graph, &split).accuracy > 0.6);
//! assert!(setup.filter(&outcome.weights).is_some());
//! # Ok::<(), clenshaw::Error>(())
//! ```
//!
//! The rooms, in reading order; `ARCHITECTURE.md` has the map.

pub mod error;
pub mod hyper;
mod parallel;
pub mod tensor;
pub mod graph;
pub mod filter;
pub mod data;
pub mod model;
pub mod train;
pub mod report;
pub mod experiment;

/// Random streams. Each purpose has a stream of its own, so that turning dropout off does not change the
/// split:
///
/// | purpose | values drawn |
/// |---|---|
/// | `split` | which nodes train, validate and test |
/// | `weights` | initial parameters, one sub-stream per parameter name |
/// | `dropout` | masks, one sub-stream per location and epoch |
/// | `graph` | generated graphs |
/// | `theorems` | the coefficients that theorems are checked with |
/// | `pictures` | the pictures that filters are learned on |
/// | `tuning` | the values of a trial, one sub-stream per trial number |
pub use clenshaw_rng as rng;
pub use error::{Error, Result};

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
