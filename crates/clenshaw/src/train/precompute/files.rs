//! The terms of a filter in files, one per block of columns.
//!
//! ```text
//! <folder>/<digest of graph, features, scaling, operator and filter>/columns-0-16.terms
//!
//! bytes       content
//! ..          f32, little-endian, [matrices, n, w]
//! 8           XXH3-64 of the numbers
//! ```
//!
//! A file is written under a temporary name and renamed when it is complete. When it is found later, its length and
//! its checksum are verified; a damaged file is an error that names it, because it may belong to a process that is
//! still running.

use super::TermShape;
use crate::error::{Error, Result};
use crate::files::{self, PendingFile, read_at};
use crate::tensor::little_endian_bytes;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use twox_hash::xxhash3_64::Hasher;

const CHECKSUM_BYTES: u64 = 8;

/// Rows that are at most this far apart in a file are read together: the system reads whole pages anyway, and
/// further ahead if accesses are consecutive.
const MAX_GAP_BYTES: usize = 16 << 10;

/// The most rows that are read together, not counting those between them.
const MAX_PART: usize = 4096;

/// The bytes that are hashed or written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The files of one filter.
pub(super) struct TermFiles {
    folder: PathBuf,
    shape: TermShape,
    /// Ordered by column.
    blocks: Vec<BlockFile>,
}

/// A complete file.
pub(super) struct BlockFile {
    path: PathBuf,
    columns: Range<usize>,
    file: File,
}

/// A file that is being written.
pub(super) struct BlockWriter {
    pending: PendingFile,
    hasher: Hasher,
    path: PathBuf,
    columns: Range<usize>,
    /// The bytes of all files together, for errors.
    total: u64,
}

/// The name of a folder for terms that depend on these texts.
pub(super) fn folder_name(texts: &[&str]) -> String {
    let mut sha256 = Sha256::new();
    sha256.update("clenshaw terms 1");
    for text in texts {
        sha256.update(format!("\0{}\0{text}", text.len()));
    }
    sha256.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl TermFiles {
    /// Opens the folder, which is created if necessary, and verifies the files in it.
    pub fn open(folder: &Path, shape: TermShape) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        files::remove_partials(folder, |process| !files::is_running(process));
        let mut found = vec![];
        for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
            let path = entry.map_err(Error::io(folder))?.path();
            found.extend(columns_of(&path).map(|columns| (columns.start, columns.end, path)));
        }
        found.sort_unstable();
        let mut files = Self { folder: folder.into(), shape, blocks: vec![] };
        for (start, end, path) in found {
            // Processes with different budgets may have written blocks that overlap.
            if start >= files.blocks.last().map_or(0, |block| block.columns.end) {
                let block = BlockFile { file: files::open(&path)?, path, columns: start..end };
                block.verify(shape)?;
                files.blocks.push(block);
            }
        }
        Ok(files)
    }

    /// The ranges of columns that no file contains.
    pub fn missing_columns(&self) -> Vec<Range<usize>> {
        let n_features = self.shape.n_features;
        let starts = self.blocks.iter().map(|block| block.columns.start).chain([n_features]);
        let ends = std::iter::once(0).chain(self.blocks.iter().map(|block| block.columns.end));
        let mut missing: Vec<Range<usize>> =
            ends.zip(starts).map(|(end, start)| end..start).collect();
        missing.retain(|columns| !columns.is_empty());
        missing
    }

    /// Starts the file of a block.
    pub fn start(&self, columns: &Range<usize>) -> Result<BlockWriter> {
        let path = self.folder.join(format!("columns-{}-{}.terms", columns.start, columns.end));
        Ok(BlockWriter {
            pending: PendingFile::create(&path)?,
            hasher: Hasher::new(),
            path,
            columns: columns.clone(),
            total: self.shape.bytes(self.shape.n_nodes),
        })
    }

    /// Adds a file that was written.
    pub fn add(&mut self, block: BlockFile) {
        self.blocks.push(block);
        self.blocks.sort_by_key(|block| block.columns.start);
    }

    /// Reads the rows of these nodes, `[nodes, F]`. Rows of nearby nodes that ascend are read together, with those
    /// between them.
    pub fn read(&self, matrix: usize, nodes: &[u32], out: &mut [f32]) -> Result<()> {
        let n_features = self.shape.n_features;
        for block in &self.blocks {
            let (columns, mut out) = (&block.columns, &mut out[..]);
            let max_gap = (MAX_GAP_BYTES / (columns.len() * size_of::<f32>())) as u32;
            let nearby = |a: &u32, b: &u32| a < b && b - a <= max_gap;
            for part in nodes.chunk_by(nearby).flat_map(|nodes| nodes.chunks(MAX_PART)) {
                let (first, last) = (part[0] as usize, part[part.len() - 1] as usize);
                let start = matrix * self.shape.n_nodes;
                let values = block.read_rows(start + first..start + last + 1)?;
                let (rows, rest) = out.split_at_mut(part.len() * n_features);
                for (row, &node) in rows.chunks_mut(n_features).zip(part) {
                    let values = values[(node as usize - first) * columns.len()..].iter();
                    row[columns.clone()].iter_mut().zip(values).for_each(|(to, from)| *to = *from);
                }
                out = rest;
            }
        }
        Ok(())
    }
}

