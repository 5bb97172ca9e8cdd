//! Edge and node tables in folders, compressed and damaged.

use super::*;
use crate::data::read::text::tests::{gzip, zstd};
use proptest::prelude::*;

const EDGES: &str = "source,target,weight\nann,bob,1\nbob,\"cid\",2\nann,ann,3\n";
const NODES: &str = "id,age,label,split\nann,31,tea,train\nbob,27,coffee,val\ncid,45,tea,test\n";

/// `save_npz` of SciPy 1.17: `csr_array([[0, 2, 0], [2, 0, 1], [0, 1, 0]], dtype=float)`.
const SCIPY_SYMMETRIC: &[u8] =
    b"PK\x03\x04-\0\0\0\x08\0\0\0!\0\x8ba\xdaK\xff\xff\xff\xff\xff\xff\xff\xff\x0b\0\x14\0indi\
      ces.npy\x01\0\x10\0\x90\0\0\0\0\0\0\0L\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\
      \xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93i\xa2\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\
      \x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&:\x9a:\x0a\xb5\x0a\x14\0.F\
      \x06\x08`\x02b\x10\x1b\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xd9Lc\x85\xff\xff\xff\xff\xff\xff\
      \xff\xff\x0a\0\x14\0indptr.npy\x01\0\x10\0\x90\0\0\0\0\0\0\0N\0\0\0\0\0\0\0\x9b\xec\x17\
      \xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93i\xa2\xae\xa3\xa0\x9e\x96\
      _TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&:\x9a:\
      \x0a\xb5\x0a\x14\0.\x06 `\x04bf f\x01b\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xa3\xc3t\x97\xff\
      \xff\xff\xff\xff\xff\xff\xff\x0a\0\x14\0format.npy\x01\0\x10\0\x83\0\0\0\0\0\0\0E\0\0\0\
      \0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0^\x13l\xac\
      \xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\
      \x02\xf9\x1a\x9a:\x0a\xb5\x0a\x14\x01\xae\xe4\xe2\"\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xf1\
      \xd9\x16\xa2\xff\xff\xff\xff\xff\xff\xff\xff\x09\0\x14\0shape.npy\x01\0\x10\0\x90\0\0\0\
      \0\0\0\0I\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\
      \xa5\xa0n\x93i\xa1\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\
      \x8a\x17g$\x16\xa4\x02\xf9\x1aF:\x9a:\x0a\xb5\x0a\x14\0.f\x06\x08\x80\xd1\0PK\x03\x04-\0\
      \0\0\x08\0\0\0!\0\xd9\0\xe1^\xff\xff\xff\xff\xff\xff\xff\xff\x08\0\x14\0data.npy\x01\0\
      \x10\0\xa0\0\0\0\0\0\0\0M\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\
      \x92Z\x9c\\\xa4n\xa5\xa0n\x93f\xa1\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\
      \x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&:\x9a:\x0a\xb5\x0a\x14\0.\x06\x08p@\xa5?\
      \xd8\xc3h\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\x82-\xf8\xd3\xff\xff\xff\xff\xff\xff\xff\xff\
      \x0d\0\x14\0_is_array.npy\x01\0\x10\0\x81\0\0\0\0\0\0\0C\0\0\0\0\0\0\0\x9b\xec\x17\xea\
      \x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0^\x93d\xa8\xae\xa3\xa0\x9e\x96_TR\
      \x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\x9a:\x0a\xb5\
      \x0a\x14\x01.F\0PK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0\x8ba\xdaKL\0\0\0\x90\0\0\0\x0b\0\0\0\
      \0\0\0\0\0\0\0\0\x80\x01\0\0\0\0indices.npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0\xd9Lc\x85\
      N\0\0\0\x90\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x89\0\0\0indptr.npyPK\x01\x02-\x03-\
      \0\0\0\x08\0\0\0!\0\xa3\xc3t\x97E\0\0\0\x83\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x13\
      \x01\0\0format.npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0\xf1\xd9\x16\xa2I\0\0\0\x90\0\0\0\
      \x09\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x94\x01\0\0shape.npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\
      \0\xd9\0\xe1^M\0\0\0\xa0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x18\x02\0\0data.npyPK\
      \x01\x02-\x03-\0\0\0\x08\0\0\0!\0\x82-\xf8\xd3C\0\0\0\x81\0\0\0\x0d\0\0\0\0\0\0\0\0\0\0\
      \0\x80\x01\x9f\x02\0\0_is_array.npyPK\x05\x06\0\0\0\0\x06\0\x06\0Q\x01\0\0!\x03\0\0\0\0";

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
        assert_eq!(dataset.graph.weights(), Some(&[1.0, 1.0, 2.0, 2.0][..]));
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
    assert_eq!(dataset.warnings, ["edges: line 1 (`giver`, `taker`) was treated as a header"]);
}

