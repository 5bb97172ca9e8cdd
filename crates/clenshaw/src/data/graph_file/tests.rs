//! Written and read, damaged and hostile.

use super::header::{CHECKSUM_AT, NO_CHECKSUM, PREFIX, checksum};
use super::*;
use crate::data::{Features, FixedSplit, Metric, Split};
use crate::graph::Graph;
use crate::tensor::{Mat, Pattern};
use proptest::prelude::*;
use safetensors::SafeTensors;

const DENSE: usize = 0;
const SPARSE_ONES: usize = 2;

/// Small graphs with either kind of features, some labels missing, names beyond ASCII, splits.
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

/// Two nodes with names, an edge between them, and a split.
fn pair() -> Dataset {
    let graph = Graph::from_edges("pair", 2, &[(0, 1)]).unwrap();
    let x = Features::Dense(Mat::from_vec(2, 1, vec![0.5, 1.5]));
    let classes = vec!["left".into(), "right".into()];
    let names = vec!["a".into(), "bé".into()];
    let pair = Dataset::new("pair", graph, x, vec![Some(0), Some(1)], classes);
    Dataset { node_names: names, splits: vec![split(0, &[1, 3])], ..pair }
}

/// The same bytes under a checksum that fits.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let place = CHECKSUM_AT..CHECKSUM_AT + NO_CHECKSUM.len();
    bytes[place.clone()].copy_from_slice(NO_CHECKSUM.as_bytes());
    let sum = checksum([&bytes[..]]);
    bytes[place].copy_from_slice(sum.as_bytes());
    bytes
}

fn refused(bytes: Vec<u8>) -> String {
    read_bytes("it", bytes).unwrap_err().to_string()
}

/// What is said of a pair in whose header or data `old` became `new`, which is as long.
fn changed(old: &[u8], new: &[u8]) -> String {
    let mut bytes = to_bytes(&pair());
    let at = bytes.windows(old.len()).position(|window| window == old).expect("it is there");
    bytes[at..at + old.len()].copy_from_slice(new);
    refused(sealed(bytes))
}

/// What is said of a pair whose tensor has other bytes.
fn with_tensor(name: &str, change: impl Fn(&mut [u8])) -> String {
    let mut bytes = to_bytes(&pair());
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let data = file.tensor(name).unwrap().data().as_ptr_range();
    let start = data.start as usize - bytes.as_ptr() as usize;
    let length = data.end as usize - data.start as usize;
    change(&mut bytes[start..start + length]);
    refused(sealed(bytes))
}

