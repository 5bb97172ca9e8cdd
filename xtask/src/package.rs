//! The Python package: `cargo xtask wheel`, and the folder in which the tests find it.

use crate::Result;
use crate::cargo::{root, run_command, target};
use crate::python;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder of the package in the repository.
const PACKAGE: &str = "crates/clenshaw-python";
/// File name of the native module that `cargo build` writes, and its name inside the package.
const LIBRARY: (&str, &str) = ("lib_clenshaw.so", "_clenshaw.abi3.so");

/// Builds a wheel for Python 3.10 and later on any Linux with glibc 2.17; other arguments are passed to maturin.
pub fn wheel(arguments: &[String]) -> Result {
    let requirements = root().join(PACKAGE).join("requirements-build.txt");
    let environment = absolute(&target().join("python-build"));
    python::environment(&environment, &requirements)?;
    let mut build = Command::new(environment.join("bin/maturin"));
    build
        .args(["build", "--release", "--zig", "--compatibility", "manylinux2014", "--out"])
        .arg(absolute(&target().join("wheels")))
        .args(arguments)
        .env("PATH", path_with(&environment.join("bin")))
        .current_dir(root().join(PACKAGE));
    run_command(&mut build)
}

/// Installs what the tests of the package need; returns the environment's Python.
pub fn test_environment() -> Result<PathBuf, String> {
    let requirements = root().join(PACKAGE).join("requirements-test.txt");
    python::environment(&absolute(&target().join("python-test")), &requirements)
}

/// Copies the package and the module that was built for the tests; returns the folder to import from.
pub fn assemble() -> Result<PathBuf, String> {
    let folder = absolute(&target().join("python-package"));
    let package = folder.join("clenshaw");
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    if package.exists() {
        std::fs::remove_dir_all(&package).map_err(failed(&package))?;
    }
    copy_folder(&root().join(PACKAGE).join("python/clenshaw"), &package)?;
    let library = target().join("debug").join(LIBRARY.0);
    std::fs::copy(&library, package.join(LIBRARY.1)).map_err(failed(&library))?;
    Ok(folder)
}

/// The tests of the package; `long` adds those that take minutes.
pub fn pytest(python: &Path, package: &Path, long: bool) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    if !long {
        command.args(["-m", "not long"]);
    }
    let program = absolute(&target().join("debug/clenshaw"));
    command
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CLENSHAW_PROGRAM", program)
        .current_dir(root().join(PACKAGE));
    command
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (source, copy) = (entry.path(), to.join(entry.file_name()));
        match source.is_dir() {
            true if entry.file_name() == "__pycache__" => {}
            true => copy_folder(&source, &copy)?,
            false => drop(std::fs::copy(&source, &copy).map_err(failed)?),
        }
    }
    Ok(())
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// `PATH` with a folder in front.
fn path_with(folder: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path)
}
