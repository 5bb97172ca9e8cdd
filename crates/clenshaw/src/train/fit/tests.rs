//! Tests of the training loop.

use super::checkpoint::{CheckpointLog, START_AGAIN};
use super::*;
use crate::data::{self, SplitKind};
use crate::model;
use crate::tensor::{self, OptimiserSettings, UpdateRule, log_sum_exp};
use crate::train::{most_likely, weights};

fn setup(model: &str, settings: &[(&str, &str)]) -> Arc<Setup> {
    let info = model::find(model).unwrap();
    let mut hp = info.defaults();
    settings.iter().for_each(|(key, value)| hp.set(key, value).unwrap());
    let dataset = data::load("csbm:nodes=60").unwrap();
    Arc::new(Setup::new(dataset, info, hp).unwrap())
}

fn fit(setup: &Arc<Setup>) -> Fit {
    let split = SplitKind::Balanced.draw(setup.dataset(), 0).unwrap();
    Fit::new(setup.clone(), &split, 0, 1).unwrap()
}

/// The tensors of a checkpoint, and its history.
fn state(bytes: &[u8]) -> (Vec<(String, Mat<f32>)>, Vec<Epoch>) {
    let state = weights::read_weights("t", bytes).unwrap();
    let log: CheckpointLog = serde_json::from_str(&state.metadata).unwrap();
    (state.tensors, log.history)
}

#[test]
fn restored_run_continues_its_clock_and_history() {
    let setup = setup("gcn", &[]);
    let mut first = fit(&setup);
    first.earlier = Duration::from_secs(3600);
    first.epoch().unwrap();
    let mut second = fit(&setup);
    second.restore("t", &first.checkpoint()).unwrap();
    assert!(second.seconds() > 3600.0, "{}", second.seconds());
    assert_eq!(second.history(), first.history());
}

#[test]
fn restored_asymmetric_run_has_the_same_bits() {
    let setup_with = |asymmetric| setup("gpr-gnn", &[("asymmetric", asymmetric)]);
    let (plain, setup) = (setup_with("false"), setup_with("true"));
    let (mut ordinary, mut first, mut second) = (fit(&plain), fit(&setup), fit(&setup));
    for epoch in 1..=15 {
        ordinary.epoch().unwrap();
        first.epoch().unwrap();
        // Gradients are scaled from the eleventh step on.
        assert_eq!(ordinary.params == first.params, epoch <= 10, "epoch {epoch}");
        if epoch == 9 {
            second.restore("t", &first.checkpoint()).unwrap();
        }
    }
    (10..=15).for_each(|_| _ = second.epoch().unwrap());
    assert_eq!(state(&second.checkpoint()), state(&first.checkpoint()));
}

/// The history and the parameters after a number of epochs, each with a separate evaluation.
fn reference(setup: &Setup, split: &Split, epochs: usize) -> (Vec<Epoch>, AlignedVec<f32>) {
    let (plan, c) = (setup.plan(), setup.plan().shape().1);
    let targets = setup.targets(split).unwrap();
    let mut work = plan.workspace(tensor::ThreadTeam::new(1));
    let mut params = setup.initial_params(0);
    let mut optimiser = optimiser(plan, setup.info(), setup.hp());
    let mut history = vec![];
    for epoch in 1..=epochs {
        let loss = plan.gradient(&mut work, &params, &targets, &dropout_stream(0, epoch));
        work.update(&mut optimiser, &mut params);
        let scores = plan.scores(&mut work, &params);
        let (mut val_loss, mut correct) = (0.0, 0.0);
        for &node in split.val() {
            let z = &scores[node as usize * c..(node as usize + 1) * c];
            let label = setup.dataset().y[node as usize].unwrap();
            val_loss += f64::from(log_sum_exp(z) - z[label as usize]);
            correct += f64::from(u8::from(most_likely(z) == label));
        }
        let n = split.val().len() as f64;
        let (val_loss, val_accuracy) = (Some(val_loss / n), Some(correct / n));
        let train_loss = f64::from(loss);
        history.push(Epoch { epoch, train_loss, val_loss, val_accuracy, val_roc_auc: None });
    }
    (history, params)
}

