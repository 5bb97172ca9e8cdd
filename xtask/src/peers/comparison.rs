//! Measures one model on one graph with every implementation.

use super::environment::Environments;
use super::process::{Memory, TrainingProcess};
use super::statistics::{MedianRange, agree};
use super::{Folders, PeerOptions};
use crate::Result;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The graphs that are measured by default.
const GRAPHS: [&str; 6] = ["cora", "chameleon", "squirrel", "actor", "citeseer", "pubmed"];
/// A graph that is measured only with `--large` or if `--graphs` names it.
const LARGE: &str = "twitch-gamers";

/// Models that PyG has layers for.
const LAYERS: [&str; 5] = ["gcn", "gcnii", "cheb-net", "appnp", "arma"];

/// The implementation that all others are compared with.
pub const CLENSHAW: &str = "clenshaw";
pub const TORCH_CSR: &str = "PyTorch CSR";
const MESSAGE_PASSING: &str = "PyG message passing";
const DGL: &str = "DGL";
const PYG_LAYER: &str = "PyG layer";
/// The other implementations, in the order of the report.
pub const OTHERS: [&str; 4] = [TORCH_CSR, MESSAGE_PASSING, DGL, PYG_LAYER];

/// Relative tolerance of the initial loss.
const LOSS_TOLERANCE: f64 = 1e-4;
/// Relative tolerance of the loss after one step without dropout; larger, because rounding may move an
/// activation across zero, which changes Adam's step.
const STEP_TOLERANCE: f64 = 1e-3;

/// Time for which one implementation trains in a round, unless a single step takes longer.
const ROUND_SECONDS: f64 = 0.3;
/// Maximum number of timed steps of one implementation in a round.
const MAX_STEPS: usize = 60;
/// Pause after which the threads of the previous implementation are idle.
const PAUSE: Duration = Duration::from_millis(30);

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// ClenshawGCN against implementations in PyTorch, PyG and DGL.
    Step,
    /// Other models against PyG's own layers.
    Layers,
}

impl Part {
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "step" => Ok(Self::Step),
            "layers" => Ok(Self::Layers),
            _ => Err(format!("`--only {name}`; expected `step` or `layers`").into()),
        }
    }
}

/// A model on a graph, and the implementations to compare.
pub struct Comparison {
    pub graph: &'static str,
    pub model: &'static str,
    /// Hyper-parameters other than those of the preset, as `key=value`.
    settings: &'static [&'static str],
    others: Vec<&'static str>,
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
    pub name: &'static str,
    /// The median step of each round.
    pub seconds: Vec<f64>,
    pub memory: Memory,
}

impl Comparison {
    /// The comparisons that the options select.
    pub fn selected(options: &PeerOptions) -> Result<Vec<Self>> {
        let unknown = |graph: &&String| !GRAPHS.contains(&graph.as_str()) && **graph != LARGE;
        if let Some(graph) = options.graphs.iter().find(unknown) {
            let all = GRAPHS.join(", ");
            return Err(format!("unknown graph `{graph}`; known: {all}, {LARGE}").into());
        }
        let is_selected = |graph: &&str| {
            options.graphs.is_empty() || options.graphs.iter().any(|other| other == graph)
        };
        let graphs: Vec<&str> = GRAPHS.into_iter().filter(is_selected).collect();
        let is_selected_part = |part| options.only.is_none_or(|only| only == part);
        let mut comparisons = vec![];
        if is_selected_part(Part::Step) {
            comparisons.extend(graphs.iter().map(|graph| Self::step(graph)));
            if options.large || options.graphs.iter().any(|graph| graph == LARGE) {
                comparisons.push(Self { others: vec![TORCH_CSR], ..Self::step(LARGE) });
            }
        }
        if is_selected_part(Part::Layers) {
            let each = |graph: &&'static str| LAYERS.map(|model| Self::layer(graph, model));
            comparisons.extend(graphs.iter().flat_map(each));
        }
        Ok(comparisons)
    }

    fn step(graph: &'static str) -> Self {
        let others = vec![TORCH_CSR, MESSAGE_PASSING, DGL];
        Self { graph, model: "clenshaw-gcn", settings: &[], others }
    }

