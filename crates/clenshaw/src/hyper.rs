//! Hyper-parameters. Each is declared once, with its default, allowed values, tuning space and meaning.
//!
//! Parsing, checking, listing, tuning and recording are all derived from that declaration.

mod choice;

pub(crate) use choice::choices;
pub use choice::{Choice, Scaling, StopRule};

use crate::error::{Error, Result};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// The declaration of one hyper-parameter.
///
/// It is not tuned unless one of the `tune` methods is called.
#[derive(Clone, Copy, Debug)]
pub struct HyperParam {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// Its value if it is not set.
    pub default: Value,
    /// The allowed values.
    pub range: ValueRange,
    /// The values that tuning tries by default.
    pub space: TuningSpace,
    /// A short description for listings.
    pub meaning: &'static str,
    /// Whether records omit it when it has its default value, because older records do not contain it.
    pub omit_default: bool,
}

/// Concatenates two lists of declarations; `N` is the sum of their lengths. `first` must not be empty.
pub const fn concat<const N: usize>(
    first: &[HyperParam],
    second: &[HyperParam],
) -> [HyperParam; N] {
    assert!(first.len() + second.len() == N, "concat: N is not the sum of the lengths");
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
    /// An integer.
    Int(i64),
    /// A real number.
    Real(f64),
    /// True or false.
    Flag(bool),
    /// The word of a [`Choice`].
    Word(&'static str),
}

/// The allowed values of a hyper-parameter, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRange {
    /// Integers between two bounds.
    Int(i64, i64),
    /// Real numbers between two bounds.
    Real(f64, f64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// The values that tuning tries by default.
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
    /// All words of the range, or both values of a flag.
    All,
}

impl HyperParam {
    /// An integer between two bounds.
    pub const fn int(
        name: &'static str,
        default: i64,
        (low, high): (i64, i64),
        meaning: &'static str,
    ) -> Self {
        Self::fixed(name, Value::Int(default), ValueRange::Int(low, high), meaning)
    }

    /// A real number between two bounds.
    pub const fn real(
        name: &'static str,
        default: f64,
        (low, high): (f64, f64),
        meaning: &'static str,
    ) -> Self {
        Self::fixed(name, Value::Real(default), ValueRange::Real(low, high), meaning)
    }

    /// A flag.
    pub const fn flag(name: &'static str, default: bool, meaning: &'static str) -> Self {
        Self::fixed(name, Value::Flag(default), ValueRange::Flag, meaning)
    }

    /// One variant of the enum `C`, given by its word.
    pub const fn choice<C: Choice>(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self::fixed(name, Value::Word(default), ValueRange::OneOf(C::WORDS), meaning)
    }

    const fn fixed(
        name: &'static str,
        default: Value,
        range: ValueRange,
        meaning: &'static str,
    ) -> Self {
        Self { name, default, range, space: TuningSpace::Fixed, meaning, omit_default: false }
    }

    /// The same declaration, tuned over these numbers.
    pub const fn tune_among(self, values: &'static [f64]) -> Self {
        Self { space: TuningSpace::Among(values), ..self }
    }

    /// The same declaration, tuned over `low, low + step, ..., high`.
    pub const fn tune_steps(self, low: f64, high: f64, step: f64) -> Self {
        Self { space: TuningSpace::Steps { low, high, step }, ..self }
    }

    /// The same declaration, tuned over all words of the range, or both values of a flag.
    pub const fn tune_all(self) -> Self {
        Self { space: TuningSpace::All, ..self }
    }

    /// A learning rate, tuned over the grid in the logs of ClenshawGCN's authors.
    pub const fn learning_rate(name: &'static str, default: f64, meaning: &'static str) -> Self {
        let grid = &[0.0005, 0.001, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05];
        Self::real(name, default, (0.0, 10.0), meaning).tune_among(grid)
    }

    /// A weight decay, tuned over powers of ten.
    pub const fn weight_decay(name: &'static str, default: f64, meaning: &'static str) -> Self {
        let grid = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];
        Self::real(name, default, (0.0, 10.0), meaning).tune_among(grid)
    }

    /// A dropout rate, tuned in steps of a tenth.
    pub const fn dropout(name: &'static str, default: f64, meaning: &'static str) -> Self {
        Self::real(name, default, (0.0, 0.99), meaning).tune_steps(0.0, 0.7, 0.1)
    }

    /// The same declaration; records omit the hyper-parameter when it has its default value.
    pub const fn omit_default(self) -> Self {
        Self { omit_default: true, ..self }
    }

    /// Parses a value; an error names the expected kind or the allowed range.
    pub fn parse(&self, text: &str) -> Result<Value> {
        let value = match self.range {
            ValueRange::Int(..) => text.parse().ok().map(Value::Int),
            ValueRange::Real(..) => text.parse().ok().map(Value::Real),
            ValueRange::Flag => match text {
                "true" | "yes" | "on" | "1" => Some(Value::Flag(true)),
                "false" | "no" | "off" | "0" => Some(Value::Flag(false)),
                _ => None,
            },
            ValueRange::OneOf(words) => {
                words.iter().find(|word| **word == text).map(|word| Value::Word(word))
            }
        };
        let value = value.ok_or_else(|| self.bad_value(text))?;
        self.check(value).map(|()| value)
    }

    /// Returns an error unless the value is of the declared kind and within the range.
    pub fn check(&self, value: Value) -> Result<()> {
        let inside = match (self.range, value) {
            (ValueRange::Int(low, high), Value::Int(v)) => (low..=high).contains(&v),
            (ValueRange::Real(low, high), Value::Real(v)) => (low..=high).contains(&v),
            (ValueRange::Flag, Value::Flag(_)) => true,
            (ValueRange::OneOf(words), Value::Word(word)) if words.contains(&word) => true,
            _ => return Err(self.bad_value(&value.to_string())),
        };
        let outside = || Error::OutOfRange {
            key: self.name.into(),
            value: value.to_string(),
            allowed: self.range.to_string(),
        };
        inside.then_some(()).ok_or_else(outside)
    }

    /// [`Error::BadValue`] for a value of another kind or an unknown word.
    fn bad_value(&self, value: &str) -> Error {
        let expected = match self.range {
            ValueRange::Int(..) => "a whole number".into(),
            ValueRange::Real(..) => "a number".into(),
            ValueRange::Flag => "`true` or `false`".into(),
            ValueRange::OneOf(words) => format!("one of {}", words.join(", ")),
        };
        Error::BadValue { key: self.name.into(), value: value.into(), expected }
    }
}

