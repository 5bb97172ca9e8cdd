//! The contents of a report page: everything about finished runs that the page shows, as plain data.
//!
//! `report::html_page` embeds this data, as JSON, into the page; `report/html/` has the scripts that
//! display it.

mod explanations;
mod filter;
mod nodes;

use super::folder::RunFolder;
use super::{Request, RunRecord};
use crate::data::{Dataset, Description, Metric, Split, Store};
use crate::error::{Error, Result};
use crate::report::{Statistic, sign_flip_p_value};
use crate::train::{Epoch, EpochFilter, TrainedModel};
use explanations::ExplanationReport;
use filter::FilterReport;
use nodes::{Calibration, ClassScores, DrawingReport, GroupAccuracy, NodeList};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reports of one or several runs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this format.
    format: u32,
    /// The program and its version.
    program: String,
    /// The heading of the page.
    title: String,
    /// Whether the page is updated while runs are in progress.
    live: bool,
    graph: GraphReport,
    runs: Vec<RunReport>,
    comparison: Option<ComparisonReport>,
    /// The trials of a study; not part of reports of runs.
    study: Option<()>,
}

#[derive(Clone, Debug, Serialize)]
struct GraphReport {
    name: String,
    nodes: usize,
    edges: usize,
    features: usize,
    classes: Vec<ClassSize>,
    unlabelled: usize,
    edge_homophily: Option<f64>,
    node_homophily: Option<f64>,
    isolated: usize,
    components: usize,
    weighted: bool,
    notes: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ClassSize {
    name: String,
    size: usize,
}

#[derive(Clone, Debug, Serialize)]
struct RunReport {
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
    scores: Option<ScoreReport>,
    all_seeds: Vec<SeedScore>,
    summary: ScoreSummary,
    seconds: f64,
    best_epoch: usize,
    epochs: EpochColumns,
    confusion: Option<Vec<Vec<usize>>>,
    per_class: Option<Vec<ClassScores>>,
    by_degree: Vec<GroupAccuracy>,
    by_homophily: Vec<GroupAccuracy>,
    calibration: Option<Calibration>,
    filter: FilterReport,
    nodes: NodeList,
    drawing: Option<DrawingReport>,
    /// Contributions to the prediction of some nodes.
    explanations: Option<ExplanationReport>,
    provenance: BTreeMap<&'static str, String>,
}

#[derive(Clone, Debug, Serialize)]
struct ScoreReport {
    accuracy: f64,
    macro_f1: f64,
    balanced_accuracy: f64,
    roc_auc: Option<f64>,
    majority_share: f64,
}

#[derive(Clone, Debug, Serialize)]
struct SeedScore {
    seed: u64,
    accuracy: f64,
    roc_auc: Option<f64>,
    seconds: f64,
}

/// Mean, standard deviation and interval; the latter two are `None` for a single run.
#[derive(Clone, Debug, Serialize)]
struct ScoreSummary {
    runs: usize,
    mean: f64,
    std: Option<f64>,
    ci95: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct EpochColumns {
    train_loss: Vec<f64>,
    val_loss: Vec<Option<f64>>,
    val_accuracy: Vec<Option<f64>>,
}

#[derive(Clone, Debug, Serialize)]
struct ComparisonReport {
    metric: Metric,
    rows: Vec<ComparisonRow>,
    pairs: Vec<PairedDifference>,
}

#[derive(Clone, Debug, Serialize)]
struct ComparisonRow {
    model: String,
    mean: f64,
    std: Option<f64>,
    ci95: Option<f64>,
    runs: usize,
    seconds: f64,
}

/// The mean difference of two rows over the seeds that both have.
#[derive(Clone, Debug, Serialize)]
struct PairedDifference {
    a: String,
    b: String,
    difference: f64,
    ci95: f64,
    /// The p-value of a sign-flip test, see [`sign_flip_p_value`].
    p: f64,
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
    /// If there are no runs, a folder has no finished run, a graph cannot be loaded, the graph or the split
    /// has changed since training, or the runs are on different graphs.
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
                    "this run is on `{}`, but `{}` is on `{}`; runs of one page must share a graph; \
                     pass the run folders of one graph",
                    part.dataset.name, loaded[0].place, loaded[0].dataset.name
                );
                return Err(Error::Data { place: part.place, problem });
            }
            loaded.push(part);
        }
        let reports = loaded.iter().map(|run| run.report(threads)).collect::<Result<Vec<_>>>()?;
        let graph = GraphReport::new(&loaded[0]);
        let title = match &reports[..] {
            [run] => format!("{}, {}", graph.name, run.title),
            runs => format!("{}, {} runs", graph.name, runs.len()),
        };
        let comparison = (reports.len() > 1).then(|| ComparisonReport::new(&loaded));
        let program = concat!("clenshaw ", env!("CARGO_PKG_VERSION")).into();
        Ok(Self {
            format: 1,
            program,
            title,
            live: false,
            graph,
            runs: reports,
            comparison,
            study: None,
        })
    }
}

