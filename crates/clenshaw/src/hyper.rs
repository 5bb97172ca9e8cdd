//! HyperParam-parameters: declared once, then typed, checked, listed, tuned and recorded from that.

use crate::error::{Error, Result};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// One hyper-parameter, as its owner declares it.
#[derive(Clone, Copy, Debug)]
pub struct HyperParam {
    /// The word people type.
    pub name: &'static str,
    /// What it is when nobody says otherwise.
    pub default: Value,
    /// What is accepted.
    pub range: ValueRange,
    /// What a tuner tries.
    pub space: TuningSpace,
    /// One sentence of meaning.
    pub meaning: &'static str,
}

/// Two lists in one, for those who share a list and add to it; `N` is the length of both together.
pub const fn concat<const N: usize>(
    first: &[HyperParam],
    second: &[HyperParam],
) -> [HyperParam; N] {
    assert!(first.len() + second.len() == N, "concat: the lengths of the lists");
    let mut all = [first[0]; N];
    let mut i = 1;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// A hyper-parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// On or off.
    Flag(bool),
    /// One of a declared list of words.
    Word(&'static str),
}

/// The values that are accepted, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRange {
    /// Whole numbers from the first to the second.
    Int(i64, i64),
    /// Real numbers from the first to the second.
    Real(f64, f64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// The values a tuner tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TuningSpace {
    /// Not tuned.
    Fixed,
    /// `low, low + step, ..., high`.
    Steps {
        /// The first value.
        low: f64,
        /// The last value.
        high: f64,
        /// The distance between two values.
        step: f64,
    },
    /// These numbers.
    Among(&'static [f64]),
    /// Every word or both flags of the range.
    Any,
}

impl HyperParam {
    /// A whole number.
    pub const fn int(
        name: &'static str,
        default: i64,
        bounds: (i64, i64),
        space: TuningSpace,
        meaning: &'static str,
    ) -> Self {
        let range = ValueRange::Int(bounds.0, bounds.1);
        Self { name, default: Value::Int(default), range, space, meaning }
    }

    /// A real number.
    pub const fn real(
        name: &'static str,
        default: f64,
        bounds: (f64, f64),
        space: TuningSpace,
        meaning: &'static str,
    ) -> Self {
        let range = ValueRange::Real(bounds.0, bounds.1);
        Self { name, default: Value::Real(default), range, space, meaning }
    }

    /// A switch.
    pub const fn flag(
        name: &'static str,
        default: bool,
        space: TuningSpace,
        meaning: &'static str,
    ) -> Self {
        Self { name, default: Value::Flag(default), range: ValueRange::Flag, space, meaning }
    }

    /// A word out of a list.
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        space: TuningSpace,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            default: Value::Word(default),
            range: ValueRange::OneOf(words),
            space,
            meaning,
        }
    }

    /// A learning rate, tuned over the grid of the authors' logs.
    pub const fn learning_rate(name: &'static str, default: f64, meaning: &'static str) -> Self {
        const GRID: TuningSpace =
            TuningSpace::Among(&[0.0005, 0.001, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05]);
        Self::real(name, default, (0.0, 10.0), GRID, meaning)
    }

    /// A weight decay, tuned over powers of ten.
    pub const fn weight_decay(name: &'static str, default: f64, meaning: &'static str) -> Self {
        const GRID: TuningSpace = TuningSpace::Among(&[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3]);
        Self::real(name, default, (0.0, 10.0), GRID, meaning)
    }

    /// A dropout rate, tuned in steps of a tenth.
    pub const fn dropout(name: &'static str, default: f64, meaning: &'static str) -> Self {
        let steps = TuningSpace::Steps { low: 0.0, high: 0.7, step: 0.1 };
        Self::real(name, default, (0.0, 0.99), steps, meaning)
    }

    /// Reads what somebody typed.
    pub fn parse(&self, text: &str) -> Result<Value> {
        let bad = |expected: String| Error::BadValue {
            key: self.name.into(),
            value: text.into(),
            expected,
        };
        let value = match self.range {
            ValueRange::Int(..) => {
                text.parse().map(Value::Int).map_err(|_| bad("a whole number".into()))?
            }
            ValueRange::Real(..) => {
                text.parse().map(Value::Real).map_err(|_| bad("a number".into()))?
            }
            ValueRange::Flag => match text {
                "true" | "yes" | "on" | "1" => Value::Flag(true),
                "false" | "no" | "off" | "0" => Value::Flag(false),
                _ => return Err(bad("`true` or `false`".into())),
            },
            ValueRange::OneOf(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Word(word))
                .ok_or_else(|| bad(format!("one of {}", words.join(", "))))?,
        };
        self.check(value).map(|()| value)
    }

    /// Refuses a value outside the range.
    pub fn check(&self, value: Value) -> Result<()> {
        let inside = match (self.range, value) {
            (ValueRange::Int(low, high), Value::Int(v)) => (low..=high).contains(&v),
            (ValueRange::Real(low, high), Value::Real(v)) => (low..=high).contains(&v),
            (ValueRange::Flag, Value::Flag(_)) => true,
            (ValueRange::OneOf(words), Value::Word(word)) => words.contains(&word),
            _ => false,
        };
        let outside = || Error::OutOfRange {
            key: self.name.into(),
            value: value.to_string(),
            allowed: self.range.to_string(),
        };
        inside.then_some(()).ok_or_else(outside)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(v) => v.fmt(f),
            Self::Real(v) if *v != 0.0 && v.abs() < 1e-3 => write!(f, "{v:e}"),
            Self::Real(v) => v.fmt(f),
            Self::Flag(v) => v.fmt(f),
            Self::Word(v) => v.fmt(f),
        }
    }
}