macro_rules! value_from {
    ($($number:ty => $variant:ident),+) => {
        $(impl From<$number> for Value {
            fn from(value: $number) -> Self {
                Self::$variant(value.into())
            }
        })+
    };
}

value_from!(i32 => Int, i64 => Int, f64 => Real, bool => Flag, &'static str => Word);

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
            Self::Int(low, high) => write!(f, "{low} to {high}"),
            Self::Real(low, high) => write!(f, "{low} to {high}"),
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
            Self::All => f.write_str("any"),
        }
    }
}

/// The hyper-parameters of a model or a data set: a checked value for every declaration.
///
/// The getters panic if `key` was not declared or has another kind.
#[derive(Clone, Debug)]
pub struct Params {
    entries: Vec<(&'static HyperParam, Value)>,
}

impl Params {
    /// Every hyper-parameter at its default.
    pub fn defaults(declared: impl IntoIterator<Item = &'static HyperParam>) -> Self {
        Self { entries: declared.into_iter().map(|hyper| (hyper, hyper.default)).collect() }
    }

    /// Sets the value of `key` from text, as typed on a command line or read from a file.
    pub fn set(&mut self, key: &str, text: &str) -> Result<()> {
        let (hyper, value) = self.entry(key)?;
        *value = hyper.parse(text)?;
        Ok(())
    }

    /// Sets the value of `key` from a typed value; an integer is accepted for a real number.
    ///
    /// ```
    /// let mut hp = clenshaw::model::find("clenshaw-gcn")?.defaults();
    /// hp.set_value("K", 4)?;
    /// hp.set_value("lambda", 1.5)?;
    /// hp.set_value("use_act", false)?;
    /// hp.set_value("stop", "accuracy")?;
    /// assert_eq!(hp.int("K"), 4);
    /// assert!(hp.set_value("K", "many").is_err());
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn set_value(&mut self, key: &str, value: impl Into<Value>) -> Result<()> {
        let (hyper, current) = self.entry(key)?;
        let value = match (hyper.range, value.into()) {
            (ValueRange::Real(..), Value::Int(v)) => Value::Real(v as f64),
            (_, value) => value,
        };
        hyper.check(value)?;
        *current = value;
        Ok(())
    }

    /// The entry of `key`; an error if it is not declared.
    fn entry(&mut self, key: &str) -> Result<&mut (&'static HyperParam, Value)> {
        let known: Vec<&str> = self.entries.iter().map(|(hyper, _)| hyper.name).collect();
        let unknown = || Error::unknown("key", key, known);
        self.entries.iter_mut().find(|(hyper, _)| hyper.name == key).ok_or_else(unknown)
    }

    /// Every declaration with its value, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static HyperParam, Value)> + '_ {
        self.entries.iter().copied()
    }

