//! The real Optuna: scripts of this folder, run by the Python of an environment with one version.
//!
//! `cargo xtask test` makes the environments and names them in `CLENSHAW_OPTUNA4` and
//! `CLENSHAW_OPTUNA5`.

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const VERSIONS: [&str; 2] = ["4", "5"];

/// One of the scripts. Version 5 lives in another time zone; version 4 takes what databases hold for
/// local times, so that only UTC will do.
pub fn script(version: &str, script: &str, words: &[&str]) -> Child {
    let variable = format!("CLENSHAW_OPTUNA{version}");
    let Some(folder) = std::env::var_os(&variable) else {
        panic!("{variable} names no Python environment; run `cargo xtask test`")
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clenshaw-tune/tests/optuna");
    let mut python = Command::new(Path::new(&folder).join("bin/python"));
    python.arg(scripts.join(script)).args(words).env("PYTHONWARNINGS", "ignore");
    python.env("TZ", if version == "4" { "UTC" } else { "Asia/Tokyo" });
    python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What it said.
pub fn said(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A verb of `study.py` at a place: a journal's path or a database's URL.
pub fn optuna(version: &str, verb: &str, place: &str, more: &[&str]) -> Value {
    said(script(version, "study.py", &[&[verb, place], more].concat()))
}