#[test]
fn scores_of_the_next_gradient_validate_like_a_separate_evaluation() {
    let all = [("dropout", "0"), ("max_epochs", "25"), ("patience", "4"), ("lr_dense", "0.1")];
    let dropout_conv = [("dropout_conv", "0.5"), ("gather", "bf16"), ("norm", "batch")];
    // Without dropout, with half of the bytes per gathered number, and three cases of a separate evaluation.
    let cases: [&[(&str, &str)]; 4] =
        [&[], &dropout_conv[1..2], &dropout_conv[..1], &dropout_conv[2..]];
    for (case, extra) in cases.into_iter().enumerate() {
        let setup = setup("clenshaw-gcn", &[&all, extra].concat());
        assert_eq!(setup.plan().gradient_keeps_scores(), case < 2, "{extra:?}");
        let split = SplitKind::Balanced.draw(setup.dataset(), 0).unwrap();
        let mut uninterrupted = Fit::new(setup.clone(), &split, 0, 2).unwrap();
        uninterrupted.run_to_end().unwrap();
        let epochs = uninterrupted.history().len();
        let (history, params) = reference(&setup, &split, epochs);
        assert_eq!((uninterrupted.history(), &uninterrupted.params), (&history[..], &params));

        // A run that is saved and restored after every epoch, and whose best scores are read.
        let mut restored = fit(&setup);
        while !restored.is_finished() {
            restored.epoch().unwrap();
            let bytes = restored.checkpoint();
            restored.best_scores().unwrap();
            restored.best_filter();
            restored.outcome().unwrap();
            if restored.history().len().is_multiple_of(2) {
                restored = fit(&setup);
                restored.restore("t", &bytes).unwrap();
            }
        }
        assert_eq!(state(&restored.checkpoint()), state(&uninterrupted.checkpoint()));
        assert_eq!(restored.filters(), uninterrupted.filters());
        assert_eq!(
            restored.outcome().unwrap().probabilities,
            uninterrupted.outcome().unwrap().probabilities
        );
    }
}

#[test]
fn diverged_epoch_does_not_change_the_state() {
    for dropout in ["0", "0.3"] {
        assert_diverged_epoch_does_not_count(dropout);
    }
}

fn assert_diverged_epoch_does_not_count(dropout: &str) {
    let setup = setup("gcn", &[("dropout", dropout)]);
    let mut healthy = fit(&setup);
    let mut diverging = fit(&setup);
    for _ in 0..3 {
        healthy.epoch().unwrap();
        diverging.epoch().unwrap();
    }
    // A step this large makes the weights infinite, which only the validation loss shows.
    let (rule, rate) = (UpdateRule::Momentum(0.0), f64::from(f32::MAX));
    let huge = OptimiserSettings { rule, rate, decay: 0.0 };
    let ranges = setup.plan().ranges().into_iter();
    diverging.optimiser = Optimiser::new(ranges.map(|range| (range, huge)).collect());
    let error = diverging.epoch().unwrap_err();
    let Error::Diverged { epoch: 4, loss: "validation loss", .. } = error else {
        panic!("{error}")
    };
    assert_eq!(state(&diverging.checkpoint()), state(&healthy.checkpoint()));
    assert!(diverging.epoch().is_err(), "a diverged run does not continue");
    assert_eq!(diverging.outcome().unwrap().weights, healthy.outcome().unwrap().weights);
}

#[test]
fn restore_rejects_wrong_shapes_and_missing_epochs() {
    let setup = setup("gcn", &[]);
    let mut fit = fit(&setup);
    fit.epoch().unwrap();
    let bytes = fit.checkpoint();
    let read = weights::read_weights("t", &bytes).unwrap();
    let n = fit.params.len();
    let mut doubled = read.tensors.clone();
    doubled[0].1 = Mat::zeros(2, n);
    let log: CheckpointLog = serde_json::from_str(&read.metadata).unwrap();
    let log = CheckpointLog { sha256: String::new(), ..log };
    let matrices = doubled.iter().map(|(name, m)| (name.as_str(), m.rows(), m.as_slice()));
    let sha256 = weights::digest(&log.to_json(), matrices);
    let tall = weights::write_weights(&doubled, &CheckpointLog { sha256, ..log }.to_json());
    let error = fit.restore("t", &tall).unwrap_err().to_string();
    assert_eq!(error, format!("t: `best` is 2 x {n}; expected 1 x {n}"));
    fit.history[0].epoch = 2;
    let gap = fit.checkpoint();
    let error = fit.restore("t", &gap).unwrap_err();
    assert_eq!(error.to_string(), "t: expected epochs numbered from 1 without gaps");
}

