//! Errors of studies and their storages.

use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a study or its storage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its range.
    #[error("`{key}` is {value}, outside {allowed}")]
    OutOfRange {
        /// The name of the value.
        key: String,
        /// The value.
        value: String,
        /// The allowed range.
        allowed: String,
    },
    /// A value that is not accepted.
    #[error("`{key}` is `{value}`; expected {expected}")]
    BadValue {
        /// The name of the value.
        key: String,
        /// The value.
        value: String,
        /// The values that are accepted.
        expected: String,
    },
    /// A storage that is invalid or cannot fulfil the request, for example because of its contents, its
    /// permissions or a missing cargo feature.
    #[error("{location}: {problem}")]
    Data {
        /// The file, possibly with a line, or the database without its password.
        location: String,
        /// What is wrong.
        problem: String,
    },
    /// An attempt to change a finished trial.
    #[error("{location}: trial {number} of study `{study}` is finished")]
    TrialFinished {
        /// The file or database, without its password.
        location: String,
        /// The name of the study.
        study: String,
        /// The number of the trial.
        number: u64,
    },
    /// A lock that other workers did not release in time; the same call may succeed later.
    #[error("{}: {}", .path.display(), lock_timeout(.seconds))]
    LockTimeout {
        /// The lock.
        path: PathBuf,
        /// How long the call waited, in seconds.
        seconds: u64,
    },
    /// An error that the operating system reported for a file or folder.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A database that cannot be reached or is locked; the same call may succeed later.
    #[error("{location}: {problem}")]
    Unavailable {
        /// The database, without its password.
        location: String,
        /// The reason.
        problem: String,
    },
}

impl Error {
    /// Returns a function that adds this path to a system error.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Whether the likely cause of the error is the input (a wrong value, a missing file, an invalid storage),
    /// as opposed to a failure while running.
    pub fn is_input(&self) -> bool {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), NotFound | IsADirectory | NotADirectory)
            }
            Self::TrialFinished { .. } | Self::LockTimeout { .. } | Self::Unavailable { .. } => {
                false
            }
            Self::OutOfRange { .. } | Self::BadValue { .. } | Self::Data { .. } => true,
        }
    }
}

/// The message of [`Error::LockTimeout`], without the path.
fn lock_timeout(seconds: &u64) -> String {
    format!(
        "other workers have held this lock for {seconds} s; use fewer workers, or remove it if no worker is \
         running"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_while_running_are_not_input_errors() {
        let location = || "s.journal".to_owned();
        let finished = Error::TrialFinished { location: location(), study: "s".into(), number: 3 };
        let locked = Error::LockTimeout { path: "s.journal.lock".into(), seconds: 600 };
        assert_eq!(
            locked.to_string(),
            "s.journal.lock: other workers have held this lock for 600 s; use fewer workers, or remove it if \
             no worker is running"
        );
        let unavailable = Error::Unavailable { location: location(), problem: "stopped".into() };
        assert!([finished, locked, unavailable].iter().all(|error| !error.is_input()));
        let invalid = Error::Data { location: location(), problem: "is a folder".into() };
        assert!(invalid.is_input());
    }
}
