//! Reproduction of the paper's tables, and related experiments. Each is defined by a file in
//! `experiments/`.

mod selection;
mod cells;
mod graph_statistics;
mod result_table;
mod theorems;
mod auto;
mod filters;

pub use auto::AutoExperiment;
#[cfg(any(test, fuzzing))]
pub(super) use cells::read_cell_record;
pub use cells::{CellProgress, ExperimentOptions};
pub use filters::Filters;
pub use graph_statistics::GraphStatistics;
pub use result_table::{PlannedCell, Receipts, ResultTable};
pub use selection::Selection;
pub use theorems::Theorems;

use crate::error::{Error, Result};

/// Every experiment that can be reproduced.
pub static EXPERIMENTS: &[&ExperimentInfo] = &[
    &ExperimentInfo {
        name: "table1",
        title: "statistics of the graphs",
        kind: ExperimentKind::GraphStatistics(include_str!("../../../experiments/table1.toml")),
    },
    &ExperimentInfo {
        name: "table2",
        title: "residual connections: seven models on nine graphs",
        kind: ExperimentKind::ResultTable(include_str!("../../../experiments/table2.toml")),
    },
    &ExperimentInfo {
        name: "table3",
        title: "spectral models: seven models on eight graphs",
        kind: ExperimentKind::ResultTable(include_str!("../../../experiments/table3.toml")),
    },
    &ExperimentInfo {
        name: "ablation",
        title: "residual connections removed one at a time, on two graphs",
        kind: ExperimentKind::ResultTable(include_str!("../../../experiments/ablation.toml")),
    },
    &ExperimentInfo {
        name: "theorems",
        title: "Theorems 1 and 2 and the Clenshaw corollary on the spectra of real graphs",
        kind: ExperimentKind::Theorems(include_str!("../../../experiments/theorems.toml")),
    },
    &ExperimentInfo {
        name: "filters",
        title: "low-, high- and band-pass, band-reject and comb filters learned on images",
        kind: ExperimentKind::Filters(include_str!("../../../experiments/filters.toml")),
    },
    &ExperimentInfo {
        name: "depth",
        title: "accuracy and Dirichlet energy as layers are added",
        kind: ExperimentKind::ResultTable(include_str!("../../../experiments/depth.toml")),
    },
    &ExperimentInfo {
        name: "leak-free",
        title: "eight models on corrected graphs and stratified splits",
        kind: ExperimentKind::ResultTable(include_str!("../../../experiments/leak-free.toml")),
    },
    &ExperimentInfo {
        name: "auto",
        title: "clenshaw auto, using no earlier results on the graph, compared with single models",
        kind: ExperimentKind::Auto(include_str!("../../../experiments/auto.toml")),
    },
];

/// Former names of experiments that are still accepted, with their current names.
const FORMER_NAMES: [(&str, &str); 1] = [("honest", "leak-free")];

/// An entry of [`EXPERIMENTS`].
#[derive(Debug)]
pub struct ExperimentInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// The kind of experiment, with the contents of its file.
    pub kind: ExperimentKind,
}

/// The kinds of experiments, each with the contents of a TOML file.
#[derive(Debug)]
pub enum ExperimentKind {
    /// Sizes and homophily of graphs: [`GraphStatistics`].
    GraphStatistics(&'static str),
    /// Scores of models on graphs: [`ResultTable`].
    ResultTable(&'static str),
    /// Networks compared with spectral filters: [`Theorems`].
    Theorems(&'static str),
    /// Filters learned on images: [`Filters`].
    Filters(&'static str),
    /// Searches for the best model: [`AutoExperiment`].
    Auto(&'static str),
}

impl ExperimentInfo {
    /// The name of its file, for error messages.
    pub fn file_name(&self) -> String {
        format!("experiments/{}.toml", self.name)
    }
}

/// Finds an experiment by its name or former name.
///
/// ```
/// use clenshaw::experiment::find_experiment;
/// assert_eq!(find_experiment("table1")?.title, "statistics of the graphs");
/// assert_eq!(find_experiment("honest")?.name, "leak-free");
/// let error = find_experiment("tabel1").unwrap_err().to_string();
/// assert!(error.starts_with("unknown experiment `tabel1`; did you mean `table1`?"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn find_experiment(name: &str) -> Result<&'static ExperimentInfo> {
    let renamed = FORMER_NAMES.iter().find(|(former, _)| *former == name);
    let current = renamed.map_or(name, |(_, current)| *current);
    let entry = EXPERIMENTS.iter().find(|info| info.name == current);
    let known = EXPERIMENTS.iter().map(|info| info.name);
    entry.copied().ok_or_else(|| Error::unknown("experiment", name, known))
}
