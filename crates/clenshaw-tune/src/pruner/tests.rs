//! Every decision against Optuna's; `tests/optuna/record.py` recorded them.

use super::*;
use crate::{State, recorded};
use serde_json::Value;

/// Replays the reports of a recording and compares every verdict.
fn assert_same_decisions(name: &str, pruner: &Pruner) {
    let recording = &recorded::recording("pruners")[name];
    let direction = recorded::direction(recording);
    let mut trials: Vec<Trial> = Vec::new();
    for event in recording["events"].as_array().unwrap() {
        let number = event[0].as_u64().unwrap();
        while trials.len() as u64 <= number {
            let next = trials.len() as u64;
            trials.push(recorded::trial(next, State::Running, &BTreeMap::new(), &BTreeMap::new()));
        }
        let i = number as usize;
        if event.as_array().unwrap().len() == 2 {
            (trials[i].state, trials[i].value) = (State::Complete, event[1].as_f64());
            continue;
        }
        trials[i].reports.insert(event[1].as_u64().unwrap(), recorded::number(&event[2]));
        let verdict = pruner.judge(&trials[i], &trials, direction);
        let notes = event[4].as_object().unwrap().iter();
        let notes: BTreeMap<String, f64> =
            notes.map(|(key, value)| (key.clone(), value.as_f64().unwrap())).collect();
        let theirs = Verdict { prunes: event[3] == true, notes };
        assert_eq!(verdict, theirs, "{name}: {event}");
        let notes = verdict.notes.into_iter().map(|(key, value)| (key, Value::from(value)));
        trials[i].system_attrs.extend(notes);
        if verdict.prunes {
            trials[i].state = State::Pruned;
        }
    }
}

#[test]
fn the_median_rule_decides_as_optunas() {
    assert_same_decisions("median authors", &Pruner::Median(Median::default()));
    let gaps = Median { startup_trials: 2, warmup_steps: 4, interval: 3, min_trials: 1 };
    assert_same_decisions("median gaps", &Pruner::Median(gaps));
}

#[test]
fn successive_halving_decides_and_notes_as_optunas() {
    assert_same_decisions("halving auto", &Pruner::Halving(Halving::default()));
    let rungs = Halving {
        min_resource: Some(2),
        reduction_factor: 2,
        min_early_stopping_rate: 1,
        bootstrap_count: 2,
    };
    assert_same_decisions("halving rungs", &Pruner::Halving(rungs));
}

#[test]
fn hyperband_decides_and_notes_as_optunas() {
    let fixed = Hyperband { max_resource: Some(27), ..Hyperband::new("study 5") };
    assert_same_decisions("hyperband", &Pruner::Hyperband(fixed));
    assert_same_decisions("hyperband auto", &Pruner::Hyperband(Hyperband::new("study 6")));
}

#[test]
fn one_seat_at_the_first_rung_and_two_of_eight_later() {
    let halving = Halving { min_resource: Some(1), ..Halving::default() };
    let pruner = Pruner::Halving(halving);
    let mut trials: Vec<Trial> = Vec::new();
    let losses = [3.0, 4.0, 2.0, 5.0, 6.0, 7.0, 8.0, 2.5];
    for (number, loss) in losses.into_iter().enumerate() {
        let none = BTreeMap::new();
        let mut trial = recorded::trial(number as u64, State::Running, &BTreeMap::new(), &none);
        trial.reports.insert(1, loss);
        let verdict = pruner.judge(&trial, &trials, Direction::Minimise);
        // 3 and 2 lead their rung; 2.5 is the second best of eight.
        assert_eq!(!verdict.prunes, [3.0, 2.0, 2.5].contains(&loss), "{loss}");
        trial.system_attrs.insert("completed_rung_0".into(), loss.into());
        trials.push(trial);
    }
}
