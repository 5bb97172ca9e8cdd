//! Training jobs end to end: results are bit-identical for any number of threads and after interruptions.

use clenshaw::data::Store;
use clenshaw::experiment::{
    Request, RunEvent, RunOptions, Summary, TrainingJob, predict, run, run_all,
};
use clenshaw::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

fn request(runs: usize) -> Request {
    let mut request = Request::new("csbm:nodes=300", "clenshaw-gcn").unwrap();
    for (key, value) in
        [("max_epochs", "12"), ("K", "4"), ("hidden", "16"), ("dropout_conv", "0.2")]
    {
        request.set(key, value).unwrap();
    }
    request.runs = runs;
    request
}

/// Trains jobs, keeping finished runs.
fn run_jobs(
    jobs: &[TrainingJob],
    threads: usize,
    cancel: &AtomicBool,
    on_event: &(dyn Fn(usize, RunEvent<'_>) + Sync),
) -> Vec<Result<Summary>> {
    let store = &Store::new(None);
    run_all(jobs, &RunOptions { threads, store, resume: true, on_event, cancel })
}

/// The summary as JSON, with all times set to zero.
fn json(mut summary: Summary) -> String {
    summary.seconds = 0.0;
    for record in &mut summary.runs {
        record.seconds = 0.0;
        (record.peak_memory_bytes, record.forecast_memory_bytes) = (None, None);
    }
    serde_json::to_string(&summary).unwrap()
}

fn summary_json(
    request: &Request,
    threads: usize,
    folder: Option<PathBuf>,
    resume: bool,
) -> Result<String> {
    let (cancel, store) = (AtomicBool::new(false), &Store::new(None));
    let options = RunOptions { threads, store, resume, on_event: &|_, _| {}, cancel: &cancel };
    run(&TrainingJob { request: request.clone(), folder }, &options).map(json)
}

/// Cancels after the given epoch of the given run.
fn interrupt(request: &Request, folder: &Path, at: (usize, usize)) {
    let cancel = AtomicBool::new(false);
    let on_event = |_, event: RunEvent<'_>| {
        if let RunEvent::Epoch { run, epoch } = event
            && (run, epoch.epoch) == at
        {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let job = TrainingJob { request: request.clone(), folder: Some(folder.to_owned()) };
    assert!(matches!(run_jobs(&[job], 1, &cancel, &on_event)[0], Err(Error::Interrupted)));
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            let name = entry.strip_prefix(folder).unwrap().display().to_string();
            let timed = ["record.json", "summary.json", "receipt.json"].contains(&name.as_str());
            if !timed {
                found.push((name, fs::read(&entry).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn results_do_not_depend_on_threads() {
    let request = request(3);
    let alone = summary_json(&request, 1, None, false).unwrap();
    assert_eq!(summary_json(&request, 2, None, false).unwrap(), alone, "runs in parallel");
    let single = self::request(1);
    let alone = summary_json(&single, 1, None, false).unwrap();
    assert_eq!(summary_json(&single, 3, None, false).unwrap(), alone, "several threads per run");
}

#[test]
fn run_i_is_the_run_of_seed_plus_i() {
    let three: serde_json::Value =
        serde_json::from_str(&summary_json(&request(3), 1, None, false).unwrap()).unwrap();
    let mut last = request(1);
    last.seed = 2;
    let one: serde_json::Value =
        serde_json::from_str(&summary_json(&last, 1, None, false).unwrap()).unwrap();
    assert_eq!(three["runs"][2], one["runs"][0]);
}

#[test]
fn resumed_job_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (uninterrupted, interrupted) =
        (folder.path().join("uninterrupted"), folder.path().join("interrupted"));
    let request = request(2);
    let expected = summary_json(&request, 1, Some(uninterrupted.clone()), false).unwrap();
    interrupt(&request, &interrupted, (0, 5));
    interrupt(&request, &interrupted, (0, 9));
    interrupt(&request, &interrupted, (1, 3));
    assert!(
        interrupted.join("runs/0/record.json").exists()
            && interrupted.join("runs/1.checkpoint").exists()
    );
    assert_eq!(summary_json(&request, 1, Some(interrupted.clone()), true).unwrap(), expected);
    assert_eq!(files(&interrupted), files(&uninterrupted));
}

#[test]
fn rejects_folder_with_other_contents() {
    let folder = tempfile::tempdir().unwrap();
    let unrelated = folder.path().join("thesis.tex");
    fs::write(&unrelated, "chapter one").unwrap();
    let out = Some(folder.path().to_owned());
    let error = summary_json(&request(1), 1, out, false).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("has no run.toml"), "{error}");
    assert_eq!(fs::read_to_string(&unrelated).unwrap(), "chapter one");

    let out = folder.path().join("run");
    summary_json(&request(1), 1, Some(out.clone()), false).unwrap();
    let before = files(&out);
    let error = summary_json(&request(2), 1, Some(out.clone()), false).unwrap_err();
    assert!(error.to_string().contains("contains a run with different settings"), "{error}");
    assert_eq!(files(&out), before);
}

#[test]
fn rejects_folder_in_use_or_with_other_data() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    interrupt(&request(1), &out, (0, 5));
    let before = files(&out);
    let lock = fs::File::open(out.join(".lock")).unwrap();
    lock.lock().unwrap();
    let error = summary_json(&request(1), 1, Some(out.clone()), true).unwrap_err();
    assert!(
        !error.is_input()
            && error.to_string().ends_with("another process is training in this folder")
    );
    drop(lock);

    let data = fs::read_to_string(out.join("data.json")).unwrap();
    let digest = data.split('"').find(|word| word.len() == 64).unwrap();
    fs::write(out.join("data.json"), data.replace(digest, &"0".repeat(64))).unwrap();
    let error = summary_json(&request(1), 1, Some(out.clone()), true).unwrap_err();
    assert!(error.to_string().contains("contains runs on different data or splits"), "{error}");
    fs::write(out.join("data.json"), &data).unwrap();
    assert_eq!(files(&out), before);
    summary_json(&request(1), 1, Some(out), true).unwrap();
}

/// One worker panics while it starts the job for which the other one waits.
#[test]
fn panic_in_one_worker_does_not_block_the_other() {
    let all = || {
        let on_event = |_, event: RunEvent<'_>| {
            assert!(!matches!(event, RunEvent::Loaded { .. }), "intended panic");
        };
        let job = TrainingJob { request: request(2), folder: None };
        run_jobs(&[job], 2, &AtomicBool::new(false), &on_event);
    };
    assert!(std::panic::catch_unwind(all).is_err());
}

#[test]
fn predict_reproduces_the_saved_predictions() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    summary_json(&request(2), 1, Some(out.clone()), false).unwrap();
    let written = fs::read_to_string(out.join("runs/1/predictions.csv")).unwrap();
    let predictions = predict(&out, &Store::new(None), None, Some(1), 2).unwrap();
    let all: Vec<usize> = (0..predictions.parts.len()).collect();
    assert_eq!(predictions.to_csv(&all), written);
    let missing = predict(&out, &Store::new(None), None, Some(7), 1).unwrap_err().to_string();
    assert_eq!(missing.split(": ").nth(1), Some("no finished run with seed 7"));
    let other = predict(&out, &Store::new(None), Some("cora"), None, 1).unwrap_err();
    assert!(
        other.to_string().contains("cora: 1433 features, but the model was trained with 32"),
        "{other}"
    );
}

#[test]
fn divergence_error_names_the_learning_rates() {
    let mut request = request(2);
    for (key, value) in [("lr_dense", "10"), ("lr_conv", "10"), ("lr_alpha", "10"), ("K", "64")] {
        request.set(key, value).unwrap();
    }
    let error = summary_json(&request, 2, None, false).unwrap_err();
    assert!(!error.is_input());
    let text = error.to_string();
    assert!(text.starts_with("training diverged at epoch "), "{text}");
    assert!(
        text.ends_with("lower `lr_conv` (now 10) or `lr_dense` (now 10) or `lr_alpha` (now 10)"),
        "{text}"
    );
}

fn small(model: &str) -> Request {
    let mut request = Request::new("csbm:nodes=200", model).unwrap();
    request.set("max_epochs", "8").unwrap();
    request.runs = 3;
    request
}

#[test]
fn jobs_in_parallel_give_the_same_results_as_alone() {
    let jobs: Vec<TrainingJob> = ["mlp", "gcn", "clenshaw-gcn"]
        .map(|model| TrainingJob { request: small(model), folder: None })
        .to_vec();
    for threads in [1, 2, 5] {
        let together = run_jobs(&jobs, threads, &AtomicBool::new(false), &|_, _| {});
        for (job, summary) in jobs.iter().zip(together) {
            let alone = summary_json(&job.request, 1, None, false).unwrap();
            assert_eq!(json(summary.unwrap()), alone, "{threads} threads");
        }
    }
}

#[test]
fn failed_job_does_not_stop_the_others() {
    let missing = Request { graph: "no-such-file.csv".into(), ..small("mlp") };
    let jobs = [missing, small("mlp")].map(|request| TrainingJob { request, folder: None });
    let results = run_jobs(&jobs, 2, &AtomicBool::new(false), &|_, _| {});
    assert!(matches!(results[0], Err(Error::Unknown { .. })), "{:?}", results[0]);
    assert_eq!(results[1].as_ref().unwrap().runs.len(), 3);
}

/// Commands that look for the runs of such a folder did not end.
#[test]
fn run_toml_with_an_impossible_number_of_runs_is_rejected() {
    let text = request(2).to_toml().replace("runs = 2", "runs = 9000000000000000000");
    let error = Request::from_toml("run.toml", &text).unwrap_err().to_string();
    assert_eq!(error, "run.toml: `runs` is 9000000000000000000, outside 1 to 100000");
}
