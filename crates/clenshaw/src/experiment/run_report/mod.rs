//! The contents of a report page: everything that it shows about runs, a study or an answer of `auto`, as plain
//! data.
//!
//! `report::html_page` embeds this data, as JSON, into the page; `report/html/` has the scripts that
//! display it.

mod choice;
mod comparison;
mod explanations;
mod figures;
mod fitted;
mod graph;
mod filter;
mod nodes;
mod progress;
mod study;

use super::folder::{self, RunFolder};
use super::{Request, RunRecord};
use crate::data::{Dataset, Metric, Split, Store};
use crate::error::{Error, Result};
use crate::report::Statistic;
use crate::train::{Epoch, EpochFilter, TrainedModel};
use choice::ChoiceReport;
use comparison::ComparisonReport;
use explanations::ExplanationReport;
pub use figures::Figure;
use filter::FilterReport;
pub use fitted::FittedRun;
use graph::GraphReport;
use nodes::{Calibration, ClassScores, DrawingReport, GroupAccuracy, NodeList};
pub use progress::{FollowedGraph, ProgressReport, ProgressUpdate};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub use study::ReportedStudy;
use study::{StoredStudy, StudyGraph, StudyReport};

/// The contents of a report page, about finished runs on one graph, a study or an answer of `auto`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this format.
    format: u32,
    /// The program and its version.
    program: String,
    /// The heading of the page.
    title: String,
    /// Whether the page is updated while runs are in progress; `false` in reports.
    live: bool,
    /// `None` if it is the graph of a study and not available.
    graph: Option<GraphReport>,
    /// Empty for a study; the best single model for an answer of `auto`.
    runs: Vec<RunReport>,
    /// `None` unless there are several runs.
    comparison: Option<ComparisonReport>,
    /// How the answer of `auto` was chosen; not part of other reports.
    choice: Option<ChoiceReport>,
    /// The trials of a study; not part of reports of runs.
    study: Option<StudyReport>,
    /// What is known about the graph of the study.
    #[serde(skip)]
    study_graph: StudyGraph,
}

/// What the page shows about a run.
#[derive(Clone, Debug, Serialize)]
struct RunReport {
    /// The name of the run on the page, see [`comparison::run_names`].
    name: String,
    /// The name and the seed.
    label: String,
    model: &'static str,
    title: &'static str,
    paper: &'static str,
    equation: &'static str,
    hyper: BTreeMap<String, String>,
    split: String,
    seed: u64,
    metric: Metric,
    state: &'static str,
    /// `None` without test nodes.
    scores: Option<ScoreReport>,
    /// The scores of all finished runs with these settings.
    all_seeds: Vec<SeedScore>,
    /// The statistics of these scores.
    summary: ScoreSummary,
    seconds: f64,
    best_epoch: usize,
    epochs: EpochColumns,
    /// The confusion matrix of the test nodes, see [`NodeList::confusion`]; `None` without test nodes.
    confusion: Option<Vec<Vec<usize>>>,
    /// `None` without test nodes.
    per_class: Option<Vec<ClassScores>>,
    by_degree: Vec<GroupAccuracy>,
    by_homophily: Vec<GroupAccuracy>,
    calibration: Option<Calibration>,
    filter: FilterReport,
    nodes: NodeList,
    drawing: Option<DrawingReport>,
    /// Contributions to the prediction of some nodes.
    explanations: Option<ExplanationReport>,
    /// The command that trains all runs; `None` without a run folder.
    command: Option<String>,
    provenance: BTreeMap<&'static str, String>,
}

/// The scores of a run on the test nodes.
#[derive(Clone, Debug, Serialize)]
struct ScoreReport {
    accuracy: f64,
    macro_f1: f64,
    balanced_accuracy: f64,
    roc_auc: Option<f64>,
    majority_share: f64,
}

/// The scores and the training time of one of several runs.
#[derive(Clone, Debug, Serialize)]
struct SeedScore {
    seed: u64,
    accuracy: f64,
    roc_auc: Option<f64>,
    seconds: f64,
}

/// Mean, standard deviation and half-width of the 95% confidence interval of the score in the metric of the data set;
/// the last two are `None` for fewer than two runs.
#[derive(Clone, Debug, Serialize)]
struct ScoreSummary {
    /// The number of runs.
    runs: usize,
    mean: f64,
    std: Option<f64>,
    ci95: Option<f64>,
    /// The mean test accuracy of always predicting the most frequent class.
    majority_share: f64,
}

