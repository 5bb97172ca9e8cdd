//! Graphs to learn from: embedded, generated, or read from files; and how their nodes are split.
//!
//! ```
//! let cora = clenshaw::data::load("cora")?;
//! assert_eq!((cora.graph.n_nodes(), cora.n_classes()), (2708, 7));
//!
//! let split = "balanced".parse::<clenshaw::data::SplitKind>()?.draw(&cora, 0)?;
//! assert_eq!((split.train().len(), split.val().len(), split.test().len()), (1557, 542, 609));
//! # Ok::<(), clenshaw::Error>(())
//! ```

mod fingerprint;
mod features;
mod dataset;
pub mod graph_file;
pub mod split;
pub mod read;
mod store;
mod cache;
mod describe;
pub mod check;
pub mod fetch;
mod gaussian;
mod cora;
mod csbm;
mod grid;
mod power_law;
mod public;

pub use crate::hyper::Scaling;
pub use dataset::{Dataset, FixedSplit, Metric};
pub use describe::Description;
pub use features::Features;
pub use split::{Split, SplitKind};
pub use store::{Store, graph_file_name};

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hyper::{HyperParam, Params, TuningSpace, Value};
use std::path::{Path, PathBuf};

/// Every data set we know by name.
pub static DATASETS: &[&DatasetInfo] = &[
    &cora::INFO,      // Sen et al. 2008
    &csbm::INFO,      // Deshpande et al. 2018
    &grid::INFO,      // after Shuman et al. 2013
    &power_law::INFO, // Barabasi & Albert 1999
    &public::CITESEER,
    &public::PUBMED,
    &public::CHAMELEON,
    &public::SQUIRREL,
    &public::ACTOR,
    &public::TEXAS,
    &public::CORNELL,
    &public::CORNELL_CORRECTED,
    &public::WISCONSIN,
    &public::CHAMELEON_FILTERED,
    &public::SQUIRREL_FILTERED,
    &public::MINESWEEPER,
    &public::TOLOKERS,
    &public::ROMAN_EMPIRE,
    &public::AMAZON_RATINGS,
    &public::QUESTIONS,
    &public::TWITCH_GAMERS,
    &public::PENN94,
    &public::CORNELL5,
];

/// What a data set's file says about it.
#[derive(Debug)]
pub struct DatasetInfo {
    /// The word people type.
    pub name: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Who described it first.
    pub paper: &'static str,
    /// Where our copy comes from, with its licence.
    pub source: &'static str,
    /// How it comes into being.
    pub origin: Origin,
}

/// How a data set comes into being.
#[derive(Debug)]
pub enum Origin {
    /// It travels inside the binary.
    Embedded {
        /// Unpacks it.
        load: fn() -> Result<Dataset>,
        /// The files whose order of nodes its published splits refer to.
        published: &'static Files,
    },
    /// It is read from files that somebody published.
    Files(Files),
    /// It is drawn at random.
    Generated {
        /// What can be set, `seed` included.
        hyper: &'static [HyperParam],
        /// Draws it.
        generate: fn(&Params) -> Result<Dataset>,
    },
}

/// A data set in files.
#[derive(Debug)]
pub struct Files {
    /// Its folder below the data folder.
    pub folder: &'static str,
    /// On what terms it may be used.
    pub licence: &'static str,
    /// The splits that come with it.
    pub splits: &'static str,
    /// What its papers measure.
    pub metric: Metric,
    /// What a user should know before trusting results on it.
    pub warnings: &'static [&'static str],
    /// Reads its folder.
    pub read: fn(&Path) -> Result<Dataset>,
}

impl Files {
    /// What reading a folder may depend on: all that is in it, and what is listed beside it.
    fn sources(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let listed = fetch::find(self.folder)?.files.iter();
        let mut sources: Vec<PathBuf> =
            listed.map(|file| folder.with_file_name(&file.path)).collect();
        for folder in [folder.to_owned(), folder.join("splits")] {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            sources.extend(entries.map(|entry| entry.path()).filter(|path| !path.is_dir()));
        }
        sources.sort();
        sources.dedup();
        Ok(sources)
    }
}

