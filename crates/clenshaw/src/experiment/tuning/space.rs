//! The search space of a study: declared by the model, or overridden by a file.
//!
//! ```toml
//! [space]
//! lr_conv = { low = 1e-4, high = 0.1, log = true }    # log-uniform
//! K = { low = 8, high = 32, step = 4 }                # 8, 12, ..., 32
//! stop = ["patience", "mean"]                         # one of these values
//! dropout = 0.5                                       # fixed, not tuned
//! ```

use super::super::config::{parse_toml, unquoted};
use crate::error::{Error, Result};
use crate::hyper::{HyperParam, TuningSpace, Value, ValueRange};
use clenshaw_tune::{Distribution, ParamValue};
use toml::Table;

/// An entry of a search space file.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::experiment) enum SpaceEntry {
    /// A hyper-parameter to tune.
    Tuned(Distribution),
    /// A fixed value, in command-line syntax.
    Fixed(String),
}

/// The keys of a range, such as `{ low = 8, high = 32, step = 4 }`.
const KEYS: [&str; 4] = ["low", "high", "step", "log"];

/// The distribution of a hyper-parameter as declared by its model; `None` if it is not tuned by default.
pub fn declared_distribution(hyper: &HyperParam) -> Option<Distribution> {
    let is_integer = matches!(hyper.range, ValueRange::Int(..));
    let choices = |choices: Vec<ParamValue>| Some(Distribution::Categorical { choices });
    match (hyper.space, hyper.range) {
        (TuningSpace::Fixed, _) => None,
        (TuningSpace::Steps { low, high, step }, _) if is_integer => Some(Distribution::Int {
            low: low as i64,
            high: high as i64,
            log: false,
            step: step as i64,
        }),
        (TuningSpace::Steps { low, high, step }, _) => {
            Some(Distribution::Float { low, high, log: false, step: Some(step) })
        }
        (TuningSpace::Among(values), _) => {
            let number =
                |v: f64| if is_integer { ParamValue::Int(v as i64) } else { ParamValue::Float(v) };
            choices(values.iter().map(|v| number(*v)).collect())
        }
        (TuningSpace::All, ValueRange::OneOf(words)) => {
            choices(words.iter().map(|word| ParamValue::Str((*word).into())).collect())
        }
        (TuningSpace::All, _) => choices(vec![ParamValue::Bool(false), ParamValue::Bool(true)]),
    }
}

/// Parses a search space file and checks its entries against the hyper-parameters of a model; `place` names the
/// file in errors.
pub(in crate::experiment) fn parse(
    place: &str,
    text: &str,
    hypers: &[&HyperParam],
) -> Result<Vec<(String, SpaceEntry)>> {
    let table: Table = parse_toml(place, text)?;
    if let Some(key) = table.keys().find(|key| *key != "space") {
        return Err(Error::unknown("key", key, ["space"]).with_place(place));
    }
    let Some(toml::Value::Table(space)) = table.get("space") else {
        let problem = "missing table `[space]`".into();
        return Err(Error::Data { place: place.into(), problem });
    };
    let entries = space.iter().map(|(key, value)| {
        let hyper = hypers.iter().find(|hyper| hyper.name == key);
        let known = hypers.iter().map(|hyper| hyper.name);
        let hyper = hyper.ok_or_else(|| Error::unknown("hyper-parameter", key, known))?;
        Ok((key.clone(), parse_entry(hyper, value)?))
    });
    entries.collect::<Result<_>>().map_err(|error: Error| error.with_place(place))
}

/// Parses an entry of the table `[space]`: a range, a list of choices or a fixed value.
fn parse_entry(hyper: &HyperParam, value: &toml::Value) -> Result<SpaceEntry> {
    match value {
        toml::Value::Table(table) => parse_range(hyper, table).map(SpaceEntry::Tuned),
        toml::Value::Array(list) => parse_choices(hyper, list).map(SpaceEntry::Tuned),
        _ => {
            let text = unquoted(value);
            hyper.parse(&text).map(|_| SpaceEntry::Fixed(text))
        }
    }
}

