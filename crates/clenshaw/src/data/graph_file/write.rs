//! Writes a graph file: the header, then the tensors, widest elements first.

use super::header::{
    CHECKSUM_AT, FORMAT, GraphHeader, GraphMetadata, LENGTH_BYTES, NO_CHECKSUM, OPENING,
    TensorElement, TensorEntry, checksum,
};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::Result;
use crate::files::write_atomically;
use crate::tensor::little_endian_bytes;
use std::borrow::Cow;
use std::path::Path;

/// The parts of a graph file, in order.
pub struct GraphFileWriter<'a> {
    header: Vec<u8>,
    sections: Vec<TensorSection<'a>>,
}

struct TensorSection<'a> {
    name: String,
    dtype: &'static str,
    /// Bytes per element.
    width: usize,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> TensorSection<'a> {
    fn borrowed<T: TensorElement>(name: &str, numbers: &'a [T]) -> Self {
        let (shape, bytes) = (vec![numbers.len()], little_endian_bytes(numbers));
        Self { name: name.into(), dtype: T::DTYPE, width: T::WIDTH, shape, bytes }
    }

    /// A section that owns its bytes.
    fn owned<T: TensorElement>(name: &str, numbers: &[T]) -> TensorSection<'static> {
        let TensorSection { name, dtype, width, shape, bytes } =
            TensorSection::borrowed(name, numbers);
        TensorSection { name, dtype, width, shape, bytes: bytes.into_owned().into() }
    }
}

impl<'a> GraphFileWriter<'a> {
    /// Encodes a data set, including the checksum.
    pub fn new(dataset: &'a Dataset, stamp: Option<&str>) -> Self {
        let mut sections = sections(dataset);
        // With the widest first, every tensor is aligned.
        sections.sort_by_key(|section| std::cmp::Reverse(section.width));
        let mut file = Self { header: header(dataset, stamp, &sections), sections };
        let sum = checksum(file.pieces());
        file.header[CHECKSUM_AT..][..sum.len()].copy_from_slice(sum.as_bytes());
        file
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.header[..]).chain(self.sections.iter().map(|s| &*s.bytes))
    }

    /// Returns the whole file.
    pub fn concat(&self) -> Vec<u8> {
        self.pieces().collect::<Vec<_>>().concat()
    }

    /// Writes the file; returns the number of bytes.
    pub fn save(&self, path: &Path) -> Result<u64> {
        write_atomically(path, self.pieces())?;
        Ok(self.pieces().map(|piece| piece.len() as u64).sum())
    }
}

fn header(dataset: &Dataset, stamp: Option<&str>, sections: &[TensorSection<'_>]) -> Vec<u8> {
    let mut end = 0;
    let entry = |section: &TensorSection<'_>| {
        let start = end;
        end += section.bytes.len();
        let (dtype, shape) = (section.dtype.into(), section.shape.clone());
        (section.name.clone(), TensorEntry { dtype, shape, data_offsets: [start, end] })
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
    // The data are aligned to the widest element.
    while !text.len().is_multiple_of(LENGTH_BYTES) {
        text.push(' ');
    }
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

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
        sections.extend(names(&dataset.node_names));
    }
    sections
}

fn split_section(fixed: &FixedSplit, n_nodes: usize) -> TensorSection<'static> {
    let mut parts = vec![0u8; n_nodes];
    let split = &fixed.split;
    for (part, nodes) in (1..).zip(split.parts()) {
        nodes.iter().for_each(|&node| parts[node as usize] = part);
    }
    TensorSection::owned(&format!("split.{}", fixed.name), &parts)
}

fn names(names: &[String]) -> [TensorSection<'static>; 2] {
    let mut ends = vec![0];
    for name in names {
        ends.push(ends[ends.len() - 1] + name.len());
    }
    let bytes = names.concat().into_bytes();
    [TensorSection::owned("names.offsets", &ends), TensorSection::owned("names.bytes", &bytes)]
}
