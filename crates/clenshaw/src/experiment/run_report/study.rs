//! The trials of a study, read from a storage while workers may still add to it.

use super::figures::{Figure, figure};
use crate::data::SplitKind;
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::experiment::auto::AUTO_PORTFOLIO;
use crate::experiment::tuning::{evaluation_request, format_value, stored_request};
use crate::report::{ParallelAxis, Plot, PlotAxis, PlotBar, PlotLayer, PlotPoint, parallel_svg};
use clenshaw_tune::{
    AttrKind, Attributes, Direction, Distribution, Storage, StorageLocation, StudySummary, Trial,
    TrialState, param_importances,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Importances are not computed from fewer complete trials than this.
const MIN_TRIALS_FOR_IMPORTANCE: usize = 4;

/// A study in an open storage.
pub struct ReportedStudy<'a> {
    /// The storage.
    pub storage: &'a dyn Storage,
    /// The path or URL of the storage.
    pub location: &'a StorageLocation,
    /// The name of the study; `None` for the only study or, if a journal has several, the one with the name
    /// of the file without its extension.
    pub name: Option<&'a str>,
}

/// What the page shows about a study.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StudyReport {
    name: String,
    location: String,
    direction: &'static str,
    /// The name of the objective.
    objective: String,
    /// Whether values are shares, to be shown in percent.
    is_share: bool,
    /// The labels and values in the head of the page; empty if the study does not record them.
    facts: Vec<(&'static str, String)>,
    /// The hyper-parameters that no trial tunes, and their values; empty if the study does not record them.
    fixed: BTreeMap<String, String>,
    parameters: Vec<ParameterReport>,
    trials: Vec<TrialReport>,
    /// Empty if there are fewer than [`MIN_TRIALS_FOR_IMPORTANCE`] complete trials.
    importances: Vec<Importance>,
    best: Option<BestTrial>,
    notes: Vec<String>,
}

/// A tuned hyper-parameter.
#[derive(Clone, Debug, Serialize)]
struct ParameterReport {
    name: String,
    /// `float`, `int` or `categorical`.
    kind: &'static str,
    /// Whether the scale is logarithmic.
    log: bool,
}

/// A trial, as the page shows it.
#[derive(Clone, Debug, Serialize)]
struct TrialReport {
    number: u64,
    state: &'static str,
    /// The value of a complete trial or the last intermediate value of a pruned one, if it is finite.
    value: Option<f64>,
    params: BTreeMap<String, Value>,
    seconds: Option<f64>,
    /// Why the trial failed, if that is recorded.
    reason: Option<String>,
}

/// The importance of a hyper-parameter.
#[derive(Clone, Debug, Serialize)]
struct Importance {
    name: String,
    importance: f64,
}

/// The best complete trial of the study.
#[derive(Clone, Debug, Serialize)]
struct BestTrial {
    number: u64,
    /// The command that trains with these settings; `None` if the study does not determine it.
    command: Option<String>,
}

impl StudyReport {
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A study as stored.
pub(super) struct StoredStudy {
    summary: StudySummary,
    location: String,
    direction: Direction,
    objective: Option<String>,
    trials: Vec<Trial>,
    /// The request that the trials vary; `None` if the study does not record it. See [`stored_request`].
    request: Option<Result<Request>>,
    /// See [`auto_facts`].
    auto_facts: Vec<(&'static str, String)>,
}

/// What is known about the graph of a study.
#[derive(Clone, Debug)]
pub(super) enum StudyGraph {
    /// The study does not record a training request that this version accepts; studies of `auto` record none.
    Unknown,
    /// The graph cannot be loaded.
    Unavailable {
        /// The reason.
        problem: String,
    },
    /// The graph is loaded and has this number of published splits.
    Loaded {
        /// The number of published splits.
        n_published: usize,
    },
}

impl StoredStudy {
    /// Reads a study.
    ///
    /// # Errors
    /// If the storage cannot be read, if the study does not exist or does not have exactly one direction, or
    /// if there are several studies and none is chosen.
    pub fn read(study: &ReportedStudy<'_>) -> Result<Self> {
        let summary = study.find()?;
        let location = study.location.to_string();
        let direction = summary.direction.ok_or_else(|| {
            let problem = format!(
                "study `{}` has several objectives or no direction; \
                 pages show studies with one objective",
                summary.name
            );
            Error::Data { place: location.clone(), problem }
        })?;
        let system = study.storage.study_attrs(summary.id, AttrKind::System)?;
        let names = system.get("study:metric_names");
        let user = study.storage.study_attrs(summary.id, AttrKind::User)?;
        Ok(Self {
            auto_facts: auto_facts(&user),
            direction,
            objective: names.and_then(|names| names.get(0)?.as_str()).map(str::to_owned),
            request: stored_request(&user),
            trials: study.storage.trials(summary.id)?,
            summary,
            location,
        })
    }

