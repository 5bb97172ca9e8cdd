//! Where a person says that studies are: the path of a journal, or the URL of a database.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use super::Relational;
use super::{Address, Journal, Storage};
use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// A place for studies. What it shows is without a password.
///
/// ```
/// use clenshaw_tune::Place;
/// let place: Place = "postgresql://me:secret@host/studies".parse()?;
/// assert_eq!(place.to_string(), "postgresql://me:***@host/studies");
/// # Ok::<(), clenshaw_tune::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A journal file.
    Journal(PathBuf),
    /// A database.
    Database(Address),
}

impl Place {
    /// What somebody wrote.
    pub fn new(text: &Path) -> Result<Self> {
        match text.to_str().filter(|text| text.contains("://")) {
            Some(url) => Address::parse(url).map(Self::Database),
            None => Ok(Self::Journal(text.to_owned())),
        }
    }

    /// The file that it is, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Journal(path) => Some(path),
            Self::Database(address) => address.file(),
        }
    }

    /// Opens it; folders that a file stands in are made.
    pub fn open(&self) -> Result<Box<dyn Storage>> {
        if let Some(folder) = self.file().and_then(Path::parent) {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        Ok(match self {
            Self::Journal(path) => Box::new(Journal::open(path)?),
            #[cfg(any(feature = "postgres", feature = "sqlite"))]
            Self::Database(address) => Box::new(Relational::open(address.clone())?),
            #[cfg(not(any(feature = "postgres", feature = "sqlite")))]
            Self::Database(address) => return Err(address.unsupported()),
        })
    }
}

impl std::str::FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(Path::new(text))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(path) => write!(f, "{}", path.display()),
            Self::Database(address) => write!(f, "{address}"),
        }
    }
}
