//! The terms of a filter, `phi_k(P) X` for `k = 0..=K`, computed once from the features.
//!
//! They are computed for a block of columns at a time (`filter::FilterTerms`), in memory if they take at most half of
//! the memory budget, otherwise in files. The number of columns of a block follows from the budget; the numbers do
//! not depend on it, or on where they are stored.
//!
//! ```text
//! memory        rows.rs      [n, matrices, F]: a row is one slice
//! files         files.rs     one file per block of columns, [matrices, n, w]
//! ```
//!
//! A file has the order in which its numbers are computed, so it is written once, from start to end, and is complete
//! when it gets its name: an interruption loses at most one block. Reading a row takes one access per block and
//! matrix. Training therefore copies the rows of training and validation nodes to memory if they fit, and a prediction
//! reads consecutive rows. Files are read by position instead of being mapped, so a prediction does not fill the
//! memory of the process, and an input error is an error instead of a signal.

mod files;
mod rows;

pub(super) use rows::TermRows;

use crate::data::{Dataset, Features, Scaler};
use crate::error::{Error, Result};
use crate::filter::{BLOCK_WIDTHS, FilterTerms};
use crate::memory;
use crate::parallel;
use crate::tensor::{AlignedVec, Operator, Workspace};
use files::TermFiles;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

/// The rows that are scaled at a time.
const SCALED_ROWS: usize = 4096;

/// How the terms of a filter are computed. The numbers do not depend on it.
#[derive(Clone, Copy)]
pub struct PrecomputeOptions<'a> {
    /// The memory for terms, buffers and rows of training nodes, in bytes; `None` for half of the memory that is
    /// available.
    pub budget: Option<u64>,
    /// The folder for terms that do not fit into the budget. They remain there for later runs.
    pub folder: Option<&'a Path>,
    /// Maximum number of threads.
    pub threads: usize,
    /// Called after every term of every block of columns; can interrupt the computation.
    pub on_progress: &'a dyn Fn(PrecomputeProgress) -> ControlFlow<()>,
}

/// How much of the terms has been computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecomputeProgress {
    /// The number of terms of blocks of columns that are done.
    pub done: usize,
    /// The number of those that have to be computed; blocks that were found in files are not counted.
    pub total: usize,
}

impl Default for PrecomputeOptions<'_> {
    fn default() -> Self {
        let threads = parallel::available_threads();
        let on_progress = &|_| ControlFlow::Continue(());
        Self { budget: None, folder: None, threads, on_progress }
    }
}

impl PrecomputeOptions<'_> {
    /// The memory budget in bytes.
    fn budget_bytes(&self) -> u64 {
        let available = || memory::available().map_or(u64::MAX, |available| available.bytes / 2);
        self.budget.unwrap_or_else(available)
    }
}

/// What the terms are computed from.
#[derive(Clone, Copy)]
pub(super) struct TermSource<'a> {
    pub dataset: &'a Dataset,
    pub scaler: &'a Scaler,
    pub p: &'a Operator,
    /// The name of the operator.
    pub operator: &'a str,
    pub terms: &'a FilterTerms,
}

/// The size of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TermShape {
    pub n_nodes: usize,
    pub n_features: usize,
    pub n_matrices: usize,
}

impl TermShape {
    /// The bytes of these rows of all matrices.
    fn bytes(self, n_rows: usize) -> u64 {
        (n_rows * self.n_features * self.n_matrices * size_of::<f32>()) as u64
    }
}

/// The terms of a filter on a graph.
pub(super) struct PrecomputedTerms {
    shape: TermShape,
    storage: Storage,
    /// The memory budget that is left for copies of rows.
    budget: u64,
}

enum Storage {
    Memory(TermRows),
    Files(TermFiles),
}

