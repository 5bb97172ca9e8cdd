//! Scores of models on graphs, compared with those of a paper in tables and charts.
//!
//! ```toml
//! title = "..."
//! source = "where the paper's numbers were published"
//! spread = "ci95"                 # meaning of the paper's ±: ci95 or std
//! models = ["gcn", "h2gcn", "clenshaw-gcn"]
//! notes = ["..."]                 # optional
//! bars = "..."                    # title of a bar chart; optional
//! runs = { gcn = 10 }             # models whose number of runs is not 20; optional
//! presets = { gcn = "luo2024" }   # models whose preset is not `paper`; optional
//! claims = [["gcn", "clenshaw-gcn"]]  # rankings to test, worst model first; optional
//!
//! [[column]]
//! name = "chameleon"              # also the graph, unless `graph` is given
//! paper = { gcn = [60.81, 2.95], h2gcn = "(M)" }
//! ```
//!
//! Further keys of a column are `split` (default `balanced`), `runs` (for all models), `score`
//! (`accuracy` or `roc-auc`) and `depth` (value of `layers`, `L` or `K`, whichever the model has).
//!
//! Every cell is a training job with its own run folder, named by a digest of its request, so a cell
//! that occurs in two experiments with the same folder for results is trained once.

mod figures;
mod receipts;
mod scores;

pub use receipts::Receipts;

use self::receipts::CellReceipt;
use super::Selection;
use crate::data::{Metric, SplitKind};
use crate::error::{Error, Result};
use crate::experiment::config::parse_toml;
use crate::experiment::preset::{PAPER, SettingsOrigin, preset_origin};
use crate::experiment::{Request, TrainingJob};
use crate::model::{self, ModelInfo};
use crate::report::{PaperScore, Spread, distinct};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// Default number of runs per cell, as in the papers.
const RUNS: usize = 20;

/// An experiment that trains models on graphs and compares their scores with those in a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultTable {
    title: String,
    source: String,
    spread: Spread,
    #[serde(default)]
    notes: Vec<String>,
    bars: Option<String>,
    #[serde(default)]
    claims: Vec<Vec<String>>,
    #[serde(default)]
    runs: BTreeMap<String, usize>,
    #[serde(default)]
    presets: BTreeMap<String, String>,
    #[serde(rename = "models")]
    model_names: Vec<String>,
    /// The models of these names.
    #[serde(skip)]
    models: Vec<&'static ModelInfo>,
    #[serde(rename = "column")]
    columns: Vec<TableColumn>,
}

/// A column of the file; its keys are described in the module documentation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableColumn {
    name: String,
    graph: Option<String>,
    split: Option<String>,
    runs: Option<usize>,
    #[serde(default)]
    score: Metric,
    depth: Option<usize>,
    #[serde(default)]
    paper: Table,
}

/// A cell of the table: one model in one column.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// The training job that measures it.
    pub job: TrainingJob,
    column: String,
    metric: Metric,
    paper: Option<PaperScore>,
    /// The origin of the hyper-parameters of the job.
    settings: SettingsOrigin,
    /// The receipt of an earlier measurement; `None` if the cell must be trained.
    receipt: Option<CellReceipt>,
}

impl ResultTable {
    /// Parses a file of `experiments/`; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let mut table: Self = parse_toml(place, text)?;
        table.find_models().map_err(|error| error.with_place(place))?;
        Ok(table)
    }

    /// Looks up the models. Rejects invalid columns, and any model in a column, `claims`, `runs` or `presets` that is
    /// not listed in `models`.
    fn find_models(&mut self) -> Result<()> {
        let models = self.model_names.iter().map(|name| model::find(name));
        self.models = models.collect::<Result<_>>()?;
        self.columns.iter().try_for_each(|column| column.check(&self.models))?;
        let known = || self.models.iter().map(|info| info.name);
        let mut named =
            self.claims.iter().flatten().chain(self.runs.keys()).chain(self.presets.keys());
        match named.find(|name| !known().any(|m| m == *name)) {
            Some(name) => Err(Error::unknown("model", name, known())),
            None => Ok(()),
        }
    }

    /// The selected cells, column by column, each with its folder in `runs_folder` and at most `runs` runs.
    /// A cell whose folder contains all of its runs has a receipt. Fails if the selection contains an unknown name,
    /// a request is invalid, or a run folder contains an invalid file.
    pub fn plan<'a>(
        &'a self,
        selection: &Selection,
        runs: Option<usize>,
        runs_folder: &Path,
    ) -> Result<Vec<PlannedCell>> {
        let columns = || self.columns.iter();
        let is_column = |name: &str| columns().any(|column| column.name == name);
        // A graph that is not the name of a column selects all columns on that graph.
        let alias =
            |column: &'a TableColumn| Some(column.graph()).filter(|graph| !is_column(graph));
        let names = columns().map(|column| column.name.as_str());
        let names = distinct(names.chain(columns().filter_map(alias)));
        let models: Vec<&str> = self.models.iter().map(|info| info.name).collect();
        selection.check(&[("graph", &names), ("model", &models)])?;
        let is_selected = |column: &&'a TableColumn| {
            let by_graph = alias(column).is_some_and(|graph| selection.includes("graph", graph));
            by_graph || selection.includes("graph", &column.name)
        };
        let pairs = columns().filter(is_selected).flat_map(|column| {
            let models = self.models.iter().filter(|info| selection.includes("model", info.name));
            models.map(move |info| (column, *info))
        });
        let cell = |(column, info): (&TableColumn, &'static ModelInfo)| {
            let own = column.runs.or(self.runs.get(info.name).copied()).unwrap_or(RUNS);
            let preset = self.presets.get(info.name).map_or(PAPER, String::as_str);
            column.plan((info, preset), runs.map_or(own, |runs| runs.min(own)), runs_folder)
        };
        pairs.map(cell).collect()
    }
}

