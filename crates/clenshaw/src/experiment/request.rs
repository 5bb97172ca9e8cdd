//! Training requests: what to train, on which graph and with which settings.

use super::{Config, preset};
use crate::data::read::Interpretation;
use crate::data::{self, Dataset, ResolvedGraph, Split, SplitKind, Store, TableOptions};
use crate::error::{Error, Result};
use crate::hyper::{Params, Scaling};
use crate::model::{self, ModelInfo};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// What to train: a graph, a model, its hyper-parameters, the split and the seeds.
#[derive(Clone, Debug)]
pub struct Request {
    /// The graph, in command-line syntax.
    pub graph: String,
    /// The model.
    pub model: &'static ModelInfo,
    /// How nodes are divided into training, validation and test nodes.
    pub split: SplitKind,
    /// Number of runs.
    pub runs: usize,
    /// Seed of the first run; run `i` has `seed + i`.
    pub seed: u64,
    /// The hyper-parameters, within the model's ranges.
    pub hyper: Params,
    /// How to use the columns of the user's node and edge tables.
    pub table: TableOptions,
}

impl Request {
    /// A request for one run with seed 0, a balanced split and the model's default hyper-parameters; fails if
    /// the model is unknown.
    ///
    /// The graph is not looked up.
    pub fn new(graph: &str, model: &str) -> Result<Self> {
        let model = model::find(model)?;
        let (graph, hyper, table) = (graph.to_owned(), model.defaults(), TableOptions::default());
        Ok(Self { graph, model, split: SplitKind::Balanced, runs: 1, seed: 0, hyper, table })
    }

    /// Loads a user's own graph, given by a path or imported, and sets its default split and scaling. The split
    /// is the one that comes with the graph, `all` if there are several, or `stratified` if there is none;
    /// the scaling is [`Scaling::Standard`]. For a data set of the registry, nothing is loaded or changed.
    ///
    /// A path is normalised, so that different spellings of it share a run folder. Fails if the graph is
    /// unknown, or if a user's own graph cannot be loaded.
    pub fn apply_graph_defaults(&mut self, store: &Store) -> Result<()> {
        match data::resolve(store, &self.graph)? {
            ResolvedGraph::Known(_) => return Ok(()),
            ResolvedGraph::Path => self.graph = normalise_path(&self.graph),
            ResolvedGraph::Imported(_) => {}
        }
        self.split = SplitKind::default_for(&self.load(store)?);
        self.hyper.set_value("scaling", Scaling::Standard.word())
    }

    /// Whether the model has the preset `paper`, with settings for this graph or for all graphs.
    pub fn has_preset(&self) -> bool {
        preset::preset("paper", self.model, base_name(&self.graph)).is_ok()
    }

    /// Applies the preset of this name, see [`preset_names`](super::preset_names). Fails, without a change, if
    /// the name is unknown or the model has no preset that applies to the graph.
    pub fn apply_preset(&mut self, name: &str) -> Result<()> {
        for (key, value) in preset::preset(name, self.model, base_name(&self.graph))? {
            self.set(&key, &value)?;
        }
        Ok(())
    }

    /// Applies the settings of a file, except its graph and model. Fails if the split or a hyper-parameter is
    /// invalid; the settings before it have then been applied.
    pub fn apply(&mut self, config: &Config) -> Result<()> {
        self.runs = config.runs.unwrap_or(self.runs);
        self.seed = config.seed.unwrap_or(self.seed);
        self.table = config.table.clone().or(std::mem::take(&mut self.table));
        let hyper = config.hyper.iter().map(|(key, value)| (key.as_str(), value));
        let mut settings = config.split.iter().map(|split| ("split", split)).chain(hyper);
        let set = settings.try_for_each(|(key, value)| self.set(key, value));
        set.map_err(|error| error.with_place(&config.place))
    }

