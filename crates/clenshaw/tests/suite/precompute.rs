//! Contract tests of `precompute = true`, for every model that has it.

use crate::common::assert_close;
use clenshaw::Error;
use clenshaw::data::{self, Dataset, Split, SplitKind, Store};
use clenshaw::experiment::{self, Request, RunEvent, RunOptions, TrainingJob};
use clenshaw::graph::{Graph, operator};
use clenshaw::hyper::Params;
use clenshaw::model::{self, BATCH_SIZE_KEY, MODELS, ModelInfo, Net, PRECOMPUTE_KEY};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Mat, Plan, Targets, ThreadTeam};
use clenshaw::train::{
    Fit, Outcome, PrecomputeOptions, PrecomputeProgress, Setup, TrainedModel, Trainer, read_weights,
};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

const N_NODES: usize = 150;
const N_FEATURES: usize = 21;

fn models() -> impl Iterator<Item = &'static ModelInfo> {
    MODELS.iter().copied().filter(|info| info.precompute.is_some())
}

fn dataset() -> Dataset {
    data::load(&format!("csbm:nodes={N_NODES},features={N_FEATURES}")).unwrap()
}

/// Four epochs with dropout and a filter of order 3, on batches of this many rows.
fn settings(info: &ModelInfo, batch_size: usize) -> Params {
    let mut hp = info.defaults();
    let batch_size = batch_size.to_string();
    for (key, value) in [
        (PRECOMPUTE_KEY, "true"),
        (BATCH_SIZE_KEY, &batch_size),
        ("K", "3"),
        ("max_epochs", "4"),
        ("dropout", "0.4"),
    ] {
        hp.set(key, value).unwrap();
    }
    hp
}

/// The terms are written to this folder, in blocks whose buffers take at most as many bytes as three columns.
fn in_files(folder: &Path) -> PrecomputeOptions<'_> {
    let budget = Some((3 * 3 * N_NODES * size_of::<f32>()) as u64);
    PrecomputeOptions { budget, folder: Some(folder), ..PrecomputeOptions::default() }
}

fn setup(info: &'static ModelInfo, batch_size: usize, options: &PrecomputeOptions<'_>) -> Setup {
    Setup::precomputing(dataset(), info, settings(info, batch_size), options).unwrap()
}

fn split(setup: &Setup) -> Split {
    SplitKind::Balanced.draw(setup.dataset(), 0).unwrap()
}

fn train(setup: Setup, threads: usize) -> Outcome {
    let split = split(&setup);
    let mut fit = Fit::new(setup, &split, 0, threads).unwrap();
    fit.run_to_end().unwrap();
    fit.outcome().unwrap()
}

/// Everything that a run computes, as bits.
fn bits(outcome: &Outcome) -> Vec<u64> {
    let losses =
        outcome.history.iter().flat_map(|epoch| [epoch.train_loss, epoch.val_loss.unwrap()]);
    let numbers = outcome.weights.iter().chain(outcome.probabilities.as_slice());
    losses.map(f64::to_bits).chain(numbers.map(|v| u64::from(v.to_bits()))).collect()
}

#[test]
fn the_flag_belongs_to_models_whose_terms_can_be_computed() {
    let names: Vec<&str> = models().map(|info| info.name).collect();
    let expected =
        ["appnp", "gpr-gnn", "bern-net", "cheb-base", "cheb-net-ii", "jacobi-conv", "poly"];
    assert_eq!(names, expected);
    for info in MODELS {
        for key in [PRECOMPUTE_KEY, BATCH_SIZE_KEY] {
            assert_eq!(info.defaults().has(key), info.precompute.is_some(), "{}", info.name);
        }
    }
}

