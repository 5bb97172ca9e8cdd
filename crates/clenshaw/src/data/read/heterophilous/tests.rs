//! Valid, inconsistent and damaged files.

use super::super::array::MemoryOrder;
use super::super::npy::tests::file;
use super::super::npz::tests::npz;
use super::*;
use proptest::prelude::*;

fn le<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

/// A path of four nodes with a duplicate edge and a loop; two splits in Fortran order.
pub(crate) fn arrays() -> Vec<(&'static str, Vec<u8>)> {
    let x = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0f32];
    let edges = [0, 1, 1, 2, 2, 1, 3, 2, 3, 3i64];
    // Columns of [[1, 0, 0, 0], [0, 0, 0, 1]] and so on.
    let masks = |columns: &[u8; 8]| file("|b1", MemoryOrder::Fortran, &[2, 4], columns);
    vec![
        ("node_features", file("<f4", MemoryOrder::C, &[4, 2], &le(&x, f32::to_le_bytes))),
        ("node_labels", file("<i8", MemoryOrder::C, &[4], &le(&[0, 1, 2, 1], i64::to_le_bytes))),
        ("edges", file("<i8", MemoryOrder::C, &[5, 2], &le(&edges, i64::to_le_bytes))),
        ("train_masks", masks(&[1, 0, 0, 0, 0, 0, 0, 1])),
        ("val_masks", masks(&[0, 1, 1, 0, 0, 0, 0, 0])),
        ("test_masks", masks(&[0, 0, 0, 1, 1, 0, 0, 0])),
    ]
}

fn with(name: &str, array: Vec<u8>) -> Vec<u8> {
    let mut arrays = arrays();
    let (_, old) = arrays.iter_mut().find(|(known, _)| *known == name).unwrap();
    *old = array;
    npz(&arrays)
}

fn read_error(bytes: &[u8]) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

#[test]
fn reads_dataset() {
    let dataset = read_bytes("it", &npz(&arrays())).unwrap().checked().unwrap();
    assert_eq!(dataset.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(dataset.y, [Some(0), Some(1), Some(2), Some(1)]);
    assert_eq!(dataset.class_names, ["0", "1", "2"]);
    // Two of eight entries: a quarter.
    assert!(matches!(&dataset.x, Features::Sparse { values, .. } if *values == [1.0, -2.0]));
    assert_eq!(dataset.x.to_dense().row(3), [0.0, -2.0]);
    let names: Vec<&str> = dataset.splits.iter().map(|split| &*split.name).collect();
    assert_eq!(names, ["fixed:0", "fixed:1"]);
    let parts = |i: usize| {
        let split = &dataset.splits[i].split;
        split.parts().map(<[u32]>::to_vec)
    };
    assert_eq!(parts(0), [vec![0], vec![1], vec![2]]);
    assert_eq!(parts(1), [vec![3], vec![0], vec![1]]);
}

#[test]
fn features_above_a_quarter_are_dense() {
    let x = vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert!(matches!(features(4, 2, x), Features::Dense(_)));
}

#[test]
fn rejects_inconsistent_arrays() {
    let edge =
        |u: i64, v: i64| file("<i8", MemoryOrder::C, &[1, 2], &le(&[u, v], i64::to_le_bytes));
    let range = "expected an integer from 0 to 4294967295";
    let cases = [
        ("edges", edge(0, 4), "edges: node 4 in the edge list, but the graph has 4 nodes".into()),
        ("edges", edge(-1, 0), format!("edges: entry 0 is -1; {range}")),
        ("edges", edge(0, 1 << 40), format!("edges: entry 1 is 1099511627776; {range}")),
        (
            "edges",
            file("|u1", MemoryOrder::C, &[2, 3], &[0; 6]),
            "edges: shape (2, 3); expected (2, 2)".into(),
        ),
        (
            "node_features",
            file("|u1", MemoryOrder::C, &[3, 1], &[0; 3]),
            "node_features: shape (3, 1); expected (4, 1)".into(),
        ),
        (
            "node_labels",
            file("|u1", MemoryOrder::C, &[4], &[0, 1, 9, 0]),
            "node_labels: label of node 2 is 9; expected less than 4".into(),
        ),
        (
            "node_labels",
            file("|u1", MemoryOrder::C, &[4, 1], &[0; 4]),
            "node_labels: shape (4, 1); expected one dimension".into(),
        ),
        (
            "val_masks",
            file("|u1", MemoryOrder::C, &[1, 4], &[0; 4]),
            "val_masks: shape (1, 4); expected (2, 4)".into(),
        ),
        (
            "val_masks",
            file("|u1", MemoryOrder::C, &[2, 4], &[0, 1, 0, 0, 0, 0, 0, 1]),
            "split `fixed:1`: node 3 occurs twice".into(),
        ),
    ];
    for (name, array, message) in cases {
        assert_eq!(read_error(&with(name, array)), format!("it: {message}"));
    }
    assert_eq!(
        read_error(&npz(&arrays()[..2])),
        "it: no array `edges`; the file has: node_features, node_labels"
    );
    let none = with("node_labels", file("|u1", MemoryOrder::C, &[0], &[]));
    assert!(read_error(&none).contains("node_features: shape (4, 2); expected (0, 2)"));
}

proptest! {
    #[test]
    fn damaged_arrays_cause_no_panic(
        array in 0..6usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut damaged = arrays();
        let bytes = &mut damaged[array].1;
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_bytes("it", &npz(&damaged));
    }
}