    /// The declarations and values that records contain: all except defaults with
    /// [`omit_default`](HyperParam::omit_default).
    pub fn recorded(&self) -> impl Iterator<Item = (&'static HyperParam, Value)> + '_ {
        self.iter().filter(|(hyper, value)| !hyper.omit_default || *value != hyper.default)
    }

    /// Returns whether `key` is declared.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(hyper, _)| hyper.name == key)
    }

    /// The value of an integer `key`, whose range must not include negative numbers.
    pub fn int(&self, key: &str) -> usize {
        match self.get(key) {
            Value::Int(v) => usize::try_from(v).expect("the declared range of a size starts at 0"),
            other => panic!("`{key}` is {other:?}, not an integer"),
        }
    }

    /// The value of a real `key`.
    pub fn real(&self, key: &str) -> f64 {
        match self.get(key) {
            Value::Real(v) => v,
            other => panic!("`{key}` is {other:?}, not a real number"),
        }
    }

    /// The value of a flag.
    pub fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            Value::Flag(v) => v,
            other => panic!("`{key}` is {other:?}, not a flag"),
        }
    }

    /// The value of a `key` that was declared as a choice of `C`.
    pub fn choice<C: Choice>(&self, key: &str) -> C {
        match self.get(key) {
            Value::Word(word) => {
                C::from_word(word).unwrap_or_else(|| panic!("`{key}` is not a choice of this type"))
            }
            other => panic!("`{key}` is {other:?}, not a choice"),
        }
    }

    fn get(&self, key: &str) -> Value {
        let entry = self.entries.iter().find(|(hyper, _)| hyper.name == key);
        entry.unwrap_or_else(|| panic!("`{key}` is not declared")).1
    }
}

/// Serialised as a map from name to value, in the order of declaration; see [`Params::recorded`].
impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.recorded().count()))?;
        for (hyper, value) in self.recorded() {
            map.serialize_entry(hyper.name, &value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECLARED: [HyperParam; 4] = [
        HyperParam::int("K", 8, (1, 64), "order").tune_steps(8.0, 32.0, 4.0),
        HyperParam::real("lambda", 1.0, (0.0, 10.0), "strength").tune_among(&[1.0, 1.5, 2.0]),
        HyperParam::flag("star", false, "variant"),
        HyperParam::choice::<StopRule>("stop", "patience", "rule"),
    ];

    fn set_error(key: &str, text: &str) -> String {
        Params::defaults(&DECLARED).set(key, text).unwrap_err().to_string()
    }

    #[test]
    fn set_parses_and_stores_values() {
        let mut params = Params::defaults(&DECLARED);
        for (key, text) in [("K", "16"), ("lambda", "1.5"), ("star", "true"), ("stop", "mean")] {
            params.set(key, text).unwrap();
        }
        assert_eq!((params.int("K"), params.real("lambda")), (16, 1.5));
        assert_eq!((params.flag("star"), params.choice("stop")), (true, StopRule::Mean));
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"K":16,"lambda":1.5,"star":true,"stop":"mean"}"#);
    }

    #[test]
    fn set_value_checks_kind_and_range() {
        let mut params = Params::defaults(&DECLARED);
        params.set_value("lambda", 2).unwrap();
        assert_eq!(params.real("lambda"), 2.0);
        let mut error = |key, value: Value| params.set_value(key, value).unwrap_err().to_string();
        assert_eq!(error("K", Value::Int(0)), "`K` is 0, outside 1 to 64");
        assert_eq!(error("K", Value::Real(8.5)), "`K` is `8.5`; expected a whole number");
        assert_eq!(error("star", Value::Int(1)), "`star` is `1`; expected `true` or `false`");
        assert!(error("stop", Value::Word("never")).starts_with("`stop` is `never`; expected"));
        assert_eq!((params.int("K"), params.real("lambda")), (8, 2.0));
    }

    #[test]
    fn concat_keeps_the_order() {
        let [first @ .., last] = &DECLARED;
        let all: [HyperParam; 4] = concat(first, &[*last]);
        assert_eq!(all.map(|hyper| hyper.name), DECLARED.map(|hyper| hyper.name));
    }

    #[test]
    fn errors_name_the_allowed_values() {
        assert_eq!(set_error("lambda", "-1"), "`lambda` is -1, outside 0 to 10");
        assert_eq!(set_error("lambda", "NaN"), "`lambda` is NaN, outside 0 to 10");
        assert_eq!(set_error("K", "eight"), "`K` is `eight`; expected a whole number");
        assert_eq!(
            set_error("stop", "never"),
            "`stop` is `never`; expected one of patience, mean, late-mean, accuracy, \
             accuracy-ties, none, roc-auc"
        );
        assert_eq!(
            set_error("lamda", "1"),
            "unknown key `lamda`; did you mean `lambda`? known: K, lambda, star, stop"
        );
    }
}
