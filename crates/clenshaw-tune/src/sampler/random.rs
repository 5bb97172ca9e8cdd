//! Uniform sampling on a linear or logarithmic scale. All choices are equally likely, and so are all values of
//! a linear scale with steps.

use super::{NumericRange, SamplingContext};
use crate::Distribution;
use clenshaw_rng::Stream;
use std::collections::BTreeMap;

/// Samples every parameter from its own stream, so that adding a parameter does not change the others.
pub(super) fn sample(context: &SamplingContext) -> BTreeMap<String, f64> {
    let stream = context.stream();
    let draw = |name: &str, distribution| draw(distribution, &mut stream.named(name));
    context.space.iter().map(|(name, d)| (name.clone(), draw(name, d))).collect()
}

/// Draws one internal value.
fn draw(distribution: &Distribution, stream: &mut Stream) -> f64 {
    match distribution {
        Distribution::Categorical { choices } => stream.below(choices.len()) as f64,
        _ => {
            let range = NumericRange::new(distribution).expect("not categorical");
            let (low, high) = range.bounds();
            range.untransform(low + stream.unit() * (high - low))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, ParamValue};

    #[test]
    fn steps_and_choices_are_equally_likely() {
        let int = Distribution::Int { low: 2, high: 11, log: false, step: 4 };
        let list = Distribution::Categorical { choices: vec![ParamValue::None; 3] };
        let mut stream = Stream::new(1, "test");
        for (distribution, values) in [(int, [2.0, 6.0, 10.0]), (list, [0.0, 1.0, 2.0])] {
            let samples: Vec<f64> = (0..3000).map(|_| draw(&distribution, &mut stream)).collect();
            for value in values {
                let count = samples.iter().filter(|x| **x == value).count();
                assert!((900..1100).contains(&count), "{value}: {count} of 3000");
            }
        }
    }

    #[test]
    fn decades_are_equally_likely_on_a_logarithmic_scale() {
        let rate = Distribution::Float { low: 1e-4, high: 1e-1, log: true, step: None };
        let mut stream = Stream::new(2, "test");
        let samples: Vec<f64> = (0..3000).map(|_| draw(&rate, &mut stream)).collect();
        assert!(samples.iter().all(|x| rate.contains(*x)));
        let below = samples.iter().filter(|x| **x < 1e-3).count();
        assert!((900..1100).contains(&below), "{below} of 3000 below 1e-3");
    }

    #[test]
    fn adding_a_parameter_does_not_change_the_others() {
        let unit = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
        let one = BTreeMap::from([("b".to_owned(), unit.clone())]);
        let two = BTreeMap::from([("a".to_owned(), unit.clone()), ("b".to_owned(), unit)]);
        let sample = |space, number| {
            let direction = Direction::Minimize;
            sample(&SamplingContext { space, trials: &[], direction, seed: 5, number })
        };
        assert_eq!(sample(&one, 3)["b"], sample(&two, 3)["b"]);
        assert_ne!(sample(&one, 3)["b"], sample(&one, 4)["b"]);
    }
}
