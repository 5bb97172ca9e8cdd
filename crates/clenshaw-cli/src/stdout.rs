//! Where results go; a reader who left early is an error like any other.

use clenshaw::{Error, Result};
use serde::Serialize;
use std::io::Write;

/// Writes text as it is.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Error::io("stdout"))
}

/// Writes one JSON document.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(document).expect("documents have text keys only");
    print(&(text + "\n"))
}
