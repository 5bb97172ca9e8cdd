//! Assigns slots to the shared sums of a chunk.

use super::BLOCK_ROWS;
use super::matching::ChunkSums;

/// The order in which the shared sums of a chunk are computed, and their slots.
pub(super) struct SlotAssignment {
    /// The numbers of the shared sums in the order of execution, with their slots.
    pub sums: Vec<(usize, u32)>,
    /// For each block of rows, the number of sums up to its end.
    pub block_ends: Vec<u32>,
    pub n_slots: usize,
    /// The slot of every shared sum, by number.
    slots: Vec<u32>,
}

impl SlotAssignment {
    /// Orders the sums of a chunk and assigns slots to them. Every sum is computed before the first block that
    /// uses it, after the sums that it uses; its slot is reused after the last sum or row that needs it.
    pub fn new(chunk: &ChunkSums) -> Self {
        let blocks = blocks_of_sums(chunk);
        let last_uses = last_uses(chunk, &blocks);
        let mut assigned =
            Self { sums: vec![], block_ends: vec![], n_slots: 0, slots: vec![0; chunk.len()] };
        let mut free: Vec<u32> = vec![];
        for (block, sums) in blocks.iter().enumerate() {
            for &sum in sums {
                let slot = free.pop().unwrap_or(assigned.n_slots as u32);
                assigned.n_slots = assigned.n_slots.max(slot as usize + 1);
                assigned.slots[sum] = slot;
                assigned.sums.push((sum, slot));
                assigned.release(chunk, sum, &last_uses, &mut free);
            }
            for row in rows_of_block(chunk, block) {
                assigned.release(chunk, row, &last_uses, &mut free);
            }
            assigned.block_ends.push(assigned.sums.len() as u32);
        }
        assigned
    }

    /// The slot of a shared sum.
    pub fn slot_of(&self, sum: usize) -> u32 {
        self.slots[sum]
    }

    /// Frees the slots of the sums that a row or sum is the last to use.
    fn release(&self, chunk: &ChunkSums, user: usize, last_uses: &[usize], free: &mut Vec<u32>) {
        let unused = chunk.list(user).sums().filter(|&sum| last_uses[sum] == user);
        free.extend(unused.map(|sum| self.slots[sum]));
    }
}

/// The rows of a block, counted from the first row of the chunk.
fn rows_of_block(chunk: &ChunkSums, block: usize) -> std::ops::Range<usize> {
    block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(chunk.n_rows())
}

/// The shared sums to compute before each block.
fn blocks_of_sums(chunk: &ChunkSums) -> Vec<Vec<usize>> {
    let mut is_listed = vec![false; chunk.len()];
    (0..chunk.n_rows().div_ceil(BLOCK_ROWS))
        .map(|block| {
            let mut listed = vec![];
            for row in rows_of_block(chunk, block) {
                list_sums(chunk, row, &mut is_listed, &mut listed);
            }
            listed
        })
        .collect()
}

/// Lists the sums that a row or sum uses and that are not listed yet, each after those that it uses.
fn list_sums(chunk: &ChunkSums, user: usize, is_listed: &mut [bool], listed: &mut Vec<usize>) {
    for sum in chunk.list(user).sums() {
        if !std::mem::replace(&mut is_listed[sum], true) {
            list_sums(chunk, sum, is_listed, listed);
            listed.push(sum);
        }
    }
}

/// The last row or sum, in the order of execution, that uses each sum.
fn last_uses(chunk: &ChunkSums, blocks: &[Vec<usize>]) -> Vec<usize> {
    let mut last_uses = vec![usize::MAX; chunk.len()];
    for (block, sums) in blocks.iter().enumerate() {
        for user in sums.iter().copied().chain(rows_of_block(chunk, block)) {
            chunk.list(user).sums().for_each(|sum| last_uses[sum] = user);
        }
    }
    last_uses
}