#[test]
fn damaged_checkpoints_are_rejected() {
    let setup = setup("gcn", &[]);
    let mut fit = fit(&setup);
    (0..3).for_each(|_| _ = fit.epoch().unwrap());
    let bytes = fit.checkpoint();
    for i in (0..bytes.len()).step_by(101) {
        let mut damaged = bytes.clone();
        damaged[i] ^= 4;
        assert!(fit.restore("t", &damaged).is_err(), "byte {i}");
    }
    // A history that was shortened, with all tensors intact.
    let read = weights::read_weights("t", &bytes).unwrap();
    let mut log: CheckpointLog = serde_json::from_str(&read.metadata).unwrap();
    log.history.pop();
    let shortened = weights::write_weights(&read.tensors, &log.to_json());
    let error = fit.restore("t", &shortened).unwrap_err().to_string();
    assert!(error.starts_with("t: the checksum is wrong; the file is damaged"), "{error}");
    assert!(fit.restore("t", &bytes).is_ok());
}

#[test]
fn checkpoints_of_other_runs_are_rejected() {
    let own = setup("gcn", &[]);
    let mut fit = fit(&own);
    fit.epoch().unwrap();
    let split = SplitKind::Balanced.draw(own.dataset(), 0).unwrap();
    let other_split = SplitKind::Balanced.draw(own.dataset(), 1).unwrap();
    let mut problem_with = |setup: Arc<Setup>, split: &Split, seed: u64| {
        let mut other = Fit::new(setup, split, seed, 1).unwrap();
        other.epoch().unwrap();
        fit.restore("t", &other.checkpoint()).map_err(|error| error.to_string())
    };
    let expect =
        |what: &str| Err(format!("t: the checkpoint of another run: {what}; {START_AGAIN}"));
    assert_eq!(problem_with(own.clone(), &split, 7), expect("its seed is 7; expected 0"));
    assert_eq!(problem_with(own.clone(), &other_split, 0), expect("its split differs"));
    let slower = setup("gcn", &[("lr", "0.001")]);
    assert_eq!(problem_with(slower, &split, 0), expect("its hyper-parameters differ"));
    assert_eq!(problem_with(own, &split, 0), Ok(()));
}

#[test]
fn an_endless_elapsed_time_does_not_panic() {
    let mut fit = fit(&setup("gcn", &[]));
    fit.earlier = Duration::MAX;
    assert_eq!(fit.seconds(), Duration::MAX.as_secs_f64());
}

