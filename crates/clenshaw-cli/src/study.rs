//! A study's name and place, as `clenshaw tune` takes and shows them.

use clenshaw::experiment::Request;
use clenshaw::{Error, Result};
use clenshaw_tune::Place;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// Where studies, or at least their best settings, are unless somebody says otherwise.
const FOLDER: &str = "studies";

/// A study and where it is.
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its place, which shows no password.
    pub place: Place,
}

impl Named {
    /// What somebody asked for: a place and a name, each with what is usual.
    pub fn new(place: Option<&Path>, name: Option<&str>, request: &Request) -> Result<Self> {
        let default = || Path::new(FOLDER).join(format!("{}.journal", request.label()));
        let place = Place::new(&place.map_or_else(default, Path::to_owned))?;
        let usual = match &place {
            Place::Journal(path) => {
                path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Place::Database(_) => request.label(),
        };
        Ok(Self { name: name.map_or(usual, str::to_owned), place })
    }

    /// Where its best settings are written: beside a journal; for a database in our folder, which is
    /// made.
    pub fn best(&self) -> Result<PathBuf> {
        let folder = match &self.place {
            Place::Journal(path) => path.parent().unwrap_or(Path::new("")),
            Place::Database(_) => Path::new(FOLDER),
        };
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        Ok(folder.join(format!("{}.best.toml", self.name.replace(['/', '\\'], "-"))))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Journal(_) => write!(f, "{}", self.place),
            Place::Database(_) => write!(f, "{} in {}", self.name, self.place),
        }
    }
}