    /// The request that the trials vary, if the study records one that this version accepts.
    pub fn request(&self) -> Option<&Request> {
        self.request.as_ref()?.as_ref().ok()
    }

    pub fn title(&self) -> String {
        format!("Study {}", self.summary.name)
    }

    /// What the page shows about the study.
    pub fn report(&self, graph: &StudyGraph) -> StudyReport {
        let trials = &self.trials;
        let request = self.request();
        let complete: Vec<&Trial> = trials.iter().filter(|trial| has_finite_value(trial)).collect();
        let has_enough = complete.len() >= MIN_TRIALS_FOR_IMPORTANCE;
        let importances = has_enough.then(|| param_importances(trials, self.direction));
        StudyReport {
            name: self.summary.name.clone(),
            location: self.location.clone(),
            direction: match self.direction {
                Direction::Minimize => "minimize",
                Direction::Maximize => "maximize",
            },
            objective: self.objective.clone().unwrap_or_else(|| "value".into()),
            is_share: request.is_some() || !self.auto_facts.is_empty(),
            facts: request.map_or_else(|| self.auto_facts.clone(), facts),
            fixed: request.map(|request| fixed(request, trials)).unwrap_or_default(),
            parameters: parameters(trials),
            best: best(&complete, self.direction).map(|trial| BestTrial {
                number: trial.number,
                command: request.and_then(|request| command(request, trial, graph)),
            }),
            importances: importances
                .into_iter()
                .flatten()
                .map(|(name, importance)| Importance { name, importance })
                .collect(),
            trials: trials.iter().map(TrialReport::new).collect(),
            notes: self.notes(graph, complete.len()),
        }
    }

