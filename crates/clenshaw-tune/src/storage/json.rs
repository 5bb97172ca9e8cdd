//! Values and distributions in Optuna's JSON.
//!
//! ```text
//! {"name":"FloatDistribution","attributes":{"step":null,"low":0.0,"high":1.0,"log":false}}
//! {"name":"IntDistribution","attributes":{"log":false,"step":1,"low":1,"high":8}}
//! {"name":"CategoricalDistribution","attributes":{"choices":[null,true,4,0.5,"text"]}}
//! ```
//!
//! Python writes `NaN`, `Infinity` and `-Infinity` without quotes, which is not valid JSON. They are
//! accepted when reading, and written only as choices of a categorical distribution.

use crate::error::{Error, Result};
use crate::{Distribution, ParamValue};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Value, json};

/// The numbers that JSON cannot represent, by the names that Python writes.
const NON_FINITE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// A number in JSON, or NaN or an infinity as a JSON string; [`parse`] adds the quotes that Python omits.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonFloat(pub f64);

impl<'de> Deserialize<'de> for PythonFloat {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = value.as_f64().or_else(|| value.as_str().and_then(parse_non_finite));
        number.map(PythonFloat).ok_or_else(|| D::Error::custom(format!("{value} is not a number")))
    }
}

/// Parses JSON that may contain unquoted NaN and infinities. Those that are not read as a
/// [`PythonFloat`] become strings.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let parsed = serde_json::from_str(text);
    if parsed.is_err() && NON_FINITE.iter().any(|(name, _)| text.contains(name)) {
        return serde_json::from_str(&quote_non_finite(text));
    }
    parsed
}

