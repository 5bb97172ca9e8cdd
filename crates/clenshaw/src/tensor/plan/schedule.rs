//! Sixth pass: divides a program into stages and chunks.
//!
//! Consecutive instructions over the same number of rows that read only the same rows of each other's results
//! form a stage. A stage runs all of its instructions on one block of 64 rows before the next block, so that
//! the results of one instruction are in cache for the next.
//!
//! Threads share the rows of a stage in chunks of whole blocks. There are three kinds of chunks:
//!
//! - A stage with a product in which rows share sums has the chunks of these sums, which depend on the graph
//!   alone.
//! - Otherwise, a stage that sums over rows has *reduction chunks* of equal numbers of rows, at most 32 up to
//!   half a million rows. The sums of the chunks are added in order, so the boundaries affect the last
//!   bits of the result. They depend on the number of rows alone.
//! - All other stages have *balanced chunks*: about equal work, counted in rows and in entries of
//!   sparse matrices. The boundaries do not affect the results.
//!
//! A product with a large sparse matrix whose entries are distributed unevenly over the reduction chunks does
//! not share a stage with a sum over rows.

use super::instr::{Access, Buf, BufSpec, Info, Instr, Work};
use crate::tensor::BLOCK_ROWS as BLOCK;
use std::ops::Range;

/// The largest number of reduction chunks of a stage with up to half a million rows.
const REDUCTION_CHUNKS: usize = 32;
/// The approximate number of rows per reduction chunk of larger stages.
const REDUCTION_CHUNK_ROWS: usize = 1 << 14;
/// The work of a row besides its sparse entries, in units of one entry.
const ROW_WORK: usize = 8;
/// The minimum work of a balanced chunk, except for the last one.
const MIN_CHUNK_WORK: usize = 2048;
/// The approximate maximum number of balanced chunks.
const MAX_BALANCED_CHUNKS: usize = 1024;
/// Products with sparse matrices of fewer entries than this may share a stage with a sum over rows, even if
/// their entries are distributed unevenly.
const SPLIT_ENTRIES: usize = 1 << 20;

/// A sequence of instructions over the same number of rows, executed block by block.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub rows: usize,
    pub steps: Vec<Step>,
    /// Row ranges of the chunks, in order.
    pub chunks: Vec<Range<usize>>,
    /// The buffers that the stage computes again from the beginning; their earlier contents are not used any more.
    pub recomputed: Vec<Buf>,
    /// Whether the stage consists of instructions that have been executed before.
    pub is_recomputation: bool,
}

/// An instruction of a stage.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub instr: Instr,
    pub info: Info,
    /// The partial sums of an instruction that sums over rows; `None` for other instructions.
    pub partials: Option<Partials>,
    /// The number of slots of shared sums in a product with an operator; 0 for other instructions.
    pub n_slots: usize,
    /// The offset of these slots in each thread's scratch memory.
    pub slots_offset: usize,
}

/// The partial sums of an instruction: `size` numbers for each chunk of the stage, `stride` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partials {
    pub offset: usize,
    pub stride: usize,
    pub size: usize,
}

impl Stage {
    fn new(rows: usize) -> Self {
        Self { rows, steps: vec![], chunks: vec![], recomputed: vec![], is_recomputation: false }
    }

    /// Whether an instruction of the stage sums over rows.
    fn reduces(&self) -> bool {
        self.steps.iter().any(|step| step.info.reduction.is_some())
    }
}

/// The blocks of rows of a chunk.
pub(super) fn blocks(chunk: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = chunk.end;
    chunk.clone().step_by(BLOCK).map(move |from| from..(from + BLOCK).min(end))
}

/// The rows of a sparse matrix that an instruction iterates over.
#[derive(Clone, Copy)]
pub(super) struct SparseRows<'a> {
    /// The start of each row among the entries, and the end of the last one.
    pub offsets: &'a [usize],
    /// The chunks in which rows share sums; `None` if they share none.
    pub chunks: Option<&'a [Range<usize>]>,
    /// The number of rows of scratch memory for shared sums.
    pub n_slots: usize,
}

