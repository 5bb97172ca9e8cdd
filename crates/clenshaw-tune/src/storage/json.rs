//! What Optuna writes as JSON: numbers that JSON does not have, choices, distributions.
//!
//! ```text
//! {"name":"FloatDistribution","attributes":{"step":null,"low":0.0,"high":1.0,"log":false}}
//! {"name":"IntDistribution","attributes":{"log":false,"step":1,"low":1,"high":8}}
//! {"name":"CategoricalDistribution","attributes":{"choices":[null,true,4,0.5,"word"]}}
//! ```
//!
//! Python writes a bare `NaN` or `Infinity` where a number is not finite. We read these and write none,
//! but for a choice that somebody else's distribution has.

use crate::error::{Error, Result};
use crate::{Choice, Distribution};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Value, json};

const BARE: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// A number, finite or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let number = value.as_f64().or_else(|| value.as_str().and_then(unquoted));
        number.map(Number).ok_or_else(|| D::Error::custom(format!("{value} is not a number")))
    }
}

/// Parses JSON that may hold bare numbers that are not finite; those not read as a [`Number`] become
/// words.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let plain = serde_json::from_str(text);
    if plain.is_err() && BARE.iter().any(|(word, _)| text.contains(word)) {
        return serde_json::from_str(&quoted(text));
    }
    plain
}

/// The same text with quotation marks around bare words that are numbers in Python.
fn quoted(text: &str) -> String {
    let (mut out, mut rest, mut inside) = (String::with_capacity(text.len() + 16), text, false);
    while let Some(c) = rest.chars().next() {
        let word = BARE.iter().map(|(word, _)| *word).find(|word| rest.starts_with(word));
        let taken = match word.filter(|_| !inside) {
            Some(word) => {
                out.extend(["\"", word, "\""]);
                rest = &rest[word.len()..];
                continue;
            }
            // What is escaped is no quotation mark.
            None if inside && c == '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            None => c.len_utf8(),
        };
        inside ^= c == '"';
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

fn unquoted(word: &str) -> Option<f64> {
    BARE.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

impl Choice {
    /// What a JSON value says.
    pub fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(on) => Self::Flag(*on),
            Value::Number(n) => {
                n.as_i64().map_or_else(|| Self::Real(n.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            Value::String(word) => Self::Word(word.clone()),
            Value::Array(_) | Value::Object(_) => Self::Other(value.clone()),
        }
    }

    /// Its JSON value; null for a number that is not finite.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Flag(on) => json!(on),
            Self::Int(whole) => json!(whole),
            Self::Real(real) => json!(real),
            Self::Word(word) => json!(word),
            Self::Other(value) => value.clone(),
        }
    }

    /// Its text in a list of choices, where what is not finite stays what it is.
    fn to_text(&self) -> String {
        let bare = |real: f64| BARE.iter().find(|(_, value)| value.total_cmp(&real).is_eq());
        match *self {
            Self::Real(real) if !real.is_finite() => {
                bare(real).map_or("NaN", |(word, _)| word).into()
            }
            _ => self.to_json().to_string(),
        }
    }
}

#[derive(Deserialize)]
struct Named {
    name: String,
    attributes: Value,
}

impl Distribution {
    /// The text Optuna keeps it as.
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
                let texts: Vec<String> = choices.iter().map(Choice::to_text).collect();
                ("CategoricalDistribution", format!(r#"{{"choices":[{}]}}"#, texts.join(",")))
            }
        };
        format!(r#"{{"name":"{name}","attributes":{attributes}}}"#)
    }

    /// Reads Optuna's text; the five names of before version 3 are understood.
    pub fn from_json(text: &str) -> Result<Self> {
        let wrong = || Error::BadValue {
            key: "distribution".into(),
            value: text.into(),
            expected: "a distribution of Optuna's, as JSON".into(),
        };
        let plain = serde_json::from_str(text);
        let choice: fn(&Value) -> Choice =
            if plain.is_ok() { Choice::from_json } else { from_quoted };
        let named: Named = plain.or_else(|_| parse(text)).map_err(|_| wrong())?;
        from_attributes(&named.name, &named.attributes, choice).ok_or_else(wrong)
    }
}

/// A choice of a list that had bare words.
fn from_quoted(value: &Value) -> Choice {
    let real = value.as_str().and_then(unquoted);
    real.map_or_else(|| Choice::from_json(value), Choice::Real)
}

fn from_attributes(name: &str, a: &Value, choice: fn(&Value) -> Choice) -> Option<Distribution> {
    let real = |key: &str| a.get(key)?.as_f64();
    let whole = |key: &str| {
        let value = a.get(key)?;
        value.as_i64().or_else(|| value.as_f64().filter(|x| x.fract() == 0.0).map(|x| x as i64))
    };
    let log = || a.get("log").and_then(Value::as_bool).unwrap_or(false);
    let float =
        |log, step| Some(Distribution::Float { low: real("low")?, high: real("high")?, log, step });
    let int = |log| {
        let step = whole("step").unwrap_or(1);
        Some(Distribution::Int { low: whole("low")?, high: whole("high")?, log, step })
    };
    match name {
        "FloatDistribution" => float(log(), real("step")),
        "UniformDistribution" => float(false, None),
        "LogUniformDistribution" => float(true, None),
        "DiscreteUniformDistribution" => float(false, Some(real("q")?)),
        "IntDistribution" => int(log()),
        "IntUniformDistribution" => int(false),
        "IntLogUniformDistribution" => int(true),
        "CategoricalDistribution" => {
            let choices: Vec<Choice> = a.get("choices")?.as_array()?.iter().map(choice).collect();
            (!choices.is_empty()).then_some(Distribution::Categorical { choices })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_come_back() {
        let word = |w: &str| Choice::Word(w.into());
        let all = [
            Distribution::Float { low: 1e-8, high: 0.1, log: true, step: None },
            Distribution::Float { low: 0.0, high: 1.0, log: false, step: Some(0.1) },
            Distribution::Int { low: -3, high: i64::MAX, log: false, step: 2 },
            Distribution::Categorical {
                choices: vec![Choice::None, Choice::Flag(true), Choice::Int(4), word("NaN")],
            },
            Distribution::Categorical {
                choices: vec![Choice::Real(f64::NEG_INFINITY), word("a \"b\""), Choice::Real(0.5)],
            },
            Distribution::Categorical { choices: vec![Choice::Other(json!([1, 2]))] },
        ];
        for distribution in all {
            let text = distribution.to_json();
            assert_eq!(Distribution::from_json(&text).unwrap(), distribution, "{text}");
        }
    }

    #[test]
    fn old_names_are_understood_and_new_ones_refused() {
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
    fn bare_words_are_numbers_outside_quotation_marks_only() {
        let text = r#"{"a":[NaN,-Infinity,Infinity,1],"b\"NaN":"NaN, \\","c":{"d":NaN}}"#;
        let numbers: Vec<Number> =
            serde_json::from_value(parse::<Value>(text).unwrap()["a"].clone()).unwrap();
        let numbers: Vec<f64> = numbers.iter().map(|n| n.0).collect();
        assert!(numbers[0].is_nan());
        assert_eq!(numbers[1..], [f64::NEG_INFINITY, f64::INFINITY, 1.0]);
        assert_eq!(parse::<Value>(text).unwrap()["b\"NaN"], "NaN, \\");
        assert!(parse::<Value>("{NaN:1").is_err());
    }
}
