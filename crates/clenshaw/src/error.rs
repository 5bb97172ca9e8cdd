//! What can go wrong in the outside world: one enum, its fields facts.
//!
//! A caller's broken contract inside the library (shapes that differ) panics instead.

use std::path::PathBuf;

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything the outside world can do to us: names, numbers, files, and training that blows up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that no list knows.
    #[error("unknown {kind} `{name}`;{} known: {}", suggestion(.nearest), .known.join(", "))]
    Unknown {
        /// What sort of name: `model`, `graph`, `key`, ...
        kind: &'static str,
        /// What came.
        name: String,
        /// The known name that looks most like it, if any does.
        nearest: Option<String>,
        /// All names that would work.
        known: Vec<String>,
    },
    /// A number outside its range.
    #[error("`{key}` is {value}, outside {allowed}")]
    OutOfRange {
        /// Whose value it is.
        key: String,
        /// What came.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A value that is not of the kind its key wants.
    #[error("`{key}` is `{value}`; expected {expected}")]
    BadValue {
        /// Whose value it is.
        key: String,
        /// What came.
        value: String,
        /// What would work.
        expected: String,
    },
    /// Data that does not hold together.
    #[error("{place}: {problem}")]
    Data {
        /// The file, graph or node where it was found.
        place: String,
        /// What came and what was expected.
        problem: String,
    },
    /// A public graph whose files are not on this machine.
    #[error("{graph}: its files are not here; looked for {}", folders(.looked))]
    Absent {
        /// The graph's name.
        graph: String,
        /// Where they could have been.
        looked: Vec<PathBuf>,
    },
    /// A place for a run folder that holds something else.
    #[error("{}: {holds}", .folder.display())]
    Occupied {
        /// The place.
        folder: PathBuf,
        /// What is there.
        holds: &'static str,
    },
    /// A run folder in which somebody else is at work.
    #[error("{}: another process trains here", .folder.display())]
    Busy {
        /// The run folder.
        folder: PathBuf,
    },
    /// A run folder without a finished run.
    #[error("{}: no finished run", .folder.display())]
    Unfinished {
        /// The run folder.
        folder: PathBuf,
    },
    /// A split that cannot be made from these labels.
    #[error("cannot make the split `{split}`: {problem}")]
    Split {
        /// The split as the user wrote it.
        split: String,
        /// What is missing.
        problem: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An error of a study or its storage.
    #[error(transparent)]
    Study(#[from] clenshaw_tune::Error),
    /// Training left the finite numbers.
    #[error("training diverged at epoch {epoch}: the {loss} is {value}; lower {lower}")]
    Diverged {
        /// The epoch in which it was noticed, counted from one.
        epoch: usize,
        /// `training loss` or `validation loss`.
        loss: &'static str,
        /// NaN or an infinity.
        value: f64,
        /// The learning rates to lower, with their present values.
        lower: String,
    },
    /// The caller asked to stop; what was finished is kept.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An unknown name, with the known one that looks most like it.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        let score = |candidate: &String| {
            strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase())
        };
        let nearest = known
            .iter()
            .max_by(|a, b| score(a).total_cmp(&score(b)))
            .filter(|candidate| score(candidate) > 0.75)
            .cloned();
        let name = name.to_owned();
        Self::Unknown { kind, name, nearest, known }
    }

    /// The same error, with the file in which the cause stands.
    pub fn within(self, place: &str) -> Self {
        Self::Data { place: place.into(), problem: self.to_string() }
    }

    /// Wraps a system error with the path it concerns.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Files are not here: none of them, or not all of a folder's.
    pub fn is_absence(&self) -> bool {
        match self {
            Self::Absent { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Wrong words or bad input, a file that is not there included, as opposed to a failure while
    /// running.
    pub fn is_input(&self) -> bool {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), NotFound | IsADirectory | NotADirectory)
            }
            Self::Study(error) => error.is_input(),
            Self::Busy { .. } | Self::Diverged { .. } | Self::Interrupted => false,
            _ => true,
        }
    }
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!(" did you mean `{name}`?"))
}

fn folders(looked: &[PathBuf]) -> String {
    let shown: Vec<String> = looked.iter().map(|folder| folder.display().to_string()).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_suggests_the_nearest_one() {
        let error = Error::unknown("model", "clenshaw", ["mlp", "gcn", "clenshaw-gcn"]);
        assert_eq!(
            error.to_string(),
            "unknown model `clenshaw`; did you mean `clenshaw-gcn`? known: mlp, gcn, clenshaw-gcn"
        );
        let error = Error::unknown("model", "xyz", ["mlp", "gcn"]);
        assert_eq!(error.to_string(), "unknown model `xyz`; known: mlp, gcn");
    }
}
