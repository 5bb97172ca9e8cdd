//! Sums that several rows of a product with an operator share.
//!
//! ```text
//! row 1:  a + b + c + d + e        s     = a + b + c + d
//! row 2:  a + b + c + d + f   ->   row 1 = s + e
//!                                  row 2 = s + f
//! ```
//!
//! If nodes have several neighbours in common, a product would add the rows of these neighbours once per node.
//! Instead, their sum is computed once and used by all of these nodes. Sums may contain other sums. The result
//! differs only by rounding, because only the order of additions changes.
//!
//! Rows share sums only within a chunk, a fixed range of rows that one thread computes, so that no thread
//! waits for another, and results do not depend on the number of threads. Every sum is computed before the
//! first block of rows that uses it, in a slot of the thread's own memory.
//!
//! The idea is that of Jia et al., "Redundancy-free computation for graph neural networks", KDD 2020.

mod matching;
mod slots;

use super::BLOCK_ROWS;
use super::sparse::Pattern;
use crate::parallel;
use matching::ChunkSums;
use slots::SlotAssignment;
use std::ops::Range;

/// Patterns with fewer entries than this are not searched: products with them take microseconds.
const MIN_ENTRIES: usize = 1 << 13;
/// The number of entries per chunk aimed for, if that results in a number of chunks in [`N_CHUNKS`].
const CHUNK_ENTRIES: usize = 1 << 15;
/// The smallest and the largest number of chunks aimed for.
const N_CHUNKS: Range<usize> = 16..1024;
/// The work of a row besides its entries, in units of one entry.
const ROW_WORK: usize = 16;
/// Shared sums are used if the numbers of reads and of stored sums add up to at most this share of the
/// entries; otherwise they are not faster.
const MAX_WORK: f64 = 0.75;
/// If this share is exceeded in a sample of the chunks, the search is abandoned.
const MAX_SAMPLE_WORK: f64 = 0.85;
/// The sample consists of the chunks whose index is a multiple of this number.
const SAMPLE_STRIDE: usize = 8;

/// The sums that compute a product with a pattern, in the order of execution.
#[derive(Clone, Debug)]
pub(crate) struct SharedSums {
    /// The rows of each chunk, in whole blocks.
    chunks: Vec<Range<usize>>,
    /// The first shared sum of each block, followed by the number of shared sums.
    block_starts: Vec<u32>,
    /// The slot in which each shared sum is stored.
    slots: Vec<u32>,
    /// The largest number of slots that a chunk needs.
    n_slots: usize,
    /// The shared sums.
    sums: SumList,
    /// The rows of the result.
    rows: SumList,
}

/// Sums, each of which adds some slots and then some rows of the source.
#[derive(Clone, Debug)]
pub(crate) struct SumList {
    /// The start of each sum in `indices`, and the end of the last one.
    offsets: Vec<u32>,
    /// The position in `indices` at which the slots of each sum end and its rows start.
    middles: Vec<u32>,
    indices: Vec<u32>,
}

/// Some consecutive sums of a [`SumList`].
#[derive(Clone, Copy)]
pub(crate) struct SumEntries<'a> {
    offsets: &'a [u32],
    middles: &'a [u32],
    /// The slots and rows of all sums of the list.
    pub indices: &'a [u32],
}

impl SharedSums {
    /// Sums for this pattern; `None` if it is small or if they would not save enough work.
    pub fn new(pattern: &Pattern) -> Option<Self> {
        if pattern.n_entries() < MIN_ENTRIES {
            return None;
        }
        let chunks = chunks(pattern);
        let (sample, others): (Vec<usize>, Vec<usize>) =
            (0..chunks.len()).partition(|chunk| chunk % SAMPLE_STRIDE == 0);
        let build = |indices: &[usize]| -> Vec<(usize, ChunkSums)> {
            let threads = parallel::available_threads();
            let chunk = |&i: &usize| (i, ChunkSums::new(pattern, chunks[i].clone()));
            parallel::map(threads, indices.iter(), chunk)
        };
        let mut built = build(&sample);
        if work(&built, pattern, &chunks) > MAX_SAMPLE_WORK {
            return None;
        }
        built.extend(build(&others));
        if work(&built, pattern, &chunks) > MAX_WORK {
            return None;
        }
        built.sort_by_key(|(chunk, _)| *chunk);
        let built: Vec<ChunkSums> = built.into_iter().map(|(_, sums)| sums).collect();
        Some(Self::assemble(chunks, &built))
    }

