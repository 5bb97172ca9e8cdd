//! The Python environments that contenders run in.

use super::Place;
use crate::Outcome;
use crate::python::{self, last_lines, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment: who brings it, what it must import, and the versions it tells.
struct Wanted {
    variable: &'static str,
    folder: &'static str,
    requirements: &'static str,
    versions: &'static str,
}

const TORCH: Wanted = Wanted {
    variable: "CLENSHAW_PEERS",
    folder: "torch",
    requirements: "requirements.txt",
    versions: "import torch, torch_geometric as pyg, numpy; \
               print(f'PyTorch {torch.__version__}, PyG {pyg.__version__}')",
};

const DGL: Wanted = Wanted {
    variable: "CLENSHAW_PEERS_DGL",
    folder: "dgl",
    requirements: "requirements-dgl.txt",
    versions: "import dgl, torch, numpy; \
               print(f'DGL {dgl.__version__} on PyTorch {torch.__version__}')",
};

/// A Python that has what it needs.
pub struct Environment {
    pub python: PathBuf,
    pub versions: String,
}

pub struct Environments {
    pub torch: Environment,
    /// DGL's, or in one line why there is none.
    pub dgl: Result<Environment, String>,
}

impl Environments {
    pub fn new(place: &Place, with_dgl: bool) -> Outcome<Self> {
        let torch = TORCH.ready(place)?;
        let dgl = match with_dgl {
            true => DGL.ready(place).map_err(|problem| last_lines(&problem, 1)),
            false => Err("not asked for".into()),
        };
        Ok(Self { torch, dgl })
    }
}

impl Wanted {
    /// The environment somebody names, or ours, made if need be.
    fn ready(&self, place: &Place) -> Result<Environment, String> {
        if let Some(named) = std::env::var_os(self.variable) {
            let wrong = |problem: String| format!("{}: {problem}", self.variable);
            return self.tried(Path::new(&named)).map_err(wrong);
        }
        eprintln!("   {}: several GB from PyPI, once", self.requirements);
        let folder = place.work.join(self.folder);
        python::environment(&folder, &place.peers.join(self.requirements))?;
        self.tried(&folder)
    }

    /// Whether everything can be imported.
    fn tried(&self, folder: &Path) -> Result<Environment, String> {
        let python = folder.join("bin/python");
        let versions = succeed(Command::new(&python).args(["-W", "ignore", "-c", self.versions]))?;
        eprintln!("   {versions}");
        Ok(Environment { python, versions })
    }
}