#[test]
fn scores_and_losses_are_those_of_the_equations_on_the_whole_graph() {
    for info in models() {
        let mut hp = settings(info, 10_000);
        hp.set("dropout", "0").unwrap();
        let setup = Setup::new(dataset(), info, hp.clone()).unwrap();
        let (split, params) = (split(&setup), setup.initial_params(1));
        let x = setup.scaler().apply(&setup.dataset().x).to_dense().cast();
        let p = operator(&setup.dataset().graph, info.operator.unwrap());
        let mut net = Net::dense(x, Some(p), setup.dataset().n_classes());
        let logits = (info.build)(&mut net, &hp);
        let plan = Plan::<f64>::compile(&net, logits);
        let mut work = plan.workspace(ThreadTeam::new(1));
        let wide: Vec<f64> = params.iter().map(|v| f64::from(*v)).collect();
        let expected = plan.scores(&mut work, &wide).to_vec();
        let scores = setup.scores(&params, 1).unwrap();
        assert_close(info.name, scores.as_slice(), &expected, 1.0, 2e-5);

        let mut fit = Fit::new(setup, &split, 1, 1).unwrap();
        let label = |i: u32| fit.setup().dataset().y[i as usize].unwrap();
        let targets = Targets::cross_entropy(N_NODES, split.train(), label);
        let loss = plan.gradient(&mut work, &wide, &targets, &Stream::new(0, "dropout"));
        let error = fit.epoch().unwrap().train_loss - loss;
        assert!(error.abs() < 1e-5, "{}: {error}", info.name);
    }
}

#[test]
fn results_do_not_depend_on_where_the_terms_are_or_on_the_threads() {
    for info in models() {
        for batch_size in [16, 100, 10_000] {
            let what = format!("{} with batches of {batch_size}", info.name);
            let expected = bits(&train(setup(info, batch_size, &PrecomputeOptions::default()), 1));
            let folder = tempfile::tempdir().unwrap();
            let options = in_files(folder.path());
            for (threads, options) in [
                (2, PrecomputeOptions { threads: 2, ..options }),
                (1, PrecomputeOptions { threads: 1, ..options }),
                (2, PrecomputeOptions { budget: Some(1 << 30), ..options }),
            ] {
                let found = bits(&train(setup(info, batch_size, &options), threads));
                assert!(found == expected, "{what}, {threads} threads, {:?}", options.budget);
            }
            let n_files = std::fs::read_dir(
                folder.path().read_dir().unwrap().next().unwrap().unwrap().path(),
            );
            assert!(n_files.unwrap().count() > 3, "{what}: terms in files");
        }
    }
}

#[test]
fn copies_of_rows_give_the_same_bits_as_files() {
    let info = model::find("cheb-net-ii").unwrap();
    let expected = bits(&train(setup(info, 16, &PrecomputeOptions::default()), 1));
    let all_rows = (N_NODES * N_FEATURES * 4 * size_of::<f32>()) as u64;
    // All rows in memory; copies of training and validation rows; no copies.
    for budget in [2 * all_rows, 2 * all_rows - 1, all_rows / 4] {
        let folder = tempfile::tempdir().unwrap();
        let options = PrecomputeOptions { budget: Some(budget), ..in_files(folder.path()) };
        assert!(bits(&train(setup(info, 16, &options), 2)) == expected, "{budget} bytes");
    }
}