    /// GCNII has no published settings for two of the graphs; they use Chameleon's.
    fn layer(graph: &'static str, model: &'static str) -> Self {
        let settings: &[&str] = match (model, graph) {
            ("gcnii", "squirrel" | "actor") => &["L=8", "alpha=0.2", "lambda=1.5"],
            _ => &[],
        };
        Self { graph, model, settings, others: vec![PYG_LAYER] }
    }

    /// Starts all implementations, checks their losses and times them in alternation. One that cannot be
    /// started or has different losses is noted and not timed; for clenshaw, this is an error.
    pub fn measure(
        &self,
        clenshaw: &Path,
        environments: &Environments,
        folders: &Folders,
        options: &PeerOptions,
    ) -> Result<Measurement> {
        eprintln!("== {} on {}", self.model, self.graph);
        let folder = folders.work.join("inputs").join(format!("{}-{}", self.model, self.graph));
        let exported = self.export(clenshaw, &folder)?;
        let threads = options.threads.to_string();
        let mut command = Command::new(clenshaw);
        command.arg("run").args([folder.as_os_str(), threads.as_ref()]);
        let (first, ready) = TrainingProcess::start(CLENSHAW, &mut command, &folder)?;
        check_losses(&ready, &exported)?;
        let (mut processes, mut notes) = (vec![first], vec![]);
        for name in &self.others {
            let started = script_command(name, environments, folders).and_then(|mut command| {
                command.args([folder.as_os_str(), threads.as_ref()]);
                command.env("OMP_NUM_THREADS", &threads).env("MKL_NUM_THREADS", &threads);
                let (process, ready) = TrainingProcess::start(name, &mut command, &folder)?;
                check_losses(&ready, &exported)?;
                Ok(process)
            });
            match started {
                Ok(process) => processes.push(process),
                Err(error) => {
                    eprintln!("   {name}: {error}");
                    notes.push(format!("{} on {}: {name}: {error}", self.model, self.graph));
                }
            }
        }
        let results = time_rounds(processes, options.rounds)?;
        let source = exported["source"].as_str().unwrap_or_default().to_owned();
        Ok(Measurement { graph: self.graph, model: self.model, source, results, notes })
    }

    /// Writes the common inputs; returns the source of the data and the expected losses.
    fn export(&self, clenshaw: &Path, folder: &Path) -> Result<Value> {
        std::fs::create_dir_all(folder)?;
        let mut command = Command::new(clenshaw);
        command.arg("export").arg(folder).args([self.graph, self.model]).args(self.settings);
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The command that runs the script of another implementation.
fn script_command(name: &str, environments: &Environments, folders: &Folders) -> Result<Command> {
    let (environment, file) = match name {
        TORCH_CSR => (&environments.torch, "clenshaw_csr.py"),
        MESSAGE_PASSING => (&environments.torch, "clenshaw_mp.py"),
        PYG_LAYER => (&environments.torch, "layers.py"),
        _ => (environments.dgl.as_ref().map_err(Clone::clone)?, "clenshaw_dgl.py"),
    };
    let mut command = Command::new(&environment.python);
    command.args(["-B", "-W", "ignore"]).arg(folders.scripts.join(file));
    Ok(command)
}

/// Checks an implementation's losses against the exported ones.
fn check_losses(ready: &Value, exported: &Value) -> Result {
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
        Ok(Timing { name: process.name, seconds, memory: process.request_memory()? })
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
        let expected = [("clenshaw-gcn", "actor"), ("gcn", "actor"), ("gcnii", "actor")];
        assert_eq!(selected("--graphs actor")[..3], expected);
        assert_eq!(selected("--graphs actor --only step"), expected[..1]);
        assert_eq!(selected("").len(), GRAPHS.len() * (1 + LAYERS.len()));
        assert_eq!(selected("--large --only step").last(), Some(&("clenshaw-gcn", LARGE)));
        assert_eq!(selected("--graphs twitch-gamers"), [("clenshaw-gcn", LARGE)]);
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