/// Parses a list of choices, as in `["patience", "mean"]`.
fn parse_choices(hyper: &HyperParam, list: &[toml::Value]) -> Result<Distribution> {
    let parsed = list.iter().map(|value| hyper.parse(&unquoted(value)).map(param_value));
    let choices: Vec<ParamValue> = parsed.collect::<Result<_>>()?;
    let is_repeated = |i: usize| choices[..i].iter().any(|earlier| earlier.python_eq(&choices[i]));
    if choices.is_empty() || (0..choices.len()).any(is_repeated) {
        let value = toml::Value::Array(list.to_vec()).to_string();
        return Err(bad_value(hyper, value, "at least one value, without duplicates"));
    }
    Ok(Distribution::Categorical { choices })
}

/// Converts the value of a hyper-parameter to a choice of a distribution.
fn param_value(value: Value) -> ParamValue {
    match value {
        Value::Int(v) => ParamValue::Int(v),
        Value::Real(v) => ParamValue::Float(v),
        Value::Flag(v) => ParamValue::Bool(v),
        Value::Word(v) => ParamValue::Str(v.into()),
    }
}

/// Parses a range of numbers, as in `{ low = 8, high = 32, step = 4 }`.
fn parse_range(hyper: &HyperParam, table: &Table) -> Result<Distribution> {
    let invalid =
        |expected: &str| bad_value(hyper, toml::Value::Table(table.clone()).to_string(), expected);
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Error::unknown("key", key, KEYS));
    }
    let bound = |key: &str| {
        let value = table.get(key).ok_or_else(|| invalid("both `low` and `high`"))?;
        hyper.parse(&unquoted(value))
    };
    let log = match table.get("log") {
        None => false,
        Some(toml::Value::Boolean(log)) => *log,
        Some(_) => return Err(invalid("`log = true` or `log = false`")),
    };
    let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|n| n as f64));
    let step = match table.get("step") {
        None => None,
        Some(value) => Some(number(value).ok_or_else(|| invalid("a number as `step`"))?),
    };
    if log && step.is_some() {
        return Err(invalid("either `log` or `step`"));
    }
    let distribution = match (bound("low")?, bound("high")?) {
        (Value::Int(low), Value::Int(high)) => {
            let integer = |step: f64| (step.fract() == 0.0).then_some(step as i64);
            let step = integer(step.unwrap_or(1.0)).ok_or_else(|| invalid("an integer `step`"))?;
            Distribution::Int { low, high, log, step }
        }
        (Value::Real(low), Value::Real(high)) => Distribution::Float { low, high, log, step },
        _ => return Err(invalid("a list of values in brackets")),
    };
    match distribution.check(hyper.name) {
        Err(clenshaw_tune::Error::BadValue { expected, .. }) => Err(invalid(&expected)),
        checked => Ok(checked.map(|()| distribution)?),
    }
}

fn bad_value(hyper: &HyperParam, value: String, expected: &str) -> Error {
    Error::BadValue { key: hyper.name.into(), value, expected: expected.into() }
}

