//! Even chances: in the logarithm where that is asked for, for every step and every choice alike.

use super::{Ask, Line};
use crate::Distribution;
use clenshaw_rng::Stream;
use std::collections::BTreeMap;

/// Values for every parameter, each from a stream of its own name.
pub(super) fn sample(ask: &Ask) -> BTreeMap<String, f64> {
    let stream = ask.stream();
    let draw = |name: &str, distribution| draw(distribution, &mut stream.named(name));
    ask.space.iter().map(|(name, d)| (name.clone(), draw(name, d))).collect()
}

/// One value.
pub(super) fn draw(distribution: &Distribution, stream: &mut Stream) -> f64 {
    match distribution {
        Distribution::Categorical { choices } => stream.below(choices.len()) as f64,
        _ => {
            let line = Line::of(distribution).expect("numbers have a line");
            let (low, high) = line.ends();
            line.value(low + stream.unit() * (high - low))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Direction};

    #[test]
    fn every_step_and_every_choice_has_an_equal_share() {
        let int = Distribution::Int { low: 2, high: 11, log: false, step: 4 };
        let words = Distribution::Categorical { choices: vec![Choice::None; 3] };
        let mut stream = Stream::new(1, "test");
        for (distribution, values) in [(int, [2.0, 6.0, 10.0]), (words, [0.0, 1.0, 2.0])] {
            let drawn: Vec<f64> = (0..3000).map(|_| draw(&distribution, &mut stream)).collect();
            for value in values {
                let share = drawn.iter().filter(|x| **x == value).count();
                assert!((900..1100).contains(&share), "{value}: {share} of 3000");
            }
        }
    }

    #[test]
    fn decades_have_equal_shares_in_the_logarithm() {
        let rate = Distribution::Float { low: 1e-4, high: 1e-1, log: true, step: None };
        let mut stream = Stream::new(2, "test");
        let drawn: Vec<f64> = (0..3000).map(|_| draw(&rate, &mut stream)).collect();
        assert!(drawn.iter().all(|x| rate.contains(*x)));
        let below = drawn.iter().filter(|x| **x < 1e-3).count();
        assert!((900..1100).contains(&below), "{below} of 3000 below 1e-3");
    }

    #[test]
    fn a_new_parameter_moves_no_other() {
        let unit = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
        let one = BTreeMap::from([("b".to_owned(), unit.clone())]);
        let two = BTreeMap::from([("a".to_owned(), unit.clone()), ("b".to_owned(), unit)]);
        let ask = |space, number| {
            sample(&Ask { space, trials: &[], direction: Direction::Minimise, seed: 5, number })
        };
        assert_eq!(ask(&one, 3)["b"], ask(&two, 3)["b"]);
        assert_ne!(ask(&one, 3)["b"], ask(&one, 4)["b"]);
    }
}
