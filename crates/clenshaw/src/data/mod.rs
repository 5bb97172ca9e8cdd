//! Data sets (embedded, generated or read from files) and train/validation/test splits.
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
mod scaler;
mod table;
mod feature_table;
mod class_labels;
pub mod schema;
mod dataset;
mod builder;
pub mod graph_file;
mod archive;
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
mod registry;

pub use crate::hyper::Scaling;
pub use builder::DatasetBuilder;
pub use dataset::{Dataset, FixedSplit, Metric};
pub use describe::Description;
pub use feature_table::{EncodedFeatures, FeatureTable};
pub use features::Features;
pub use registry::DATASETS;
pub use scaler::Scaler;
pub use schema::{Schema, TableOptions};
pub use split::{Split, SplitKind};
pub use store::{Store, graph_file_name};

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hyper::{HyperParam, Params, Value};
use read::Interpretation;
use std::path::{Path, PathBuf};

/// An entry of [`DATASETS`]: what a data set is and where it comes from.
#[derive(Debug)]
pub struct DatasetInfo {
    /// The name that users type to load it.
    pub name: &'static str,
    /// One-line description.
    pub title: &'static str,
    /// The paper that it is from or based on.
    pub paper: &'static str,
    /// Where the data comes from, for display.
    pub source: &'static str,
    /// Whether it is embedded, read from files or generated.
    pub origin: DatasetOrigin,
}

/// How a data set is obtained.
#[derive(Debug)]
pub enum DatasetOrigin {
    /// Compiled into the binary.
    Embedded {
        /// Decodes the embedded bytes.
        load: fn() -> Result<Dataset>,
        /// The published files, in the node order that the published splits use.
        published: &'static FileDataset,
    },
    /// Read from published files.
    Files(FileDataset),
    /// Generated at random.
    Generated {
        /// The generator's settings, including `seed`.
        hyper: &'static [HyperParam],
        /// Generates the data set with these settings.
        generate: fn(&Params) -> Result<Dataset>,
    },
}

/// A data set that is read from published files.
#[derive(Debug)]
pub struct FileDataset {
    /// Folder name inside the data folder.
    pub folder: &'static str,
    /// The name of the data set as it appears in its file names.
    pub file_name: &'static str,
    /// Licence of the data.
    pub licence: &'static str,
    /// Names of the published splits, for display: `public, geom:0 to geom:9`, or `none`.
    pub splits: &'static str,
    /// The metric that papers report on this data set.
    pub metric: Metric,
    /// Known problems with the data, shown when it is loaded.
    pub warnings: &'static [&'static str],
    /// Reads the data set from its folder; the second argument is `file_name`.
    pub read: fn(&Path, &str) -> Result<Dataset>,
}

impl FileDataset {
    /// Returns all files that the result of reading may depend on, whether or not they exist: the
    /// contents of the folder and of its subfolder `splits`, and the files of the manifest.
    fn sources(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let listed = fetch::manifest(self.folder)?.files.iter();
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

/// The setting `seed`, which every generator has.
const SEED: HyperParam = HyperParam::int("seed", 0, (0, i64::MAX), "random seed");

impl DatasetInfo {
    /// Returns how the data set is obtained: `embedded`, `generated` or `files`.
    pub fn kind(&self) -> &'static str {
        match self.origin {
            DatasetOrigin::Embedded { .. } => "embedded",
            DatasetOrigin::Generated { .. } => "generated",
            DatasetOrigin::Files(_) => "files",
        }
    }

    /// Returns its published files; `None` for a generated data set.
    pub fn files(&self) -> Option<&FileDataset> {
        match &self.origin {
            DatasetOrigin::Embedded { published, .. } => Some(published),
            DatasetOrigin::Generated { .. } => None,
            DatasetOrigin::Files(files) => Some(files),
        }
    }

    /// Returns the settings of the generator; empty unless the data set is generated.
    pub fn hyper(&self) -> &'static [HyperParam] {
        match self.origin {
            DatasetOrigin::Generated { hyper, .. } => hyper,
            _ => &[],
        }
    }

