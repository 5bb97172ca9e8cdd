//! `clenshaw data import` and `clenshaw data check` on user tables.

use crate::common::{Sandbox, has_data, text};
use clenshaw::data::graph_file;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;

const EDGES: &str = "ann,bob\nbob,cid\ncid,ann\ncid,dan\ndan,eve\neve,fay\n";
const NODES: &str = "id,age,height,label,split\n\
                     ann,31,1,tea,train\nbob,27,1,coffee,train\ncid,45,1,tea,val\n\
                     dan,0,1,coffee,val\neve,28,1,tea,test\nfay,52,1,coffee,test\ngus,20,1,,\n";

/// A sandbox with a graph of seven nodes in `friends`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("friends/edges.csv", EDGES);
    sandbox.write("friends/nodes.csv", NODES);
    sandbox
}

#[test]
fn imported_graph_is_found_by_name() {
    let sandbox = sandbox();
    let import = sandbox.json("data import friends --out mine --data here --json");
    let shown = sandbox.json("data show friends --json");
    let bytes = sandbox.read("here/mine.graph");
    let expected = json!({
        "graph": "mine",
        "file": "here/mine.graph",
        "bytes": bytes.len(),
        "nodes": 7,
        "edges": 6,
        "features": 1,
        "classes": 2,
        "splits": ["own"],
        "sha256": shown["sha256"],
        "warnings": shown["warnings"],
    });
    assert_eq!(import, expected);
    let mine = sandbox.json("data show mine --json --data here");
    assert_eq!((&mine["name"], &mine["sha256"]), (&json!("mine"), &shown["sha256"]));
    assert_eq!(graph_file::read_bytes("it", bytes).unwrap().node_names[6], "gus");
    let trained = sandbox.json(
        "train mine --model gcn --set max_epochs=2 --split own --data here --json --quiet --out run",
    );
    assert_eq!(trained["runs"].as_array().unwrap().len(), 1);
    let list = sandbox.stdout("data list --data here");
    let line = list.lines().find(|line| line.starts_with("mine ")).unwrap();
    assert!(line.contains("imported") && line.ends_with("here/mine.graph"), "{line}");
    let listed = sandbox.json("data list --data here --json");
    let last =
        json!({"name": "mine", "kind": "imported", "available": true, "path": "here/mine.graph"});
    assert_eq!(listed.as_array().unwrap().last(), Some(&last));
}

