//! Settings written in TOML: a `run.toml`, or a part of one.
//!
//! ```toml
//! graph = "cora"
//! model = "clenshaw-gcn"
//! split = "balanced"
//! runs = 10
//! seed = 0
//!
//! [hyper]
//! K = 8
//! ```

use crate::error::{Error, Result};
use toml::{Table, Value};

/// What a file says; everything may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The file, for messages.
    pub place: String,
    /// The graph, as one would type it.
    pub graph: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The split, as one would type it.
    pub split: Option<String>,
    /// Number of runs.
    pub runs: Option<usize>,
    /// Seed of the first run.
    pub seed: Option<u64>,
    /// HyperParam-parameters, as one would type them.
    pub hyper: Vec<(String, String)>,
}

const KEYS: [&str; 6] = ["graph", "model", "split", "runs", "seed", "hyper"];

impl Config {
    /// Reads TOML; `place` names the file in errors.
    ///
    /// ```
    /// use clenshaw::experiment::Config;
    /// let config = Config::from_toml("my.toml", "runs = 3\n[hyper]\nK = 16\n")?;
    /// assert_eq!(config.runs, Some(3));
    /// assert_eq!(config.hyper, [("K".to_owned(), "16".to_owned())]);
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let wrong = |problem: String| Error::Data { place: place.into(), problem };
        let table: Table = text.parse().map_err(|e: toml::de::Error| wrong(first_line(&e)))?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let unknown = Error::unknown("key", key, KEYS);
            return Err(wrong(unknown.to_string()));
        }
        let word = |key| match table.get(key) {
            None => Ok(None),
            Some(Value::String(word)) => Ok(Some(word.clone())),
            Some(other) => Err(wrong(format!("`{key}` is {other}; expected a text in quotes"))),
        };
        let number = |key| match table.get(key) {
            None => Ok(None),
            Some(Value::Integer(n)) if *n >= 0 => Ok(Some(n.unsigned_abs())),
            Some(other) => Err(wrong(format!("`{key}` is {other}; expected a whole number"))),
        };
        let hyper = match table.get("hyper") {
            None => vec![],
            Some(Value::Table(hyper)) => settings(hyper),
            Some(other) => return Err(wrong(format!("`hyper` is {other}; expected a table"))),
        };
        let (graph, model, split) = (word("graph")?, word("model")?, word("split")?);
        let (runs, seed) = (number("runs")?.map(|n| n as usize), number("seed")?);
        Ok(Self { place: place.into(), graph, model, split, runs, seed, hyper })
    }
}

/// A table's entries as one would type them.
pub(super) fn settings(table: &Table) -> Vec<(String, String)> {
    table.iter().map(|(key, value)| (key.clone(), typed(value))).collect()
}

/// A value as one would type it.
pub(super) fn typed(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// The message and the line of a TOML error, without its drawing.
pub(super) fn first_line(error: &toml::de::Error) -> String {
    error.to_string().lines().next().unwrap_or("not TOML").to_lowercase() + ": " + error.message()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let refused = |text| Config::from_toml("c.toml", text).unwrap_err().to_string();
        assert_eq!(
            refused("modle = \"gcn\""),
            "c.toml: unknown key `modle`; did you mean `model`? \
             known: graph, model, split, runs, seed, hyper"
        );
        assert_eq!(refused("runs = -1"), "c.toml: `runs` is -1; expected a whole number");
        assert_eq!(refused("model = 3"), "c.toml: `model` is 3; expected a text in quotes");
        assert!(refused("runs = ").starts_with("c.toml: toml parse error at line 1"));
    }
}
