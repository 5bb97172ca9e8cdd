//! Measures whole trainings, each from the start of a process to its test score.
//!
//! A training is 100 epochs, each a step and an evaluation of the validation nodes, on the first split of
//! Geom-GCN. The graph is read from the public files, or from what an earlier run stored: our graph cache,
//! or an .npz file of arrays.
//! Before the rounds, every program runs briefly, which fills these caches and that of torch.compile; a
//! script whose losses differ from ours is not timed.

use super::comparison::{check_losses, export};
use super::environment::Environments;
use super::implementation::{
    CLENSHAW, Implementation, TORCH_AUTOGRAD, TORCH_COMPILED, TORCH_CSR, TORCH_TRANSPOSES,
};
use super::{Folders, Part, PeerOptions, Programs};
use crate::Result;
use crate::python::last_lines;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const MODEL: &str = "clenshaw-gcn";
const SPLIT: &str = "geom:0";
pub const EPOCHS: usize = 100;
const NO_EARLY_STOPPING: &str = "stop=none";

/// What a training reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphInput {
    /// The public files.
    Files,
    /// What an earlier run stored.
    Cache,
}

impl GraphInput {
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Cache => "cache",
        }
    }
}

/// An implementation and its input.
#[derive(Clone, Copy)]
struct TrainingProgram {
    implementation: &'static Implementation,
    /// Its name in `train.py`; `None` for clenshaw.
    script_name: Option<&'static str>,
    input: GraphInput,
}

/// The trainings of each round.
const PROGRAMS: [TrainingProgram; 8] = [
    program(&CLENSHAW, None, GraphInput::Files),
    program(&CLENSHAW, None, GraphInput::Cache),
    program(&TORCH_CSR, Some("csr"), GraphInput::Files),
    program(&TORCH_CSR, Some("csr"), GraphInput::Cache),
    program(&TORCH_AUTOGRAD, Some("autograd"), GraphInput::Files),
    program(&TORCH_TRANSPOSES, Some("transposes"), GraphInput::Files),
    program(&TORCH_TRANSPOSES, Some("transposes"), GraphInput::Cache),
    program(&TORCH_COMPILED, Some("compiled"), GraphInput::Files),
];

const fn program(
    implementation: &'static Implementation,
    script_name: Option<&'static str>,
    input: GraphInput,
) -> TrainingProgram {
    TrainingProgram { implementation, script_name, input }
}

impl TrainingProgram {
    /// Whether it is measured; ours always is.
    fn is_selected(&self, options: &PeerOptions) -> bool {
        self.implementation.name == CLENSHAW.name || options.compares_with(self.implementation)
    }
}

/// The result of a comparison.
pub struct TrainingMeasurement {
    pub graph: &'static str,
    pub results: Vec<TrainingTiming>,
    /// Implementations that were not timed, and why.
    pub notes: Vec<String>,
}

/// The times of one implementation with one input, one per round.
pub struct TrainingTiming {
    pub implementation: &'static Implementation,
    pub input: GraphInput,
    /// From the start of the process to the test score.
    pub seconds: Vec<f64>,
    /// The same without Python's imports.
    pub seconds_after_imports: Vec<f64>,
    /// The test accuracy of each round.
    pub scores: Vec<f64>,
}

/// A graph on which whole trainings are measured.
pub struct TrainingComparison {
    graph: &'static str,
}

impl TrainingComparison {
    /// The comparisons that the options select.
    pub fn selected(options: &PeerOptions) -> Vec<Self> {
        let graphs = options.small_graphs().filter(|_| options.includes(Part::Training));
        graphs.map(|graph| Self { graph }).collect()
    }

