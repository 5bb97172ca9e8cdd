//! Tests of shared sums: exactness, savings and when they are not used.

use super::*;
use crate::rng::Stream;
use proptest::prelude::*;

/// A symmetric pattern in which nodes of a group have most of their neighbours in common.
fn grouped(n: usize, group: usize, noise: usize, seed: u64) -> Pattern {
    let mut stream = Stream::new(seed, "shared sums test");
    let mut rows: Vec<Vec<u32>> = vec![vec![]; n];
    let mut connect = |i: usize, j: usize| {
        rows[i].push(j as u32);
        rows[j].push(i as u32);
    };
    for i in 0..n {
        let hub = i / group * 7;
        (0..12).for_each(|k| connect(i, (hub + 31 * k) % n));
        (0..noise).for_each(|_| connect(i, stream.below(n)));
    }
    compressed(rows)
}

/// A square pattern with these columns in each row.
fn compressed(rows: Vec<Vec<u32>>) -> Pattern {
    let n = rows.len();
    let (mut offsets, mut indices) = (vec![0], vec![]);
    for mut row in rows {
        row.sort_unstable();
        row.dedup();
        indices.extend(row);
        offsets.push(indices.len());
    }
    Pattern::new(n, offsets, indices)
}

/// Executes the sums on sets of columns instead of numbers; panics if a slot is read before it is written.
fn expand(shared: &SharedSums) -> Vec<Vec<u32>> {
    let add = |entries: SumEntries<'_>, s: usize, slots: &[Option<Vec<u32>>]| {
        let (of_slots, of_rows) = entries.of(s);
        let mut columns: Vec<u32> = entries.indices[of_rows].to_vec();
        for &slot in &entries.indices[of_slots] {
            columns.extend(slots[slot as usize].as_ref().expect("the slot was written"));
        }
        columns.sort_unstable();
        columns
    };
    let mut rows = vec![];
    for chunk in shared.chunks() {
        // Slots are empty at the start of a chunk.
        let mut slots: Vec<Option<Vec<u32>>> = vec![None; shared.n_slots()];
        for start in chunk.clone().step_by(BLOCK_ROWS) {
            let block = start..(start + BLOCK_ROWS).min(chunk.end);
            let (sums, targets) = shared.sums_before(&block);
            for (s, &slot) in targets.iter().enumerate() {
                slots[slot as usize] = Some(add(sums, s, &slots));
            }
            let entries = shared.rows(&block);
            rows.extend((0..entries.len()).map(|r| add(entries, r, &slots)));
        }
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sums_expand_to_the_rows_of_the_pattern(
        n in 700..1500usize,
        group in 4..40usize,
        noise in 0..4usize,
        seed: u64,
    ) {
        let pattern = grouped(n, group, noise, seed);
        let chunks = chunks(&pattern);
        let built: Vec<_> =
            chunks.iter().map(|rows| ChunkSums::new(&pattern, rows.clone())).collect();
        let rows = expand(&SharedSums::assemble(chunks, &built));
        prop_assert!(rows.iter().enumerate().all(|(i, row)| row == pattern.row(i)));
    }
}

#[test]
fn rows_with_common_neighbours_are_read_less_often() {
    let pattern = grouped(2000, 20, 1, 0);
    let shared = SharedSums::new(&pattern).unwrap();
    let ratio = shared.n_reads() as f64 / pattern.n_entries() as f64;
    assert!(ratio < 0.6, "{ratio}");
    assert!(shared.n_slots() < 200, "{} slots", shared.n_slots());
}

#[test]
fn patterns_without_common_neighbours_are_left_alone() {
    let mut stream = Stream::new(5, "shared sums test");
    let n = 3000;
    let mut rows: Vec<Vec<u32>> = vec![vec![]; n];
    for _ in 0..8 * n {
        let (i, j) = (stream.below(n), stream.below(n));
        rows[i].push(j as u32);
        rows[j].push(i as u32);
    }
    let pattern = compressed(rows);
    assert!(SharedSums::new(&pattern).is_none());
    assert!(SharedSums::new(&grouped(100, 20, 0, 0)).is_none(), "few entries");
}

#[test]
fn sums_whose_numbers_exceed_u32_are_not_searched() {
    // Rows 0 and 1 of 200 have the same eight columns.
    let offsets = (0..=200).map(|row: usize| 8 * row.min(2)).collect();
    let indices = (0..8).chain(0..8).collect();
    let pattern = Pattern::new(u32::MAX as usize - 100, offsets, indices);
    assert_eq!(ChunkSums::new(&pattern, 0..200).len(), 200);
}

#[test]
fn chunks_are_whole_blocks_of_about_equal_work() {
    let pattern = grouped(5000, 30, 2, 1);
    let chunks = chunks(&pattern);
    assert_eq!(chunks.len(), 16);
    assert!(chunks.iter().all(|chunk| chunk.start % BLOCK_ROWS == 0));
    assert!(chunks.iter().cloned().flatten().eq(0..5000));
}