impl std::fmt::Display for ValueRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(low, high) => write!(f, "{low}..={high}"),
            Self::Real(low, high) => write!(f, "{low}..={high}"),
            Self::Flag => f.write_str("true, false"),
            Self::OneOf(words) => f.write_str(&words.join(", ")),
        }
    }
}

impl std::fmt::Display for TuningSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed => f.write_str("not tuned"),
            Self::Steps { low, high, step } => write!(f, "{low}, {}, ..., {high}", low + step),
            Self::Among(values) => {
                let values: Vec<_> = values.iter().map(|v| Value::Real(*v).to_string()).collect();
                f.write_str(&values.join(", "))
            }
            Self::Any => f.write_str("any"),
        }
    }
}

/// A checked value for every declared hyper-parameter.
#[derive(Clone, Debug)]
pub struct Params {
    entries: Vec<(&'static HyperParam, Value)>,
}

impl Params {
    /// Every hyper-parameter at its default.
    pub fn defaults(declared: impl IntoIterator<Item = &'static HyperParam>) -> Self {
        Self { entries: declared.into_iter().map(|hyper| (hyper, hyper.default)).collect() }
    }

    /// Sets one from what somebody typed.
    pub fn set(&mut self, key: &str, text: &str) -> Result<()> {
        let known: Vec<&str> = self.entries.iter().map(|(hyper, _)| hyper.name).collect();
        let unknown = || Error::unknown("key", key, known);
        let entry = self.entries.iter_mut().find(|(hyper, _)| hyper.name == key);
        let (hyper, value) = entry.ok_or_else(unknown)?;
        *value = hyper.parse(text)?;
        Ok(())
    }

    /// All of them, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static HyperParam, Value)> + '_ {
        self.entries.iter().copied()
    }

    /// Whether a key of this name was declared.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(hyper, _)| hyper.name == key)
    }

    /// A whole number that is not negative.
    pub fn int(&self, key: &str) -> usize {
        match self.get(key) {
            Value::Int(v) => usize::try_from(v).expect("declared ranges of sizes start at 0"),
            other => panic!("`{key}` is {other:?}, not a whole number"),
        }
    }

    /// A real number.
    pub fn real(&self, key: &str) -> f64 {
        match self.get(key) {
            Value::Real(v) => v,
            other => panic!("`{key}` is {other:?}, not a real number"),
        }
    }

    /// A switch.
    pub fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            Value::Flag(v) => v,
            other => panic!("`{key}` is {other:?}, not a switch"),
        }
    }

    /// A word.
    pub fn word(&self, key: &str) -> &'static str {
        match self.get(key) {
            Value::Word(v) => v,
            other => panic!("`{key}` is {other:?}, not a word"),
        }
    }

    fn get(&self, key: &str) -> Value {
        let entry = self.entries.iter().find(|(hyper, _)| hyper.name == key);
        entry.unwrap_or_else(|| panic!("`{key}` was never declared")).1
    }
}

/// As a map from name to value, in the order of declaration.
impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (hyper, value) in &self.entries {
            map.serialize_entry(hyper.name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECLARED: [HyperParam; 4] = [
        HyperParam::int(
            "K",
            8,
            (1, 64),
            TuningSpace::Steps { low: 8.0, high: 32.0, step: 4.0 },
            "order",
        ),
        HyperParam::real(
            "lambda",
            1.0,
            (0.0, 10.0),
            TuningSpace::Among(&[1.0, 1.5, 2.0]),
            "strength",
        ),
        HyperParam::flag("star", false, TuningSpace::Fixed, "variant"),
        HyperParam::word("stop", "patience", &["patience", "mean"], TuningSpace::Fixed, "rule"),
    ];

    fn refused(key: &str, text: &str) -> String {
        Params::defaults(&DECLARED).set(key, text).unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_and_kept() {
        let mut params = Params::defaults(&DECLARED);
        for (key, text) in [("K", "16"), ("lambda", "1.5"), ("star", "true"), ("stop", "mean")] {
            params.set(key, text).unwrap();
        }
        assert_eq!((params.int("K"), params.real("lambda")), (16, 1.5));
        assert_eq!((params.flag("star"), params.word("stop")), (true, "mean"));
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"K":16,"lambda":1.5,"star":true,"stop":"mean"}"#);
    }

    #[test]
    fn joined_lists_keep_their_order() {
        let [first @ .., last] = &DECLARED;
        let all: [HyperParam; 4] = concat(first, &[*last]);
        assert_eq!(all.map(|hyper| hyper.name), DECLARED.map(|hyper| hyper.name));
    }

    #[test]
    fn bad_values_say_what_would_work() {
        assert_eq!(refused("lambda", "-1"), "`lambda` is -1, outside 0..=10");
        assert_eq!(refused("lambda", "NaN"), "`lambda` is NaN, outside 0..=10");
        assert_eq!(refused("K", "eight"), "`K` is `eight`; expected a whole number");
        assert_eq!(refused("stop", "never"), "`stop` is `never`; expected one of patience, mean");
        assert_eq!(
            refused("lamda", "1"),
            "unknown key `lamda`; did you mean `lambda`? known: K, lambda, star, stop"
        );
    }
}
