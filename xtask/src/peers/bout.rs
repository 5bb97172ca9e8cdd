//! One graph and one model, and everybody who trains it.

use super::contender::{Contender, Memory};
use super::environment::Environments;
use super::numbers::{Spread, agree};
use super::{Options, Place};
use crate::Outcome;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The graphs, and the one for `--large`.
const GRAPHS: [&str; 6] = ["cora", "chameleon", "squirrel", "actor", "citeseer", "pubmed"];
const LARGE: &str = "twitch-gamers";

/// Models that PyG has layers for.
const LAYERS: [&str; 5] = ["gcn", "gcnii", "cheb-net", "appnp", "arma"];

/// Ours; everything is compared with it.
pub const OURS: &str = "clenshaw";
pub const CSR: &str = "PyTorch CSR";
pub const PASSING: &str = "PyG message passing";
pub const WITH_DGL: &str = "DGL";
pub const LAYER: &str = "PyG layer";

/// How close losses must be to ours: at first, and after a step without dropout, when an activation
/// that rounding puts on the other side of zero has moved Adam.
const SAME: f64 = 1e-4;
const SAME_AFTER_STEP: f64 = 1e-3;

/// How long a contender trains in its turn, if that is more than one step.
const TURN_SECONDS: f64 = 0.3;
const MOST_STEPS: usize = 60;
/// A pause in which the threads of the one before fall asleep.
const PAUSE: Duration = Duration::from_millis(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// ClenshawGCN against the same written in PyTorch.
    Step,
    /// Other models against PyG's own layers.
    Layers,
}

impl Part {
    pub fn named(word: &str) -> Outcome<Self> {
        match word {
            "step" => Ok(Self::Step),
            "layers" => Ok(Self::Layers),
            _ => Err(format!("`--only {word}`; expected step or layers").into()),
        }
    }
}

/// A graph, a model and its contenders.
pub struct Bout {
    pub graph: &'static str,
    pub model: &'static str,
    settings: &'static [&'static str],
    others: Vec<&'static str>,
}

/// What came of a bout.
pub struct Fight {
    pub graph: &'static str,
    pub model: &'static str,
    /// `real` or `generated`.
    pub source: String,
    /// Ours first.
    pub results: Vec<Showing>,
    /// Who did not compete, and why.
    pub notes: Vec<String>,
}

/// What a contender showed.
pub struct Showing {
    pub name: &'static str,
    /// The median step of each round.
    pub seconds: Vec<f64>,
    pub memory: Memory,
}

impl Bout {
    /// The bouts that the options ask for.
    pub fn chosen(options: &Options) -> Outcome<Vec<Self>> {
        let known = |graph: &&String| !GRAPHS.contains(&graph.as_str()) && **graph != LARGE;
        if let Some(graph) = options.graphs.iter().find(known) {
            let all = GRAPHS.join(", ");
            return Err(format!("unknown graph `{graph}`; known: {all}, {LARGE}").into());
        }
        let asked = |graph: &&str| {
            options.graphs.is_empty() || options.graphs.iter().any(|other| other == graph)
        };
        let graphs: Vec<&str> = GRAPHS.into_iter().filter(asked).collect();
        let part = |part| options.only.is_none_or(|only| only == part);
        let mut bouts = vec![];
        if part(Part::Step) {
            bouts.extend(graphs.iter().map(|graph| Self::step(graph)));
            if options.large || options.graphs.iter().any(|graph| graph == LARGE) {
                bouts.push(Self { others: vec![CSR], ..Self::step(LARGE) });
            }
        }
        if part(Part::Layers) {
            let each = |graph: &&'static str| LAYERS.map(|model| Self::layer(graph, model));
            bouts.extend(graphs.iter().flat_map(each));
        }
        Ok(bouts)
    }

    fn step(graph: &'static str) -> Self {
        let others = vec![CSR, PASSING, WITH_DGL];
        Self { graph, model: "clenshaw-gcn", settings: &[], others }
    }

    /// GCNII has no published setting for two of the graphs; they get Chameleon's.
    fn layer(graph: &'static str, model: &'static str) -> Self {
        let settings: &[&str] = match (model, graph) {
            ("gcnii", "squirrel" | "actor") => &["L=8", "alpha=0.2", "lambda=1.5"],
            _ => &[],
        };
        Self { graph, model, settings, others: vec![LAYER] }
    }

    /// Starts everybody, checks their losses and lets them train in turn.
    pub fn fight(
        &self,
        ours: &Path,
        environments: &Environments,
        place: &Place,
        options: &Options,
    ) -> Outcome<Fight> {
        eprintln!("== {} on {}", self.model, self.graph);
        let folder = place.work.join("bouts").join(format!("{}-{}", self.model, self.graph));
        let exported = self.export(ours, &folder)?;
        let threads = options.threads.to_string();
        let mut command = Command::new(ours);
        command.arg("run").args([folder.as_os_str(), threads.as_ref()]);
        let (first, ready) = Contender::start(OURS, &mut command, &folder)?;
        check(&ready, &exported)?;
        let (mut ring, mut notes) = (vec![first], vec![]);
        for name in &self.others {
            let entered = program(name, environments, place).and_then(|mut command| {
                command.args([folder.as_os_str(), threads.as_ref()]);
                command.env("OMP_NUM_THREADS", &threads).env("MKL_NUM_THREADS", &threads);
                let (contender, ready) = Contender::start(name, &mut command, &folder)?;
                check(&ready, &exported)?;
                Ok(contender)
            });
            match entered {
                Ok(contender) => ring.push(contender),
                Err(why) => notes.push(self.note(name, &why.to_string())),
            }
        }
        let results = rounds(ring, options.rounds)?;
        let source = exported["source"].as_str().unwrap_or_default().to_owned();
        Ok(Fight { graph: self.graph, model: self.model, source, results, notes })
    }