#[test]
fn missing_and_ambiguous_tables_are_reported() {
    let folders = [
        (&["edges.csv"][..], "node table `nodes`"),
        (&["nodes.csv", "edges.npz.gz"], "file `edges` or `adjacency`"),
        (&["README", "edges.graphml"], "tables `edges` and `nodes`"),
        (&[], "tables `edges` and `nodes`"),
    ];
    for (names, missing) in folders {
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, &b""[..])).collect();
        let expected = format!("DIR/: the folder has no {missing}; {EXPECTED_FORMATS}");
        assert_eq!(read_error(&files, ""), expected);
    }
    let both: [(&str, &[u8]); 3] = [("edges.csv", b""), ("edges.tsv", b""), ("nodes.csv", b"")];
    assert_eq!(
        read_error(&both, ""),
        "DIR/: found both edges.csv and edges.tsv; remove one of them"
    );
    let both: [(&str, &[u8]); 3] = [("edges.csv", b""), ("adjacency.npz", b""), ("nodes.csv", b"")];
    assert_eq!(
        read_error(&both, ""),
        "DIR/: found both edges.csv and adjacency.npz; remove one of them"
    );
    assert_eq!(
        read_error(&[("my.edges.csv", b"")], "my.edges.csv"),
        "DIR/my.edges.csv: the file name has neither `edges` nor `adjacency` before its first dot; expected \
         a folder with edges.csv and nodes.csv, or a file with edges, such as my-edges.csv beside \
         my-nodes.csv"
    );
    assert_eq!(
        read_error(&[("my-edges.csv", b"")], "my-edges.csv"),
        "DIR/my-edges.csv: no node table; expected my-nodes.csv (or .tsv, .txt, .parquet) in the \
        same folder"
    );
    assert!(
        read_error(&[("nodes.csv", b"")], "edges.csv").starts_with("DIR/edges.csv: No such file")
    );
}

#[test]
fn other_extensions_are_rejected() {
    for name in ["graph.xlsx", "graph", "edges.mat", "edges.dat.gz"] {
        let expected = format!("DIR/{name}: unsupported file extension; {EXPECTED_FORMATS}");
        assert_eq!(read_error(&[(name, b""), ("nodes.csv", b"")], name), expected);
    }
}

/// The path ann - bob - cid with weights 2 and 1, in all formats that have a node table, except Parquet.
#[test]
fn all_formats_of_edges_give_the_same_graph() {
    let csv = b"source,target,weight\nann,bob,2\nbob,cid,1\n";
    let dictionaries = b"ann bob {'weight': 2}\nbob cid {}\n";
    let metis = b"3 2 001\n2 2\n1 2 3 1\n2 1\n";
    let pajek = b"*vertices 3\n1 bob\n2 ann\n3 cid\n*edges\n2 1 2.0\n1 3 1.0\n";
    let (column, attribute) = (" (column `weight`)", " (attribute `weight`)");
    let npz = "tables with npz edges";
    let files: [(&str, &[u8], &str, &str, &str); 11] = [
        ("edges.csv", csv, "", "tables", column),
        ("edges.txt", dictionaries, "", "tables", attribute),
        ("edges.edgelist", dictionaries, "", "edge list", attribute),
        ("edges.edgelist.gz", &gzip(dictionaries), "edges.edgelist.gz", "edge list", attribute),
        ("edges.metis", metis, "", "metis", ""),
        ("edges.metis.zst", &zstd(metis), "", "metis", ""),
        ("adjacency.npz", SCIPY_SYMMETRIC, "", npz, ""),
        ("edges.npz", SCIPY_SYMMETRIC, "edges.npz", npz, ""),
        ("town.v1.net", pajek, "town.v1.net", "pajek", ""),
        ("town.net.gz", &gzip(pajek), "town.net.gz", "pajek", ""),
        ("adjacency.npz", SCIPY_SYMMETRIC, "adjacency.npz", npz, ""),
    ];
    for (name, bytes, typed, format, source) in files {
        let folder = folder(&[(name, bytes), ("nodes.csv", NODES.as_bytes())]);
        let path = folder.path().join(typed);
        let dataset = super::super::read_path(&path, Interpretation::default()).unwrap();
        let dataset = dataset.checked().unwrap();
        assert_eq!(dataset.node_names, ["ann", "bob", "cid"], "{name}");
        assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)], "{name}");
        assert_eq!(dataset.graph.weights(), Some(&[2.0, 2.0, 1.0, 1.0][..]), "{name}");
        let mut notes = vec![format!("the edges have weights{source}; most models use them")];
        if format == npz {
            let place = folder.path().join(name);
            notes.insert(
                0,
                format!(
                    "{}: read as a sparse matrix whose rows are those of the node table",
                    place.display()
                ),
            );
        }
        // The second dictionary is empty.
        let n_warnings = usize::from(source == attribute);
        assert_eq!((dataset.notes, dataset.warnings.len()), (notes, n_warnings), "{name}");
        assert_eq!(super::super::format(&path), format, "{name}");
        let sources = super::super::source_files(&path).unwrap();
        assert_eq!(sources, [folder.path().join(name), folder.path().join("nodes.csv")]);
    }
}

#[test]
fn pajek_files_need_a_node_table() {
    let net: &[u8] = b"*vertices 1\n1 ann\n";
    assert_eq!(
        read_error(&[("town.net", net)], "town.net"),
        "DIR/town.net: no node table; Pajek files have no features or labels; expected \
        town.nodes.csv or nodes.csv (or .tsv, .txt, .parquet) in the same folder"
    );
    // The table with the name of the file takes precedence.
    let own = b"id,x,label\nann,1,a\nbob,2,b\n";
    let files: [(&str, &[u8]); 3] =
        [("town.net", net), ("town.nodes.csv", own), ("nodes.csv", NODES.as_bytes())];
    let folder = folder(&files);
    let dataset = read(&folder.path().join("town.net"), Interpretation::default()).unwrap();
    assert_eq!(dataset.node_names, ["ann", "bob"]);
}

#[test]
fn npz_without_a_node_table_has_format_npz() {
    let folder = folder(&[("edges.npz", SCIPY_SYMMETRIC)]);
    assert_eq!(super::super::format(&folder.path().join("edges.npz")), "npz");
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
