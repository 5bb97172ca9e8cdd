//! Pairs of tables in folders, packed, damaged.

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

/// What is said about a folder, without its path.
fn refused(files: &[(&str, &[u8])], path: &str) -> String {
    let folder = folder(files);
    let told = read(&folder.path().join(path)).unwrap_err().to_string();
    told.replace(&folder.path().display().to_string(), "DIR")
}

fn refused_bytes(edges: &[u8], nodes: &[u8]) -> String {
    read_bytes(edges, nodes).unwrap_err().to_string()
}

#[test]
fn a_folder_or_an_edge_table_is_enough() {
    let (edges, nodes) = (EDGES.as_bytes(), NODES.as_bytes());
    let layouts = [
        ([("edges.csv", edges), ("nodes.csv", nodes)], ""),
        ([("edges.csv.gz", &gzip(edges)), ("nodes.txt", nodes)], "edges.csv.gz"),
        ([("edges.tsv", edges), ("nodes.csv.zst", &zstd(nodes))], ""),
        ([("my_edges.csv", edges), ("my_nodes.csv", nodes)], "my_edges.csv"),
    ];
    for (files, typed) in layouts {
        let folder = folder(&files);
        let dataset = read(&folder.path().join(typed)).unwrap().checked().unwrap();
        assert_eq!(dataset.name, folder.path().join(typed).display().to_string());
        assert_eq!(dataset.node_names, ["ann", "bob", "cid"]);
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(dataset.splits[0].split.test(), [2]);
        assert!(dataset.warnings[0].ends_with(": ignored columns `weight`"));
    }
}

#[test]
fn numbers_are_names_too() {
    let nodes = "id,x,label\n7,1,a\n-3,2,b\n007,3,a\n1000000,4,b\n3,5,a\n";
    let edges = b"007,7\n-3,7\n7,1000000\n3,1000000\n7,3\n";
    let dataset = read_bytes(edges, nodes.as_bytes()).unwrap();
    assert_eq!(dataset.node_names, ["7", "-3", "007", "1000000", "3"]);
    let expected = [(0, 1), (0, 2), (0, 3), (0, 4), (3, 4)];
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), expected);
    assert_eq!(
        refused_bytes(b"7,3\n7,03\n7,3\n", nodes.as_bytes()),
        "edges:2: node `03` is not in the node table; add a line for it there"
    );
}

#[test]
fn a_header_that_had_to_be_guessed_is_told() {
    let dataset = read_bytes(b"giver,taker\nann,bob\n", NODES.as_bytes()).unwrap();
    assert_eq!(dataset.graph.n_edges(), 1);
    assert_eq!(dataset.warnings, ["edges: took line 1 (`giver`, `taker`) as header"]);
}

#[test]
fn files_that_are_missing_or_too_many_are_told() {
    assert_eq!(
        refused(&[("edges.csv", b"")], ""),
        "DIR/: no table `nodes`; expected nodes.csv, .tsv, .txt (these also as .gz or .zst) or \
         .parquet"
    );
    let both: [(&str, &[u8]); 3] = [("edges.csv", b""), ("edges.tsv", b""), ("nodes.csv", b"")];
    assert_eq!(refused(&both, ""), "DIR/: both edges.csv and edges.tsv; expected one of them");
    assert_eq!(
        refused(&[("links.csv", b"")], "links.csv"),
        "DIR/links.csv: no table of nodes belongs to that name; expected a folder, or a name with \
         `edges`"
    );
    assert!(refused(&[("nodes.csv", b"")], "edges.csv").starts_with("DIR/edges.csv: No such file"));
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let nodes = NODES.as_bytes();
    let cases: [(&[u8], &str); 6] = [
        (
            b"ann,bob\nann,zed\n",
            "edges:2: node `zed` is not in the node table; add a line for it there",
        ),
        (b"1,2\n", "edges:1: node `1` is not in the node table; add a line for it there"),
        (b"u,v\nann,\n", "edges:2: an id is missing"),
        (b"ann,bob\nann\n", "edges:2: the line has 1 field; expected 2, as in line 1"),
        (b"ann,bob\nbob,\xc3\x28\n", "edges:2: the text is not UTF-8"),
        (b"", "edges:1: the table ends before it begins; expected lines of two ids"),
    ];
    for (edges, expected) in cases {
        assert_eq!(refused_bytes(edges, nodes), expected);
    }
    assert_eq!(refused_bytes(b"", b"id,x,label\na,\xff,c\n"), "nodes:2: the text is not UTF-8");
    let bomb = gzip(&b"a,1,c\n".repeat(4 << 20));
    assert_eq!(
        refused_bytes(b"", &bomb),
        "nodes: it unpacks to more than 200 times its size; if that is right, unpack it first"
    );
    let cut = gzip(nodes);
    let told = refused_bytes(b"", &cut[..cut.len() - 9]);
    assert!(told.starts_with("nodes: the packed data is damaged: "), "{told}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_asks_for_its_feature() {
    assert_eq!(
        refused(&[("edges.csv", b""), ("nodes.parquet", b"PAR1")], ""),
        "DIR/nodes.parquet: this build reads no Parquet; save the table as CSV, or turn on \
         the feature `parquet` of the crate `clenshaw`"
    );
}

proptest! {
    #[test]
    fn damage_does_not_panic(in_edges: bool, packing in 0..3, at: prop::sample::Index, bit in 0..8u8) {
        let pack = |text: &str| match packing {
            0 => text.as_bytes().to_vec(),
            1 => gzip(text.as_bytes()),
            _ => zstd(text.as_bytes()),
        };
        let (mut edges, mut nodes) = (pack(EDGES), pack(NODES));
        let damaged = if in_edges { &mut edges } else { &mut nodes };
        let at = at.index(damaged.len());
        damaged[at] ^= 1 << bit;
        let _ = read_bytes(&edges, &nodes);
        let damaged = if in_edges { &mut edges } else { &mut nodes };
        damaged.truncate(at);
        let _ = read_bytes(&edges, &nodes);
    }
}