/// A run and its graph.
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

    fn report(&self, threads: usize) -> Result<RunReport> {
        let (record, request) = (&self.record, &self.request);
        let file = Path::new(&self.place).join(format!("runs/{}/model.safetensors", record.seed));
        let bytes = self.files.read(record.seed, "model.safetensors")?;
        let model = TrainedModel::from_bytes(&file.display().to_string(), &bytes)?;
        let probabilities = model.predict(&self.dataset, threads)?;
        let nodes = NodeList::new(&self.dataset, &self.split, &probabilities);
        let test = nodes.test_nodes();
        let epochs: Vec<Epoch> = self.lines("epochs.jsonl")?;
        // Runs of earlier versions have no such file.
        let filters: Vec<EpochFilter> = self.lines("filters.jsonl").unwrap_or_default();
        let response = record.filter.as_ref();
        let filter = FilterReport::new(response, &filters, &model, &self.dataset, &probabilities);
        let explanations = ExplanationReport::new(
            &model,
            &self.dataset,
            &self.split,
            &probabilities,
            &nodes,
            threads,
        );
        let has_test = !test.is_empty();
        let n_classes = self.dataset.n_classes();
        Ok(RunReport {
            label: format!("{}, seed {}", request.model.name, record.seed),
            model: request.model.name,
            title: request.model.title,
            paper: request.model.paper,
            equation: request.model.equation,
            hyper: request
                .hyper
                .recorded()
                .map(|(hyper, value)| (hyper.name.to_owned(), value.to_string()))
                .collect(),
            split: record.split.clone(),
            seed: record.seed,
            metric: self.dataset.metric,
            state: "finished",
            scores: has_test.then(|| ScoreReport::new(record)),
            all_seeds: self.records.iter().map(SeedScore::new).collect(),
            summary: self.summary(),
            seconds: record.seconds,
            best_epoch: record.best_epoch,
            epochs: EpochColumns::new(&epochs),
            confusion: has_test.then(|| nodes.confusion(&test, n_classes)),
            per_class: has_test.then(|| nodes.class_scores(&test, &self.dataset.class_names)),
            by_degree: nodes.accuracy_by_degree(&test),
            by_homophily: nodes.accuracy_by_homophily(&test),
            calibration: has_test.then(|| nodes.calibration(&test)),
            filter,
            drawing: DrawingReport::new(&self.dataset.graph, &nodes, &test),
            explanations: Some(explanations),
            nodes: nodes.truncated(),
            provenance: self.provenance(&model)?,
        })
    }

    /// The values of a file of JSON lines.
    fn lines<T: serde::de::DeserializeOwned>(&self, file: &str) -> Result<Vec<T>> {
        let bytes = self.files.read(self.record.seed, file)?;
        let parse = |line: &[u8]| {
            serde_json::from_slice(line).map_err(|error| Error::Data {
                place: format!("{}/runs/{}/{file}", self.place, self.record.seed),
                problem: error.to_string(),
            })
        };
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(parse).collect()
    }

    /// The seed and the score of every finished run of the folder, in the metric of the data set; the
    /// accuracy if there is no ROC AUC.
    fn scores(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let metric = self.dataset.metric;
        self.records.iter().map(move |record| {
            let score = match metric {
                Metric::RocAuc => record.roc_auc.unwrap_or(record.test_accuracy),
                Metric::Accuracy => record.test_accuracy,
            };
            (record.seed, score)
        })
    }

    fn summary(&self) -> ScoreSummary {
        let scores: Vec<f64> = self.scores().map(|(_, score)| score).collect();
        let Statistic { mean, std, ci95 } = Statistic::of(&scores);
        let several = |value| (scores.len() > 1).then_some(value);
        ScoreSummary { runs: scores.len(), mean, std: several(std), ci95: several(ci95) }
    }

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

impl GraphReport {
    fn new(run: &LoadedRun) -> Self {
        let dataset = &run.dataset;
        let description = Description::of(dataset);
        let mut warnings = dataset.warnings.clone();
        warnings.extend(run.split.class_warnings(dataset));
        let classes = description.class_names.into_iter().zip(description.class_sizes);
        Self {
            name: dataset.name.clone(),
            nodes: description.nodes,
            edges: description.edges,
            features: description.features,
            classes: classes.map(|(name, size)| ClassSize { name, size }).collect(),
            unlabelled: description.unlabelled,
            edge_homophily: description.edge_homophily,
            node_homophily: description.node_homophily,
            isolated: description.isolated,
            components: description.components,
            weighted: dataset.graph.weights().is_some(),
            notes: dataset.notes.clone(),
            warnings,
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

impl ComparisonReport {
    fn new(runs: &[LoadedRun]) -> Self {
        let label = |run: &LoadedRun| run.request.model.name.to_owned();
        let rows = runs.iter().map(|run| {
            let ScoreSummary { runs, mean, std, ci95 } = run.summary();
            let seconds = run.records.iter().map(|record| record.seconds).sum::<f64>();
            let seconds = seconds / run.records.len().max(1) as f64;
            ComparisonRow { model: label(run), mean, std, ci95, runs, seconds }
        });
        let mut pairs = vec![];
        for (i, a) in runs.iter().enumerate() {
            for b in &runs[i + 1..] {
                pairs.extend(paired_difference(a, b).map(|(difference, ci95, p)| {
                    PairedDifference { a: label(a), b: label(b), difference, ci95, p }
                }));
            }
        }
        Self { metric: runs[0].dataset.metric, rows: rows.collect(), pairs }
    }
}

/// Mean, half-width of the 95% interval and p-value of the differences between two runs on the seeds
/// that both have; `None` for fewer than two seeds.
fn paired_difference(a: &LoadedRun, b: &LoadedRun) -> Option<(f64, f64, f64)> {
    let other: BTreeMap<u64, f64> = b.scores().collect();
    let differences: Vec<f64> =
        a.scores().filter_map(|(seed, score)| Some(score - other.get(&seed)?)).collect();
    (differences.len() > 1).then(|| {
        let statistic = Statistic::of(&differences);
        (statistic.mean, statistic.ci95, sign_flip_p_value(&differences))
    })
}
