//! The implementations that are compared, and how to start them.

use super::environment::Environments;
use super::{Folders, Programs};
use crate::Result;
use std::path::Path;
use std::process::Command;

/// An implementation of a model; `crates/clenshaw/benches/step` documents its interface.
#[derive(Debug)]
pub struct Implementation {
    pub name: &'static str,
    program: Program,
    pub gradients: Gradients,
}

/// The program of an implementation.
#[derive(Debug)]
enum Program {
    /// This library, with further settings of the form `KEY=VALUE`.
    Clenshaw(&'static [&'static str]),
    /// An earlier version of this library, given by `--baseline`.
    Baseline,
    /// A script in `benches/peers`, and its first arguments.
    Script(Packages, &'static str, &'static [&'static str]),
}

/// The environment of a script.
#[derive(Debug)]
enum Packages {
    Torch,
    Dgl,
}

/// How an implementation computes gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradients {
    /// As part of this library.
    Clenshaw,
    /// By autograd: what a user would pick from.
    Autograd,
    /// By a backward pass that was written by hand for one model.
    ByHand,
}

/// The implementation that all others are compared with.
pub static CLENSHAW: Implementation = clenshaw("clenshaw", Program::Clenshaw(&[]));
/// Products with the graph read sources rounded to bf16.
pub static CLENSHAW_BF16: Implementation =
    clenshaw("clenshaw bf16", Program::Clenshaw(&["gather=bf16"]));
pub static BASELINE: Implementation = clenshaw("clenshaw before", Program::Baseline);
pub static TORCH_CSR: Implementation = Implementation {
    gradients: Gradients::ByHand,
    ..script("PyTorch CSR", Packages::Torch, "clenshaw_csr.py", &[])
};
pub static TORCH_AUTOGRAD: Implementation =
    script("PyTorch autograd", Packages::Torch, "clenshaw_sparse.py", &["autograd"]);
pub static TORCH_TRANSPOSES: Implementation =
    script("PyTorch transposes", Packages::Torch, "clenshaw_sparse.py", &["transposes"]);
pub static TORCH_COMPILED: Implementation =
    script("PyTorch compiled", Packages::Torch, "clenshaw_sparse.py", &["compiled"]);
pub static MESSAGE_PASSING: Implementation =
    script("PyG message passing", Packages::Torch, "clenshaw_mp.py", &[]);
pub static DGL: Implementation = script("DGL", Packages::Dgl, "clenshaw_dgl.py", &[]);
pub static PYG_LAYER: Implementation = script("PyG layer", Packages::Torch, "layers.py", &[]);

/// All implementations except `CLENSHAW`, in the order of the report.
pub static OTHERS: [&Implementation; 9] = [
    &CLENSHAW_BF16,
    &BASELINE,
    &TORCH_CSR,
    &TORCH_AUTOGRAD,
    &TORCH_TRANSPOSES,
    &TORCH_COMPILED,
    &MESSAGE_PASSING,
    &DGL,
    &PYG_LAYER,
];

const fn clenshaw(name: &'static str, program: Program) -> Implementation {
    Implementation { name, program, gradients: Gradients::Clenshaw }
}

const fn script(
    name: &'static str,
    packages: Packages,
    file: &'static str,
    arguments: &'static [&'static str],
) -> Implementation {
    let program = Program::Script(packages, file, arguments);
    Implementation { name, program, gradients: Gradients::Autograd }
}

impl Implementation {
    /// The command that trains on request with the inputs in a folder.
    pub fn command(
        &self,
        inputs: &Path,
        threads: usize,
        programs: &Programs,
        environments: &Environments,
        folders: &Folders,
    ) -> Result<Command> {
        let threads = threads.to_string();
        let mut command = match &self.program {
            Program::Clenshaw(_) => Command::new(&programs.step),
            Program::Baseline => Command::new(programs.baseline.as_ref().ok_or("no `--baseline`")?),
            Program::Script(packages, file, arguments) => {
                let mut command = packages.script(file, &threads, environments, folders)?;
                command.args(*arguments);
                command
            }
        };
        if self.gradients == Gradients::Clenshaw {
            command.arg("run");
        }
        command.arg(inputs).arg(&threads);
        if let Program::Clenshaw(settings) = &self.program {
            command.args(*settings);
        }
        Ok(command)
    }
}

impl Packages {
    /// The command that runs a script.
    fn script(
        &self,
        file: &str,
        threads: &str,
        environments: &Environments,
        folders: &Folders,
    ) -> Result<Command> {
        let environment = match self {
            Self::Torch => &environments.torch,
            Self::Dgl => environments.dgl.as_ref().map_err(Clone::clone)?,
        };
        Ok(folders.script(&environment.python, file, threads))
    }
}