/// Groups instructions into stages and divides their rows into chunks.
///
/// `sparse_rows` returns the rows of the sparse matrix that an instruction iterates over, if there is one.
pub(super) fn stages<'a>(
    instrs: impl IntoIterator<Item = Instr>,
    bufs: &[BufSpec],
    sparse_rows: impl Fn(&Work) -> Option<SparseRows<'a>>,
) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    for instr in instrs {
        let info = instr.info();
        let rows = bufs[info.iterated].rows;
        let n_slots = sparse_rows(&info.work).map_or(0, |rows| rows.n_slots);
        let step = Step { instr, info, partials: None, n_slots, slots_offset: 0 };
        if !stages.last().is_some_and(|stage| can_join(stage, rows, &step, &sparse_rows)) {
            stages.push(Stage::new(rows));
        }
        let stage = stages.last_mut().expect("a stage was pushed if there was none");
        stage.steps.push(step);
    }
    for stage in &mut stages {
        stage.chunks = match shared_chunks(stage, &sparse_rows) {
            Some(chunks) => chunks.to_vec(),
            None if stage.reduces() => reduction_chunks(stage.rows),
            None => balanced_chunks(stage, &sparse_rows),
        };
    }
    stages
}

/// Whether an instruction may be added to the end of a stage.
fn can_join<'a>(
    stage: &Stage,
    rows: usize,
    step: &Step,
    sparse_rows: &impl Fn(&Work) -> Option<SparseRows<'a>>,
) -> bool {
    let is_uneven = |step: &Step| sparse_rows(&step.info.work).is_some_and(is_uneven);
    let chunks = sparse_rows(&step.info.work).and_then(|rows| rows.chunks);
    let must_separate = || {
        let before = shared_chunks(stage, sparse_rows);
        before.is_some() && chunks.is_some() && before != chunks
            || match step.info.reduction {
                Some(_) => stage.steps.iter().any(is_uneven),
                None => stage.reduces() && is_uneven(step),
            }
    };
    let earlier = || stage.steps.iter().flat_map(|step| &step.info.accesses);
    let conflicts = |(buf, access): &(Buf, Access)| {
        earlier().any(|(other, before)| other == buf && must_complete_first(*before, *access))
    };
    stage.rows == rows && !step.info.accesses.iter().any(conflicts) && !must_separate()
}

/// Whether all rows of the first access to a buffer must be complete before the second access.
fn must_complete_first(before: Access, after: Access) -> bool {
    match (before, after) {
        (Access::WriteRows, Access::ReadAll) | (Access::ReadAll, Access::WriteRows) => true,
        // A sum over rows is complete after the stage; sums into one buffer are added in order.
        (Access::Reduce, Access::Reduce) => false,
        (Access::Reduce, _) | (_, Access::Reduce) => true,
        _ => false,
    }
}

/// The chunks in which rows share sums in a product of the stage; `None` if they share none.
fn shared_chunks<'a>(
    stage: &Stage,
    sparse_rows: &impl Fn(&Work) -> Option<SparseRows<'a>>,
) -> Option<&'a [Range<usize>]> {
    stage.steps.iter().find_map(|step| sparse_rows(&step.info.work)?.chunks)
}

/// Whether a reduction chunk has more than twice its share of the entries of a large sparse matrix; false if
/// rows share sums, because the chunks of these sums have about equal work.
fn is_uneven(rows: SparseRows<'_>) -> bool {
    let offsets = rows.offsets;
    if rows.chunks.is_some() {
        return false;
    }
    let n_entries = offsets[offsets.len() - 1];
    let chunks = reduction_chunks(offsets.len() - 1);
    let most = chunks.iter().map(|rows| offsets[rows.end] - offsets[rows.start]).max();
    n_entries >= SPLIT_ENTRIES && most.unwrap_or(0) > 2 * n_entries / chunks.len()
}

