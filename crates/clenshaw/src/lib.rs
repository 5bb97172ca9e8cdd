//! Node classification on graphs with spectral and other graph neural networks, on the CPU.
//!
//! You have a graph whose nodes have features and some of whose nodes have labels. This crate trains a
//! model that predicts the other labels, scores it on held-out nodes and, for spectral models, returns
//! the learned filter: which frequencies of the graph the model uses. It works where neighbours agree
//! (homophily) and where they do not (heterophily). The main model is ClenshawGCN (Guo & Wei, KDD 2023):
//! a GCN whose two residual connections make each layer one step of Clenshaw's summation.
//! [`model::MODELS`] lists all models.
//!
//! # Train and score
//!
//! ```
//! use clenshaw::data::{self, SplitKind};
//! use clenshaw::train::{Fit, Setup, test_scores};
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//!
//! // A data set by name: generated here; "cora" is embedded; a path reads your own graph.
//! let graph = data::load("csbm:nodes=300,homophily=0.1")?;
//! // The nodes for training, validation and testing.
//! let split = SplitKind::Balanced.draw(&graph, 0)?;
//!
//! // A model and its hyper-parameters.
//! let info = clenshaw::model::find("clenshaw-gcn")?;
//! let mut hp = info.defaults();
//! hp.set_value("K", 8)?;
//! hp.set_value("max_epochs", 60)?;
//!
//! // Compile once, then train with seed 0 on 2 threads. The callback is called after every epoch.
//! let setup = Arc::new(Setup::new(graph, info, hp)?);
//! let mut fit = Fit::new(setup.clone(), &split, 0, 2)?;
//! fit.run(|_, epoch| match epoch.val_accuracy {
//!     Some(accuracy) if accuracy == 1.0 => ControlFlow::Break(()),
//!     _ => ControlFlow::Continue(()),
//! })?;
//!
//! // The weights of the best epoch, and their scores on the test nodes.
//! let outcome = fit.outcome()?;
//! let scores = test_scores(&outcome.probabilities, setup.dataset(), &split)?;
//! assert!(scores.accuracy > 0.6);
//!
//! // The learned filter: h(mu) over the spectrum of the normalised adjacency.
//! let filter = setup.filter(&outcome.weights)?.expect("ClenshawGCN is a spectral model");
//! let plot = clenshaw::report::terminal_plot("h(mu)", &filter.sample(200), 76, 10);
//! assert!(plot.ends_with(" 1 (low frequency)\n"));
//!
//! // Save the weights, load them again, and predict.
//! use clenshaw::train::{read_weights, write_weights};
//! let bytes = write_weights(&setup.named_params(&outcome.weights), "{}");
//! let file = read_weights("model.safetensors", &bytes)?;
//! let params = setup.params_from("model.safetensors", &file.tensors)?;
//! assert_eq!(setup.predict(&params, 2)?, outcome.probabilities);
//! # Ok::<(), clenshaw::Error>(())
//! ```
//!
//! # Your own graph
//!
//! ```
//! use clenshaw::data::{Dataset, Features, Split};
//! use clenshaw::graph::Graph;
//! use clenshaw::tensor::Mat;
//!
//! let graph = Graph::from_edges("friends", 4, &[(0, 1), (1, 2), (2, 3)])?;
//! let x = Features::Dense(Mat::from_vec(4, 1, vec![0.1, 0.3, 0.8, 0.9]));
//! let y = vec![Some(0), None, None, Some(1)];
//! let classes = vec!["tea".into(), "coffee".into()];
//! let friends = Dataset::new("friends", graph, x, y, classes).checked()?;
//! // Without validation nodes, training runs for `max_epochs` and keeps the last weights.
//! let split = Split::new("all labels", [friends.labelled(), vec![], vec![]])?;
//! # let info = clenshaw::model::find("gcn")?;
//! # let setup = clenshaw::train::Setup::new(friends, info, info.defaults())?;
//! # clenshaw::train::Fit::new(setup, &split, 0, 1)?.epoch()?;
//! # Ok::<(), clenshaw::Error>(())
//! ```
//!
//! # Your own model
//!
//! A model is one file in `src/model` and two lines in `src/model/mod.rs`. The file contains the
//! equations on a [`Net`](model::Net), the hyper-parameters, and the optimiser of each group of
//! parameters. The gradient is derived automatically. `CONTRIBUTING.md` shows a complete example.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`data`] | data sets: generated, embedded, read from files or downloaded; features, splits |
//! | [`graph`] | graphs, the normalised adjacency, spectra, homophily |
//! | [`filter`] | polynomial filters, their bases and frequency responses |
//! | [`model`] | the models, one file each |
//! | [`train`] | training, early stopping, checkpoints, metrics |
//! | [`hyper`] | declared hyper-parameters and their values |
//! | [`experiment`] | whole experiments: many runs, run folders, tuning, the paper's tables |
//! | [`report`] | statistics, tables and plots |
//! | [`tensor`] | matrices and the training plan that models are compiled to |
//! | [`rng`] | random numbers as a function of seed, purpose and index |
//! | [`error`] | the error type |
//!
//! Functions that take files, names or numbers from users return [`Error`]. A violated precondition, such
//! as matrices of different shapes, causes a panic whose message names the operation.

pub mod error;
pub mod hyper;
pub mod files;
pub mod memory;
mod parallel;
pub mod tensor;
pub mod graph;
pub mod filter;
pub mod data;
pub mod model;
pub mod train;
pub mod report;
pub mod experiment;

/// Random streams. Each purpose has a separate stream, so turning dropout off does not change the split:
///
/// | purpose | values drawn |
/// |---|---|
/// | `split` | the nodes for training, validation and test |
/// | `weights` | initial parameters, one sub-stream per parameter name |
/// | `dropout` | masks, one sub-stream per location and epoch |
/// | `graph` | generated graphs |
/// | `theorems` | the coefficients with which theorems are checked |
/// | `pictures` | the images on which filters are learned |
/// | `tuning` | the values of a trial, one sub-stream per trial number |
/// | `auto` | validation splits, the choice of models to tune, halves of the test nodes |
/// | `density` | the random signs that spectral densities are estimated with |
/// | `projection` | the random combinations of features whose energy is estimated |
/// | `sign-flip` | the signs of a paired test |
/// | `layout` | the initial positions of a drawing |
/// | `bootstrap` | the resamples of a confidence interval |
pub use clenshaw_rng as rng;
pub use error::{Error, FolderConflict, Result};

/// Runs the example of the README in doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
