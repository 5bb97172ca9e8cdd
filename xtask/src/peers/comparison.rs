//! Measures one model on one graph with every implementation.

use super::environment::Environments;
use super::implementation::{
    BASELINE, CLENSHAW, CLENSHAW_BF16, DGL, Implementation, MESSAGE_PASSING, PYG_LAYER,
    TORCH_AUTOGRAD, TORCH_COMPILED, TORCH_CSR, TORCH_TRANSPOSES,
};
use super::process::{Memory, TrainingProcess};
use super::statistics::{MedianRange, agree};
use super::{Folders, Part, PeerOptions, Programs};
use crate::Result;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The graphs that are measured by default.
pub const GRAPHS: [&str; 6] = ["cora", "chameleon", "squirrel", "actor", "citeseer", "pubmed"];
/// Graphs that are measured only with `--large` or if `--graphs` names them: Twitch-Gamers, and a generated
/// graph of the same size with communities.
const LARGE: [&str; 2] = ["twitch-gamers", "twitch-gamers-sbm"];

/// Models that PyG has layers for.
const LAYERS: [&str; 7] = ["gcn", "sage", "gat", "gcnii", "cheb-net", "appnp", "arma"];

/// Relative tolerance of the initial loss.
const LOSS_TOLERANCE: f64 = 1e-4;
/// Relative tolerance of the loss after one step without dropout; larger, because rounding may move an
/// activation across zero, which changes Adam's step.
const STEP_TOLERANCE: f64 = 2e-3;

/// Time for which one implementation trains in a round, unless a single step takes longer.
const ROUND_SECONDS: f64 = 0.3;
/// Maximum number of timed steps of one implementation in a round.
const MAX_STEPS: usize = 60;
/// Pause after which the threads of the previous implementation are idle.
const PAUSE: Duration = Duration::from_millis(30);

/// A model on a graph, and the implementations to compare.
pub struct Comparison {
    pub graph: &'static str,
    pub model: &'static str,
    /// Hyper-parameters other than those of the preset, as `key=value`.
    settings: &'static [&'static str],
    others: Vec<&'static Implementation>,
}

/// The result of a comparison.
pub struct Measurement {
    pub graph: &'static str,
    pub model: &'static str,
    /// `real` or `generated`.
    pub source: String,
    /// The times of each implementation; those of clenshaw come first.
    pub results: Vec<Timing>,
    /// Implementations that were not timed, and why.
    pub notes: Vec<String>,
}

/// Times and memory of one implementation.
pub struct Timing {
    pub implementation: &'static Implementation,
    /// The median step of each round.
    pub seconds: Vec<f64>,
    pub memory: Memory,
}

impl Measurement {
    /// Whether the graph is one that is measured with `--large`.
    pub fn is_large(&self) -> bool {
        LARGE.contains(&self.graph)
    }
}

impl Comparison {
    /// The comparisons that the options select.
    pub fn selected(options: &PeerOptions) -> Result<Vec<Self>> {
        let known = GRAPHS.iter().chain(&LARGE);
        let is_unknown = |graph: &&String| !known.clone().any(|known| known == graph);
        if let Some(graph) = options.graphs.iter().find(is_unknown) {
            let all = known.copied().collect::<Vec<_>>().join(", ");
            return Err(format!("unknown graph `{graph}`; known: {all}").into());
        }
        let mut comparisons = vec![];
        if options.includes(Part::Step) {
            comparisons.extend(options.small_graphs().map(Self::step));
            let is_selected = |graph: &&str| options.large || options.names(graph);
            comparisons.extend(LARGE.into_iter().filter(is_selected).map(Self::large_step));
        }
        if options.includes(Part::Layers) {
            let each = |graph| LAYERS.map(|model| Self::layer(graph, model));
            comparisons.extend(options.small_graphs().flat_map(each));
        }
        if options.baseline.is_some() {
            comparisons.iter_mut().for_each(|comparison| comparison.others.insert(0, &BASELINE));
        }
        for comparison in &mut comparisons {
            comparison.others.retain(|other| options.compares_with(other));
        }
        Ok(comparisons)
    }