/// Without `--force`, one of two processes that import at the same time gets an error, and the file is that
/// of the other one.
#[test]
fn concurrent_imports_do_not_overwrite_each_other() {
    let sandbox = sandbox();
    sandbox.write("foes/edges.csv", &EDGES.replace("ann,bob", "ann,gus"));
    sandbox.write("foes/nodes.csv", NODES);
    for round in 0..10 {
        let out = format!("round{round}.graph");
        let processes = ["friends", "foes"].map(|graph| {
            let mut command = sandbox.command(&format!("data import {graph} --out {out}"));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let outputs = processes.map(|process| process.wait_with_output().unwrap());
        let winners: Vec<_> = outputs.iter().filter(|output| output.status.success()).collect();
        assert_eq!(winners.len(), 1, "round {round}");
        let loser = outputs.iter().find(|output| !output.status.success()).unwrap();
        let expected = format!(
            "error: {out}: already exists; choose another name, or replace it with --force\n"
        );
        assert_eq!((loser.status.code(), text(&loser.stderr)), (Some(2), expected));
        let dataset = graph_file::open(&sandbox.path(&out)).unwrap();
        assert!(text(&winners[0].stdout).contains(&dataset.sha256()));
    }
}

#[test]
fn import_writes_to_a_given_path() {
    let sandbox = sandbox();
    let page = sandbox.stdout("data import friends/edges.csv --out some/where/it.graph");
    let first = "file      some/where/it.graph\nbytes     ";
    assert!(page.starts_with(first), "{page}");
    assert!(page.ends_with("\nnext: clenshaw train some/where/it.graph\n"), "{page}");
    let shown = sandbox.json("data show some/where/it.graph --json");
    assert_eq!((&shown["nodes"], &shown["splits"]), (&json!(7), &json!(["own"])));
}

#[test]
fn existing_import_is_replaced_only_with_force() {
    let sandbox = sandbox();
    sandbox.stdout("data import friends --out mine --data here");
    let failure = sandbox.failure("data import csbm:nodes=60 --out mine --data here");
    let message =
        "here/mine.graph: already exists; choose another name, or replace it with --force";
    assert_eq!(failure, (2, format!("error: {message}\n")));
    sandbox.stdout("data import csbm:nodes=60 --out mine --data here --force");
    assert_eq!(sandbox.json("data show mine --json --data here")["nodes"], json!(60));
}

#[test]
fn invalid_names_and_missing_sources_are_rejected() {
    let sandbox = sandbox();
    let cases = [
        ("cora", "a name other than `cora`, which is a known graph"),
        ("some/where", "a name, or a path that ends in `.graph`"),
        ("a:b", "a name of letters, digits, `-`, `_` and `.`, or a path"),
    ];
    for (out, expected) in cases {
        let failure = sandbox.failure(&format!("data import friends --out {out} --data here"));
        assert_eq!(failure, (2, format!("error: `out` is `{out}`; expected {expected}\n")));
    }
    let (code, _) = sandbox.failure("data import missing/folder --out mine --data here");
    assert_eq!(code, 2);
    assert!(!sandbox.path("here").exists());
}

#[test]
fn damaged_import_is_detected() {
    let sandbox = sandbox();
    sandbox.stdout("data import friends --out it.graph");
    let mut bytes = sandbox.read("it.graph");
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(sandbox.path("it.graph"), bytes).unwrap();
    let message = "it.graph: the checksum is wrong; the file is damaged or truncated";
    assert_eq!(sandbox.failure("data check it.graph"), (2, format!("error: {message}\n")));
}

#[test]
fn check_reports_anomalies() {
    let sandbox = sandbox();
    let report = sandbox.json("data check friends --json");
    assert_eq!((&report["format"], &report["files"]), (&json!("tables"), &json!(null)));
    assert_eq!(report["description"], sandbox.json("data show friends --json"));
    let findings = report["findings"].as_array().unwrap();
    let reported: Vec<String> = findings
        .iter()
        .map(|finding| format!("{}: {}", finding["severity"].as_str().unwrap(), finding["text"]))
        .collect();
    let expected = [
        "note: \"friends/edges.csv: no header\"",
        "note: \"1 node has no label\"",
        "note: \"1 node has no neighbours\"",
        "note: \"the graph has 2 components; the largest has 6 nodes\"",
        "note: \"1 node has only zero features\"",
    ];
    assert_eq!(reported, expected);
    let page = sandbox.stdout("data check friends");
    assert!(page.contains("\nformat    tables\nnodes     7\nedges     6\n"), "{page}");
    assert!(page.ends_with(
        "\nnote: 1 node has only zero features\nok: the graph can be used for training\n"
    ));
}

#[test]
fn check_reports_file_and_line_of_an_error() {
    let sandbox = sandbox();
    sandbox.write("friends/edges.csv", "ann,bob\nbob,zoe\n");
    let (code, message) = sandbox.failure("data check friends");
    assert_eq!(code, 2);
    assert!(message.starts_with("error: friends/edges.csv:2: node `zoe`"), "{message}");
}

#[test]
fn check_compares_checksums_of_public_files() {
    if !has_data() {
        return;
    }
    let sandbox = Sandbox::new();
    let data = PathBuf::from(std::env::var_os("CLENSHAW_DATA").unwrap());
    let report = sandbox.json(&format!("data check texas --json --data {}", data.display()));
    assert_eq!(report["files"], json!({"listed": 12, "good": 12, "unknown": 0}));
    // A final empty line is valid input, but changes the checksum.
    std::fs::create_dir_all(sandbox.path("texas/splits")).unwrap();
    for file in &clenshaw::data::fetch::manifest("texas").unwrap().files {
        std::fs::copy(data.join(&file.path), sandbox.path(&file.path)).unwrap();
    }
    let mut edges = text(&sandbox.read("texas/out1_graph_edges.txt"));
    edges.push('\n');
    sandbox.write("texas/out1_graph_edges.txt", &edges);
    let report = sandbox.json("data check texas --json --data .");
    assert_eq!(report["files"]["good"], json!(11));
    let mut findings = report["findings"].as_array().unwrap().iter();
    let files = findings.find(|finding| finding["kind"] == "files").unwrap();
    assert!(files["text"].as_str().unwrap().contains("out1_graph_edges.txt: sha256 is"), "{files}");
    // `train` also warns about the changed file.
    let page = sandbox.stdout("train texas --model mlp --set max_epochs=2 --quiet --data .");
    let warning = "warning: texas/out1_graph_edges.txt differs from the published file";
    assert!(page.contains(warning), "{page}");
    let is_available = || {
        let mut command = sandbox.command("data list --json --data .");
        let list = command.env_remove("CLENSHAW_DATA").output().unwrap().stdout;
        let list: Value = serde_json::from_slice(&list).unwrap();
        let texas = list.as_array().unwrap().iter().find(|entry| entry["name"] == "texas");
        texas.unwrap()["available"].as_bool().unwrap()
    };
    assert!(is_available());
    std::fs::remove_file(sandbox.path("texas/out1_graph_edges.txt")).unwrap();
    assert!(!is_available());
}
