//! Writes a graph file: the header, then the tensors, those with the widest elements first.

use super::header::{
    CHECKSUM_AT, FORMAT, GraphHeader, GraphMetadata, LENGTH_BYTES, NO_CHECKSUM, OPENING,
    TensorElement, checksum,
};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::Result;
use crate::files::{write_atomically, write_new_atomically};
use crate::tensor::little_endian_bytes;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use std::borrow::Cow;
use std::path::Path;

/// An encoded graph file: the header, and the tensors in the order of the file.
pub struct GraphFileWriter<'a> {
    header: Vec<u8>,
    sections: Vec<TensorSection<'a>>,
}

/// The name and content of one tensor.
struct TensorSection<'a> {
    name: String,
    dtype: Dtype,
    /// Bytes per element.
    width: usize,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> TensorSection<'a> {
    /// A one-dimensional tensor; the numbers are copied only if their bytes in memory differ from those in the
    /// file.
    fn borrowed<T: TensorElement>(name: &str, numbers: &'a [T]) -> Self {
        let (shape, bytes) = (vec![numbers.len()], little_endian_bytes(numbers));
        Self { name: name.into(), dtype: T::DTYPE, width: T::WIDTH, shape, bytes }
    }

    /// A one-dimensional tensor with a copy of the numbers.
    fn owned<T: TensorElement>(name: &str, numbers: &[T]) -> TensorSection<'static> {
        let TensorSection { name, dtype, width, shape, bytes } =
            TensorSection::borrowed(name, numbers);
        TensorSection { name, dtype, width, shape, bytes: bytes.into_owned().into() }
    }
}

impl<'a> GraphFileWriter<'a> {
    /// Encodes a data set. For a cache entry, `stamp` identifies the source files, and the order of nodes in
    /// memory is included.
    pub fn new(dataset: &'a Dataset, stamp: Option<&str>) -> Self {
        let mut sections = sections(dataset);
        if stamp.is_some() {
            let order = dataset.graph.node_order().map_or(&[][..], |order| order.nodes());
            sections.push(TensorSection::borrowed("order", order));
        }
        // In this order, every tensor is aligned to the width of its elements.
        sections.sort_by_key(|section| std::cmp::Reverse(section.width));
        let mut file = Self { header: header(dataset, stamp, &sections), sections };
        let sum = checksum(file.pieces());
        file.header[CHECKSUM_AT..][..sum.len()].copy_from_slice(sum.as_bytes());
        file
    }

    /// The header and the tensors, which make up the file.
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.header[..]).chain(self.sections.iter().map(|s| &*s.bytes))
    }

    /// Returns the bytes of the file.
    pub fn concat(&self) -> Vec<u8> {
        self.pieces().collect::<Vec<_>>().concat()
    }

    /// Writes the file atomically; returns its size in bytes.
    pub fn save(&self, path: &Path) -> Result<u64> {
        write_atomically(path, self.pieces())?;
        Ok(self.size())
    }

    /// Writes the file atomically, and fails if it exists; returns its size in bytes.
    pub fn save_new(&self, path: &Path) -> Result<u64> {
        write_new_atomically(path, self.pieces())?;
        Ok(self.size())
    }

    /// The size of the file in bytes.
    fn size(&self) -> u64 {
        self.pieces().map(|piece| piece.len() as u64).sum()
    }
}

/// Returns the length of the header and the header, with [`NO_CHECKSUM`] in place of the checksum.
fn header(dataset: &Dataset, stamp: Option<&str>, sections: &[TensorSection<'_>]) -> Vec<u8> {
    let mut end = 0;
    let entry = |section: &TensorSection<'_>| {
        let start = end;
        end += section.bytes.len();
        let (dtype, shape) = (section.dtype, section.shape.clone());
        (section.name.clone(), TensorInfo { dtype, shape, data_offsets: (start, end) })
    };
    let columns = match &dataset.x {
        Features::Dense(_) => None,
        Features::Sparse { pattern, .. } => Some(pattern.n_cols().to_string()),
    };
    let metadata = GraphMetadata {
        checksum: NO_CHECKSUM.into(),
        format: FORMAT.into(),
        name: dataset.name.clone(),
        source: dataset.source.clone(),
        metric: dataset.metric,
        columns,
        classes: dataset.class_names.clone(),
        splits: dataset.splits.iter().map(|split| split.name.clone()).collect(),
        warnings: dataset.warnings.clone(),
        notes: dataset.notes.clone(),
        schema: dataset
            .schema
            .as_ref()
            .map(|schema| serde_json::to_string(schema).expect("text and finite numbers")),
        stamp: stamp.map(Into::into),
    };
    let header = GraphHeader { metadata, tensors: sections.iter().map(entry).collect() };
    let mut text = serde_json::to_string(&header).expect("all keys are strings");
    debug_assert!(text.starts_with(OPENING));
    // The padding aligns the tensors to the widest elements, of 8 bytes.
    while !text.len().is_multiple_of(LENGTH_BYTES) {
        text.push(' ');
    }
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// Returns the tensors of a graph file, not yet ordered by width and without those of cache entries.
fn sections(dataset: &Dataset) -> Vec<TensorSection<'_>> {
    let adjacency = dataset.graph.adjacency();
    let mut sections = vec![
        TensorSection::borrowed("adjacency.offsets", adjacency.offsets()),
        TensorSection::borrowed("adjacency.indices", adjacency.indices()),
    ];
    if let Some(weights) = dataset.graph.weights() {
        sections.push(TensorSection::borrowed("adjacency.weights", weights));
    }
    match &dataset.x {
        Features::Dense(x) => {
            let shape = vec![x.rows(), x.cols()];
            sections
                .push(TensorSection { shape, ..TensorSection::borrowed("features", x.as_slice()) });
        }
        Features::Sparse { pattern, values } => {
            sections.push(TensorSection::borrowed("features.offsets", pattern.offsets()));
            sections.push(TensorSection::borrowed("features.indices", pattern.indices()));
            if values.iter().any(|&value| value != 1.0) {
                sections.push(TensorSection::borrowed("features.values", values));
            }
        }
    }
    let label = |label: &Option<u32>| {
        label.map_or(-1, |class| i32::try_from(class).expect("there are fewer than 2^31 classes"))
    };
    sections
        .push(TensorSection::owned("labels", &dataset.y.iter().map(label).collect::<Vec<i32>>()));
    sections.extend(dataset.splits.iter().map(|split| split_section(split, dataset.y.len())));
    if !dataset.node_names.is_empty() {
        sections.extend(name_sections(&dataset.node_names));
    }
    sections
}

/// Encodes a split as one number per node: 0 none, 1 train, 2 val, 3 test.
fn split_section(fixed: &FixedSplit, n_nodes: usize) -> TensorSection<'static> {
    let mut parts = vec![0u8; n_nodes];
    let split = &fixed.split;
    for (part, nodes) in (1..).zip(split.parts()) {
        nodes.iter().for_each(|&node| parts[node as usize] = part);
    }
    TensorSection::owned(&format!("split.{}", fixed.name), &parts)
}

/// Encodes node names as the position of each name and the text of all names.
fn name_sections(names: &[String]) -> [TensorSection<'static>; 2] {
    let mut offsets = vec![0];
    for name in names {
        offsets.push(offsets[offsets.len() - 1] + name.len());
    }
    let bytes = names.concat().into_bytes();
    [TensorSection::owned("names.offsets", &offsets), TensorSection::owned("names.bytes", &bytes)]
}
