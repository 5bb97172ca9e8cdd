//! The page of a study.

use super::Subject;
use crate::output;
use crate::tune::study_file;
use clenshaw::data::Store;
use clenshaw::experiment::{Report, ReportedStudy};
use clenshaw::{Error, Result};
use clenshaw_tune::{Storage, StorageLocation};
use std::path::Path;

const SQLITE_HEADER: &[u8] = b"SQLite format 3\0";

/// Whether an argument names a study: a URL, an existing file, or a path that ends in `.journal`.
pub fn is_study(argument: &Path) -> bool {
    let is_url = argument.to_str().is_some_and(|text| text.contains("://"));
    is_url || argument.is_file() || argument.extension().is_some_and(|end| end == "journal")
}

/// Opens the storage of a study; `None` if the argument does not name a study, see [`is_study`]. Nothing is
/// created: a missing file, and a database without tables, are errors. Prints a warning if the argument contains
/// a password.
pub fn open_study(argument: &Path) -> Result<Option<(StorageLocation, Box<dyn Storage>)>> {
    if !is_study(argument) {
        return Ok(None);
    }
    let location = StorageLocation::new(argument)?;
    check_file(&location)?;
    output::warn_about_password(&location);
    let storage = location.open_existing()?;
    Ok(Some((location, storage)))
}

/// Builds the report on a study; an error if the study does not exist.
///
/// # Panics
/// If the argument does not name a study, see [`is_study`].
pub fn read(argument: &Path, name: Option<&str>, store: &Store) -> Result<Subject> {
    let opened = open_study(argument)?;
    let (location, storage) = opened.expect("the caller has checked that it is a study");
    let study = ReportedStudy { storage: storage.as_ref(), location: &location, name };
    let report = Report::from_study(&study, store)?;
    let name = report.study_name().unwrap_or_default();
    let default_file = study_file(&location, name, "html");
    Ok(Subject { report, default_file })
}

/// Fails if the file of a journal or SQLite database does not exist, or if a path without `sqlite:///` is an
/// SQLite database.
fn check_file(location: &StorageLocation) -> Result<()> {
    let Some(file) = location.file() else { return Ok(()) };
    let error = |problem: String| Error::Data { place: location.to_string(), problem };
    if !file.is_file() {
        let problem = "no such file; expected a study written by `clenshaw tune` or Optuna";
        return Err(error(problem.into()));
    }
    let is_journal = matches!(location, StorageLocation::Journal(_));
    if is_journal && starts_with(file, SQLITE_HEADER)? {
        let problem = format!("this is an SQLite database; pass sqlite:///{}", file.display());
        return Err(error(problem));
    }
    Ok(())
}

/// Whether a file starts with these bytes.
fn starts_with(file: &Path, header: &[u8]) -> Result<bool> {
    use std::io::Read;
    let mut start = vec![];
    let opened = std::fs::File::open(file).map_err(Error::io(file))?;
    opened.take(header.len() as u64).read_to_end(&mut start).map_err(Error::io(file))?;
    Ok(start == header)
}