    /// Notes about unusable settings, a graph that is not available, and the complete trials that are not
    /// drawn; `n_finite` is the number of complete trials with a finite value.
    fn notes(&self, graph: &StudyGraph, n_finite: usize) -> Vec<String> {
        let mut notes = vec![];
        match (&self.request, graph) {
            (Some(Err(error)), _) => {
                notes.push(format!("This version cannot use the settings of the study: {error}."));
            }
            (_, StudyGraph::Unavailable { problem }) => {
                notes.push(format!("The graph is not available here: {problem}."));
            }
            _ => {}
        }
        let n_complete = self.trials.iter().filter(|t| t.state == TrialState::Complete).count();
        if n_complete > n_finite {
            let n = n_complete - n_finite;
            notes.push(match n {
                1 => "1 complete trial has no finite value and is not drawn.".into(),
                _ => format!("{n} complete trials have no finite value and are not drawn."),
            });
        }
        notes
    }
}

impl ReportedStudy<'_> {
    /// The chosen study, see [`ReportedStudy::name`]; fails if it does not exist, or if there are several and
    /// none is chosen.
    fn find(&self) -> Result<StudySummary> {
        let mut studies = self.storage.studies()?;
        let place = self.location.to_string();
        let problem = |problem: String| Error::Data { place: place.clone(), problem };
        let position = |name: &str| studies.iter().position(|study| study.name == name);
        let names: Vec<String> = studies.iter().map(|study| study.name.clone()).collect();
        let stem = match self.location {
            StorageLocation::Journal(path) => path.file_stem().and_then(|stem| stem.to_str()),
            StorageLocation::Database(_) => None,
        };
        let chosen = match (self.name, &studies[..]) {
            (_, []) => return Err(problem("no studies yet".into())),
            (Some(name), _) => position(name).ok_or_else(|| {
                Error::unknown("study", name, names.iter().map(String::as_str)).with_place(&place)
            })?,
            (None, [_]) => 0,
            (None, _) => stem.and_then(position).ok_or_else(|| {
                problem(format!("several studies; choose one with --name: {}", names.join(", ")))
            })?,
        };
        Ok(studies.swap_remove(chosen))
    }
}

impl TrialReport {
    fn new(trial: &Trial) -> Self {
        let params = trial.external_params().into_iter();
        let reason = trial.user_attrs.get("failed").and_then(Value::as_str).map(str::to_owned);
        let interrupted = trial.user_attrs.contains_key("interrupted");
        Self {
            number: trial.number,
            state: match trial.state {
                TrialState::Running => "running",
                TrialState::Complete => "complete",
                TrialState::Pruned => "pruned",
                TrialState::Fail => "failed",
                TrialState::Waiting => "waiting",
            },
            value: trial.value.filter(|value| value.is_finite()),
            params: params.map(|(name, value)| (name.to_owned(), value.to_json())).collect(),
            seconds: trial.seconds(),
            reason: reason.or_else(|| interrupted.then(|| "interrupted".into())),
        }
    }
}

/// Whether the trial is complete with a finite value.
fn has_finite_value(trial: &Trial) -> bool {
    trial.state == TrialState::Complete && trial.value.is_some_and(f64::is_finite)
}

/// The best of these complete trials, the first one in a tie; `None` if there are none.
fn best<'a>(complete: &[&'a Trial], direction: Direction) -> Option<&'a Trial> {
    let loss = |trial: &Trial| match direction {
        Direction::Minimize => trial.value.unwrap_or(f64::INFINITY),
        Direction::Maximize => -trial.value.unwrap_or(f64::NEG_INFINITY),
    };
    complete.iter().copied().min_by(|a, b| loss(a).total_cmp(&loss(b)))
}

/// The labels and values in the head of the page.
fn facts(request: &Request) -> Vec<(&'static str, String)> {
    vec![
        ("model", request.model.title.to_owned()),
        ("graph", request.graph.clone()),
        ("split", request.split.to_string()),
        ("splits per trial", request.runs.to_string()),
        ("seed", request.seed.to_string()),
    ]
}

