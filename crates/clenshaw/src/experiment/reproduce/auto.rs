//! `auto` compared with single models with published settings, logistic regression and label propagation.
//!
//! ```toml
//! title = "..."
//! source = "..."
//! budget = 180            # seconds per search
//! runs = 5                # splits per graph, with seeds from 0
//!
//! [[column]]
//! graph = "texas"
//! split = "balanced"
//! ```
//!
//! A cell is one search: a graph and a split. Its portfolio was chosen without the graph and its variants. All
//! methods may use the training and validation nodes of the split, and are scored on its test nodes. The scores
//! of models with a preset come from receipts of the same data and split. The regret is the mean score of the
//! best of these models minus that of `auto`. The best model is the one with the highest mean test score, which
//! is not known when a model is chosen.

use super::cells::{CellTask, ExperimentOptions};
use super::graph_statistics::load_if_present;
use super::result_table::Receipts;
use crate::data::{DATASETS, Dataset, Metric, Split, SplitKind};
use crate::error::{Error, Result};
use crate::experiment::auto::{label_propagation, logistic_regression};
use crate::experiment::config::parse_toml;
use crate::experiment::{
    AutoAnswer, AutoOptions, AutoRequest, Objective, Portfolio, Request, auto,
};
use crate::model::MODELS;
use crate::report::{ResultPage, Statistic, Table};
use crate::train::test_scores;
use clenshaw_tune::JournalStorage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The largest number of runs per graph; a larger number is lowered to it.
const MAX_RUNS: usize = 100;

/// The comparison of `auto` with single models and baselines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoExperiment {
    title: String,
    source: String,
    budget: f64,
    runs: usize,
    #[serde(rename = "column")]
    columns: Vec<AutoColumn>,
    #[serde(skip)]
    trials: Option<usize>,
    #[serde(skip)]
    receipts: Option<Receipts>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AutoColumn {
    graph: String,
    split: String,
}

/// The scores of one search and of the baselines on the same split.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AutoRecord {
    graph: String,
    seed: u64,
    /// The score of the ensemble.
    auto: f64,
    /// The score of the best single model of the search.
    single: f64,
    /// The title of its configuration.
    single_name: String,
    logistic_regression: f64,
    label_propagation: f64,
    majority: f64,
    trials: usize,
    seconds: f64,
    /// The models with a preset for the graph, and their scores, from receipts.
    published: Vec<(String, f64)>,
}

/// A search: the index of the column and the seed.
type Search = (usize, u64);

