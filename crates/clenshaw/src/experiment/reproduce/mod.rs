//! The paper's tables and figures, done again: each is a file of `experiments/`, read by the kind it is of.

mod only;
mod errand;
mod statistics;
mod contest;
mod theorems;
mod filters;

pub use contest::{Contest, Planned, Receipts};
pub use errand::{Done, Errand};
pub use filters::Filters;
pub use only::Only;
pub use statistics::Statistics;
pub use theorems::Theorems;

use crate::error::{Error, Result};

/// Every experiment that can be done again.
pub static EXPERIMENTS: &[&ExperimentInfo] =
    &[&TABLE1, &TABLE2, &TABLE3, &ABLATION, &THEOREMS, &FILTERS, &DEPTH, &HONEST];

static TABLE1: ExperimentInfo = ExperimentInfo {
    name: "table1",
    title: "statistics of the graphs",
    kind: Kind::Statistics(include_str!("../../../experiments/table1.toml")),
};

static TABLE2: ExperimentInfo = ExperimentInfo {
    name: "table2",
    title: "residual connections: seven models on nine graphs",
    kind: Kind::Contest(include_str!("../../../experiments/table2.toml")),
};

static TABLE3: ExperimentInfo = ExperimentInfo {
    name: "table3",
    title: "spectral models: seven models on eight graphs",
    kind: Kind::Contest(include_str!("../../../experiments/table3.toml")),
};

static ABLATION: ExperimentInfo = ExperimentInfo {
    name: "ablation",
    title: "one residual connection at a time, on two graphs",
    kind: Kind::Contest(include_str!("../../../experiments/ablation.toml")),
};

static DEPTH: ExperimentInfo = ExperimentInfo {
    name: "depth",
    title: "accuracy and Dirichlet energy as layers are added",
    kind: Kind::Contest(include_str!("../../../experiments/depth.toml")),
};

static HONEST: ExperimentInfo = ExperimentInfo {
    name: "honest",
    title: "what remains on corrected graphs and stratified splits",
    kind: Kind::Contest(include_str!("../../../experiments/honest.toml")),
};

static THEOREMS: ExperimentInfo = ExperimentInfo {
    name: "theorems",
    title: "Theorems 1 and 2 and the Clenshaw corollary on real spectra",
    kind: Kind::Theorems(include_str!("../../../experiments/theorems.toml")),
};

static FILTERS: ExperimentInfo = ExperimentInfo {
    name: "filters",
    title: "low, high, band, reject and comb responses learned on pictures",
    kind: Kind::Filters(include_str!("../../../experiments/filters.toml")),
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
    /// Models are trained on graphs: [`Contest`].
    Contest(&'static str),
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
/// let error = find_experiment("tabel1").unwrap_err().to_string();
/// assert!(error.starts_with("unknown experiment `tabel1`; did you mean `table1`?"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn find_experiment(name: &str) -> Result<&'static ExperimentInfo> {
    let entry = EXPERIMENTS.iter().find(|info| info.name == name);
    let known = EXPERIMENTS.iter().map(|info| info.name);
    entry.copied().ok_or_else(|| Error::unknown("experiment", name, known))
}