/// The labels and values in the head of the page of a study of `auto`; empty for other studies.
fn auto_facts(user: &Attributes) -> Vec<(&'static str, String)> {
    if !user.contains_key(AUTO_PORTFOLIO) {
        return vec![];
    }
    let keys =
        [("graph", "graph"), ("split", "split"), ("splits per trial", "splits"), ("seed", "seed")];
    let fact = |(title, key): (&'static str, &str)| {
        let value = user.get(key)?;
        Some((title, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    };
    keys.into_iter().filter_map(fact).collect()
}

/// The hyper-parameters that no trial tunes, and their values.
fn fixed(request: &Request, trials: &[Trial]) -> BTreeMap<String, String> {
    let is_tuned = |name: &str| trials.iter().any(|trial| trial.params.contains_key(name));
    let fixed = request.hyper.recorded().filter(|(hyper, _)| !is_tuned(hyper.name));
    fixed.map(|(hyper, value)| (hyper.name.to_owned(), value.to_string())).collect()
}

/// Every parameter of the trials, with the scale of its distribution in the first trial that has it.
fn parameters(trials: &[Trial]) -> Vec<ParameterReport> {
    let mut found: BTreeMap<&str, &Distribution> = BTreeMap::new();
    for (name, (distribution, _)) in trials.iter().flat_map(|trial| &trial.params) {
        found.entry(name).or_insert(distribution);
    }
    let report = |(name, distribution): (&str, &Distribution)| {
        let (kind, log) = match *distribution {
            Distribution::Float { log, .. } => ("float", log),
            Distribution::Int { log, .. } => ("int", log),
            Distribution::Categorical { .. } => ("categorical", false),
        };
        ParameterReport { name: name.to_owned(), kind, log }
    };
    found.into_iter().map(report).collect()
}

/// The command that evaluates the settings of a trial; `None` if the model rejects them, or if the number of
/// runs depends on the published splits of a graph that is not available.
fn command(request: &Request, trial: &Trial, graph: &StudyGraph) -> Option<String> {
    let n_published = match graph {
        StudyGraph::Loaded { n_published } => *n_published,
        _ if request.split == SplitKind::All => return None,
        _ => 0,
    };
    let mut request = request.clone();
    for (name, (distribution, internal)) in &trial.params {
        request.hyper.set(name, &format_value(distribution, *internal)).ok()?;
    }
    Some(evaluation_request(request, n_published).command())
}

impl StudyReport {
    /// The figures of the page: history, importance if it is computed, and parallel coordinates. Empty without
    /// complete trials.
    pub fn figures(&self) -> Vec<Figure> {
        let complete: Vec<&TrialReport> = self
            .trials
            .iter()
            .filter(|trial| trial.state == "complete" && trial.value.is_some())
            .collect();
        if complete.is_empty() {
            return vec![];
        }
        let mut figures = vec![self.history(&complete)];
        figures.extend(self.importance_figure());
        figures.push(self.parallel(&complete));
        figures
    }

    /// The axis of the objective.
    fn value_axis(&self, values: impl IntoIterator<Item = f64>) -> PlotAxis {
        let axis = PlotAxis::around(&self.objective, values);
        if self.is_share { axis.in_percent() } else { axis }
    }

    /// Formats a value of the objective.
    fn format_value(&self, value: f64) -> String {
        if self.is_share { format!("{:.2}%", 100.0 * value) } else { rounded(value) }
    }

    /// The values of the trials by number, and the best value so far.
    fn history(&self, complete: &[&TrialReport]) -> Figure {
        let values =
            || complete.iter().filter_map(|trial| Some((trial.number as f64, trial.value?)));
        let mut best = None::<f64>;
        let mut line = vec![];
        for (number, value) in values() {
            let is_better = |best: f64| (value > best) == (self.direction == "maximize");
            line.push((number, best.unwrap_or(value)));
            best = Some(best.filter(|&best| !is_better(best)).unwrap_or(value));
            line.push((number, best.unwrap_or(value)));
        }
        let points = values().map(|at| PlotPoint { at, interval: None, label: String::new() });
        let (low, high) = min_max(&values().map(|(_, value)| value).collect::<Vec<f64>>());
        // As on the page, pruned trials outside the range of the complete ones are not drawn.
        let pruned = self.trials.iter().filter(|trial| trial.state == "pruned");
        let pruned = pruned.filter_map(|trial| Some((trial.number as f64, trial.value?)));
        let pruned = pruned.filter(|(_, value)| (low..=high).contains(value));
        let pruned = pruned.map(|at| PlotPoint { at, interval: None, label: String::new() });
        let last = self.trials.iter().map(|trial| trial.number as f64).fold(1.0, f64::max);
        let plot = Plot {
            title: format!("Study {}", self.name),
            x: PlotAxis::linear("trial", -0.5, last + 0.5),
            y: self.value_axis(values().map(|(_, value)| value)),
            layers: vec![
                PlotLayer::line("best so far", 1, line),
                PlotLayer::Points {
                    name: "pruned, last value".into(),
                    colour: 5,
                    points: pruned.collect(),
                },
                PlotLayer::Points {
                    name: "complete trial".into(),
                    colour: 0,
                    points: points.collect(),
                },
            ],
        };
        figure("history", &plot)
    }

    /// A bar chart of the importances; `None` if they were not computed.
    fn importance_figure(&self) -> Option<Figure> {
        let bar = |(i, entry): (usize, &Importance)| PlotBar {
            from: i as f64 - 0.4,
            to: i as f64 + 0.4,
            value: entry.importance,
            interval: None,
        };
        let bars = self.importances.iter().enumerate().map(bar).collect();
        let highest = self.importances.first()?.importance;
        let names = self.importances.iter().map(|entry| entry.name.clone()).collect();
        let plot = Plot {
            title: format!("Study {}: importance (PED-ANOVA)", self.name),
            x: PlotAxis::categories("hyper-parameter", names),
            y: PlotAxis::percent("importance", 0.0, 1.08 * highest),
            layers: vec![PlotLayer::Bars { name: String::new(), colour: 0, bars }],
        };
        Some(figure("importance", &plot))
    }

    /// The complete trials in parallel coordinates: one axis per hyper-parameter, and one for the objective.
    fn parallel(&self, complete: &[&TrialReport]) -> Figure {
        let mut axes = vec![];
        let mut columns: Vec<Vec<Option<f64>>> = vec![];
        for parameter in &self.parameters {
            let values: Vec<Option<&Value>> =
                complete.iter().map(|trial| trial.params.get(&parameter.name)).collect();
            let (ticks, positions) = positions(&values, parameter);
            axes.push(ParallelAxis { name: parameter.name.clone(), ticks });
            columns.push(positions);
        }
        let values: Vec<f64> = complete.iter().filter_map(|trial| trial.value).collect();
        let (low, high) = min_max(&values);
        let ticks = vec![(0.0, self.format_value(low)), (1.0, self.format_value(high))];
        axes.push(ParallelAxis { name: self.objective.clone(), ticks });
        columns.push(values.iter().map(|value| Some(fraction(*value, low, high))).collect());
        let rows: Vec<Vec<Option<f64>>> =
            (0..complete.len()).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
        let best = self.best.as_ref().map(|best| best.number);
        let highlighted = complete.iter().position(|trial| Some(trial.number) == best);
        let svg = parallel_svg(&format!("Study {}", self.name), &axes, &rows, highlighted);
        Figure { name: "parallel".into(), svg }
    }
}

/// Ticks of an axis of parallel coordinates, and the position of every value: values of `float` and `int`
/// parameters are placed on the scale of their distribution, choices of categorical ones are spread evenly.
fn positions(
    values: &[Option<&Value>],
    parameter: &ParameterReport,
) -> (Vec<(f64, String)>, Vec<Option<f64>>) {
    let numbers: Option<Vec<Option<f64>>> = values
        .iter()
        .map(|value| value.map(Value::as_f64).map_or(Some(None), |n| n.map(Some)))
        .collect();
    let Some(numbers) = numbers.filter(|_| parameter.kind != "categorical") else {
        let text = |value: &Value| match value {
            Value::Null => "none".into(),
            Value::String(text) => text.clone(),
            Value::Number(number) => rounded(number.as_f64().unwrap_or(f64::NAN)),
            other => other.to_string(),
        };
        let mut present: Vec<&Value> = values.iter().flatten().copied().collect();
        // Numbers in their order, before everything else.
        let number = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        present.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| text(a).cmp(&text(b))));
        let mut choices: Vec<String> = present.into_iter().map(text).collect();
        choices.dedup();
        let last = choices.len().saturating_sub(1) as f64;
        let at = |i: usize| fraction(i as f64, 0.0, last);
        let position =
            |value: &&Value| choices.iter().position(|other| *other == text(value)).map(at);
        let positions = values.iter().map(|value| value.as_ref().and_then(position)).collect();
        return (
            choices.iter().enumerate().map(|(i, name)| (at(i), name.clone())).collect(),
            positions,
        );
    };
    let scale = |value: f64| if parameter.log { value.ln() } else { value };
    let present: Vec<f64> = numbers.iter().flatten().copied().collect();
    let (low, high) = min_max(&present);
    let place = |value: f64| fraction(scale(value), scale(low), scale(high));
    let ticks = vec![(place(low), rounded(low)), (place(high), rounded(high))];
    (ticks, numbers.into_iter().map(|value| value.map(place)).collect())
}

/// The relative position of a value between `low` and `high`; 0.5 unless `low < high`.
fn fraction(value: f64, low: f64, high: f64) -> f64 {
    if high > low { (value - low) / (high - low) } else { 0.5 }
}

/// The smallest and the largest value; infinity and minus infinity if there are none.
fn min_max(values: &[f64]) -> (f64, f64) {
    let extend = |(low, high): (f64, f64), value: &f64| (value.min(low), value.max(high));
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), extend)
}

/// A number with at most four significant digits.
fn rounded(value: f64) -> String {
    let text = format!("{value:.3e}");
    let number: f64 = text.parse().unwrap_or(value);
    if number != 0.0 && !(1e-3..1e6).contains(&number.abs()) {
        return format!("{number:e}");
    }
    number.to_string()
}
