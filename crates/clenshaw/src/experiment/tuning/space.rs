//! The search space of a study: declared by the model, or overridden by a file.
//!
//! ```toml
//! [space]
//! lr_conv = { low = 1e-4, high = 0.1, log = true }    # uniform in the logarithm
//! K = { low = 8, high = 32, step = 4 }                # 8, 12, ..., 32
//! stop = ["patience", "mean"]                         # one of these values
//! dropout = 0.5                                       # fixed, not tuned
//! ```

use super::super::config::{one_line, unquoted};
use crate::error::{Error, Result};
use crate::hyper::{HyperParam, TuningSpace, Value, ValueRange};
use clenshaw_tune::{Distribution, ParamValue};
use toml::Table;

/// An entry of a search space file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SpaceEntry {
    /// A hyper-parameter to tune.
    Tuned(Distribution),
    /// A fixed value, as typed on the command line.
    Fixed(String),
}

/// The keys of `{ low = 8, high = 32, step = 4 }`.
const KEYS: [&str; 4] = ["low", "high", "step", "log"];

/// The distribution of a hyper-parameter as declared by its model; `None` if it is not tuned.
pub(super) fn declared(hyper: &HyperParam) -> Option<Distribution> {
    let whole = matches!(hyper.range, ValueRange::Int(..));
    let choices = |choices: Vec<ParamValue>| Some(Distribution::Categorical { choices });
    match (hyper.space, hyper.range) {
        (TuningSpace::Fixed, _) => None,
        (TuningSpace::Steps { low, high, step }, _) if whole => Some(Distribution::Int {
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
                |v: f64| if whole { ParamValue::Int(v as i64) } else { ParamValue::Float(v) };
            choices(values.iter().map(|v| number(*v)).collect())
        }
        (TuningSpace::Any, ValueRange::OneOf(words)) => {
            choices(words.iter().map(|word| ParamValue::Str((*word).into())).collect())
        }
        (TuningSpace::Any, _) => choices(vec![ParamValue::Bool(false), ParamValue::Bool(true)]),
    }
}

/// Parses a file and checks its entries against the model; `place` names the file in errors.
pub(super) fn read(
    place: &str,
    text: &str,
    hypers: &[&HyperParam],
) -> Result<Vec<(String, SpaceEntry)>> {
    let wrong = |problem: String| Error::Data { place: place.into(), problem };
    let table: Table = text.parse().map_err(|e: toml::de::Error| wrong(one_line(&e)))?;
    if let Some(key) = table.keys().find(|key| *key != "space") {
        return Err(Error::unknown("key", key, ["space"]).within(place));
    }
    let Some(toml::Value::Table(space)) = table.get("space") else {
        return Err(wrong("no table `[space]`".into()));
    };
    let entries = space.iter().map(|(key, value)| {
        let hyper = hypers.iter().find(|hyper| hyper.name == key);
        let known = hypers.iter().map(|hyper| hyper.name);
        let hyper = hyper.ok_or_else(|| Error::unknown("hyper-parameter", key, known))?;
        Ok((key.clone(), entry(hyper, value)?))
    });
    entries.collect::<Result<_>>().map_err(|error: Error| error.within(place))
}

fn entry(hyper: &HyperParam, value: &toml::Value) -> Result<SpaceEntry> {
    match value {
        toml::Value::Table(table) => range(hyper, table).map(SpaceEntry::Tuned),
        toml::Value::Array(list) => categorical(hyper, list).map(SpaceEntry::Tuned),
        _ => {
            let text = unquoted(value);
            hyper.parse(&text).map(|_| SpaceEntry::Fixed(text))
        }
    }
}

/// Parses a list of choices, as in `["patience", "mean"]`.
fn categorical(hyper: &HyperParam, list: &[toml::Value]) -> Result<Distribution> {
    let parsed = list.iter().map(|value| hyper.parse(&unquoted(value)).map(choice));
    let choices: Vec<ParamValue> = parsed.collect::<Result<_>>()?;
    let is_repeated = |i: usize| choices[..i].iter().any(|earlier| earlier.python_eq(&choices[i]));
    if choices.is_empty() || (0..choices.len()).any(is_repeated) {
        let value = toml::Value::Array(list.to_vec()).to_string();
        return Err(bad_value(hyper, value, "at least one value, and no value twice"));
    }
    Ok(Distribution::Categorical { choices })
}

fn choice(value: Value) -> ParamValue {
    match value {
        Value::Int(v) => ParamValue::Int(v),
        Value::Real(v) => ParamValue::Float(v),
        Value::Flag(v) => ParamValue::Bool(v),
        Value::Word(v) => ParamValue::Str(v.into()),
    }
}

/// Parses a range of numbers, as in `{ low = 8, high = 32, step = 4 }`.
fn range(hyper: &HyperParam, table: &Table) -> Result<Distribution> {
    let wrong =
        |expected: &str| bad_value(hyper, toml::Value::Table(table.clone()).to_string(), expected);
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Error::unknown("key", key, KEYS));
    }
    let bound = |key: &str| {
        let value = table.get(key).ok_or_else(|| wrong("both `low` and `high`"))?;
        hyper.parse(&unquoted(value))
    };
    let log = match table.get("log") {
        None => false,
        Some(toml::Value::Boolean(log)) => *log,
        Some(_) => return Err(wrong("`log = true` or `log = false`")),
    };
    let step = match table.get("step") {
        None => None,
        Some(value) => Some(step(value).ok_or_else(|| wrong("a `step` above 0"))?),
    };
    if log && step.is_some() {
        return Err(wrong("either `log` or `step`"));
    }
    let distribution = match (bound("low")?, bound("high")?) {
        (Value::Int(low), Value::Int(high)) => {
            let whole = |step: f64| (step.fract() == 0.0).then_some(step as i64);
            let step = whole(step.unwrap_or(1.0)).ok_or_else(|| wrong("a whole `step`"))?;
            Distribution::Int { low, high, log, step }
        }
        (Value::Real(low), Value::Real(high)) => Distribution::Float { low, high, log, step },
        _ => return Err(wrong("a list of values in brackets")),
    };
    let (low, high) = bounds(&distribution);
    match () {
        () if low > high => Err(wrong("`low` not above `high`")),
        () if log && low <= 0.0 => Err(wrong("`low` above 0 with `log`")),
        () => Ok(distribution),
    }
}