/// The key every generator has.
const SEED: HyperParam = HyperParam::int(
    "seed",
    0,
    (0, i64::MAX),
    TuningSpace::Fixed,
    "which of the many random graphs with these settings",
);

impl DatasetInfo {
    /// `embedded`, `generated` or `files`.
    pub fn kind(&self) -> &'static str {
        match self.origin {
            Origin::Embedded { .. } => "embedded",
            Origin::Generated { .. } => "generated",
            Origin::Files(_) => "files",
        }
    }

    /// Its files, if it has any.
    pub fn files(&self) -> Option<&Files> {
        match &self.origin {
            Origin::Embedded { published, .. } => Some(published),
            Origin::Generated { .. } => None,
            Origin::Files(files) => Some(files),
        }
    }

    /// The keys that can be set; none unless it is generated.
    pub fn hyper(&self) -> &'static [HyperParam] {
        match self.origin {
            Origin::Generated { hyper, .. } => hyper,
            _ => &[],
        }
    }

    /// Reads its files, or what the store kept of them.
    fn read(&self, store: &Store, files: &Files) -> Result<Dataset> {
        let folder = store.find(files.folder).ok_or_else(|| self.absent(store, files))?;
        let sources = files.sources(&folder)?;
        let read = || (files.read)(&folder);
        let origin = cache::Origin { name: self.name, place: &folder, sources: &sources };
        let mut dataset = cache::through(store.parsed(), &origin, read)?;
        (dataset.name, dataset.source) = (self.name.into(), self.source.into());
        dataset.metric = files.metric;
        dataset.warnings.extend(files.warnings.iter().map(ToString::to_string));
        dataset.checked()
    }

    fn absent(&self, store: &Store, files: &Files) -> Error {
        let looked = store.folders().iter().map(|folder| folder.join(files.folder)).collect();
        Error::Absent { graph: self.name.into(), looked }
    }

    /// What a generator drew, with a name that draws it again.
    fn generated(
        &self,
        params: &Params,
        graph: Graph,
        x: Features,
        classes: &[u32],
    ) -> Result<Dataset> {
        let setting = |(hyper, value): (&HyperParam, Value)| format!("{}={value}", hyper.name);
        let all: Vec<String> = params.iter().map(setting).collect();
        let changed = params.iter().filter(|(hyper, value)| hyper.default != *value);
        let changed: Vec<String> = changed.map(setting).collect();
        let name = match &changed[..] {
            [] => self.name.to_owned(),
            changed => format!("{}:{}", self.name, changed.join(",")),
        };
        let y = classes.iter().copied().map(Some).collect();
        let class_names = (0..params.int("classes")).map(|class| class.to_string()).collect();
        let source = format!("generated by {} with {}", self.name, all.join(", "));
        Dataset { source, ..Dataset::new(name, graph, x, y, class_names) }.checked()
    }
}

/// Refuses generated classes of fewer than two nodes.
fn check_classes(n_classes: usize, n_nodes: usize) -> Result<()> {
    let most = n_nodes / 2;
    let too_many = || Error::OutOfRange {
        key: "classes".into(),
        value: n_classes.to_string(),
        allowed: format!("2..={most} for {n_nodes} nodes"),
    };
    (n_classes <= most).then_some(()).ok_or_else(too_many)
}

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static DatasetInfo> {
    let entry = DATASETS.iter().find(|info| info.name == name);
    entry.copied().ok_or_else(|| Error::unknown("graph", name, DATASETS.iter().map(|i| i.name)))
}

