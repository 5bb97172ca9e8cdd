//! Valid, inconsistent and damaged files.

use super::super::array::MemoryOrder;
use super::super::npy::tests::file;
use super::*;
use crate::data::read::text::tests::{gzip, zstd};

const NODE_TABLE: &[u8] = b"\
views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate
7879,1,969,2016-02-16,2018-10-12,0,0,EN,1
500,0,2699,2011-05-19,2018-10-08,2,1,DE,0

382502,1,3149,2010-02-27,2018-10-12,1,1,EN,1
386,0,1344,2015-01-26,2018-10-01,3,0,FR,0\r
";

const EDGE_TABLE: &[u8] = b"numeric_id_1,numeric_id_2\n0,1\n3,2\n1,0\n2,2\n1,3";

/// An array of two dictionaries as `np.save` of NumPy 1 writes it, in protocol 3, but with a module name of
/// NumPy 2.
const SPLITS_FILE: &[u8] =
    b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (2,), }                  \
      \x20                                          \n\x80\x03cnumpy._core.multiarray\n_reconstruc\
      t\nq\0cnumpy\nndarray\nq\x01K\0\x85q\x02C\x01bq\x03\x87q\x04Rq\x05(K\x01K\x02\x85q\x06cnumpy\
      \ndtype\nq\x07X\x02\0\0\0O8q\x08\x89\x88\x87q\tRq\n(K\x03X\x01\0\0\0|q\x0bNNNJ\xff\xff\xff\
      \xffJ\xff\xff\xff\xffK?tq\x0cb\x89]q\r(}q\x0e(X\x05\0\0\0trainq\x0f]q\x10(K\x02K\0eX\x05\0\0\
      \0validq\x11]q\x12K\x01aX\x04\0\0\0testq\x13]q\x14K\x03au}q\x15(h\x0f]q\x16K\x01ah\x11]q\x17\
      (K\0K\x02eh\x13]q\x18K\x03auetq\x19b.";

fn read_error(nodes: &[u8], edges: &[u8]) -> String {
    read_bytes("it", nodes, edges, None).unwrap_err().to_string()
}

#[test]
fn reads_dataset() {
    let dataset = read_bytes("it", NODE_TABLE, EDGE_TABLE, Some(SPLITS_FILE)).unwrap();
    let dataset = dataset.checked().unwrap();
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 3), (2, 3)]);
    assert_eq!(dataset.y, [Some(1), Some(1), Some(0), Some(0)]);
    let x = dataset.x.to_dense();
    assert_eq!(x.row(0), [7879.0, 969.0, 20160216.0, 20181012.0, 0.0, 0.0, 1.0]);
    assert_eq!(x.row(1)[5..], [0.0, 1.0]);
    assert_eq!(x.row(2), [500.0, 2699.0, 20110519.0, 20181008.0, 1.0, 1.0, 0.0]);
    assert_eq!(x.row(3)[5], 2.0);
    let names: Vec<&str> = dataset.splits.iter().map(|split| &*split.name).collect();
    assert_eq!(names, ["linkx:0", "linkx:1"]);
    let split = &dataset.splits[0].split;
    assert_eq!((split.train(), split.val(), split.test()), (&[0, 2][..], &[1][..], &[3][..]));
    assert_eq!(dataset.splits[1].split.val(), [0, 2]);
}

#[test]
fn reads_folder_with_and_without_splits() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name, bytes| std::fs::write(folder.path().join(name), bytes).unwrap();
    write(NODES, NODE_TABLE);
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.contains(EDGES), "{error}");
    write(EDGES, EDGE_TABLE);
    assert_eq!(read(folder.path()).unwrap().splits, []);
    write(SPLITS, SPLITS_FILE);
    let dataset = read(folder.path()).unwrap();
    assert_eq!((&*dataset.name, dataset.splits.len()), ("twitch-gamers", 2));
}

