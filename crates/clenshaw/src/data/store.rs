//! Where files are looked for, and where parsed graphs are kept.
//!
//! First in the folder somebody names, then in `$CLENSHAW_DATA`, then in the user's cache folder.
//! Below it each data set has a folder of its own, and each imported graph a file `NAME.graph`.
//!
//! What was read from other files is kept in the user's cache folder, under `parsed`, and mapped the
//! next time; `$CLENSHAW_CACHE` names another folder, or is `off`.

use std::path::{Path, PathBuf};

/// Folders in the order in which they are searched, and a cache or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folders: Vec<PathBuf>,
    parsed: Option<PathBuf>,
}

impl Store {
    /// `first` if given, then the environment's folder, then the user's cache.
    ///
    /// Graphs that are read from files are kept in `$CLENSHAW_CACHE`, or in the user's cache folder,
    /// unless that variable is `off`.
    pub fn new(first: Option<PathBuf>) -> Self {
        let variable = |name| std::env::var_os(name).filter(|path| !path.is_empty());
        let environment = variable("CLENSHAW_DATA").map(PathBuf::from);
        let cache = match variable("CLENSHAW_CACHE") {
            Some(word) if word == "off" => None,
            Some(folder) => Some(PathBuf::from(folder)),
            None => user_cache(),
        };
        let folders = first.into_iter().chain(environment).chain(user_cache());
        Self { folders: folders.collect(), parsed: None }.with_cache(cache)
    }

    /// One folder and no other, and nothing is kept.
    pub fn only(folder: impl Into<PathBuf>) -> Self {
        Self { folders: vec![folder.into()], parsed: None }
    }

    /// The same, but parsed graphs are kept below this folder, or not at all.
    pub fn with_cache(self, folder: Option<PathBuf>) -> Self {
        Self { parsed: folder.map(|folder| folder.join("parsed")), ..self }
    }

    /// The folder of a data set, where one exists.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir())
    }

    /// The file of an imported graph, where one exists.
    pub fn imported(&self, name: &str) -> Option<PathBuf> {
        let file = graph_file_name(name)?;
        self.folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file())
    }

    /// All imported graphs: names in order, each with its file.
    pub fn imports(&self) -> Vec<(String, PathBuf)> {
        let files = self.folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        let name =
            |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(ENDING)?.to_owned());
        let mut names: Vec<String> = paths.filter_map(|path| name(&path)).collect();
        names.sort();
        names.dedup();
        let found = |name: String| self.imported(&name).map(|path| (name, path));
        names.into_iter().filter_map(found).collect()
    }

    /// Where a data set's folder is made when it is fetched, and an imported graph's file.
    pub fn home(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// All folders, for messages.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Where parsed graphs are kept, if they are.
    pub fn parsed(&self) -> Option<&Path> {
        self.parsed.as_deref()
    }
}

const ENDING: &str = ".graph";

/// `NAME.graph`, if the name is a plain word: letters, digits and `-_.`, but no dot at its beginning.
pub fn graph_file_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_word = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
    is_word.then(|| name.to_owned() + ENDING)
}

/// The user's cache folder, as the system's conventions have it.
fn user_cache() -> Option<PathBuf> {
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
        let store = Store { folders: vec![a.path().into(), b.path().into()], parsed: None };
        assert_eq!(store.find("texas"), Some(b.path().join("texas")));
        std::fs::create_dir(a.path().join("texas")).unwrap();
        assert_eq!(store.find("texas"), Some(a.path().join("texas")));
        assert_eq!(store.find("cornell"), None);
        assert_eq!(store.home(), Some(a.path()));
    }

    #[test]
    fn imported_graphs_are_files_with_plain_names() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in [a.path().join("mine.graph"), b.path().join("mine.graph")] {
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(b.path().join("a.b.graph"), "").unwrap();
        std::fs::write(b.path().join(".mine.graph"), "").unwrap();
        std::fs::create_dir(b.path().join("folder.graph")).unwrap();
        let store = Store { folders: vec![a.path().into(), b.path().into()], parsed: None };
        let expected = [("a.b", b.path().join("a.b.graph")), ("mine", a.path().join("mine.graph"))];
        assert_eq!(store.imports(), expected.map(|(name, path)| (name.into(), path)));
        for name in ["", "../mine", "a/b", ".mine", "none", "folder"] {
            assert_eq!(store.imported(name), None, "{name}");
        }
    }

    #[test]
    fn a_single_folder_keeps_nothing_unless_told() {
        let store = Store::only("here");
        assert_eq!(store.parsed(), None);
        let store = store.with_cache(Some("there".into()));
        assert_eq!(store.parsed(), Some(Path::new("there/parsed")));
        assert_eq!(store.folders(), [PathBuf::from("here")]);
    }
}
