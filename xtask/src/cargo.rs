//! Cargo, and where it puts things.

use crate::Outcome;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub fn root() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    beside.canonicalize().unwrap_or(beside)
}

/// What builds leave, and a place for what chores leave.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// The cargo that runs us, in the repository.
pub fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// Runs it to its end; documentation warnings count as errors.
pub fn run(words: &[&str]) -> Outcome {
    let status = cargo(words).env("RUSTDOCFLAGS", "-D warnings").status()?;
    if status.success() { Ok(()) } else { Err(failed(words).into()) }
}

/// Builds, and tells where the program `name` is.
pub fn built(words: &[&str], name: &str) -> Outcome<PathBuf> {
    let mut command = cargo(words);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(failed(words).into());
    }
    let said = String::from_utf8(output.stdout)?;
    executable(&said, name).ok_or_else(|| format!("{}: no program `{name}`", failed(words)).into())
}

fn failed(words: &[&str]) -> String {
    format!("cargo {} failed", words.join(" "))
}

/// The program `name` among cargo's messages.
fn executable(said: &str, name: &str) -> Option<PathBuf> {
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut ours = messages.filter(|message| message["target"]["name"] == name);
    ours.find_map(|message| Some(message["executable"].as_str()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_their_names() {
        let said = "\
            {\"target\":{\"name\":\"clenshaw\"},\"executable\":null}\n\
            not json\n\
            {\"target\":{\"name\":\"clenshaw\"},\"executable\":\"t/release/clenshaw\"}\n";
        assert_eq!(executable(said, "clenshaw"), Some("t/release/clenshaw".into()));
        assert_eq!(executable(said, "step"), None);
    }
}
