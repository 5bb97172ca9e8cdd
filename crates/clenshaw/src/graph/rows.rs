//! From edges to compressed rows: a counting sort by row, then a sort within each row.
//!
//! Every thread owns a range of rows and looks at all edges, so there is nothing to lock.
//! Besides the edges and the result, memory holds one number a node.
//! Rows end up sorted, so the result does not depend on the number of threads.

use rayon::prelude::*;

pub(super) type Edge = (u32, u32);

/// Fewer edges than this are not worth a second thread.
const WORTH_SHARING: usize = 1 << 15;
/// More ranges than this only look at edges that belong to others.
const MOST_RANGES: usize = 16;

/// Offsets and columns of the symmetric adjacency, without loops and repetitions.
///
/// All ends of edges are below `n_nodes`.
pub(super) fn compress(n_nodes: usize, blocks: &[&[Edge]]) -> (Vec<usize>, Vec<u32>) {
    let n_edges: usize = blocks.iter().map(|block| block.len()).sum();
    let n_ranges = match n_edges < WORTH_SHARING {
        true => 1,
        false => rayon::current_num_threads().clamp(1, MOST_RANGES),
    };
    let mut next = Vec::with_capacity(n_nodes + 1);
    next.resize(n_nodes, 0);
    let n_arcs = starts(&mut next, blocks, n_ranges);
    let mut columns = vec![0; n_arcs];
    let mut ranges = cut(&mut next, &mut columns, n_ranges);
    let kept: Vec<usize> = ranges.par_iter_mut().map(|range| range.fill(blocks)).collect();
    let sizes: Vec<(usize, usize)> =
        ranges.iter().map(|range| (range.next.len(), range.columns.len())).collect();
    close_gaps(&mut next, &mut columns, &sizes, &kept);
    // What was the end of each row is the start of the following one.
    next.insert(0, 0);
    (next, columns)
}

/// Where each row starts if nothing is repeated; returns where the last one ends.
fn starts(next: &mut [usize], blocks: &[&[Edge]], n_ranges: usize) -> usize {
    let rows = next.len().div_ceil(n_ranges).max(1);
    next.par_chunks_mut(rows).enumerate().for_each(|(range, degrees)| {
        let first = range * rows;
        for &(u, v) in blocks.iter().copied().flatten().filter(|(u, v)| u != v) {
            for row in [u, v] {
                if let Some(degree) = degrees.get_mut((row as usize).wrapping_sub(first)) {
                    *degree += 1;
                }
            }
        }
    });
    let mut sum = 0;
    for start in next.iter_mut() {
        sum += std::mem::replace(start, sum);
    }
    sum
}

/// Consecutive rows and the columns that belong to them.
struct Range<'a> {
    first_row: usize,
    first_column: usize,
    next: &'a mut [usize],
    columns: &'a mut [u32],
}

/// Ranges with about the same number of columns each.
fn cut<'a>(
    mut next: &'a mut [usize],
    mut columns: &'a mut [u32],
    n_ranges: usize,
) -> Vec<Range<'a>> {
    let (n_arcs, mut ranges) = (columns.len(), vec![]);
    let (mut first_row, mut first_column) = (0, 0);
    for range in 1..=n_ranges {
        let goal = n_arcs / n_ranges * range;
        let rows = match range == n_ranges {
            true => next.len(),
            false => next.partition_point(|&start| start < goal),
        };
        let end = next.get(rows).copied().unwrap_or(n_arcs);
        let (own_next, other_next) = next.split_at_mut(rows);
        let (own_columns, other_columns) = columns.split_at_mut(end - first_column);
        ranges.push(Range { first_row, first_column, next: own_next, columns: own_columns });
        (next, columns) = (other_next, other_columns);
        (first_row, first_column) = (first_row + rows, end);
    }
    ranges
}

impl Range<'_> {
    /// Puts every arc in its row, sorts the rows, drops repetitions; returns how many are left.
    ///
    /// `next` then holds the end of each row, counted from the range's first column.
    fn fill(&mut self, blocks: &[&[Edge]]) -> usize {
        self.next.iter_mut().for_each(|start| *start -= self.first_column);
        for &(u, v) in blocks.iter().copied().flatten().filter(|(u, v)| u != v) {
            self.put(u, v);
            self.put(v, u);
        }
        let (mut start, mut kept) = (0, 0);
        for end in self.next.iter_mut() {
            self.columns[start..*end].sort_unstable();
            let row = kept;
            for at in start..*end {
                let column = self.columns[at];
                if kept == row || self.columns[kept - 1] != column {
                    self.columns[kept] = column;
                    kept += 1;
                }
            }
            start = std::mem::replace(end, kept);
        }
        kept
    }

    fn put(&mut self, row: u32, column: u32) {
        if let Some(at) = self.next.get_mut((row as usize).wrapping_sub(self.first_row)) {
            self.columns[*at] = column;
            *at += 1;
        }
    }
}

/// Moves the ranges together; `sizes` are their rows and the columns they had, `kept` those they have.
fn close_gaps(
    next: &mut [usize],
    columns: &mut Vec<u32>,
    sizes: &[(usize, usize)],
    kept: &[usize],
) {
    let (mut first_row, mut first_column, mut total) = (0, 0, 0);
    for (&(rows, had), &has) in sizes.iter().zip(kept) {
        columns.copy_within(first_column..first_column + has, total);
        next[first_row..first_row + rows].iter_mut().for_each(|end| *end += total);
        (first_row, first_column, total) = (first_row + rows, first_column + had, total + has);
    }
    columns.truncate(total);
    columns.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use proptest::prelude::*;

    /// The same by sorting all arcs.
    fn plainly(n_nodes: usize, edges: &[Edge]) -> (Vec<usize>, Vec<u32>) {
        let loopless = edges.iter().filter(|(u, v)| u != v);
        let mut arcs: Vec<Edge> = loopless.flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
        arcs.sort_unstable();
        arcs.dedup();
        let ends = (0..n_nodes as u32).map(|u| arcs.partition_point(|arc| arc.0 <= u));
        (std::iter::once(0).chain(ends).collect(), arcs.into_iter().map(|(_, v)| v).collect())
    }

    fn with_threads(n: usize, run: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(run);
    }

    proptest! {
        #[test]
        fn rows_are_those_of_a_plain_sort(
            edges in prop::collection::vec((0..9u32, 0..9u32), 0..40),
            cut: prop::sample::Index,
        ) {
            let (a, b) = edges.split_at(cut.index(edges.len() + 1));
            prop_assert_eq!(compress(9, &[a, b]), plainly(9, &edges));
        }
    }

    #[test]
    fn threads_do_not_change_the_rows() {
        // A few rows take most arcs, and many arcs are repeated.
        let mut stream = Stream::new(7, "test");
        let mut node = || (500.0 * stream.unit().powi(4)) as u32;
        let edges: Vec<Edge> = (0..2 * WORTH_SHARING).map(|_| (node(), node())).collect();
        let expected = plainly(500, &edges);
        for n in [1, 2, 5, 40] {
            with_threads(n, || assert_eq!(compress(500, &[&edges]), expected, "{n} threads"));
        }
    }
}
