//! The error type of the library.
//!
//! Errors are caused by input (files, names, numbers), by the system, or by training that diverges. A
//! violated precondition, such as matrices of different shapes, panics instead.

use std::path::PathBuf;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a path cannot be used as the folder of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderConflict {
    /// The path is a file.
    #[error("is a file, not a folder")]
    File,
    /// The folder contains other files.
    #[error("is not empty and has no run.toml")]
    OtherContent,
    /// The folder belongs to a run with other settings.
    #[error("contains a run with different settings")]
    Settings,
    /// The folder contains runs on another version of the data, or with other splits.
    #[error("contains runs on different data or splits")]
    Data,
    /// The folder contains portable runs, but this process uses vector instructions.
    #[error("contains runs with portable instructions")]
    PortableBits,
    /// The folder contains runs with vector instructions, but this process is portable.
    #[error("contains runs with vector instructions (avx2 or avx512)")]
    VectorBits,
}

/// An error caused by input, the system or diverging training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that does not exist.
    #[error("unknown {kind} `{name}`;{} known: {}", suggestion(.nearest), .known.join(", "))]
    Unknown {
        /// The kind of name: `model`, `graph`, `key`, ...
        kind: &'static str,
        /// The given name.
        name: String,
        /// The most similar known name, if any is similar.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A number outside its range.
    #[error("`{key}` is {value}, outside {allowed}")]
    OutOfRange {
        /// The name of the setting.
        key: String,
        /// The given value.
        value: String,
        /// The allowed range.
        allowed: String,
    },
    /// A value of the wrong kind.
    #[error("`{key}` is `{value}`; expected {expected}")]
    BadValue {
        /// The name of the setting.
        key: String,
        /// The given value.
        value: String,
        /// The expected kind.
        expected: String,
    },
    /// Data that is malformed or inconsistent.
    #[error("{place}: {problem}")]
    Data {
        /// The file, graph or node.
        place: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// A node table in which no column has one of the names by which labels are recognised.
    #[error("{place}: no label column; expected one named `label` or `class`, or `target` or `y` without decimal numbers; columns: {}", .columns.join(", "))]
    NoLabelColumn {
        /// The node table.
        place: String,
        /// The names of its columns.
        columns: Vec<String>,
    },
    /// A public graph whose files are not on this machine.
    #[error("{graph}: files not found; looked in {}", join_paths(.searched))]
    MissingFiles {
        /// The graph's name.
        graph: String,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
    },
    /// A path that cannot be used as a run folder because of its contents.
    #[error("{}: {problem}", .folder.display())]
    Occupied {
        /// The path.
        folder: PathBuf,
        /// Why it cannot be used.
        problem: FolderConflict,
    },
    /// A run folder that another process is using.
    #[error("{}: another process is training in this folder", .folder.display())]
    Busy {
        /// The run folder.
        folder: PathBuf,
    },
    /// A run folder that no longer exists, or is another folder, when results are to be written to it.
    #[error("{}: this folder was deleted or replaced during the run; results could not be written", .folder.display())]
    FolderLost {
        /// The run folder.
        folder: PathBuf,
    },
    /// A run folder whose results differ from those of training again.
    #[error("{}: training again does not give the stored results", .folder.display())]
    NotReproduced {
        /// The run folder.
        folder: PathBuf,
    },
    /// A run folder without a finished run.
    #[error("{}: no finished run", .folder.display())]
    Unfinished {
        /// The run folder.
        folder: PathBuf,
    },
    /// A split that cannot be made for this data set.
    #[error("cannot make the split `{split}`: {problem}")]
    Split {
        /// The split as the user wrote it.
        split: String,
        /// The reason.
        problem: String,
    },
    /// A file operation that failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// An error of a study or its storage.
    #[error(transparent)]
    Study(#[from] clenshaw_tune::Error),
    /// A loss that is not finite.
    #[error("training diverged at epoch {epoch}: the {loss} is {value}; lower {lower}")]
    Diverged {
        /// The epoch, counted from one.
        epoch: usize,
        /// `training loss` or `validation loss`.
        loss: &'static str,
        /// NaN or an infinity.
        value: f64,
        /// The learning rates to lower, with their current values.
        lower: String,
    },
    /// A model, graph or file that needs more memory than there is.
    #[error("{}", out_of_memory(.what, .needed, .available, .limit, .advice))]
    OutOfMemory {
        /// What needs the memory.
        what: String,
        /// The bytes that it needs.
        needed: u64,
        /// The bytes that are available, if known.
        available: Option<u64>,
        /// The limit that they were compared with.
        limit: &'static str,
        /// What to do.
        advice: String,
    },
    /// The caller cancelled the operation; finished parts are kept.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// [`Error::Unknown`] with the most similar known name.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        let lower = name.to_lowercase();
        // One edit in a short name, such as `gnc` for `gcn`, has a low Jaro-Winkler similarity.
        let score = |candidate: &String| {
            let candidate = candidate.to_lowercase();
            let one_edit = lower.len() > 2 && strsim::osa_distance(&lower, &candidate) == 1;
            f64::from(one_edit) + strsim::jaro_winkler(&lower, &candidate)
        };
        let nearest = known
            .iter()
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .filter(|candidate| score(candidate) > 0.75)
            .cloned();
        let name = name.to_owned();
        Self::Unknown { kind, name, nearest, known }
    }

    /// [`Error::Data`] with the message of this error; `place` is the file in which it occurred.
    pub fn with_place(self, place: &str) -> Self {
        Self::Data { place: place.into(), problem: self.to_string() }
    }

    /// Returns a function that converts a system error to [`Error::Io`] with this path, for `map_err`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Returns whether a file was not found.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::MissingFiles { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Returns whether this training run cannot succeed with its hyper-parameters, while others may: it
    /// diverged, or does not fit into memory.
    pub fn is_due_to_settings(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::OutOfMemory { .. })
    }

    /// Returns whether the input is at fault (wrong arguments, bad data or a missing file), as opposed to a
    /// failure while running.
    pub fn is_input(&self) -> bool {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), NotFound | IsADirectory | NotADirectory)
            }
            Self::Study(error) => error.is_input(),
            Self::Busy { .. }
            | Self::FolderLost { .. }
            | Self::NotReproduced { .. }
            | Self::Diverged { .. }
            | Self::OutOfMemory { .. }
            | Self::Interrupted => false,
            _ => true,
        }
    }
}

fn out_of_memory(
    what: &str,
    needed: &u64,
    available: &Option<u64>,
    limit: &str,
    advice: &str,
) -> String {
    let gigabytes = |bytes: u64| format!("{:.2} GB", bytes as f64 / 1e9);
    let available = match available {
        Some(bytes) => format!("{} are available", gigabytes(*bytes)),
        None => "the system did not provide them".to_owned(),
    };
    format!("{what} needs {}, but {available} ({limit}); {advice}", gigabytes(*needed))
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!(" did you mean `{name}`?"))
}

fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_name_suggests_the_most_similar() {
        let error = Error::unknown("model", "clenshaw", ["mlp", "gcn", "clenshaw-gcn"]);
        assert_eq!(
            error.to_string(),
            "unknown model `clenshaw`; did you mean `clenshaw-gcn`? known: mlp, gcn, clenshaw-gcn"
        );
        let error = Error::unknown("model", "gnc", ["mlp", "gcn", "gcnii"]);
        assert!(error.to_string().starts_with("unknown model `gnc`; did you mean `gcn`?"));
        let error = Error::unknown("model", "xyz", ["mlp", "gcn"]);
        assert_eq!(error.to_string(), "unknown model `xyz`; known: mlp, gcn");
    }
}
