//! Edge and node tables in folders, compressed and damaged.

use super::*;
use crate::data::read::text::tests::{gzip, zstd};
use proptest::prelude::*;

const EDGES: &str = "source,target,weight\nann,bob,1\nbob,\"cid\",2\nann,ann,3\n";
const NODES: &str = "id,age,label,split\nann,31,tea,train\nbob,27,coffee,val\ncid,45,tea,test\n";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// Returns the error for a folder, with its path replaced by `DIR`.
fn read_error(files: &[(&str, &[u8])], path: &str) -> String {
    let folder = folder(files);
    let error = read(&folder.path().join(path), Interpretation::default()).unwrap_err().to_string();
    error.replace(&folder.path().display().to_string(), "DIR")
}

fn read_bytes_error(edges: &[u8], nodes: &[u8]) -> String {
    read_bytes(edges, nodes, Interpretation::default()).unwrap_err().to_string()
}

#[test]
fn reads_folder_or_edge_table() {
    let (edges, nodes) = (EDGES.as_bytes(), NODES.as_bytes());
    let layouts = [
        ([("edges.csv", edges), ("nodes.csv", nodes)], ""),
        ([("edges.csv.gz", &gzip(edges)), ("nodes.txt", nodes)], "edges.csv.gz"),
        ([("edges.tsv", edges), ("nodes.csv.zst", &zstd(nodes))], ""),
        ([("my_edges.csv", edges), ("my_nodes.csv", nodes)], "my_edges.csv"),
    ];
    for (files, typed) in layouts {
        let folder = folder(&files);
        let dataset =
            read(&folder.path().join(typed), Interpretation::default()).unwrap().checked().unwrap();
        assert_eq!(dataset.name, folder.path().join(typed).display().to_string());
        assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(dataset.splits[0].split.test(), [2]);
        assert!(dataset.warnings[0].ends_with(": ignored columns `weight`"));
    }
}

#[test]
fn numeric_names_are_compared_as_text() {
    let nodes = "id,x,label\n7,1,a\n-3,2,b\n007,3,a\n1000000,4,b\n3,5,a\n";
    let edges = b"007,7\n-3,7\n7,1000000\n3,1000000\n7,3\n";
    let dataset = read_bytes(edges, nodes.as_bytes(), Interpretation::default()).unwrap();
    assert_eq!(dataset.node_names, ["7", "-3", "007", "1000000", "3"]);
    let expected = [(0, 1), (0, 2), (0, 3), (0, 4), (3, 4)];
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), expected);
    assert_eq!(
        read_bytes_error(b"7,3\n7,03\n7,3\n", nodes.as_bytes()),
        "edges:2: node `03` is not in the node table; add a row for it"
    );
}

#[test]
fn detected_header_gives_a_warning() {
    let dataset =
        read_bytes(b"giver,taker\nann,bob\n", NODES.as_bytes(), Interpretation::default()).unwrap();
    assert_eq!(dataset.graph.n_edges(), 1);
    assert_eq!(dataset.warnings, ["edges: line 1 (`giver`, `taker`) was taken as header"]);
}

#[test]
fn missing_and_ambiguous_tables_are_reported() {
    assert_eq!(
        read_error(&[("edges.csv", b"")], ""),
        "DIR/: no table `nodes`; expected nodes.csv, .tsv, .txt (optionally with .gz or .zst) or \
        .parquet"
    );
    let both: [(&str, &[u8]); 3] = [("edges.csv", b""), ("edges.tsv", b""), ("nodes.csv", b"")];
    assert_eq!(
        read_error(&both, ""),
        "DIR/: found both edges.csv and edges.tsv; remove one of them"
    );
    assert_eq!(
        read_error(&[("links.csv", b"")], "links.csv"),
        "DIR/links.csv: cannot find its node table; expected a folder, or a file name with `edges`"
    );
    assert!(
        read_error(&[("nodes.csv", b"")], "edges.csv").starts_with("DIR/edges.csv: No such file")
    );
}

#[test]
fn errors_include_the_line() {
    let nodes = NODES.as_bytes();
    let cases: [(&[u8], &str); 6] = [
        (b"ann,bob\nann,zed\n", "edges:2: node `zed` is not in the node table; add a row for it"),
        (b"1,2\n", "edges:1: node `1` is not in the node table; add a row for it"),
        (b"u,v\nann,\n", "edges:2: the id is empty"),
        (b"ann,bob\nann\n", "edges:2: the line has 1 field; expected 2, as on line 1"),
        (b"ann,bob\nbob,\xc3\x28\n", "edges:2: not valid UTF-8"),
        (b"", "edges:1: the table is empty; expected lines with two ids"),
    ];
    for (edges, expected) in cases {
        assert_eq!(read_bytes_error(edges, nodes), expected);
    }
    assert_eq!(read_bytes_error(b"", b"id,x,label\na,\xff,c\n"), "nodes:2: not valid UTF-8");
    let bomb = gzip(&b"a,1,c\n".repeat(4 << 20));
    assert_eq!(
        read_bytes_error(b"", &bomb),
        "nodes: decompresses to more than 200 times its size; if this is intended, decompress it first"
    );
    let cut = gzip(nodes);
    let error = read_bytes_error(b"", &cut[..cut.len() - 9]);
    assert!(error.starts_with("nodes: damaged compressed data: "), "{error}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_requires_its_feature() {
    assert_eq!(
        read_error(&[("edges.csv", b""), ("nodes.parquet", b"PAR1")], ""),
        "DIR/nodes.parquet: this build cannot read Parquet; save the table as CSV, or enable the \
        feature `parquet`"
    );
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(in_edges: bool, packing in 0..3, at: prop::sample::Index, bit in 0..8u8) {
        let pack = |text: &str| match packing {
            0 => text.as_bytes().to_vec(),
            1 => gzip(text.as_bytes()),
            _ => zstd(text.as_bytes()),
        };
        let (mut edges, mut nodes) = (pack(EDGES), pack(NODES));
        let damaged = if in_edges { &mut edges } else { &mut nodes };
        let at = at.index(damaged.len());
        damaged[at] ^= 1 << bit;
        let _ = read_bytes(&edges, &nodes, Interpretation::default());
        let damaged = if in_edges { &mut edges } else { &mut nodes };
        damaged.truncate(at);
        let _ = read_bytes(&edges, &nodes, Interpretation::default());
    }
}