/// Formats a trial's parameter in command-line syntax. Real multiples of a step are rounded to 12 decimals, so
/// that 0.1 + 0.2 is formatted as 0.3 and not as 0.30000000000000004.
pub(in crate::experiment) fn format_value(distribution: &Distribution, internal: f64) -> String {
    let value = match (distribution, distribution.to_external(internal)) {
        (Distribution::Float { step: Some(_), .. }, ParamValue::Float(v)) => {
            (v * 1e12).round() / 1e12
        }
        (_, ParamValue::Float(v)) => v,
        (_, ParamValue::Bool(v)) => return v.to_string(),
        (_, ParamValue::Int(v)) => return v.to_string(),
        (_, ParamValue::Str(v)) => return v,
        (_, other) => return other.to_json().to_string(),
    };
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    fn hyper_params() -> Vec<&'static HyperParam> {
        model::find("clenshaw-gcn").unwrap().hyper_params().collect()
    }

    fn entry_error(line: &str) -> String {
        parse("s.toml", &format!("[space]\n{line}"), &hyper_params()).unwrap_err().to_string()
    }

    #[test]
    fn declared_spaces_become_distributions() {
        let distribution = |name| {
            declared_distribution(
                hyper_params().into_iter().find(|hyper| hyper.name == name).unwrap(),
            )
        };
        assert!(matches!(distribution("K"), Some(Distribution::Int { .. })));
        let dropout = Distribution::Float { low: 0.0, high: 0.7, log: false, step: Some(0.1) };
        assert_eq!(distribution("dropout"), Some(dropout));
        let Some(Distribution::Categorical { choices }) = distribution("momentum") else {
            panic!()
        };
        assert_eq!(choices, [0.8, 0.85, 0.9, 0.95].map(ParamValue::Float));
        assert_eq!(distribution("max_epochs"), None);
        let flag = HyperParam::flag("star", false, "").tune_all();
        let both = vec![ParamValue::Bool(false), ParamValue::Bool(true)];
        assert_eq!(declared_distribution(&flag), Some(Distribution::Categorical { choices: both }));
    }

    #[test]
    fn parses_every_kind_of_entry() {
        let text = "[space]\nlr_conv = { low = 1e-4, high = 0.1, log = true }\n\
                    K = { low = 8, high = 32, step = 4 }\nstop = [\"patience\", \"mean\"]\n\
                    dropout = 0.5\nlambda = { low = 1, high = 2 }\n";
        let entries = parse("s.toml", text, &hyper_params()).unwrap();
        let tuned = |name: &str, d| (name.to_owned(), SpaceEntry::Tuned(d));
        let words = ["patience", "mean"].map(|word| ParamValue::Str(word.into())).to_vec();
        assert_eq!(
            entries,
            [
                tuned(
                    "lr_conv",
                    Distribution::Float { low: 1e-4, high: 0.1, log: true, step: None }
                ),
                tuned("K", Distribution::Int { low: 8, high: 32, log: false, step: 4 }),
                tuned("stop", Distribution::Categorical { choices: words }),
                ("dropout".to_owned(), SpaceEntry::Fixed("0.5".into())),
                tuned(
                    "lambda",
                    Distribution::Float { low: 1.0, high: 2.0, log: false, step: None }
                ),
            ]
        );
    }

    #[test]
    fn rejects_invalid_entries() {
        assert_eq!(entry_error("dropout = 2"), "s.toml: `dropout` is 2, outside 0 to 0.99");
        assert_eq!(
            entry_error("dropout = { low = 0.0, high = 1.5 }"),
            "s.toml: `dropout` is 1.5, outside 0 to 0.99"
        );
        let unknown = "s.toml: unknown hyper-parameter `droput`; did you mean `dropout`? known: ";
        assert!(entry_error("droput = 0.5").starts_with(unknown));
        assert_eq!(
            entry_error("stop = [\"never\"]"),
            "s.toml: `stop` is `never`; expected one of patience, mean, late-mean, accuracy, \
             accuracy-ties, none, roc-auc"
        );
        assert_eq!(
            entry_error("K = { low = 8, hihg = 9 }"),
            "s.toml: unknown key `hihg`; did you mean `high`? known: low, high, step, log"
        );
        for (line, expected) in [
            ("K = { low = 8 }", "`{ low = 8 }`; expected both `low` and `high`"),
            ("K = { low = 8, high = 4 }", "expected low <= high"),
            ("K = { low = 8, high = 9, step = 0.5 }", "expected an integer `step`"),
            ("K = { low = 8, high = 9, step = 0 }", "expected a step of at least 1"),
            ("K = { low = 1, high = 9, step = 2, log = true }", "expected either `log` or `step`"),
            ("K = 8.5", "`K` is `8.5`; expected a whole number"),
            (
                "dropout = { low = 0, high = 0.5, log = true }",
                "expected low above 0 on a logarithmic scale",
            ),
            ("dropout = []", "`[]`; expected at least one value, without duplicates"),
            ("dropout = [0.5, 0.5]", "expected at least one value, without duplicates"),
        ] {
            assert!(entry_error(line).contains(expected), "{line}: {}", entry_error(line));
        }
        let file_error = |text| parse("s.toml", text, &hyper_params()).unwrap_err().to_string();
        assert_eq!(file_error("K = 8"), "s.toml: unknown key `K`; known: space");
        assert_eq!(file_error(""), "s.toml: missing table `[space]`");
    }

    #[test]
    fn multiples_of_a_step_are_rounded() {
        let stepped = Distribution::Float { low: 0.0, high: 0.7, log: false, step: Some(0.1) };
        assert_eq!(format_value(&stepped, 0.1 + 0.2), "0.3");
        let free = Distribution::Float { low: 0.0, high: 0.7, log: false, step: None };
        assert_eq!(format_value(&free, 0.1 + 0.2), "0.30000000000000004");
    }
}