/// Losses and validation accuracies, with one entry per epoch in every list.
#[derive(Clone, Debug, Serialize)]
struct EpochColumns {
    train_loss: Vec<f64>,
    val_loss: Vec<Option<f64>>,
    val_accuracy: Vec<Option<f64>>,
}

/// A run folder and the seed of the run to report in detail.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    /// The run folder.
    pub folder: PathBuf,
    /// The seed; `None` for the run with the lowest validation loss.
    pub seed: Option<u64>,
}

impl Report {
    /// Collects the report of finished runs.
    ///
    /// # Errors
    /// If there are no runs, a folder does not have the chosen run, a file of a run (except `filters.jsonl`) or a
    /// graph cannot be read, the graph or the split has changed since training, or the runs are on different
    /// graphs.
    pub fn new(runs: &[ReportedRun], store: &Store, threads: usize) -> Result<Self> {
        let mut parts = runs.iter().map(|run| LoadedRun::read(run, store));
        let first = parts.next().ok_or_else(|| Error::Data {
            place: "report".into(),
            problem: "no runs; expected at least one run folder".into(),
        })??;
        let mut loaded = vec![first];
        for part in parts {
            let part = part?;
            if part.dataset.sha256() != loaded[0].dataset.sha256() {
                let problem = format!(
                    "this run is on `{}`, but `{}` is on `{}`; all runs on a page must be on the same \
                     graph",
                    part.dataset.name, loaded[0].place, loaded[0].dataset.name
                );
                return Err(Error::Data { place: part.place, problem });
            }
            loaded.push(part);
        }
        let names = comparison::run_names(&loaded);
        let reports = loaded.iter().zip(&names);
        let reports = reports.map(|(run, name)| run.report(name.clone(), threads));
        let reports = reports.collect::<Result<Vec<_>>>()?;
        let graph = GraphReport::new(&loaded[0].dataset, Some(&loaded[0].split));
        let title = match &reports[..] {
            [run] => format!("{}, {}", graph.name, run.title),
            runs => format!("{}, {} runs", graph.name, runs.len()),
        };
        let comparison = (reports.len() > 1).then(|| ComparisonReport::new(&loaded, names));
        Ok(Self { runs: reports, comparison, ..Self::empty(title, Some(graph)) })
    }

    /// Collects the report of a trained model that has no run folder.
    ///
    /// # Errors
    /// If the model, the data set and the split do not match.
    ///
    /// ```
    /// use clenshaw::data;
    /// use clenshaw::experiment::Report;
    /// use clenshaw::report::html_page;
    /// use clenshaw::train::Trainer;
    /// let data = data::load("csbm:nodes=90")?;
    /// let run = Trainer::new("clenshaw-gcn")?.set("max_epochs", 5)?.fit(data)?;
    /// assert!(html_page(&Report::from_fit(&(&run).into(), 1)?).contains("ClenshawGCN"));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn from_fit(run: &FittedRun<'_>, threads: usize) -> Result<Self> {
        let record = run.record(threads)?;
        let stored = run.model.provenance();
        let provenance = BTreeMap::from([
            ("version", stored.version.clone()),
            ("data_sha256", stored.data_sha256.clone()),
            ("split_sha256", record.split_sha256.clone()),
        ]);
        let parts = RunParts {
            records: std::slice::from_ref(&record),
            record: &record,
            model: run.model,
            dataset: run.dataset,
            split: run.split,
            epochs: run.epochs,
            filters: run.filters,
            command: None,
            provenance,
        };
        let report = parts.report(run.model.info().name.into(), threads)?;
        let graph = GraphReport::new(run.dataset, Some(run.split));
        let title = format!("{}, {}", graph.name, report.title);
        Ok(Self { runs: vec![report], ..Self::empty(title, Some(graph)) })
    }

    /// Collects the report of a study, finished or not. The page also describes the graph if the study records a
    /// training request that this version accepts and the graph can be loaded.
    ///
    /// # Errors
    /// If the storage cannot be read, if the study does not exist or does not have exactly one direction, or
    /// if there are several studies and none is chosen.
    pub fn from_study(study: &ReportedStudy<'_>, store: &Store) -> Result<Self> {
        let stored = StoredStudy::read(study)?;
        let mut report = Self::empty(stored.title(), None);
        if let Some(request) = stored.request() {
            match request.load(store) {
                Ok(dataset) => {
                    let n_published = dataset.splits.len();
                    report.study_graph = StudyGraph::Loaded { n_published };
                    let split = request.split.draw(&dataset, request.seed).ok();
                    report.graph = Some(GraphReport::new(&dataset, split.as_ref()));
                }
                Err(error) => {
                    report.study_graph = StudyGraph::Unavailable { problem: error.to_string() };
                }
            }
        }
        report.study = Some(stored.report(&report.study_graph));
        Ok(report)
    }

    /// Replaces the study with its current state, without loading the graph again.
    ///
    /// # Errors
    /// As [`from_study`](Self::from_study).
    pub fn update_study(&mut self, study: &ReportedStudy<'_>) -> Result<()> {
        self.study = Some(StoredStudy::read(study)?.report(&self.study_graph));
        Ok(())
    }

    /// The name of the study; `None` if the report is about runs.
    pub fn study_name(&self) -> Option<&str> {
        self.study.as_ref().map(StudyReport::name)
    }

    /// A report without runs or trials.
    fn empty(title: String, graph: Option<GraphReport>) -> Self {
        Self {
            format: 1,
            program: concat!("clenshaw ", env!("CARGO_PKG_VERSION")).into(),
            title,
            live: false,
            graph,
            runs: vec![],
            comparison: None,
            choice: None,
            study: None,
            study_graph: StudyGraph::Unknown,
        }
    }
}

