//! Valid, inconsistent and damaged files.

use super::*;

/// An array as pickled by Python 2 and NumPy 1.
fn array(descr: &str, shape: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out =
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R(K\x01("
            .to_vec();
    shape.iter().for_each(|&n| out.extend([b'K', n]));
    out.extend(b"tcnumpy\ndtype\nU\x02");
    out.extend(descr.as_bytes());
    out.extend(b"K\0K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89U");
    out.push(data.len() as u8);
    out.extend(data);
    out.extend(b"tb");
    out
}

fn le(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A `csr_matrix` of ones at these columns.
fn sparse(n_cols: u8, rows: &[&[u32]]) -> Vec<u8> {
    let offsets: Vec<u32> = (0..=rows.len()).map(|i| rows[..i].concat().len() as u32).collect();
    let indices = rows.concat();
    let n = indices.len() as u8;
    let ones: Vec<u8> = indices.iter().flat_map(|_| 1f32.to_le_bytes()).collect();
    let parts = [
        ("indptr", array("i4", &[offsets.len() as u8], &le(&offsets))),
        ("indices", array("i4", &[n], &le(&indices))),
        ("data", array("f4", &[n], &ones)),
    ];
    let mut out = b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape".to_vec();
    out.extend([b'K', rows.len() as u8, b'K', n_cols, 0x86]);
    for (name, part) in parts {
        out.extend([b'U', name.len() as u8]);
        out.extend(name.as_bytes());
        out.extend(part);
    }
    out.extend(b"ub.");
    out
}

/// One row for each node, with a 1 in the column of its class, 0 or 1; `None` is a row of zeros.
fn classes(classes: &[Option<u32>]) -> Vec<u8> {
    let row = |class: &Option<u32>| [0, 1].map(|c| u32::from(*class == Some(c)));
    let rows: Vec<u32> = classes.iter().flat_map(row).collect();
    [&b"\x80\x02"[..], &array("i4", &[classes.len() as u8, 2], &le(&rows)), b"."].concat()
}

fn neighbours(lists: &[&[u8]]) -> Vec<u8> {
    let mut out = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(".to_vec();
    for (node, list) in lists.iter().enumerate() {
        out.extend([b'K', node as u8, b']', b'(']);
        list.iter().for_each(|&neighbour| out.extend([b'K', neighbour]));
        out.push(b'e');
    }
    out.extend(b"u.");
    out
}

/// The bytes of the eight files.
pub(crate) struct SmallPlanetoid(pub(crate) [Vec<u8>; 8]);

impl SmallPlanetoid {
    /// Nodes 0 to 3 are in `allx`, 6 and 4 are test nodes, 5 is in neither; with a loop and duplicates.
    pub(crate) fn new() -> Self {
        let (zero, one) = (Some(0), Some(1));
        Self([
            sparse(3, &[&[0], &[1, 2]]),
            sparse(3, &[&[2], &[0, 1]]),
            sparse(3, &[&[0], &[1, 2], &[], &[2]]),
            classes(&[zero, one]),
            classes(&[one, zero]),
            classes(&[zero, one, one, zero]),
            neighbours(&[&[1, 2], &[0], &[0, 3, 3], &[2, 2, 4], &[3], &[5, 5], &[0]]),
            b"6\n4\n".to_vec(),
        ])
    }

    fn files(&self) -> PlanetoidFiles<'_> {
        let [x, tx, allx, y, ty, ally, graph, test_index] = &self.0;
        PlanetoidFiles { x, tx, allx, y, ty, ally, graph, test_index }
    }

    fn with(mut self, part: usize, bytes: Vec<u8>) -> Self {
        self.0[part] = bytes;
        self
    }

    fn read_error(&self) -> String {
        read_bytes("ind.small", &self.files()).unwrap_err().to_string()
    }
}

const TX: usize = 1;
const ALLX: usize = 2;
const Y: usize = 3;
const ALLY: usize = 5;
const GRAPH: usize = 6;
const TEST_INDEX: usize = 7;

#[test]
fn assigns_rows_to_nodes() {
    let small = SmallPlanetoid::new();
    let dataset = read_bytes("ind.small", &small.files()).unwrap().checked().unwrap();
    let edges: Vec<_> = dataset.graph.edges().collect();
    assert_eq!(edges, [(0, 1), (0, 2), (0, 6), (2, 3), (3, 4)]);
    let y = [Some(0), Some(1), Some(1), Some(0), Some(0), None, Some(1)];
    assert_eq!(dataset.y, y);
    let x = dataset.x.to_dense();
    let rows: Vec<&[f32]> = (0..7).map(|i| x.row(i)).collect();
    assert_eq!(rows[1], [0.0, 1.0, 1.0]);
    assert_eq!(rows[4], [1.0, 1.0, 0.0]);
    assert_eq!(rows[5], [0.0; 3]);
    assert_eq!(rows[6], [0.0, 0.0, 1.0]);
    assert_eq!(dataset.class_names, ["0", "1"]);
    let public = &dataset.splits[0];
    assert_eq!(public.name, "public");
    let parts = (public.split.train(), public.split.val(), public.split.test());
    assert_eq!(parts, (&[0, 1][..], &[2, 3][..], &[4, 6][..]));
    assert_eq!(
        dataset.warnings,
        ["1 node has neither features nor a label and is in no split, whereas most published \
             results assign class 0 to such nodes"]
    );
}

#[test]
fn rejects_inconsistent_files() {
    let cases = [
        (TEST_INDEX, b"6\n3\n".to_vec(), ".test.index:2: `3`; expected a node from 4 to 6"),
        (TEST_INDEX, b"6\n\n6".to_vec(), ".test.index:3: duplicate node 6"),
        (TEST_INDEX, b"6\n-4\n".to_vec(), ".test.index:2: `-4`; expected a node from 4 to 6"),
        (TEST_INDEX, b"\xff\n".to_vec(), ".test.index:1: `\\xff`; expected a node from 4 to 6"),
        (
            TEST_INDEX,
            b"6\n".to_vec(),
            ".test.index: 1 node; expected 2, the number of rows of `tx`",
        ),
        (TX, sparse(3, &[&[2]]), ".ty: 2 rows; expected 1, as in `tx`"),
        (
            TX,
            sparse(4, &[&[2], &[0]]),
            ".tx: features: 4, classes: 2; expected 3 and 2, as in `allx` and `ally`",
        ),
        (
            ALLX,
            sparse(3, &[&[0], &[1, 3], &[], &[2]]),
            ".allx: row 1 has column 3; expected columns below 3",
        ),
        (ALLX, b"N.".to_vec(), ".allx: expected a pickled `csr_matrix`"),
        (Y, classes(&[Some(0), Some(0)]), ".y: expected the first rows of `ally`"),
        (ALLY, classes(&[]), ".ally: rows: 0, classes: 2; expected at least one of each"),
        (
            GRAPH,
            neighbours(&[&[7][..]; 7]),
            ".graph: node 7 in the edge list, but the graph has 7 nodes",
        ),
        (
            GRAPH,
            neighbours(&[&[1], &[0]]),
            ".allx: 4 rows; expected at most 2, the number of nodes",
        ),
        (GRAPH, b"}(K\0]K\0]u.".to_vec(), ".graph: duplicate node 0"),
        (
            GRAPH,
            b"}(K\x01]u.".to_vec(),
            ".graph: neighbours of node 1; expected a node from 0 to 0",
        ),
        (
            GRAPH,
            b"}(K\0]J\xff\xff\xff\xffau.".to_vec(),
            ".graph: node 0 has the invalid neighbour -1",
        ),
        (GRAPH, b"}.".to_vec(), ".graph: the graph has no nodes; expected at least one"),
        (GRAPH, b"].".to_vec(), ".graph: expected a dictionary of neighbours"),
    ];
    for (part, bytes, message) in cases {
        assert_eq!(
            SmallPlanetoid::new().with(part, bytes).read_error(),
            format!("ind.small{message}")
        );
    }
    let two = array("i4", &[1, 2], &le(&[1, 1]));
    let two = SmallPlanetoid::new().with(Y, [&two[..], b"."].concat());
    assert_eq!(two.read_error(), "ind.small.y: row 0 has several classes; expected at most one");
}

#[test]
fn limits_memory_of_shared_lists() {
    let mut bytes = b"}(K\0](".to_vec();
    bytes.extend(b"K\0".repeat(200));
    bytes.extend(b"eq\x01");
    (1..200).for_each(|node| bytes.extend([b'K', node, b'h', 1]));
    bytes.extend(b"u.");
    let error = SmallPlanetoid::new().with(GRAPH, bytes).read_error();
    assert_eq!(error, "ind.small.graph: more neighbours than the file can contain");
}

#[test]
fn error_includes_the_missing_file() {
    let error = read(Path::new("nowhere"), "cora").unwrap_err().to_string();
    assert!(error.starts_with("nowhere/ind.cora.x: "), "{error}");
}
