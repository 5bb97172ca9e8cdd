//! Models against models on graphs: a table of scores, or a figure of them.
//!
//! ```toml
//! title = "..."
//! source = "where the numbers stand"
//! spread = "ci95"                 # what stands behind the paper's ±: ci95 or std
//! models = ["gcn", "clenshaw-gcn"]
//! notes = ["..."]                 # may be left out
//! bars = "..."                    # the title of a figure; may be left out
//! runs = { gcn = 10 }             # where a model has other than 20; may be left out
//! claims = [["gcn", "clenshaw-gcn"]]  # orders, the worst first, to be judged; may be left out
//!
//! [[column]]
//! name = "chameleon"              # the graph, unless `graph` says otherwise
//! paper = { gcn = [60.81, 2.95], h2gcn = "(M)" }
//! ```
//!
//! A column may also have `split` (else `balanced`), `runs` (for all models), `score` (`accuracy` or
//! `roc-auc`) and `depth`.
//!
//! Every cell is an order of its own with a run folder of its own, named by all that decides it: what
//! two experiments ask for is trained once.

mod figures;
mod measured;
mod receipts;

pub use receipts::Receipts;

use self::receipts::Receipt;
use super::Only;
use crate::data::SplitKind;
use crate::error::{Error, Result};
use crate::experiment::config::first_line;
use crate::experiment::preset::{self, Origin};
use crate::experiment::{Order, Request};
use crate::model::{self, ModelInfo};
use crate::report::{Printed, Spread};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// The papers of this line take twenty splits.
const RUNS: usize = 20;

/// What a paper says about models on graphs.
#[derive(Clone, Debug)]
pub struct Contest {
    title: String,
    source: String,
    spread: Spread,
    notes: Vec<String>,
    bars: Option<String>,
    claims: Vec<Vec<String>>,
    runs: BTreeMap<String, usize>,
    models: Vec<&'static ModelInfo>,
    columns: Vec<Column>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    spread: String,
    models: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    bars: Option<String>,
    #[serde(default)]
    claims: Vec<Vec<String>>,
    #[serde(default)]
    runs: BTreeMap<String, usize>,
    column: Vec<Column>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    graph: Option<String>,
    split: Option<String>,
    runs: Option<usize>,
    #[serde(default)]
    score: Score,
    depth: Option<usize>,
    #[serde(default)]
    paper: Table,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Score {
    #[default]
    Accuracy,
    RocAuc,
}

/// A cell to be measured.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is asked for, and its run folder.
    pub order: Order,
    column: String,
    score: Score,
    paper: Option<Printed>,
    settings: Origin,
    /// What it was worth, if that was measured before.
    known: Option<Receipt>,
}

impl Contest {
    /// Reads a file of `experiments/`; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let wrong = |problem: String| Error::Data { place: place.into(), problem };
        let file: File = toml::from_str(text).map_err(|e| wrong(first_line(&e)))?;
        let spread = match file.spread.as_str() {
            "std" => Spread::Std,
            "ci95" => Spread::Ci95,
            other => return Err(wrong(format!("`spread` is `{other}`; expected std or ci95"))),
        };
        let models = file.models.iter().map(|name| model::find(name));
        let models: Vec<_> = models.collect::<Result<_>>().map_err(|e| e.within(place))?;
        for column in &file.column {
            column.check(&models).map_err(|e| e.within(place))?;
        }
        let known = || models.iter().map(|info| info.name);
        let mut named = file.claims.iter().flatten().chain(file.runs.keys());
        if let Some(name) = named.find(|name| !known().any(|m| m == *name)) {
            return Err(Error::unknown("model", name, known()).within(place));
        }
        let File { title, source, notes, bars, claims, runs, column: columns, .. } = file;
        Ok(Self { title, source, spread, notes, bars, claims, runs, models, columns })
    }

    /// The cells that are wanted, column after column, each with its folder in `runs_folder`.
    pub fn plan(
        &self,
        only: &Only,
        runs: Option<usize>,
        runs_folder: &Path,
    ) -> Result<Vec<Planned>> {
        let columns = || self.columns.iter();
        let is_column = |name: &str| columns().any(|column| column.name == name);
        // A graph that is no column's name stands for all columns that it is in.
        let alias = |column: &Column| Some(column.graph().to_owned()).filter(|g| !is_column(g));
        let mut names: Vec<String> = columns().map(|column| column.name.clone()).collect();
        names.extend(columns().filter_map(alias));
        names.dedup();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let models: Vec<&str> = self.models.iter().map(|info| info.name).collect();
        only.check(&[("graph", &names), ("model", &models)])?;
        let wanted = |column: &&Column| {
            let by_graph = alias(column).is_some_and(|graph| only.wants("graph", &graph));
            by_graph || only.wants("graph", &column.name)
        };
        let columns = columns().filter(wanted);
        let pairs = columns.flat_map(|column| {
            let models = self.models.iter().filter(|info| only.wants("model", info.name));
            models.map(move |info| (column, *info))
        });
        let planned = |(column, info): (&Column, &'static ModelInfo)| {
            let own = column.runs.or(self.runs.get(info.name).copied()).unwrap_or(RUNS);
            column.planned(info, runs.map_or(own, |runs| runs.min(own)), runs_folder)
        };
        pairs.map(planned).collect()
    }
}

impl Column {
    fn graph(&self) -> &str {
        self.graph.as_ref().unwrap_or(&self.name)
    }

    fn check(&self, models: &[&ModelInfo]) -> Result<()> {
        if self.name.contains([',', '=']) {
            return Err(Error::BadValue {
                key: "name".into(),
                value: self.name.clone(),
                expected: "a name without `,` and `=`, so that --only can say it".into(),
            });
        }
        let known = || models.iter().map(|info| info.name);
        for (model, value) in &self.paper {
            if !known().any(|name| name == model) {
                return Err(Error::unknown("model", model, known()));
            }
            printed(value).ok_or_else(|| Error::BadValue {
                key: format!("{}.{model}", self.name),
                value: value.to_string(),
                expected: "two numbers as in [69.44, 0.92], or a word".into(),
            })?;
        }
        self.split().map(drop)
    }

    fn split(&self) -> Result<SplitKind> {
        self.split.as_deref().map_or(Ok(SplitKind::Balanced), str::parse)
    }

    fn planned(&self, info: &'static ModelInfo, runs: usize, folder: &Path) -> Result<Planned> {
        let graph = self.graph();
        let mut request = Request::new(graph, info.name)?;
        let settings = preset::preset_origin(info, graph);
        if settings != Origin::Ours {
            for (key, value) in preset::preset("paper", info, graph)? {
                request.set(&key, &value)?;
            }
        }
        if let Some(depth) = self.depth {
            let key = ["layers", "L", "K"].into_iter().find(|key| request.hyper.has(key));
            let key = key.ok_or_else(|| Error::unknown("depth of", info.name, []))?;
            request.set(key, &depth.to_string())?;
        }
        request.split = self.split()?;
        request.runs = runs;
        request.check()?;
        let out = Some(folder.join(request.folder_name()));
        let order = Order { request, out };
        Ok(Planned {
            known: Receipt::of(&order)?,
            order,
            column: self.name.clone(),
            score: self.score,
            paper: self.paper.get(info.name).and_then(printed),
            settings,
        })
    }
}

fn printed(value: &Value) -> Option<Printed> {
    let number = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    };
    match value {
        Value::String(word) => Some(Printed::Word(word.clone())),
        Value::Array(pair) => match pair.as_slice() {
            [mean, spread] => Some(Printed::Score(number(mean)?, number(spread)?)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
