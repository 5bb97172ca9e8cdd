//! Runs the scripts of `tests/optuna` with Optuna 4 and 5.
//!
//! `cargo xtask optuna` creates a Python environment for each version and passes their paths in
//! `CLENSHAW_OPTUNA4` and `CLENSHAW_OPTUNA5`.

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The major versions of Optuna.
pub const VERSIONS: [&str; 2] = ["4", "5"];

/// Starts a script. Version 5 runs in another time zone than the tests. Version 4 treats the times in
/// databases as local times, so it runs in UTC.
pub fn start_script(version: &str, script: &str, arguments: &[&str]) -> Child {
    let variable = format!("CLENSHAW_OPTUNA{version}");
    let Some(folder) = std::env::var_os(&variable) else {
        panic!("{variable} is not set; run `cargo xtask optuna`")
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clenshaw-tune/tests/optuna");
    let mut python = Command::new(Path::new(&folder).join("bin/python"));
    python.arg(scripts.join(script)).args(arguments).env("PYTHONWARNINGS", "ignore");
    python.env("TZ", if version == "4" { "UTC" } else { "Asia/Tokyo" });
    python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a script and parses its output.
pub fn wait_for_output(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command of `study.py` on the journal or database at a location.
pub fn optuna(version: &str, command: &str, location: &str, arguments: &[&str]) -> Value {
    wait_for_output(start_script(version, "study.py", &[&[command, location], arguments].concat()))
}