impl AutoExperiment {
    /// Parses the experiment's file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let experiment: Self = parse_toml(place, text)?;
        for AutoColumn { graph, split } in &experiment.columns {
            if !DATASETS.iter().any(|info| info.name == graph) {
                let known = DATASETS.iter().map(|info| info.name);
                return Err(Error::unknown("graph", graph, known).with_place(place));
            }
            split.parse::<SplitKind>().map_err(|error| error.with_place(place))?;
        }
        let budget = experiment.budget;
        if Duration::try_from_secs_f64(budget).is_err() {
            let problem = format!("`budget` is {budget}; expected a number of seconds");
            return Err(Error::Data { place: place.into(), problem });
        }
        Ok(experiment)
    }

    /// Replaces the time budget per search.
    pub fn with_budget(self, budget: Duration) -> Self {
        Self { budget: budget.as_secs_f64(), ..self }
    }

    /// Replaces the time budget by a number of trials per search.
    pub fn with_trials(self, trials: usize) -> Self {
        Self { trials: Some(trials), ..self }
    }

    /// Adds the receipts from which the scores of models with presets are taken.
    pub fn with_receipts(self, receipts: Receipts) -> Self {
        Self { receipts: Some(receipts), ..self }
    }

    /// Rejects selected graphs that this experiment does not have, and a number of runs outside 1 to 100000.
    fn check(&self, options: &ExperimentOptions<'_>) -> Result<()> {
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.graph).collect();
        options.selection.check(&[("graph", &names)])?;
        match options.runs {
            Some(runs) if !(1..=100_000).contains(&runs) => Err(Error::OutOfRange {
                key: "runs".into(),
                value: runs.to_string(),
                allowed: "1 to 100000".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Runs the searches on the selected graphs that are on this machine, one after the other; the other graphs
    /// are listed as missing. Fails if the selection contains an unknown graph, the number of runs is out of range, a
    /// graph cannot be loaded, a search fails, or the experiment is cancelled.
    pub fn measure(&self, options: &ExperimentOptions<'_>) -> Result<ResultPage> {
        self.check(options)?;
        let (mut cells, mut datasets, mut missing) = (vec![], vec![], vec![]);
        for (index, column) in self.columns.iter().enumerate() {
            if !options.selection.includes("graph", &column.graph) {
                continue;
            }
            match load_if_present(options.store, &column.graph)? {
                None => missing.push(column.graph.clone()),
                Some(dataset) => {
                    cells.extend(self.cells(index, &dataset.sha256(), options.runs));
                    datasets.push((index, dataset));
                }
            }
        }
        // Every search uses all threads.
        let results = options.run_cells_in_turn(&cells, |search| self.search(*search, options))?;
        let mut page = self.page(results.records, missing);
        page.notes.extend(results.provenance);
        Ok(page)
    }

    /// The cells of a column, one per seed; `data` is the digest of its graph, and `runs` can only lower the number
    /// of seeds.
    fn cells(&self, index: usize, data: &str, runs: Option<usize>) -> Vec<CellTask<Search>> {
        let runs = runs.map_or(self.runs, |runs| runs.min(self.runs)).min(MAX_RUNS) as u64;
        let AutoColumn { graph, split } = &self.columns[index];
        let cell = |seed| CellTask {
            name: format!("auto-{graph}-{seed}"),
            settings: json!({
                "data": data, "split": split, "seed": seed, "budget": self.budget,
                "trials": self.trials, "version": env!("CARGO_PKG_VERSION"),
                "receipts": self.receipts.is_some(),
            }),
            input: (index, seed),
        };
        (0..runs).map(cell).collect()
    }

    /// Runs one search and the baselines.
    fn search(&self, (index, seed): Search, options: &ExperimentOptions<'_>) -> Result<AutoRecord> {
        let AutoColumn { graph, split } = &self.columns[index];
        let kind: SplitKind = split.parse()?;
        let portfolio = Portfolio::without(graph).unwrap_or_else(|_| Portfolio::embedded());
        let request = AutoRequest {
            split: Some(kind),
            seed,
            portfolio,
            trials: self.trials,
            budget: self.trials.is_none().then(|| Duration::from_secs_f64(self.budget)),
            ..AutoRequest::new(graph, format!("auto-{graph}-{seed}"))
        };
        let folder = options.folder.join(format!("searches/{graph}-{seed}"));
        let answer = run(&request, &folder, options)?;
        let (dataset, split) = (&answer.dataset, &answer.split);
        let score = |p: &crate::tensor::Mat<f32>| {
            Result::Ok(answer.objective.of_test(&test_scores(p, dataset, split)?))
        };
        let linear = logistic_regression(dataset, split, seed, options.threads)?;
        let estimate = answer.estimate.as_ref().expect("the splits have test nodes");
        let single = answer.single.estimate.as_ref().expect("the splits have test nodes");
        Ok(AutoRecord {
            graph: graph.clone(),
            seed,
            auto: estimate.score,
            single: single.score,
            single_name: answer.single.name.clone(),
            logistic_regression: score(&linear)?,
            label_propagation: score(&label_propagation(dataset, split))?,
            majority: estimate.majority_share,
            trials: answer.trials,
            seconds: answer.seconds,
            published: self.published(graph, dataset, split, answer.objective)?,
        })
    }

    /// The models with a preset `paper` for the graph that have a receipt on this split, and their scores.
    fn published(
        &self,
        graph: &str,
        dataset: &Dataset,
        split: &Split,
        objective: Objective,
    ) -> Result<Vec<(String, f64)>> {
        let Some(receipts) = &self.receipts else { return Ok(vec![]) };
        let (data, split) = (dataset.sha256(), split.sha256());
        let mut found = vec![];
        for info in MODELS {
            let mut request = Request::new(graph, info.name)?;
            if !request.has_preset() {
                continue;
            }
            request.apply_preset("paper")?;
            let metric = match objective {
                Objective::RocAuc => Metric::RocAuc,
                _ => Metric::Accuracy,
            };
            let score = receipts.score(info.name, &json!(request.hyper), metric, (&data, &split));
            found.extend(score.map(|score| (info.name.to_owned(), score)));
        }
        Ok(found)
    }

    /// The result page, with one row per graph that has records.
    fn page(&self, records: Vec<AutoRecord>, missing: Vec<String>) -> ResultPage {
        let mut table = Table::new([
            "graph",
            "splits",
            "auto",
            "its single best",
            "best published",
            "regret",
            "logistic regression",
            "label propagation",
            "majority",
            "trials",
            "seconds",
        ]);
        let (mut regrets, mut single_regrets) = (vec![], vec![]);
        for column in &self.columns {
            let own: Vec<&AutoRecord> =
                records.iter().filter(|record| record.graph == column.graph).collect();
            if own.is_empty() {
                continue;
            }
            let statistic = |score: fn(&AutoRecord) -> f64| {
                Statistic::of(&own.iter().map(|record| score(record)).collect::<Vec<f64>>())
            };
            let (auto, single) = (statistic(|r| r.auto), statistic(|r| r.single));
            let best = best_published(&own);
            if let Some((_, best)) = &best {
                regrets.push(best - auto.mean);
                single_regrets.push(best - single.mean);
            }
            table.add_row([
                format!("{} ({})", column.graph, column.split),
                own.len().to_string(),
                auto.in_percent(),
                single.in_percent(),
                best.as_ref().map_or("-".into(), |(name, s)| format!("{} {name}", points(*s))),
                best.as_ref().map_or("-".into(), |(_, score)| points(score - auto.mean)),
                points(statistic(|r| r.logistic_regression).mean),
                points(statistic(|r| r.label_propagation).mean),
                points(statistic(|r| r.majority).mean),
                format!("{:.0}", statistic(|r| r.trials as f64).mean),
                format!("{:.0}", statistic(|r| r.seconds).mean),
            ]);
        }
        let mut notes = vec![
            "Scores in percent, mean ± standard deviation [95% interval of the mean]: ROC AUC on Minesweeper, \
             accuracy elsewhere. The column majority is an accuracy.".to_owned(),
            format!("Budget per search: {}. The portfolio of every search was chosen without the graph and its \
                     variants.", self.budget_text()),
            "Best published: of the models with published or earlier tuned settings for the graph, the one with \
             the highest mean test score on the same splits, from receipts; no user could choose it.".to_owned(),
        ];
        if !regrets.is_empty() {
            notes.push(format!(
                "Mean regret over {} graphs: {} points for the ensemble, {} for its best single model.",
                regrets.len(),
                points(Statistic::of(&regrets).mean),
                points(Statistic::of(&single_regrets).mean)
            ));
        }
        let records: Value = json!(records);
        ResultPage {
            title: self.title.clone(),
            source: self.source.clone(),
            tables: vec![(String::new(), table)],
            notes,
            missing,
            records,
            ..ResultPage::default()
        }
    }

    fn budget_text(&self) -> String {
        match self.trials {
            Some(trials) => format!("{trials} trials"),
            None => format!("{:.0} s", self.budget),
        }
    }
}

/// Runs or resumes a search; its models are deleted when it is complete. Returns [`Error::Interrupted`] if it was
/// cancelled.
fn run(
    request: &AutoRequest,
    folder: &Path,
    options: &ExperimentOptions<'_>,
) -> Result<AutoAnswer> {
    fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let storage = JournalStorage::open(folder.join("study.journal"))?;
    let answer = auto(
        request,
        &storage,
        &AutoOptions {
            threads: options.threads,
            jobs: None,
            store: options.store,
            folder,
            on_event: &|_| {},
            cancel: options.cancel,
        },
    )?;
    if options.cancel.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    // Only the study is kept.
    let _ = fs::remove_dir_all(folder.join("models"));
    Ok(answer)
}

/// Of the published models with a score on every split, the one with the highest mean score, and that mean.
fn best_published(records: &[&AutoRecord]) -> Option<(String, f64)> {
    let first = records.first()?;
    let mean = |name: &str| {
        let score = |record: &&AutoRecord| {
            record.published.iter().find(|(other, _)| other == name).map(|(_, score)| *score)
        };
        let scores: Vec<f64> = records.iter().map(score).collect::<Option<_>>()?;
        Some(Statistic::of(&scores).mean)
    };
    let means = first.published.iter().filter_map(|(name, _)| Some((name.clone(), mean(name)?)));
    means.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Formats a fraction in percent, without the percent sign.
fn points(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Store;
    use crate::experiment::find_experiment;
    use crate::experiment::{ExperimentKind, Selection};
    use std::sync::atomic::AtomicBool;

    fn experiment() -> AutoExperiment {
        let ExperimentKind::Auto(text) = find_experiment("auto").unwrap().kind else { panic!() };
        AutoExperiment::from_toml("auto.toml", text).unwrap()
    }

    #[test]
    fn rejects_an_invalid_budget() {
        let text = "title = \"t\"\nsource = \"s\"\nbudget = -1.0\nruns = 1\ncolumn = []\n";
        let error = AutoExperiment::from_toml("a.toml", text).unwrap_err().to_string();
        assert_eq!(error, "a.toml: `budget` is -1; expected a number of seconds");
    }

    #[test]
    fn rejects_zero_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let options = ExperimentOptions {
            threads: 1,
            store: &store,
            folder: folder.path(),
            selection: &Selection::default(),
            runs: Some(0),
            on_progress: &|_| {},
            cancel: &cancel,
        };
        let error = experiment().measure(&options).map(drop).unwrap_err().to_string();
        assert_eq!(error, "`runs` is 0, outside 1 to 100000");
    }

    #[test]
    fn best_published_model_has_the_highest_mean_on_all_splits() {
        let record = |published: &[(&str, f64)]| AutoRecord {
            graph: "g".into(),
            seed: 0,
            auto: 0.0,
            single: 0.0,
            single_name: String::new(),
            logistic_regression: 0.0,
            label_propagation: 0.0,
            majority: 0.0,
            trials: 0,
            seconds: 0.0,
            published: published.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect(),
        };
        let records =
            [record(&[("a", 0.7), ("b", 0.9), ("c", 1.0)]), record(&[("a", 0.8), ("b", 0.4)])];
        let best = best_published(&records.iter().collect::<Vec<_>>());
        assert_eq!(best, Some(("a".to_owned(), 0.75)));
        assert_eq!(best_published(&[]), None);
    }

    #[test]
    fn searches_are_saved_and_compared_with_the_baselines() {
        let folder = tempfile::tempdir().unwrap();
        let (store, cancel) = (Store::only(folder.path()), AtomicBool::new(false));
        let selection: Selection = "graph=csbm".parse().unwrap();
        let options = ExperimentOptions {
            threads: 2,
            store: &store,
            folder: folder.path(),
            selection: &selection,
            runs: Some(1),
            on_progress: &|_| {},
            cancel: &cancel,
        };
        let page = experiment().with_trials(2).measure(&options).unwrap();
        let provenance = page.notes.last().unwrap();
        assert!(provenance.ends_with("(threads: 2)."), "{provenance}");
        let record = &page.records[0];
        assert_eq!((&record["graph"], &record["trials"]), (&json!("csbm"), &json!(2)));
        let score = |key: &str| record[key].as_f64().unwrap();
        for key in ["auto", "single", "logistic_regression"] {
            assert!((0.2..=1.0).contains(&score(key)), "{key}: {}", score(key));
        }
        // Neighbours mostly disagree on this graph.
        assert!(score("label_propagation") < 0.2, "{}", score("label_propagation"));
        assert!(folder.path().join("records/auto-csbm-0.json").exists());
        let again = experiment().with_trials(2).measure(&options).unwrap();
        assert_eq!(again.records, page.records, "with the same time: it was not searched again");
    }
}