/// Adds quotation marks around unquoted NaN and infinities.
fn quote_non_finite(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let name = NON_FINITE.iter().map(|(name, _)| *name).find(|name| rest.starts_with(name));
        let length = match name.filter(|_| !in_string) {
            Some(name) => {
                out.extend(["\"", name, "\""]);
                rest = &rest[name.len()..];
                continue;
            }
            // An escaped quotation mark does not end the string.
            None if in_string && c == '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            None => c.len_utf8(),
        };
        in_string ^= c == '"';
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// The number written as `NaN`, `Infinity` or `-Infinity`; `None` for any other text.
fn parse_non_finite(text: &str) -> Option<f64> {
    NON_FINITE.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

impl ParamValue {
    /// Converts from JSON; integers outside the range of `i64` become floats.
    pub fn from_json(json: &Value) -> Self {
        match json {
            Value::Null => Self::None,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(n) => {
                n.as_i64().map_or_else(|| Self::Float(n.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            Value::String(value) => Self::Str(value.clone()),
            Value::Array(_) | Value::Object(_) => Self::Json(json.clone()),
        }
    }

    /// Converts to JSON; NaN and infinities become null.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Bool(value) => json!(value),
            Self::Int(value) => json!(value),
            Self::Float(value) => json!(value),
            Self::Str(value) => json!(value),
            Self::Json(value) => value.clone(),
        }
    }

    /// The JSON text of a choice; NaN and infinities are unquoted, as in Python.
    fn to_python_json(&self) -> String {
        let name = |x: f64| NON_FINITE.iter().find(|(_, value)| value.total_cmp(&x).is_eq());
        match *self {
            Self::Float(x) if !x.is_finite() => name(x).map_or("NaN", |(name, _)| name).into(),
            _ => self.to_json().to_string(),
        }
    }
}

/// A distribution as Optuna stores it.
#[derive(Deserialize)]
struct DistributionJson {
    name: String,
    attributes: Value,
}

impl Distribution {
    /// Converts to the JSON text that Optuna stores.
    pub fn to_json(&self) -> String {
        let (name, attributes) = match self {
            Self::Float { low, high, log, step } => (
                "FloatDistribution",
                json!({"step": step, "low": low, "high": high, "log": log}).to_string(),
            ),
            Self::Int { low, high, log, step } => (
                "IntDistribution",
                json!({"log": log, "step": step, "low": low, "high": high}).to_string(),
            ),
            Self::Categorical { choices } => {
                let texts: Vec<String> = choices.iter().map(ParamValue::to_python_json).collect();
                ("CategoricalDistribution", format!(r#"{{"choices":[{}]}}"#, texts.join(",")))
            }
        };
        format!(r#"{{"name":"{name}","attributes":{attributes}}}"#)
    }

    /// Parses the JSON text that Optuna stores, including the names used before version 3.
    ///
    /// # Errors
    /// If the text is not a valid distribution; see [`Distribution::check`].
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = || Error::BadValue {
            key: "distribution".into(),
            value: text.into(),
            expected: "an Optuna distribution in JSON".into(),
        };
        let parsed = serde_json::from_str(text);
        let choice: fn(&Value) -> ParamValue =
            if parsed.is_ok() { ParamValue::from_json } else { choice_from_quoted };
        let json: DistributionJson = parsed.or_else(|_| parse(text)).map_err(|_| invalid())?;
        let distribution = from_attributes(&json.name, &json.attributes, choice);
        let distribution = distribution.ok_or_else(invalid)?;
        distribution.check("distribution")?;
        Ok(distribution)
    }
}

/// Converts a choice from a list in which NaN and infinities were quoted to make it valid JSON.
fn choice_from_quoted(json: &Value) -> ParamValue {
    let number = json.as_str().and_then(parse_non_finite);
    number.map_or_else(|| ParamValue::from_json(json), ParamValue::Float)
}

/// Creates a distribution from its name and attributes; `None` if the name is unknown, or if a required
/// attribute is missing or has the wrong type. `choice` converts the choices.
fn from_attributes(
    name: &str,
    attributes: &Value,
    choice: fn(&Value) -> ParamValue,
) -> Option<Distribution> {
    let float_attr = |key: &str| attributes.get(key)?.as_f64();
    let int_attr = |key: &str| {
        let value = attributes.get(key)?;
        value.as_i64().or_else(|| value.as_f64().filter(|x| x.fract() == 0.0).map(|x| x as i64))
    };
    let log = || attributes.get("log").and_then(Value::as_bool).unwrap_or(false);
    let float = |log, step| {
        let (low, high) = (float_attr("low")?, float_attr("high")?);
        Some(Distribution::Float { low, high, log, step })
    };
    let int = |log| {
        let step = int_attr("step").unwrap_or(1);
        Some(Distribution::Int { low: int_attr("low")?, high: int_attr("high")?, log, step })
    };
    match name {
        "FloatDistribution" => float(log(), float_attr("step")),
        "UniformDistribution" => float(false, None),
        "LogUniformDistribution" => float(true, None),
        "DiscreteUniformDistribution" => float(false, Some(float_attr("q")?)),
        "IntDistribution" => int(log()),
        "IntUniformDistribution" => int(false),
        "IntLogUniformDistribution" => int(true),
        "CategoricalDistribution" => {
            let choices = attributes.get("choices")?.as_array()?;
            Some(Distribution::Categorical { choices: choices.iter().map(choice).collect() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_round_trip() {
        let text = |text: &str| ParamValue::Str(text.into());
        let all = [
            Distribution::Float { low: 1e-8, high: 0.1, log: true, step: None },
            Distribution::Float { low: 0.0, high: 1.0, log: false, step: Some(0.1) },
            Distribution::Int { low: -3, high: i64::MAX, log: false, step: 2 },
            Distribution::Categorical {
                choices: vec![
                    ParamValue::None,
                    ParamValue::Bool(true),
                    ParamValue::Int(4),
                    text("NaN"),
                ],
            },
            Distribution::Categorical {
                choices: vec![
                    ParamValue::Float(f64::NEG_INFINITY),
                    text("a \"b\""),
                    ParamValue::Float(0.5),
                ],
            },
            Distribution::Categorical { choices: vec![ParamValue::Json(json!([1, 2]))] },
        ];
        for distribution in all {
            let json = distribution.to_json();
            assert_eq!(Distribution::from_json(&json).unwrap(), distribution, "{json}");
        }
    }

    #[test]
    fn reads_old_names_and_rejects_unknown_ones() {
        let old = r#"{"name": "DiscreteUniformDistribution", "attributes": {"low": 0, "high": 1, "q": 0.5}}"#;
        let float = Distribution::Float { low: 0.0, high: 1.0, log: false, step: Some(0.5) };
        assert_eq!(Distribution::from_json(old).unwrap(), float);
        let error = Distribution::from_json(r#"{"name":"Beta","attributes":{}}"#).unwrap_err();
        assert!(error.to_string().contains("Beta"), "{error}");
        assert!(
            Distribution::from_json(
                r#"{"name":"CategoricalDistribution","attributes":{"choices":[]}}"#
            )
            .is_err()
        );
    }

    #[test]
    fn reads_unquoted_nan_and_infinities() {
        let text = r#"{"a":[NaN,-Infinity,Infinity,1],"b\"NaN":"NaN, \\","c":{"d":NaN}}"#;
        let numbers: Vec<PythonFloat> =
            serde_json::from_value(parse::<Value>(text).unwrap()["a"].clone()).unwrap();
        let numbers: Vec<f64> = numbers.iter().map(|n| n.0).collect();
        assert!(numbers[0].is_nan());
        assert_eq!(numbers[1..], [f64::NEG_INFINITY, f64::INFINITY, 1.0]);
        assert_eq!(parse::<Value>(text).unwrap()["b\"NaN"], "NaN, \\");
        assert!(parse::<Value>("{NaN:1").is_err());
    }
}
