//! The portfolio: an ordered list of configurations that are good starting points on most graphs.
//!
//! ```toml
//! order = ["logistic-regression", "gcn-cora"]        # for a new graph, in the order of trials
//!
//! [without]
//! cora = ["logistic-regression", "gcn-texas"]        # chosen without any result on cora
//!
//! [configuration.gcn-cora]
//! model = "gcn"
//! hyper = { layers = 2, hidden = 64, lr = 0.01 }     # all others: the model's defaults
//! ```
//!
//! The file is written by `cargo xtask portfolio` from the receipts of our own measurements; that command
//! describes how the list is chosen. The lists in `without` leave out one graph and its variants, so that a
//! measurement on that graph does not start from settings that were tuned on it.

use super::super::config::{parse_toml, unquoted};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::hyper::Params;
use crate::model::{self, MODELS, ModelInfo};
use crate::tensor::Mat;
use crate::train::{Fit, Setup};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The portfolio of this version.
const EMBEDDED: &str = include_str!("../../../experiments/portfolio.toml");
/// The name of the file in errors.
const PLACE: &str = "experiments/portfolio.toml";

/// The entry of logistic regression, which is part of every embedded list.
const LINEAR: &str = "logistic-regression";

/// An ordered list of configurations.
#[derive(Clone, Debug)]
pub struct Portfolio {
    /// The configurations, in the order in which they are tried.
    pub entries: Vec<PortfolioEntry>,
}