    fn step(graph: &'static str) -> Self {
        let others = vec![
            &TORCH_CSR,
            &TORCH_AUTOGRAD,
            &TORCH_TRANSPOSES,
            &TORCH_COMPILED,
            &MESSAGE_PASSING,
            &DGL,
        ];
        Self { graph, model: "clenshaw-gcn", settings: &[], others }
    }

    /// Autograd, message passing and DGL would need too much time and memory on a large graph.
    fn large_step(graph: &'static str) -> Self {
        Self { others: vec![&CLENSHAW_BF16, &TORCH_CSR], ..Self::step(graph) }
    }

    /// GCNII has no published settings for two of the graphs; they use Chameleon's.
    fn layer(graph: &'static str, model: &'static str) -> Self {
        let settings: &[&str] = match (model, graph) {
            ("gcnii", "squirrel" | "actor") => &["L=8", "alpha=0.2", "lambda=1.5"],
            _ => &[],
        };
        Self { graph, model, settings, others: vec![&PYG_LAYER] }
    }

    /// Starts all implementations, checks their losses and times them in alternation. One that cannot be
    /// started or has different losses is noted and not timed; for clenshaw, this is an error.
    pub fn measure(
        &self,
        programs: &Programs,
        environments: &Environments,
        folders: &Folders,
        options: &PeerOptions,
    ) -> Result<Measurement> {
        eprintln!("== {} on {}", self.model, self.graph);
        let inputs = folders.inputs(&format!("{}-{}", self.model, self.graph))?;
        let exported = export(&programs.step, &inputs, self.graph, self.model, self.settings)?;
        let start = |implementation: &'static Implementation| -> Result<TrainingProcess> {
            let threads = options.threads;
            let mut command =
                implementation.command(&inputs, threads, programs, environments, folders)?;
            let (process, ready) = TrainingProcess::start(implementation, &mut command, &inputs)?;
            check_losses(&ready, &exported)?;
            Ok(process)
        };
        let (mut processes, mut notes) = (vec![start(&CLENSHAW)?], vec![]);
        for implementation in &self.others {
            match start(implementation) {
                Ok(process) => processes.push(process),
                Err(error) => {
                    let name = implementation.name;
                    eprintln!("   {name}: {error}");
                    notes.push(format!("{} on {}: {name}: {error}", self.model, self.graph));
                }
            }
        }
        let results = time_rounds(processes, options.rounds)?;
        let source = exported["source"].as_str().unwrap_or_default().to_owned();
        Ok(Measurement { graph: self.graph, model: self.model, source, results, notes })
    }
}

