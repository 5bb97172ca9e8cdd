//! Optuna, PostgreSQL, scikit-learn, Chromium and axe-core for the tests that need them.
//!
//! Such tests are marked `#[ignore]` for a plain `cargo test`. Environment variables name the folders of the
//! programs they need.

use crate::Result;
use crate::cargo::{cargo, root, run_command, target};
use crate::python;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python environments: the variable with the path of each, its folder in the target folder, and its
/// requirements. The first two are for versions of Optuna; the third writes graphs, with scikit-learn.
const ENVIRONMENTS: [(&str, &str, &str); 3] = [
    ("CLENSHAW_OPTUNA4", "optuna/4", "crates/clenshaw-tune/tests/optuna/requirements-4.txt"),
    ("CLENSHAW_OPTUNA5", "optuna/5", "crates/clenshaw-tune/tests/optuna/requirements-5.txt"),
    (
        "CLENSHAW_PYTHON_GRAPHS",
        "python-graphs",
        "crates/clenshaw-cli/tests/python/requirements.txt",
    ),
];

/// A package that contains axe-core.
const AXE: &str = "axe-playwright-python==0.1.8";

/// Parent of the folders in which Debian installs the versions of PostgreSQL.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The variables that tests read.
pub type Variables = Vec<(&'static str, PathBuf)>;

/// Runs the tests that need Optuna, PostgreSQL or scikit-learn; the arguments are passed to the tests.
pub fn run(arguments: &[String]) -> Result {
    let variables = prepare()?;
    let mut command = cargo(&["test", "--workspace", "--", "--ignored", "--skip", "long::"]);
    run_command(command.args(arguments).envs(variables))
}

/// Installs Optuna, PostgreSQL, scikit-learn, Chromium and axe-core if they are missing, and returns the variables
/// with their paths.
pub fn prepare() -> Result<Variables, String> {
    let mut variables =
        vec![("CLENSHAW_POSTGRES", postgres()?), ("CLENSHAW_CHROMIUM", chromium()?)];
    for (variable, folder, requirements) in ENVIRONMENTS {
        let folder = target().join(folder);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        python::environment(&folder, &root().join(requirements))
            .map_err(|error| format!("{requirements}: {error}"))?;
        variables.push((variable, folder));
    }
    let python = variables.last().map(|(_, folder)| folder.join("bin/python"));
    variables.push(("CLENSHAW_AXE", axe(&python.unwrap_or_else(|| "python3".into()))?));
    Ok(variables)
}

/// Returns the path of axe-core, which checks the accessibility of pages. A package on PyPI contains it; the
/// package's dependencies are not installed.
fn axe(python: &Path) -> Result<PathBuf, String> {
    let folder = target().join(AXE.replace("==", "-"));
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let file = folder.join("axe_playwright_python/axe.min.js");
    if !file.exists() {
        eprintln!("   installing axe-core");
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let mut command = Command::new(python);
        command.args(install).args(["--no-deps", "--target"]).arg(&folder).arg(AXE);
        python::output(&mut command).map_err(|error| format!("{AXE}: {error}"))?;
    }
    file.exists().then_some(file).ok_or_else(|| format!("{AXE} does not contain axe.min.js"))
}

/// Returns the path of Chromium; installs it if it is missing.
fn chromium() -> Result<PathBuf, String> {
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = ["chromium", "chromium-browser", "google-chrome"];
        let paths = std::env::split_paths(&path)
            .flat_map(|folder| programs.map(|program| folder.join(program)));
        paths.into_iter().find(|path| path.exists())
    };
    find()
        .or_else(|| {
            apt_install("chromium");
            find()
        })
        .ok_or_else(|| "Chromium is missing; run `apt-get install chromium`".into())
}

/// Returns the folder of `initdb` and `pg_ctl`; installs PostgreSQL if it is missing.
fn postgres() -> Result<PathBuf, String> {
    if let Some(folder) = find_postgres() {
        return Ok(folder);
    }
    apt_install("postgresql");
    find_postgres().ok_or_else(|| {
        "PostgreSQL is missing; run `apt-get install postgresql`, or add the folder of `initdb` to PATH"
            .into()
    })
}

/// Tries to install a Debian package; without root this fails silently.
pub fn apt_install(package: &str) {
    eprintln!("   installing {package}");
    let apt = |arguments: &[&str]| python::output(Command::new("apt-get").args(arguments));
    let install = || apt(&["install", "--yes", "--quiet", package]);
    if install().is_err() {
        // The package lists may be out of date.
        let _ = apt(&["update", "--quiet"]).and_then(|_| install());
    }
}

/// The folder of the programs, in `PATH` or where Debian installs them.
fn find_postgres() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(debian_folders(Path::new(DEBIAN)));
    // `initdb` in PATH may be a link; the server is looked up beside it.
    let programs = ["initdb", "pg_ctl", "postgres"];
    folders.find(|folder| programs.iter().all(|program| folder.join(program).exists()))
}

/// The program folders of all installed versions, newest first.
fn debian_folders(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let version = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse::<u32>().ok()).unwrap_or(0)
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(version(path)));
    folders.into_iter().map(|path| path.join("bin")).collect()
}
