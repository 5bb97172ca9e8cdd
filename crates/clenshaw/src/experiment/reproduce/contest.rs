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
//! A column may also have `split` (else `balanced`), `runs` (for all models), `settings` (the graph
//! whose published settings are taken, else its own), `score` (`accuracy` or `roc-auc`) and `depth`.
//!
//! Every cell is an order of its own with a run folder of its own, named by all that decides it: what
//! two experiments ask for is trained once.

use super::{Only, absent};
use crate::calendar;
use crate::data::SplitKind;
use crate::error::{Error, Result};
use crate::experiment::config::first_line;
use crate::experiment::preset::{self, Origin};
use crate::experiment::{Order, Record, Request, Summary, finished_receipt, finished_runs};
use crate::model::{self, ModelInfo};
use crate::report::{
    Bars, Claim, Figure, Measured, Printed, Scale, ScoreCell, Scores, Series, Spread, Statistic,
};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
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
    settings: Option<String>,
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
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let models: Vec<&str> = self.models.iter().map(|info| info.name).collect();
        only.check(&[("graph", &names), ("model", &models)])?;
        let columns = self.columns.iter().filter(|column| only.wants("graph", &column.name));
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

    /// The table, from what became of the orders; a cell that was interrupted counts its finished runs.
    pub fn table(&self, planned: &[Planned], results: &[Result<Summary>]) -> Result<Scores> {
        let about_depth = self.columns.iter().any(|column| column.depth.is_some());
        let cells = planned.iter().zip(results).map(|(planned, result)| {
            let mut cell = planned.cell(result)?;
            if let Some(ours) = cell.ours.as_mut().filter(|_| !about_depth) {
                ours.energy = None;
            }
            Ok(cell)
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        Ok(Scores {
            title: self.title.clone(),
            source: self.source.clone(),
            spread: self.spread,
            notes: self.notes.iter().cloned().chain(occasion(planned)?).collect(),
            claims: self.claims.iter().map(|order| Claim::judge(order, &cells)).collect(),
            cells,
        })
    }

    /// One line of JSON a cell that is complete: its settings, its data, its machine, its runs.
    pub fn receipts(&self, planned: &[Planned]) -> Result<String> {
        let lines = planned.iter().filter_map(|planned| planned.receipt().transpose());
        lines.map(|line| Ok(line?.to_string() + "\n")).collect()
    }

    /// The figure, if the experiment has one.
    pub fn bars(&self, table: &Scores) -> Option<Bars> {
        let title = self.bars.clone()?;
        let bar = |cell: &ScoreCell| {
            let score = cell.ours?.score;
            let (mean, ci95) = (100.0 * score.mean, 100.0 * score.ci95);
            Some((cell.column.clone(), cell.model.clone(), mean, ci95))
        };
        let bars = table.cells.iter().filter_map(bar).collect();
        Some(Bars { title, y_label: "test accuracy, %".into(), bars })
    }
}

impl Contest {
    /// Lines over the depth, two figures a graph with its name: the score, and the energy.
    pub fn over_depth(&self, table: &Scores) -> Vec<(String, Figure)> {
        let mut graphs: Vec<&str> = vec![];
        for column in self.columns.iter().filter(|column| column.depth.is_some()) {
            if !graphs.contains(&column.graph()) {
                graphs.push(column.graph());
            }
        }
        let figures = |graph: &str| {
            let lines = |number: fn(&Measured) -> Option<f64>| -> Vec<Series> {
                let models = self.models.iter();
                let line = |info: &&'static ModelInfo| self.line(table, graph, info, number);
                models.map(line).filter(|line| !line.points.is_empty()).collect()
            };
            let figure = |what: &str, y_label: &str, scale, series| Figure {
                title: format!("{graph}: {what}"),
                x_label: "layers".into(),
                y_label: y_label.into(),
                scale,
                series,
                ..Figure::default()
            };
            let score = lines(|ours| Some(100.0 * ours.score.mean));
            let energy = lines(|ours| ours.energy);
            let score = figure("test accuracy", "test accuracy, %", Scale::Linear, score);
            let energy =
                figure("Dirichlet energy of the last hidden layer", "energy", Scale::Log, energy);
            [(format!("{graph}-accuracy"), score), (format!("{graph}-energy"), energy)]
        };
        graphs.into_iter().flat_map(figures).collect()
    }

    fn line(
        &self,
        table: &Scores,
        graph: &str,
        info: &ModelInfo,
        number: fn(&Measured) -> Option<f64>,
    ) -> Series {
        let columns = self.columns.iter().filter(|column| column.graph() == graph);
        let points = columns.filter_map(|column| {
            let is_ours = |cell: &&ScoreCell| cell.column == column.name && cell.model == info.name;
            let cell = table.cells.iter().find(is_ours)?;
            Some((column.depth? as f64, number(&cell.ours?)?))
        });
        Series { name: info.name.into(), points: points.collect() }
    }
}

impl Column {
    fn graph(&self) -> &str {
        self.graph.as_ref().unwrap_or(&self.name)
    }

    fn check(&self, models: &[&ModelInfo]) -> Result<()> {
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
        let like = self.settings.as_deref().unwrap_or(graph);
        let settings = preset::origin(info, like);
        if settings != Origin::Ours {
            for (key, value) in preset::preset("paper", info, like)? {
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
        Ok(Planned {
            order: Order { request, out },
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

impl Planned {
    fn cell(&self, result: &Result<Summary>) -> Result<ScoreCell> {
        let asked = self.order.request.runs;
        let (records, missing) = match result {
            Ok(summary) => (summary.runs.clone(), None),
            Err(Error::Interrupted) => (finished_runs(&self.order)?, Some("not run".to_owned())),
            Err(error) if absent(error) => (vec![], Some("not run, no data".to_owned())),
            Err(error) => (vec![], Some(format!("failed: {error}"))),
        };
        let scores: Option<Vec<f64>> = records.iter().map(|run| self.score.of(run)).collect();
        let ours = match scores {
            Some(scores) if !scores.is_empty() => Some(measured(&scores, &records)),
            _ => None,
        };
        Ok(ScoreCell {
            column: self.column.clone(),
            model: self.order.request.model.name.into(),
            paper: self.paper.clone(),
            settings: self.settings.to_string(),
            runs: if ours.is_some() { records.len() } else { asked },
            missing: missing.filter(|_| ours.is_none()),
            ours,
        })
    }
}

impl Planned {
    fn receipt(&self) -> Result<Option<Json>> {
        let Some(receipt) = finished_receipt(&self.order)? else { return Ok(None) };
        let runs = finished_runs(&self.order)?;
        let run = |run: &Record| {
            json!({
                "seed": run.seed,
                "split_sha256": run.split_sha256,
                "epochs": run.epochs,
                "val_accuracy": run.val_accuracy,
                "test_accuracy": run.test_accuracy,
                "roc_auc": run.roc_auc,
            })
        };
        let Request { graph, model, split, hyper, .. } = &self.order.request;
        Ok(Some(json!({
            "graph": graph,
            "model": model.name,
            "split": split.to_string(),
            "hyper": hyper,
            "version": receipt["version"],
            "data_sha256": receipt["data_sha256"],
            "processor": receipt["processor"],
            "instructions": receipt["instructions"],
            "finished_unix_seconds": receipt["finished_unix_seconds"],
            "runs": runs.iter().map(run).collect::<Json>(),
        })))
    }
}

/// When and on what the complete cells were measured.
fn occasion(planned: &[Planned]) -> Result<Option<String>> {
    let receipts = planned.iter().filter_map(|p| finished_receipt(&p.order).transpose());
    let receipts: Vec<Json> = receipts.collect::<Result<_>>()?;
    let days = receipts.iter().filter_map(|receipt| receipt["finished_unix_seconds"].as_u64());
    let days: BTreeSet<String> =
        days.map(|seconds| calendar::day(Duration::from_secs(seconds))).collect();
    let machines: BTreeSet<String> = receipts
        .iter()
        .filter_map(|receipt| {
            let (processor, threads) = (receipt["processor"].as_str()?, &receipt["threads"]);
            Some(format!("{processor} (threads: {threads})"))
        })
        .collect();
    let days = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => first.clone(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => return Ok(None),
    };
    let machines: Vec<String> = machines.into_iter().collect();
    Ok(Some(format!("Measured {days} on {}.", machines.join("; "))))
}

fn measured(scores: &[f64], records: &[Record]) -> Measured {
    let energies: Option<Vec<f64>> = records.iter().map(|run| run.energy).collect();
    let epochs: usize = records.iter().map(|run| run.epochs).sum();
    Measured {
        score: Statistic::of(scores),
        energy: energies.map(|energies| energies.iter().sum::<f64>() / energies.len() as f64),
        epochs: epochs as f64 / records.len() as f64,
        seconds: records.iter().map(|run| run.seconds).sum(),
    }
}

impl Score {
    fn of(self, run: &Record) -> Option<f64> {
        match self {
            Self::Accuracy => Some(run.test_accuracy),
            Self::RocAuc => run.roc_auc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Store;
    use crate::experiment::{Options, run_all};
    use std::sync::atomic::AtomicBool;

    const TEXT: &str = r#"
        title = "T"
        source = "S"
        spread = "std"
        models = ["mlp", "gcn"]
        [[column]]
        name = "small"
        graph = "csbm:nodes=60"
        paper = { gcn = [90, 5.0], mlp = "(M)" }
        [[column]]
        name = "texas"
        split = "stratified"
    "#;

    fn contest() -> Contest {
        Contest::from_toml("t.toml", TEXT).unwrap()
    }

    /// Trains three epochs of every cell.
    fn trained(contest: &Contest, planned: &mut [Planned], folder: &Path) -> Scores {
        planned.iter_mut().for_each(|p| p.order.request.set("max_epochs", "3").unwrap());
        let orders: Vec<Order> = planned.iter().map(|planned| planned.order.clone()).collect();
        let options = Options {
            threads: 1,
            store: &Store::only(folder),
            resume: true,
            watch: &|_, _| {},
            cancel: &AtomicBool::new(false),
        };
        contest.table(planned, &run_all(&orders, &options)).unwrap()
    }

    #[test]
    fn cells_are_measured_once_and_those_that_are_not_here_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let measure = || {
            let mut planned = contest().plan(&Only::default(), Some(2), folder.path()).unwrap();
            trained(&contest(), &mut planned, folder.path())
        };
        let table = measure();
        let models: Vec<_> = table.cells.iter().map(|c| (&c.column[..], &c.model[..])).collect();
        let expected = [("small", "mlp"), ("small", "gcn"), ("texas", "mlp"), ("texas", "gcn")];
        assert_eq!(models, expected);
        assert_eq!(table.cells[0].paper, Some(Printed::Word("(M)".into())));
        assert_eq!(table.cells[1].paper, Some(Printed::Score(90.0, 5.0)));
        assert_eq!(table.cells[1].ours.unwrap().epochs, 3.0);
        assert_eq!(table.cells[3].missing.as_deref(), Some("not run, no data"));
        let occasion = table.notes.last().expect("a note on day and machine");
        assert!(occasion.starts_with("Measured 20"), "{occasion}");
        assert!(occasion.ends_with("(threads: 1)."), "{occasion}");
        let again = measure();
        let seconds = |table: &Scores| table.cells[1].ours.unwrap().seconds;
        assert_eq!(seconds(&again), seconds(&table), "the second time nothing is trained");
        let mut planned = contest().plan(&Only::default(), Some(2), folder.path()).unwrap();
        planned.reverse();
        let receipts = contest().receipts(&planned).unwrap();
        let lines: Vec<Json> = receipts.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            (lines.len(), &lines[0]["model"], &lines[1]["model"]),
            (2, &json!("gcn"), &json!("mlp"))
        );
        assert_eq!(lines[0]["runs"][1]["seed"], 1);
        let accuracy = |i: usize| lines[0]["runs"][i]["test_accuracy"].as_f64().unwrap();
        let mean = 0.5 * (accuracy(0) + accuracy(1));
        assert!((mean - table.cells[1].ours.unwrap().score.mean).abs() < 1e-12);
    }

    #[test]
    fn a_column_decides_split_runs_settings_and_depth() {
        let text = TEXT.replace("[\"mlp\", \"gcn\"]", "[\"gcnii\", \"clenshaw-gcn\"]").replace(
            "paper = { gcn = [90, 5.0], mlp = \"(M)\" }",
            "settings = \"cora\"\nruns = 5\ndepth = 16",
        );
        let contest =
            Contest::from_toml("t.toml", &format!("runs = {{ gcnii = 12 }}{text}")).unwrap();
        let plan = |only: &str, runs| {
            contest.plan(&only.parse().unwrap(), runs, Path::new("runs")).unwrap()
        };
        let cells = plan("graph=small", None);
        let request = |i: usize| &cells[i].order.request;
        assert_eq!((request(0).hyper.int("L"), request(0).hyper.real("alpha")), (16, 0.2));
        assert_eq!((request(1).hyper.int("K"), request(1).hyper.real("dropout")), (16, 0.7));
        assert_eq!((request(0).runs, request(0).split.to_string()), (5, "balanced".into()));
        let runs =
            |runs| plan("model=gcnii,clenshaw-gcn", runs).into_iter().map(|p| p.order.request.runs);
        assert_eq!(runs(None).collect::<Vec<_>>(), [5, 5, 12, 20]);
        assert_eq!(runs(Some(10)).collect::<Vec<_>>(), [5, 5, 10, 10]);
        let texas = &plan("graph=texas,model=gcnii", Some(10))[0].order.request;
        assert_eq!((texas.runs, texas.split.to_string()), (10, "stratified".into()));
    }

    #[test]
    fn depth_is_drawn_for_every_model_on_every_graph() {
        let column = |depth: usize| {
            format!(
                "[[column]]\nname = \"at {depth}\"\ngraph = \"csbm:nodes=60\"\ndepth = {depth}\n"
            )
        };
        let head = &TEXT[..TEXT.find("[[column]]").unwrap()].replace("\"mlp\"", "\"gcnii\"");
        let text = format!("{head}{}{}", column(2), column(4));
        let contest = Contest::from_toml("t.toml", &text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut planned = contest.plan(&Only::default(), Some(1), folder.path()).unwrap();
        let table = trained(&contest, &mut planned, folder.path());
        let figures = contest.over_depth(&table);
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["csbm:nodes=60-accuracy", "csbm:nodes=60-energy"]);
        let line = &figures[1].1.series[1];
        assert_eq!((line.name.as_str(), line.points[0].0, line.points[1].0), ("gcn", 2.0, 4.0));
        assert_eq!(line.points[0].1, table.cells[1].ours.unwrap().energy.unwrap());
        assert!((0.0..2.0).contains(&line.points[1].1), "{:?}", line.points);
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |from: &str, to: &str| {
            Contest::from_toml("t.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(refused("\"std\"", "\"sd\""), "t.toml: `spread` is `sd`; expected std or ci95");
        assert_eq!(
            refused("[90, 5.0]", "90"),
            "t.toml: `small.gcn` is `90`; expected two numbers as in [69.44, 0.92], or a word"
        );
        assert_eq!(
            refused("{ gcn", "{ gcm"),
            "t.toml: unknown model `gcm`; did you mean `gcn`? known: mlp, gcn"
        );
        assert!(
            refused("title", "claims = [[\"gcn\", \"gcnii\"]]\ntitle")
                .starts_with("t.toml: unknown model `gcnii`")
        );
        assert!(refused("split =", "spilt =").contains("unknown field `spilt`"));
        assert!(refused("stratified", "random").starts_with("t.toml: "));
    }
}