/// A run folder: the run to report, its graph and the records of all runs.
struct LoadedRun {
    place: String,
    files: RunFolder,
    request: Request,
    /// The records of all finished runs of the folder.
    records: Vec<RunRecord>,
    /// The record of the run to report.
    record: RunRecord,
    dataset: Dataset,
    split: Split,
}

impl LoadedRun {
    /// Reads a run and loads its graph; fails if there is no such run, or if the graph or the split has changed
    /// since training.
    fn read(run: &ReportedRun, store: &Store) -> Result<Self> {
        let place = run.folder.display().to_string();
        let (files, request) = RunFolder::open_existing(&run.folder)?;
        let record = super::read_run(&run.folder, run.seed)?.record;
        let mut records = vec![];
        for seed in request.seeds() {
            records.extend(files.record(seed)?);
        }
        let dataset = request.load(store)?;
        let split = request.split.draw(&dataset, record.seed)?;
        let data_sha256 = dataset.sha256();
        let is_changed =
            files.fingerprint()?.is_some_and(|stored| stored.data_sha256 != data_sha256);
        if is_changed || split.sha256() != record.split_sha256 {
            let problem =
                format!("the graph `{}` or its split has changed since this run", dataset.name);
            return Err(Error::Data { place, problem });
        }
        Ok(Self { place, files, request, records, record, dataset, split })
    }

    /// Reads the other files of the run and collects its report.
    fn report(&self, name: String, threads: usize) -> Result<RunReport> {
        let seed = self.record.seed;
        let file = Path::new(&self.place).join(format!("runs/{seed}/model.safetensors"));
        let bytes = self.files.read(seed, "model.safetensors")?;
        let model = TrainedModel::from_bytes(&file.display().to_string(), &bytes)?;
        let epochs: Vec<Epoch> = self.lines("epochs.jsonl")?;
        // A file that is missing, as in runs of earlier versions, or damaged counts as empty.
        let filters: Vec<EpochFilter> = self.lines("filters.jsonl").unwrap_or_default();
        let parts = RunParts {
            record: &self.record,
            records: &self.records,
            model: &model,
            dataset: &self.dataset,
            split: &self.split,
            epochs: &epochs,
            filters: &filters,
            command: Some(self.request.command()),
            provenance: self.provenance(&model)?,
        };
        parts.report(name, threads)
    }

    /// The values of a file of JSON lines.
    fn lines<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<Vec<T>> {
        let bytes = self.files.read(self.record.seed, file)?;
        folder::json_lines(&format!("{}/runs/{}/{file}", self.place, self.record.seed), &bytes)
    }

    /// The version, the digests and, if there is a receipt, the machine and the day.
    fn provenance(&self, model: &TrainedModel) -> Result<BTreeMap<&'static str, String>> {
        let stored = model.provenance();
        let mut provenance = BTreeMap::from([
            ("version", stored.version.clone()),
            ("data_sha256", stored.data_sha256.clone()),
            ("split_sha256", self.record.split_sha256.clone()),
        ]);
        if let Some(receipt) = self.files.receipt()? {
            let machine = &receipt.provenance;
            provenance.insert("processor", machine.processor.clone());
            provenance.insert("instruction_set", machine.instructions.clone());
            provenance.insert("threads", machine.threads.to_string());
            provenance.insert("finished", machine.day());
        }
        Ok(provenance)
    }
}

