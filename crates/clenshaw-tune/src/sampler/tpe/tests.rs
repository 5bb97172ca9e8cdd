//! The estimators against Optuna's numbers; `tests/optuna/record.py` recorded them.

use super::kernel::Kernels;
use super::mixture::Mixture;
use super::*;
use crate::{Direction, recorded};
use serde_json::Value;

/// How far a number may be from Optuna's, relative to the larger of it and 1.
const TOLERANCE: f64 = 1e-9;

const HISTORIES: [&str; 4] = ["mixed", "maximised", "pruned", "first"];

#[track_caller]
fn assert_close(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let far = (a - b).abs() / b.abs().max(1.0);
        assert!(far <= TOLERANCE || a == b, "{what}[{i}]: {a}, Optuna {b}, {far:e} apart");
    }
}

/// Calls a check for every recorded view: a group of parameters and what Optuna makes of it.
fn for_every_view(mut check: impl FnMut(&str, &Ask, &Group, &Value)) {
    let recording = recorded::recording("tpe");
    for name in HISTORIES {
        let history = &recording[name];
        let (study, alone) = (&history["study"], history["alone"].as_object().unwrap());
        let trials = recorded::trials(study);
        let space: BTreeMap<String, Distribution> = trials
            .iter()
            .flat_map(|t| &t.params)
            .map(|(k, (d, _))| (k.clone(), d.clone()))
            .collect();
        let direction = recorded::direction(study);
        let ask = Ask { space: &space, trials: &trials, direction, seed: 0, number: u64::MAX };
        for (parameter, view) in alone {
            let group = Group::from([(parameter.as_str(), &space[parameter])]);
            check(&format!("{name} {parameter}"), &ask, &group, view);
        }
        let group = space.iter().map(|(name, d)| (name.as_str(), d)).collect();
        check(&format!("{name} together"), &ask, &group, &history["together"]);
    }
}

#[test]
fn the_split_is_optunas() {
    for_every_view(|what, ask, _, view| {
        let (good, bad) = split::split(ask);
        for (trials, key) in [(good, "below"), (bad, "above")] {
            let numbers: Vec<f64> = trials.iter().map(|trial| trial.number as f64).collect();
            assert_eq!(numbers, recorded::numbers(&view[key]), "{what} {key}");
        }
    });
}