/// Writes the common inputs with the program `step`; returns the source of the data and the expected losses.
pub fn export(
    step: &Path,
    folder: &Path,
    graph: &str,
    model: &str,
    settings: &[&str],
) -> Result<Value> {
    let mut command = Command::new(step);
    let output = command.arg("export").arg(folder).args([graph, model]).args(settings).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Checks an implementation's losses against the exported ones.
pub fn check_losses(ready: &Value, exported: &Value) -> Result {
    let expected = |i: usize| exported["losses"][i].as_f64().unwrap_or(f64::NAN);
    let first = ready["loss"].as_f64().unwrap_or(f64::NAN);
    if !agree(first, expected(0), LOSS_TOLERANCE) {
        return Err(format!("initial loss {first}; expected {}", expected(0)).into());
    }
    match ready["loss_after_step"].as_f64() {
        Some(after) if !agree(after, expected(1), STEP_TOLERANCE) => {
            Err(format!("loss after one step {after}; expected {}", expected(1)).into())
        }
        _ => Ok(()),
    }
}

/// Times all implementations, one after another in each round.
fn time_rounds(mut processes: Vec<TrainingProcess>, rounds: usize) -> Result<Vec<Timing>> {
    let counts = processes.iter_mut().map(step_counts).collect::<Result<Vec<_>>>()?;
    let mut seconds = vec![vec![]; processes.len()];
    for round in 1..=rounds {
        eprint!("\r   round {round} of {rounds}");
        for ((process, counts), seconds) in processes.iter_mut().zip(&counts).zip(&mut seconds) {
            sleep(PAUSE);
            let times = process.run_steps(counts.all)?;
            seconds.push(MedianRange::of(&times[counts.all - counts.timed..]).median);
        }
    }
    eprintln!();
    let each = processes.iter_mut().zip(seconds);
    each.map(|(process, seconds)| {
        let memory = process.request_memory()?;
        Ok(Timing { implementation: process.implementation, seconds, memory })
    })
    .collect()
}

/// The steps of one implementation in a round.
struct StepCounts {
    all: usize,
    /// How many of them, the last ones, are timed.
    timed: usize,
}

/// Warms an implementation up and chooses its steps per round. The first of several short steps is not
/// timed, because the caches still contain another implementation's data.
fn step_counts(process: &mut TrainingProcess) -> Result<StepCounts> {
    let once = MedianRange::of(&process.run_steps(2)?).min;
    let timed = ((ROUND_SECONDS / once) as usize).clamp(1, MAX_STEPS);
    Ok(StepCounts { all: if once < 1.0 { timed + 1 } else { timed }, timed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selected(text: &str) -> Vec<(&'static str, &'static str)> {
        let arguments: Vec<String> = text.split_whitespace().map(String::from).collect();
        let comparisons = Comparison::selected(&PeerOptions::parse(&arguments).unwrap()).unwrap();
        comparisons.iter().map(|comparison| (comparison.model, comparison.graph)).collect()
    }

    #[test]
    fn options_select_parts_and_graphs() {
        let expected = [("clenshaw-gcn", "actor"), ("gcn", "actor"), ("sage", "actor")];
        assert_eq!(selected("--graphs actor")[..3], expected);
        assert_eq!(selected("--graphs actor --only step"), expected[..1]);
        assert_eq!(selected("").len(), GRAPHS.len() * (1 + LAYERS.len()));
        let large = LARGE.map(|graph| ("clenshaw-gcn", graph));
        assert_eq!(selected("--large --only step")[GRAPHS.len()..], large);
        assert_eq!(selected("--graphs twitch-gamers-sbm"), large[1..]);
        assert_eq!(selected("--only training"), []);
    }

    #[test]
    fn baseline_is_measured_after_ours() {
        let others = |text: &str| -> Vec<&str> {
            let arguments: Vec<String> = text.split_whitespace().map(String::from).collect();
            let options = PeerOptions::parse(&arguments).unwrap();
            let comparisons = Comparison::selected(&options).unwrap();
            comparisons[0].others.iter().map(|other| other.name).take(2).collect()
        };
        let large = "--graphs twitch-gamers-sbm";
        assert_eq!(others(large), ["clenshaw bf16", "PyTorch CSR"]);
        let with_baseline = format!("{large} --baseline step");
        assert_eq!(others(&with_baseline), ["clenshaw before", "clenshaw bf16"]);
        assert_eq!(others("--others DGL"), ["DGL"]);
    }

    #[test]
    fn rejects_different_losses() {
        let exported = json!({ "losses": [1.5, 1.25] });
        let check = |ready: Value| check_losses(&ready, &exported).map_err(|e| e.to_string());
        assert_eq!(check(json!({ "loss": 1.50001, "loss_after_step": 1.2501 })), Ok(()));
        assert_eq!(check(json!({ "loss": 1.51 })), Err("initial loss 1.51; expected 1.5".into()));
        let after = check(json!({ "loss": 1.5, "loss_after_step": 1.26 }));
        assert_eq!(after, Err("loss after one step 1.26; expected 1.25".into()));
        assert!(check(json!({})).is_err());
    }
}
