//! Files written by NetworkX and igraph, and files that are truncated, damaged or inconsistent.

use super::*;
use crate::data::TableOptions;
use crate::data::read::text::tests::{gzip, zstd};
use proptest::prelude::*;

/// `nx.write_gml` of NetworkX 3.6 for a `DiGraph`; `x` is a list.
const NETWORKX_FILE: &str = r#"graph [
  directed 1
  node [
    id 0
    label "ann"
    age 31
    town "Y&#34;&#38;&#233;"
    kind "tea"
    vip 1
    x 1.5
    x 2.0
  ]
  node [
    id 1
    label "bob"
    age 27.5
    kind "coffee"
    vip 0
    x "_networkx_list_start"
    x 0.5
  ]
  node [
    id 2
    label "cid"
    age 45
    town "Bath"
    x "[]"
  ]
  edge [
    source 0
    target 1
    weight 2.0
  ]
  edge [
    source 1
    target 2
  ]
  edge [
    source 2
    target 2
    weight 3
  ]
]
"#;

/// `write_gml` of igraph 1.0 for a graph whose vertices have a `label`.
const IGRAPH_FILE: &str = r#"Creator "igraph version 1.0.0 Tue Nov 17 21:35:58 2026"
Version 1
graph
[
  directed 1
  node
  [
    id 0
    name "ann"
    label "tea"
    age 31
  ]
  node
  [
    id 1
    name "bob"
    label "coffee"
    age 27.5
  ]
  node
  [
    id 2
    name "cid"
    label "tea"
  ]
  edge
  [
    source 0
    target 1
    weight 2
  ]
  edge
  [
    source 1
    target 2
    weight 1
  ]
]
"#;

fn read(text: &str, label: Option<&str>) -> Result<Dataset> {
    let options = TableOptions { label: label.map(str::to_owned), ..TableOptions::default() };
    read_bytes("x.gml", text.as_bytes(), Interpretation::Inferred(&options))
}

fn read_error(text: &str) -> String {
    read(text, None).unwrap_err().to_string().replace("x.gml:", "")
}

#[test]
fn reads_networkx_file() {
    let dataset = read(NETWORKX_FILE, Some("kind")).unwrap().checked().unwrap();
    assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
    assert_eq!(dataset.class_names, ["coffee", "tea"]);
    assert_eq!(dataset.y, [Some(1), Some(0), None]);
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(dataset.graph.weights(), Some(&[2.0, 2.0, 1.0, 1.0][..]));
    let names = dataset.schema.as_ref().unwrap().feature_names();
    let expected = [
        "age",
        "town=Bath",
        "town=Y\"&é",
        "vip",
        "vip missing",
        "x",
        "x missing",
        "x[1]",
        "x[1] missing",
    ];
    assert_eq!(names, expected);
    let x = dataset.x.to_dense();
    assert_eq!(x.row(0)[..4], [31.0, 0.0, 1.0, 1.0]);
    assert_eq!(x.row(1)[..4], [27.5, 0.0, 0.0, 0.0]);
    assert_eq!((x.row(0)[5], x.row(1)[5], x.row(0)[7]), (1.5, 0.5, 2.0));
    let expected = [
        "nodes are named by `label`, so it is not used as the class",
        "self-loops removed: 1",
        "the edges have weights (attribute `weight`); most models use them",
        "the edges in the file are directed; the directions are not used",
    ];
    assert_eq!(dataset.notes, expected);
}

#[test]
fn repeated_labels_are_the_class() {
    let dataset = read(IGRAPH_FILE, None).unwrap();
    assert_eq!(dataset.node_names, ["0", "1", "2"]);
    assert_eq!(dataset.class_names, ["coffee", "tea"]);
    assert_eq!(dataset.y, [Some(1), Some(0), Some(1)]);
    assert_eq!(dataset.notes[0], "nodes are named by `id`, because `label` does not identify them");
    let options = TableOptions { id: Some("name".into()), ..TableOptions::default() };
    let chosen = Interpretation::Inferred(&options);
    let named = read_bytes("x.gml", IGRAPH_FILE.as_bytes(), chosen).unwrap();
    assert_eq!(named.node_names, ["ann", "bob", "cid"]);
}

