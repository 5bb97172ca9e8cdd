//! Seventh pass: assigns memory to the buffers of a program.
//!
//! A computed buffer that only one stage uses, block by block, is one block tall and lies in the scratch memory
//! of each thread. Every other computed buffer has all of its rows in one arena. Two of them overlap there only if
//! they are never in use at the same time, or if one takes the place of the other: if a stage reads the rows of
//! the first for the last time before it writes the same rows of the second.

use super::instr::{Access, Buf, BufKind, BufSpec, Info, Listing, ReduceInto, Work};
use super::schedule::{Partials, SparseRows, Stage, stages};
use crate::tensor::BLOCK_ROWS;
use crate::tensor::aligned_vec::F32_PER_LINE;
use std::ops::Range;

/// The memory of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// All rows, at this offset of the arena.
    Arena(usize),
    /// One block of rows, at this offset of each thread's scratch memory.
    Scratch(usize),
    /// Outside of the arena: parameters, gradients, constants and values of sparse matrices.
    Fixed(BufKind),
    /// No instruction accesses the buffer.
    Unused,
}

/// A listing with stages and addresses.
#[derive(Debug)]
pub(super) struct Program {
    pub stages: Vec<Stage>,
    pub bufs: Vec<BufSpec>,
    /// The buffers that keep their contents after the program.
    pub outputs: Vec<Buf>,
    /// The memory of each buffer.
    pub slots: Vec<Slot>,
    /// Rows and columns of each mask.
    pub masks: Vec<(usize, usize)>,
    /// The offset of each mask, in words of 64 bits.
    pub mask_offsets: Vec<usize>,
    pub arena_len: usize,
    /// The length of each thread's scratch memory.
    pub scratch_len: usize,
    /// The length of all masks, in words of 64 bits.
    pub mask_len: usize,
    pub partial_len: usize,
}

impl Program {
    /// The program of a listing. The buffers of `outputs` keep their contents after it; `sparse_rows` returns the
    /// rows of the sparse matrix that an instruction iterates over, if there is one.
    pub fn new<'a>(
        list: Listing,
        outputs: &[Buf],
        sparse_rows: impl Fn(&Work) -> Option<SparseRows<'a>>,
    ) -> Self {
        let Listing { bufs, masks, prologue, main, epilogue } = list;
        let instrs = prologue.into_iter().chain(main).chain(epilogue);
        let stages = stages(instrs, &bufs, sparse_rows);
        Self::place(stages, bufs, masks, outputs.to_vec())
    }

    /// Assigns memory to the buffers and masks of these stages.
    pub fn place(
        mut stages: Vec<Stage>,
        bufs: Vec<BufSpec>,
        masks: Vec<(usize, usize)>,
        outputs: Vec<Buf>,
    ) -> Self {
        let partial_len = place_partials(&mut stages, &bufs);
        let uses = Uses::of(&stages, bufs.len(), &outputs);
        let (mut slots, scratch_len) = place_in_scratch(&mut stages, &bufs, &uses);
        let arena_len = place_in_arena(&mut slots, &bufs, &uses);
        let (mask_offsets, mask_len) = place_masks(&stages, &masks);
        Self {
            stages,
            bufs,
            outputs,
            slots,
            masks,
            mask_offsets,
            arena_len,
            scratch_len,
            mask_len,
            partial_len,
        }
    }
}

/// The number of entries of the result of a reduction.
fn reduction_size(into: ReduceInto, bufs: &[BufSpec]) -> usize {
    match into {
        ReduceInto::Buffer(dst) => bufs[dst].rows * bufs[dst].cols,
        ReduceInto::Row(dst, _) => bufs[dst].cols,
        ReduceInto::Entry(..) | ReduceInto::Loss => 1,
    }
}

/// Assigns memory to the partial sums of each stage; returns the length that the largest stage needs.
fn place_partials(stages: &mut [Stage], bufs: &[BufSpec]) -> usize {
    let mut longest = 0;
    for stage in stages {
        let (mut offset, n_chunks) = (0, stage.chunks.len());
        for step in &mut stage.steps {
            if let Some(reduction) = step.info.reduction {
                let size = reduction_size(reduction.into, bufs);
                let stride = round_up_to_line(size);
                step.partials = Some(Partials { offset, stride, size });
                offset += stride * n_chunks;
            }
        }
        longest = longest.max(offset);
    }
    longest
}

