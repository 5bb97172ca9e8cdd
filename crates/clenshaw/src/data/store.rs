//! The folders that are searched for data, and the cache of parsed graphs.
//!
//! Search order: the folder given by the user, `$CLENSHAW_DATA`, and the application's cache folder:
//! `clenshaw` in the user's cache folder.
//! In each of them, a data set is a folder and an imported graph is a file `NAME.graph`.
//!
//! Parsed graphs are cached in the subfolder `parsed` of `$CLENSHAW_CACHE` or, if it is not set, of the
//! application's cache folder, and memory-mapped the next time. The subfolder `precomputed` is for the terms of
//! precomputed filters that do not fit into memory. `CLENSHAW_CACHE=off` disables the cache.

use std::path::{Path, PathBuf};

/// The data folders in search order, and an optional cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folders: Vec<PathBuf>,
    /// The folder of the cached graphs; `None` without a cache.
    cache: Option<PathBuf>,
}

impl Store {
    /// Creates a store that searches `first` if given, then `$CLENSHAW_DATA`, then the application's cache
    /// folder.
    ///
    /// Parsed graphs are cached in the subfolder `parsed` of `$CLENSHAW_CACHE` or of the application's
    /// cache folder, unless the variable is `off`.
    pub fn new(first: Option<PathBuf>) -> Self {
        let variable = |name| std::env::var_os(name).filter(|path| !path.is_empty());
        let environment = variable("CLENSHAW_DATA").map(PathBuf::from);
        let cache = match variable("CLENSHAW_CACHE") {
            Some(word) if word == "off" => None,
            Some(folder) => Some(PathBuf::from(folder)),
            None => application_cache(),
        };
        let folders = first.into_iter().chain(environment).chain(application_cache());
        Self { folders: folders.collect(), cache: None }.with_cache(cache)
    }

    /// Creates a store that searches only this folder, without a cache.
    pub fn only(folder: impl Into<PathBuf>) -> Self {
        Self { folders: vec![folder.into()], cache: None }
    }

    /// Caches parsed graphs in the subfolder `parsed` of `folder`; `None` disables the cache.
    pub fn with_cache(self, folder: Option<PathBuf>) -> Self {
        Self { cache: folder.map(|folder| folder.join("parsed")), ..self }
    }

    /// Returns the first existing folder with this name, if any. `name` is the [`folder`] of a data set, not
    /// the name that users type.
    ///
    /// [`folder`]: super::FileDataset::folder
    pub fn dataset_folder(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir())
    }

    /// Returns the first existing file of the imported graph with this name, if any.
    pub fn imported_graph(&self, name: &str) -> Option<PathBuf> {
        let file = graph_file_name(name)?;
        self.folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file())
    }

    /// Returns the names and files of all imported graphs, sorted by name. If several folders contain a graph
    /// of the same name, only the first one in search order is listed.
    pub fn imported_graphs(&self) -> Vec<(String, PathBuf)> {
        let files = self.folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        let name =
            |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(EXTENSION)?.to_owned());
        let mut names: Vec<String> = paths.filter_map(|path| name(&path)).collect();
        names.sort();
        names.dedup();
        let found = |name: String| self.imported_graph(&name).map(|path| (name, path));
        names.into_iter().filter_map(found).collect()
    }

    /// Returns the folder that downloads and imports are written to: the first one searched, if any.
    pub fn primary_folder(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// Returns all folders in search order.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns the folder for the terms of precomputed filters, if there is a cache: `precomputed` next to
    /// `parsed`.
    pub fn precomputed_folder(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|parsed| parsed.with_file_name("precomputed"))
    }

    /// Returns the folder that contains the cached graphs, if there is a cache.
    pub fn cache_folder(&self) -> Option<&Path> {
        self.cache.as_deref()
    }
}

const EXTENSION: &str = ".graph";

/// Returns `NAME.graph`; `None` unless the name consists of letters, digits and `-_.` and does not start
/// with a dot.
pub fn graph_file_name(name: &str) -> Option<String> {
    let is_allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_valid = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_allowed);
    is_valid.then(|| name.to_owned() + EXTENSION)
}

/// Returns this application's cache folder by the conventions of Windows or, elsewhere, of XDG; `None` if the
/// home folder is unknown.
fn application_cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.cache_dir().join("clenshaw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_folder_with_the_dataset_is_used() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(b.path().join("texas")).unwrap();
        let store = Store { folders: vec![a.path().into(), b.path().into()], cache: None };
        assert_eq!(store.dataset_folder("texas"), Some(b.path().join("texas")));
        std::fs::create_dir(a.path().join("texas")).unwrap();
        assert_eq!(store.dataset_folder("texas"), Some(a.path().join("texas")));
        assert_eq!(store.dataset_folder("cornell"), None);
        assert_eq!(store.primary_folder(), Some(a.path()));
    }

    #[test]
    fn imported_graphs_are_found_by_plain_names_only() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in [a.path().join("mine.graph"), b.path().join("mine.graph")] {
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(b.path().join("a.b.graph"), "").unwrap();
        std::fs::write(b.path().join(".mine.graph"), "").unwrap();
        std::fs::create_dir(b.path().join("folder.graph")).unwrap();
        let store = Store { folders: vec![a.path().into(), b.path().into()], cache: None };
        let expected = [("a.b", b.path().join("a.b.graph")), ("mine", a.path().join("mine.graph"))];
        assert_eq!(store.imported_graphs(), expected.map(|(name, path)| (name.into(), path)));
        for name in ["", "../mine", "a/b", ".mine", "none", "folder"] {
            assert_eq!(store.imported_graph(name), None, "{name}");
        }
    }

    #[test]
    fn only_has_no_cache_by_default() {
        let store = Store::only("here");
        assert_eq!(store.cache_folder(), None);
        let store = store.with_cache(Some("there".into()));
        assert_eq!(store.cache_folder(), Some(Path::new("there/parsed")));
        assert_eq!(store.precomputed_folder(), Some(PathBuf::from("there/precomputed")));
        assert_eq!(store.folders(), [PathBuf::from("here")]);
    }
}