/// What somebody's words mean.
#[derive(Clone, Debug)]
pub enum Named {
    /// An entry of [`DATASETS`], with settings behind a colon or without.
    Known(&'static DatasetInfo),
    /// A path to files of the user's own.
    Path,
    /// A graph that was imported under this name.
    Imported(PathBuf),
}

/// What somebody's words mean: first a known name, then a path that exists, then an imported graph.
pub fn named(store: &Store, text: &str) -> Result<Named> {
    let name = text.split(':').next().unwrap_or(text);
    if let Ok(info) = find(name) {
        return Ok(Named::Known(info));
    }
    if Path::new(text).exists() {
        return Ok(Named::Path);
    }
    if let Some(path) = store.imported(text) {
        return Ok(Named::Imported(path));
    }
    if text.contains(['/', '\\']) {
        std::fs::metadata(text).map_err(Error::io(text))?;
    }
    let imports = store.imports();
    let imports = imports.iter().map(|(name, _)| &**name).filter(|name| find(name).is_err());
    Err(Error::unknown("graph", name, DATASETS.iter().map(|info| info.name).chain(imports)))
}

/// The data set somebody typed: a name, and for generated ones settings after a colon.
///
/// Files are looked for, and what was read from them is kept, as [`Store::new`] says.
///
/// ```
/// let small = clenshaw::data::load("csbm:nodes=500,homophily=0.3,seed=7")?;
/// assert_eq!(small.graph.n_nodes(), 500);
/// let error = clenshaw::data::load("coar").unwrap_err().to_string();
/// assert!(error.starts_with("unknown graph `coar`; did you mean `cora`?"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn load(text: &str) -> Result<Dataset> {
    load_from(&Store::new(None), text)
}

/// The same, with files looked for in this store; a path to the user's own files is a name, too.
///
/// What is read from files is kept in the store's cache, if it has one, and mapped the next time.
pub fn load_from(store: &Store, text: &str) -> Result<Dataset> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let info = match named(store, text)? {
        Named::Known(info) => info,
        Named::Path => return own(store, Path::new(text)),
        Named::Imported(path) => {
            return Ok(Dataset { name: text.into(), ..graph_file::open(&path)? });
        }
    };
    match &info.origin {
        Origin::Generated { hyper, generate } => return generate(&settings_of(hyper, settings)?),
        _ if !settings.is_empty() => {}
        Origin::Embedded { load, .. } => return load(),
        Origin::Files(files) => return info.read(store, files),
    }
    let expected = format!("`{name}` alone, which has nothing to set");
    Err(Error::BadValue { key: "graph".into(), value: text.into(), expected })
}

/// A user's own files, or what the store kept of them.
fn own(store: &Store, path: &Path) -> Result<Dataset> {
    let read = || read::own(path);
    if read::format(path) == "graph file" {
        return read()?.checked();
    }
    let (name, sources) = (&*path.display().to_string(), &*read::sources(path)?);
    let origin = cache::Origin { name, place: path, sources };
    cache::through(store.parsed(), &origin, read)?.checked()
}

/// The same, in the order of nodes to which its published splits refer.
pub fn load_published(store: &Store, text: &str) -> Result<Dataset> {
    match find(text) {
        Ok(info @ DatasetInfo { origin: Origin::Embedded { published, .. }, .. }) => {
            info.read(store, published)
        }
        _ => load_from(store, text),
    }
}

