//! Formats numbers and lists, and writes results to stdout or a file, and messages to stderr.

use clenshaw::files::write_atomically;
use clenshaw::report::Statistic;
use clenshaw::{Error, Result};
use clenshaw_tune::StorageLocation;
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes text to stdout; a closed pipe is returned as an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::io("stdout"))
}

/// Formats a document as indented JSON with a final newline.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("documents have text keys only") + "\n"
}

/// Writes a line to stderr; an error, such as a closed stderr, is ignored.
pub fn message(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a warning if the location of a study contains a password.
pub fn warn_about_password(location: &StorageLocation) {
    if location.contains_password() {
        message(
            "warning: other users of this machine can see the password in the list of processes; save it in \
             ~/.pgpass or PGPASSWORD instead",
        );
    }
}

/// Formats warnings, one per line.
pub fn warnings<'a>(warnings: impl IntoIterator<Item = &'a String>) -> String {
    warnings.into_iter().map(|warning| format!("warning: {warning}\n")).collect()
}

/// Formats labels and values in two aligned columns, one pair per line.
pub fn fields<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<(&str, String)> = fields.into_iter().collect();
    let width = fields.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    fields.iter().map(|(label, value)| format!("{label:width$}  {value}\n")).collect()
}

/// Joins names with commas, or returns `none`.
pub fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Formats a count with its noun: `1 run`, `2 runs`.
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats a fraction as a percentage with two decimals, without the percent sign.
pub fn percent(fraction: f64) -> String {
    format!("{:.2}", 100.0 * fraction)
}

/// Formats mean and standard deviation in percent, such as `91.80 ± 3.94`; for a single run, only the
/// score.
pub fn mean_and_std(statistic: Statistic, n_runs: usize) -> String {
    match n_runs {
        1 => percent(statistic.mean),
        _ => format!("{} ± {}", percent(statistic.mean), percent(statistic.std)),
    }
}

/// Writes a file atomically.
pub fn save(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    write_atomically(path, [content.as_ref()])
}

/// Creates a lock file if necessary and waits for its lock, which is released when the file is dropped.
/// Does not lock if the file system does not support it.
pub fn lock(path: &Path) -> Result<fs::File> {
    let file = fs::File::create(path).map_err(Error::io(path))?;
    match file.lock() {
        Err(error) if error.kind() != std::io::ErrorKind::Unsupported => {
            Err(Error::io(path)(error))
        }
        _ => Ok(file),
    }
}

/// Creates a folder and its parents.
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(Error::io(path))
}
