//! Checks that a pattern is the adjacency of an undirected graph: no self-loops, and a reverse for every
//! arc.
//!
//! Columns ascend within a row, so the arcs `u -> v` with `u < v`, visited in order of `u`, must match the
//! columns below `v` in row `v`, in order. Each row has a cursor, which every such arc advances: before it
//! does, the cursor must point at `u`, and at the end it must point past all columns below `v`. Each thread
//! has the cursors of a range of rows.

use crate::parallel;
use crate::tensor::Pattern;
use std::ops::Range;

/// Fewer arcs than this are checked by one thread.
const CHUNK: usize = 1 << 14;

/// Describes a problem with a square pattern; `None` if it is symmetric and has no self-loops.
pub(super) fn find_problem(adjacency: &Pattern) -> Option<String> {
    let n_ranges = parallel::available_threads().min(1 + adjacency.n_entries() / CHUNK);
    let ranges = adjacency.split_rows(n_ranges);
    let problems = parallel::map(n_ranges, ranges, |rows| find_problem_in_rows(adjacency, rows));
    problems.into_iter().flatten().next()
}

/// [`find_problem`] for the self-loops of these rows, and for the arcs between one of them and a lower row.
fn find_problem_in_rows(adjacency: &Pattern, rows: Range<usize>) -> Option<String> {
    let (offsets, columns) = (adjacency.offsets(), adjacency.indices());
    let one_way = |u: usize, v: usize| Some(format!("arc {u} to {v} has no reverse arc"));
    let mut cursors = offsets[rows.clone()].to_vec();
    for u in 0..rows.end {
        let row = &columns[offsets[u]..offsets[u + 1]];
        let above = row.partition_point(|&v| (v as usize) < rows.start.max(u));
        for v in row[above..].iter().map(|&v| v as usize).take_while(|&v| v < rows.end) {
            if v == u {
                return Some(format!("node {u} has a self-loop"));
            }
            let cursor = &mut cursors[v - rows.start];
            match columns[*cursor..offsets[v + 1]].first() {
                Some(&back) if back as usize == u => *cursor += 1,
                Some(&back) if (back as usize) < u => return one_way(v, back as usize),
                _ => return one_way(u, v),
            }
        }
    }
    rows.clone().zip(cursors).find_map(|(v, cursor)| {
        let back = columns[cursor..offsets[v + 1]].first().map(|&u| u as usize)?;
        if back < v { one_way(v, back) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pattern(n: usize, arcs: &BTreeSet<(u32, u32)>) -> Pattern {
        let end = |u| arcs.iter().filter(|arc| (arc.0 as usize) < u).count();
        Pattern::new(n, (0..=n).map(end).collect(), arcs.iter().map(|arc| arc.1).collect())
    }

    fn is_undirected(arcs: &BTreeSet<(u32, u32)>) -> bool {
        arcs.iter().all(|&(u, v)| u != v && arcs.contains(&(v, u)))
    }

    proptest! {
        /// At most one arc is added or removed, and the rows are split at any position.
        #[test]
        fn one_added_or_removed_arc_is_detected(
            edges in prop::collection::btree_set((0..9u32, 0..9u32), 0..30),
            changed in prop::option::of((0..9u32, 0..9u32)),
            split in 0..10usize,
        ) {
            let kept = edges.iter().filter(|(u, v)| u != v);
            let mut arcs: BTreeSet<_> = kept.flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
            if let Some(arc) = changed && !arcs.remove(&arc) {
                arcs.insert(arc);
            }
            let adjacency = pattern(9, &arcs);
            prop_assert_eq!(find_problem(&adjacency).is_none(), is_undirected(&arcs));
            let parts = [0..split.min(9), split.min(9)..9];
            let found = parts.into_iter().any(|rows| find_problem_in_rows(&adjacency, rows).is_some());
            prop_assert_eq!(!found, is_undirected(&arcs));
        }
    }

    #[test]
    fn problem_names_the_arc() {
        let found =
            |arcs: &[(u32, u32)]| find_problem(&pattern(3, &arcs.iter().copied().collect()));
        assert_eq!(found(&[(0, 2), (2, 0)]), None);
        assert_eq!(found(&[(0, 2)]).unwrap(), "arc 0 to 2 has no reverse arc");
        assert_eq!(found(&[(2, 0)]).unwrap(), "arc 2 to 0 has no reverse arc");
        assert_eq!(found(&[(2, 0), (1, 2), (2, 1)]).unwrap(), "arc 2 to 0 has no reverse arc");
        assert_eq!(found(&[(1, 1)]).unwrap(), "node 1 has a self-loop");
    }
}
