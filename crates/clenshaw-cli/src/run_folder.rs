//! Finds run folders by path, name, prefix or `latest`.

use clenshaw::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder in which `clenshaw train` creates run folders by default.
pub const RUNS: &str = "runs";
/// The argument that selects the newest run folder.
const LATEST: &str = "latest";

/// Returns the run folder that an argument refers to: a path, a name in `runs` or one of its direct
/// subfolders, an unambiguous prefix of such a name, or `latest`. If several folders have exactly this name,
/// the first one by path is returned. Fails if there is no such folder or the prefix is ambiguous.
pub fn find(argument: &Path) -> Result<PathBuf> {
    if argument.join("run.toml").is_file() {
        return Ok(argument.to_owned());
    }
    let place = argument.display().to_string();
    let all = list(Path::new(RUNS))?;
    if place == LATEST {
        let newest = all.into_iter().max_by_key(|folder| modified(folder));
        let none = || error(&place, format!("there are no runs in `{RUNS}` yet"));
        return newest.ok_or_else(none);
    }
    let starts = |folder: &PathBuf| name(folder).starts_with(&place) && !place.is_empty();
    let mut matching: Vec<PathBuf> = all.into_iter().filter(starts).collect();
    if let Some(exact) = matching.iter().find(|folder| name(folder) == place) {
        return Ok(exact.clone());
    }
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 if argument.exists() => Err(error(
            &place,
            "no run.toml; expected a run folder, as written by `clenshaw train`".into(),
        )),
        0 => Err(error(
            &place,
            format!("no such run folder; expected a path, a name in `{RUNS}` or `{LATEST}`"),
        )),
        _ => {
            let names: Vec<String> = matching.iter().map(|folder| name(folder)).collect();
            Err(error(&place, format!("several runs have this prefix: {}", names.join(", "))))
        }
    }
}

/// Returns the run folders in a folder, sorted by path; if the path is `runs`, also those in its direct
/// subfolders, such as `runs/compare`. A folder that does not exist has none; one that cannot be read is an error.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(Error::io(folder))?,
    };
    for entry in entries {
        let path = entry.map_err(Error::io(folder))?.path();
        if path.join("run.toml").is_file() {
            found.push(path);
        } else if path.is_dir() && folder == Path::new(RUNS) {
            found.extend(list(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

/// When the summary of a run folder was written or, without a summary, when training last started in it, by the
/// times of the files; `None` if unknown.
pub fn modified(folder: &Path) -> Option<SystemTime> {
    let time = |file: &str| fs::metadata(folder.join(file)).and_then(|file| file.modified()).ok();
    time("summary.json").or_else(|| time("data.json")).or_else(|| time("run.toml"))
}

/// The name of a run folder.
pub fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The error for an argument that does not name one run folder.
fn error(place: &str, problem: String) -> Error {
    Error::Data { place: place.into(), problem }
}
