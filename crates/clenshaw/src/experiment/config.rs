//! Settings in TOML: a `run.toml`, or any part of one.
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

use crate::data::TableOptions;
use crate::error::{Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The contents of a settings file; every key is optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Path of the file, for error messages.
    pub place: String,
    /// The graph, in command-line syntax.
    pub graph: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The split, in command-line syntax.
    pub split: Option<String>,
    /// Number of runs.
    pub runs: Option<usize>,
    /// Seed of the first run.
    pub seed: Option<u64>,
    /// How to use the columns of the node and edge tables.
    pub table: TableOptions,
    /// Hyper-parameters, in command-line syntax.
    pub hyper: Vec<(String, String)>,
}

/// The keys of a settings file.
const KEYS: [&str; 7] = ["graph", "model", "split", "runs", "seed", "table", "hyper"];

impl Config {
    /// Parses TOML; `place` names the file in errors. Unknown keys and values of the wrong type are errors;
    /// names and hyper-parameters are not checked.
    ///
    /// ```
    /// use clenshaw::experiment::Config;
    /// let config = Config::from_toml("my.toml", "runs = 3\n[hyper]\nK = 16\n")?;
    /// assert_eq!(config.runs, Some(3));
    /// assert_eq!(config.hyper, [("K".to_owned(), "16".to_owned())]);
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn from_toml(place: &str, text: &str) -> Result<Self> {
        let invalid = |problem: String| Error::Data { place: place.into(), problem };
        let table: Table = parse_toml(place, text)?;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(Error::unknown("key", key, KEYS).with_place(place));
        }
        let string = |key| match table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(invalid(format!("`{key}` is {other}; expected a string in quotes"))),
        };
        let number = |key| match table.get(key) {
            None => Ok(None),
            Some(Value::Integer(n)) if *n >= 0 => Ok(Some(n.unsigned_abs())),
            Some(other) => Err(invalid(format!("`{key}` is {other}; expected a whole number"))),
        };
        let hyper = match table.get("hyper") {
            None => vec![],
            Some(Value::Table(hyper)) => settings(hyper),
            Some(other) => return Err(invalid(format!("`hyper` is {other}; expected a table"))),
        };
        let options = match table.get("table") {
            None => TableOptions::default(),
            Some(stated) => TableOptions::deserialize(stated.clone())
                .map_err(|e: toml::de::Error| invalid(format!("`table`: {}", e.message())))?,
        };
        let (graph, model, split) = (string("graph")?, string("model")?, string("split")?);
        let (runs, seed) = (number("runs")?.map(|n| n as usize), number("seed")?);
        let place = place.into();
        Ok(Self { place, graph, model, split, runs, seed, table: options, hyper })
    }
}

/// The entries of a table, in command-line syntax.
pub(super) fn settings(table: &Table) -> Vec<(String, String)> {
    table.iter().map(|(key, value)| (key.clone(), unquoted(value))).collect()
}

/// A value in command-line syntax: a string without quotes, other values as in TOML.
pub(super) fn unquoted(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Parses TOML; `place` names the file in errors.
pub(super) fn parse_toml<T: DeserializeOwned>(place: &str, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| toml_error(place, &error))
}

/// Converts a TOML error to one line with its position, if it has one, and message, without the excerpt of the
/// file.
pub(super) fn toml_error(place: &str, error: &toml::de::Error) -> Error {
    let (text, message) = (error.to_string(), error.message());
    let position = text.lines().next().filter(|line| line.starts_with("TOML parse error"));
    let problem = match position {
        Some(position) => format!("{}: {message}", position.to_lowercase()),
        None => message.to_owned(),
    };
    Error::Data { place: place.into(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_keys_and_wrong_types() {
        let parse_error = |text| Config::from_toml("c.toml", text).unwrap_err().to_string();
        assert_eq!(
            parse_error("modle = \"gcn\""),
            "c.toml: unknown key `modle`; did you mean `model`? \
             known: graph, model, split, runs, seed, table, hyper"
        );
        assert_eq!(parse_error("runs = -1"), "c.toml: `runs` is -1; expected a whole number");
        assert_eq!(parse_error("model = 3"), "c.toml: `model` is 3; expected a string in quotes");
        assert!(parse_error("runs = ").starts_with("c.toml: toml parse error at line 1"));
    }

    #[test]
    fn error_without_a_position_prints_its_message_once() {
        let error = toml::Value::Integer(1).try_into::<String>().unwrap_err();
        let text = toml_error("c.toml", &error).to_string();
        assert_eq!(text, "c.toml: invalid type: integer `1`, expected a string");
    }
}
