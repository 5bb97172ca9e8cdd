//! Graphs to learn from: embedded, generated, or read from files; and how their nodes are split.
//!
//! ```
//! let cora = clenshaw::data::load("cora")?;
//! assert_eq!((cora.graph.n_nodes(), cora.n_classes()), (2708, 7));
//!
//! let split = "balanced".parse::<clenshaw::data::SplitKind>()?.draw(&cora, 0)?;
//! assert_eq!((split.train.len(), split.val.len(), split.test.len()), (1557, 542, 609));
//! # Ok::<(), clenshaw::Error>(())
//! ```

mod fingerprint;
mod features;
mod dataset;
pub mod compact;
pub mod split;
mod cora;

pub use dataset::Dataset;
pub use features::{Features, Scaling};
pub use split::{Split, SplitKind};

use crate::error::{Error, Result};
use crate::hyper::{Hyper, Params};

/// Every data set we know by name.
pub static DATASETS: &[&DatasetInfo] = &[
    &cora::INFO, // Sen et al. 2008
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
    Embedded(fn() -> Result<Dataset>),
    /// It is drawn at random.
    Generated {
        /// What can be set, `seed` included.
        hyper: &'static [Hyper],
        /// Draws it.
        generate: fn(&Params) -> Result<Dataset>,
    },
}

impl DatasetInfo {
    /// `embedded` or `generated`.
    pub fn kind(&self) -> &'static str {
        match self.origin {
            Origin::Embedded(_) => "embedded",
            Origin::Generated { .. } => "generated",
        }
    }

    /// The keys that can be set; none unless it is generated.
    pub fn hyper(&self) -> &'static [Hyper] {
        match self.origin {
            Origin::Embedded(_) => &[],
            Origin::Generated { hyper, .. } => hyper,
        }
    }
}

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static DatasetInfo> {
    let entry = DATASETS.iter().find(|info| info.name == name);
    entry.copied().ok_or_else(|| Error::unknown("graph", name, DATASETS.iter().map(|i| i.name)))
}

/// The data set somebody typed: a name, and for generated ones settings after a colon.
///
/// ```
/// let error = clenshaw::data::load("coar").unwrap_err().to_string();
/// assert!(error.starts_with("unknown graph `coar`; did you mean `cora`?"));
/// ```
pub fn load(text: &str) -> Result<Dataset> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    match find(name)?.origin {
        Origin::Embedded(load) if settings.is_empty() => load(),
        Origin::Embedded(_) => Err(Error::BadValue {
            key: "graph".into(),
            value: text.into(),
            expected: format!("`{name}` alone, which has nothing to set"),
        }),
        Origin::Generated { hyper, generate } => generate(&settings_of(hyper, settings)?),
    }
}

/// Reads `key=value,key=value`.
fn settings_of(hyper: &'static [Hyper], settings: &str) -> Result<Params> {
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
