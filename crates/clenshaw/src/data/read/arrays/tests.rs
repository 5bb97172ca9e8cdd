//! Arrays of PyTorch Geometric and SciPy: valid, inconsistent and damaged.

use super::super::array::MemoryOrder;
use super::super::npy::tests::file;
use super::super::npz::tests::npz;
use super::*;
use proptest::prelude::*;

/// `save_npz` of SciPy 1.17: `csr_matrix([[0, 1, 0], [1, 0, 2], [0, 0, 0]], dtype=float)`.
pub(crate) const SCIPY_FILE: &[u8] =
    b"PK\x03\x04-\0\0\0\x08\0\0\0!\0\xf3\xa0\xb2\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x0b\0\x14\0\
      indices.npy\x01\0\x10\0\x8c\0\0\0\0\0\0\0J\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\
      \xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93i\xa2\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\
      \x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\xc6:\x9a:\x0a\xb5\x0a\x14\0.F\
      \x06\x08`\x02b\0PK\x03\x04-\0\0\0\x08\0\0\0!\0`t\xb4\x18\xff\xff\xff\xff\xff\xff\xff\xff\
      \x0a\0\x14\0indptr.npy\x01\0\x10\0\x90\0\0\0\0\0\0\0L\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\
      \x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93i\xa2\xae\xa3\xa0\x9e\x96_TR\x94\
      \x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a&:\x9a:\x0a\xb5\x0a\
      \x14\0.\x06 `\x04bf(\x06\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xa3\xc3t\x97\xff\xff\xff\xff\xff\
      \xff\xff\xff\x0a\0\x14\0format.npy\x01\0\x10\0\x83\0\0\0\0\0\0\0E\0\0\0\0\0\0\0\x9b\xec\
      \x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0^\x13l\xac\xae\xa3\xa0\x9e\
      \x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\x9a:\
      \x0a\xb5\x0a\x14\x01\xae\xe4\xe2\"\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xf1\xd9\x16\xa2\xff\xff\
      \xff\xff\xff\xff\xff\xff\x09\0\x14\0shape.npy\x01\0\x10\0\x90\0\0\0\0\0\0\0I\0\0\0\0\0\0\0\
      \x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93i\xa1\xae\xa3\
      \xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\
      F:\x9a:\x0a\xb5\x0a\x14\0.f\x06\x08\x80\xd1\0PK\x03\x04-\0\0\0\x08\0\0\0!\0\xbf\xcb\x92\
      \xb3\xff\xff\xff\xff\xff\xff\xff\xff\x08\0\x14\0data.npy\x01\0\x10\0\x98\0\0\0\0\0\0\0M\0\
      \0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\x93f\
      \xa1\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\
      \x02\xf9\x1a\xc6:\x9a:\x0a\xb5\x0a\x14\0.\x060\xf8`\x8fJ38\0\0PK\x01\x02-\x03-\0\0\0\x08\0\
      \0\0!\0\xf3\xa0\xb2\xfeJ\0\0\0\x8c\0\0\0\x0b\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\0\0\0indices.\
      npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0`t\xb4\x18L\0\0\0\x90\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\
      \0\x80\x01\x87\0\0\0indptr.npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0\xa3\xc3t\x97E\0\0\0\x83\
      \0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x0f\x01\0\0format.npyPK\x01\x02-\x03-\0\0\0\x08\0\
      \0\0!\0\xf1\xd9\x16\xa2I\0\0\0\x90\0\0\0\x09\0\0\0\0\0\0\0\0\0\0\0\x80\x01\x90\x01\0\0shap\
      e.npyPK\x01\x02-\x03-\0\0\0\x08\0\0\0!\0\xbf\xcb\x92\xb3M\0\0\0\x98\0\0\0\x08\0\0\0\0\0\0\
      \0\0\0\0\0\x80\x01\x14\x02\0\0data.npyPK\x05\x06\0\0\0\0\x05\0\x05\0\x16\x01\0\0\x9b\x02\0\
      \0\0\0";

pub(crate) fn array(descr: &str, shape: &[usize], data: &[u8]) -> Vec<u8> {
    file(descr, MemoryOrder::C, shape, data)
}

/// The path 0 - 1 - 2 and other arrays.
pub(crate) fn path(others: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let edge_index = ("edge_index", array("|i1", &[2, 4], &[0, 1, 1, 2, 1, 2, 0, 2]));
    npz(&[&[edge_index], others].concat())
}

fn x() -> (&'static str, Vec<u8>) {
    ("x", array("|u1", &[3, 2], &[1, 2, 3, 4, 5, 6]))
}

fn y(labels: &[i8]) -> (&'static str, Vec<u8>) {
    let bytes: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
    ("y", array("|i1", &[labels.len()], &bytes))
}