/// Chunks of equal numbers of rows, except for the last one. The boundaries affect the last bits of sums over
/// rows.
fn reduction_chunks(rows: usize) -> Vec<Range<usize>> {
    let n_chunks = REDUCTION_CHUNKS.max(rows / REDUCTION_CHUNK_ROWS);
    let chunk_rows = rows.div_ceil(n_chunks).next_multiple_of(BLOCK);
    (0..rows).step_by(chunk_rows).map(|from| from..(from + chunk_rows).min(rows)).collect()
}

/// Chunks of about equal work.
fn balanced_chunks<'a>(
    stage: &Stage,
    sparse_rows: impl Fn(&Work) -> Option<SparseRows<'a>>,
) -> Vec<Range<usize>> {
    let rows = stage.steps.iter().filter_map(|step| sparse_rows(&step.info.work));
    let sparse: Vec<&[usize]> = rows.map(|rows| rows.offsets).collect();
    let work_before = |row: usize| -> usize {
        ROW_WORK * row + sparse.iter().map(|offsets| offsets[row]).sum::<usize>()
    };
    let target = MIN_CHUNK_WORK.max(work_before(stage.rows) / MAX_BALANCED_CHUNKS);
    let mut chunks = vec![];
    let mut start = 0;
    for block in blocks(&(0..stage.rows)) {
        let is_last = block.end == stage.rows;
        if is_last || work_before(block.end) - work_before(start) >= target {
            chunks.push(start..block.end);
            start = block.end;
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_sparse(_: &Work) -> Option<SparseRows<'static>> {
        None
    }

    #[test]
    fn chunks_cover_every_row_once_in_whole_blocks() {
        for rows in [1, 63, 64, 65, 2708, 19717, 1_000_000] {
            for chunks in [reduction_chunks(rows), balanced_chunks(&Stage::new(rows), no_sparse)] {
                assert!(chunks.iter().all(|chunk| chunk.start % BLOCK == 0), "{chunks:?}");
                let covered = chunks.iter().flat_map(blocks).flatten();
                assert!(covered.eq(0..rows), "{rows} rows");
            }
        }
    }

    #[test]
    fn reduction_chunks_do_not_change() {
        // The boundaries affect the last bits of published results.
        let sizes = [(2708, 22, 128), (19717, 31, 640), (169_343, 32, 5312), (500_000, 32, 15680)];
        for (rows, n_chunks, chunk_rows) in sizes {
            let chunks = reduction_chunks(rows);
            assert_eq!((chunks.len(), chunks[0].len()), (n_chunks, chunk_rows), "{rows} rows");
        }
        assert_eq!(reduction_chunks(10_000_000).len(), 608);
    }

    #[test]
    fn rows_with_many_entries_form_small_balanced_chunks() {
        // The first 640 of 6400 rows have 90% of the entries.
        let rows = 6400;
        let offsets: Vec<usize> = (0..=rows)
            .map(|row: usize| 900 * row.min(640) + 10 * row.saturating_sub(640))
            .collect();
        let (src, dst) = (0, 1);
        let spmm = Some(super::super::instr::Spmm { operator: 0, coef: 1.0, src });
        let instr = Instr::Sum { dst, add: false, spmm, terms: vec![], bias: None };
        let info = instr.info();
        let steps = vec![Step { instr, info, partials: None, n_slots: 0, slots_offset: 0 }];
        let stage = Stage { steps, ..Stage::new(rows) };
        let plain = |offsets| SparseRows { offsets, chunks: None, n_slots: 0 };
        let chunks = balanced_chunks(&stage, |_| Some(plain(&offsets)));
        assert_eq!(chunks.iter().filter(|chunk| chunk.end <= 640).count(), 10);
        let work = |chunk: &Range<usize>| offsets[chunk.end] - offsets[chunk.start];
        assert!(chunks.iter().all(|chunk| work(chunk) <= 64 * 900), "{chunks:?}");
        assert!(!is_uneven(plain(&offsets)), "few entries");
        let many: Vec<usize> = offsets.iter().map(|offset| 10 * offset).collect();
        assert!(is_uneven(plain(&many)));
    }
}
