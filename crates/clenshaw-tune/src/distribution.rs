//! Distributions of parameters, and the values drawn from them.
//!
//! Optuna stores every parameter as one `f64`, its *internal* value: a float unchanged, an integer
//! converted, a categorical choice as its index in the list of choices.

use crate::error::{Error, Result};

/// The set of values that a parameter may take.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Real numbers on a linear or logarithmic scale.
    Float {
        /// The smallest value.
        low: f64,
        /// The upper bound; the largest value is smaller if no whole number of steps reaches the bound.
        high: f64,
        /// Whether to sample on a logarithmic scale.
        log: bool,
        /// The distance between consecutive values, starting at `low`; `None` for all real numbers.
        step: Option<f64>,
    },
    /// Integers on a linear or logarithmic scale.
    Int {
        /// The smallest value.
        low: i64,
        /// The upper bound; the largest value is smaller if no whole number of steps reaches the bound.
        high: i64,
        /// Whether to sample on a logarithmic scale.
        log: bool,
        /// The distance between consecutive values, starting at `low`.
        step: i64,
    },
    /// One of a list of choices.
    Categorical {
        /// The choices; at least one.
        choices: Vec<ParamValue>,
    },
}

/// The value of a parameter as a user writes it: Optuna's external representation.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// Python's `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A string.
    Str(String),
    /// A list or an object. Optuna warns about such choices but stores them.
    Json(serde_json::Value),
}

impl ParamValue {
    /// Whether both are the same choice. As in Python, `True`, `1` and `1.0` are equal; as in Optuna, NaN is
    /// equal to itself.
    pub fn python_eq(&self, other: &Self) -> bool {
        // Different large integers may be converted to the same `f64`.
        if let (Self::Int(a), Self::Int(b)) = (self, other) {
            return a == b;
        }
        match (self.as_f64(), other.as_f64()) {
            (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
            _ => self == other,
        }
    }

    /// The value as a number, 0 or 1 for a boolean; `None` for strings, lists, objects and Python's `None`.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Bool(value) => Some(f64::from(u8::from(value))),
            Self::Int(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::None | Self::Str(_) | Self::Json(_) => None,
        }
    }
}

/// Optuna's tolerance for the distance to a multiple of the step, in steps.
const STEP_TOLERANCE: f64 = 1e-8;

impl Distribution {
    /// Checks bounds, step and choices by Optuna's rules.
    ///
    /// # Errors
    /// If a bound or `high - low` is not finite, if `low > high`, if a step is not positive and finite, if a
    /// logarithmic scale includes values that are not positive, or is combined with a step (for integers,
    /// with a step other than 1), or if there are no choices. `name` names the parameter in the message.
    pub fn check(&self, name: &str) -> Result<()> {
        let expected = match *self {
            Self::Float { low, high, log, step } => match (low, high, log, step) {
                _ if !(low <= high && (high - low).is_finite()) => "finite bounds with low <= high",
                (.., Some(step)) if !(step > 0.0 && step.is_finite()) => "a step above 0",
                (_, _, true, _) if low <= 0.0 => "low above 0 on a logarithmic scale",
                (_, _, true, Some(_)) => "no step on a logarithmic scale",
                _ => return Ok(()),
            },
            Self::Int { low, high, log, step } => match (low, high, log, step) {
                _ if low > high => "low <= high",
                _ if step < 1 => "a step of at least 1",
                _ if log && low < 1 => "low of at least 1 on a logarithmic scale",
                _ if log && step != 1 => "a step of 1 on a logarithmic scale",
                _ => return Ok(()),
            },
            Self::Categorical { ref choices } => match choices.is_empty() {
                true => "at least one choice",
                false => return Ok(()),
            },
        };
        let (key, value) = (name.to_owned(), self.to_json());
        Err(Error::BadValue { key, value, expected: expected.to_owned() })
    }

    /// Whether an internal value belongs to the distribution. The index of a choice may have a fractional
    /// part, which is ignored.
    pub fn contains(&self, internal: f64) -> bool {
        match *self {
            Self::Float { low, high, step, .. } => {
                let steps = |step: f64| (internal - low) / step;
                let distance = |step| (steps(step) - steps(step).round()).abs();
                (low..=high).contains(&internal)
                    && step.is_none_or(|step| distance(step) < STEP_TOLERANCE)
            }
            Self::Int { low, high, step, .. } => {
                let in_bounds = (low as f64..=high as f64).contains(&internal);
                in_bounds && (internal - low as f64) % step as f64 == 0.0
            }
            Self::Categorical { ref choices } => {
                internal >= 0.0 && (internal as usize) < choices.len()
            }
        }
    }

    /// Whether the distribution contains a single value.
    pub fn is_single(&self) -> bool {
        match *self {
            Self::Float { low, high, step, .. } => {
                low == high || step.is_some_and(|step| (high - low) / step < 1.0 - STEP_TOLERANCE)
            }
            Self::Int { low, high, step, .. } => high.saturating_sub(low) < step,
            Self::Categorical { ref choices } => choices.len() == 1,
        }
    }