    /// Lists the sums of all chunks in the order of execution.
    fn assemble(chunks: Vec<Range<usize>>, built: &[ChunkSums]) -> Self {
        let mut all = Self {
            chunks,
            block_starts: vec![0],
            slots: vec![],
            n_slots: 0,
            sums: SumList::new(),
            rows: SumList::new(),
        };
        for chunk in built {
            let assigned = SlotAssignment::new(chunk);
            for &(sum, slot) in &assigned.sums {
                all.sums.push(chunk.list(sum), |sum| assigned.slot_of(sum));
                all.slots.push(slot);
            }
            for row in 0..chunk.n_rows() {
                all.rows.push(chunk.list(row), |sum| assigned.slot_of(sum));
            }
            let before = all.block_starts[all.block_starts.len() - 1];
            all.block_starts.extend(assigned.block_ends.iter().map(|end| before + end));
            all.n_slots = all.n_slots.max(assigned.n_slots);
        }
        all
    }

    /// The rows of each chunk.
    pub fn chunks(&self) -> &[Range<usize>] {
        &self.chunks
    }

    /// The number of slots that a thread needs.
    pub fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// The number of rows and slots that a product reads, each counted every time.
    pub fn n_reads(&self) -> usize {
        self.sums.indices.len() + self.rows.indices.len()
    }

    /// The shared sums to compute before a block of rows, and their slots.
    pub fn sums_before(&self, rows: &Range<usize>) -> (SumEntries<'_>, &[u32]) {
        let block = rows.start / BLOCK_ROWS;
        let sums = self.block_starts[block] as usize..self.block_starts[block + 1] as usize;
        (self.sums.entries(sums.clone()), &self.slots[sums])
    }

    /// The sums of a block of rows.
    pub fn rows(&self, rows: &Range<usize>) -> SumEntries<'_> {
        self.rows.entries(rows.clone())
    }
}

impl SumList {
    fn new() -> Self {
        Self { offsets: vec![0], middles: vec![], indices: vec![] }
    }

    /// Appends a sum; `slot_of` returns the slot of a shared sum in `list`.
    fn push(&mut self, list: matching::Entries<'_>, slot_of: impl Fn(usize) -> u32) {
        self.indices.extend(list.sums().map(slot_of));
        self.middles.push(self.indices.len() as u32);
        self.indices.extend(list.columns());
        self.offsets.push(self.indices.len() as u32);
    }

    fn entries(&self, sums: Range<usize>) -> SumEntries<'_> {
        SumEntries {
            offsets: &self.offsets[sums.start..=sums.end],
            middles: &self.middles[sums],
            indices: &self.indices,
        }
    }
}

impl SumEntries<'_> {
    /// The number of sums.
    pub fn len(&self) -> usize {
        self.middles.len()
    }

    /// The positions in `indices` of the slots and of the rows that sum `s` adds.
    #[inline(always)]
    pub fn of(&self, s: usize) -> (Range<usize>, Range<usize>) {
        let middle = self.middles[s] as usize;
        (self.offsets[s] as usize..middle, middle..self.offsets[s + 1] as usize)
    }
}

/// Divides the rows into chunks of whole blocks with about equal work.
fn chunks(pattern: &Pattern) -> Vec<Range<usize>> {
    let (rows, offsets) = (pattern.n_rows(), pattern.offsets());
    let n_chunks = (pattern.n_entries() / CHUNK_ENTRIES).clamp(N_CHUNKS.start, N_CHUNKS.end);
    let work_before = |row: usize| offsets[row] + ROW_WORK * row;
    let target = work_before(rows).div_ceil(n_chunks);
    let mut chunks = vec![];
    let mut start = 0;
    for block_end in (BLOCK_ROWS..rows + BLOCK_ROWS).step_by(BLOCK_ROWS) {
        let end = block_end.min(rows);
        if end == rows || work_before(end) >= target * (chunks.len() + 1) {
            chunks.push(start..end);
            start = end;
        }
    }
    chunks
}

/// The reads and stored sums of these chunks, as a share of the entries of their rows.
fn work(built: &[(usize, ChunkSums)], pattern: &Pattern, chunks: &[Range<usize>]) -> f64 {
    let offsets = pattern.offsets();
    let entries = |rows: &Range<usize>| offsets[rows.end] - offsets[rows.start];
    let plain: usize = built.iter().map(|(chunk, _)| entries(&chunks[*chunk])).sum();
    let shared: usize = built.iter().map(|(_, sums)| sums.work()).sum();
    shared as f64 / plain.max(1) as f64
}

#[cfg(test)]
mod tests;
