//! Times training steps and whole trainings against PyTorch, PyG and DGL.
//!
//! ```text
//! cargo xtask bench-peers [--graphs A,B] [--only step|layers|training] [--rounds N] [--training-rounds N]
//!                         [--threads N] [--large] [--no-dgl] [--baseline PROGRAM] [--others A,B] [--name NAME]
//! ```
//!
//! A comparison is a graph and a model. Each implementation is a process that starts from the same folder
//! with graph, features, split and initial parameters; `crates/clenshaw/benches/step` writes the folder and
//! documents the protocol. An implementation whose losses differ from ours is not timed.
//! Implementations train one at a time, alternating in rounds, so that each ratio compares measurements that
//! are close in time. `--baseline` adds an earlier build of `crates/clenshaw/benches/step` to all rounds.
//! `--others` selects implementations by the names in the report, and `--name` names its files, so that a long
//! comparison can be measured in parts.
//!
//! A whole training (`training.rs`) starts a new process that reads the public files.
//!
//! PyTorch is installed in an environment in the target folder on the first run; `CLENSHAW_PEERS` and
//! `CLENSHAW_PEERS_DGL` name existing environments. Graphs are read from `CLENSHAW_DATA`; for steps, missing
//! ones are generated in the same size.

mod options;
mod implementation;
mod comparison;
mod training;
mod process;
mod environment;
mod statistics;
mod table;
mod report;

use crate::{Result, cargo};
use comparison::Comparison;
use environment::Environments;
use options::{Part, PeerOptions};
use report::Report;
use std::path::{Path, PathBuf};
use std::process::Command;
use training::TrainingComparison;

/// Measures the selected comparisons, and prints and writes the report.
pub fn run(arguments: &[String]) -> Result {
    let options = PeerOptions::parse(arguments)?;
    let comparisons = Comparison::selected(&options)?;
    let root = cargo::root();
    let folders =
        Folders { scripts: root.join("benches/peers"), work: cargo::target().join("peers"), root };
    eprintln!("== build clenshaw");
    let programs = Programs::build(&options)?;
    eprintln!("== prepare Python environments");
    let environments = Environments::new(&folders, options.dgl)?;
    let mut report = Report::new(&options, &environments);
    for comparison in comparisons {
        report.add(comparison.measure(&programs, &environments, &folders, &options)?);
    }
    for comparison in TrainingComparison::selected(&options) {
        report.add_training(comparison.measure(&programs, &environments, &folders, &options)?);
    }
    print!("{}", report.text());
    let folder = folders.root.join("benches/runs").join(report::folder_name()?);
    report.write(&folder, &options.name)?;
    eprintln!("written to {}", folder.strip_prefix(&folders.root)?.display());
    Ok(())
}

/// The programs of this library.
pub struct Programs {
    /// `crates/clenshaw/benches/step`.
    step: PathBuf,
    /// An earlier build of `step`.
    baseline: Option<PathBuf>,
    /// The program that users run; `None` if no whole training is measured.
    clenshaw: Option<PathBuf>,
}

impl Programs {
    fn build(options: &PeerOptions) -> Result<Self> {
        let step = cargo::build(&["build", "--release", "--workspace", "--bench", "step"], "step")?;
        let build = ["build", "--release", "--workspace", "--bin", "clenshaw"];
        let is_used = options.includes(Part::Training);
        let clenshaw = is_used.then(|| cargo::build(&build, "clenshaw")).transpose()?;
        let find = |path: &PathBuf| {
            path.canonicalize().map_err(|error| format!("--baseline {}: {error}", path.display()))
        };
        let baseline = options.baseline.as_ref().map(find).transpose()?;
        Ok(Self { step, baseline, clenshaw })
    }
}

/// The folders of a run.
pub struct Folders {
    root: PathBuf,
    /// The scripts of the other implementations.
    scripts: PathBuf,
    /// The folder for Python environments and the inputs of comparisons.
    work: PathBuf,
}

impl Folders {
    /// Creates a folder for the inputs of a comparison.
    fn inputs(&self, name: &str) -> Result<PathBuf> {
        let folder = self.work.join("inputs").join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The command that runs a script with a number of threads.
    fn script(&self, python: &Path, file: &str, threads: &str) -> Command {
        let mut command = Command::new(python);
        command.args(["-B", "-W", "ignore"]).arg(self.scripts.join(file));
        command.env("OMP_NUM_THREADS", threads).env("MKL_NUM_THREADS", threads);
        command.env("TORCHINDUCTOR_CACHE_DIR", self.work.join("torch-compile"));
        command
    }
}