    /// Whether one study may contain both distributions under one parameter name: bounds and steps may
    /// differ; kind, scale and list of choices may not.
    pub fn is_compatible(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float { log: a, .. }, Self::Float { log: b, .. })
            | (Self::Int { log: a, .. }, Self::Int { log: b, .. }) => a == b,
            (Self::Categorical { choices: a }, Self::Categorical { choices: b }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.python_eq(b))
            }
            _ => false,
        }
    }

    /// Converts a value to its internal representation; `None` if it does not belong to the
    /// distribution.
    pub fn to_internal(&self, value: &ParamValue) -> Option<f64> {
        let internal = match self {
            Self::Categorical { choices } => {
                choices.iter().position(|choice| choice.python_eq(value)).map(|index| index as f64)
            }
            Self::Float { .. } | Self::Int { .. } => value.as_f64(),
        };
        internal.filter(|&internal| self.contains(internal))
    }

    /// Converts an internal value to the value that a user would write.
    ///
    /// # Panics
    /// If the distribution is categorical and does not contain the value.
    pub fn to_external(&self, internal: f64) -> ParamValue {
        match self {
            Self::Categorical { .. } if !self.contains(internal) => {
                panic!("to_external: {internal} is not the index of a choice")
            }
            Self::Float { .. } => ParamValue::Float(internal),
            Self::Int { .. } => ParamValue::Int(internal as i64),
            Self::Categorical { choices } => choices[internal as usize].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_distributions() {
        let float = |low, high, log, step| Distribution::Float { low, high, log, step };
        let int = |low, high, log, step| Distribution::Int { low, high, log, step };
        for (invalid, expected) in [
            (int(1, 9, true, 2), "a step of 1 on a logarithmic scale"),
            (float(1.0, 0.0, false, None), "finite bounds with low <= high"),
            (float(0.0, f64::NAN, false, None), "finite bounds with low <= high"),
            (float(0.0, 1.0, false, Some(0.0)), "a step above 0"),
            (float(0.0, 1.0, true, None), "low above 0 on a logarithmic scale"),
            (float(0.1, 1.0, true, Some(0.1)), "no step on a logarithmic scale"),
            (int(2, 1, false, 1), "low <= high"),
            (int(1, 2, false, 0), "a step of at least 1"),
            (int(0, 2, true, 1), "low of at least 1 on a logarithmic scale"),
            (Distribution::Categorical { choices: vec![] }, "at least one choice"),
        ] {
            let error = invalid.check("x").unwrap_err().to_string();
            assert!(error.starts_with("`x` is `{\"name\":"), "{error}");
            assert!(error.ends_with(&format!("expected {expected}")), "{error}");
        }
        assert!(float(0.5, 0.5, true, None).check("x").is_ok());
    }

    #[test]
    fn contains_bounds_and_valid_choice_indices() {
        let rate = Distribution::Float { low: 1e-8, high: 1e-3, log: true, step: None };
        assert!(rate.contains(1e-8) && rate.contains(1e-3) && !rate.contains(2e-3));
        let list =
            Distribution::Categorical { choices: vec![ParamValue::None, ParamValue::Int(4)] };
        assert!(list.contains(1.0) && !list.contains(2.0) && !list.contains(-1.0));
        assert!(!list.contains(f64::NAN));
    }

    #[test]
    fn step_wider_than_range_leaves_single_value() {
        let order = |high| Distribution::Int { low: 8, high, log: false, step: 4 };
        assert!(order(11).is_single() && !order(12).is_single());
    }

    #[test]
    fn contains_only_multiples_of_the_step() {
        let float = Distribution::Float { low: 0.1, high: 0.7, log: false, step: Some(0.1) };
        assert!(float.contains(0.3) && float.contains(0.1 + 0.1 + 0.1) && !float.contains(0.35));
        let int = Distribution::Int { low: 1, high: 9, log: false, step: 4 };
        assert!(int.contains(5.0) && !int.contains(4.0) && !int.contains(5.5));
        // In binary floating point 0.3 - 0.1 is slightly less than 0.2.
        let two = Distribution::Float { low: 0.1, high: 0.3, log: false, step: Some(0.2) };
        assert!(!two.is_single());
    }

    #[test]
    fn compatibility_depends_on_kind_scale_and_choices() {
        let float = |high, log| Distribution::Float { low: 0.1, high, log, step: None };
        let int = Distribution::Int { low: 1, high: 2, log: false, step: 1 };
        assert!(float(1.0, false).is_compatible(&float(2.0, false)));
        assert!(!float(1.0, false).is_compatible(&float(1.0, true)));
        assert!(!float(1.0, false).is_compatible(&int));
        let list = |choices: &[ParamValue]| Distribution::Categorical { choices: choices.to_vec() };
        let [one, on, two] =
            [ParamValue::Int(1), ParamValue::Bool(true), ParamValue::Str("2".into())];
        let first = list(&[one.clone(), two.clone()]);
        assert!(first.is_compatible(&list(&[on, two.clone()])));
        assert!(!first.is_compatible(&list(&[two, one.clone()])));
        assert!(!first.is_compatible(&list(&[one])));
    }

    #[test]
    fn external_values_round_trip() {
        let list =
            Distribution::Categorical { choices: vec![ParamValue::None, ParamValue::Float(0.5)] };
        assert_eq!(list.to_internal(&ParamValue::Float(0.5)), Some(1.0));
        assert_eq!(list.to_external(1.0), ParamValue::Float(0.5));
        assert_eq!(list.to_internal(&ParamValue::Int(3)), None);
        let large = [1i64 << 53, (1i64 << 53) + 1].map(ParamValue::Int);
        let seeds = Distribution::Categorical { choices: large.to_vec() };
        assert_eq!(seeds.to_internal(&large[1]), Some(1.0));
        let int = Distribution::Int { low: 1, high: 9, log: true, step: 1 };
        assert_eq!(
            (int.to_internal(&ParamValue::Int(3)), int.to_external(3.0)),
            (Some(3.0), ParamValue::Int(3))
        );
        assert_eq!(int.to_internal(&ParamValue::Int(10)), None);
        assert_eq!(int.to_internal(&ParamValue::Str("3".into())), None);
    }
}
