//! Valid, inconsistent and damaged files.

use super::*;
use crate::data::read::text::tests::{gzip, zstd};

const NODE_TEXT: &str = "node_id\tfeature\tlabel\n2\t0,1,0\t1\n0\t1,1,0\t0\n1\t0,0,0\t1\n";
const EDGE_TEXT: &str = "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n2\t1\n2\t1\n";

fn read(nodes: &str, edges: &str) -> Result<Dataset> {
    read_bytes("x", nodes.as_bytes(), edges.as_bytes())
}

/// Returns the error for a node file with these lines.
fn node_error(lines: &str) -> String {
    let error = read(&format!("node_id\tfeature\tlabel\n{lines}"), EDGE_TEXT).unwrap_err();
    error.to_string().replace("x/out1_node_feature_label.txt:", "")
}

fn edge_error(lines: &str) -> String {
    let error = read(NODE_TEXT, &format!("node_id\tnode_id\n{lines}")).unwrap_err();
    error.to_string().replace("x/out1_graph_edges.txt:", "")
}

#[test]
fn reads_nodes_in_any_order() {
    for ending in ["\n", "\r\n"] {
        let [nodes, edges] = [NODE_TEXT, EDGE_TEXT].map(|text| text.replace('\n', ending));
        let dataset = read(&nodes, &edges).unwrap().checked().unwrap();
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(dataset.y, [Some(0), Some(1), Some(1)]);
        assert_eq!(dataset.class_names, ["0", "1"]);
        let x = dataset.x.to_dense();
        assert_eq!(x.as_slice(), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }
}

#[test]
fn reads_index_lists_with_duplicates() {
    let nodes = "node_id\tfeature(feature_amount:3)\tlabel\n1\t3,0,3\t0\n0\t\t1\n";
    let edges = b"node_id\tnode_id\n0\t1\n";
    let x = read_bytes("x", nodes.as_bytes(), edges).unwrap().x.to_dense();
    assert_eq!(x.as_slice(), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let error = read_bytes("x", nodes.replace("3,0", "16777216,0").as_bytes(), edges).unwrap_err();
    assert_eq!(
        error.to_string(),
        "x/out1_node_feature_label.txt:2: feature index 16777216; expected less than 16777216"
    );
}

#[test]
fn reads_compressed_files() {
    let plain = read(NODE_TEXT, EDGE_TEXT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, bytes| std::fs::write(folder.path().join(name), bytes).unwrap();
    write(format!("{NODES}.zst"), zstd(NODE_TEXT.as_bytes()));
    write(format!("{EDGES}.gz"), gzip(EDGE_TEXT.as_bytes()));
    let packed = super::read(folder.path(), "x").unwrap();
    assert_eq!((packed.sha256(), packed.splits.len()), (plain.sha256(), 0));
    write(format!("{EDGES}.gz"), gzip(b"node_id\tnode_id\n0\t3\n"));
    let error = super::read(folder.path(), "x").unwrap_err().to_string();
    let problem = "out1_graph_edges.txt.gz:2: edge with node 3; expected node ids below 3";
    assert!(error.ends_with(problem), "{error}");
    let bomb = gzip(&b"0\t1\n".repeat(8 << 20));
    let error = read_bytes("x", NODE_TEXT.as_bytes(), &bomb).unwrap_err().to_string();
    assert!(error.contains("decompresses to more than 200 times its size"), "{error}");
}

#[test]
fn node_errors_include_the_line() {
    let cases = [
        ("0\t1,0\t0\n1\t1\t1\n", "3: 1 feature; expected 2, as on line 2"),
        ("0\t1,0\t0\n1\t1,0,\t1\n", "3: 3 features; expected 2, as on line 2"),
        ("0\t1,0\t0\n1\t1,0\n", "3: 2 fields; expected 3, separated by tabs"),
        ("0\t1,2\t0\n", "2: feature 1 is `2`; expected 0 or 1"),
        ("0\t1,0.5\t0\n", "2: feature 1 is `0.`; expected 0 or 1"),
        ("0\t1\t0\n2\t1\t1\n", "3: node 2; expected node ids below 2"),
        ("0\t1\t0\n0\t1\t1\n", "3: duplicate node 0; it is also on line 2"),
        ("-1\t1\t0\n", "2: node id is `-1`; expected a non-negative integer"),
        ("1099511627776\t1\t0\n", "2: node 1099511627776; expected node ids below 1"),
        ("0\t1\tred\n", "2: label is `red`; expected a non-negative integer"),
        (
            "0\t1\t1099511627776\n",
            "2: label 1099511627776; expected less than 1, the number of nodes",
        ),
        ("", "1: the table has no rows; expected one row per node"),
    ];
    for (lines, problem) in cases {
        assert_eq!(node_error(lines), problem);
    }
}

#[test]
fn rejects_too_many_features() {
    let features = "0,".repeat(MAX_COLUMNS) + "1";
    assert_eq!(
        node_error(&format!("0\t{features}\t0\n")),
        "2: 16777217 features; expected at most 16777216"
    );
}

#[test]
fn edge_errors_include_the_line() {
    let cases = [
        ("0\t1\n0\t-1\n", "3: node id is `-1`; expected a non-negative integer"),
        ("0\t1099511627776\n", "2: edge with node 1099511627776; expected node ids below 3"),
        ("0\n", "2: 1 field; expected 2, separated by tabs"),
        ("0\t\n", "2: node id is ``; expected a non-negative integer"),
        ("0\t1\t2\n", "2: 3 fields; expected 2, separated by tabs"),
    ];
    for (lines, problem) in cases {
        assert_eq!(edge_error(lines), problem);
    }
}

#[test]
fn rejects_invalid_utf8_and_missing_header() {
    let error = read_bytes("x", b"node_id\n\n0\t\xff", b"").unwrap_err();
    assert_eq!(error.to_string(), "x/out1_node_feature_label.txt:3: not valid UTF-8");
    let error = read(NODE_TEXT, "0\t1\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x/out1_graph_edges.txt:1: expected a header that starts with `node_id`"
    );
}
