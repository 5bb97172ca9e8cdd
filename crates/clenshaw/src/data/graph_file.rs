//! `NAME.graph`: a data set in one file, which can be memory-mapped.
//!
//! The file is a safetensors file, which other programs can read:
//!
//! ```python
//! from safetensors.numpy import load_file
//! from scipy.sparse import csr_array
//!
//! g = load_file("cora.graph")
//! indices, offsets = g["adjacency.indices"], g["adjacency.offsets"]
//! n = len(offsets) - 1
//! adjacency = csr_array((indices >= 0, indices, offsets), shape=(n, n))    # symmetric, without loops
//! train = g["split.geom:0"] == 1                                           # if the data has this split
//! ```
//!
//! | tensor | type and shape | |
//! |---|---|---|
//! | `adjacency.offsets`, `adjacency.indices` | u64 `[n + 1]`, u32 | CSR, both directions, ascending |
//! | `adjacency.weights` | f32 | one per index; omitted if edges are unweighted |
//! | `features` | f32 `[n, f]` | dense; otherwise sparse: |
//! | `features.offsets`, `features.indices` | u64 `[n + 1]`, u32 | CSR, ascending |
//! | `features.values` | f32 | omitted if all are 1 |
//! | `labels` | i32 `[n]` | -1 if unknown |
//! | `split.NAME` | u8 `[n]` | 0 none, 1 train, 2 val, 3 test |
//! | `order` | u32 `[n]` or `[0]` | entries of the cache only: the order of nodes in memory, if not that of their numbers |
//! | `names.offsets`, `names.bytes` | u64 `[n + 1]`, u8 | UTF-8; omitted if nodes have no names |
//!
//! All metadata values are strings: `checksum`, `format`, `name`, `source`, `metric`, `columns` (of sparse
//! features) and, as JSON, the lists `classes`, `splits`, `warnings` and `notes` and the object `schema`.
//! Entries of the cache also have a `stamp`, which identifies their source files.
//!
//! The checksum is the XXH3-64 of the whole file, as 16 hexadecimal digits; it is computed with the
//! character `0` in place of each digit. It is verified whenever a file is read: hashing 60 MB takes 10 ms,
//! compared with 42 ms for hardware-accelerated SHA-256.
//! It detects damage; [`Dataset::sha256`] identifies the data of a run.
//! A valid checksum does not prove that the content is valid, so all numbers are checked, and reading
//! allocates at most a small multiple of the size of the file.

mod header;
mod read;
mod write;

use self::read::GraphFile;
use self::write::GraphFileWriter;
use super::Dataset;
use crate::error::Result;
use crate::tensor::Bytes;
use std::path::Path;

/// Memory-maps a file, verifies its checksum and checks its content. On 64-bit little-endian machines, the
/// adjacency and dense features are not copied. Fails if the file is missing, damaged or invalid.
///
/// The file must not be modified in place while the data set is in use; replacing it by a rename, as
/// [`save`] does, is allowed.
pub fn open(path: &Path) -> Result<Dataset> {
    // SAFETY: graph files are replaced by renaming and never changed in place; the docs above
    // require the same of other programs.
    let bytes = unsafe { Bytes::map(path) }?;
    read_bytes(&path.display().to_string(), bytes)
}

/// Reads and checks a data set from the bytes of a file, which errors refer to as `place`. Fails if they are
/// damaged or invalid.
///
/// ```
/// use clenshaw::data::{self, graph_file};
/// let cora = data::load("cora")?;
/// let again = graph_file::read_bytes("cora.graph", graph_file::to_bytes(&cora))?;
/// assert_eq!(again.sha256(), cora.sha256());
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_bytes(place: &str, bytes: impl Into<Bytes>) -> Result<Dataset> {
    GraphFile::open(place, bytes.into())?.dataset()
}

/// Returns the bytes of the graph file of a data set. They can be read only if [`Dataset::checked`] accepts the
/// data set, and its splits and node names match the graph.
///
/// # Panics
/// If a split contains a node that the graph does not have.
pub fn to_bytes(dataset: &Dataset) -> Vec<u8> {
    GraphFileWriter::new(dataset, None).concat()
}

/// Writes a graph file atomically, replacing an existing file; returns its size in bytes. See [`to_bytes`] for
/// the data sets that can be read again.
///
/// # Panics
/// As [`to_bytes`].
pub fn save(dataset: &Dataset, path: &Path) -> Result<u64> {
    GraphFileWriter::new(dataset, None).save(path)
}

/// Writes a graph file as [`save`] does, but fails if the path exists.
///
/// # Panics
/// As [`to_bytes`].
pub fn save_new(dataset: &Dataset, path: &Path) -> Result<u64> {
    GraphFileWriter::new(dataset, None).save_new(path)
}

/// Writes an entry of the cache: a graph file as [`save`] writes it, with the order of nodes in memory and a
/// stamp that [`open_stamped`] compares.
pub(super) fn save_stamped(dataset: &Dataset, stamp: &str, path: &Path) -> Result<u64> {
    GraphFileWriter::new(dataset, Some(stamp)).save(path)
}

/// Opens a file as [`open`] does; `None` if it is missing or invalid or has a different stamp.
pub(super) fn open_stamped(path: &Path, stamp: &str) -> Option<Dataset> {
    let place = path.display().to_string();
    // SAFETY: the cache replaces its files by renaming and never changes them in place.
    let bytes = unsafe { Bytes::map(path) }.ok()?;
    let file = GraphFile::open(&place, bytes).ok()?;
    if file.stamp() == Some(stamp) { file.dataset().ok() } else { None }
}

#[cfg(test)]
mod tests;