fn step(value: &toml::Value) -> Option<f64> {
    let number = match value {
        toml::Value::Integer(whole) => *whole as f64,
        toml::Value::Float(real) => *real,
        _ => return None,
    };
    Some(number).filter(|step| *step > 0.0 && step.is_finite())
}

fn bounds(distribution: &Distribution) -> (f64, f64) {
    match *distribution {
        Distribution::Float { low, high, .. } => (low, high),
        Distribution::Int { low, high, .. } => (low as f64, high as f64),
        Distribution::Categorical { .. } => (0.0, 0.0),
    }
}

fn bad_value(hyper: &HyperParam, value: String, expected: &str) -> Error {
    Error::BadValue { key: hyper.name.into(), value, expected: expected.into() }
}

/// Formats a parameter of a trial as on the command line; multiples of a step are rounded, to 0.3 rather
/// than 0.30000000000000004.
pub(super) fn format_value(distribution: &Distribution, internal: f64) -> String {
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

    fn refused(line: &str) -> String {
        read("s.toml", &format!("[space]\n{line}"), &hyper_params()).unwrap_err().to_string()
    }

    #[test]
    fn declared_spaces_become_distributions() {
        let of =
            |name| declared(hyper_params().into_iter().find(|hyper| hyper.name == name).unwrap());
        assert!(matches!(of("K"), Some(Distribution::Int { .. })));
        let dropout = Distribution::Float { low: 0.0, high: 0.7, log: false, step: Some(0.1) };
        assert_eq!(of("dropout"), Some(dropout));
        let Some(Distribution::Categorical { choices }) = of("momentum") else { panic!() };
        assert_eq!(choices, [0.8, 0.85, 0.9, 0.95].map(ParamValue::Float));
        assert_eq!(of("max_epochs"), None);
        let flag = HyperParam::flag("star", false, TuningSpace::Any, "");
        let both = vec![ParamValue::Bool(false), ParamValue::Bool(true)];
        assert_eq!(declared(&flag), Some(Distribution::Categorical { choices: both }));
    }

    #[test]
    fn parses_every_kind_of_entry() {
        let text = "[space]\nlr_conv = { low = 1e-4, high = 0.1, log = true }\n\
                    K = { low = 8, high = 32, step = 4 }\nstop = [\"patience\", \"mean\"]\n\
                    dropout = 0.5\nlambda = { low = 1, high = 2 }\n";
        let entries = read("s.toml", text, &hyper_params()).unwrap();
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
        assert_eq!(refused("dropout = 2"), "s.toml: `dropout` is 2, outside 0..=0.99");
        assert_eq!(
            refused("dropout = { low = 0.0, high = 1.5 }"),
            "s.toml: `dropout` is 1.5, outside 0..=0.99"
        );
        let unknown = "s.toml: unknown hyper-parameter `droput`; did you mean `dropout`? known: ";
        assert!(refused("droput = 0.5").starts_with(unknown));
        assert_eq!(
            refused("stop = [\"never\"]"),
            "s.toml: `stop` is `never`; expected one of patience, mean, late-mean, accuracy, \
             accuracy-ties, none"
        );
        assert_eq!(
            refused("K = { low = 8, hihg = 9 }"),
            "s.toml: unknown key `hihg`; did you mean `high`? known: low, high, step, log"
        );
        for (line, expected) in [
            ("K = { low = 8 }", "`{ low = 8 }`; expected both `low` and `high`"),
            ("K = { low = 8, high = 4 }", "expected `low` not above `high`"),
            ("K = { low = 8, high = 9, step = 0.5 }", "expected a whole `step`"),
            ("K = { low = 8, high = 9, step = 0 }", "expected a `step` above 0"),
            ("K = { low = 1, high = 9, step = 2, log = true }", "expected either `log` or `step`"),
            ("K = 8.5", "`K` is `8.5`; expected a whole number"),
            ("dropout = { low = 0, high = 0.5, log = true }", "expected `low` above 0"),
            ("dropout = []", "`[]`; expected at least one value, and no value twice"),
            ("dropout = [0.5, 0.5]", "expected at least one value, and no value twice"),
        ] {
            assert!(refused(line).contains(expected), "{line}: {}", refused(line));
        }
        let whole = |text| read("s.toml", text, &hyper_params()).unwrap_err().to_string();
        assert_eq!(whole("K = 8"), "s.toml: unknown key `K`; known: space");
        assert_eq!(whole(""), "s.toml: no table `[space]`");
    }

    #[test]
    fn multiples_of_a_step_are_rounded() {
        let stepped = Distribution::Float { low: 0.0, high: 0.7, log: false, step: Some(0.1) };
        assert_eq!(format_value(&stepped, 0.1 + 0.2), "0.3");
        let free = Distribution::Float { low: 0.0, high: 0.7, log: false, step: None };
        assert_eq!(format_value(&free, 0.1 + 0.2), "0.30000000000000004");
    }
}
