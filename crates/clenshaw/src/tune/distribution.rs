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

/// A member of a list of choices.
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
}

impl Distribution {
    /// Whether an internal value belongs to it.
    pub fn contains(&self, internal: f64) -> bool {
        match *self {
            Self::Float { low, high, .. } => (low..=high).contains(&internal),
            Self::Int { low, high, .. } => (low as f64..=high as f64).contains(&internal),
            Self::Categorical { ref choices } => {
                internal >= 0.0 && (internal as usize) < choices.len()
            }
        }
    }

    /// Whether only one value is possible.
    pub fn is_single(&self) -> bool {
        match *self {
            Self::Float { low, high, step, .. } => {
                low == high || step.is_some_and(|step| high - low < step)
            }
            Self::Int { low, high, step, .. } => high - low < step,
            Self::Categorical { ref choices } => choices.len() == 1,
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
}
