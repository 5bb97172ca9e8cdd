//! Python environments in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the Python of an environment with these requirements. The environment is created again if it
/// is missing or incomplete, or if the requirements have changed.
pub fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let required = read(requirements)?;
    let (python, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if read(&installed).is_ok_and(|installed| installed == required) {
        return Ok(python);
    }
    eprintln!("   creating {}", folder.display());
    output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    output(Command::new(&python).args(install).arg("--requirement").arg(requirements))?;
    // Written last, so that an incomplete environment is created again.
    std::fs::write(&installed, required)
        .map_err(|error| format!("{}: {error}", installed.display()))?;
    Ok(python)
}

/// Runs a command and returns its standard output, or the end of its standard error.
pub fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(last_lines(&String::from_utf8_lossy(&output.stderr), 8)),
    }
}

/// The last `n` lines that are not blank.
pub fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_ignores_blank_lines() {
        let text = "Traceback\n  File x\n\nImportError: no dgl\n\n";
        assert_eq!(last_lines(text, 1), "ImportError: no dgl");
        assert_eq!(last_lines(text, 2), "  File x\nImportError: no dgl");
        assert_eq!(last_lines("one", 5), "one");
    }

    #[test]
    fn error_names_missing_program() {
        let error = output(&mut Command::new("no-such-python")).unwrap_err();
        assert!(error.starts_with("no-such-python: "), "{error}");
    }
}
