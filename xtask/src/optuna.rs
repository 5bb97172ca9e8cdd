//! Python environments with the real Optuna, for the suite `crates/clenshaw/tests/optuna.rs`.

use crate::cargo::{cargo, root, target};
use crate::{Outcome, python};
use std::path::PathBuf;

/// Each version of Optuna, and the variable that tells the suite where it is.
const VERSIONS: [(&str, &str); 2] = [("4", "CLENSHAW_OPTUNA4"), ("5", "CLENSHAW_OPTUNA5")];

/// Runs the suite; the words choose among its tests.
pub fn run(words: &[String]) -> Outcome {
    let places = VERSIONS.map(|(version, variable)| (variable, environment(version)));
    let mut cargo =
        cargo(&["test", "-p", "clenshaw", "--features", "optuna-tests", "--test", "optuna"]);
    cargo.args(words);
    for (variable, place) in places {
        cargo.env(variable, place?);
    }
    if cargo.status()?.success() { Ok(()) } else { Err("Optuna and we disagree".into()) }
}

/// The folder of an environment with everything a version needs.
fn environment(version: &str) -> Outcome<PathBuf> {
    let requirements = format!("crates/clenshaw/tests/optuna/requirements-{version}.txt");
    let folder = std::path::absolute(target().join("optuna").join(version))?;
    python::environment(&folder, &root().join(requirements))?;
    Ok(folder)
}