    /// Checks all programs and times them in alternation. Without the public files, nothing is timed.
    pub fn measure(
        &self,
        programs: &Programs,
        environments: &Environments,
        folders: &Folders,
        options: &PeerOptions,
    ) -> Result<TrainingMeasurement> {
        eprintln!("== training on {}", self.graph);
        let graph = self.graph;
        let mut measurement = TrainingMeasurement { graph, results: vec![], notes: vec![] };
        let session = match Session::new(graph, programs, environments, folders, options) {
            Ok(session) => session,
            Err(error) => {
                measurement.notes.push(format!("training on {graph}: {error}"));
                return Ok(measurement);
            }
        };
        let mut checked = vec![];
        for program in PROGRAMS.into_iter().filter(|program| program.is_selected(options)) {
            match session.check(program) {
                Ok(()) => checked.push(program),
                Err(error) => {
                    let name = program.implementation.name;
                    measurement.notes.push(format!("training on {graph}: {name}: {error}"));
                }
            }
        }
        measurement.results = checked.iter().map(TrainingTiming::new).collect();
        for round in 1..=options.training_rounds {
            eprintln!("   round {round} of {}", options.training_rounds);
            for (program, timing) in checked.iter().zip(&mut measurement.results) {
                timing.add(session.train(*program)?);
            }
        }
        Ok(measurement)
    }
}

impl TrainingTiming {
    fn new(program: &TrainingProgram) -> Self {
        let TrainingProgram { implementation, input, .. } = *program;
        let (seconds, seconds_after_imports, scores) = (vec![], vec![], vec![]);
        Self { implementation, input, seconds, seconds_after_imports, scores }
    }

    fn add(&mut self, run: TrainingRun) {
        self.seconds.push(run.seconds);
        self.seconds_after_imports.push(run.seconds_after_imports);
        self.scores.push(run.score);
    }
}

/// One training.
struct TrainingRun {
    seconds: f64,
    seconds_after_imports: f64,
    score: f64,
}

/// The commands for one graph.
struct Session<'a> {
    graph: &'static str,
    clenshaw: &'a Path,
    python: &'a Path,
    folders: &'a Folders,
    threads: String,
    /// The folder of the public files.
    data: PathBuf,
    /// The folder with the settings, the initial parameters, and the files of this comparison.
    inputs: PathBuf,
    exported: Value,
}

impl<'a> Session<'a> {
    fn new(
        graph: &'static str,
        programs: &'a Programs,
        environments: &'a Environments,
        folders: &'a Folders,
        options: &PeerOptions,
    ) -> Result<Self> {
        let data = std::env::var_os("CLENSHAW_DATA");
        let data = data.ok_or("needs the public files; set CLENSHAW_DATA to their folder")?;
        let inputs = folders.inputs(&format!("training-{graph}"))?;
        let (split, epochs) = (format!("split={SPLIT}"), format!("max_epochs={EPOCHS}"));
        let settings = [&split, &epochs, NO_EARLY_STOPPING];
        Ok(Self {
            graph,
            clenshaw: programs.clenshaw.as_deref().ok_or("the program was not built")?,
            python: &environments.torch.python,
            folders,
            threads: options.threads.to_string(),
            data: data.into(),
            exported: export(&programs.step, &inputs, graph, MODEL, &settings)?,
            inputs,
        })
    }

    /// Runs a program without timing it; checks the losses of a script.
    fn check(&self, program: TrainingProgram) -> Result {
        let mut command = match program.script_name {
            Some(name) => self.script("check", name, program.input),
            None => self.clenshaw(program.input, 1),
        };
        let (_, answer) = self.run(&mut command, program)?;
        match program.script_name {
            Some(_) => check_losses(&answer, &self.exported),
            None => Ok(()),
        }
    }

    fn train(&self, program: TrainingProgram) -> Result<TrainingRun> {
        let mut command = match program.script_name {
            Some(name) => self.script("train", name, program.input),
            None => self.clenshaw(program.input, EPOCHS),
        };
        let (seconds, answer) = self.run(&mut command, program)?;
        let run = training_run(seconds, &answer);
        let name = program.implementation.name;
        run.ok_or_else(|| format!("{name}: `{answer}`; expected a test score").into())
    }