/// Reads `key=value,key=value`.
fn settings_of(hyper: &'static [HyperParam], settings: &str) -> Result<Params> {
    let mut params = Params::defaults(hyper);
    for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
        let (key, value) = setting.split_once('=').ok_or_else(|| Error::BadValue {
            key: "graph".into(),
            value: setting.into(),
            expected: "`key=value`".into(),
        })?;
        params.set(key.trim(), value.trim())?;
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        load(text).unwrap_err().to_string()
    }

    #[test]
    fn every_entry_loads_and_its_name_loads_it_again() {
        for info in DATASETS.iter().filter(|info| info.kind() != "files") {
            let dataset = load(info.name).unwrap();
            assert_eq!(dataset.name, info.name);
            assert!(dataset.class_sizes().iter().all(|&size| size > 0), "{}", info.name);
            assert_eq!(load(info.name).unwrap().sha256(), dataset.sha256());
            assert_eq!(std::ptr::from_ref(find(info.name).unwrap()), *info as *const _);
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_is_no_unknown_name() {
        assert_eq!(refused("my/graph"), "my/graph: No such file or directory (os error 2)");
    }

    #[test]
    fn absent_files_say_where_they_were_looked_for() {
        let error = load_from(&Store::only("/nowhere"), "texas").unwrap_err().to_string();
        assert_eq!(error, "texas: files not found; looked in /nowhere/texas");
        let error = load_published(&Store::only("/nowhere"), "cora").unwrap_err().to_string();
        assert!(error.ends_with("looked in /nowhere/cora"), "{error}");
    }

    #[test]
    fn own_files_are_parsed_once_and_again_when_they_change() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text| std::fs::write(folder.path().join(name), text).unwrap();
        write("edges.csv", "ann,bob\nbob,cid\n");
        write("nodes.csv", "id,age,label,split\nann,31,tea,train\nbob,27,coffee,test\ncid,45,,\n");
        let plain = Store::only("nowhere");
        let caching = plain.clone().with_cache(Some(folder.path().join("cache")));
        for path in [folder.path().to_owned(), folder.path().join("edges.csv")] {
            let path = path.to_str().unwrap();
            let fresh = load_from(&plain, path).unwrap();
            assert_eq!((fresh.graph.n_edges(), fresh.splits.len()), (2, 1));
            assert_eq!(load_from(&caching, path).unwrap(), fresh);
            assert_eq!(load_from(&caching, path).unwrap(), fresh);
        }
        let parsed = caching.parsed().unwrap();
        assert_eq!(parsed.read_dir().unwrap().count(), 2);
        write("edges.csv", "ann,bob\nbob,cid\nann,cid\n");
        let path = folder.path().to_str().unwrap();
        assert_eq!(load_from(&caching, path).unwrap().graph.n_edges(), 3);
        assert_eq!(parsed.read_dir().unwrap().count(), 2);
    }

    #[test]
    fn imported_graphs_have_names_behind_known_ones_and_paths() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::only(folder.path());
        let csbm = load("csbm:nodes=60").unwrap();
        for name in ["mine.graph", "cora.graph"] {
            graph_file::save(&csbm, &folder.path().join(name)).unwrap();
        }
        let mine = load_from(&store, "mine").unwrap();
        assert_eq!(mine, Dataset { name: "mine".into(), ..csbm.clone() });
        assert_eq!(load_from(&store, "cora").unwrap().graph.n_nodes(), 2708);
        let path = folder.path().join("cora.graph").display().to_string();
        assert_eq!(load_from(&store, &path).unwrap(), Dataset { name: path.clone(), ..csbm });
        let error = load_from(&store, "mime").unwrap_err().to_string();
        assert!(error.starts_with("unknown graph `mime`; did you mean `mine`?"), "{error}");
        assert!(error.ends_with(", mine"), "{error}");
    }

    #[test]
    fn seeds_and_settings_make_other_graphs_with_other_names() {
        for info in DATASETS.iter().filter(|info| info.kind() == "generated") {
            let text = format!("{}:seed=3,features=5", info.name);
            let dataset = load(&text).unwrap();
            assert_eq!(dataset.name, format!("{}:features=5,seed=3", info.name));
            assert_eq!(load(&dataset.name).unwrap().sha256(), dataset.sha256());
            assert_eq!(dataset.x.n_cols(), 5);
            let other = load(&format!("{}:seed=4,features=5", info.name)).unwrap();
            assert_ne!(other.sha256(), dataset.sha256());
        }
    }

    #[test]
    fn wrong_words_are_answered_with_the_right_ones() {
        let unknown =
            "unknown graph `coar`; did you mean `cora`? known: cora, csbm, grid, power-law,";
        assert!(refused("coar").starts_with(unknown), "{}", refused("coar"));
        assert_eq!(
            refused("csbm:homophly=0.1"),
            "unknown key `homophly`; did you mean `homophily`? \
             known: nodes, classes, degree, homophily, features, signal, seed"
        );
        assert_eq!(refused("csbm:homophily=2"), "`homophily` is 2, outside 0..=1");
        assert_eq!(refused("csbm:nodes"), "`graph` is `nodes`; expected `key=value`");
        assert_eq!(
            refused("cora:seed=1"),
            "`graph` is `cora:seed=1`; expected `cora` alone, which has nothing to set"
        );
        assert_eq!(
            refused("grid:rows=3,columns=3,classes=5"),
            "`classes` is 5, outside 2..=4 for 9 nodes"
        );
    }
}