/// A configuration of a portfolio.
#[derive(Clone, Debug)]
pub struct PortfolioEntry {
    /// Its name, unique in the portfolio.
    pub name: String,
    /// The model.
    pub model: &'static ModelInfo,
    /// Its hyper-parameters.
    pub hyper: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PortfolioFile {
    order: Vec<String>,
    #[serde(default)]
    without: BTreeMap<String, Vec<String>>,
    configuration: BTreeMap<String, StoredConfiguration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredConfiguration {
    model: String,
    #[serde(default)]
    hyper: toml::Table,
}

impl Portfolio {
    /// The portfolio for all graphs.
    ///
    /// # Panics
    /// Never: a test parses the embedded file.
    pub fn embedded() -> Self {
        Self::from_toml(PLACE, EMBEDDED, None).expect("a test parses this file")
    }

    /// The portfolio that was chosen without any result on this graph and its variants; an error if there is
    /// none, because the graph did not take part in the choice.
    ///
    /// ```
    /// use clenshaw::experiment::Portfolio;
    /// assert!(!Portfolio::without("cora")?.entries.is_empty());
    /// assert!(Portfolio::without("my-graph").is_err());
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn without(graph: &str) -> Result<Self> {
        Self::from_toml(PLACE, EMBEDDED, Some(graph))
    }

    /// The graphs that [`Portfolio::without`] accepts.
    pub fn graphs() -> Vec<String> {
        let file: PortfolioFile = parse_toml(PLACE, EMBEDDED).expect("a test parses this file");
        file.without.into_keys().collect()
    }

    /// Parses a portfolio file; `without` selects the list that leaves out this graph.
    fn from_toml(place: &str, text: &str, without: Option<&str>) -> Result<Self> {
        let file: PortfolioFile = parse_toml(place, text)?;
        let order = match without {
            None => &file.order,
            Some(graph) => {
                let known = file.without.keys().map(String::as_str);
                file.without.get(graph).ok_or_else(|| Error::unknown("graph", graph, known))?
            }
        };
        let entry = |name: &String| {
            let names = file.configuration.keys().map(String::as_str);
            let stored = file.configuration.get(name);
            stored.ok_or_else(|| Error::unknown("configuration", name, names))?.entry(name)
        };
        let entries = order.iter().map(entry).collect::<Result<_>>();
        Ok(Self { entries: entries.map_err(|error| error.with_place(place))? })
    }

    /// Keeps only configurations of these models; for each of them without a configuration, adds one with its
    /// defaults.
    pub fn only(mut self, models: &[&'static ModelInfo]) -> Self {
        self.entries.retain(|entry| models.iter().any(|info| info.name == entry.model.name));
        for info in models {
            if !self.entries.iter().any(|entry| entry.model.name == info.name) {
                let (name, hyper) = (format!("{}-default", info.name), info.defaults());
                self.entries.push(PortfolioEntry { name, model: info, hyper });
            }
        }
        self
    }

    /// Removes the configurations of these models.
    pub fn excluding(mut self, models: &[&'static ModelInfo]) -> Self {
        self.entries.retain(|entry| !models.iter().any(|info| info.name == entry.model.name));
        self
    }

    /// Sets a hyper-parameter in all configurations whose models have it, from text.
    ///
    /// # Errors
    /// If no model of the portfolio has it, or one of them rejects the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let known: Vec<&str> = MODELS
            .iter()
            .filter(|info| self.entries.iter().any(|entry| entry.model.name == info.name))
            .flat_map(|info| info.hyper_params().map(|hyper| hyper.name))
            .collect();
        if !known.contains(&key) {
            return Err(Error::unknown("hyper-parameter", key, crate::report::distinct(known)));
        }
        let mut entries = self.entries.iter_mut().filter(|entry| entry.hyper.has(key));
        entries.try_for_each(|entry| entry.hyper.set(key, value))
    }

    /// A digest of the names, models and settings, in the order of the list.
    pub(super) fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        for entry in &self.entries {
            let hyper = serde_json::to_string(&entry.hyper).expect("numbers and words only");
            digest.update(format!("{}\0{}\0{hyper}\0", entry.name, entry.model.name));
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The class probabilities of every node, `[n, C]`, from logistic regression trained on a split with the settings
/// of the portfolio: the baseline that ignores the graph.
pub(in crate::experiment) fn logistic_regression(
    dataset: &Arc<Dataset>,
    split: &Split,
    seed: u64,
    threads: usize,
) -> Result<Mat<f32>> {
    let portfolio = Portfolio::embedded();
    let entry = portfolio.entries.into_iter().find(|entry| entry.name == LINEAR);
    let PortfolioEntry { model, hyper, .. } = entry.expect("a test finds this entry");
    let mut fit = Fit::new(Setup::new(dataset.clone(), model, hyper)?, split, seed, threads)?;
    fit.run_to_end()?;
    Ok(fit.outcome()?.probabilities)
}

impl StoredConfiguration {
    fn entry(&self, name: &str) -> Result<PortfolioEntry> {
        let model = model::find(&self.model)?;
        let mut hyper = model.defaults();
        for (key, value) in &self.hyper {
            hyper.set(key, &unquoted(value))?;
        }
        Ok(PortfolioEntry { name: name.to_owned(), model, hyper })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "order = [\"a\", \"b\"]\n[without]\ncora = [\"b\"]\n\
        [configuration.a]\nmodel = \"gcn\"\nhyper = { lr = 0.05 }\n\
        [configuration.b]\nmodel = \"mlp\"\n";

    fn names(portfolio: &Portfolio) -> Vec<&str> {
        portfolio.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn lists_refer_to_configurations() {
        let read = |without| Portfolio::from_toml("p.toml", TEXT, without);
        assert_eq!(names(&read(None).unwrap()), ["a", "b"]);
        assert_eq!(names(&read(Some("cora")).unwrap()), ["b"]);
        assert_eq!(read(None).unwrap().entries[0].hyper.real("lr"), 0.05);
        assert_eq!(
            read(Some("texas")).unwrap_err().to_string(),
            "unknown graph `texas`; known: cora"
        );
        let error = Portfolio::from_toml("p.toml", &TEXT.replace("0.05", "-1"), None).unwrap_err();
        assert_eq!(error.to_string(), "p.toml: `lr` is -1, outside 0 to 10");
        let error = Portfolio::from_toml("p.toml", &TEXT.replace("\"b\"]\n[w", "\"c\"]\n[w"), None);
        assert!(error.unwrap_err().to_string().starts_with("p.toml: unknown configuration `c`"));
    }

    #[test]
    fn models_are_selected_excluded_and_set() {
        let read = || Portfolio::from_toml("p.toml", TEXT, None).unwrap();
        let find = |name| model::find(name).unwrap();
        assert_eq!(names(&read().only(&[find("mlp"), find("gat")])), ["b", "gat-default"]);
        assert_eq!(names(&read().excluding(&[find("mlp")])), ["a"]);
        let mut portfolio = read();
        portfolio.set("layers", "3").unwrap();
        assert_eq!(portfolio.entries[0].hyper.int("layers"), 3);
        let error = portfolio.set("heads", "2").unwrap_err().to_string();
        assert!(error.starts_with("unknown hyper-parameter `heads`"), "{error}");
        assert_ne!(portfolio.sha256(), read().sha256());
    }

    #[test]
    fn embedded_lists_are_valid_and_contain_a_linear_model() {
        let without = Portfolio::graphs().into_iter().map(|g| Portfolio::without(&g).unwrap());
        for portfolio in without.chain([Portfolio::embedded()]) {
            assert!(portfolio.entries.iter().any(|e| e.name == LINEAR));
            let mut found = names(&portfolio);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), portfolio.entries.len(), "a name occurs twice");
        }
    }
}
