//! What `experiments/filters.toml` says, checked.

use super::contender::BASES;
use super::fit::Effort;
use super::target::Target;
use crate::error::{Error, Result};
use crate::experiment::config::{first_line, typed};
use crate::hyper::Params;
use crate::model::{self, ModelInfo};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub title: String,
    pub source: String,
    /// What was seen.
    pub notes: Vec<String>,
    /// Of the pictures.
    pub seed: u64,
    pub rows: usize,
    pub columns: usize,
    /// Pixels along each side that do not count.
    pub border: usize,
    /// Of every filter.
    pub order: usize,
    pub bases: Bases,
    pub networks: Networks,
}

/// Coefficients alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bases {
    /// How many, unless somebody asks for another number.
    pub pictures: usize,
    pub effort: Effort,
    pub names: Vec<String>,
    /// Jacobi's exponents a and b for each response.
    pub jacobi: BTreeMap<String, (f64, f64)>,
}

/// Models with all their layers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Networks {
    /// How many, unless somebody asks for another number.
    pub pictures: usize,
    pub effort: Effort,
    /// Width of the models that have one.
    pub hidden: usize,
    /// A table of settings each.
    pub models: Table,
}

impl File {
    /// Reads and checks it; `place` names it in errors.
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let wrong = |problem: String| Error::Data { place: place.into(), problem };
        let file: Self = toml::from_str(text).map_err(|e| wrong(first_line(&e)))?;
        let counts = [
            ("rows", file.rows, 2 * file.border + 2, 1000),
            ("columns", file.columns, 2 * file.border + 2, 1000),
            ("order", file.order, 1, 64),
            ("bases.pictures", file.bases.pictures, 1, 1000),
            ("networks.pictures", file.networks.pictures, 1, 1000),
        ];
        for (key, value, low, high) in counts {
            if !(low..=high).contains(&value) {
                return Err(wrong(format!("`{key}` is {value}, outside {low}..={high}")));
            }
        }
        let unknown = file.bases.names.iter().find(|name| !BASES.contains(&name.as_str()));
        if let Some(name) = unknown {
            return Err(wrong(Error::unknown("basis", name, BASES).to_string()));
        }
        for target in Target::ALL.map(Target::name) {
            if !file.bases.jacobi.contains_key(target) {
                return Err(wrong(format!("no `bases.jacobi.{target}`; expected [a, b]")));
            }
        }
        file.networks(place)?;
        Ok(file)
    }

    /// Every model with its hyper-parameters, in the order of the file.
    pub fn networks(&self, place: &str) -> Result<Vec<(&'static ModelInfo, Params)>> {
        let models = self.networks.models.iter();
        let models = models.map(|(name, set)| self.network(name, set));
        models.collect::<Result<_>>().map_err(|error| error.within(place))
    }

    /// The defaults without dropout, then the file's order and width, then what it sets.
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
            hp.set(key, &typed(value))?;
        }
        Ok((info, hp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MODELS;

    const TEXT: &str = include_str!("../../../../experiments/filters.toml");

    #[test]
    fn every_model_with_a_filter_takes_part() {
        let file = File::from_toml("filters.toml", TEXT).unwrap();
        let listed: Vec<&str> =
            file.networks("").unwrap().iter().map(|(info, _)| info.name).collect();
        for info in MODELS.iter().filter(|info| info.filter.is_some()) {
            assert!(listed.contains(&info.name), "{} is not in filters.toml", info.name);
        }
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            File::from_toml("f.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(refused("rows = 100", "rows = 5"), "f.toml: `rows` is 5, outside 6..=1000");
        assert_eq!(
            refused("\"jacobi\"", "\"jakobi\""),
            "f.toml: unknown basis `jakobi`; did you mean `jacobi`? known: monomial, bernstein, \
             chebyshev, chebyshev2, legendre, jacobi, optimal"
        );
        let unknown = refused("bern-net = {}", "bern-nett = {}");
        assert!(unknown.starts_with("f.toml: unknown model `bern-nett`; did you mean `bern-net`?"));
        let unknown = refused("terms = 6", "term = 6");
        assert!(unknown.starts_with("f.toml: unknown key `term`; did you mean `terms`?"));
        assert_eq!(
            refused("comb = [-0.75, 0.75]", ""),
            "f.toml: no `bases.jacobi.comb`; expected [a, b]"
        );
        assert!(refused("border = 2", "bordr = 2").starts_with("f.toml: toml parse error"));
    }
}
