//! Compares the estimators with values computed by Optuna and stored by `tests/optuna/record.py`.

use super::kernel::Kernels;
use super::mixture::Mixture;
use super::*;
use crate::{Direction, fixtures};
use serde_json::Value;

/// The allowed difference from Optuna's value, relative to the larger of that value and 1.
const TOLERANCE: f64 = 1e-9;

/// The names of the stored studies.
const HISTORIES: [&str; 4] = ["mixed", "maximised", "pruned", "first"];

#[track_caller]
fn assert_close(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let error = (a - b).abs() / b.abs().max(1.0);
        assert!(error <= TOLERANCE || a == b, "{what}[{i}]: {a}, Optuna {b}, error {error:e}");
    }
}

/// The distributions of all parameters.
fn space(trials: &[Trial]) -> BTreeMap<String, Distribution> {
    let params = trials.iter().flat_map(|trial| &trial.params);
    params.map(|(name, (distribution, _))| (name.clone(), distribution.clone())).collect()
}

/// The trials of the stored study `mixed`, and the distributions of its first trial.
fn mixed_study() -> (Vec<Trial>, BTreeMap<String, Distribution>) {
    let trials = fixtures::trials(&fixtures::load("tpe")["mixed"]["study"]);
    let space = space(&trials[..1]);
    (trials, space)
}

/// Calls a check for every stored case: a group of parameters and what Optuna computes for it.
fn for_every_case(mut check: impl FnMut(&str, &SamplingContext, &Group, &Value)) {
    let stored = fixtures::load("tpe");
    for name in HISTORIES {
        let history = &stored[name];
        let (study, alone) = (&history["study"], history["alone"].as_object().unwrap());
        let trials = fixtures::trials(study);
        let space = space(&trials);
        let (space, trials, direction) = (&space, &trials, fixtures::direction(study));
        let context = SamplingContext { space, trials, direction, seed: 0, number: u64::MAX };
        for (parameter, view) in alone {
            let group = Group::from([(parameter.as_str(), &space[parameter])]);
            check(&format!("{name} {parameter}"), &context, &group, view);
        }
        let group = space.iter().map(|(name, d)| (name.as_str(), d)).collect();
        check(&format!("{name} together"), &context, &group, &history["together"]);
    }
}

#[test]
fn split_matches_optuna() {
    for_every_case(|what, context, _, view| {
        let (good, bad) = split::split(context);
        for (trials, key) in [(good, "below"), (bad, "above")] {
            let numbers: Vec<f64> = trials.iter().map(|trial| trial.number as f64).collect();
            assert_eq!(numbers, fixtures::numbers(&view[key]), "{what} {key}");
        }
    });
}

#[test]
fn weights_centres_and_bandwidths_match_optuna() {
    for_every_case(|what, context, group, view| {
        let (good, bad) = split::split(context);
        for (trials, key) in [(good, "l"), (bad, "g")] {
            let ours = Mixture::fit(group, &trials);
            assert_close(what, &ours.weights, &fixtures::numbers(&view[key]["weights"]));
            for (name, kernels) in group.keys().zip(&ours.columns) {
                let theirs = &view[key]["columns"][name];
                if !theirs.is_null() {
                    assert_same_kernels(&format!("{what} {key}"), kernels, theirs);
                }
            }
        }
    });
}

fn assert_same_kernels(what: &str, kernels: &Kernels, theirs: &Value) {
    if let Kernels::Numeric(normals) = kernels {
        assert_close(what, &normals.mus, &fixtures::numbers(&theirs["mus"]));
        assert_close(what, &normals.sigmas, &fixtures::numbers(&theirs["sigmas"]));
        return;
    }
    for (i, row) in theirs["weights"].as_array().unwrap().iter().enumerate() {
        let theirs = fixtures::numbers(row);
        let probabilities: Vec<f64> =
            (0..theirs.len()).map(|choice| kernels.log_pdf(i, choice as f64).exp()).collect();
        assert_close(what, &probabilities, &theirs);
    }
}

