//! Where files are looked for.
//!
//! First in the folder somebody names, then in `$CLENSHAW_DATA`, then in the user's cache folder.
//! Below it each data set has a folder of its own.

use std::path::{Path, PathBuf};

/// Folders in the order in which they are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folders: Vec<PathBuf>,
}

impl Store {
    /// `first` if given, then the environment's folder, then the user's cache.
    pub fn new(first: Option<PathBuf>) -> Self {
        let environment = std::env::var_os("CLENSHAW_DATA").filter(|path| !path.is_empty());
        let folders = first.into_iter().chain(environment.map(PathBuf::from)).chain(cache());
        Self { folders: folders.collect() }
    }

    /// One folder and no other.
    pub fn only(folder: impl Into<PathBuf>) -> Self {
        Self { folders: vec![folder.into()] }
    }

    /// The folder of a data set, where one exists.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir())
    }

    /// Where a data set's folder is made when it is fetched.
    pub fn home(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// All folders, for messages.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

/// The user's cache folder, as the system's conventions have it.
fn cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.cache_dir().join("clenshaw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_it_wins() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(b.path().join("texas")).unwrap();
        let store = Store { folders: vec![a.path().into(), b.path().into()] };
        assert_eq!(store.find("texas"), Some(b.path().join("texas")));
        std::fs::create_dir(a.path().join("texas")).unwrap();
        assert_eq!(store.find("texas"), Some(a.path().join("texas")));
        assert_eq!(store.find("cornell"), None);
        assert_eq!(store.home(), Some(a.path()));
    }
}