proptest! {
    #[test]
    fn what_is_written_is_read(dataset in datasets()) {
        let bytes = to_bytes(&dataset);
        let back = read_bytes("test", bytes.clone()).unwrap();
        prop_assert_eq!(&back, &dataset);
        // Where the bytes are not aligned they are copied.
        let shifted = [&[0][..], &bytes].concat().leak();
        prop_assert_eq!(&read_bytes("test", &shifted[1..]).unwrap(), &dataset);
        prop_assert_eq!(to_bytes(&back), bytes);
    }

    #[test]
    fn damage_is_noticed(dataset in datasets(), at: prop::sample::Index, bit in 0..8u8) {
        let bytes = to_bytes(&dataset);
        let cut = bytes[..at.index(bytes.len())].to_vec();
        prop_assert!(read_bytes("test", cut).is_err());
        let mut flipped = bytes.clone();
        flipped[at.index(bytes.len())] ^= 1 << bit;
        prop_assert!(read_bytes("test", flipped).is_err());
    }

    /// Damage under a fresh checksum: whatever it means, reading it is no accident.
    #[test]
    fn hostile_bytes_do_not_panic(
        dataset in datasets(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let mut bytes = to_bytes(&dataset);
        for (at, byte) in wounds {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_bytes("test", sealed(bytes.clone()));
        let behind = CHECKSUM_AT + NO_CHECKSUM.len();
        bytes.truncate(behind + cut.index(bytes.len() - behind));
        let _ = read_bytes("test", sealed(bytes));
    }

    /// Only the data are damaged, so the readers of tensors see it.
    #[test]
    fn hostile_numbers_do_not_panic(
        dataset in datasets(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8), 1..4),
    ) {
        let mut bytes = to_bytes(&dataset);
        let (length, _) = SafeTensors::read_metadata(&bytes).unwrap();
        let data = PREFIX + length;
        for (at, byte) in wounds {
            let at = data + at.index(bytes.len() - data);
            bytes[at] = byte;
        }
        let _ = read_bytes("test", sealed(bytes));
    }

    #[test]
    fn other_programs_can_open_it(dataset in datasets()) {
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
fn a_file_is_mapped_and_knows_its_stamp() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pair.graph");
    let written = save_stamped(&pair(), "yesterday", &path).unwrap();
    assert_eq!(written, std::fs::metadata(&path).unwrap().len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    assert_eq!(open(&path).unwrap(), pair());
    assert_eq!(open_stamped(&path, "yesterday"), Some(pair()));
    assert_eq!(open_stamped(&path, "today"), None);
    save(&pair(), &path).unwrap();
    assert_eq!(open_stamped(&path, "yesterday"), None);
    assert!(save(&pair(), &folder.path().join("no/such/folder.graph")).is_err());
}

#[test]
fn other_files_and_formats_are_named() {
    let foreign = "it: not a graph file; `clenshaw data import` writes one";
    assert_eq!(refused(b"PK".to_vec()), foreign);
    assert_eq!(refused(vec![0; 100]), foreign);
    let cut = to_bytes(&pair())[..CHECKSUM_AT + 3].to_vec();
    assert_eq!(refused(cut), "it: the checksum does not fit; the file is damaged or cut off");
    assert_eq!(
        changed(b"graph 1", b"graph 7"),
        "it: format `clenshaw graph 7`; this program reads `clenshaw graph 1`"
    );
}

#[test]
fn a_header_that_lies_is_refused() {
    assert_eq!(changed(b"\"I32\"", b"\"U32\""), "it: `labels`: numbers are U32; expected I32");
    assert_eq!(changed(b"[2,1]", b"[1,1]"), "it: `features`: 2 numbers, but the shape is [1, 1]");
    assert_eq!(changed(b"\"labels\"", b"\"lapels\""), "it: `labels`: no such tensor");
    assert_eq!(
        changed(b"\"shape\":[3],\"data_offsets\":[0,24]", b"\"shape\":[9],\"data_offsets\":[0,72]"),
        "it: the tensors do not fill the file, or share parts of it"
    );
    assert_eq!(
        changed(b"[2,1]", b"[2,x]").split(" at ").next(),
        Some("it: header: expected value")
    );
    let mut endless = to_bytes(&pair());
    endless[..PREFIX].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(refused(sealed(endless)), "it: the header does not end");
}

#[test]
fn numbers_that_lie_are_refused() {
    let set = |place: usize, byte: u8| move |bytes: &mut [u8]| bytes[place] = byte;
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
            "`labels`: node 1 has -2147483647; expected a class, or -1 where none is known",
        ),
        ("split.fixed:0", 1, 4, "`split.fixed:0`: node 1 has 4; expected 0 to 3"),
        ("names.offsets", 8, 3, "`names.offsets`: node 0 has bytes 0 to 3; expected a text"),
        ("names.offsets", 16, 9, "`names.offsets`: node 1 has bytes 1 to 9; expected a text"),
        ("names.bytes", 1, 0xff, "`names.bytes`: not UTF-8 from byte 1"),
    ];
    for (name, place, byte, message) in cases {
        assert_eq!(with_tensor(name, set(place, byte)), format!("it: {message}"));
    }
    let one_way = with_tensor("adjacency.offsets", |bytes| bytes[8] = 2);
    assert_eq!(one_way, "it: `adjacency`: row 0: expected ascending columns below 2");
}