impl PrecomputedTerms {
    /// Computes the terms, or the part of them that is not in files yet.
    ///
    /// # Errors
    /// If the budget is too small, a file cannot be read or written, or the computation is interrupted.
    pub fn compute(source: TermSource<'_>, options: &PrecomputeOptions<'_>) -> Result<Self> {
        let shape = TermShape {
            n_nodes: source.dataset.graph.n_nodes(),
            n_features: source.dataset.x.n_cols(),
            n_matrices: source.terms.n_matrices(),
        };
        let budget = options.budget_bytes();
        let total = shape.bytes(shape.n_nodes);
        if total <= budget / 2 {
            let width = block_width(source, budget - total)?;
            let blocks = split_columns(0..shape.n_features, width);
            let mut rows = TermRows::all(shape);
            let mut progress = Progress::new(options, blocks.len() * source.terms.n_terms());
            for columns in blocks {
                source.compute(&columns, options.threads, &mut progress, |matrix, block| {
                    rows.set_columns(matrix, &columns, block);
                    Ok(())
                })?;
            }
            return Ok(Self { shape, storage: Storage::Memory(rows), budget: budget - total });
        }
        let width = block_width(source, budget)?;
        let folder = options.folder.ok_or_else(|| no_folder(source, total, budget))?;
        let mut files = TermFiles::open(&source.folder(folder), shape)?;
        let missing = files.missing_columns();
        let blocks: Vec<_> =
            missing.into_iter().flat_map(|columns| split_columns(columns, width)).collect();
        let mut progress = Progress::new(options, blocks.len() * source.terms.n_terms());
        for columns in blocks {
            let mut file = files.start(&columns)?;
            source
                .compute(&columns, options.threads, &mut progress, |_, block| file.append(block))?;
            files.add(file.finish()?);
        }
        Ok(Self { shape, storage: Storage::Files(files), budget })
    }

    /// The size of the matrices.
    pub fn shape(&self) -> TermShape {
        self.shape
    }

    /// The memory that copies of the rows of these many nodes take in a run; 0 if there is none.
    pub fn bytes_of_copies(&self, n_nodes: usize) -> u64 {
        match self.storage {
            Storage::Memory(_) => 0,
            Storage::Files(_) => {
                Some(self.shape.bytes(n_nodes)).filter(|bytes| *bytes <= self.budget).unwrap_or(0)
            }
        }
    }

    /// Copies the rows of these nodes, which ascend, to memory; `None` if all rows are in memory already, or they do
    /// not fit into the budget.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn copy_of(&self, nodes: &[u32]) -> Result<Option<TermRows>> {
        if self.bytes_of_copies(nodes.len()) == 0 {
            return Ok(None);
        }
        let mut rows = TermRows::of(self.shape, nodes.to_vec());
        let mut block = vec![0.0; SCALED_ROWS * self.shape.n_features];
        for (i, part) in nodes.chunks(SCALED_ROWS).enumerate() {
            for matrix in 0..self.shape.n_matrices {
                let block = &mut block[..part.len() * self.shape.n_features];
                self.read(matrix, part, block)?;
                rows.set_rows(matrix, i * SCALED_ROWS, block);
            }
        }
        Ok(Some(rows))
    }

    /// Sets the inputs of a workspace to the rows of these nodes; further rows are zero. `copy` contains the rows of
    /// all of them, or is `None`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn load(
        &self,
        work: &mut Workspace<f32>,
        nodes: &[u32],
        copy: Option<&TermRows>,
    ) -> Result<()> {
        for matrix in 0..self.shape.n_matrices {
            let (rows, rest) =
                work.input_mut(matrix).split_at_mut(nodes.len() * self.shape.n_features);
            match copy {
                Some(copy) => copy.read(matrix, nodes, rows),
                None => self.read(matrix, nodes, rows)?,
            }
            rest.fill(0.0);
        }
        Ok(())
    }

    /// Reads the rows of these nodes, `[nodes, F]`.
    fn read(&self, matrix: usize, nodes: &[u32], out: &mut [f32]) -> Result<()> {
        match &self.storage {
            Storage::Memory(rows) => rows.read(matrix, nodes, out),
            Storage::Files(files) => files.read(matrix, nodes, out)?,
        }
        Ok(())
    }
}

