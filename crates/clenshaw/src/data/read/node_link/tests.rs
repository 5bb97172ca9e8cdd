//! Files written by NetworkX, truncated, damaged or inconsistent.

use super::*;
use crate::data::TableOptions;
use crate::data::read::text::tests::zstd;

/// `json.dump(nx.node_link_data(g))` with NetworkX 3.6; NetworkX 2 writes `links` for `edges`.
const NETWORKX_FILE: &str = r#"{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"age": 31, "town": "Y\"&\u00e9", "kind": "tea", "vip": true, "x": [1.5, 2.0], "id": "ann"}, {"age": 27.5, "kind": "coffee", "vip": false, "x": [0.5], "id": "bob"}, {"age": 45, "town": "Bath", "x": [], "id": "cid"}], "edges": [{"weight": 2.0, "source": "ann", "target": "bob"}, {"source": "bob", "target": "cid"}, {"weight": 3, "source": "cid", "target": "cid"}]}"#;

fn read(text: &str, label: Option<&str>) -> Result<Dataset> {
    let options = TableOptions { label: label.map(str::to_owned), ..TableOptions::default() };
    read_bytes("x.json", text.as_bytes(), Interpretation::Inferred(&options))
}

fn read_error(text: &str) -> String {
    read(text, None).unwrap_err().to_string().replace("x.json:", "")
}

#[test]
fn reads_networkx_files() {
    for text in [NETWORKX_FILE.to_owned(), NETWORKX_FILE.replace("\"edges\"", "\"links\"")] {
        let dataset = read(&text, Some("kind")).unwrap().checked().unwrap();
        assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
        assert_eq!(dataset.y, [Some(1), Some(0), None]);
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(dataset.graph.weights(), Some(&[2.0, 2.0, 1.0, 1.0][..]));
        let names = dataset.schema.as_ref().unwrap().feature_names();
        assert_eq!(names[..5], ["age", "town=Bath", "town=Y\"&é", "vip", "vip missing"]);
        assert_eq!(names[5..], ["x", "x missing", "x[1]", "x[1] missing"]);
        let x = dataset.x.to_dense();
        assert_eq!(x.row(0)[..4], [31.0, 0.0, 1.0, 1.0]);
        assert_eq!(
            dataset.notes,
            [
                "self-loops removed: 1",
                "the edges have weights (attribute `weight`); most models use them",
                "the edges in the file are directed; the directions are not used"
            ]
        );
        assert_eq!(
            dataset.warnings,
            ["x.json: 1 edge without the attribute `weight`; the weight is set to 1"]
        );
    }
}

#[test]
fn reads_numbers_tuples_nan_and_nested_values() {
    let text = r#"{"edges": [{"source": [0, 1], "target": 7}],
        "nodes": [{"id": [0, 1], "size": NaN, "label": "NaN \"-Infinity", "pos": {"x": 1}},
                  {"id": 7, "size": -2, "label": null, "pos": [[1]]},
                  {"id": 8, "size": -Infinity, "label": "b"}]}"#;
    let dataset = read(text, None).unwrap();
    assert_eq!(dataset.node_names, ["[0,1]", "7", "8"]);
    assert_eq!(dataset.graph.n_edges(), 1);
    assert_eq!(dataset.class_names, ["NaN \"-Infinity", "b"]);
    assert_eq!(dataset.schema.unwrap().feature_names(), ["size", "size missing"]);
    assert_eq!(
        dataset.warnings,
        ["x.json: ignored attributes that are objects or lists of lists: pos"]
    );
}

#[test]
fn errors_include_the_line() {
    let nodes = "{\"nodes\": [{\"id\": 0, \"label\": 1}],\n";
    let cases = [
        (
            format!("{nodes}\"links\": [\n{{\"source\": 0, \"target\": 5}}]}}"),
            "3: edge to unknown node `5`",
        ),
        (format!("{nodes}\"links\": [{{\"source\": 0}}]}}"), "2: the edge has no `target`"),
        (
            format!("{nodes}\"links\": [{{\"source\": 0, \"target\": 0, \"weight\": null}}]}}"),
            "2: the weight is `null`; expected a finite, non-negative number",
        ),
        ("{\"nodes\": [{\"id\": 0},\n{\"id\": 0}]}".into(), "2: duplicate node `0`"),
        ("{\"nodes\": [{}]}".into(), "1: the node has no `id`"),
        (
            "{\"nodes\": [{\"id\": null}]}".into(),
            "1: `id` of the node is `null`; expected a string or number",
        ),
        (
            format!("{nodes}\n\"links\": 5}}"),
            "3: invalid type: integer `5`, expected a list of edges",
        ),
        ("{\"nodes\": [5]}".into(), "1: invalid type: integer `5`, expected a map"),
        (format!("{nodes}\"nodes\": []}}"), "2: found `nodes` twice; expected it once"),
        (
            "[]".into(),
            "1: invalid type: sequence, expected an object with `nodes` and `links` (or `edges`)",
        ),
        (
            "{\"links\": []}".into(),
            " the object has no `nodes`; expected an object with `nodes` and `links` (or `edges`)",
        ),
        (
            format!("{nodes}\"elements\": {{}}}}"),
            " the object has no `links` and no `edges`; expected an object with `nodes` and \
             `links` (or `edges`)",
        ),
        (
            "{\"edges\": [{\"source\": 1, \"target\": 2}], \"nodes\": []}".into(),
            " edge 1: edge to unknown node `1`",
        ),
    ];
    for (text, problem) in cases {
        assert_eq!(read_error(&text), problem);
    }
    for end in 0..NETWORKX_FILE.len() {
        if NETWORKX_FILE.is_char_boundary(end) {
            assert!(read(&NETWORKX_FILE[..end], Some("kind")).is_err(), "truncated at byte {end}");
        }
    }
}

#[test]
fn nesting_is_limited() {
    let brackets = "[".repeat(100_000);
    let error = read_error(&format!("{{\"nodes\": [{{\"id\": {brackets}"));
    assert_eq!(error, "1: recursion limit exceeded");
    // Skipped without recursion.
    let error = read_error(&format!("{{\"graph\": {brackets}"));
    assert_eq!(error, "1: EOF while parsing a list");
}

#[test]
fn reads_compressed_files() {
    let text = NETWORKX_FILE.replace("kind", "class");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.json.zst");
    std::fs::write(&path, zstd(text.as_bytes())).unwrap();
    let found = super::super::read_path(&path, Interpretation::default()).unwrap();
    assert_eq!(found.sha256(), read(&text, None).unwrap().sha256());
    assert_eq!(super::super::format(&path), "node-link json");
}