/// A stage that accesses a buffer, and the first and last of its steps that do.
#[derive(Clone, Copy, Debug)]
struct Use {
    stage: usize,
    first_step: usize,
    last_step: usize,
    /// Whether all of these steps access only the rows that they work on.
    is_row_wise: bool,
}

/// The time from the stage that begins to compute the contents of a buffer to the last one that uses them.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    first: Use,
    last: Use,
}

/// When each buffer is used; a buffer that is recomputed has several lifetimes.
struct Uses {
    lifetimes: Vec<Vec<Lifetime>>,
    /// Whether each buffer is an output, or accessed by an instruction that reads all of its rows or sums into it.
    needs_all_rows: Vec<bool>,
}

impl Uses {
    fn of(stages: &[Stage], n_bufs: usize, outputs: &[Buf]) -> Self {
        let mut uses =
            Self { lifetimes: vec![vec![]; n_bufs], needs_all_rows: vec![false; n_bufs] };
        for (s, stage) in stages.iter().enumerate() {
            for (buf, use_) in uses_in(s, stage) {
                let lifetimes = &mut uses.lifetimes[buf];
                match lifetimes.last_mut() {
                    Some(lifetime) if !stage.recomputed.contains(&buf) => lifetime.last = use_,
                    _ => lifetimes.push(Lifetime { first: use_, last: use_ }),
                }
                uses.needs_all_rows[buf] |= !use_.is_row_wise;
            }
        }
        let end = Use { stage: stages.len(), first_step: 0, last_step: 0, is_row_wise: false };
        for &buf in outputs {
            uses.needs_all_rows[buf] = true;
            uses.lifetimes[buf].last_mut().into_iter().for_each(|lifetime| lifetime.last = end);
        }
        uses
    }

    /// Whether one block of rows is enough for a buffer: each of its lifetimes is within one stage, which works on
    /// it block by block.
    fn fits_in_scratch(&self, buf: Buf) -> bool {
        let is_local = |lifetime: &Lifetime| lifetime.first.stage == lifetime.last.stage;
        !self.needs_all_rows[buf] && self.lifetimes[buf].iter().all(is_local)
    }

    /// How two buffers may be placed in the arena.
    fn relation(&self, a: Buf, b: Buf) -> Relation {
        let pairs = self.lifetimes[a]
            .iter()
            .flat_map(|x| self.lifetimes[b].iter().map(move |y| x.relation(y)));
        pairs.max().unwrap_or(Relation::Independent)
    }
}

/// How two buffers may be placed in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    /// Never in use at the same time: anywhere.
    Independent,
    /// One takes over from the other within a stage, row by row: at the same offset, if their rows have the same
    /// length, or apart from each other.
    Successive,
    /// Apart from each other.
    Simultaneous,
}

impl Lifetime {
    fn relation(&self, other: &Self) -> Relation {
        if self.last.stage < other.first.stage || other.last.stage < self.first.stage {
            return Relation::Independent;
        }
        let precedes = |earlier: &Use, later: &Use| {
            earlier.stage == later.stage
                && earlier.is_row_wise
                && later.is_row_wise
                && earlier.last_step < later.first_step
        };
        if precedes(&self.last, &other.first) || precedes(&other.last, &self.first) {
            return Relation::Successive;
        }
        Relation::Simultaneous
    }
}

/// How a stage uses each buffer that it accesses.
fn uses_in(s: usize, stage: &Stage) -> Vec<(Buf, Use)> {
    let mut uses: Vec<(Buf, Use)> = vec![];
    for (step, Info { accesses, .. }) in stage.steps.iter().map(|step| &step.info).enumerate() {
        for &(buf, access) in accesses {
            let is_row_wise = matches!(access, Access::ReadRows | Access::WriteRows);
            match uses.iter_mut().find(|(other, _)| *other == buf) {
                Some((_, use_)) => {
                    use_.last_step = step;
                    use_.is_row_wise &= is_row_wise;
                }
                None => {
                    let (first_step, last_step) = (step, step);
                    uses.push((buf, Use { stage: s, first_step, last_step, is_row_wise }));
                }
            }
        }
    }
    uses
}