fn read_error(bytes: &[u8]) -> String {
    read_bytes("x.npz", bytes).unwrap_err().to_string()
}

#[test]
fn reads_pytorch_geometric_arrays() {
    let masks = [
        ("train_mask", array("|b1", &[3, 2], &[1, 0, 0, 1, 0, 0])),
        ("val_mask", array("|b1", &[3, 2], &[0, 1, 1, 0, 0, 0])),
        ("test_mask", array("|b1", &[3, 2], &[0, 0, 0, 0, 1, 1])),
    ];
    let bytes = path(&[&[x(), y(&[1, 0, -1])], &masks[..]].concat());
    let dataset = read_bytes("x.npz", &bytes).unwrap().checked().unwrap();
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(dataset.x.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(dataset.y, [Some(1), Some(0), None]);
    assert_eq!(dataset.class_names, ["0", "1"]);
    let parts = |s: usize| {
        let FixedSplit { name, split } = &dataset.splits[s];
        (name.as_str(), split.parts())
    };
    // Node 2 has no label and is therefore in no part.
    assert_eq!(parts(0), ("fixed:0", [&[0][..], &[1], &[]]));
    assert_eq!(parts(1), ("fixed:1", [&[1][..], &[0], &[]]));
}

#[test]
fn reads_scipy_sparse_matrix() {
    let dataset = read_bytes("x.npz", SCIPY_FILE).unwrap();
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(dataset.y, [None; 3]);
    assert!(dataset.graph.weights().is_some());
    assert_eq!(dataset.x.n_cols(), 3, "one feature per node");
    assert_eq!(
        dataset.notes,
        [
            "the edges have weights; most models use them",
            "the edges in the file are directed; the directions are not used",
            "no feature columns: the nodes are one-hot encoded"
        ]
    );
}

fn sparse(format: &[u8; 3], shape: [u8; 2], others: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let parts = [
        ("format", array("|S3", &[], format)),
        ("shape", array("|u1", &[2], &shape)),
        ("indptr", array("|u1", &[4], &[0, 1, 3, 3])),
        ("indices", array("|u1", &[3], &[1, 0, 2])),
        ("data", array("|b1", &[3], &[1, 1, 0])),
    ];
    npz(&[&parts[..], others].concat())
}

#[test]
fn reads_features_and_labels_with_a_sparse_matrix() {
    let bytes = sparse(b"csc", [3, 3], &[x(), y(&[1, 0, 1])]);
    let dataset = read_bytes("x.npz", &bytes).unwrap().checked().unwrap();
    // The third entry is a stored zero.
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1)]);
    assert_eq!((dataset.x.n_cols(), dataset.warnings.len()), (2, 0));
    assert_eq!(
        read_error(&sparse(b"coo", [3, 3], &[])),
        "x.npz: format: `coo`; expected `csr` or `csc`; save `a.tocsr()`"
    );
    assert_eq!(
        read_error(&sparse(b"csr", [3, 4], &[])),
        "x.npz: shape: 3 x 4; expected a square matrix"
    );
    assert_eq!(
        read_error(&sparse(b"csr", [2, 2], &[])),
        "x.npz: offsets: 4, column indices: 3, values: 3; expected a sparse matrix of shape (2, 2)"
    );
    assert_eq!(
        read_error(&sparse(b"csr", [3, 3], &[y(&[0, 1])])),
        "x.npz: y: shape (2,); expected 3 rows, one per node"
    );
}

#[test]
fn reads_text_labels() {
    let labels = ("y", array("|S3", &[3], b"red\0\0\0no\0"));
    let dataset = read_bytes("x.npz", &path(&[x(), labels])).unwrap();
    assert_eq!(dataset.class_names, ["no", "red"]);
    assert_eq!(dataset.y, [Some(1), None, Some(0)]);
}

fn with_weight(weight: &str) -> TableOptions {
    TableOptions { weight: Some(weight.into()), ..TableOptions::new() }
}

#[test]
fn the_weights_of_a_matrix_are_its_values() {
    let read = |weight| {
        let options = with_weight(weight);
        parse("x.npz", SCIPY_FILE, Interpretation::Inferred(&options))
    };
    assert_eq!(
        read("minutes").unwrap_err().to_string(),
        "x.npz: the array of weights is `minutes`, but the weights of a sparse matrix are its values; \
         expected `data` or `none`"
    );
    assert!(read("data").unwrap().graph.weights().is_some());
    assert_eq!(read("none").unwrap().graph.weights(), None);
}