#[test]
fn densities_and_acquisition_match_optuna() {
    for_every_case(|what, context, group, view| {
        let (good, bad) = split::split(context);
        let (l, g) = (Mixture::fit(group, &good), Mixture::fit(group, &bad));
        let columns: Vec<Vec<f64>> =
            group.keys().map(|name| fixtures::numbers(&view["points"][name])).collect();
        let points = (0..columns[0].len()).map(|i| columns.iter().map(|c| c[i]).collect());
        let points: Vec<Vec<f64>> = points.collect();
        let log_l: Vec<f64> = points.iter().map(|x| l.log_pdf(x)).collect();
        let log_g: Vec<f64> = points.iter().map(|x| g.log_pdf(x)).collect();
        let ratio: Vec<f64> = log_l.iter().zip(&log_g).map(|(l, g)| l - g).collect();
        assert_close(what, &log_l, &fixtures::numbers(&view["log_l"]));
        assert_close(what, &log_g, &fixtures::numbers(&view["log_g"]));
        assert_close(what, &ratio, &fixtures::numbers(&view["acquisition"]));
    });
}

#[test]
fn quantiles_of_truncated_normals_match_optuna() {
    let table = &fixtures::load("tpe")["quantiles"];
    let column = |key: &str| fixtures::numbers(&table[key]);
    let (q, a, b, x) = (column("q"), column("a"), column("b"), column("x"));
    for i in 0..q.len() {
        let ours = normal::quantile(q[i], a[i], b[i]);
        // Optuna's iteration stops at a tolerance of 1e-8.
        assert!((ours - x[i]).abs() <= 1e-7 * x[i].abs(), "{} of {}..{}", q[i], a[i], b[i]);
    }
}

#[test]
fn samples_follow_the_density() {
    let list = Distribution::Categorical { choices: vec![crate::ParamValue::None; 3] };
    let order = Distribution::Int { low: 2, high: 10, log: false, step: 4 };
    let columns = vec![Kernels::fit(&order, &[10.0, 6.0]), Kernels::fit(&list, &[0.0, 2.0])];
    let mixture = Mixture::new(vec![1.0, 2.0, 1.0], columns);
    let mut stream = Stream::new(4, "test");
    let samples: Vec<Vec<f64>> = (0..20_000).map(|_| mixture.sample(&mut stream)).collect();
    let mut total = 0.0;
    for x in [2.0, 6.0, 10.0].into_iter().flat_map(|x| [0.0, 1.0, 2.0].map(|y| vec![x, y])) {
        let (expected, n) =
            (mixture.log_pdf(&x).exp(), samples.iter().filter(|s| **s == x).count());
        // Three standard deviations of a frequency among 20,000 samples are at most 0.011.
        assert!((n as f64 / 2e4 - expected).abs() < 0.011, "{x:?}: {n}, expected {expected}");
        total += expected;
    }
    assert!((total - 1.0).abs() < 1e-12);
}

#[test]
fn values_are_determined_by_seed_number_and_other_trials() {
    let (trials, space) = mixed_study();
    let sample = |seed, number, trials| {
        let direction = Direction::Minimize;
        Tpe::default().sample(&SamplingContext { space: &space, trials, direction, seed, number })
    };
    assert_eq!(sample(1, 40, &trials), sample(1, 40, &trials));
    assert_ne!(sample(1, 40, &trials), sample(1, 41, &trials));
    assert_ne!(sample(1, 40, &trials), sample(2, 40, &trials));
    let mut with_own = trials.clone();
    with_own.push(fixtures::trial(40, TrialState::Running, &space, &sample(1, 40, &trials)));
    assert_eq!(
        sample(1, 40, &trials),
        sample(1, 40, &with_own),
        "the trial itself must be ignored"
    );
}

#[test]
fn parameters_common_to_all_trials_are_sampled_jointly() {
    let (trials, space) = mixed_study();
    let direction = Direction::Minimize;
    let context =
        SamplingContext { space: &space, trials: &trials, direction, seed: 0, number: 99 };
    let groups = Tpe::default().groups(&context);
    let names: Vec<Vec<&str>> = groups.iter().map(|g| g.keys().copied().collect()).collect();
    assert_eq!(names, [vec!["width"], vec!["decay", "drop", "lambda", "order", "words"]]);
}
