//! The name and location of a study.

use crate::output;
use clenshaw::Result;
use clenshaw::experiment::Request;
use clenshaw_tune::StorageLocation;
use std::fmt;
use std::path::{Path, PathBuf};

/// Default folder of journals, and of the best settings of studies in databases.
const FOLDER: &str = "studies";

/// The name of a study and the file or database that stores it.
pub struct StudyLocation {
    pub name: String,
    /// The file or database; its `Display` form contains no password.
    pub location: StorageLocation,
}

impl StudyLocation {
    /// Parses the location; fails if it is an invalid database URL. By default, the location is a journal in
    /// [`FOLDER`], and the name is the journal's file name without its extension, or graph and model for a
    /// database.
    pub fn new(location: Option<&Path>, name: Option<&str>, request: &Request) -> Result<Self> {
        let journal = || Path::new(FOLDER).join(format!("{}.journal", request.label()));
        let location = StorageLocation::new(&location.map_or_else(journal, Path::to_owned))?;
        let default = match &location {
            StorageLocation::Journal(path) => file_stem(path),
            StorageLocation::Database(_) => request.label(),
        };
        Ok(Self { name: name.map_or(default, str::to_owned), location })
    }

    /// Returns the file for the best settings, see [`study_file`], and creates its folder.
    pub fn best_settings_file(&self) -> Result<PathBuf> {
        let file = study_file(&self.location, &self.name, "best.toml");
        output::create_folder(file.parent().unwrap_or(Path::new("")))?;
        Ok(file)
    }
}

/// Returns the path of a file about a study: `NAME.EXTENSION` beside the journal or, for a database, in
/// [`FOLDER`]. Slashes and backslashes in the name become hyphens.
pub fn study_file(location: &StorageLocation, name: &str, extension: &str) -> PathBuf {
    let folder = match location {
        StorageLocation::Journal(path) => path.parent().unwrap_or(Path::new("")),
        StorageLocation::Database(_) => Path::new(FOLDER),
    };
    folder.join(format!("{}.{extension}", name.replace(['/', '\\'], "-")))
}

/// `NAME in LOCATION`, or only the path of a journal if the study has the journal's default name.
impl fmt::Display for StudyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            StorageLocation::Journal(path) if file_stem(path) == self.name => {
                write!(f, "{}", self.location)
            }
            location => write!(f, "{} in {location}", self.name),
        }
    }
}

/// The file name without its extension.
fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