    /// The command a user types, with the settings of the other implementations.
    fn clenshaw(&self, input: GraphInput, epochs: usize) -> Command {
        let mut command = Command::new(self.clenshaw);
        command.args(["train", self.graph, "--model", MODEL, "--preset", "paper"]);
        command.args([
            "--split",
            SPLIT,
            "--threads",
            &self.threads,
            "--fresh",
            "--quiet",
            "--json",
        ]);
        command.args(["--set", &format!("max_epochs={epochs}"), "--set", NO_EARLY_STOPPING]);
        let folder = self.inputs.join(format!("run-{epochs}-epochs"));
        command.arg("--data").arg(&self.data).arg("--out").arg(folder);
        match input {
            GraphInput::Files => command.env("CLENSHAW_CACHE", "off"),
            GraphInput::Cache => command.env("CLENSHAW_CACHE", self.inputs.join("graph-cache")),
        };
        command
    }

    fn script(&self, action: &str, name: &str, input: GraphInput) -> Command {
        let mut command = self.folders.script(self.python, "train.py", &self.threads);
        command.args([action, name, self.graph]).arg(&self.data).arg(&self.inputs);
        command.arg(&self.threads);
        if input == GraphInput::Cache {
            command.arg(self.inputs.join("graph.npz"));
        }
        command
    }

    /// Runs a command; returns the seconds until its first line of output, and the output.
    fn run(&self, command: &mut Command, program: TrainingProgram) -> Result<(f64, Value)> {
        let name = program.implementation.name;
        let log = self.inputs.join(format!("{name}.stderr"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let start = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut text = String::new();
        output.read_line(&mut text)?;
        let seconds = start.elapsed().as_secs_f64();
        output.read_to_string(&mut text)?;
        let status = child.wait()?;
        if !status.success() {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("{status}\n{}", last_lines(&log, 8)).into());
        }
        Ok((seconds, serde_json::from_str(&text)?))
    }
}

/// Reads the answer of `train.py` or the summary of `clenshaw train`, which has no imports.
fn training_run(seconds: f64, answer: &Value) -> Option<TrainingRun> {
    match answer.get("score") {
        Some(score) => Some(TrainingRun {
            seconds,
            seconds_after_imports: answer["seconds"].as_f64()?,
            score: score.as_f64()?,
        }),
        None => {
            let score = answer["test_accuracy"]["mean"].as_f64()?;
            Some(TrainingRun { seconds, seconds_after_imports: seconds, score })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_scores_of_scripts_and_of_the_program() {
        let script = training_run(3.0, &json!({ "score": 0.75, "seconds": 2.0 })).unwrap();
        assert_eq!((script.seconds, script.seconds_after_imports, script.score), (3.0, 2.0, 0.75));
        let summary = json!({ "test_accuracy": { "mean": 0.5 }, "seconds": 0.9 });
        let program = training_run(1.0, &summary).unwrap();
        assert_eq!(
            (program.seconds, program.seconds_after_imports, program.score),
            (1.0, 1.0, 0.5)
        );
        assert!(training_run(1.0, &json!({ "loss": 1.0 })).is_none());
    }

    #[test]
    fn options_select_trainings() {
        let selected = |text: &str| -> Vec<&str> {
            let arguments: Vec<String> = text.split_whitespace().map(String::from).collect();
            let options = PeerOptions::parse(&arguments).unwrap();
            TrainingComparison::selected(&options).iter().map(|one| one.graph).collect()
        };
        assert_eq!(selected("--graphs actor,cora"), ["cora", "actor"]);
        assert_eq!(selected("--only training").len(), 6);
        assert!(selected("--only step").is_empty());
    }

    #[test]
    fn clenshaw_is_measured_with_every_input() {
        for program in PROGRAMS {
            let ours = |other: &TrainingProgram| {
                other.implementation.name == CLENSHAW.name && other.input == program.input
            };
            assert!(PROGRAMS.iter().any(ours), "{}", program.input.name());
        }
    }
}
