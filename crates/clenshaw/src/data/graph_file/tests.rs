//! Round trips, damaged files, and invalid files with a correct checksum.

use super::header::{CHECKSUM_AT, LENGTH_BYTES, NO_CHECKSUM, checksum};
use super::*;
use crate::data::{Features, FixedSplit, Metric, Split};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern};
use proptest::prelude::*;
use safetensors::SafeTensors;

const DENSE: usize = 0;
const SPARSE_ONES: usize = 2;

/// Small graphs with dense or sparse features, missing labels, non-ASCII names and splits.
fn datasets() -> impl Strategy<Value = Dataset> {
    let sizes = (2..12usize, 1..5usize, 0..3usize);
    sizes.prop_flat_map(|(n, d, encoding)| {
        let edges = prop::collection::vec((0..n as u32, 0..n as u32), 0..20);
        let values = prop::collection::vec(-2..3i8, n * d);
        let labels = prop::collection::vec(prop::option::of(0..3u32), n);
        let parts = prop::collection::vec(prop::collection::vec(0..4usize, n), 0..3);
        (edges, values, labels, parts, "\\PC{0,8}").prop_map(move |drawn| {
            let (edges, values, mut y, parts, name) = drawn;
            (y[0], y[1]) = (Some(0), Some(2));
            let values: Vec<f32> = values.into_iter().map(f32::from).collect();
            let graph = Graph::from_edges("test", n, &edges).unwrap();
            let x = features(n, d, &values, encoding);
            let class_names = ["é", "", "third"].map(String::from).to_vec();
            Dataset {
                source: "generated".into(),
                warnings: vec![name.clone(); d],
                node_names: (0..n * (d % 2)).map(|node| format!("{name}{node}")).collect(),
                splits: parts.iter().enumerate().map(|(i, parts)| split(i, parts)).collect(),
                metric: if d == 2 { Metric::RocAuc } else { Metric::Accuracy },
                ..Dataset::new(name, graph, x, y, class_names)
            }
        })
    })
}

fn split(i: usize, parts: &[usize]) -> FixedSplit {
    let name = format!("fixed:{i}");
    let part = |wanted| (0..parts.len() as u32).filter(move |&node| parts[node as usize] == wanted);
    let split = Split::new(&name, [1, 2, 3].map(|wanted| part(wanted).collect())).unwrap();
    FixedSplit { name, split }
}

fn features(n: usize, d: usize, values: &[f32], encoding: usize) -> Features {
    if encoding == DENSE {
        return Features::Dense(Mat::from_vec(n, d, values.to_vec()));
    }
    let (mut offsets, mut indices, mut stored) = (vec![0], vec![], vec![]);
    for row in values.chunks(d) {
        for (j, &value) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            stored.push(if encoding == SPARSE_ONES { 1.0 } else { value });
        }
        offsets.push(indices.len());
    }
    Features::Sparse { pattern: Pattern::new(d, offsets, indices), values: stored }
}

/// Two named nodes with an edge and a split.
fn pair() -> Dataset {
    let graph = Graph::from_edges("pair", 2, &[(0, 1)]).unwrap();
    let x = Features::Dense(Mat::from_vec(2, 1, vec![0.5, 1.5]));
    let classes = vec!["left".into(), "right".into()];
    let names = vec!["a".into(), "bé".into()];
    let pair = Dataset::new("pair", graph, x, vec![Some(0), Some(1)], classes);
    Dataset { node_names: names, splits: vec![split(0, &[1, 3])], ..pair }
}

/// Returns the bytes with a correct checksum.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let range = CHECKSUM_AT..CHECKSUM_AT + NO_CHECKSUM.len();
    bytes[range.clone()].copy_from_slice(NO_CHECKSUM.as_bytes());
    let sum = checksum([&bytes[..]]);
    bytes[range].copy_from_slice(sum.as_bytes());
    bytes
}

fn read_error(bytes: Vec<u8>) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

