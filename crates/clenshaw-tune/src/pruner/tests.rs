//! Compares decisions with Optuna's, as recorded by `tests/optuna/record.py`; the last test checks one
//! example by hand.

use super::*;
use crate::fixtures;
use serde_json::Value;

/// Replays stored reports and compares every decision.
fn assert_same_decisions(name: &str, pruner: &Pruner) {
    let stored = &fixtures::load("pruners")[name];
    let direction = fixtures::direction(stored);
    let mut trials: Vec<Trial> = Vec::new();
    for event in stored["events"].as_array().unwrap() {
        let number = event[0].as_u64().unwrap();
        while trials.len() as u64 <= number {
            let next = trials.len() as u64;
            trials.push(Trial::new(next, next, TrialState::Running));
        }
        let i = number as usize;
        if event.as_array().unwrap().len() == 2 {
            (trials[i].state, trials[i].value) = (TrialState::Complete, event[1].as_f64());
            continue;
        }
        trials[i]
            .intermediate_values
            .insert(event[1].as_u64().unwrap(), fixtures::number(&event[2]));
        let decision = pruner.decide(&trials[i], &trials, direction);
        let attrs = event[4].as_object().unwrap().iter();
        let system_attrs: BTreeMap<String, f64> =
            attrs.map(|(key, value)| (key.clone(), value.as_f64().unwrap())).collect();
        let theirs = PruningDecision { prune: event[3] == true, system_attrs };
        assert_eq!(decision, theirs, "{name}: {event}");
        let attrs = decision.system_attrs.into_iter().map(|(key, value)| (key, Value::from(value)));
        trials[i].system_attrs.extend(attrs);
        if decision.prune {
            trials[i].state = TrialState::Pruned;
        }
    }
}

#[test]
fn median_matches_optuna() {
    assert_same_decisions("median authors", &Pruner::Median(Median::default()));
    let gaps =
        Median { n_startup_trials: 2, n_warmup_steps: 4, interval_steps: 3, n_min_trials: 1 };
    assert_same_decisions("median gaps", &Pruner::Median(gaps));
}

#[test]
fn successive_halving_matches_optuna() {
    assert_same_decisions("halving auto", &Pruner::SuccessiveHalving(SuccessiveHalving::default()));
    let rungs = SuccessiveHalving {
        min_resource: Some(2),
        reduction_factor: 2,
        min_early_stopping_rate: 1,
        bootstrap_count: 2,
    };
    assert_same_decisions("halving rungs", &Pruner::SuccessiveHalving(rungs));
}

#[test]
fn hyperband_matches_optuna() {
    let fixed = Hyperband { max_resource: Some(27), ..Hyperband::new("study 5") };
    assert_same_decisions("hyperband", &Pruner::Hyperband(fixed));
    assert_same_decisions("hyperband auto", &Pruner::Hyperband(Hyperband::new("study 6")));
}

#[test]
fn best_so_far_is_promoted_and_second_best_from_the_eighth_trial_on() {
    let halving = SuccessiveHalving { min_resource: Some(1), ..SuccessiveHalving::default() };
    let pruner = Pruner::SuccessiveHalving(halving);
    let mut trials: Vec<Trial> = Vec::new();
    let losses = [3.0, 4.0, 2.0, 5.0, 6.0, 7.0, 8.0, 2.5];
    for (number, loss) in losses.into_iter().enumerate() {
        let mut trial = Trial::new(number as u64, number as u64, TrialState::Running);
        trial.intermediate_values.insert(1, loss);
        let decision = pruner.decide(&trial, &trials, Direction::Minimize);
        // 3 and 2 are each the best when reported; 2.5 is the second best of eight.
        assert_eq!(!decision.prune, [3.0, 2.0, 2.5].contains(&loss), "{loss}");
        trial.system_attrs.insert("completed_rung_0".into(), loss.into());
        trials.push(trial);
    }
}
