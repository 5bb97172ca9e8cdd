//! What to type after an error: the library says what is wrong, and we know the words.

use clenshaw::Error;

/// One line, where there is something to say.
pub fn hint(error: &Error) -> Option<String> {
    match error {
        Error::Absent { graph, .. } => Some(format!(
            "get them with `clenshaw data get {graph}`, or say where they are with --data or CLENSHAW_DATA"
        )),
        Error::Occupied { .. } => Some("choose another folder with --out, or remove it".into()),
        Error::Busy { .. } => {
            Some("wait for it to end, or choose another folder with --out".into())
        }
        Error::Unfinished { folder } => {
            let folder = folder.display();
            Some(format!(
                "finish one with `clenshaw train --config {folder}/run.toml --out {folder} --resume`"
            ))
        }
        Error::Data { place, .. } if place.starts_with("study `") => {
            Some("name another study with --study or --name, or go on with its own settings".into())
        }
        _ => None,
    }
}