    fn note(&self, name: &str, why: &str) -> String {
        eprintln!("   {name}: {why}");
        format!("{} on {}: {name}: {why}", self.model, self.graph)
    }

    /// Writes what everybody starts from; returns where it is from and the losses to arrive at.
    fn export(&self, ours: &Path, folder: &Path) -> Outcome<Value> {
        std::fs::create_dir_all(folder)?;
        let mut command = Command::new(ours);
        command.arg("export").arg(folder).args([self.graph, self.model]).args(self.settings);
        let output = command.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The program of a contender.
fn program(name: &str, environments: &Environments, place: &Place) -> Outcome<Command> {
    let (environment, file) = match name {
        CSR => (&environments.torch, "clenshaw_csr.py"),
        PASSING => (&environments.torch, "clenshaw_mp.py"),
        LAYER => (&environments.torch, "layers.py"),
        _ => (environments.dgl.as_ref().map_err(Clone::clone)?, "clenshaw_dgl.py"),
    };
    let mut command = Command::new(&environment.python);
    let script: PathBuf = place.peers.join(file);
    command.args(["-B", "-W", "ignore"]).arg(script);
    Ok(command)
}

/// Refuses whose losses are not the exported ones.
fn check(ready: &Value, exported: &Value) -> Outcome {
    let expected = |i: usize| exported["losses"][i].as_f64().unwrap_or(f64::NAN);
    let first = ready["loss"].as_f64().unwrap_or(f64::NAN);
    if !agree(first, expected(0), SAME) {
        return Err(format!("its first loss is {first}, ours {}", expected(0)).into());
    }
    match ready["loss_after_step"].as_f64() {
        Some(after) if !agree(after, expected(1), SAME_AFTER_STEP) => {
            Err(format!("its loss after a step is {after}, ours {}", expected(1)).into())
        }
        _ => Ok(()),
    }
}

/// Everybody in turn, round after round.
fn rounds(mut ring: Vec<Contender>, n: usize) -> Outcome<Vec<Showing>> {
    let turns = ring.iter_mut().map(turn).collect::<Outcome<Vec<_>>>()?;
    let mut seconds = vec![vec![]; ring.len()];
    for round in 1..=n {
        eprint!("\r   round {round} of {n}");
        for ((contender, turn), seconds) in ring.iter_mut().zip(&turns).zip(&mut seconds) {
            sleep(PAUSE);
            let times = contender.steps(turn.steps)?;
            seconds.push(Spread::of(&times[turn.steps - turn.timed..]).median);
        }
    }
    eprintln!();
    let each = ring.iter_mut().zip(seconds);
    each.map(|(one, seconds)| Ok(Showing { name: one.name, seconds, memory: one.memory()? }))
        .collect()
}

/// How many steps a turn has, and how many of them count.
struct Turn {
    steps: usize,
    timed: usize,
}

/// Warms a contender up and measures out its turns; where steps are short the first does not count,
/// for it finds the caches full of another's numbers.
fn turn(contender: &mut Contender) -> Outcome<Turn> {
    let once = Spread::of(&contender.steps(2)?).least;
    let timed = ((TURN_SECONDS / once) as usize).clamp(1, MOST_STEPS);
    Ok(Turn { steps: if once < 1.0 { timed + 1 } else { timed }, timed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chosen(text: &str) -> Vec<(&'static str, &'static str)> {
        let words: Vec<String> = text.split_whitespace().map(String::from).collect();
        let bouts = Bout::chosen(&Options::new(&words).unwrap()).unwrap();
        bouts.iter().map(|bout| (bout.model, bout.graph)).collect()
    }

    #[test]
    fn bouts_are_chosen_by_part_and_graph() {
        let expected = [("clenshaw-gcn", "actor"), ("gcn", "actor"), ("gcnii", "actor")];
        assert_eq!(chosen("--graphs actor")[..3], expected);
        assert_eq!(chosen("--graphs actor --only step"), expected[..1]);
        assert_eq!(chosen("").len(), GRAPHS.len() * (1 + LAYERS.len()));
        assert_eq!(chosen("--large --only step").last(), Some(&("clenshaw-gcn", LARGE)));
        assert_eq!(chosen("--graphs twitch-gamers"), [("clenshaw-gcn", LARGE)]);
    }

    #[test]
    fn other_losses_are_told_beside_ours() {
        let exported = json!({ "losses": [1.5, 1.25] });
        let said = |ready: Value| check(&ready, &exported).map_err(|error| error.to_string());
        assert_eq!(said(json!({ "loss": 1.50001, "loss_after_step": 1.2501 })), Ok(()));
        assert_eq!(said(json!({ "loss": 1.51 })), Err("its first loss is 1.51, ours 1.5".into()));
        let after = said(json!({ "loss": 1.5, "loss_after_step": 1.26 }));
        assert_eq!(after, Err("its loss after a step is 1.26, ours 1.25".into()));
        assert!(said(json!({})).is_err());
    }
}
