//! Files written by NetworkX and by hand, truncated, damaged or inconsistent.

use super::*;
use crate::data::TableOptions;
use crate::data::read::text::tests::{gzip, zstd};
use proptest::prelude::*;

/// `nx.generate_graphml` of NetworkX 3, for a `MultiDiGraph` with two types of `age`.
pub(crate) const NETWORKX_FILE: &str = r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d5" for="edge" attr.name="weight" attr.type="long" />
  <key id="d4" for="node" attr.name="age" attr.type="long" />
  <key id="d3" for="node" attr.name="city" attr.type="string" />
  <key id="d2" for="node" attr.name="male" attr.type="boolean" />
  <key id="d1" for="node" attr.name="label" attr.type="string" />
  <key id="d0" for="node" attr.name="age" attr.type="double" />
  <graph edgedefault="directed">
    <node id="ann">
      <data key="d0">31.5</data>
      <data key="d1">doctor</data>
      <data key="d2">False</data>
      <data key="d3">Rome</data>
    </node>
    <node id="b&amp;b">
      <data key="d4">7</data>
      <data key="d1">child</data>
      <data key="d2">True</data>
      <data key="d3">&lt;Oslo&gt;</data>
    </node>
    <node id="zo&#233;">
      <data key="d0">-2.0</data>
      <data key="d2">True</data>
      <data key="d3">x</data>
    </node>
    <edge source="ann" target="b&amp;b" id="0">
      <data key="d5">2</data>
    </edge>
    <edge source="b&amp;b" target="ann" id="0">
      <data key="d5">1</data>
    </edge>
    <edge source="b&amp;b" target="zo&#233;" id="0">
      <data key="d5">1</data>
    </edge>
    <edge source="zo&#233;" target="zo&#233;" id="0">
      <data key="d5">1</data>
    </edge>
  </graph>
</graphml>"#;

fn read(text: &str, label: Option<&str>) -> Result<Dataset> {
    let options = TableOptions { label: label.map(str::to_owned), ..TableOptions::default() };
    read_bytes("x.graphml", text.as_bytes(), Interpretation::Inferred(&options))
}

/// A graph with these elements on line 4, a feature `size` and a label `y`.
fn small(elements: &str) -> String {
    format!(
        "<graphml>\n<key id='f' for='node' attr.name='size' attr.type='float'/>\n\
         <key id='y' for='node' attr.type='int'/>\n<graph>{elements}</graph></graphml>"
    )
}

fn node(id: &str, f: &str, y: &str) -> String {
    format!("<node id='{id}'><data key='f'>{f}</data><data key='y'>{y}</data></node>")
}

fn read_error(elements: &str) -> String {
    let error = read(&small(elements), None).unwrap_err().to_string();
    error.replace("x.graphml:", "")
}