    /// Reads the data set from its files, or from the store's cache if they have not changed.
    fn read(&self, store: &Store, files: &FileDataset) -> Result<Dataset> {
        let folder =
            store.dataset_folder(files.folder).ok_or_else(|| self.not_found(store, files))?;
        let sources = files.sources(&folder)?;
        let read = || {
            let mut dataset = (files.read)(&folder, files.file_name)?;
            dataset.warnings.extend(fetch::changed_files(fetch::manifest(files.folder)?, &folder));
            Ok(dataset)
        };
        let source = cache::CacheSource { name: self.name, path: &folder, files: &sources };
        let mut dataset = cache::load_or_read(store.cache_folder(), &source, read)?;
        (dataset.name, dataset.source) = (self.name.into(), self.source.into());
        dataset.metric = files.metric;
        dataset.warnings.extend(files.warnings.iter().map(ToString::to_string));
        dataset.checked()
    }

    /// The error for a data set whose folder is in none of the store's folders.
    fn not_found(&self, store: &Store, files: &FileDataset) -> Error {
        let searched = store.folders().iter().map(|folder| folder.join(files.folder)).collect();
        Error::MissingFiles { graph: self.name.into(), searched }
    }

    /// Builds a generated data set; loading its name, which contains all settings that differ from the
    /// defaults, generates it again.
    fn build_generated(
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

/// Formats a count: `1 node has` or `2 nodes have`.
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns an error if there are fewer than two nodes per class on average.
fn check_classes(n_classes: usize, n_nodes: usize) -> Result<()> {
    let max_classes = n_nodes / 2;
    let too_many = || Error::OutOfRange {
        key: "classes".into(),
        value: n_classes.to_string(),
        allowed: format!("2 to {max_classes} for {n_nodes} nodes"),
    };
    (n_classes <= max_classes).then_some(()).ok_or_else(too_many)
}

/// Returns an error if a graph has too many nodes for node numbers of type `u32`; the error refers to
/// the graph as `place`.
fn check_node_count(place: &str, n_nodes: usize) -> Result<()> {
    let problem = || format!("{n_nodes} nodes; expected at most {}", u32::MAX);
    let too_many = |_| Error::Data { place: place.into(), problem: problem() };
    u32::try_from(n_nodes).map(drop).map_err(too_many)
}

/// Returns the entry of [`DATASETS`] with this name; an error if there is none.
pub fn find(name: &str) -> Result<&'static DatasetInfo> {
    let entry = DATASETS.iter().find(|info| info.name == name);
    entry.ok_or_else(|| Error::unknown("graph", name, DATASETS.iter().map(|i| i.name)))
}

/// What a graph argument refers to.
#[derive(Clone, Debug)]
pub enum ResolvedGraph {
    /// An entry of [`DATASETS`], with or without settings after a colon.
    Known(&'static DatasetInfo),
    /// A path to the user's own files.
    Path,
    /// A graph that was imported under this name, and its file.
    Imported(PathBuf),
}

/// Resolves a graph argument: first a known name, then an existing path, then an imported graph; an error if
/// it is none of these.
pub fn resolve(store: &Store, text: &str) -> Result<ResolvedGraph> {
    let name = text.split(':').next().unwrap_or(text);
    if let Ok(info) = find(name) {
        return Ok(ResolvedGraph::Known(info));
    }
    if Path::new(text).exists() {
        return Ok(ResolvedGraph::Path);
    }
    if let Some(path) = store.imported_graph(text) {
        return Ok(ResolvedGraph::Imported(path));
    }
    if text.contains(['/', '\\']) {
        std::fs::metadata(text).map_err(Error::io(text))?;
    }
    let imports = store.imported_graphs();
    let imports = imports.iter().map(|(name, _)| &**name).filter(|name| find(name).is_err());
    Err(Error::unknown("graph", name, DATASETS.iter().map(|info| info.name).chain(imports)))
}

/// Loads a data set by name or path; a generated one accepts settings after a colon.
///
/// Uses the default folders and cache, `Store::new(None)`.
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

/// Loads a data set by name or path, as [`load`] does, from this store.
///
/// Graphs parsed from files are written to the store's cache, if it has one, and memory-mapped the next time.
pub fn load_from(store: &Store, text: &str) -> Result<Dataset> {
    load_as(store, text, Interpretation::default())
}

/// Loads a data set as [`load_from`] does. `interpretation` applies to the user's own files; for a built-in data
/// set or a graph file, table options only cause a warning.
///
/// With [`Interpretation::Stored`], labels are optional, so [`Dataset::checked`] may reject the result.
pub fn load_as(store: &Store, text: &str, interpretation: Interpretation) -> Result<Dataset> {
    let info = match resolve(store, text)? {
        ResolvedGraph::Known(info) => info,
        ResolvedGraph::Path => return load_path(store, Path::new(text), interpretation),
        ResolvedGraph::Imported(path) => {
            let mut dataset = Dataset { name: text.into(), ..graph_file::open(&path)? };
            dataset.warnings.extend(unused_options(interpretation));
            return Ok(dataset);
        }
    };
    let mut dataset = load_known(store, info, text)?;
    dataset.warnings.extend(unused_options(interpretation));
    if Path::new(text).is_dir() && read::source_files(Path::new(text)).is_ok() {
        let note = format!(
            "`{text}` refers to the built-in data set; to use your folder with this name, write `./{text}`"
        );
        dataset.notes.push(note);
    }
    Ok(dataset)
}

/// Loads an entry of [`DATASETS`]; `text` is its name, with settings after a colon. Settings are an error
/// unless the data set is generated.
fn load_known(store: &Store, info: &DatasetInfo, text: &str) -> Result<Dataset> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    match &info.origin {
        DatasetOrigin::Generated { hyper, generate } => {
            return generate(&settings_of(hyper, settings)?);
        }
        _ if !settings.is_empty() => {}
        DatasetOrigin::Embedded { load, .. } => return load(),
        DatasetOrigin::Files(files) => return info.read(store, files),
    }
    let expected = format!("`{name}` without settings; only generated graphs have settings");
    Err(Error::BadValue { key: "graph".into(), value: text.into(), expected })
}

/// Returns a warning if table options are set, for graphs to which they do not apply.
fn unused_options(interpretation: Interpretation) -> Option<String> {
    match interpretation {
        Interpretation::Inferred(options) if *options != TableOptions::default() => Some(
            "the column options have no effect: this graph is not read from a node table".into(),
        ),
        _ => None,
    }
}

/// Loads a user's own files, or their cached result if they have not changed. Options that are not set are taken
/// from the schema file, if there is one. The cache is not used for graph files or with a stored schema.
fn load_path(store: &Store, path: &Path, interpretation: Interpretation) -> Result<Dataset> {
    if read::format(path) == "graph file" {
        let mut dataset = read::read_path(path, interpretation)?.checked()?;
        dataset.warnings.extend(unused_options(interpretation));
        return Ok(dataset);
    }
    let Interpretation::Inferred(options) = interpretation else {
        return read::read_path(path, interpretation);
    };
    let (stated, schema_file) = read::read_schema_file(path)?;
    let options = options.clone().or(stated);
    let mut files = read::source_files(path)?;
    files.extend(schema_file.clone());
    // Cache entries are distinguished by name, so the name includes the options.
    let name = match options == TableOptions::default() {
        true => path.display().to_string(),
        false => format!("{} {options:?}", path.display()),
    };
    let source = cache::CacheSource { name: &name, path, files: &files };
    let read = || {
        let mut dataset = read::read_path(path, Interpretation::Inferred(&options))?;
        let used = schema_file.map(|file| format!("options read from {}", file.display()));
        dataset.notes.splice(0..0, used);
        Ok(dataset)
    };
    let dataset = cache::load_or_read(store.cache_folder(), &source, read)?;
    Dataset { name: path.display().to_string(), ..dataset }.checked()
}

/// Loads a data set in the node order that its published splits use.
///
/// This differs from [`load_from`] only for embedded data sets, which are then read from the published
/// files.
pub fn load_published(store: &Store, text: &str) -> Result<Dataset> {
    match find(text) {
        Ok(info @ DatasetInfo { origin: DatasetOrigin::Embedded { published, .. }, .. }) => {
            info.read(store, published)
        }
        _ => load_from(store, text),
    }
}

/// Parses settings of a generator, `key=value,key=value`; the others keep their defaults. An error if a key is
/// unknown or a value is invalid.
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
mod tests;