#[test]
fn weights_centres_and_bandwidths_are_optunas() {
    for_every_view(|what, ask, group, view| {
        let (good, bad) = split::split(ask);
        for (trials, key) in [(good, "l"), (bad, "g")] {
            let ours = Mixture::fit(group, &trials);
            assert_close(what, &ours.weights, &recorded::numbers(&view[key]["weights"]));
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
    if let Kernels::Numbers(normals) = kernels {
        assert_close(what, &normals.mus, &recorded::numbers(&theirs["mus"]));
        assert_close(what, &normals.sigmas, &recorded::numbers(&theirs["sigmas"]));
        return;
    }
    for (i, row) in theirs["weights"].as_array().unwrap().iter().enumerate() {
        let theirs = recorded::numbers(row);
        let shares: Vec<f64> =
            (0..theirs.len()).map(|choice| kernels.log_pdf(i, choice as f64).exp()).collect();
        assert_close(what, &shares, &theirs);
    }
}

#[test]
fn densities_and_acquisition_are_optunas() {
    for_every_view(|what, ask, group, view| {
        let (good, bad) = split::split(ask);
        let (l, g) = (Mixture::fit(group, &good), Mixture::fit(group, &bad));
        let columns: Vec<Vec<f64>> =
            group.keys().map(|name| recorded::numbers(&view["points"][name])).collect();
        let points = (0..columns[0].len()).map(|i| columns.iter().map(|c| c[i]).collect());
        let points: Vec<Vec<f64>> = points.collect();
        let log_l: Vec<f64> = points.iter().map(|x| l.log_pdf(x)).collect();
        let log_g: Vec<f64> = points.iter().map(|x| g.log_pdf(x)).collect();
        let ratio: Vec<f64> = log_l.iter().zip(&log_g).map(|(l, g)| l - g).collect();
        assert_close(what, &log_l, &recorded::numbers(&view["log_l"]));
        assert_close(what, &log_g, &recorded::numbers(&view["log_g"]));
        assert_close(what, &ratio, &recorded::numbers(&view["acquisition"]));
    });
}

#[test]
fn quantiles_of_cut_normals_are_optunas() {
    let table = &recorded::recording("tpe")["quantiles"];
    let column = |key: &str| recorded::numbers(&table[key]);
    let (q, a, b, x) = (column("q"), column("a"), column("b"), column("x"));
    for i in 0..q.len() {
        let ours = normal::quantile(q[i], a[i], b[i]);
        // Optuna stops its iteration at 1e-8.
        assert!((ours - x[i]).abs() <= 1e-7 * x[i].abs(), "{} of {}..{}", q[i], a[i], b[i]);
    }
}

#[test]
fn samples_follow_the_density() {
    let words = Distribution::Categorical { choices: vec![crate::Choice::None; 3] };
    let order = Distribution::Int { low: 2, high: 10, log: false, step: 4 };
    let group = Group::from([("order", &order), ("words", &words)]);
    let columns = vec![Kernels::around(&order, &[10.0, 6.0]), Kernels::around(&words, &[0.0, 2.0])];
    let mixture = Mixture::new(vec![1.0, 2.0, 1.0], columns);
    let mut stream = Stream::new(4, "test");
    let drawn: Vec<Vec<f64>> = (0..20_000).map(|_| mixture.sample(&mut stream)).collect();
    let mut total = 0.0;
    for x in [2.0, 6.0, 10.0].into_iter().flat_map(|x| [0.0, 1.0, 2.0].map(|y| vec![x, y])) {
        let (expected, n) = (mixture.log_pdf(&x).exp(), drawn.iter().filter(|d| **d == x).count());
        // Three standard deviations of a share of 20,000 are 0.011 at most.
        assert!((n as f64 / 2e4 - expected).abs() < 0.011, "{x:?}: {n}, expected {expected}");
        total += expected;
    }
    assert!((total - 1.0).abs() < 1e-12 && group.len() == 2);
}

#[test]
fn values_depend_on_seed_and_number_alone() {
    let recording = recorded::recording("tpe");
    let study = &recording["mixed"]["study"];
    let trials = recorded::trials(study);
    let space: BTreeMap<String, Distribution> =
        trials[0].params.iter().map(|(k, (d, _))| (k.clone(), d.clone())).collect();
    let ask = |seed, number, trials| {
        let direction = Direction::Minimise;
        Tpe::default().sample(&Ask { space: &space, trials, direction, seed, number })
    };
    assert_eq!(ask(1, 40, &trials), ask(1, 40, &trials));
    assert_ne!(ask(1, 40, &trials), ask(1, 41, &trials));
    assert_ne!(ask(1, 40, &trials), ask(2, 40, &trials));
    let mut own = trials.clone();
    own.push(recorded::trial(40, State::Running, &space, &ask(1, 40, &trials)));
    assert_eq!(ask(1, 40, &trials), ask(1, 40, &own), "the trial itself is not its history");
}

#[test]
fn only_what_all_trials_share_is_seen_together() {
    let recording = recorded::recording("tpe");
    let trials = recorded::trials(&recording["mixed"]["study"]);
    let space: BTreeMap<String, Distribution> =
        trials[0].params.iter().map(|(k, (d, _))| (k.clone(), d.clone())).collect();
    let direction = Direction::Minimise;
    let ask = Ask { space: &space, trials: &trials, direction, seed: 0, number: 99 };
    let groups = Tpe::default().groups(&ask);
    let names: Vec<Vec<&str>> = groups.iter().map(|g| g.keys().copied().collect()).collect();
    assert_eq!(names, [vec!["width"], vec!["decay", "drop", "lambda", "order", "words"]]);
}
