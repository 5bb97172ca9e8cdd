//! Spectral graph learning without a framework.

pub mod error;
pub mod rng;
pub mod hyper;
pub mod tensor;
pub mod graph;
pub mod data;
pub mod filter;
pub mod model;
pub mod train;
pub mod report;
pub mod experiment;

pub use error::{Error, Result};
