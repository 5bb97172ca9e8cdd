//! Several run folders on one graph: scores with intervals, and paired differences.

use super::{LoadedRun, ScoreSummary, scores};
use crate::data::Metric;
use crate::report::{Statistic, sign_flip_p_value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What the page shows about several run folders on one graph.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ComparisonReport {
    pub(super) metric: Metric,
    pub(super) rows: Vec<ComparedRun>,
    pairs: Vec<PairedDifference>,
}

/// The score of one of the compared run folders, averaged over its runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ComparedRun {
    /// The name of the row, see [`run_names`].
    pub(super) name: String,
    pub(super) mean: f64,
    std: Option<f64>,
    pub(super) ci95: Option<f64>,
    runs: usize,
    /// Mean training time per run.
    pub(super) seconds: f64,
}

/// The mean difference of two rows over the pairs of seed and split that both have.
#[derive(Clone, Debug, Serialize)]
struct PairedDifference {
    /// The names of the two rows; the difference is `a - b`.
    a: String,
    b: String,
    /// The number of pairs of seed and split that both have.
    runs: usize,
    difference: f64,
    ci95: f64,
    /// The p-value of a sign-flip test, see [`sign_flip_p_value`].
    p: f64,
}

impl ComparisonReport {
    /// Compares run folders on the same graph; `names` has one name per folder.
    ///
    /// # Panics
    /// If there are no folders.
    pub fn new(runs: &[LoadedRun], names: Vec<String>) -> Self {
        let metric = runs[0].dataset.metric;
        let rows = runs.iter().zip(&names).map(|(run, name)| {
            let ScoreSummary { runs, mean, std, ci95, .. } =
                ScoreSummary::new(&run.records, metric);
            let seconds = run.records.iter().map(|record| record.seconds).sum::<f64>();
            let seconds = seconds / run.records.len().max(1) as f64;
            ComparedRun { name: name.clone(), mean, std, ci95, runs, seconds }
        });
        let mut pairs = vec![];
        for (i, a) in runs.iter().enumerate() {
            for (j, b) in runs.iter().enumerate().skip(i + 1) {
                pairs.extend(paired_difference((a, &names[i]), (b, &names[j])));
            }
        }
        Self { metric, rows: rows.collect(), pairs }
    }
}

/// The difference between two run folders, each with its name; `None` if they have fewer than two pairs of seed
/// and split in common.
fn paired_difference(
    (a, a_name): (&LoadedRun, &str),
    (b, b_name): (&LoadedRun, &str),
) -> Option<PairedDifference> {
    let by_split = |run: &LoadedRun| -> BTreeMap<(u64, String), f64> {
        let splits = run.records.iter().map(|record| record.split_sha256.clone());
        let scores = scores(&run.records, a.dataset.metric);
        scores.zip(splits).map(|((seed, score), split)| ((seed, split), score)).collect()
    };
    let (a, b) = (by_split(a), by_split(b));
    let difference = |(key, score): (_, &f64)| Some(score - b.get(key)?);
    let differences: Vec<f64> = a.iter().filter_map(difference).collect();
    (differences.len() > 1).then(|| {
        let Statistic { mean, ci95, .. } = Statistic::of(&differences);
        PairedDifference {
            a: a_name.into(),
            b: b_name.into(),
            runs: differences.len(),
            difference: mean,
            ci95,
            p: sign_flip_p_value(&differences),
        }
    })
}

/// One name per run folder: the model and, for several folders with one model, the settings in which they differ.
/// If several folders get the same name, the name of the folder is added.
pub(super) fn run_names(runs: &[LoadedRun]) -> Vec<String> {
    let settings = |run: &LoadedRun| -> BTreeMap<&'static str, String> {
        let hyper = run.request.hyper.iter();
        let hyper = hyper.map(|(hyper, value)| (hyper.name, value.to_string()));
        hyper.chain([("split", run.request.split.to_string())]).collect()
    };
    let name = |run: &LoadedRun| {
        let model = run.request.model.name;
        let own = settings(run);
        let same_model = runs.iter().filter(|other| other.request.model.name == model);
        let others: Vec<_> = same_model.map(settings).collect();
        let differs = |key: &str| others.iter().any(|other| other.get(key) != own.get(key));
        let differing = own.iter().filter(|(key, _)| differs(key));
        let listed: Vec<String> = differing.map(|(key, value)| format!("{key}={value}")).collect();
        match &listed[..] {
            [] => model.to_owned(),
            listed => format!("{model} ({})", listed.join(", ")),
        }
    };
    let names: Vec<String> = runs.iter().map(name).collect();
    let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let unique = |(run, name): (&LoadedRun, &String)| {
        let folder = Path::new(&run.place).file_name().unwrap_or_default().to_string_lossy();
        if is_unique(name) { name.clone() } else { format!("{name} ({folder})") }
    };
    runs.iter().zip(&names).map(unique).collect()
}