#[test]
fn an_interrupted_computation_resumes_with_the_next_block() {
    for info in models() {
        let expected = bits(&train(setup(info, 16, &PrecomputeOptions::default()), 1));
        let folder = tempfile::tempdir().unwrap();
        let total = Cell::new(0);
        let stop_in_third_block = |progress: PrecomputeProgress| {
            total.set(progress.total);
            match progress.done {
                10 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        let interrupted =
            PrecomputeOptions { on_progress: &stop_in_third_block, ..in_files(folder.path()) };
        let result = Setup::precomputing(dataset(), info, settings(info, 16), &interrupted);
        assert!(matches!(result.map(drop), Err(Error::Interrupted)), "{}", info.name);
        let first = total.get();
        let count = |progress: PrecomputeProgress| {
            total.set(progress.total);
            ControlFlow::Continue(())
        };
        let resumed = PrecomputeOptions { on_progress: &count, ..in_files(folder.path()) };
        let setup = setup(info, 16, &resumed);
        // Two blocks of four terms were complete.
        assert_eq!(total.get(), first - 8, "{}", info.name);
        assert!(bits(&train(setup, 2)) == expected, "{}", info.name);
    }
}

#[test]
fn a_damaged_file_is_reported() {
    let info = model::find("gpr-gnn").unwrap();
    let folder = tempfile::tempdir().unwrap();
    drop(setup(info, 16, &in_files(folder.path())));
    let terms = folder.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let file = terms.join("columns-0-4.terms");
    let mut bytes = std::fs::read(&file).unwrap();
    for (change, problem) in [(true, "its checksum is wrong"), (false, "its length is wrong")] {
        match change {
            true => bytes[40] ^= 1,
            false => _ = bytes.pop(),
        }
        std::fs::write(&file, &bytes).unwrap();
        let options = in_files(folder.path());
        let result = Setup::precomputing(dataset(), info, settings(info, 16), &options);
        let error = result.map(drop).unwrap_err().to_string();
        assert!(error.contains("columns-0-4.terms") && error.contains(problem), "{error}");
    }
}

#[test]
fn a_budget_that_is_too_small_is_an_error() {
    let info = model::find("gpr-gnn").unwrap();
    let error = |budget, folder| {
        let options =
            PrecomputeOptions { budget: Some(budget), folder, ..PrecomputeOptions::default() };
        let result = Setup::precomputing(dataset(), info, settings(info, 16), &options);
        result.map(drop).unwrap_err().to_string()
    };
    let folder = tempfile::tempdir().unwrap();
    let needed = 2 * N_NODES * size_of::<f32>();
    let small = error(needed as u64 - 1, Some(folder.path()));
    assert!(small.contains("raise the memory budget"), "{small}");
    let nowhere = error(needed as u64, None);
    assert!(nowhere.contains("set a folder"), "{nowhere}");
}

#[test]
fn a_resumed_run_ends_with_the_bits_of_an_uninterrupted_one() {
    for info in models() {
        let setup = Arc::new(setup(info, 16, &PrecomputeOptions::default()));
        let split = split(&setup);
        let start = || Fit::new(setup.clone(), &split, 3, 1).unwrap();
        let (mut whole, mut stopped, mut resumed) = (start(), start(), start());
        whole.run_to_end().unwrap();
        (0..2).for_each(|_| _ = stopped.epoch().unwrap());
        resumed.restore("checkpoint", &stopped.checkpoint()).unwrap();
        resumed.run_to_end().unwrap();
        let [whole, resumed] = [whole, resumed].map(|mut fit| bits(&fit.outcome().unwrap()));
        assert!(whole == resumed, "{}", info.name);
    }
}

#[test]
fn loss_of_an_epoch_without_steps_is_that_of_one_batch() {
    let info = model::find("cheb-net-ii").unwrap();
    for weighted in ["true", "false"] {
        let first_loss = |batch_size: usize| {
            let mut hp = settings(info, batch_size);
            for (key, value) in
                [("dropout", "0"), ("lr", "0"), ("lr_prop", "0"), ("class_weights", weighted)]
            {
                hp.set(key, value).unwrap();
            }
            let setup = Setup::new(dataset(), info, hp).unwrap();
            let split = SplitKind::Stratified.draw(setup.dataset(), 0).unwrap();
            Fit::new(setup, &split, 0, 1).unwrap().epoch().unwrap()
        };
        let one = first_loss(10_000);
        for batch_size in [7, 16, 149] {
            let many = first_loss(batch_size);
            let errors =
                [many.train_loss - one.train_loss, many.val_loss.unwrap() - one.val_loss.unwrap()];
            assert!(errors.iter().all(|e| e.abs() < 1e-6), "batches of {batch_size}: {errors:?}");
            assert_eq!(many.val_accuracy, one.val_accuracy);
        }
    }
}

#[test]
fn a_saved_model_predicts_all_nodes_of_this_and_of_another_graph() {
    for info in models() {
        let trainer = Trainer::new(info.name).unwrap();
        let trainer = trainer.set(PRECOMPUTE_KEY, true).unwrap().set(BATCH_SIZE_KEY, 32).unwrap();
        let run = trainer.set("max_epochs", 5).unwrap().fit(dataset()).unwrap();
        let model = TrainedModel::from_bytes("model", &run.model().to_bytes()).unwrap();
        let found = model.predict(&dataset(), 2).unwrap();
        assert_eq!(found, run.outcome().probabilities, "{}", info.name);
        let other = data::load("csbm:nodes=90,seed=4,features=21").unwrap();
        let all = model.predict(&other, 1).unwrap();
        assert_eq!((all.rows(), all.cols()), (90, other.n_classes()));
        let rows = all.as_slice().chunks(all.cols());
        assert!(rows.clone().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
        assert_ne!(all.row(0), all.row(89), "{}", info.name);
    }
}

#[test]
fn a_diverging_epoch_leaves_the_state_before_it() {
    let info = model::find("gpr-gnn").unwrap();
    let mut hp = settings(info, 16);
    hp.set("scaling", "raw").unwrap();
    let split = split(&setup(info, 16, &PrecomputeOptions::default()));
    // Most of these nodes are not in the first batch, so some steps precede the divergence.
    for &node in split.train().iter().step_by(10) {
        let mut data = dataset();
        data.graph = without_edges_of(node, &data.graph);
        let data::Features::Dense(x) = &mut data.x else { panic!("csbm has dense features") };
        x.as_mut_slice()[node as usize * N_FEATURES] = f32::INFINITY;
        let mut fit = Fit::new(Setup::new(data, info, hp.clone()).unwrap(), &split, 0, 1).unwrap();
        let before = state(&mut fit);
        let error = fit.epoch().unwrap_err();
        assert!(matches!(error, Error::Diverged { epoch: 1, .. }), "{error}");
        assert!(state(&mut fit) == before, "node {node}");
    }
}

/// The graph without the edges of a node, so that its features affect no other node.
fn without_edges_of(node: u32, graph: &Graph) -> Graph {
    let neighbours = |i: u32| graph.neighbours(i as usize).iter().map(move |&j| (i, j));
    let edges = (0..N_NODES as u32).flat_map(neighbours).filter(|&(i, j)| i != node && j != node);
    Graph::from_edges("test", N_NODES, &edges.collect::<Vec<_>>()).unwrap()
}

/// The parameters and the state of the optimiser.
fn state(fit: &mut Fit) -> Vec<(String, Mat<f32>)> {
    read_weights("checkpoint", &fit.checkpoint()).unwrap().tensors
}

#[test]
fn a_run_folder_contains_the_predictions_of_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut request = Request::new("csbm:nodes=150,features=21", "cheb-net-ii").unwrap();
    for (key, value) in [(PRECOMPUTE_KEY, "true"), (BATCH_SIZE_KEY, "40"), ("max_epochs", "3")] {
        request.set(key, value).unwrap();
    }
    let last = Mutex::new(None);
    let store = Store::new(None);
    let options = RunOptions {
        threads: 2,
        store: &store,
        resume: true,
        on_event: &|_, event| {
            if let RunEvent::Precomputed { progress } = event {
                *last.lock().unwrap() = Some(progress);
            }
        },
        cancel: &AtomicBool::new(false),
    };
    experiment::run(&TrainingJob { request, folder: Some(out.clone()) }, &options).unwrap();
    let last = last.into_inner().unwrap().unwrap();
    // Blocks of 16, 4 and 1 columns with eleven terms each.
    assert_eq!((last.done, last.total), (33, 33));
    let predictions = experiment::predict(&out, &store, None, None, 1).unwrap();
    let nodes: Vec<usize> = (0..150).collect();
    let stored = std::fs::read_to_string(out.join("runs/0/predictions.csv")).unwrap();
    assert_eq!(predictions.to_csv(&nodes), stored);
}
