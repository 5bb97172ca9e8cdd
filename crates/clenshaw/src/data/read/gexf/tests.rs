//! Files written by NetworkX and by hand, and files that are truncated or inconsistent.

use super::*;
use crate::data::TableOptions;
use crate::data::read::text::tests::gzip;

/// `nx.write_gexf` of NetworkX 3.6 for a graph without `label`.
const NETWORKX_FILE: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.gexf.net/1.2draft http://www.gexf.net/1.2draft/gexf.xsd" version="1.2">
  <meta lastmodifieddate="2026-11-17">
    <creator>NetworkX 3.6.1</creator>
  </meta>
  <graph defaultedgetype="undirected" mode="static" name="">
    <attributes mode="static" class="node">
      <attribute id="0" title="age" type="long" />
      <attribute id="1" title="town" type="string" />
      <attribute id="2" title="kind" type="string" />
      <attribute id="3" title="vip" type="boolean" />
    </attributes>
    <nodes>
      <node id="ann" label="ann">
        <attvalues>
          <attvalue for="0" value="31" />
          <attvalue for="1" value="Y&quot;&amp;é" />
          <attvalue for="2" value="tea" />
          <attvalue for="3" value="true" />
        </attvalues>
      </node>
      <node id="bob" label="bob">
        <attvalues>
          <attvalue for="0" value="27.5" />
          <attvalue for="2" value="coffee" />
          <attvalue for="3" value="false" />
        </attvalues>
      </node>
      <node id="cid" label="cid">
        <attvalues>
          <attvalue for="0" value="45" />
          <attvalue for="1" value="Bath" />
        </attvalues>
      </node>
    </nodes>
    <edges>
      <edge source="ann" target="bob" id="0" weight="2.0" />
      <edge source="bob" target="cid" id="1" />
      <edge source="cid" target="cid" id="2" weight="3" />
    </edges>
  </graph>
</gexf>"#;

fn read(text: &str, label: Option<&str>) -> Result<Dataset> {
    let options = TableOptions { label: label.map(str::to_owned), ..TableOptions::default() };
    read_bytes("x.gexf", text.as_bytes(), Interpretation::Inferred(&options))
}

/// A graph with these elements on line 2 and the attributes `size` and `class`.
fn small(elements: &str) -> String {
    format!(
        "<gexf><graph><attributes class='node'><attribute id='0' title='size'><default>5</default>\
         </attribute><attribute id='1' title='class'/></attributes>\n{elements}</graph></gexf>"
    )
}

fn node(id: &str, values: &[(&str, &str)]) -> String {
    let value = |(key, value): &(&str, &str)| format!("<attvalue for='{key}' value='{value}'/>");
    let values: String = values.iter().map(value).collect();
    format!("<node id='{id}'><attvalues>{values}</attvalues></node>")
}

fn read_error(elements: &str) -> String {
    read(&small(elements), None).unwrap_err().to_string().replace("x.gexf:", "")
}

