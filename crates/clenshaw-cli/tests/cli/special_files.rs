//! Pipes, devices and folders in place of files: an error, never a hang.

use crate::common::{Sandbox, text};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NODES: &str = "id,x,label\na,1,u\nb,2,v\nc,3,u\nd,4,v\n";
const EDGES: &str = "a,b\nb,c\nc,d\n";

/// Makes a named pipe, which has no writer: opening it would wait for ever.
fn make_pipe(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that must end; one that waits is killed and fails the test.
fn run(sandbox: &Sandbox, arguments: &str) -> Output {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments}: does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn assert_refused(sandbox: &Sandbox, arguments: &str, problem: &str) {
    let output = run(sandbox, arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(message.contains(problem), "{arguments}: {message}");
}

#[test]
fn graph_files_that_are_pipes_are_refused() {
    let sandbox = Sandbox::new();
    for name in ["a.graphml", "a.gml", "a.gexf", "a.json", "a.npz", "a.graph", "a.net"] {
        sandbox.write("nodes.csv", NODES);
        make_pipe(&sandbox.path(name));
        assert_refused(&sandbox, &format!("data check {name}"), &format!("{name}: is a pipe; "));
    }
    for (pipe, other) in [("nodes.csv", "edges.csv"), ("edges.csv", "nodes.csv")] {
        let folder = pipe.replace('.', "-");
        sandbox
            .write(&format!("{folder}/{other}"), if other == "nodes.csv" { NODES } else { EDGES });
        make_pipe(&sandbox.path(format!("{folder}/{pipe}")));
        let problem = format!("{pipe}: is a pipe; expected a regular file");
        assert_refused(&sandbox, &format!("train {folder}"), &problem);
    }
    for extension in ["parquet", "tsv", "npz"] {
        let (folder, edges) = (format!("of-{extension}"), format!("edges.{extension}"));
        sandbox.write(&format!("{folder}/nodes.csv"), NODES);
        make_pipe(&sandbox.path(format!("{folder}/{edges}")));
        assert_refused(&sandbox, &format!("train {folder}"), "is a pipe; expected a regular file");
    }
}

#[test]
fn other_input_files_that_are_pipes_or_devices_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("mine/nodes.csv", NODES);
    sandbox.write("mine/edges.csv", EDGES);
    make_pipe(&sandbox.path("pipe"));
    let train = "train mine --label label --model gcn --set max_epochs=2 --quiet --out run";
    let pipe = "pipe: is a pipe; expected a regular file";
    let device = "/dev/zero: is a device; expected a regular file";
    assert_refused(&sandbox, &format!("{train} --config pipe"), pipe);
    assert_refused(&sandbox, &format!("{train} --config /dev/zero"), device);
    assert_refused(&sandbox, &format!("{train} --config ."), ".: is a folder");
    assert_refused(&sandbox, &format!("{train} --config /dev/stdin"), "/dev/stdin: is a pipe");
    assert_refused(&sandbox, &format!("{train} --split file:pipe"), pipe);
    assert_refused(&sandbox, &format!("{train} --split file:/dev/zero"), device);
    assert_refused(&sandbox, "tune csbm:nodes=60 --space pipe --trials 1", pipe);
    let study = "tune csbm:nodes=60 --trials 1 --quiet --study";
    let problem = "is a folder, a pipe or a device; expected a regular file";
    assert_refused(&sandbox, &format!("{study} pipe"), problem);
    assert_refused(&sandbox, &format!("{study} sqlite:///pipe"), problem);

    assert!(!sandbox.path("run/runs").exists());
    sandbox.stdout("train csbm:nodes=60 --model gcn --set max_epochs=2 --quiet --out good");
    for file in ["run.toml", "data.json", "runs/0/record.json", "runs/0/model.safetensors"] {
        let path = sandbox.path("good").join(file);
        let content = std::fs::read(&path).unwrap();
        make_pipe(&path);
        let command = match file {
            "run.toml" | "runs/0/record.json" | "data.json" => {
                "train csbm:nodes=60 --model gcn --set max_epochs=2 --quiet --out good"
            }
            _ => "predict good",
        };
        assert_refused(&sandbox, command, "is a pipe; expected a regular file");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, content).unwrap();
    }
    make_pipe(&sandbox.path("mine/schema.toml"));
    assert_refused(&sandbox, train, "schema.toml: is a pipe");
}

/// A bomb of 3 GB in 3 MB, of which 200 times its size would be read without an earlier limit.
#[cfg(target_os = "linux")]
#[test]
fn decompression_bomb_needs_little_memory() {
    let sandbox = Sandbox::new();
    sandbox.write("mine/edges.csv", EDGES);
    let script = "head -c 16777216 /dev/zero | tr '\\0' '1' | gzip -9 > one.gz && \
                  for i in $(seq 180); do cat one.gz; done > mine/nodes.csv.gz";
    let made = Command::new("sh").current_dir(sandbox.path("")).args(["-c", script]).status();
    assert!(made.unwrap().success());
    let program = env!("CARGO_BIN_EXE_clenshaw");
    let limited = format!("ulimit -v 500000; exec {program} data check mine");
    let mut command = Command::new("sh");
    command.current_dir(sandbox.path("")).args(["-c", &limited]).env("CLENSHAW_CACHE", "off");
    let output = command.output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("decompresses to more than 200 times its size"), "{message}");
}
