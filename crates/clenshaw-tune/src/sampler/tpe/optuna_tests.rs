//! TPE on standard test functions, compared with Optuna's.
//!
//! `tests/optuna/record.py` stores the quartiles of Optuna's best value after 60 trials over 100 seeds. The
//! random numbers differ from Optuna's, so medians are compared with quartiles; fixed seeds make the test
//! deterministic.

use crate::{
    Direction, Distribution, ParamValue, Sampler, SamplingContext, Tpe, Trial, TrialState, fixtures,
};
use std::collections::BTreeMap;
use std::f64::consts::PI;

type Space = BTreeMap<String, Distribution>;
type Values = BTreeMap<String, f64>;

/// A function to minimize: its name, its search space and its value.
type TestFunction = (&'static str, Space, fn(&Values) -> f64);

fn real(low: f64, high: f64) -> Distribution {
    Distribution::Float { low, high, log: false, step: None }
}

fn space<const N: usize>(params: [(&str, Distribution); N]) -> Space {
    params.map(|(name, distribution)| (name.to_owned(), distribution)).into()
}

fn test_functions() -> [TestFunction; 4] {
    let log = Distribution::Float { low: 1e-2, high: 1e2, log: true, step: None };
    let choices = ["a", "b", "c", "d"].map(|word| ParamValue::Str(word.into())).to_vec();
    let mixed_space = [
        ("order", Distribution::Int { low: 2, high: 30, log: false, step: 4 }),
        ("width", Distribution::Int { low: 1, high: 256, log: true, step: 1 }),
        ("drop", Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.1) }),
        ("word", Distribution::Categorical { choices }),
    ];
    [
        ("sphere", space([("x", real(-5.0, 5.0)), ("y", real(-5.0, 5.0))]), sphere),
        ("branin", space([("x", real(-5.0, 10.0)), ("y", real(0.0, 15.0))]), branin),
        ("rosenbrock", space([("x", log.clone()), ("y", log)]), rosenbrock),
        ("mixed", space(mixed_space), mixed),
    ]
}

fn sphere(values: &Values) -> f64 {
    (values["x"] - 1.0).powi(2) + (values["y"] + 2.0).powi(2)
}

fn branin(values: &Values) -> f64 {
    let (x, y) = (values["x"], values["y"]);
    let bent = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    bent * bent + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x.cos() + 10.0
}

fn rosenbrock(values: &Values) -> f64 {
    let (x, y) = (values["x"], values["y"]);
    ((1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)).ln_1p()
}

fn mixed(values: &Values) -> f64 {
    let cost = [1.0, 0.0, 2.0, 0.5][values["word"] as usize];
    let (order, width, drop) =
        (values["order"] - 14.0, (values["width"] / 48.0).log2(), values["drop"] - 0.3);
    order * order / 64.0 + width * width + 10.0 * drop * drop + cost
}

/// The best value after 60 trials.
fn best(sampler: &Sampler, (_, space, loss): &TestFunction, seed: u64) -> f64 {
    let mut trials: Vec<Trial> = Vec::new();
    for number in 0..60 {
        let direction = Direction::Minimize;
        let context = SamplingContext { space, trials: &trials, direction, seed, number };
        let values = sampler.sample(&context).unwrap().expect("only a grid can be exhausted");
        assert!(values.iter().all(|(name, x)| space[name].contains(*x)), "{values:?}");
        let trial = fixtures::trial(number, TrialState::Complete, space, &values);
        trials.push(Trial { value: Some(loss(&values)), ..trial });
    }
    trials.iter().filter_map(|trial| trial.value).fold(f64::INFINITY, f64::min)
}

/// The quartiles of the best value over 50 seeds.
fn quartiles(sampler: &Sampler, function: &TestFunction) -> [f64; 3] {
    let mut values: Vec<f64> = (0..50).map(|seed| best(sampler, function, seed)).collect();
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|quantile| {
        let position = quantile * (values.len() - 1) as f64;
        let (below, above) = (values[position.floor() as usize], values[position.ceil() as usize]);
        below + (above - below) * position.fract()
    })
}

mod long {
    use super::*;

    /// The median of TPE is at most Optuna's upper quartile, and its upper quartile is below the median of
    /// random sampling.
    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn median_is_at_most_optunas_upper_quartile() {
        let univariate = Sampler::Tpe(Tpe { multivariate: false, ..Tpe::default() });
        let multivariate = Sampler::Tpe(Tpe::default());
        let stored = fixtures::load("functions");
        for function in test_functions() {
            let random = quartiles(&Sampler::Random, &function);
            for (name, sampler) in [("alone", &univariate), ("together", &multivariate)] {
                let ours = quartiles(sampler, &function);
                let theirs = fixtures::numbers(&stored[function.0][name]);
                let message = format!("{} {name}: {ours:?}, Optuna {theirs:?}", function.0);
                assert!(ours[1] <= theirs[2], "{message}");
                assert!(ours[2] < random[1], "{message}, random {random:?}");
            }
        }
    }
}
