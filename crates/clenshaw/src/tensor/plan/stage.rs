//! Stages and addresses: how a listing is laid out in time and in memory.

use super::instr::{Access, Buf, BufSpec, Home, Instr, Listing, Mask};
use crate::tensor::aligned_vec::LINE;
use std::collections::HashMap;
use std::ops::Range;

/// Rows that pass through a whole stage before the next ones start: 16 KiB of 64 f32 columns.
const BLOCK: usize = 64;
/// Sums over rows are taken over at most this many chunks, whatever the number of threads.
const CHUNKS: usize = 32;

/// A chain of instructions over the same rows.
#[derive(Debug)]
pub(super) struct Stage {
    pub rows: usize,
    pub instrs: Vec<Instr>,
    /// For each instruction that sums over rows, where its chunks' sums stand.
    pub partials: HashMap<usize, usize>,
}

impl Stage {
    fn chunk_rows(&self) -> usize {
        self.rows.div_ceil(CHUNKS).next_multiple_of(BLOCK)
    }

    /// Number of chunks; a function of the rows alone.
    pub fn n_chunks(&self) -> usize {
        self.rows.div_ceil(self.chunk_rows().max(1))
    }

    /// The blocks of rows of one chunk.
    pub fn blocks(&self, chunk: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let start = chunk * self.chunk_rows();
        let end = (start + self.chunk_rows()).min(self.rows);
        (start..end).step_by(BLOCK).map(move |from| from..(from + BLOCK).min(end))
    }
}

/// Where a buffer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// In the arena, all rows.
    Arena(usize),
    /// In each thread's scratch, one block of rows.
    Scratch(usize),
    /// Not computed: the home says where.
    Home(Home),
    /// No instruction touches it.
    Unused,
}

/// A listing with stages and addresses.
#[derive(Debug)]
pub(super) struct Program {
    pub stages: Vec<Stage>,
    pub bufs: Vec<BufSpec>,
    pub slots: Vec<Slot>,
    pub mask_cols: Vec<usize>,
    pub mask_offsets: Vec<usize>,
    pub arena_len: usize,
    pub scratch_len: usize,
    pub mask_len: usize,
    pub partial_len: usize,
}

/// Groups instructions into stages and gives every buffer an address; `kept` outlives the program.
pub(super) fn program(list: Listing, kept: &[Buf]) -> Program {
    let Listing { bufs, masks, prologue, main, epilogue } = list;
    let mut stages = Vec::new();
    for instr in prologue.into_iter().chain(main).chain(epilogue) {
        let rows = bufs[instr.walks()].rows;
        match stages.last_mut() {
            Some(stage) if joins(stage, rows, &instr) => stage.instrs.push(instr),
            _ => stages.push(Stage { rows, instrs: vec![instr], partials: HashMap::new() }),
        }
    }
    let partial_len = place_partials(&mut stages, &bufs);
    let (slots, arena_len, scratch_len) = place_buffers(&stages, &bufs, kept);
    let (mask_offsets, mask_len) = place_masks(&stages, &masks);
    let mask_cols = masks.into_iter().map(|(_, cols)| cols).collect();
    Program {
        stages,
        bufs,
        slots,
        mask_cols,
        mask_offsets,
        arena_len,
        scratch_len,
        mask_len,
        partial_len,
    }
}

/// Whether an instruction may run block by block behind those of a stage.
fn joins(stage: &Stage, rows: usize, instr: &Instr) -> bool {
    let earlier = || stage.instrs.iter().flat_map(Instr::touches);
    let conflicts = |(buf, access): (Buf, Access)| {
        earlier().any(|(other, before)| {
            other == buf
                && match (before, access) {
                    // Somebody else's rows would have to be complete already.
                    (Access::WriteRows, Access::ReadAll) => true,
                    (Access::ReadAll, Access::WriteRows) => true,
                    // A sum over rows is complete after the stage; so is its overwriting.
                    (Access::Reduce, Access::Reduce) => false,
                    (Access::Reduce, _) | (_, Access::Reduce) => true,
                    _ => false,
                }
        })
    };
    stage.rows == rows && !instr.touches().into_iter().any(conflicts)
}

/// The number of sums an instruction takes over rows.
pub(super) fn partial_size(instr: &Instr, bufs: &[BufSpec]) -> Option<usize> {
    match instr {
        Instr::WeightGrad { dst, .. } | Instr::ColumnSums { dst, .. } => {
            Some(bufs[*dst].rows * bufs[*dst].cols)
        }
        Instr::ColumnDots { dst, .. } => Some(bufs[*dst].cols),
        Instr::Dot { .. } | Instr::Loss { .. } => Some(1),
        _ => None,
    }
}

