//! Where words go: results to stdout or a file somebody named, everything else to stderr.

use clenshaw::{Error, Result};
use serde::Serialize;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes text to stdout as it is; a reader who left early is an error like any other.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::io("stdout"))
}

/// Writes one JSON document to stdout.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    print(&json(document))
}

/// A document as text, indented.
pub fn json(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("documents have text keys only") + "\n"
}

/// Writes a line to stderr; if nobody listens there, nobody minds.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes a text as [`save_bytes`] does.
pub fn save(path: &Path, text: &str) -> Result<()> {
    save_bytes(path, text.as_bytes())
}

/// Writes beside, then renames: nobody ever sees half a file.
pub fn save_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.map_err(Error::io(path))
}
