//! The paper's tables, done again: each is a file of `experiments/`, read by the kind it is of.

mod only;
mod errand;
mod statistics;
mod theorems;
mod filters;

pub use errand::{Done, Errand};
pub use filters::Filters;
pub use only::Only;
pub use statistics::Statistics;
pub use theorems::Theorems;

use crate::error::{Error, Result};

/// Every experiment that can be done again.
pub static EXPERIMENTS: &[&ExperimentInfo] = &[&TABLE1, &THEOREMS, &FILTERS];

static TABLE1: ExperimentInfo = ExperimentInfo {
    name: "table1",
    title: "statistics of the graphs",
    kind: Kind::Statistics(include_str!("../../../../../experiments/table1.toml")),
};

static THEOREMS: ExperimentInfo = ExperimentInfo {
    name: "theorems",
    title: "Theorems 1 and 2 and the Clenshaw corollary on real spectra",
    kind: Kind::Theorems(include_str!("../../../../../experiments/theorems.toml")),
};

static FILTERS: ExperimentInfo = ExperimentInfo {
    name: "filters",
    title: "low, high, band, reject and comb responses learned on pictures",
    kind: Kind::Filters(include_str!("../../../../../experiments/filters.toml")),
};

/// An experiment as the list knows it.
#[derive(Debug)]
pub struct ExperimentInfo {
    /// The word people type.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it is done, with the text of its file.
    pub kind: Kind,
}

/// How an experiment is done.
#[derive(Debug)]
pub enum Kind {
    /// Graphs are counted: [`Statistics`].
    Statistics(&'static str),
    /// Networks beside eigenvectors: [`Theorems`].
    Theorems(&'static str),
    /// Responses are learned: [`Filters`].
    Filters(&'static str),
}

impl ExperimentInfo {
    /// The name of its file, for messages.
    pub fn place(&self) -> String {
        format!("experiments/{}.toml", self.name)
    }
}

/// The experiment of that name.
///
/// ```
/// use clenshaw::experiment::find_experiment;
/// assert_eq!(find_experiment("table1")?.title, "statistics of the graphs");
/// let error = find_experiment("table").unwrap_err().to_string();
/// assert!(error.starts_with("unknown experiment `table`; did you mean `table1`?"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn find_experiment(name: &str) -> Result<&'static ExperimentInfo> {
    let entry = EXPERIMENTS.iter().find(|info| info.name == name);
    let known = EXPERIMENTS.iter().map(|info| info.name);
    entry.copied().ok_or_else(|| Error::unknown("experiment", name, known))
}
