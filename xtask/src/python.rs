//! Python environments below the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of an environment with these requirements, made anew when they change.
pub fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let wanted = read(requirements)?;
    let (python, have) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if read(&have).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    eprintln!("   making {}", folder.display());
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    succeed(Command::new(&python).args(install).arg("--requirement").arg(requirements))?;
    // Written last: an environment that is not complete is made anew.
    std::fs::write(&have, wanted).map_err(|error| format!("{}: {error}", have.display()))?;
    Ok(python)
}

/// Runs a program to its end; what it printed, or what it complained about.
pub fn succeed(command: &mut Command) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_at_the_end() {
        let said = "Traceback\n  File x\n\nImportError: no dgl\n\n";
        assert_eq!(last_lines(said, 1), "ImportError: no dgl");
        assert_eq!(last_lines(said, 2), "  File x\nImportError: no dgl");
        assert_eq!(last_lines("one", 5), "one");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = succeed(&mut Command::new("no-such-python")).unwrap_err();
        assert!(error.starts_with("no-such-python: "), "{error}");
    }
}
