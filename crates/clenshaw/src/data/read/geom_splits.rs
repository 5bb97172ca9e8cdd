//! Geom-GCN's ten splits of a graph, and splits given by masks.
//!
//! ```text
//! <folder>/splits/<name>_split_0.6_0.2_{0..9}.npz    train_mask, val_mask, test_mask, each of length n
//! ```
//!
//! Despite the file names, the masks select 48/32/20 percent of the nodes.
//! Some nodes are in no part: Cora's masks only cover the largest component.
//! Pei et al., ICLR 2020, arXiv:2002.05287.

use super::npz;
use crate::data::{FixedSplit, Split};
use crate::error::{Error, Result};
use std::path::Path;

const N_SPLITS: usize = 10;
const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];

/// Reads the splits `geom:0` to `geom:9` of a data set; `name` is the first part of the file names.
///
/// Returns an empty list if the first file is missing; it is an error if another one is.
pub fn geom_splits(folder: &Path, name: &str, n_nodes: usize) -> Result<Vec<FixedSplit>> {
    let path = |i| folder.join("splits").join(format!("{name}_split_0.6_0.2_{i}.npz"));
    if !path(0).exists() {
        return Ok(vec![]);
    }
    let read = |i| {
        let bytes = crate::files::read(&path(i))?;
        read_bytes(&path(i).display().to_string(), &format!("geom:{i}"), &bytes, n_nodes)
    };
    (0..N_SPLITS).map(read).collect()
}

/// Reads the split `name` from the bytes of one file; an error if the file is malformed, or if the masks
/// overlap or are not of length `n_nodes`. Errors refer to the file as `place`.
pub fn read_bytes(place: &str, name: &str, bytes: &[u8], n_nodes: usize) -> Result<FixedSplit> {
    let npz = npz::read_bytes(place, bytes)?;
    let mask = |key| {
        let mask = npz.array(key)?;
        match mask.length()? {
            n if n == n_nodes => mask.to_bool(),
            n => Err(Error::Data {
                place: format!("{place}: {key}"),
                problem: format!("a mask of length {n}; expected {n_nodes}, the number of nodes"),
            }),
        }
    };
    let [train, val, test] = MASKS.map(mask);
    from_masks(place, name, [&train?, &val?, &test?])
}

/// Builds a split from three masks of equal length; an error if they overlap.
pub(super) fn from_masks(place: &str, name: &str, masks: [&[bool]; 3]) -> Result<FixedSplit> {
    let parts = masks.map(|mask| {
        let nodes = (0u32..).zip(mask).filter(|(_, selected)| **selected);
        nodes.map(|(node, _)| node).collect()
    });
    fixed_split(place, name, parts)
}

/// Builds a split from its training, validation and test nodes; an error if a node occurs twice.
pub(super) fn fixed_split(place: &str, name: &str, parts: [Vec<u32>; 3]) -> Result<FixedSplit> {
    let split = Split::new(name, parts).map_err(|error| match error {
        Error::Split { problem, .. } => {
            Error::Data { place: place.into(), problem: format!("split `{name}`: {problem}") }
        }
        other => other,
    })?;
    Ok(FixedSplit { name: name.into(), split })
}

/// Removes the nodes without a label from splits. Parts may become empty.
pub(super) fn retain_labelled(
    splits: Vec<FixedSplit>,
    y: &[Option<u32>],
) -> Result<Vec<FixedSplit>> {
    let is_labelled = |node: &u32| y.get(*node as usize).is_some_and(Option::is_some);
    let retain = |FixedSplit { name, split }: FixedSplit| {
        let parts = split.parts().map(|part| part.iter().copied().filter(is_labelled).collect());
        fixed_split(&name, &name, parts)
    };
    splits.into_iter().map(retain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::array::MemoryOrder;
    use super::super::npy::tests::file;
    use super::super::npz::tests::npz;
    use super::*;

    fn masks(train: &[u8], val: &[u8], test: &[u8]) -> Vec<u8> {
        let array = |descr, mask: &[u8]| file(descr, MemoryOrder::C, &[mask.len()], mask);
        npz(&[
            ("train_mask", array("|b1", train)),
            ("val_mask", array("|u1", val)),
            ("test_mask", array("|u1", test)),
        ])
    }

    fn read_error(bytes: &[u8]) -> String {
        read_bytes("it", "geom:3", bytes, 4).unwrap_err().to_string()
    }

    #[test]
    fn reads_bool_and_integer_masks() {
        let bytes = masks(&[0, 1, 0, 1], &[1, 0, 0, 0], &[0; 4]);
        let FixedSplit { name, split } = read_bytes("it", "geom:3", &bytes, 4).unwrap();
        assert_eq!(name, "geom:3");
        assert_eq!(split.parts(), [&[1, 3][..], &[0], &[]]);
        assert_eq!(split.provenance(), "geom:3: 2 train, 1 val, 0 test");
    }

    #[test]
    fn rejects_overlapping_and_malformed_masks() {
        assert_eq!(
            read_error(&masks(&[0, 1, 0, 1], &[0, 0, 0, 1], &[0; 4])),
            "it: split `geom:3`: node 3 occurs twice"
        );
        assert_eq!(
            read_error(&masks(&[0; 4], &[0; 4], &[0; 5])),
            "it: test_mask: a mask of length 5; expected 4, the number of nodes"
        );
        assert_eq!(
            read_error(&masks(&[0; 4], &[0, 0, 7, 0], &[0; 4])),
            "it: val_mask: entry 2 is 7; expected 0 or 1"
        );
    }

    #[test]
    fn removes_unlabelled_nodes() {
        let bytes = masks(&[1, 1, 0, 0], &[0, 0, 1, 0], &[0, 0, 0, 1]);
        let splits = vec![read_bytes("it", "geom:0", &bytes, 4).unwrap()];
        let splits = retain_labelled(splits, &[Some(0), None, Some(1), None]).unwrap();
        let split = &splits[0].split;
        assert_eq!(split.parts(), [&[0][..], &[2], &[]]);
    }

    #[test]
    fn requires_all_ten_splits_or_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(geom_splits(folder.path(), "small", 4).unwrap(), []);
        std::fs::create_dir(folder.path().join("splits")).unwrap();
        let path = |i| folder.path().join(format!("splits/small_split_0.6_0.2_{i}.npz"));
        let bytes = masks(&[1, 0, 0, 0], &[0, 1, 0, 0], &[0, 0, 1, 0]);
        (0..9).for_each(|i| std::fs::write(path(i), &bytes).unwrap());
        let error = geom_splits(folder.path(), "small", 4).unwrap_err();
        assert!(error.to_string().contains("small_split_0.6_0.2_9.npz"), "{error}");
        std::fs::write(path(9), &bytes).unwrap();
        let splits = geom_splits(folder.path(), "small", 4).unwrap();
        assert_eq!((splits.len(), &*splits[9].name), (10, "geom:9"));
    }
}