#[test]
fn the_choice_of_weights_is_part_of_the_schema() {
    let weights = ("edge_weight", array("|u1", &[4], &[1, 2, 3, 4]));
    let bytes = path(&[x(), y(&[1, 0, 1]), weights]);
    assert!(read_bytes("x.npz", &bytes).unwrap().graph.weights().is_some());
    let options = with_weight("none");
    let dataset = parse("x.npz", &bytes, Interpretation::Inferred(&options)).unwrap();
    let (schema, class_names) = (dataset.schema.unwrap(), dataset.class_names);
    let stored = Interpretation::Stored { schema: &schema, class_names: &class_names };
    let again = parse("x.npz", &bytes, stored).unwrap();
    assert_eq!((dataset.graph.weights(), again.graph.weights()), (None, None));
}

#[test]
fn rejects_inconsistent_arrays() {
    let mask = |name, shape: &[usize], mask: &[u8]| (name, array("|b1", shape, mask));
    let cases = [
        (npz(&[x()]), "x.npz: no array `edge_index`; the file has: x"),
        (path(&[]), "x.npz: no array `y`; the file has: edge_index"),
        (
            npz(&[("edge_index", array("|u1", &[1, 2], &[0, 1])), x()]),
            "x.npz: edge_index: shape (1, 2); expected (2, number of edges)",
        ),
        (
            npz(&[("edge_index", array("|i1", &[2, 1], &[0, 255])), x()]),
            "x.npz: edge_index: entry 1 is -1; expected an integer from 0 to 4294967295",
        ),
        (
            npz(&[("edge_index", array("<i8", &[2, 1], &[0, 0, 0, 0, 0, 1, 0, 0].repeat(2))), x()]),
            "x.npz: edge_index: entry 0 is 1099511627776; \
             expected an integer from 0 to 4294967295",
        ),
        (
            npz(&[("edge_index", array("|u1", &[2, 1], &[0, 3])), x()]),
            "x.npz: edge_index: node 3 in the edge list, but the graph has 3 nodes",
        ),
        (
            path(&[("x", array("|u1", &[1_000_000_000_000_000_000, 0], &[]))]),
            "x.npz: x: shape (1000000000000000000, 0); expected one non-empty row for each node",
        ),
        (path(&[x(), y(&[0, 1])]), "x.npz: y: shape (2,); expected 3 rows, one per node"),
        (path(&[x(), y(&[0, 1, 9])]), "x.npz: y: label of node 2 is 9; expected less than 3"),
        (
            path(&[x(), mask("train_mask", &[3], &[0; 3])]),
            "x.npz: no array `val_mask`; the file has: edge_index, x, train_mask",
        ),
        (
            path(&[
                x(),
                y(&[0, 1, 0]),
                mask("train_mask", &[3], &[1, 0, 1]),
                mask("val_mask", &[3], &[0, 1, 1]),
                mask("test_mask", &[3], &[0; 3]),
            ]),
            "x.npz: split `fixed:0`: node 2 occurs twice",
        ),
        (
            path(&[
                x(),
                mask("train_mask", &[3], &[0; 3]),
                mask("val_mask", &[3, 1], &[0; 3]),
                mask("test_mask", &[3], &[0; 3]),
            ]),
            "x.npz: val_mask: shape (3, 1); expected (3,), as for `train_mask`",
        ),
    ];
    for (bytes, problem) in cases {
        assert_eq!(read_error(&bytes), problem);
    }
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(
        cut: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mask = |name| (name, array("|b1", &[3], &[0; 3]));
        let masks = MASKS.map(mask);
        let whole = [path(&[&[x(), y(&[1, 0, -1])], &masks[..]].concat()), SCIPY_FILE.to_vec()];
        for mut bytes in whole {
            prop_assert!(read_bytes("x.npz", &bytes[..cut.index(bytes.len())]).is_err());
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let _ = read_bytes("x.npz", &bytes);
        }
    }

    /// Random arrays with correct checksums, which reach further than damaged archives.
    #[test]
    fn random_arrays_do_not_panic(
        shapes in prop::collection::vec((0..4usize, 0..4usize, 0..3usize), 8),
        fill: u8,
        compressed: bool,
    ) {
        let names = match compressed {
            true => ["format", "shape", "indptr", "indices", "data", "x", "y", "train_mask"],
            false => ["edge_index", "x", "y", "train_mask", "val_mask", "test_mask", "a", "b"],
        };
        let random_array = |(name, (n, m, kind)): (&'static str, (usize, usize, usize))| {
            let shape = [n, m];
            let shape = &shape[..1 + usize::from(kind > 0)];
            let size: usize = shape.iter().product();
            let entries: Vec<u8> = (0..size).map(|i| (i as u8).wrapping_mul(fill) % 5).collect();
            match name {
                "format" => (name, array("|S3", &[], b"csr")),
                _ => (name, array("|u1", shape, &entries)),
            }
        };
        let arrays: Vec<(&str, Vec<u8>)> = names.into_iter().zip(shapes).map(random_array).collect();
        let _ = read_bytes("x.npz", &npz(&arrays));
    }
}
