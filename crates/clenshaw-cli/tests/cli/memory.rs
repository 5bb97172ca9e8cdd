//! Runs that do not fit into memory, and the forecast of those that do.

use crate::common::{Sandbox, text};
use std::process::{Command, Output};

/// Runs the program with a limit on its address space, in megabytes.
#[cfg(target_os = "linux")]
fn run_within(sandbox: &Sandbox, megabytes: usize, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_clenshaw");
    let script = format!("ulimit -v {}; exec {program} {arguments}", megabytes * 1000);
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(sandbox.path("")).env("CLENSHAW_CACHE", "off");
    command.output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn settings_that_do_not_fit_are_refused_with_the_numbers() {
    let sandbox = Sandbox::new();
    let train = "train csbm:nodes=183 --set hidden=4096 --set K=256 --out run";
    let output = run_within(&sandbox, 8000, train);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    // 256 layers of 4096 x 4096 weights, in at least nine copies.
    let needed: f64 =
        error.split("needs ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let copies = 256.0 * 4096.0 * 4096.0 * 4.0 * 9.0 / 1e9;
    assert!(needed > copies && needed < 1.5 * copies, "{needed} and {copies}");
    assert!(error.contains("memory limit of the process (ulimit)"), "{error}");
    assert!(error.contains("lower `K` (now 256) or `hidden` (now 4096)"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_model_that_does_not_fit_does_not_stop_a_comparison() {
    let sandbox = Sandbox::new();
    // Every leaf of a star is at distance two from every other one.
    let leaves = 60_000;
    let nodes: String = (0..=leaves).map(|i| format!("{i},{},{}\n", i % 7, i % 2)).collect();
    let edges: String = (1..=leaves).map(|i| format!("0,{i}\n")).collect();
    sandbox.write("star/nodes.csv", &format!("id,x,label\n{nodes}"));
    sandbox.write("star/edges.csv", &format!("source,target\n{edges}"));
    let compare = "compare star --models mlp,h2gcn --set max_epochs=3 --threads 1";
    let output = run_within(&sandbox, 3000, compare);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("the graph of nodes at distance two needs"), "{error}");
    assert!(out.contains("mlp"), "{out}");
    let finished = sandbox.path("runs").read_dir().unwrap().count();
    assert!(finished > 0, "the run of the model that fits is kept");
}

#[test]
#[cfg(target_os = "linux")]
fn forecast_is_within_ten_percent_of_the_peak() {
    let sandbox = Sandbox::new();
    for settings in ["--model clenshaw-gcn --set K=24", "--model gcnii --set L=8 --set hidden=256"]
    {
        let train = "train csbm:nodes=20000 --threads 2 --set max_epochs=2 --fresh --json";
        let summary = sandbox.json(&format!("{train} {settings}"));
        let run = &summary["runs"][0];
        let (forecast, peak) = (&run["forecast_memory_bytes"], &run["peak_memory_bytes"]);
        let ratio = peak.as_f64().unwrap() / forecast.as_f64().unwrap();
        assert!((0.9..1.1).contains(&ratio), "{settings}: {peak} of {forecast}");
    }
}

/// 64 layers on 20,000 nodes, whose values take 360 MB; half of that with recomputation.
const DEEP: &str =
    "train csbm:nodes=20000 --threads 2 --set K=64 --set max_epochs=2 --set dropout_conv=0.2";

#[test]
#[cfg(target_os = "linux")]
fn a_memory_limit_is_kept_by_recomputing_values() {
    let sandbox = Sandbox::new();
    let train = |options: &str| {
        let output = sandbox.run(&format!("{DEEP} --json {options}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (unlimited, messages) = train("--out unlimited");
    assert!(!messages.contains("computed again"), "{messages}");
    let (limited, messages) = train("--out limited --memory 330M");
    assert!(messages.contains("values are computed again in the backward pass"), "{messages}");
    let peak = |summary: &str| {
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        summary["runs"][0]["peak_memory_bytes"].as_f64().unwrap() / 1e6
    };
    // The peak includes the pages of the program's file, which do not count.
    assert!(peak(&unlimited) > 400.0 && peak(&limited) < 345.0, "{unlimited} {limited}");
    let weights = |folder: &str| sandbox.read(format!("{folder}/runs/0/model.safetensors"));
    assert!(weights("limited") == weights("unlimited"), "the weights differ");
}

#[test]
#[cfg(target_os = "linux")]
fn a_memory_limit_that_cannot_be_kept_is_an_error() {
    let sandbox = Sandbox::new();
    let (code, error) = sandbox.failure(&format!("{DEEP} --memory 120M"));
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("even if values are computed again in the backward pass"), "{error}");
    assert!(error.contains("(requested memory limit)"), "{error}");
    let (code, error) = sandbox.failure(&format!("{DEEP} --memory 4X"));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("expected a size of at least 1M, such as 4G or 500M"), "{error}");
}

/// The error of a command that needs more memory than the limit, after its exit code is checked.
#[cfg(target_os = "linux")]
fn refusal(sandbox: &Sandbox, megabytes: usize, arguments: &str) -> String {
    let output = run_within(sandbox, megabytes, arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {error}");
    assert!(error.contains("memory limit of the process (ulimit)"), "{arguments}: {error}");
    error
}

#[test]
#[cfg(target_os = "linux")]
fn applying_a_model_that_does_not_fit_is_refused() {
    let sandbox = Sandbox::new();
    let settings = "--set hidden=512 --set max_epochs=1";
    sandbox.stdout(&format!("train csbm:nodes=20000 --model clenshaw-gcn {settings} --out run"));
    // Every layer of every node: 20,000 x 512 numbers of four bytes.
    for command in ["predict run", "report run --out page.html", "explain run 7"] {
        let error = refusal(&sandbox, 400, command);
        assert!(error.contains("applying clenshaw-gcn to csbm"), "{command}: {error}");
    }
    assert!(!sandbox.path("page.html").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn files_larger_than_memory_are_refused_before_they_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("table/edges.csv", "source,target\n0,1\n");
    sandbox.write("table/nodes.csv", "");
    for (file, graph) in [("table/nodes.csv", "table"), ("arrays.npz", "arrays.npz")] {
        // A sparse file, which occupies no space on the disk.
        std::fs::File::create(sandbox.path(file)).unwrap().set_len(50_000_000_000).unwrap();
        let error = refusal(&sandbox, 2000, &format!("data check {graph}"));
        assert!(error.contains(&format!("{file} needs 50.00 GB")), "{error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn generated_graphs_larger_than_memory_are_refused() {
    let sandbox = Sandbox::new();
    for graph in
        ["csbm:nodes=1000000,features=1000,degree=0.1", "grid:rows=1000,columns=1000,features=1000"]
    {
        let error = refusal(&sandbox, 2000, &format!("data check {graph}"));
        assert!(error.contains("1000 features of 1000000 nodes needs 4.00 GB"), "{error}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn models_whose_features_cannot_be_copied_are_refused() {
    let sandbox = Sandbox::new();
    // 200 MB of features need 600 MB while the model is compiled.
    let train = "train csbm:nodes=100000,features=500,degree=1 --model mlp --threads 1";
    let error = refusal(&sandbox, 700, train);
    assert!(error.contains("compiling mlp for csbm"), "{error}");
    assert!(error.contains("needs 0.60 GB"), "{error}");
}
