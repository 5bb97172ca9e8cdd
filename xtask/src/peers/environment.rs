//! The Python environments that contenders run in.

use super::Place;
use crate::Outcome;
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
            true => DGL.ready(place).map_err(|problem| last_line(&problem)),
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
        let folder = place.work.join(self.folder);
        self.tried(&folder).or_else(|_| {
            eprintln!("   {}: several GB from PyPI, once", self.requirements);
            let python = folder.join("bin/python");
            succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            let requirements = place.peers.join(self.requirements);
            let pip = ["-m", "pip", "install", "--quiet", "--requirement"];
            succeed(Command::new(python).args(pip).arg(requirements))?;
            self.tried(&folder)
        })
    }

    /// Whether everything can be imported.
    fn tried(&self, folder: &Path) -> Result<Environment, String> {
        let python = folder.join("bin/python");
        let versions = succeed(Command::new(&python).args(["-W", "ignore", "-c", self.versions]))?;
        eprintln!("   {versions}");
        Ok(Environment { python, versions })
    }
}

/// Runs a program to its end; what it printed, or what it complained about.
fn succeed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(last_lines(&String::from_utf8_lossy(&output.stderr), 8)),
    }
}

/// The end of what somebody said, where the reason is.
pub fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

fn last_line(text: &str) -> String {
    last_lines(text, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_at_the_end() {
        let said = "Traceback\n  File x\n\nImportError: no dgl\n\n";
        assert_eq!(last_line(said), "ImportError: no dgl");
        assert_eq!(last_lines(said, 2), "  File x\nImportError: no dgl");
        assert_eq!(last_lines("one", 5), "one");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = succeed(&mut Command::new("no-such-python")).unwrap_err();
        assert!(error.starts_with("no-such-python: "), "{error}");
    }
}
