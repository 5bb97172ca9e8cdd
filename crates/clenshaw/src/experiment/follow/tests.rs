//! The states of runs while a process trains them, and requests to stop.

use super::*;
use crate::data::Store;
use crate::experiment::{RunEvent, RunOptions, TrainingJob, run};
use std::sync::atomic::{AtomicBool, Ordering};

fn job(folder: &Path) -> TrainingJob {
    let mut request = Request::new("csbm:nodes=80", "clenshaw-gcn").unwrap();
    request.set("max_epochs", "30").unwrap();
    request.set("stop", "none").unwrap();
    request.runs = 2;
    TrainingJob { request, folder: Some(folder.to_owned()) }
}

fn train(job: &TrainingJob, on_event: &(dyn Fn(usize, RunEvent<'_>) + Sync)) -> Result<()> {
    let options = RunOptions {
        threads: 1,
        store: &Store::new(None),
        resume: true,
        on_event,
        cancel: &AtomicBool::new(false),
    };
    run(job, &options).map(drop)
}

fn states(folder: &FollowedFolder) -> Vec<RunState> {
    folder.runs().iter().map(|run| run.state).collect()
}

#[test]
fn states_follow_a_job_from_its_start_to_its_end() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let seen = std::sync::Mutex::new(vec![]);
    train(&job(&path), &|_, event| {
        if let RunEvent::Epoch { run, epoch } = event
            && epoch.epoch == 5
        {
            let folder = FollowedFolder::open(&path).unwrap();
            assert!(folder.is_active());
            seen.lock().unwrap().push((run, states(&folder)));
        }
    })
    .unwrap();
    use RunState::{Finished, Running, Waiting};
    let expected = [(0, vec![Running, Waiting]), (1, vec![Finished, Running])];
    assert_eq!(*seen.lock().unwrap(), expected);
    let folder = FollowedFolder::open(&path).unwrap();
    assert_eq!(states(&folder), [Finished, Finished]);
    assert!(!folder.is_active());
    assert!(folder.runs().iter().all(|run| run.record.is_some()));
    let left: Vec<String> = file_names(&path.join("runs")).into_iter().collect();
    assert_eq!(left, ["0", "1"], "progress files are removed");
}

#[test]
fn requested_stop_interrupts_the_job_once_and_the_job_can_be_resumed() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let reference = temporary.path().join("reference");
    train(&job(&reference), &|_, _| {}).unwrap();
    let requests = AtomicBool::new(false);
    let result = train(&job(&path), &|_, event| match event {
        RunEvent::Epoch { epoch, .. } if epoch.epoch == 10 => {
            request_stop(&path).unwrap();
            // The progress is written, and the request looked for, every 250 milliseconds.
            std::thread::sleep(Duration::from_millis(300));
        }
        RunEvent::StopRequested => assert!(!requests.swap(true, Ordering::Relaxed)),
        _ => {}
    });
    assert!(matches!(result, Err(Error::Interrupted)), "{result:?}");
    assert!(requests.into_inner());
    let folder = FollowedFolder::open(&path).unwrap();
    assert_eq!(states(&folder), [RunState::Interrupted, RunState::Waiting]);
    assert_eq!(folder.runs()[0].progress().epochs.len(), 10);

    // A request after the end is refused, and an old one does not stop the next process.
    assert!(request_stop(&path).is_err());
    write_stop_request(&path).unwrap();
    let mut resumed_after = None;
    let events = std::sync::Mutex::new(&mut resumed_after);
    train(&job(&path), &|_, event| {
        if let RunEvent::Started { run: 0, epochs_done, .. } = event {
            **events.lock().unwrap() = Some(epochs_done);
        }
    })
    .unwrap();
    assert_eq!(resumed_after, Some(10));
    for file in ["model.safetensors", "epochs.jsonl", "filters.jsonl"] {
        let [a, b] = [&path, &reference].map(|p| fs::read(p.join("runs/0").join(file)).unwrap());
        assert!(a == b, "{file} differs from that of an uninterrupted run");
    }
}

#[test]
fn update_detects_a_new_process() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let stop_at = |last: usize| {
        let cancel = AtomicBool::new(false);
        let options = RunOptions {
            threads: 1,
            store: &Store::new(None),
            resume: true,
            on_event: &|_, event| {
                let is_last = matches!(event, RunEvent::Epoch { epoch, .. } if epoch.epoch == last);
                cancel.fetch_or(is_last, Ordering::Relaxed);
            },
            cancel: &cancel,
        };
        run(&job(&path), &options).map(drop)
    };
    assert!(stop_at(4).is_err());
    let mut folder = FollowedFolder::open(&path).unwrap();
    assert_eq!(folder.runs()[0].progress().epochs.len(), 4);
    folder.update().unwrap();
    assert_eq!(folder.runs()[0].state, RunState::Interrupted);
    assert!(stop_at(9).is_err());
    folder.update().unwrap();
    assert_eq!(folder.runs()[0].progress().epochs.len(), 9);
    stop_at(1000).unwrap();
    folder.update().unwrap();
    assert_eq!(states(&folder), [RunState::Finished, RunState::Finished]);
}

#[test]
fn failed_run_of_an_earlier_process_waits_while_another_process_trains() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("run");
    let mut job = job(&path);
    for (key, value) in [("lr_dense", "10"), ("lr_conv", "10"), ("lr_alpha", "10"), ("K", "64")] {
        job.request.set(key, value).unwrap();
    }
    assert!(matches!(train(&job, &|_, _| {}), Err(Error::Diverged { .. })));
    assert_eq!(states(&FollowedFolder::open(&path).unwrap())[0], RunState::Failed);
    wait_for_later_modification_time(&path.join("runs").join(progress_name(0)));
    let seen = std::sync::Mutex::new(None);
    let result = train(&job, &|_, event| {
        if let RunEvent::Started { run: 0, .. } = event {
            *seen.lock().unwrap() = Some(states(&FollowedFolder::open(&path).unwrap())[0]);
        }
    });
    assert!(result.is_err());
    assert_eq!(seen.into_inner().unwrap(), Some(RunState::Waiting));
}

/// Returns when a file that is written now is newer than this one: modification times have a resolution of
/// milliseconds.
fn wait_for_later_modification_time(path: &Path) {
    let earlier = modified(path).unwrap();
    let probe = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
    while modified(probe.path()).unwrap() <= earlier {
        fs::write(probe.path(), "later").unwrap();
    }
}