#[test]
fn reads_compressed_tables() {
    let plain = read_bytes("it", NODE_TABLE, EDGE_TABLE, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, bytes| std::fs::write(folder.path().join(name), bytes).unwrap();
    write(format!("{NODES}.zst"), zstd(NODE_TABLE));
    write(format!("{EDGES}.gz"), gzip(EDGE_TABLE));
    let dataset = read(folder.path()).unwrap();
    assert_eq!(dataset.sha256(), plain.sha256());
    write(format!("{EDGES}.gz"), gzip(b"numeric_id_1,numeric_id_2\n0,1\n0,9\n"));
    let error = read(folder.path()).unwrap_err().to_string();
    let problem = "large_twitch_edges.csv.gz:3: node 9; expected node numbers below 4";
    assert!(error.ends_with(problem), "{error}");
    let bomb = gzip(&b"0,1\n".repeat(8 << 20));
    assert!(read_error(NODE_TABLE, &bomb).contains("decompresses to more than 200 times its size"));
    assert!(read_error(&bomb, EDGE_TABLE).contains("decompresses to more than 200 times its size"));
}

#[test]
fn node_errors_include_the_line() {
    let with = |from: &str, to: &str| {
        let text = std::str::from_utf8(NODE_TABLE).unwrap();
        assert!(text.contains(from));
        read_error(text.replacen(from, to, 1).as_bytes(), EDGE_TABLE)
    };
    let place = "it/large_twitch_features.csv";
    assert_eq!(with("12,1,1,EN", "12,0,1,EN"), format!("{place}:5: duplicate node 0"));
    assert_eq!(
        with("12,1,1,EN", "12,7,1,EN"),
        format!("{place}:5: numeric_id is `7`; expected a node number below 4")
    );
    assert_eq!(with("7879", "many"), format!("{place}:2: views is `many`; expected an integer"));
    assert_eq!(with("7879,1", "7879,2"), format!("{place}:2: mature is `2`; expected 0 or 1"));
    assert_eq!(
        with("2011-05-19", "19-05-2011"),
        format!("{place}:3: created_at is `19-05-2011`; expected a date such as 2018-10-05")
    );
    assert_eq!(with("DE,0", "DE"), format!("{place}:3: 8 fields; expected 9"));
    assert!(
        with("mature", "adult")
            .starts_with(&format!("{place}:1: no column `mature`; the table has"))
    );
    assert_eq!(read_error(b"views,\xff\n", EDGE_TABLE), format!("{place}:1: not valid UTF-8"));
}

#[test]
fn edge_errors_include_the_line() {
    let edges = |line: &str| {
        let text = format!("numeric_id_1,numeric_id_2\n0,1\n{line}\n");
        read_error(NODE_TABLE, text.as_bytes())
    };
    let place = "it/large_twitch_edges.csv:3";
    for id in ["-1", "x", "1.5"] {
        let problem = format!("id `{id}`; expected a non-negative integer");
        assert_eq!(edges(&format!("{id},0")), format!("{place}: {problem}"));
    }
    let cases = [
        ("4,0", "node 4; expected node numbers below 4"),
        ("1099511627776,0", "id 1099511627776; expected at most 4294967295"),
        (",0", "the id is empty"),
        ("0", "the line has 1 field; expected 2, as on line 1"),
        ("0,1,2", "the line has 3 fields; expected 2, as on line 1"),
    ];
    for (line, problem) in cases {
        assert_eq!(edges(line), format!("{place}: {problem}"));
    }
}

#[test]
fn split_errors_include_the_split() {
    let message = |bytes: &[u8], n| read_splits("it", bytes, n).unwrap_err().to_string();
    assert_eq!(
        message(SPLITS_FILE, 3),
        "it: split 0, `test`: node 3; expected node numbers below 3"
    );
    let with = |from: &[u8], to: &[u8]| {
        let at = SPLITS_FILE.windows(from.len()).position(|window| window == from).unwrap();
        let mut bytes = SPLITS_FILE.to_vec();
        bytes.splice(at..at + from.len(), to.iter().copied());
        message(&bytes, 4)
    };
    assert_eq!(with(b"K\x01a", b"K\x02a"), "it: split `linkx:0`: node 2 occurs twice");
    assert_eq!(
        with(b"valid", b"xalid"),
        "it: split 0 has no `valid`; expected train, valid and test"
    );
    assert_eq!(with(b"K\x01a", b"Na"), "it: split 0, `valid`: None; expected a node number");
    assert!(with(b"_reconstruct", b"_xeconstruct").contains("global `numpy._core.multiarray."));
}

/// Two thousand references to the same dictionary.
#[test]
fn number_of_splits_is_limited() {
    let find = |word: &[u8]| SPLITS_FILE.windows(word.len()).position(|w| w == word).unwrap();
    let (array, shape, list) = (find(b"cnumpy._core"), find(b"K\x02\x85"), find(b"]q\r("));
    let (before, between) = (&SPLITS_FILE[array..shape], &SPLITS_FILE[shape + 2..list]);
    let many = b"h\0".repeat(1999);
    let pickle = [before, b"M\xd0\x07", between, b"](}q\0", &many, b"etb."].concat();
    let error = read_splits("it", &file("|O", MemoryOrder::C, &[2000], &pickle), 4).unwrap_err();
    assert_eq!(error.to_string(), "it: 2000 splits; expected at most 1000");
}