/// Assigns scratch memory to the buffers of which one block is enough, and to the shared sums of each step.
/// Returns the slots of all buffers, those in the arena at offset 0, and the length of a thread's scratch memory.
fn place_in_scratch(stages: &mut [Stage], bufs: &[BufSpec], uses: &Uses) -> (Vec<Slot>, usize) {
    let mut ends = vec![0; stages.len()];
    let mut slots = Vec::with_capacity(bufs.len());
    for (b, spec) in bufs.iter().enumerate() {
        let lifetimes = &uses.lifetimes[b];
        slots.push(match spec.kind {
            BufKind::Computed if lifetimes.is_empty() => Slot::Unused,
            BufKind::Computed if uses.fits_in_scratch(b) => {
                let stages = || lifetimes.iter().map(|lifetime| lifetime.first.stage);
                let offset = stages().map(|stage| ends[stage]).max().unwrap_or(0);
                let end = offset + round_up_to_line(BLOCK_ROWS * spec.cols);
                stages().for_each(|stage| ends[stage] = end);
                Slot::Scratch(offset)
            }
            BufKind::Computed => Slot::Arena(0),
            kind => Slot::Fixed(kind),
        });
    }
    for (stage, end) in stages.iter_mut().zip(&mut ends) {
        for step in &mut stage.steps {
            step.slots_offset = *end;
            *end += round_up_to_line(step.n_slots * bufs[step.info.iterated].cols);
        }
    }
    (slots, ends.into_iter().max().unwrap_or(0))
}

/// Assigns offsets to the buffers in the arena, in the order in which they are declared; returns its length.
fn place_in_arena(slots: &mut [Slot], bufs: &[BufSpec], uses: &Uses) -> usize {
    let mut len = 0;
    let mut placed: Vec<(Buf, Range<usize>)> = vec![];
    for b in 0..bufs.len() {
        if slots[b] != Slot::Arena(0) {
            continue;
        }
        let size = round_up_to_line(bufs[b].rows * bufs[b].cols);
        let related: Vec<(Relation, Buf, &Range<usize>)> = placed
            .iter()
            .map(|(other, range)| (uses.relation(*other, b), *other, range))
            .filter(|(relation, ..)| *relation != Relation::Independent)
            .collect();
        let same_shape = |a: Buf| (bufs[a].rows, bufs[a].cols) == (bufs[b].rows, bufs[b].cols);
        let offset = place_after(&related, same_shape).unwrap_or_else(|| {
            first_gap(size, related.iter().map(|(_, _, range)| Range::clone(range)))
        });
        slots[b] = Slot::Arena(offset);
        placed.push((b, offset..offset + size));
        len = len.max(offset + size);
    }
    len
}

/// The lowest offset of a related buffer of the same shape whose place a new buffer may take; `None` if there is
/// none.
fn place_after(
    related: &[(Relation, Buf, &Range<usize>)],
    same_shape: impl Fn(Buf) -> bool,
) -> Option<usize> {
    let may_share = |(relation, buf, _): &(Relation, Buf, &Range<usize>)| {
        *relation == Relation::Successive && same_shape(*buf)
    };
    let is_free = |range: &Range<usize>| {
        related.iter().all(|other| {
            let (_, _, taken) = other;
            taken.end <= range.start
                || range.end <= taken.start
                || (may_share(other) && taken.start == range.start)
        })
    };
    let candidates = related.iter().filter(|other| may_share(other)).map(|(_, _, range)| *range);
    candidates.filter(|range| is_free(range)).map(|range| range.start).min()
}

/// The lowest offset at which an item of this size overlaps none of the taken ranges.
fn first_gap(size: usize, taken: impl Iterator<Item = Range<usize>>) -> usize {
    let mut taken: Vec<Range<usize>> = taken.collect();
    taken.sort_by_key(|range| range.start);
    let mut offset = 0;
    for range in taken {
        if range.start >= offset + size {
            break;
        }
        offset = offset.max(range.end);
    }
    offset
}

/// Returns the offset of every mask and the length of all, in words. Masks overlap only if no stage is between the
/// first and the last use of both.
fn place_masks(stages: &[Stage], masks: &[(usize, usize)]) -> (Vec<usize>, usize) {
    let mut lifetimes: Vec<Option<(usize, usize)>> = vec![None; masks.len()];
    for (s, stage) in stages.iter().enumerate() {
        for mask in stage.steps.iter().filter_map(|step| step.info.mask) {
            lifetimes[mask] = Some((lifetimes[mask].map_or(s, |(first, _)| first), s));
        }
    }
    let mut placed: Vec<((usize, usize), Range<usize>)> = vec![];
    let mut offsets = vec![0; masks.len()];
    for (mask, &(rows, cols)) in masks.iter().enumerate() {
        let Some((first, last)) = lifetimes[mask] else { continue };
        let size = rows * cols.div_ceil(64);
        let overlaps = |other: &(usize, usize)| other.0 <= last && first <= other.1;
        let taken = placed.iter().filter(|(lifetime, _)| overlaps(lifetime));
        offsets[mask] = first_gap(size, taken.map(|(_, range)| range.clone()));
        placed.push(((first, last), offsets[mask]..offsets[mask] + size));
    }
    (offsets, placed.iter().map(|(_, range)| range.end).max().unwrap_or(0))
}