/// Returns the error after replacing `old` by `new`, of the same length, in the file of [`pair`].
fn error_after_replacing(old: &[u8], new: &[u8]) -> String {
    let mut bytes = to_bytes(&pair());
    let at = bytes.windows(old.len()).position(|window| window == old).expect("`old` occurs");
    bytes[at..at + old.len()].copy_from_slice(new);
    read_error(with_checksum(bytes))
}

/// Returns the error after changing the bytes of a tensor in the file of [`pair`].
fn error_after_changing_tensor(name: &str, change: impl Fn(&mut [u8])) -> String {
    let mut bytes = to_bytes(&pair());
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let data = file.tensor(name).unwrap().data().as_ptr_range();
    let start = data.start as usize - bytes.as_ptr() as usize;
    let length = data.end as usize - data.start as usize;
    change(&mut bytes[start..start + length]);
    read_error(with_checksum(bytes))
}

proptest! {
    #[test]
    fn round_trip_preserves_the_dataset(dataset in datasets()) {
        let bytes = to_bytes(&dataset);
        let back = read_bytes("test", bytes.clone()).unwrap();
        prop_assert_eq!(&back, &dataset);
        // The same file at an odd address.
        let shifted = [&[0][..], &bytes].concat().leak();
        prop_assert_eq!(&read_bytes("test", &shifted[1..]).unwrap(), &dataset);
        prop_assert_eq!(to_bytes(&back), bytes);
    }

    #[test]
    fn damage_is_detected(dataset in datasets(), at: prop::sample::Index, bit in 0..8u8) {
        let bytes = to_bytes(&dataset);
        let cut = bytes[..at.index(bytes.len())].to_vec();
        prop_assert!(read_bytes("test", cut).is_err());
        let mut flipped = bytes.clone();
        flipped[at.index(bytes.len())] ^= 1 << bit;
        prop_assert!(read_bytes("test", flipped).is_err());
    }

    #[test]
    fn changed_bytes_with_valid_checksum_cause_no_panic(
        dataset in datasets(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let mut bytes = to_bytes(&dataset);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_bytes("test", with_checksum(bytes.clone()));
        let end = CHECKSUM_AT + NO_CHECKSUM.len();
        bytes.truncate(end + cut.index(bytes.len() - end));
        let _ = read_bytes("test", with_checksum(bytes));
    }

    #[test]
    fn changed_tensors_with_valid_checksum_cause_no_panic(
        dataset in datasets(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8), 1..4),
    ) {
        let mut bytes = to_bytes(&dataset);
        let (length, _) = SafeTensors::read_metadata(&bytes).unwrap();
        let data = LENGTH_BYTES + length;
        for (at, byte) in changes {
            let at = data + at.index(bytes.len() - data);
            bytes[at] = byte;
        }
        let _ = read_bytes("test", with_checksum(bytes));
    }

    #[test]
    fn file_can_be_read_with_safetensors(dataset in datasets()) {
        let bytes = to_bytes(&dataset);
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let n = dataset.graph.n_nodes();
        let shape = |name| file.tensor(name).unwrap().shape().to_vec();
        prop_assert_eq!(shape("adjacency.offsets"), [n + 1]);
        prop_assert_eq!(shape("labels"), [n]);
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().as_ref().unwrap();
        prop_assert_eq!(&metadata["name"], &dataset.name);
        let classes: Vec<String> = serde_json::from_str(&metadata["classes"]).unwrap();
        prop_assert_eq!(classes, dataset.class_names);
    }
}

#[test]
fn opens_mapped_file_and_compares_stamp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pair.graph");
    let written = save_stamped(&pair(), "yesterday", &path).unwrap();
    assert_eq!(written, std::fs::metadata(&path).unwrap().len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    assert_eq!(open(&path).unwrap(), pair());
    assert_eq!(open_stamped(&path, "yesterday"), Some(pair()));
    assert_eq!(open_stamped(&path, "today"), None);
    save(&pair(), &path).unwrap();
    assert_eq!(open_stamped(&path, "yesterday"), None);
    assert!(save(&pair(), &folder.path().join("no/such/folder.graph")).is_err());
}

