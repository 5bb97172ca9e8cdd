//! The contents of `experiments/filters.toml`.

use super::fit::FitSettings;
use super::method::BASES;
use super::target::TargetResponse;
use crate::error::{Error, Result};
use crate::experiment::config::{parse_toml, unquoted};
use crate::hyper::Params;
use crate::model::{self, ModelInfo};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiltersFile {
    pub title: String,
    pub source: String,
    /// Notes for the result page.
    pub notes: Vec<String>,
    /// Seed of the images.
    pub seed: u64,
    /// Height of the images, in pixels.
    pub rows: usize,
    /// Width of the images, in pixels.
    pub columns: usize,
    /// Width of the border that is excluded from the loss, in pixels.
    pub border: usize,
    /// Order of the polynomials, and of the models with a hyper-parameter `K`.
    pub order: usize,
    pub bases: BasesSection,
    pub networks: NetworksSection,
}

/// Training of coefficients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasesSection {
    /// Default number of images.
    #[serde(rename = "pictures")]
    pub images: usize,
    pub fit: FitSettings,
    /// The names of the bases.
    pub names: Vec<String>,
    /// From the name of each response to the exponents a and b of the Jacobi basis.
    pub jacobi: BTreeMap<String, (f64, f64)>,
}

/// Training of complete models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworksSection {
    /// Default number of images.
    #[serde(rename = "pictures")]
    pub images: usize,
    pub fit: FitSettings,
    /// Width of the models that have one.
    pub hidden: usize,
    /// The models, each with a table of settings.
    pub models: Table,
}

impl FiltersFile {
    /// Parses and checks the file; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let invalid = |problem: String| Error::Data { place: place.into(), problem };
        let file: Self = parse_toml(place, text)?;
        let counts = [
            ("rows", file.rows, 2 * file.border + 2, 1000),
            ("columns", file.columns, 2 * file.border + 2, 1000),
            ("order", file.order, 1, 64),
            ("bases.pictures", file.bases.images, 1, 1000),
            ("networks.pictures", file.networks.images, 1, 1000),
        ];
        for (key, value, low, high) in counts {
            if !(low..=high).contains(&value) {
                return Err(invalid(format!("`{key}` is {value}, outside {low} to {high}")));
            }
        }
        let unknown = file.bases.names.iter().find(|name| !BASES.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(Error::unknown("basis", name, BASES).with_place(place));
        }
        for target in TargetResponse::ALL.map(TargetResponse::name) {
            if !file.bases.jacobi.contains_key(target) {
                return Err(invalid(format!("missing `bases.jacobi.{target}`; expected [a, b]")));
            }
        }
        file.networks(place)?;
        Ok(file)
    }

    /// The models with their hyper-parameters, in the order of the file. Fails if a model or a setting is unknown
    /// or a value is invalid.
    pub fn networks(&self, place: &str) -> Result<Vec<(&'static ModelInfo, Params)>> {
        let models = self.networks.models.iter();
        let models = models.map(|(name, set)| self.network(name, set));
        models.collect::<Result<_>>().map_err(|error| error.with_place(place))
    }

    /// The model's defaults without dropout, then the file's order and width, then the settings in `set`.
    /// Fails if the model or a setting is unknown or a value is invalid.
    fn network(&self, name: &str, set: &Value) -> Result<(&'static ModelInfo, Params)> {
        let info = model::find(name)?;
        let mut hp = info.defaults();
        for hyper in info.hyper_params().filter(|hyper| hyper.name.starts_with("dropout")) {
            hp.set(hyper.name, "0")?;
        }
        for (key, value) in [("K", self.order), ("hidden", self.networks.hidden)] {
            if hp.has(key) {
                hp.set(key, &value.to_string())?;
            }
        }
        for (key, value) in set.as_table().into_iter().flatten() {
            hp.set(key, &unquoted(value))?;
        }
        Ok((info, hp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MODELS;

    const TEXT: &str = include_str!("../../../../experiments/filters.toml");

    /// The eigendecomposition of a grid of 10,000 nodes takes too long.
    const NOT_LISTED: &str = "specformer";

    #[test]
    fn every_model_with_a_filter_is_listed() {
        let file = FiltersFile::from_toml("filters.toml", TEXT).unwrap();
        let listed: Vec<&str> =
            file.networks("").unwrap().iter().map(|(info, _)| info.name).collect();
        for info in MODELS.iter().filter(|info| info.filter.is_some()) {
            let is_expected = info.name != NOT_LISTED;
            assert_eq!(listed.contains(&info.name), is_expected, "{} in filters.toml", info.name);
        }
    }

    #[test]
    fn rejects_invalid_files() {
        let parse_error = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            FiltersFile::from_toml("f.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(parse_error("rows = 100", "rows = 5"), "f.toml: `rows` is 5, outside 6 to 1000");
        assert_eq!(
            parse_error("\"jacobi\"", "\"jakobi\""),
            "f.toml: unknown basis `jakobi`; did you mean `jacobi`? known: monomial, bernstein, \
             chebyshev, chebyshev2, legendre, jacobi, optimal"
        );
        let unknown = parse_error("bern-net = {}", "bern-nett = {}");
        assert!(unknown.starts_with("f.toml: unknown model `bern-nett`; did you mean `bern-net`?"));
        let unknown = parse_error("terms = 6", "term = 6");
        assert!(unknown.starts_with("f.toml: unknown key `term`; did you mean `terms`?"));
        assert_eq!(
            parse_error("comb = [-0.75, 0.75]", ""),
            "f.toml: missing `bases.jacobi.comb`; expected [a, b]"
        );
        assert!(parse_error("border = 2", "bordr = 2").starts_with("f.toml: toml parse error"));
    }
}
