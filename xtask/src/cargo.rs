//! Runs cargo and other commands, and finds their folders.

use crate::Result;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub fn root() -> PathBuf {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    parent.canonicalize().unwrap_or(parent)
}

/// Cargo's target folder, where tasks also keep their files.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from)
}

/// A command that runs cargo with these arguments in the repository's root.
///
/// `cargo xtask` sets variables that describe this package. Build scripts of some dependencies, such as
/// `ring`, would run again because of them, so that everything is compiled twice.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os().filter(|(name, _)| describes_package(name)) {
        command.env_remove(name);
    }
    command
}

fn describes_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs a command, and returns an error if it fails.
pub fn run_command(command: &mut Command) -> Result {
    let shown = command_line(command);
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed").into()) }
}

/// Program and arguments, as a user would type them, for messages.
pub fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let all = std::iter::once(program).chain(command.get_args());
    all.map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a cargo command that builds, and returns the path of the executable `name`.
pub fn build(arguments: &[&str], name: &str) -> Result<PathBuf> {
    let mut command = cargo(arguments);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output()?;
    let shown = arguments.join(" ");
    if !output.status.success() {
        return Err(format!("`cargo {shown}` failed").into());
    }
    let messages = String::from_utf8(output.stdout)?;
    executable(&messages, name).ok_or_else(|| format!("`cargo {shown}` built no `{name}`").into())
}

/// The path of the executable `name` in cargo's JSON messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named = messages.filter(|message| message["target"]["name"] == name);
    named.find_map(|message| Some(message["executable"].as_str()?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_executable_by_name() {
        let messages = "\
            {\"target\":{\"name\":\"clenshaw\"},\"executable\":null}\n\
            not json\n\
            {\"target\":{\"name\":\"clenshaw\"},\"executable\":\"t/release/clenshaw\"}\n";
        assert_eq!(executable(messages, "clenshaw"), Some("t/release/clenshaw".into()));
        assert_eq!(executable(messages, "step"), None);
    }

    #[test]
    fn removes_variables_of_this_package() {
        let is_removed = |name: &str| describes_package(OsStr::new(name));
        assert!(is_removed("CARGO_PKG_NAME") && is_removed("CARGO_MANIFEST_DIR"));
        assert!(!is_removed("CARGO_TARGET_DIR") && !is_removed("CARGO"));
    }

    #[test]
    fn shows_commands_without_paths() {
        let mut command = Command::new("/usr/bin/cargo");
        assert_eq!(command_line(command.args(["test", "--workspace"])), "cargo test --workspace");
    }
}