/// Rounds up to whole cache lines.
fn round_up_to_line(len: usize) -> usize {
    len.next_multiple_of(F32_PER_LINE)
}

#[cfg(test)]
mod tests {
    use super::super::instr::{Factor, Instr, Spmm};
    use super::*;

    const ROWS: usize = 130;

    /// `dst = src`, row by row, or `dst = P src`.
    fn copy(src: Buf, dst: Buf, by_operator: bool) -> Instr {
        let spmm = by_operator.then_some(Spmm { operator: 0, coef: 1.0, src });
        let terms = if by_operator { vec![] } else { vec![(Factor::Fixed(1.0), src)] };
        Instr::Sum { dst, add: false, spmm, terms, bias: None }
    }

    /// The program of these instructions, with the buffers 0, 1, .. of this many columns; the last one is the output.
    fn program(main: Vec<Instr>, cols: &[usize]) -> Program {
        let mut list = Listing { main, ..Listing::default() };
        cols.iter().for_each(|cols| _ = list.computed(ROWS, *cols));
        Program::new(list, &[cols.len() - 1], |_| None)
    }

    #[test]
    fn a_value_takes_the_place_of_one_whose_rows_are_no_longer_needed() {
        let chain = |cols: &[usize]| {
            let main = vec![
                Instr::Clear { dst: 0 },
                copy(0, 1, true),
                copy(1, 2, true),
                // Reads the rows of 0 for the last time, then writes those of 3.
                Instr::Product { a: 0, b: 2, dst: 4 },
                copy(4, 3, false),
                copy(3, 5, true),
            ];
            program(main, cols)
        };
        let Program { slots, stages, .. } = chain(&[16; 6]);
        assert_eq!(stages.len(), 4);
        assert!(matches!(slots[0], Slot::Arena(_)));
        assert_eq!(slots[3], slots[0]);
        assert!(matches!(slots[4], Slot::Scratch(_)));
        assert_ne!(chain(&[8, 16, 16, 16, 16, 16]).slots[3], slots[0], "rows of another length");
    }

    #[test]
    fn a_value_that_a_product_reads_keeps_its_place() {
        // The product reads all rows of 0 in the stage that writes 1 and 2.
        let main = vec![Instr::Clear { dst: 0 }, copy(0, 1, true), copy(1, 2, false)];
        let Program { slots, .. } = program(main, &[16; 3]);
        let Slot::Arena(first) = slots[0] else { panic!("{slots:?}") };
        let Slot::Arena(last) = slots[2] else { panic!("{slots:?}") };
        assert!(first.abs_diff(last) >= ROWS * 16, "{slots:?}");
    }

    #[test]
    fn a_recomputed_value_frees_its_place_between_its_lifetimes() {
        let main = vec![
            Instr::Clear { dst: 0 },
            copy(0, 1, true),
            copy(1, 2, true),
            copy(2, 3, true),
            copy(3, 4, true),
            // A second lifetime of 0 begins here.
            Instr::Clear { dst: 0 },
            copy(0, 5, true),
        ];
        let plain = program(main, &[16; 6]);
        let place = |first_again: Option<usize>| {
            let mut stages = plain.stages.clone();
            first_again.into_iter().for_each(|s| stages[s].recomputed.push(0));
            Program::place(stages, plain.bufs.clone(), vec![], plain.outputs.clone())
        };
        let again = plain.stages.len() - 2;
        assert_eq!(
            [place(Some(again)).arena_len, place(None).arena_len],
            [2, 3].map(|n| n * 16 * ROWS)
        );
    }

    #[test]
    fn items_are_placed_in_the_first_gap() {
        let gap = |size, taken: &[Range<usize>]| first_gap(size, taken.iter().cloned());
        assert_eq!(gap(10, &[]), 0);
        assert_eq!(gap(10, &[0..10, 0..5]), 10);
        assert_eq!(gap(5, &[20..30, 0..10]), 10);
        assert_eq!(gap(11, &[20..30, 0..10]), 30);
    }
}