#[test]
fn reads_networkx_file() {
    let dataset = read(NETWORKX_FILE, Some("kind")).unwrap().checked().unwrap();
    assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
    assert_eq!(dataset.y, [Some(1), Some(0), None]);
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(dataset.graph.weights(), Some(&[2.0, 2.0, 1.0, 1.0][..]));
    let names = dataset.schema.as_ref().unwrap().feature_names();
    assert_eq!(names, ["age", "town=Bath", "town=Y\"&é", "vip", "vip missing"]);
    let x = dataset.x.to_dense();
    assert_eq!(x.row(0), [31.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(x.row(1), [27.5, 0.0, 0.0, 0.0, 0.0]);
    let expected = [
        "nodes are named by `label`, so it is not used as the class",
        "self-loops removed: 1",
        "the edges have weights (attribute `weight`); most models use them",
    ];
    assert_eq!(dataset.notes, expected);
}

/// NetworkX writes an attribute `label` of nodes as the label of GEXF.
#[test]
fn repeated_labels_are_the_class() {
    let names = [("label=\"ann\"", "label=\"tea\""), ("label=\"bob\"", "label=\"coffee\"")];
    let text = names.iter().fold(NETWORKX_FILE.to_owned(), |text, (a, b)| text.replace(a, b));
    let text = text.replace("label=\"cid\"", "label=\"tea\"");
    let dataset = read(&text, None).unwrap();
    assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
    assert_eq!(dataset.class_names, ["coffee", "tea"]);
    let declared = text.replace("title=\"kind\"", "title=\"label\"");
    assert_eq!(read(&declared, None).unwrap().y, [Some(1), Some(0), None]);
}

#[test]
fn uses_defaults_directions_and_edges_before_nodes() {
    let elements = [
        "<edges><edge source='b' target='a' type='directed'/></edges><nodes>",
        &node("a", &[("0", "1"), ("1", "x")]),
        &node("b", &[("1", "y")]),
        "</nodes>",
    ];
    let dataset = read(&small(&elements.concat()), None).unwrap();
    assert_eq!(dataset.x.values(), [1.0, 5.0]);
    assert_eq!(dataset.graph.n_edges(), 1);
    assert_eq!(
        dataset.notes,
        [
            "nodes are named by `id`",
            "the edges in the file are directed; the directions are not used"
        ]
    );
}

#[test]
fn edges_without_a_weight_have_the_default() {
    let elements = [
        "<nodes>",
        &node("a", &[("1", "x")]),
        &node("b", &[("1", "y")]),
        &node("c", &[("1", "x")]),
        "</nodes><edge source='a' target='b'/><edge source='b' target='c' weight='3'/>",
    ];
    let declaration = "<attributes class='edge'><attribute id='w' title='weight'><default>2</default>\
         </attribute></attributes><attributes class='node'>";
    let text = small(&elements.concat()).replace("<attributes class='node'>", declaration);
    let dataset = read(&text, None).unwrap();
    assert_eq!(dataset.graph.weights(), Some(&[2.0, 2.0, 3.0, 3.0][..]));
}

#[test]
fn errors_include_the_line() {
    let a = node("a", &[("1", "x")]);
    let cases = [
        (format!("{a}{a}"), "2: duplicate node `a`"),
        (format!("{a}\n<edge source='a' target='b'/>"), "3: edge to unknown node `b`"),
        (format!("{a}<edge source='a'/>"), "2: element `edge` has no attribute `target`"),
        (
            format!("{a}<edge source='a' target='a' weight='x'/>"),
            "2: the weight is `x`; expected a finite, non-negative number",
        ),
        (node("a", &[("7", "x")]), "2: undeclared attribute `7`"),
        (
            format!("<node id='b'>{a}</node>"),
            "2: node `a` is outside the graph or inside another node",
        ),
        ("<graph/>".into(), "2: found a second graph; expected one"),
        ("</node>".into(), "2: ill-formed document: expected `</graph>`, but `</node>` was found"),
    ];
    for (elements, problem) in cases {
        assert_eq!(read_error(&elements), problem);
    }
    let dynamic = "<gexf>\n<graph mode='dynamic'/></gexf>";
    assert_eq!(
        read(dynamic, None).unwrap_err().to_string(),
        "x.gexf:2: found a graph that changes over time; expected `mode=\"static\"`"
    );
    let whole = small(&a);
    for end in 0..whole.len() {
        assert!(read(&whole[..end], None).is_err(), "truncated at byte {end}");
    }
}

#[test]
fn memory_of_defaults_is_limited() {
    let nodes: String = (0..2000).map(|i| format!("<node id='{i}'/>")).collect();
    let file = |attributes: &str| {
        format!(
            "<gexf><graph><attributes class='node'>{attributes}</attributes>{nodes}</graph></gexf>"
        )
    };
    let many: String = (0..1000)
        .map(|i| format!("<attribute id='{i}'><default>1</default></attribute>"))
        .collect();
    assert_eq!(
        read(&file(&many), None).unwrap_err().to_string(),
        "x.gexf:1: too many nodes and attributes for the size of the file"
    );
    let long = format!("<attribute id='0'><default>{}</default></attribute>", "y".repeat(1 << 16));
    assert_eq!(
        read(&file(&long), None).unwrap_err().to_string(),
        "x.gexf:1: the defaults are too long for the size of the file"
    );
}

#[test]
fn reads_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.gexf.gz");
    let text = small(&node("a", &[("1", "x")]));
    std::fs::write(&path, gzip(text.as_bytes())).unwrap();
    let found = super::super::read_path(&path, Interpretation::default()).unwrap();
    assert_eq!(found.sha256(), read(&text, None).unwrap().sha256());
    assert_eq!(super::super::format(&path), "gexf");
}
