//! Suggests what to do after an error.

use clenshaw::data::DATASETS;
use clenshaw::{Error, FolderConflict};

/// Returns a one-line suggestion; `None` for errors that have none.
pub fn hint(error: &Error) -> Option<String> {
    match error {
        Error::MissingFiles { graph, .. } => Some(format!(
            "download them with `clenshaw data get {graph}`, \
             or set their folder with --data or CLENSHAW_DATA"
        )),
        // `data get`, `reproduce --only` and `auto --without` accept only some of the known graphs, and no paths.
        Error::Unknown { kind: "graph", nearest: None, known, .. }
            if known.len() >= DATASETS.len() =>
        {
            Some("to use your own files, pass the path of an existing folder or file".into())
        }
        Error::NoLabelColumn { .. } => {
            Some("choose the column with the classes: --label COLUMN".into())
        }
        Error::Occupied { problem: FolderConflict::Data, .. } => Some(
            "delete the earlier results with --fresh, or choose another folder with --out".into(),
        ),
        Error::Occupied { problem: FolderConflict::PortableBits, .. } => Some(
            "rerun with --portable, delete the earlier results with --fresh, \
             or choose another folder with --out"
                .into(),
        ),
        Error::Occupied { problem: FolderConflict::VectorBits, .. } => Some(
            "rerun without --portable and without CLENSHAW_CPU=portable, \
             delete the earlier results with --fresh, or choose another folder with --out"
                .into(),
        ),
        Error::Occupied { problem: FolderConflict::Settings, .. } => {
            Some("choose another folder with --out, or delete this one".into())
        }
        // Do not suggest deleting files that the program did not write.
        Error::Occupied {
            problem: FolderConflict::File | FolderConflict::OtherContent, ..
        } => Some("choose another folder with --out".into()),
        Error::Busy { .. } => {
            Some("wait until that process finishes, or choose another folder with --out".into())
        }
        Error::FolderLost { .. } => Some(
            "rerun the same command, and do not delete the folder until it has finished".into(),
        ),
        Error::Unfinished { folder } => {
            let folder = folder.display();
            Some(format!(
                "finish one with `clenshaw train --config {folder}/run.toml --out {folder}`"
            ))
        }
        Error::Data { place, .. } if place.starts_with("study `") => Some(
            "choose another study with --study or --name, or use the settings of this one".into(),
        ),
        _ => None,
    }
}
