//! What a tuned number may be.
//!
//! A study keeps every parameter as one real number, its *internal* value: a real number as it is, a
//! whole number widened, a choice by its place in the list.

/// The values a parameter is drawn from, bounds included.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Real numbers, all or in steps from `low`; even or even in the logarithm.
    Float {
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
        /// Whether logarithms are spread evenly.
        log: bool,
        /// The distance between two values, if not all are taken.
        step: Option<f64>,
    },
    /// Whole numbers.
    Int {
        /// The least value.
        low: i64,
        /// The largest value.
        high: i64,
        /// Whether logarithms are spread evenly.
        log: bool,
        /// The distance between two values.
        step: i64,
    },
    /// One of a list.
    Categorical {
        /// The list.
        choices: Vec<Choice>,
    },
}

/// A member of a list of choices, or any parameter as a person writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Nothing.
    None,
    /// On or off.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(String),
    /// A list or an object, which Optuna frowns at but keeps.
    Other(serde_json::Value),
}

impl Choice {
    /// Whether Python would call them equal: `True`, `1` and `1.0` are, and so is NaN with itself.
    pub fn same(&self, other: &Self) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
            _ => self == other,
        }
    }

    /// Its value, if it is one.
    fn number(&self) -> Option<f64> {
        match *self {
            Self::Flag(on) => Some(f64::from(u8::from(on))),
            Self::Int(whole) => Some(whole as f64),
            Self::Real(real) => Some(real),
            Self::None | Self::Word(_) | Self::Other(_) => None,
        }
    }
}

/// How far from a multiple of the step a real number may stand, in steps: what Optuna allows.
const SLACK: f64 = 1e-8;

impl Distribution {
    /// Whether an internal value belongs to it.
    pub fn contains(&self, internal: f64) -> bool {
        match *self {
            Self::Float { low, high, step, .. } => {
                let steps = |step: f64| (internal - low) / step;
                let off = |step| (steps(step) - steps(step).round()).abs();
                (low..=high).contains(&internal) && step.is_none_or(|step| off(step) < SLACK)
            }
            Self::Int { low, high, step, .. } => {
                let within = (low as f64..=high as f64).contains(&internal);
                within && (internal - low as f64) % step as f64 == 0.0
            }
            Self::Categorical { ref choices } => {
                internal >= 0.0 && (internal as usize) < choices.len()
            }
        }
    }

    /// Whether only one value is possible.
    pub fn is_single(&self) -> bool {
        match *self {
            Self::Float { low, high, step, .. } => {
                low == high || step.is_some_and(|step| (high - low) / step < 1.0 - SLACK)
            }
            Self::Int { low, high, step, .. } => high.saturating_sub(low) < step,
            Self::Categorical { ref choices } => choices.len() == 1,
        }
    }

    /// Whether one study may hold both under one name: bounds and steps may move, but not the kind, the
    /// logarithm or the list of choices.
    pub fn is_compatible(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Float { log: a, .. }, Self::Float { log: b, .. })
            | (Self::Int { log: a, .. }, Self::Int { log: b, .. }) => a == b,
            (Self::Categorical { choices: a }, Self::Categorical { choices: b }) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }

    /// The internal value of what a person wrote, if it belongs.
    pub fn internal(&self, value: &Choice) -> Option<f64> {
        let internal = match self {
            Self::Categorical { choices } => {
                choices.iter().position(|choice| choice.same(value)).map(|place| place as f64)
            }
            Self::Float { .. } | Self::Int { .. } => value.number(),
        };
        internal.filter(|&internal| self.contains(internal))
    }

    /// What a person would write for an internal value, which must belong.
    pub fn external(&self, internal: f64) -> Choice {
        match self {
            Self::Float { .. } => Choice::Real(internal),
            Self::Int { .. } => Choice::Int(internal as i64),
            Self::Categorical { choices } => choices[internal as usize].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_and_a_choice_is_its_place() {
        let rate = Distribution::Float { low: 1e-8, high: 1e-3, log: true, step: None };
        assert!(rate.contains(1e-8) && rate.contains(1e-3) && !rate.contains(2e-3));
        let words = Distribution::Categorical { choices: vec![Choice::None, Choice::Int(4)] };
        assert!(words.contains(1.0) && !words.contains(2.0) && !words.contains(-1.0));
        assert!(!words.contains(f64::NAN));
    }

    #[test]
    fn a_step_wider_than_the_range_leaves_one_value() {
        let order = |high| Distribution::Int { low: 8, high, log: false, step: 4 };
        assert!(order(11).is_single() && !order(12).is_single());
    }

    #[test]
    fn values_stand_on_steps() {
        let float = Distribution::Float { low: 0.1, high: 0.7, log: false, step: Some(0.1) };
        assert!(float.contains(0.3) && float.contains(0.1 + 0.1 + 0.1) && !float.contains(0.35));
        let int = Distribution::Int { low: 1, high: 9, log: false, step: 4 };
        assert!(int.contains(5.0) && !int.contains(4.0) && !int.contains(5.5));
        // 0.3 - 0.1 is a little less than 0.2 in binary.
        let two = Distribution::Float { low: 0.1, high: 0.3, log: false, step: Some(0.2) };
        assert!(!two.is_single());
    }

    #[test]
    fn bounds_may_move_but_not_the_kind() {
        let float = |high, log| Distribution::Float { low: 0.1, high, log, step: None };
        let int = Distribution::Int { low: 1, high: 2, log: false, step: 1 };
        assert!(float(1.0, false).is_compatible(&float(2.0, false)));
        assert!(!float(1.0, false).is_compatible(&float(1.0, true)));
        assert!(!float(1.0, false).is_compatible(&int));
        let list = |choices: &[Choice]| Distribution::Categorical { choices: choices.to_vec() };
        let [one, on, two] = [Choice::Int(1), Choice::Flag(true), Choice::Word("2".into())];
        let first = list(&[one.clone(), two.clone()]);
        assert!(first.is_compatible(&list(&[on, two.clone()])));
        assert!(!first.is_compatible(&list(&[two, one.clone()])));
        assert!(!first.is_compatible(&list(&[one])));
    }

    #[test]
    fn what_is_written_is_found_again() {
        let words = Distribution::Categorical { choices: vec![Choice::None, Choice::Real(0.5)] };
        assert_eq!(words.internal(&Choice::Real(0.5)), Some(1.0));
        assert_eq!(words.external(1.0), Choice::Real(0.5));
        assert_eq!(words.internal(&Choice::Int(3)), None);
        let int = Distribution::Int { low: 1, high: 9, log: true, step: 1 };
        assert_eq!((int.internal(&Choice::Int(3)), int.external(3.0)), (Some(3.0), Choice::Int(3)));
        assert_eq!(int.internal(&Choice::Int(10)), None);
        assert_eq!(int.internal(&Choice::Word("3".into())), None);
    }
}
