//! Python environments with the real Optuna, for the suite `crates/clenshaw/tests/optuna.rs`.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each version of Optuna, and the variable that tells the suite where it is.
const VERSIONS: [(&str, &str); 2] = [("4", "CLENSHAW_OPTUNA4"), ("5", "CLENSHAW_OPTUNA5")];

/// Runs the suite; the words choose among its tests.
pub fn run(words: &[String]) -> Outcome {
    let places = VERSIONS.map(|(version, variable)| (variable, environment(version)));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .args(["test", "-p", "clenshaw", "--features", "optuna-tests", "--test", "optuna"])
        .args(words);
    for (variable, place) in places {
        cargo.env(variable, place?);
    }
    if cargo.status()?.success() { Ok(()) } else { Err("Optuna and we disagree".into()) }
}

/// An environment with everything a version needs, made anew when its requirements change.
fn environment(version: &str) -> Outcome<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let wanted = format!("crates/clenshaw/tests/optuna/requirements-{version}.txt");
    let wanted = std::fs::read_to_string(root.join(wanted))?;
    let folder = std::path::absolute(target.join("optuna").join(version))?;
    let have = folder.join("requirements.txt");
    if std::fs::read_to_string(&have).is_ok_and(|have| have == wanted) {
        return Ok(folder);
    }
    eprintln!("   making {}", folder.display());
    python(Path::new("python3"), &["-m", "venv", "--clear", &folder.to_string_lossy()])?;
    let partial = folder.join("requirements.partial");
    std::fs::write(&partial, &wanted)?;
    let install =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    python(&folder.join("bin/python"), &[&install[..], &[&partial.to_string_lossy()]].concat())?;
    std::fs::rename(&partial, &have)?;
    Ok(folder)
}

fn python(program: &Path, words: &[&str]) -> Outcome {
    let status = Command::new(program).args(words).status();
    let done = status.map_err(|e| format!("{}: {e}; Python 3 is needed", program.display()))?;
    if done.success() { Ok(()) } else { Err(format!("python {} failed", words.join(" ")).into()) }
}
