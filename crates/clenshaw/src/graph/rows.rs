//! Converts edges to compressed rows: a parallel counting sort by row, then a sort within each row.
//!
//! ```text
//! count    c_g[u]  number of arcs from u among the edges of group g, one group per thread
//! sum      c_g[u]  position at which group g writes its first arc from u
//! write    c_g[u]  position after its last arc from u; for the last group, the end of row u
//! ```
//!
//! Groups write to disjoint positions of one list, so no lock is needed; its entries are atomic with
//! relaxed ordering, which has no runtime cost. In addition to the edges and the result, one number per node
//! and group is stored. Rows are sorted, so the result does not depend on the number of threads.

use crate::parallel;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(super) type NodePair = (u32, u32);

/// The number of edges per chunk; fewer edges than this are processed by one thread.
const CHUNK: usize = 1 << 14;
/// With more groups than this, summing their counts takes longer than the threads save.
const MAX_GROUPS: usize = 16;

/// Returns offsets and columns of the symmetric adjacency without self-loops and duplicates. `n_nodes` must be
/// positive, and all nodes of the edges below it.
pub(super) fn compress(n_nodes: usize, blocks: &[&[NodePair]]) -> (Vec<usize>, Vec<u32>) {
    let threads = parallel::available_threads();
    let (mut ends, mut columns) = scatter(threads, n_nodes, blocks);
    let ranges = split_rows(threads, &mut ends, &mut columns);
    let sizes: Vec<(usize, usize)> =
        ranges.iter().map(|range| (range.ends.len(), range.columns.len())).collect();
    let kept = parallel::map(threads, ranges, |mut range| range.sort());
    close_gaps(&mut ends, &mut columns, &sizes, &kept);
    // The end of each row is the start of the following one.
    ends.insert(0, 0);
    (ends, columns)
}

/// Writes every arc to its row, in the order of the edges; returns the ends of the rows and the columns.
fn scatter(threads: usize, n_nodes: usize, blocks: &[&[NodePair]]) -> (Vec<usize>, Vec<u32>) {
    let chunks: Vec<&[NodePair]> = blocks.iter().flat_map(|block| block.chunks(CHUNK)).collect();
    let n_edges: usize = blocks.iter().map(|block| block.len()).sum();
    // At most as many counts as nodes and edges together.
    let n_groups = threads.min(1 + n_edges / n_nodes).min(MAX_GROUPS);
    let groups: Vec<&[&[NodePair]]> =
        chunks.chunks(chunks.len().div_ceil(n_groups).max(1)).collect();
    let mut cursors = parallel::map(threads, groups.iter(), |group| degrees(n_nodes, group));
    let n_arcs = prefix_sums(n_nodes, &mut cursors);
    let columns: Vec<_> = (0..n_arcs).map(|_| AtomicU32::new(0)).collect();
    parallel::map(threads, cursors.iter_mut().zip(groups), |(cursors, group)| {
        let mut put = |row: u32, column| {
            let cursor = &mut cursors[row as usize];
            columns[*cursor].store(column, Relaxed);
            *cursor += 1;
        };
        for chunk in group {
            for &(u, v) in chunk.iter().filter(|(u, v)| u != v) {
                put(u, v);
                put(v, u);
            }
        }
    });
    let ends = cursors.pop().unwrap_or_else(|| vec![0; n_nodes]);
    (ends, columns.into_iter().map(AtomicU32::into_inner).collect())
}

/// The number of arcs from each node in a group; has capacity for one more number.
fn degrees(n_nodes: usize, group: &[&[NodePair]]) -> Vec<usize> {
    let mut degrees = Vec::with_capacity(n_nodes + 1);
    degrees.resize(n_nodes, 0);
    for chunk in group {
        for &(u, v) in chunk.iter().filter(|(u, v)| u != v) {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
    }
    degrees
}

/// Turns counts into start positions, ordered by row and then by group; returns the number of arcs.
fn prefix_sums(n_nodes: usize, cursors: &mut [Vec<usize>]) -> usize {
    let mut sum = 0;
    for u in 0..n_nodes {
        for group in cursors.iter_mut() {
            sum += std::mem::replace(&mut group[u], sum);
        }
    }
    sum
}

/// Consecutive rows: their ends and their columns.
struct RowRange<'a> {
    /// The position of the first of `columns`. After sorting, `ends` are relative to it.
    first_column: usize,
    ends: &'a mut [usize],
    columns: &'a mut [u32],
}