    /// Sets one hyper-parameter, or the key `split`, from text. Fails if the key is unknown or the value
    /// invalid.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if key == "split" {
            self.split = value.parse()?;
            return Ok(());
        }
        self.hyper.set(key, value)
    }

    /// Loads the graph; for published splits, with the node order they refer to. Fails if the graph is
    /// unknown, or if its files are missing or invalid.
    pub fn load(&self, store: &Store) -> Result<Dataset> {
        match data::resolve(store, &self.graph)? {
            ResolvedGraph::Known(_) if self.split.is_published() => {
                data::load_published(store, &self.graph)
            }
            _ => data::load_as(store, &self.graph, Interpretation::Inferred(&self.table)),
        }
    }

    /// The seeds of the runs.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.runs as u64).map(move |i| first + i)
    }

    /// Draws one split per run. Fails if the split cannot be drawn from the data set.
    pub fn splits(&self, dataset: &Dataset) -> Result<Vec<Split>> {
        self.seeds().map(|seed| self.split.draw(dataset, seed)).collect()
    }

    /// Fails if the number of runs or the seed is out of range.
    pub fn check(&self) -> Result<()> {
        let out_of_range = |key: &str, value: String, allowed: &str| Error::OutOfRange {
            key: key.into(),
            value,
            allowed: allowed.into(),
        };
        if !(1..=100_000).contains(&self.runs) {
            return Err(out_of_range("runs", self.runs.to_string(), "1 to 100000"));
        }
        if self.seed > i64::MAX as u64 - 100_000 {
            return Err(out_of_range("seed", self.seed.to_string(), "0 to 9223372036854675807"));
        }
        Ok(())
    }

    /// Parses a `run.toml`, which must contain `graph` and `model`; `place` names the file in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let config = Config::from_toml(place, text)?;
        let missing = |key: &str| Error::Data {
            place: place.into(),
            problem: format!("missing key `{key}`; expected a run.toml"),
        };
        let graph = config.graph.as_ref().ok_or_else(|| missing("graph"))?;
        let model = config.model.as_ref().ok_or_else(|| missing("model"))?;
        let mut request = Self::new(graph, model).map_err(|error| error.with_place(place))?;
        request.apply(&config)?;
        request.check().map_err(|error| error.with_place(place))?;
        Ok(request)
    }

    /// The `run.toml` of this request.
    pub fn to_toml(&self) -> String {
        #[derive(Serialize)]
        struct RunToml<'a> {
            graph: &'a str,
            model: &'a str,
            split: String,
            runs: usize,
            seed: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            table: Option<&'a TableOptions>,
            hyper: &'a Params,
        }
        let Self { graph, model, split, runs, seed, hyper, table } = self;
        let (model, split) = (model.name, split.to_string());
        let table = Some(table).filter(|table| **table != TableOptions::default());
        let run = RunToml { graph, model, split, runs: *runs, seed: *seed, table, hyper };
        toml::to_string(&run).expect("text and numbers only")
    }

    /// The default run folder, relative to the working directory; equal requests share it.
    pub fn default_folder(&self) -> PathBuf {
        PathBuf::from("runs").join(self.folder_name())
    }

    /// The graph, the model and a digest of the whole request, as in `cora-gcn-1a2b3c4d`.
    pub fn folder_name(&self) -> String {
        let digest = Sha256::digest(self.to_toml());
        let short: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{short}", self.label())
    }

    /// The graph and the model in characters that are safe in file names, as in `cora-gcn`. Of a path,
    /// only the last part is used.
    pub fn label(&self) -> String {
        format!("{}-{}", graph_label(&self.graph), self.model.name)
    }
}

/// The graph in characters that are safe in file names. Of a path, only the last part is used; for a folder, after
/// symbolic links are resolved.
pub(super) fn graph_label(graph: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.=".contains(c) { c } else { '-' };
    let path = Path::new(graph);
    let resolved = if path.is_dir() { path.canonicalize().ok() } else { None };
    let name = match resolved.as_deref().unwrap_or(path).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => graph.to_owned(),
    };
    let name: String = name.chars().map(safe).take(60).collect();
    let name = name.trim_start_matches(['.', '-']);
    (if name.is_empty() { "graph" } else { name }).to_owned()
}

/// The path of an existing file or folder, relative to the working directory if it is inside that directory
/// and absolute otherwise. A path that does not exist is returned unchanged, and so is the name of a data set.
pub(super) fn normalise_path(text: &str) -> String {
    let is_known = |graph: &str| data::find(base_name(graph)).is_ok();
    if is_known(text) {
        return text.to_owned();
    }
    let Ok(path) = Path::new(text).canonicalize() else { return text.to_owned() };
    let current = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let relative =
        current.ok().and_then(|folder| path.strip_prefix(folder).ok().map(Path::to_owned));
    let path = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path);
    let path = path.display().to_string();
    // A data set has precedence over a path with the same name.
    if is_known(&path) { format!("./{path}") } else { path }
}

/// The graph without its parameters: `csbm` for `csbm:nodes=200`.
fn base_name(graph: &str) -> &str {
    graph.split(':').next().unwrap_or(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_round_trip_preserves_the_request() {
        let mut request = Request::new("csbm:nodes=200", "gcnii").unwrap();
        request.set("L", "4").unwrap();
        request.set("split", "ratio:50/25/25").unwrap();
        request.runs = 3;
        let text = request.to_toml();
        let parsed = Request::from_toml("run.toml", &text).unwrap();
        assert_eq!(parsed.to_toml(), text);
        assert_eq!((parsed.runs, parsed.hyper.int("L")), (3, 4));
        assert_eq!(parsed.default_folder(), request.default_folder());
    }

    #[test]
    fn parse_errors_include_the_file_name() {
        let error = |text: &str| {
            let text = format!("graph = \"csbm\"\nmodel = \"gcn\"\n{text}");
            Request::from_toml("my/run.toml", &text).unwrap_err().to_string()
        };
        assert_eq!(error("[hyper]\ndropout = 2"), "my/run.toml: `dropout` is 2, outside 0 to 0.99");
        let unknown = "my/run.toml: unknown key `droput`; did you mean `dropout`? known: ";
        assert!(error("[hyper]\ndroput = 0.5").starts_with(unknown));
        assert_eq!(
            error("split = \"ratio:1\""),
            "my/run.toml: `split` is `ratio:1`; expected three numbers as in `ratio:60/20/20`, \
             the first one positive"
        );
        let unknown = Request::from_toml("run.toml", "graph = \"csbm\"\nmodel = \"mpl\"");
        let unknown = unknown.unwrap_err().to_string();
        assert!(
            unknown.starts_with("run.toml: unknown model `mpl`; did you mean `mlp`?"),
            "{unknown}"
        );
    }
}