impl BlockFile {
    /// These rows of the file, `[rows, w]`.
    fn read_rows(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        let row_bytes = self.columns.len() * size_of::<f32>();
        let mut bytes = vec![0; rows.len() * row_bytes];
        read_at(&self.file, &mut bytes, (rows.start * row_bytes) as u64)
            .map_err(Error::io(&self.path))?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect())
    }

    /// Returns an error if the length or the checksum is wrong.
    fn verify(&self, shape: TermShape) -> Result<()> {
        let damaged = |problem: &str| Error::Data {
            place: self.path.display().to_string(),
            problem: format!("{problem}; the file is damaged: delete it, and it is computed again"),
        };
        let n_rows = shape.n_matrices * shape.n_nodes;
        let numbers = (n_rows * self.columns.len() * size_of::<f32>()) as u64;
        let length = self.file.metadata().map_err(Error::io(&self.path))?.len();
        if length != numbers + CHECKSUM_BYTES || self.columns.end > shape.n_features {
            return Err(damaged("its length is wrong"));
        }
        let (mut reader, mut hasher) = ((&self.file).take(numbers), Hasher::new());
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => hasher.write(&piece[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path)(error)),
            }
        }
        let mut stored = [0; CHECKSUM_BYTES as usize];
        read_at(&self.file, &mut stored, numbers).map_err(Error::io(&self.path))?;
        match u64::from_le_bytes(stored) == hasher.finish() {
            true => Ok(()),
            false => Err(damaged("its checksum is wrong")),
        }
    }
}

impl BlockWriter {
    /// Appends a matrix of the block.
    pub fn append(&mut self, matrix: &[f32]) -> Result<()> {
        for piece in matrix.chunks(PIECE_BYTES / size_of::<f32>()) {
            let bytes = little_endian_bytes(piece);
            self.hasher.write(&bytes);
            let written = self.pending.write(&bytes);
            written.map_err(|error| disk_full(error, &self.path, self.total))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<BlockFile> {
        let Self { mut pending, hasher, path, columns, total } = self;
        let written = pending.write(&hasher.finish().to_le_bytes());
        let published = written.and_then(|()| pending.publish());
        published.map_err(|error| disk_full(error, &path, total))?;
        Ok(BlockFile { file: files::open(&path)?, path, columns })
    }
}

/// For a full disk, an error that states what is needed; other errors are returned unchanged.
fn disk_full(error: Error, path: &Path, total: u64) -> Error {
    let is_full = |kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    match &error {
        Error::Io { source, .. } if is_full(source.kind()) => Error::Data {
            place: path.display().to_string(),
            problem: format!(
                "{source}; the filtered features take {:.1} GB in this folder: free disk space, or set \
                 `CLENSHAW_CACHE` to a folder on a larger disk, and run the command again to resume",
                total as f64 / 1e9
            ),
        },
        _ => error,
    }
}

/// The columns in a file name such as `columns-0-16.terms`; `None` for other names.
fn columns_of(path: &Path) -> Option<Range<usize>> {
    let name = path.file_name()?.to_str()?;
    let (start, end) = name.strip_prefix("columns-")?.strip_suffix(".terms")?.split_once('-')?;
    let columns = start.parse().ok()?..end.parse().ok()?;
    (!columns.is_empty()).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_what_is_needed() {
        let path = Path::new("cache/columns-0-16.terms");
        let io = |kind: ErrorKind| Error::io(path)(kind.into());
        let error = disk_full(io(ErrorKind::StorageFull), path, 28_160_000_000).to_string();
        assert!(
            error.starts_with("cache/columns-0-16.terms: ") && error.contains("28.2 GB"),
            "{error}"
        );
        assert!(error.contains("free disk space") && error.contains("`CLENSHAW_CACHE`"), "{error}");
        let other = disk_full(io(ErrorKind::PermissionDenied), path, 1);
        assert!(matches!(other, Error::Io { .. }), "{other}");
    }

    #[test]
    fn only_names_of_blocks_are_recognised() {
        assert_eq!(columns_of(Path::new("a/columns-4-12.terms")), Some(4..12));
        for name in ["columns-4-4.terms", "columns-4.terms", ".columns-4-12.terms.1-0.partial", "x"]
        {
            assert_eq!(columns_of(Path::new(name)), None, "{name}");
        }
    }
}