/// Splits the rows into ranges with about the same number of columns each.
fn split_rows<'a>(
    threads: usize,
    mut ends: &'a mut [usize],
    mut columns: &'a mut [u32],
) -> Vec<RowRange<'a>> {
    let (n_arcs, mut ranges, mut first_column) = (columns.len(), vec![], 0);
    let n_ranges = (n_arcs / CHUNK).clamp(1, 8 * threads);
    for range in 1..=n_ranges {
        let goal = n_arcs / n_ranges * range;
        let rows = match range == n_ranges {
            true => ends.len(),
            false => ends.partition_point(|&end| end <= goal),
        };
        let (own_ends, other_ends) = ends.split_at_mut(rows);
        let last = own_ends.last().copied().unwrap_or(first_column);
        let (own_columns, other_columns) = columns.split_at_mut(last - first_column);
        ranges.push(RowRange { first_column, ends: own_ends, columns: own_columns });
        (ends, columns, first_column) = (other_ends, other_columns, last);
    }
    ranges
}

impl RowRange<'_> {
    /// Sorts each row and removes duplicates; returns the number of remaining columns.
    fn sort(&mut self) -> usize {
        let (mut start, mut kept) = (0, 0);
        for end in self.ends.iter_mut() {
            let stop = *end - self.first_column;
            self.columns[start..stop].sort_unstable();
            let row = kept;
            for i in start..stop {
                let column = self.columns[i];
                if kept == row || self.columns[kept - 1] != column {
                    self.columns[kept] = column;
                    kept += 1;
                }
            }
            (*end, start) = (kept, stop);
        }
        kept
    }
}

/// Removes the gaps that [`RowRange::sort`] left between ranges. `sizes` are the numbers of rows and of
/// columns of each range before sorting; `kept` are the numbers of columns after it.
fn close_gaps(
    ends: &mut [usize],
    columns: &mut Vec<u32>,
    sizes: &[(usize, usize)],
    kept: &[usize],
) {
    let (mut first_row, mut first_column, mut total) = (0, 0, 0);
    for (&(rows, n_before), &n_kept) in sizes.iter().zip(kept) {
        columns.copy_within(first_column..first_column + n_kept, total);
        ends[first_row..first_row + rows].iter_mut().for_each(|end| *end += total);
        (first_row, first_column, total) =
            (first_row + rows, first_column + n_before, total + n_kept);
    }
    columns.truncate(total);
    columns.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    /// A reference that sorts all arcs.
    fn reference(n_nodes: usize, edges: &[NodePair]) -> (Vec<usize>, Vec<u32>) {
        let loopless = edges.iter().filter(|(u, v)| u != v);
        let mut arcs: Vec<NodePair> = loopless.flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        arcs.sort_unstable();
        arcs.dedup();
        let ends = (0..n_nodes as u32).map(|u| arcs.partition_point(|arc| arc.0 <= u));
        (std::iter::once(0).chain(ends).collect(), arcs.into_iter().map(|(_, v)| v).collect())
    }

    proptest! {
        #[test]
        fn compress_agrees_with_the_reference(
            edges in prop::collection::vec((0..9u32, 0..9u32), 0..40),
            split: prop::sample::Index,
        ) {
            let (a, b) = edges.split_at(split.index(edges.len() + 1));
            prop_assert_eq!(compress(9, &[a, b]), reference(9, &edges));
        }
    }

    #[test]
    fn result_does_not_depend_on_threads() {
        // A few rows have most arcs, and many arcs are duplicates.
        let mut stream = Stream::new(7, "test");
        let mut node = || (500.0 * stream.unit().powi(4)) as u32;
        let edges: Vec<NodePair> = (0..4 * CHUNK).map(|_| (node(), node())).collect();
        let expected = reference(500, &edges);
        for n in [1, 2, 5, 40] {
            let rows = parallel::with_threads(n, || compress(500, &[&edges]));
            assert_eq!(rows, expected, "{n} threads");
        }
    }
}
