//! The Python environments of the other implementations.

use super::Folders;
use crate::python::{self, last_lines, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How an environment is found or created.
struct Specification {
    /// Environment variable with the path of an existing environment.
    variable: &'static str,
    folder: &'static str,
    requirements: &'static str,
    /// Python code that imports everything and prints the versions.
    versions: &'static str,
}

const TORCH: Specification = Specification {
    variable: "CLENSHAW_PEERS",
    folder: "torch",
    requirements: "requirements.txt",
    versions: "import torch, torch_geometric as pyg, numpy, scipy; \
               print(f'PyTorch {torch.__version__}, PyG {pyg.__version__}')",
};

const DGL: Specification = Specification {
    variable: "CLENSHAW_PEERS_DGL",
    folder: "dgl",
    requirements: "requirements-dgl.txt",
    versions: "import dgl, torch, numpy; \
               print(f'DGL {dgl.__version__} on PyTorch {torch.__version__}')",
};

/// A Python with all required packages.
pub struct Environment {
    pub python: PathBuf,
    pub versions: String,
}

/// The environments of all other implementations.
pub struct Environments {
    pub torch: Environment,
    /// The environment of DGL, or the reason why there is none, in one line.
    pub dgl: Result<Environment, String>,
}

impl Environments {
    pub fn new(folders: &Folders, with_dgl: bool) -> crate::Result<Self> {
        let torch = TORCH.prepare(folders)?;
        let dgl = match with_dgl {
            true => DGL.prepare(folders).map_err(|problem| last_lines(&problem, 1)),
            false => Err("not selected".into()),
        };
        Ok(Self { torch, dgl })
    }
}

impl Specification {
    /// Returns the environment named by the variable, or one in the target folder, which is created if needed.
    fn prepare(&self, folders: &Folders) -> Result<Environment, String> {
        if let Some(named) = std::env::var_os(self.variable) {
            let named_error = |problem: String| format!("{}: {problem}", self.variable);
            return self.check(Path::new(&named)).map_err(named_error);
        }
        eprintln!("   {}: the first run downloads several GB from PyPI", self.requirements);
        let folder = folders.work.join(self.folder);
        python::environment(&folder, &folders.scripts.join(self.requirements))?;
        self.check(&folder)
    }

    /// Checks that everything can be imported, and prints the versions.
    fn check(&self, folder: &Path) -> Result<Environment, String> {
        let python = folder.join("bin/python");
        let versions = output(Command::new(&python).args(["-W", "ignore", "-c", self.versions]))?;
        eprintln!("   {versions}");
        Ok(Environment { python, versions })
    }
}