impl TermSource<'_> {
    /// Computes the matrices of a block of columns.
    fn compute(
        self,
        columns: &Range<usize>,
        threads: usize,
        progress: &mut Progress<'_>,
        on_matrix: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let x = self.scaled_columns(columns, threads);
        let on_term = || progress.advance();
        self.terms.compute(self.p, (x, columns.len()), threads, on_matrix, on_term)
    }

    /// The scaled features in these columns, `[n, w]`.
    fn scaled_columns(self, columns: &Range<usize>, threads: usize) -> AlignedVec<f32> {
        let (n, width) = (self.dataset.graph.n_nodes(), columns.len());
        let mut block = AlignedVec::zeros(n * width);
        let parts = block.chunks_mut(SCALED_ROWS * width).enumerate();
        parallel::map(threads, parts, |(i, part)| {
            let start = i * SCALED_ROWS;
            let nodes: Vec<u32> =
                (start..start + part.len() / width).map(|node| node as u32).collect();
            let rows = self.scaler.apply(&self.dataset.x.rows(&nodes));
            copy_columns(&rows, columns, part);
        });
        block
    }

    /// The folder of these terms, named after everything that they depend on.
    fn folder(self, parent: &Path) -> PathBuf {
        let inputs = self.dataset.inputs_sha256();
        let scaler = serde_json::to_string(self.scaler).expect("finite numbers");
        parent.join(files::folder_name(&[
            &inputs,
            &scaler,
            self.operator,
            &self.terms.description(),
        ]))
    }
}

/// Copies these columns of the features to `out`, `[n, w]`, which is zero.
fn copy_columns(x: &Features, columns: &Range<usize>, out: &mut [f32]) {
    for (i, row) in out.chunks_mut(columns.len()).enumerate() {
        match x {
            Features::Dense(x) => row.copy_from_slice(&x.row(i)[columns.clone()]),
            Features::Sparse { pattern, values } => {
                let start = pattern.offsets()[i];
                for (&j, &value) in pattern.row(i).iter().zip(&values[start..]) {
                    if columns.contains(&(j as usize)) {
                        row[j as usize - columns.start] = value;
                    }
                }
            }
        }
    }
}

/// The largest width of a block whose buffers fit into this memory.
fn block_width(source: TermSource<'_>, bytes: u64) -> Result<usize> {
    let n_nodes = source.dataset.graph.n_nodes();
    let needed = |width: usize| (source.terms.bytes_per_row(width) * n_nodes) as u64;
    let fitting = BLOCK_WIDTHS.into_iter().find(|width| needed(*width) <= bytes);
    fitting.ok_or_else(|| Error::OutOfMemory {
        what: format!("filtering the features of {}, one column at a time,", source.dataset.name),
        needed: needed(1),
        available: Some(bytes),
        limit: "memory budget",
        advice: "raise the memory budget".into(),
    })
}

/// The error for terms that are larger than the budget, without a folder for them.
fn no_folder(source: TermSource<'_>, needed: u64, budget: u64) -> Error {
    Error::OutOfMemory {
        what: format!("keeping the filtered features of {} in memory", source.dataset.name),
        needed: needed.saturating_mul(2),
        available: Some(budget),
        limit: "memory budget",
        advice: "set a folder for them: `CLENSHAW_CACHE` must not be `off`; in the library, \
                 `PrecomputeOptions::folder`"
            .into(),
    }
}

/// Splits columns into blocks of at most this width, one of [`BLOCK_WIDTHS`].
fn split_columns(columns: Range<usize>, width: usize) -> Vec<Range<usize>> {
    let (mut start, mut blocks) = (columns.start, vec![]);
    while start < columns.end {
        let fits = |block: &usize| *block <= width.min(columns.end - start);
        let block = BLOCK_WIDTHS.into_iter().find(fits).expect("a block of one column fits");
        blocks.push(start..start + block);
        start += block;
    }
    blocks
}

/// Counts the terms and reports them.
struct Progress<'a> {
    state: PrecomputeProgress,
    on_progress: &'a dyn Fn(PrecomputeProgress) -> ControlFlow<()>,
}

impl<'a> Progress<'a> {
    fn new(options: &PrecomputeOptions<'a>, total: usize) -> Self {
        Self { state: PrecomputeProgress { done: 0, total }, on_progress: options.on_progress }
    }

    fn advance(&mut self) -> Result<()> {
        self.state.done += 1;
        match (self.on_progress)(self.state) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted),
        }
    }
}

#[cfg(test)]
mod tests;