#[test]
fn reads_networkx_file() {
    let dataset = read(NETWORKX_FILE, None).unwrap().checked().unwrap();
    assert_eq!(dataset.node_names, ["ann", "b&b", "zoé"]);
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    // One column for both types of age.
    let names = dataset.schema.as_ref().unwrap().feature_names();
    assert_eq!(names, ["age", "city=<Oslo>", "city=Rome", "city=x", "male"]);
    let x = dataset.x.to_dense();
    assert_eq!(x.row(0), [31.5, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(x.row(1), [7.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(x.row(2), [-2.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(dataset.class_names, ["child", "doctor"]);
    assert_eq!(dataset.y, [Some(1), Some(0), None]);
    assert!(dataset.warnings.is_empty());
    assert_eq!(
        dataset.notes,
        [
            "self-loops removed: 1",
            "repeated edges, in either direction, merged: 1",
            "the edges have weights (attribute `weight`); most models use them",
            "the edges in the file are directed; the directions are not used"
        ]
    );
}

#[test]
fn label_key_can_be_chosen() {
    let dataset = read(NETWORKX_FILE, Some("age")).unwrap();
    // Sorted by value, not alphabetically.
    assert_eq!(dataset.class_names, ["-2.0", "7", "31.5"]);
    let error = read(NETWORKX_FILE, Some("ages")).unwrap_err().to_string();
    let expected = "unknown column `ages`; did you mean `age`? known: age, city, male, label";
    assert_eq!(error, format!("x.graphml: {expected}"));
}

#[test]
fn uses_defaults_and_accepts_edges_before_nodes() {
    let text = "<graphml><key id='f' attr.name='f' attr.type='int'><default>5</default></key>\
        <key id='c' attr.name='class'/><graph><edge source='1' target='0'/>\
        <node id='0'><data key='f'>1</data></node><node id='1'/>\
        <node id='2'><data key='c'><![CDATA[ a<b ]]></data></node></graph></graphml>";
    let dataset = read(text, None).unwrap();
    assert_eq!(dataset.x.values(), [1.0, 5.0, 5.0]);
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1)]);
    assert_eq!((&dataset.class_names[..], dataset.y[2]), (&["a<b".to_owned()][..], Some(0)));
}

/// The default weight of the graph itself or of nodes does not apply to edges.
#[test]
fn only_keys_of_edges_set_the_default_weight() {
    let edge = "<edge source='a' target='b'/>";
    let elements = [node("a", "1", "0"), node("b", "2", "1"), edge.into()].concat();
    let twice = Some(&[2.0f32, 2.0][..]);
    for (element, weights) in [("edge", twice), ("all", twice), ("graph", None), ("node", None)] {
        let key =
            format!("<key id='w' for='{element}' attr.name='weight'><default>2</default></key>");
        let text = small(&elements).replace("<graphml>", &format!("<graphml>{key}"));
        assert_eq!(read(&text, None).unwrap().graph.weights(), weights);
    }
}

#[test]
fn errors_include_the_line() {
    let a = node("a", "1", "0");
    let cases = [
        (format!("{a}{a}"), "4: duplicate node `a`"),
        (format!("{a}\n<edge source='a' target='b'/>"), "5: edge to unknown node `b`"),
        (format!("{a}<edge source='a'/>"), "4: element `edge` has no attribute `target`"),
        ("<node id='a'><data key='z'/></node>".into(), "4: undeclared key `z`"),
        (
            format!("<node id='b'>{a}</node>"),
            "4: node `a` is outside the graph or inside another node",
        ),
        ("<graph/>".into(), "4: found a second graph; expected one"),
        ("<hyperedge/>".into(), "4: found a hyperedge; expected edges between two nodes"),
        ("<key id='k'/>".into(), "4: key `k` is declared after `<graph>`; expected it before"),
        ("</node>".into(), "4: ill-formed document: expected `</graph>`, but `</node>` was found"),
    ];
    for (elements, problem) in cases {
        assert_eq!(read_error(&elements), problem);
    }
}

#[test]
fn rejects_invalid_utf8_and_truncated_files() {
    let error =
        read_bytes("x", b"<graphml>\n\xff", Interpretation::default()).unwrap_err().to_string();
    assert_eq!(error, "x:2: not valid UTF-8");
    let whole = small(&node("a", "1", "0"));
    for end in 0..whole.len() {
        assert!(read(&whole[..end], None).is_err(), "truncated at byte {end}");
    }
    let problem = "unexpected end of file; expected `<graphml>` with one `<graph>`";
    assert_eq!(read("", None).unwrap_err().to_string(), format!("x.graphml:1: {problem}"));
}

#[test]
fn rejects_custom_entities() {
    let bomb = "<!DOCTYPE g [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]>\n";
    let inside = format!("{bomb}{}", small(&node("a", "&b;", "0")));
    assert_eq!(
        read(&inside, None).unwrap_err().to_string(),
        "x.graphml:5: entity `&b;`; expected one of the five predefined in XML"
    );
    let attribute = format!("{bomb}{}", small(&node("&b;", "1", "0")));
    let error = read(&attribute, None).unwrap_err().to_string();
    assert!(error.starts_with("x.graphml:5: attribute `id`: "), "{error}");
    let file = "<!DOCTYPE g [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n<graphml>&a;</graphml>";
    assert!(read(file, None).unwrap_err().to_string().contains("entity `&a;`"));
}

#[test]
fn limits_memory_of_default_values() {
    let nodes: String = (0..2000).map(|i| format!("<node id='{i}'/>")).collect();
    for kind in ["int", "string"] {
        let key = |k| format!("<key id='{k}' attr.type='{kind}'><default>1</default></key>");
        let keys: String = (0..1000).map(key).collect();
        let text = format!("<graphml>{keys}<graph>{nodes}</graph></graphml>");
        let error = read(&text, None).unwrap_err().to_string();
        assert_eq!(error, "x.graphml:1: too many nodes and keys for the size of the file");
    }
}

#[test]
fn reads_compressed_files() {
    let plain = read(NETWORKX_FILE, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let compressed = [
        ("g.graphml.zst", zstd(NETWORKX_FILE.as_bytes())),
        ("g.xml.gz", gzip(NETWORKX_FILE.as_bytes())),
    ];
    for (name, bytes) in compressed {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(
            super::super::read_path(&path, Interpretation::default()).unwrap().sha256(),
            plain.sha256(),
            "{name}"
        );
    }
    let bomb = gzip(&vec![b' '; 30 << 20]);
    let error =
        read_bytes("x.graphml.gz", &bomb, Interpretation::default()).unwrap_err().to_string();
    assert!(error.starts_with("x.graphml.gz: decompresses to more than 200 times"), "{error}");
}

/// The values would take 30 GB.
#[test]
fn long_defaults_of_many_nodes_are_rejected() {
    let nodes: String = (0..30_000).map(|i| format!("<node id='{i}'/>")).collect();
    let key = format!("<key id='label'><default>{}</default></key>", "y".repeat(1 << 20));
    let error = read(&format!("<graphml>{key}<graph>{nodes}</graph></graphml>"), None).unwrap_err();
    let expected = "x.graphml:1: the defaults of the keys are too long for the size of the file";
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(
        cut: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = NETWORKX_FILE.as_bytes().to_vec();
        let _ = read_bytes("x", &bytes[..cut.index(bytes.len())], Interpretation::default());
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_bytes("x", &bytes, Interpretation::default());
    }
}
