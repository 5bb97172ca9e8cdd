//! One file for a whole data set, which can be mapped into memory: `NAME.graph`.
//!
//! It is a safetensors file, so other programs open it without us:
//!
//! ```python
//! from safetensors.numpy import load_file
//! from scipy.sparse import csr_array
//!
//! g = load_file("cora.graph")
//! indices, offsets = g["adjacency.indices"], g["adjacency.offsets"]
//! adjacency = csr_array((indices >= 0, indices, offsets))    # symmetric, without loops
//! train = g["split.geom:0"] == 1                             # if that split came with the data
//! ```
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `adjacency.offsets`, `adjacency.indices` | u64 `[n + 1]`, u32 | compressed rows, both directions, ascending |
//! | `features` | f32 `[n, d]` | or else sparse: |
//! | `features.offsets`, `features.indices` | u64 `[n + 1]`, u32 | compressed rows, ascending |
//! | `features.values` | f32 | not there when all are 1 |
//! | `labels` | i32 `[n]` | -1 is not known |
//! | `split.NAME` | u8 `[n]` | 0 none, 1 train, 2 val, 3 test |
//! | `names.offsets`, `names.bytes` | u64 `[n + 1]`, u8 | UTF-8; not there when nodes are called by numbers |
//!
//! The metadata are texts: `checksum`, `format`, `name`, `source`, `metric`, `columns` (of sparse
//! features), and as JSON lists `classes`, `splits` and `warnings`.
//!
//! The checksum is XXH3-64 over the whole file with zeros in its own place, and is verified at every
//! reading: 60 MB take 10 ms, sha256 would take 42 ms with instructions made for it.
//! It finds damage; what a run has seen is told by [`Dataset::sha256`].
//! A good checksum proves nothing about the content: every number is checked as if it came from an
//! enemy, and no file makes the reader allocate more than a small multiple of its size.

mod header;
mod read;
mod write;

use super::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Bytes;
use std::path::Path;

/// Maps a file and checks it; its adjacency stays in the file.
///
/// Nobody may change the file in place while the data set lives; to write beside it and rename, as
/// [`save`] does, is fine.
pub fn open(path: &Path) -> Result<Dataset> {
    // SAFETY: graph files are replaced by renaming and never changed in place; the docs above
    // require the same of other programs.
    let bytes = unsafe { Bytes::map(path) }.map_err(Error::io(path))?;
    read_bytes(&path.display().to_string(), bytes)
}

/// The same for bytes; `place` names them in errors.
///
/// ```
/// use clenshaw::data::{self, graph_file};
/// let cora = data::load("cora")?;
/// let again = graph_file::read_bytes("it", graph_file::to_bytes(&cora))?;
/// assert_eq!(again.sha256(), cora.sha256());
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: impl Into<Bytes>) -> Result<Dataset> {
    read::File::open(place, bytes.into())?.dataset(Graph::from_adjacency)
}

/// The bytes of a file.
pub fn to_bytes(dataset: &Dataset) -> Vec<u8> {
    write::Parts::of(dataset, None).concat()
}

/// Writes a file beside, then renames; returns its size.
pub fn save(dataset: &Dataset, path: &Path) -> Result<u64> {
    write::Parts::of(dataset, None).save(path)
}

/// The same with a mark by which [`open_stamped`] knows it again.
pub(super) fn save_stamped(dataset: &Dataset, stamp: &str, path: &Path) -> Result<u64> {
    write::Parts::of(dataset, Some(stamp)).save(path)
}

/// Maps a file if it has this mark and is good.
///
/// Whoever could forge it could change its sources, so the adjacency is looked at less closely.
pub(super) fn open_stamped(path: &Path, stamp: &str) -> Option<Dataset> {
    let place = path.display().to_string();
    // SAFETY: the cache replaces its files by renaming and never changes them in place.
    let bytes = unsafe { Bytes::map(path) }.ok()?;
    let file = read::File::open(&place, bytes).ok()?;
    match file.stamp() == Some(stamp) {
        true => file.dataset(Graph::from_own_adjacency).ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests;
