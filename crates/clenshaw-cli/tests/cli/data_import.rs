//! `clenshaw data import` and `check`: a graph of one's own, as one file and under scrutiny.

use crate::common::{Sandbox, text};
use clenshaw::data::graph_file;
use serde_json::json;

const EDGES: &str = "ann,bob\nbob,cid\ncid,ann\ncid,dan\ndan,eve\neve,fay\n";
const NODES: &str = "id,age,height,label,split\n\
                     ann,31,1,tea,train\nbob,27,1,coffee,train\ncid,45,1,tea,val\n\
                     dan,0,1,coffee,val\neve,28,1,tea,test\nfay,52,1,coffee,test\ngus,20,1,,\n";

/// A sandbox with a graph of seven nodes in `friends`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("friends")).unwrap();
    sandbox.write("friends/edges.csv", EDGES);
    sandbox.write("friends/nodes.csv", NODES);
    sandbox
}

#[test]
fn an_imported_graph_is_found_by_name() {
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
        "features": 2,
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
    let last = json!({"name": "mine", "kind": "imported", "here": true, "path": "here/mine.graph"});
    assert_eq!(listed.as_array().unwrap().last(), Some(&last));
}

#[test]
fn a_file_is_written_where_it_is_wanted() {
    let sandbox = sandbox();
    let page = sandbox.stdout("data import friends/edges.csv --out some/where/it.graph");
    let first = "file      some/where/it.graph\nbytes     ";
    assert!(page.starts_with(first), "{page}");
    assert!(page.ends_with("\ntrain on it with `clenshaw train some/where/it.graph`\n"), "{page}");
    let shown = sandbox.json("data show some/where/it.graph --json");
    assert_eq!((&shown["nodes"], &shown["splits"]), (&json!(7), &json!(["own"])));
}

#[test]
fn what_is_there_is_replaced_only_by_force() {
    let sandbox = sandbox();
    sandbox.stdout("data import friends --out mine --data here");
    let told = sandbox.refused("data import csbm:nodes=60 --out mine --data here");
    let message =
        "here/mine.graph: is there already; choose another name, or replace it with --force";
    assert_eq!(told, (2, format!("error: {message}\n")));
    sandbox.stdout("data import csbm:nodes=60 --out mine --data here --force");
    assert_eq!(sandbox.json("data show mine --json --data here")["nodes"], json!(60));
}

#[test]
fn names_that_would_confuse_are_refused() {
    let sandbox = sandbox();
    let cases = [
        ("cora", "a name of its own; `cora` is a known graph"),
        ("some/where", "a plain word, or a file that ends in `.graph`"),
        ("a:b", "a word of letters, digits and `-_.`, or a file"),
    ];
    for (out, expected) in cases {
        let told = sandbox.refused(&format!("data import friends --out {out} --data here"));
        assert_eq!(told, (2, format!("error: `out` is `{out}`; expected {expected}\n")));
    }
    let (code, _) = sandbox.refused("data import nobody/here --out mine --data here");
    assert_eq!(code, 2);
    assert!(!sandbox.path("here").exists());
}

#[test]
fn a_damaged_import_is_noticed() {
    let sandbox = sandbox();
    sandbox.stdout("data import friends --out it.graph");
    let mut bytes = sandbox.read("it.graph");
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(sandbox.path("it.graph"), bytes).unwrap();
    let message = "it.graph: the checksum does not fit; the file is damaged or cut off";
    assert_eq!(sandbox.refused("data check it.graph"), (2, format!("error: {message}\n")));
}

#[test]
fn a_check_tells_what_is_odd() {
    let sandbox = sandbox();
    let checkup = sandbox.json("data check friends --json");
    assert_eq!((&checkup["format"], &checkup["files"]), (&json!("tables"), &json!(null)));
    assert_eq!(checkup["description"], sandbox.json("data show friends --json"));
    let findings = checkup["findings"].as_array().unwrap();
    let told: Vec<String> = findings
        .iter()
        .map(|finding| format!("{}: {}", finding["severity"].as_str().unwrap(), finding["text"]))
        .collect();
    let expected = [
        "note: \"1 node has no label\"",
        "note: \"1 node has no neighbour\"",
        "note: \"the graph falls into 2 parts; the largest has 6 nodes\"",
        "note: \"1 feature is the same for every node\"",
    ];
    assert_eq!(told, expected);
    let page = sandbox.stdout("data check friends");
    assert!(page.contains("\nformat    tables\nnodes     7\nedges     6\n"), "{page}");
    assert!(page.ends_with("\nnote: 1 feature is the same for every node\nit can be trained on\n"));
}

#[test]
fn a_check_of_bad_files_says_where() {
    let sandbox = sandbox();
    sandbox.write("friends/edges.csv", "ann,bob\nbob,zoe\n");
    let (code, told) = sandbox.refused("data check friends");
    assert_eq!(code, 2);
    assert!(told.starts_with("error: friends/edges.csv:2: node `zoe`"), "{told}");
}

#[test]
fn a_check_of_public_files_compares_checksums() {
    let Some(data) = std::env::var_os("CLENSHAW_DATA") else { return };
    let sandbox = Sandbox::new();
    let data = std::path::Path::new(&data);
    let checkup = sandbox.json(&format!("data check texas --json --data {}", data.display()));
    assert_eq!(checkup["files"], json!({"listed": 12, "good": 12, "unknown": 0}));
    // One more blank is good for the reader, but not what was published.
    std::fs::create_dir_all(sandbox.path("texas/splits")).unwrap();
    for file in &clenshaw::data::fetch::find("texas").unwrap().files {
        std::fs::copy(data.join(&file.path), sandbox.path(&file.path)).unwrap();
    }
    let mut edges = text(&sandbox.read("texas/out1_graph_edges.txt"));
    edges.push('\n');
    sandbox.write("texas/out1_graph_edges.txt", &edges);
    let checkup = sandbox.json("data check texas --json --data .");
    assert_eq!(checkup["files"]["good"], json!(11));
    let first = &checkup["findings"].as_array().unwrap().iter();
    let files = first.clone().find(|finding| finding["kind"] == "files").unwrap();
    assert!(files["text"].as_str().unwrap().contains("out1_graph_edges.txt: sha256 is"), "{files}");
}