/// Everything that the report of a run is made of.
struct RunParts<'a> {
    record: &'a RunRecord,
    /// The records of all runs with the same settings.
    records: &'a [RunRecord],
    model: &'a TrainedModel,
    dataset: &'a Dataset,
    split: &'a Split,
    epochs: &'a [Epoch],
    filters: &'a [EpochFilter],
    /// The command that trains all runs; `None` without a run folder.
    command: Option<String>,
    provenance: BTreeMap<&'static str, String>,
}

impl RunParts<'_> {
    /// Predicts all nodes and collects the report of the run.
    fn report(self, name: String, threads: usize) -> Result<RunReport> {
        let Self { record, records, model, dataset, split, epochs, filters, .. } = self;
        let probabilities = model.predict(dataset, threads)?;
        let nodes = NodeList::new(dataset, split, &probabilities);
        let test = nodes.test_nodes();
        let response = record.filter.as_ref();
        let filter = FilterReport::new(response, filters, model, dataset, &probabilities);
        let explanations =
            ExplanationReport::new(model, dataset, split, &probabilities, &nodes, threads);
        let explanations = match self.command {
            Some(_) => explanations.with_command(),
            None => explanations,
        };
        let has_test = !test.is_empty();
        let (info, metric) = (model.info(), dataset.metric);
        let hyper = model.hp().recorded();
        Ok(RunReport {
            label: format!("{name}, seed {}", record.seed),
            name,
            model: info.name,
            title: info.title,
            paper: info.paper,
            equation: info.equation,
            hyper: hyper.map(|(hyper, value)| (hyper.name.to_owned(), value.to_string())).collect(),
            split: record.split.clone(),
            seed: record.seed,
            metric,
            state: "finished",
            scores: has_test.then(|| ScoreReport::new(record)),
            all_seeds: records.iter().map(SeedScore::new).collect(),
            summary: ScoreSummary::new(records, metric),
            seconds: record.seconds,
            best_epoch: record.best_epoch,
            epochs: EpochColumns::new(epochs),
            confusion: has_test.then(|| nodes.confusion(&test, dataset.n_classes())),
            per_class: has_test.then(|| nodes.class_scores(&test, &dataset.class_names)),
            by_degree: nodes.accuracy_by_degree(&test),
            by_homophily: nodes.accuracy_by_homophily(&test),
            calibration: has_test.then(|| nodes.calibration(&test)),
            filter,
            drawing: DrawingReport::new(&dataset.graph, &nodes, &test),
            nodes: nodes.truncated(),
            explanations: Some(explanations),
            command: self.command,
            provenance: self.provenance,
        })
    }
}

/// The seed and the score of every run, in this metric; the accuracy if a run has no ROC AUC.
fn scores(records: &[RunRecord], metric: Metric) -> impl Iterator<Item = (u64, f64)> + '_ {
    records.iter().map(move |record| {
        let score = match metric {
            Metric::RocAuc => record.roc_auc.unwrap_or(record.test_accuracy),
            Metric::Accuracy => record.test_accuracy,
        };
        (record.seed, score)
    })
}

impl ScoreSummary {
    fn new(records: &[RunRecord], metric: Metric) -> Self {
        let scores: Vec<f64> = scores(records, metric).map(|(_, score)| score).collect();
        let Statistic { mean, std, ci95 } = Statistic::of(&scores);
        let several = |value| (scores.len() > 1).then_some(value);
        let majority: Vec<f64> = records.iter().map(|record| record.majority_share).collect();
        Self {
            runs: scores.len(),
            mean,
            std: several(std),
            ci95: several(ci95),
            majority_share: Statistic::of(&majority).mean,
        }
    }
}

impl ScoreReport {
    fn new(record: &RunRecord) -> Self {
        Self {
            accuracy: record.test_accuracy,
            macro_f1: record.macro_f1,
            balanced_accuracy: record.balanced_accuracy,
            roc_auc: record.roc_auc,
            majority_share: record.majority_share,
        }
    }
}

impl SeedScore {
    fn new(record: &RunRecord) -> Self {
        let &RunRecord { seed, test_accuracy: accuracy, roc_auc, seconds, .. } = record;
        Self { seed, accuracy, roc_auc, seconds }
    }
}

impl EpochColumns {
    fn new(epochs: &[Epoch]) -> Self {
        Self {
            train_loss: epochs.iter().map(|epoch| epoch.train_loss).collect(),
            val_loss: epochs.iter().map(|epoch| epoch.val_loss).collect(),
            val_accuracy: epochs.iter().map(|epoch| epoch.val_accuracy).collect(),
        }
    }
}