#[test]
fn distinct_labels_can_be_chosen_as_the_class() {
    let dataset = read(NETWORKX_FILE, Some("label")).unwrap();
    assert_eq!(dataset.node_names, ["0", "1", "2"]);
    assert_eq!(dataset.class_names, ["ann", "bob", "cid"]);
    assert_eq!(dataset.notes[0], "nodes are named by `id`, because `label` was chosen as a column");
}

#[test]
fn accepts_comments_nested_lists_and_edges_before_nodes() {
    let text = "# a comment\nVersion 1 extra [ a [ b 1 ] ]\ngraph [ edge [ source 7 target \"b\" ]\n\
        node [ graphics [ x 1.5 fill \"#ff0000\" ] id 7 size 1 class 0 ] # more\n\
        node [ class 1 size NAN id \"b\" ] ]";
    let dataset = read(text, None).unwrap();
    assert_eq!(dataset.node_names, ["7", "b"]);
    assert_eq!(dataset.graph.n_edges(), 1);
    assert_eq!(dataset.notes[0], "nodes are named by `id`");
    assert_eq!(dataset.schema.unwrap().feature_names(), ["size", "size missing"]);
}

#[test]
fn errors_include_the_line() {
    let node = "node [ id 0 class 1 ]";
    let cases = [
        (format!("graph [\n{node}\n{node} ]"), "3: duplicate node `0`"),
        ("graph [\nnode [ class 1 ] ]".into(), "2: the node has no `id`"),
        (format!("graph [ {node}\nedge [ source 0\ntarget 5 ]\n]"), "3: edge to unknown node `5`"),
        (format!("graph [ {node}\nedge [ source 0 ] ]"), "2: the edge has no `target`"),
        (
            format!("graph [ {node}\nedge [ source 0 target 0 weight -1 ] ]"),
            "2: the weight is `-1`; expected a finite, non-negative number",
        ),
        ("graph [\nnode 5 ]".into(), "2: `node 5`; expected `node [`"),
        ("graph [\n5 5 ]".into(), "2: `5`; expected a key"),
        (
            "graph [\nnode [ id abc ] ]".into(),
            "2: `abc` after `id`; expected a number, a quoted string or `[`",
        ),
        ("graph [\nname \"x\n".into(), "2: the quoted string is not closed"),
        ("graph [ ] graph [ ]".into(), "1: found a second graph; expected one"),
        ("Creator \"x\"\n".into(), "2: unexpected end of file; expected `graph [`"),
        (format!("x {}", "[ x ".repeat(65)), "1: more than 64 open brackets"),
    ];
    for (text, problem) in cases {
        assert_eq!(read_error(&text), problem);
    }
    assert_eq!(read_error("graph [ ]"), " the graph has no nodes; expected at least one");
    let end = NETWORKX_FILE.trim_end().len();
    for end in 0..end {
        assert!(read(&NETWORKX_FILE[..end], Some("kind")).is_err(), "truncated at byte {end}");
    }
}

#[test]
fn reads_compressed_files() {
    let plain = read(IGRAPH_FILE, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bytes = IGRAPH_FILE.as_bytes();
    for (name, bytes) in
        [("g.gml", bytes.to_vec()), ("g.gml.zst", zstd(bytes)), ("g.gml.gz", gzip(bytes))]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let found = super::super::read_path(&path, Interpretation::default()).unwrap();
        assert_eq!(found.sha256(), plain.sha256(), "{name}");
        assert_eq!(super::super::format(&path), "gml");
    }
}

proptest! {
    #[test]
    fn random_text_does_not_panic(text in "(graph|node|edge|id|\\[|\\]|\"|#|&|;|1| |\n){0,40}") {
        let _ = read(&text, None);
    }
}
