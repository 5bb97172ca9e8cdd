//! PostgreSQL's programs, with which tests start servers of their own.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian puts them, a folder a version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of `initdb` and its kin; they are installed if that can be done.
pub fn programs() -> Outcome<PathBuf> {
    if let Some(folder) = found() {
        return Ok(folder);
    }
    eprintln!("   installing PostgreSQL");
    let apt = |words: &[&str]| Command::new("apt-get").args(words).status();
    let install = || apt(&["install", "--yes", "--quiet", "postgresql"]);
    if !install().is_ok_and(|status| status.success()) {
        // Its lists may be old; if it is not there at all, neither will work.
        let _ = apt(&["update", "--quiet"]).and_then(|_| install());
    }
    found().ok_or_else(|| {
        "PostgreSQL's programs are not here; install them (`apt-get install postgresql`), or put the \
         folder of `initdb` into PATH"
            .into()
    })
}

fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).chain(versions(Path::new(DEBIAN)));
    // A name in PATH may be a link to where the others are.
    let whole =
        |folder: &PathBuf| ["initdb", "pg_ctl"].iter().all(|name| folder.join(name).exists());
    all.filter(whole).find(|folder| folder.join("postgres").exists())
}

/// The folders of programs, the newest version first.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse::<u32>().ok()).unwrap_or(0)
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(number(path)));
    folders.into_iter().map(|path| path.join("bin")).collect()
}