impl TableColumn {
    /// The graph, in command-line syntax; by default the name of the column.
    fn graph(&self) -> &str {
        self.graph.as_ref().unwrap_or(&self.name)
    }

    /// Rejects a name with `,` or `=`, an unknown model, an invalid score of the paper or an invalid split.
    fn check(&self, models: &[&ModelInfo]) -> Result<()> {
        if self.name.contains([',', '=']) {
            return Err(Error::BadValue {
                key: "name".into(),
                value: self.name.clone(),
                expected: "a name without `,` or `=`, which --only uses as separators".into(),
            });
        }
        let known = || models.iter().map(|info| info.name);
        for (model, value) in &self.paper {
            if !known().any(|name| name == model) {
                return Err(Error::unknown("model", model, known()));
            }
            paper_score(value).ok_or_else(|| Error::BadValue {
                key: format!("{}.{model}", self.name),
                value: value.to_string(),
                expected: "two numbers as in [69.44, 0.92], or a string".into(),
            })?;
        }
        self.split().map(drop)
    }

    fn split(&self) -> Result<SplitKind> {
        self.split.as_deref().map_or(Ok(SplitKind::Balanced), str::parse)
    }

    /// Plans the cell of a model with the settings of this preset. If the preset is `paper` and the model has none for
    /// the graph, its defaults are used. The column sets the split and, if given, the depth. Reads the receipt in
    /// the cell's folder. Fails if the request is invalid, if the model has no such preset for the graph (except for
    /// `paper`), or if the folder contains an invalid file.
    fn plan(
        &self,
        (info, preset): (&'static ModelInfo, &str),
        runs: usize,
        folder: &Path,
    ) -> Result<PlannedCell> {
        let graph = self.graph();
        let mut request = Request::new(graph, info.name)?;
        let settings = preset_origin(preset, info, graph);
        if settings != SettingsOrigin::LibraryDefaults || preset != PAPER {
            request.apply_preset(preset)?;
        }
        if let Some(depth) = self.depth {
            let key = ["layers", "L", "K"].into_iter().find(|key| request.hyper.has(key));
            let key = key.ok_or_else(|| Error::BadValue {
                key: "depth".into(),
                value: depth.to_string(),
                expected: format!(
                    "no depth for {}, which has none of `layers`, `L`, `K`",
                    info.name
                ),
            })?;
            request.set(key, &depth.to_string())?;
        }
        request.split = self.split()?;
        request.runs = runs;
        request.check()?;
        let folder = Some(folder.join(request.folder_name()));
        let job = TrainingJob { request, folder };
        Ok(PlannedCell {
            receipt: CellReceipt::of_job(&job)?,
            job,
            column: self.name.clone(),
            metric: self.score,
            paper: self.paper.get(info.name).and_then(paper_score),
            settings,
        })
    }
}

/// Parses a cell of the paper: `[mean, spread]`, or a string; `None` for anything else.
fn paper_score(value: &Value) -> Option<PaperScore> {
    let number = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    };
    match value {
        Value::String(text) => Some(PaperScore::Text(text.clone())),
        Value::Array(pair) => match pair.as_slice() {
            [mean, spread] => Some(PaperScore::Score(number(mean)?, number(spread)?)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