#[test]
fn rejects_other_files_and_formats() {
    let not_a_graph_file = "it: not a graph file; `clenshaw data import` writes one";
    assert_eq!(read_error(b"PK".to_vec()), not_a_graph_file);
    assert_eq!(read_error(vec![0; 100]), not_a_graph_file);
    let cut = to_bytes(&pair())[..CHECKSUM_AT + 3].to_vec();
    assert_eq!(read_error(cut), "it: the checksum is wrong; the file is damaged or truncated");
    assert_eq!(
        error_after_replacing(b"graph 1", b"graph 7"),
        "it: format `clenshaw graph 7`; this program reads `clenshaw graph 1`"
    );
}

#[test]
fn rejects_inconsistent_header() {
    assert_eq!(
        error_after_replacing(b"\"I32\"", b"\"U32\""),
        "it: `labels`: type U32; expected I32"
    );
    let invalid = "it: header: invalid shape, data type, or offset for tensor";
    assert!(error_after_replacing(b"[2,1]", b"[1,1]").starts_with(invalid));
    assert_eq!(
        error_after_replacing(b"\"labels\"", b"\"lapels\""),
        "it: `labels`: the tensor is missing"
    );
    assert_eq!(
        error_after_replacing(
            b"\"shape\":[3],\"data_offsets\":[0,24]",
            b"\"shape\":[9],\"data_offsets\":[0,72]"
        ),
        "it: header: invalid offset for tensor `names.offsets`"
    );
    assert_eq!(
        error_after_replacing(b"[2,1]", b"[2,x]").split(" at ").next(),
        Some("it: header: expected value")
    );
    let mut oversized = to_bytes(&pair());
    oversized[..LENGTH_BYTES].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read_error(with_checksum(oversized)), "it: the header is truncated");
}

#[test]
fn rejects_invalid_tensor_values() {
    let set = |at: usize, byte: u8| move |bytes: &mut [u8]| bytes[at] = byte;
    let cases = [
        ("adjacency.offsets", 0, 1, "`adjacency`: offsets go from 1 to 2; expected from 0 to 2"),
        ("adjacency.offsets", 8, 9, "`adjacency`: row 1 ends at 2 before it starts"),
        ("adjacency.indices", 0, 2, "`adjacency`: row 0: expected ascending columns below 2"),
        ("adjacency.indices", 0, 0, "`adjacency`: node 0 has a self-loop"),
        ("features", 7, 0x7f, "node 1, feature 0 is NaN; expected a finite number"),
        ("labels", 4, 2, "node 1 has label 2, but there are 2 classes"),
        (
            "labels",
            7,
            0x80,
            "`labels`: label of node 1 is -2147483647; expected a class number, or -1 if unknown",
        ),
        ("split.fixed:0", 1, 4, "`split.fixed:0`: value of node 1 is 4; expected 0 to 3"),
        (
            "names.offsets",
            8,
            3,
            "`names.offsets`: name of node 0 is at bytes 0 to 3; expected UTF-8 text",
        ),
        (
            "names.offsets",
            16,
            9,
            "`names.offsets`: name of node 1 is at bytes 1 to 9; expected UTF-8 text",
        ),
        ("names.bytes", 1, 0xff, "`names.bytes`: byte 1 is not valid UTF-8"),
    ];
    for (name, at, byte, message) in cases {
        assert_eq!(error_after_changing_tensor(name, set(at, byte)), format!("it: {message}"));
    }
    let one_way = error_after_changing_tensor("adjacency.offsets", |bytes| bytes[8] = 2);
    assert_eq!(one_way, "it: `adjacency`: row 0: expected ascending columns below 2");
}