#[test]
fn without_validation_nodes_the_last_epoch_is_kept() {
    let setup = setup("gcn", &[("max_epochs", "5"), ("patience", "1")]);
    let split = Split::new("mine", [(0..40).collect(), vec![], (40..60).collect()]).unwrap();
    let mut fit = Fit::new(setup, &split, 0, 1).unwrap();
    fit.run_to_end().unwrap();
    let outcome = fit.outcome().unwrap();
    assert_eq!((outcome.best.epoch, outcome.best.val_loss), (5, None));
    assert_eq!(outcome.weights, fit.params);
    let line = serde_json::to_string(&outcome.best).unwrap();
    assert!(line.ends_with(r#""val_loss":null,"val_accuracy":null}"#), "{line}");
    assert_eq!(serde_json::from_str::<Epoch>(&line).unwrap(), outcome.best);
}

#[test]
fn split_of_another_data_set_is_rejected() {
    let setup = setup("gcn", &[]);
    let other = data::load("csbm:nodes=90").unwrap();
    let split = SplitKind::Balanced.draw(&other, 0).unwrap();
    let error = Fit::new(setup, &split, 0, 1).map(drop).unwrap_err().to_string();
    assert!(error.contains("the graph has 60 nodes"), "{error}");
}

#[test]
fn callback_stops_a_run_that_can_continue() {
    let setup = setup("gcn", &[("max_epochs", "6")]);
    let (mut uninterrupted, mut stopped) = (fit(&setup), fit(&setup));
    uninterrupted.run_to_end().unwrap();
    let stop_at_three = |_: &mut Fit, epoch: &Epoch| match epoch.epoch {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert_eq!(stopped.run(stop_at_three).unwrap(), RunEnd::Stopped);
    assert_eq!(stopped.history().len(), 3);
    assert_eq!(stopped.run(stop_at_three).unwrap(), RunEnd::Finished);
    assert_eq!(stopped.outcome().unwrap().weights, uninterrupted.outcome().unwrap().weights);
}

#[test]
fn runs_can_move_between_threads() {
    fn assert_owned<T: Send + 'static>() {}
    assert_owned::<Fit>();
    assert_owned::<Arc<Setup>>();
}

#[test]
fn best_filter_is_that_of_the_outcome() {
    // Coefficients that are parameters, inner products that are not, and no filter.
    for (model, has_filter) in [("clenshaw-gcn", true), ("opt-basis-gnn", true), ("gcn", false)] {
        let mut fit = fit(&setup(model, &[]));
        fit.epoch().unwrap();
        let filter = fit.best_filter();
        assert_eq!(filter.is_some(), has_filter, "{model}");
        assert_eq!(filter, fit.outcome().unwrap().filter, "{model}");
        assert_eq!(filter, fit.setup.filter(&fit.best_params).unwrap(), "{model}");
    }
}

/// The split of the first 30 nodes for training, 10 for validation and 20 for testing.
fn first_nodes() -> Split {
    Split::new("mine", [(0..30).collect(), (30..40).collect(), (40..60).collect()]).unwrap()
}

#[test]
fn homophily_of_the_basis_is_that_of_the_training_nodes() {
    let setup = setup("uni-filter", &[("max_epochs", "3")]);
    let split = first_nodes();
    let mut fit = Fit::new(setup.clone(), &split, 0, 1).unwrap();
    let data = setup.dataset();
    let is_training = |&(u, v): &(u32, u32)| u < 30 && v < 30;
    let edges: Vec<(u32, u32)> = data.graph.edges().filter(is_training).collect();
    let equal = edges.iter().filter(|(u, v)| data.y[*u as usize] == data.y[*v as usize]).count();
    let expected = equal as f64 / edges.len() as f64;
    assert_eq!(fit.setup().hp().real("homophily"), expected);
    assert!(expected > 0.0 && expected < 1.0, "{expected}");
    fit.run_to_end().unwrap();

    // Labels of test nodes have no effect.
    let mut y = data.y.clone();
    y[40..].reverse();
    let other = Arc::new(crate::data::Dataset { y, ..data.as_ref().clone() });
    let other = Setup::new(other, setup.info(), setup.hp().clone()).unwrap();
    let mut again = Fit::new(other, &split, 0, 1).unwrap();
    again.run_to_end().unwrap();
    assert_eq!(again.outcome().unwrap().weights, fit.outcome().unwrap().weights);

    // The model contains the measured value, so it predicts the same without labels.
    let outcome = fit.outcome().unwrap();
    let model = super::super::TrainedModel::new(fit.setup(), &outcome.weights, fit.provenance());
    assert_eq!(model.predict(data, 1).unwrap(), outcome.probabilities);
}

#[test]
fn training_nodes_without_edges_have_no_homophily() {
    let measured = setup("uni-filter", &[]);
    let split = Split::new("one", [vec![0], vec![1], vec![2]]).unwrap();
    let error = Fit::new(measured, &split, 0, 1).map(drop).unwrap_err().to_string();
    let expected =
        "no edge connects two training nodes, so their homophily is unknown; set `homophily`";
    assert!(error.contains(expected), "{error}");
    let given = setup("uni-filter", &[("homophily", "0.4")]);
    let fit = Fit::new(given.clone(), &split, 0, 1).unwrap();
    assert!(Arc::ptr_eq(fit.setup(), &given));
}

#[test]
fn roc_auc_selects_the_epoch_and_needs_two_classes() {
    let of_graph = |graph: &str, epochs: &str| {
        let info = model::find("gcn").unwrap();
        let mut hp = info.defaults();
        hp.set("stop", "roc-auc").unwrap();
        hp.set("max_epochs", epochs).unwrap();
        Arc::new(Setup::new(data::load(graph).unwrap(), info, hp).unwrap())
    };
    let setup = of_graph("csbm:nodes=60,classes=2", "12");
    assert_eq!(setup.dataset().n_classes(), 2);
    let mut fit = fit(&setup);
    fit.run_to_end().unwrap();
    let roc_auc = |epoch: &Epoch| epoch.val_roc_auc.unwrap();
    let best = fit.history().iter().map(roc_auc).fold(0.0, f64::max);
    let outcome = fit.outcome().unwrap();
    assert_eq!((outcome.history.len(), roc_auc(&outcome.best)), (12, best));
    assert!((0.0..=1.0).contains(&best));
    let cora = of_graph("cora", "1");
    let split = SplitKind::Balanced.draw(cora.dataset(), 0).unwrap();
    let error = Fit::new(cora, &split, 0, 1).map(drop).unwrap_err().to_string();
    assert!(error.contains("ROC AUC needs 2 classes and there are 7"), "{error}");
}
