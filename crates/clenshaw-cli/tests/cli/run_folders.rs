//! Run folders of killed, concurrent and disturbed processes.

use crate::common::{Sandbox, text};
use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};

const TRAIN: &str = "train csbm:nodes=100 --model gcn --set max_epochs=4 --runs 2 --quiet --out";
/// Larger than any process number of Linux.
const DEAD: &str = "99999999";

/// The files that a process leaves behind if it is killed at each step of its start, then those of a process
/// killed while it writes or removes results. Names of folders end in `/`.
fn states_after_a_kill() -> Vec<Vec<String>> {
    let partial = |name: &str| format!("{name}.{DEAD}-3.partial");
    let plus = |names: &[String], name: &str| [names, &[name.to_owned()]].concat();
    let locked = vec![".lock".to_owned()];
    let started = plus(&locked, "run.toml");
    let runs = plus(&started, "runs/");
    let ready = plus(&runs, "data.json");
    vec![
        vec![],
        plus(&locked, &partial(".run.toml")),
        plus(&runs, &partial(".data.json")),
        plus(&ready, &partial("runs/.0.checkpoint")),
        plus(&ready, "runs/.0.partial/epochs.jsonl"),
        plus(&ready, "runs/0/predictions.csv"),
        plus(&ready, &partial(".summary.json")),
        plus(&started, ".runs.partial/0/record.json"),
        // An earlier version created the folder `runs` first.
        plus(&locked, "runs/"),
        locked,
        started,
        runs,
        ready,
    ]
}

/// Temporary files and folders below a folder.
fn partials(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut found = vec![];
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".partial") {
            found.push(name);
        } else if entry.path().is_dir() {
            found.extend(partials(&entry.path()));
        }
    }
    found
}

#[test]
fn folder_of_a_killed_process_is_used_again() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} whole"));
    for (i, state) in states_after_a_kill().into_iter().enumerate() {
        let out = format!("killed{i}");
        fs::create_dir(sandbox.path(&out)).unwrap();
        for name in &state {
            let is_complete = ["run.toml", "data.json"].contains(&name.as_str());
            match name.strip_suffix('/') {
                Some(folder) => fs::create_dir_all(sandbox.path(&out).join(folder)).unwrap(),
                None if is_complete => {
                    let content = text(&sandbox.read(format!("whole/{name}")));
                    sandbox.write(&format!("{out}/{name}"), &content);
                }
                None => sandbox.write(&format!("{out}/{name}"), "unfinished"),
            }
        }
        let output = sandbox.run(&format!("{TRAIN} {out}"));
        assert!(output.status.success(), "{state:?}: {}", text(&output.stderr));
        for file in ["runs/0/predictions.csv", "runs/1/epochs.jsonl", "run.toml", "data.json"] {
            let (expected, found) = (format!("whole/{file}"), format!("{out}/{file}"));
            assert_eq!(sandbox.read(found), sandbox.read(expected), "{state:?}: {file}");
        }
        assert_eq!(partials(&sandbox.path(&out)), [""; 0], "{state:?}");
    }
}

#[test]
fn files_of_others_are_not_touched() {
    let sandbox = Sandbox::new();
    // A file of a process that is alive: this one.
    let alive = format!("here/.note.{}-0.partial", std::process::id());
    sandbox.write(&alive, "being written");
    sandbox.stdout(&format!("{TRAIN} here"));
    assert_eq!(sandbox.read(&alive), b"being written");
    sandbox.write("thesis/chapter.tex", "text");
    sandbox.write("thesis/.lock", "");
    let (code, message) = sandbox.failure(&format!("{TRAIN} thesis"));
    assert_eq!(code, 2);
    assert!(message.contains("thesis: is not empty and has no run.toml"), "{message}");
    assert_eq!(fs::read_dir(sandbox.path("thesis")).unwrap().count(), 2);
}

/// The lock decides before anything else is compared: another process may not have written its settings.
#[test]
fn locked_folder_is_reported_as_in_use() {
    let sandbox = Sandbox::new();
    for (folder, content) in [("new", None), ("other", Some("model = \"mlp\"\n"))] {
        sandbox.write(&format!("{folder}/.lock"), "");
        if let Some(content) = content {
            sandbox.write(&format!("{folder}/run.toml"), content);
        }
        let lock = fs::File::open(sandbox.path(folder).join(".lock")).unwrap();
        lock.lock().unwrap();
        let (code, message) = sandbox.failure(&format!("{TRAIN} {folder}"));
        let expected = format!(
            "error: {folder}: another process is training in this folder\n\
             hint: wait until that process finishes, or choose another folder with --out\n"
        );
        assert_eq!((code, message), (1, expected));
    }
}

fn spawn(sandbox: &Sandbox, arguments: &str) -> Child {
    let mut command = sandbox.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn processes_that_start_together_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} whole"));
    for round in 0..5 {
        let out = format!("round{round}");
        let processes: Vec<Child> =
            (0..3).map(|_| spawn(&sandbox, &format!("{TRAIN} {out}"))).collect();
        let outputs: Vec<Output> =
            processes.into_iter().map(|process| process.wait_with_output().unwrap()).collect();
        assert!(outputs.iter().any(|output| output.status.success()));
        for output in outputs.iter().filter(|output| !output.status.success()) {
            let message = text(&output.stderr);
            assert!(message.contains("another process is training in this folder"), "{message}");
        }
        let predictions = |out: &str| sandbox.read(format!("{out}/runs/1/predictions.csv"));
        assert_eq!(predictions(&out), predictions("whole"));
    }
}

/// Starts a training that takes a few seconds, and calls `disturb` once its folder is complete.
fn train_and_disturb(sandbox: &Sandbox, disturb: impl FnOnce(&Path)) -> Output {
    let arguments = "train csbm:nodes=400 --model gcn --set max_epochs=3000 --set patience=3000 \
                     --threads 1 --quiet --out here";
    let process = spawn(sandbox, arguments);
    // The last file that is created before the first checkpoint.
    while !sandbox.path("here/runs/0.progress.jsonl").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    disturb(&sandbox.path("here"));
    process.wait_with_output().unwrap()
}

#[test]
fn deleted_folder_is_an_error() {
    let lost = "error: here: this folder was deleted or replaced during the run; \
                results could not be written\n\
                hint: rerun the same command, and do not delete the folder until it has finished\n";
    let sandbox = Sandbox::new();
    let output = train_and_disturb(&sandbox, |folder| fs::remove_dir_all(folder).unwrap());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), lost.into()));
    assert!(!sandbox.path("here").exists());

    let output = train_and_disturb(&sandbox, |folder| {
        fs::remove_dir_all(folder.join("runs")).unwrap();
    });
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), lost.into()));

    // The folder of another process has taken its place.
    fs::remove_dir_all(sandbox.path("here")).unwrap();
    let output = train_and_disturb(&sandbox, |folder| {
        fs::remove_dir_all(folder).unwrap();
        fs::create_dir_all(folder.join("runs")).unwrap();
        fs::write(folder.join(".lock"), "").unwrap();
    });
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), lost.into()));
    assert_eq!(fs::read_dir(sandbox.path("here/runs")).unwrap().count(), 0);
}
