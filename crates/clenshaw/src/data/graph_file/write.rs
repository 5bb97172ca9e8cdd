//! From a data set to a file: the header, then the tensors, widest numbers first.

use super::header::{
    CHECKSUM_AT, Entry, FORMAT, Header, Metadata, NO_CHECKSUM, OPENING, PREFIX, Stored, checksum,
};
use crate::data::{Dataset, Features, FixedSplit};
use crate::error::{Error, Result};
use crate::tensor::little_endian_bytes;
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The pieces of a file, in order.
pub struct Parts<'a> {
    header: Vec<u8>,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: String,
    dtype: &'static str,
    /// Bytes a number.
    width: usize,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Section<'a> {
    fn list<T: Stored>(name: &str, numbers: &'a [T]) -> Self {
        let (shape, bytes) = (vec![numbers.len()], little_endian_bytes(numbers));
        Self { name: name.into(), dtype: T::DTYPE, width: T::WIDTH, shape, bytes }
    }

    /// The same for numbers that were made for it.
    fn made<T: Stored>(name: &str, numbers: &[T]) -> Section<'static> {
        let Section { name, dtype, width, shape, bytes } = Section::list(name, numbers);
        Section { name, dtype, width, shape, bytes: bytes.into_owned().into() }
    }
}

impl<'a> Parts<'a> {
    /// The checksum included.
    pub fn of(dataset: &'a Dataset, stamp: Option<&str>) -> Self {
        let mut sections = sections(dataset);
        // With the widest first, every tensor is aligned to its numbers.
        sections.sort_by_key(|section| std::cmp::Reverse(section.width));
        let mut parts = Self { header: header(dataset, stamp, &sections), sections };
        let sum = checksum(parts.pieces());
        parts.header[CHECKSUM_AT..][..sum.len()].copy_from_slice(sum.as_bytes());
        parts
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.header[..]).chain(self.sections.iter().map(|s| &*s.bytes))
    }

    /// The whole file.
    pub fn concat(&self) -> Vec<u8> {
        self.pieces().collect::<Vec<_>>().concat()
    }

    /// Writes beside, then renames; returns the number of bytes.
    pub fn save(&self, path: &Path) -> Result<u64> {
        let beside = beside(path);
        let written = self.write(&beside).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.map_err(Error::io(path))?;
        Ok(self.pieces().map(|piece| piece.len() as u64).sum())
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = File::create(path)?;
        self.pieces().try_for_each(|piece| file.write_all(piece))
    }
}

/// A name of its own for everybody who writes the same file at the same time.
fn beside(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{number}.partial", std::process::id()))
}

fn header(dataset: &Dataset, stamp: Option<&str>, sections: &[Section<'_>]) -> Vec<u8> {
    let mut end = 0;
    let entry = |section: &Section<'_>| {
        let start = end;
        end += section.bytes.len();
        let (dtype, shape) = (section.dtype.into(), section.shape.clone());
        (section.name.clone(), Entry { dtype, shape, data_offsets: [start, end] })
    };
    let columns = match &dataset.x {
        Features::Dense(_) => None,
        Features::Sparse { pattern, .. } => Some(pattern.n_cols().to_string()),
    };
    let metadata = Metadata {
        checksum: NO_CHECKSUM.into(),
        format: FORMAT.into(),
        name: dataset.name.clone(),
        source: dataset.source.clone(),
        metric: dataset.metric,
        columns,
        classes: dataset.class_names.clone(),
        splits: dataset.splits.iter().map(|split| split.name.clone()).collect(),
        warnings: dataset.warnings.clone(),
        stamp: stamp.map(Into::into),
    };
    let header = Header { metadata, tensors: sections.iter().map(entry).collect() };
    let mut text = serde_json::to_string(&header).expect("its keys are texts");
    debug_assert!(text.starts_with(OPENING));
    // The data begin at a multiple of the widest number.
    while !text.len().is_multiple_of(PREFIX) {
        text.push(' ');
    }
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn sections(dataset: &Dataset) -> Vec<Section<'_>> {
    let adjacency = dataset.graph.adjacency();
    let mut sections = vec![
        Section::list("adjacency.offsets", adjacency.offsets()),
        Section::list("adjacency.indices", adjacency.indices()),
    ];
    match &dataset.x {
        Features::Dense(x) => {
            let shape = vec![x.rows(), x.cols()];
            sections.push(Section { shape, ..Section::list("features", x.as_slice()) });
        }
        Features::Sparse { pattern, values } => {
            sections.push(Section::list("features.offsets", pattern.offsets()));
            sections.push(Section::list("features.indices", pattern.indices()));
            if values.iter().any(|&value| value != 1.0) {
                sections.push(Section::list("features.values", values));
            }
        }
    }
    let label = |label: &Option<u32>| label.map_or(-1, |class| class as i32);
    sections.push(Section::made("labels", &dataset.y.iter().map(label).collect::<Vec<i32>>()));
    sections.extend(dataset.splits.iter().map(|split| parts_of(split, dataset.y.len())));
    if !dataset.node_names.is_empty() {
        sections.extend(names(&dataset.node_names));
    }
    sections
}

fn parts_of(fixed: &FixedSplit, n_nodes: usize) -> Section<'static> {
    let mut parts = vec![0u8; n_nodes];
    let split = &fixed.split;
    for (part, nodes) in (1..).zip(split.parts()) {
        nodes.iter().for_each(|&node| parts[node as usize] = part);
    }
    Section::made(&format!("split.{}", fixed.name), &parts)
}

fn names(names: &[String]) -> [Section<'static>; 2] {
    let mut ends = vec![0];
    for name in names {
        ends.push(ends[ends.len() - 1] + name.len());
    }
    let bytes = names.concat().into_bytes();
    [Section::made("names.offsets", &ends), Section::made("names.bytes", &bytes)]
}
