//! The suites with the real Optuna and with PostgreSQL servers: `optuna` and `storages` of the library,
//! `databases` of the program.

use crate::cargo::{cargo, root, target};
use crate::{Outcome, postgres, python};
use std::path::PathBuf;

/// Each version of Optuna, and the variable that tells the suites where it is.
const VERSIONS: [(&str, &str); 2] = [("4", "CLENSHAW_OPTUNA4"), ("5", "CLENSHAW_OPTUNA5")];

/// Where the suites are.
const SUITES: [&[&str]; 2] = [
    &["--package", "clenshaw-tune", "--test", "storages", "--test", "optuna"],
    &["--package", "clenshaw-cli", "--test", "cli", "databases"],
];

/// Runs the suites; the words choose among their tests.
pub fn run(words: &[String]) -> Outcome {
    let places = VERSIONS.map(|(version, variable)| (variable, environment(version)));
    let places: Vec<(&str, PathBuf)> =
        places.into_iter().map(|(key, place)| Ok((key, place?))).collect::<Outcome<_>>()?;
    let programs = postgres::programs()?;
    for suite in SUITES {
        let mut cargo = cargo(&["test", "--features", "optuna-tests"]);
        cargo.args(suite).args(words).env("CLENSHAW_POSTGRES", &programs);
        cargo.envs(places.iter().map(|(key, place)| (key, place)));
        if !cargo.status()?.success() {
            return Err("Optuna and we disagree".into());
        }
    }
    Ok(())
}

/// The folder of an environment with everything a version needs.
fn environment(version: &str) -> Outcome<PathBuf> {
    let requirements = format!("crates/clenshaw-tune/tests/optuna/requirements-{version}.txt");
    let folder = std::path::absolute(target().join("optuna").join(version))?;
    python::environment(&folder, &root().join(requirements))?;
    Ok(folder)
}
