//! The location of a storage: the path of a journal or the URL of a database.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use super::RdbStorage;
use super::{DatabaseUrl, JournalStorage, Storage};
use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// The location of a storage, parsed from a path or URL. Its `Display` form contains no password.
///
/// ```
/// use clenshaw_tune::StorageLocation;
/// let location: StorageLocation = "postgresql://me:secret@host/studies".parse()?;
/// assert_eq!(location.to_string(), "postgresql://me:***@host/studies");
/// # Ok::<(), clenshaw_tune::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageLocation {
    /// A journal file.
    Journal(PathBuf),
    /// A database.
    Database(DatabaseUrl),
}

impl StorageLocation {
    /// Parses a location: text that contains `://` is a database URL, anything else a journal path.
    ///
    /// # Errors
    /// If a URL is invalid; see [`DatabaseUrl::parse`].
    pub fn new(text: &Path) -> Result<Self> {
        match text.to_str().filter(|text| text.contains("://")) {
            Some(url) => DatabaseUrl::parse(url).map(Self::Database),
            None => Ok(Self::Journal(text.to_owned())),
        }
    }

    /// The file of a journal or SQLite database; `None` for a server.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Journal(path) => Some(path),
            Self::Database(url) => url.file(),
        }
    }

    /// Whether the location is a URL with a password.
    pub fn contains_password(&self) -> bool {
        matches!(self, Self::Database(url) if url.contains_password())
    }

    /// Opens the storage. Parent folders, SQLite files and tables are created if they do not exist; a missing
    /// journal is created by the first write.
    ///
    /// # Errors
    /// If the storage cannot be opened or is invalid, or if the crate was built without support for the
    /// database.
    pub fn open(&self) -> Result<Box<dyn Storage>> {
        self.file().map_or(Ok(()), check_kind)?;
        if let Some(folder) = self.file().and_then(Path::parent) {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        Ok(match self {
            Self::Journal(path) => Box::new(JournalStorage::open(path)?),
            #[cfg(any(feature = "postgres", feature = "sqlite"))]
            Self::Database(url) => Box::new(RdbStorage::open(url.clone())?),
            #[cfg(not(any(feature = "postgres", feature = "sqlite")))]
            Self::Database(url) => return Err(url.unsupported()),
        })
    }

    /// Opens the storage without creating a folder, file or table.
    ///
    /// # Errors
    /// As for [`Self::open`], and if the file or the tables do not exist.
    pub fn open_existing(&self) -> Result<Box<dyn Storage>> {
        if let Some(file) = self.file() {
            check_kind(file)?;
            std::fs::metadata(file).map_err(Error::io(file))?;
        }
        Ok(match self {
            Self::Journal(path) => Box::new(JournalStorage::open(path)?),
            #[cfg(any(feature = "postgres", feature = "sqlite"))]
            Self::Database(url) => Box::new(RdbStorage::open_existing(url.clone())?),
            #[cfg(not(any(feature = "postgres", feature = "sqlite")))]
            Self::Database(url) => return Err(url.unsupported()),
        })
    }
}

/// Fails if a path is a folder, a pipe or a device: opening a pipe would wait for another process.
pub(super) fn check_kind(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(Error::Data {
            location: path.display().to_string(),
            problem: "is a folder, a pipe or a device; expected a regular file".into(),
        }),
        _ => Ok(()),
    }
}

impl std::str::FromStr for StorageLocation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(Path::new(text))
    }
}

impl fmt::Display for StorageLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(path) => write!(f, "{}", path.display()),
            Self::Database(url) => write!(f, "{url}"),
        }
    }
}