fn place_partials(stages: &mut [Stage], bufs: &[BufSpec]) -> usize {
    let mut longest = 0;
    for stage in stages {
        let mut at = 0;
        for (i, instr) in stage.instrs.iter().enumerate() {
            if let Some(size) = partial_size(instr, bufs) {
                stage.partials.insert(i, at);
                at += padded(size) * stage.n_chunks();
            }
        }
        longest = longest.max(at);
    }
    longest
}

/// First and last stage in which each item is touched.
fn lifetimes(
    n: usize,
    stages: &[Stage],
    touched: impl Fn(&Instr) -> Vec<usize>,
) -> Vec<Option<(usize, usize)>> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; n];
    for (s, stage) in stages.iter().enumerate() {
        for item in stage.instrs.iter().flat_map(&touched) {
            lives[item] = Some((lives[item].map_or(s, |(first, _)| first), s));
        }
    }
    lives
}

fn place_buffers(stages: &[Stage], bufs: &[BufSpec], kept: &[Buf]) -> (Vec<Slot>, usize, usize) {
    let touched = |instr: &Instr| instr.touches().into_iter().map(|(buf, _)| buf).collect();
    let lives = lifetimes(bufs.len(), stages, touched);
    let mut whole = vec![false; bufs.len()];
    for (buf, access) in stages.iter().flat_map(|s| &s.instrs).flat_map(Instr::touches) {
        whole[buf] |= matches!(access, Access::ReadAll | Access::Reduce);
    }
    let mut scratch_ends = vec![0; stages.len()];
    let mut arena = Arena::default();
    let mut slots = Vec::with_capacity(bufs.len());
    for (b, spec) in bufs.iter().enumerate() {
        slots.push(match (spec.home, lives[b]) {
            (Home::Computed, None) => Slot::Unused,
            (Home::Computed, Some((first, last))) => {
                if first == last && !whole[b] && !kept.contains(&b) {
                    let at = scratch_ends[first];
                    scratch_ends[first] += padded(BLOCK * spec.cols);
                    Slot::Scratch(at)
                } else {
                    let last = if kept.contains(&b) { stages.len() } else { last };
                    Slot::Arena(arena.place(padded(spec.rows * spec.cols), (first, last)))
                }
            }
            (home, _) => Slot::Home(home),
        });
    }
    (slots, arena.len, scratch_ends.into_iter().max().unwrap_or(0))
}

fn place_masks(stages: &[Stage], masks: &[(usize, usize)]) -> (Vec<usize>, usize) {
    let touched = |instr: &Instr| Vec::<Mask>::from_iter(instr.mask());
    let lives = lifetimes(masks.len(), stages, touched);
    let mut arena = Arena::default();
    let place = |(i, &(rows, cols)): (usize, &(usize, usize))| {
        lives[i].map_or(0, |life| arena.place(rows * cols.div_ceil(64), life))
    };
    let offsets = masks.iter().enumerate().map(place).collect();
    (offsets, arena.len)
}

/// Rounds up to a cache line.
pub(super) fn padded(len: usize) -> usize {
    len.next_multiple_of(LINE)
}

/// First-fit placement of items by their lifetimes.
#[derive(Default)]
struct Arena {
    placed: Vec<(Range<usize>, (usize, usize))>,
    len: usize,
}

impl Arena {
    fn place(&mut self, size: usize, life: (usize, usize)) -> usize {
        let overlaps = |other: &(usize, usize)| other.0 <= life.1 && life.0 <= other.1;
        let mut taken: Vec<&Range<usize>> = self
            .placed
            .iter()
            .filter(|(_, other)| overlaps(other))
            .map(|(range, _)| range)
            .collect();
        taken.sort_by_key(|range| range.start);
        let mut at = 0;
        for range in taken {
            if range.start >= at + size {
                break;
            }
            at = at.max(range.end);
        }
        self.placed.push((at..at + size, life));
        self.len = self.len.max(at + size);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_share_memory_only_when_their_lives_do_not_meet() {
        let mut arena = Arena::default();
        assert_eq!(arena.place(10, (0, 2)), 0);
        assert_eq!(arena.place(10, (1, 3)), 10);
        assert_eq!(arena.place(10, (3, 4)), 0);
        assert_eq!(arena.place(5, (4, 4)), 10);
        assert_eq!(arena.place(6, (3, 3)), 20);
        assert_eq!(arena.len, 26);
    }

    #[test]
    fn chunks_cover_every_row_once() {
        for rows in [1, 63, 64, 65, 2708, 19717] {
            let stage = Stage { rows, instrs: vec![], partials: HashMap::new() };
            let covered: Vec<usize> =
                (0..stage.n_chunks()).flat_map(|c| stage.blocks(c)).flatten().collect();
            assert_eq!(covered, (0..rows).collect::<Vec<_>>());
            assert!(stage.n_chunks() <= CHUNKS);
        }
    }
}
