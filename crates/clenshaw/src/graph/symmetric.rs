//! Is a pattern an undirected graph: no loops, and every arc with its reverse?
//!
//! Rows are ascending, so the reverses of the arcs that end in `v` come in the order of `v`'s own row:
//! one finger a row, moved by every arc from below, has to point at the arc's start each time and to
//! reach the first column above `v` in the end.
//! Threads share the rows by where the fingers are, and need no locks.
//!
//! The fingers jump about in memory.
//! Where nobody has a reason to cheat, sums do it several times as fast:
//!
//! ```text
//! sum of h(u, v) over arcs with u < v  =  sum of h(v, u) over arcs with u > v
//! ```

use crate::parallel;
use crate::rng::mix;
use crate::tensor::Pattern;
use std::ops::Range;

/// Fewer arcs than this are not worth a second thread.
const DEAL: usize = 1 << 14;

/// What is wrong with a square pattern; `None` if it is symmetric and has no loops.
pub(super) fn problem(adjacency: &Pattern) -> Option<String> {
    let problem = |rows| problem_within(adjacency, rows);
    parallel::map(usize::MAX, cut(adjacency), problem).into_iter().flatten().next()
}

/// Whether the sums of both directions agree: always if it is symmetric, else once in `2^64` cases.
pub(super) fn balances(adjacency: &Pattern) -> bool {
    let (offsets, columns) = (adjacency.offsets(), adjacency.indices());
    let row_sum = |u: usize| {
        columns[offsets[u]..offsets[u + 1]].iter().fold(0u64, |sum, &v| {
            let (u, v) = (u as u64, u64::from(v));
            if u < v { sum.wrapping_add(pair(u, v)) } else { sum.wrapping_sub(pair(v, u)) }
        })
    };
    let sum = |rows: Range<usize>| rows.map(row_sum).fold(0, u64::wrapping_add);
    parallel::map(usize::MAX, cut(adjacency), sum).into_iter().fold(0, u64::wrapping_add) == 0
}

/// `h(u, v)`, a bijection of pairs; nothing but the pair of two largest numbers becomes 0.
fn pair(u: u64, v: u64) -> u64 {
    mix((u << 32 | v).wrapping_add(1))
}

/// Ranges of rows with about the same number of arcs, one a thread.
fn cut(adjacency: &Pattern) -> Vec<Range<usize>> {
    let n_ranges = parallel::available_threads().min(1 + adjacency.n_entries() / DEAL);
    adjacency.cut(n_ranges).collect()
}

fn problem_within(adjacency: &Pattern, rows: Range<usize>) -> Option<String> {
    let (offsets, columns) = (adjacency.offsets(), adjacency.indices());
    let one_way = |u: usize, v: usize| Some(format!("arc {u} to {v} has no arc back"));
    let mut fingers = offsets[rows.clone()].to_vec();
    for u in 0..rows.end {
        let row = &columns[offsets[u]..offsets[u + 1]];
        let above = row.partition_point(|&v| (v as usize) < rows.start.max(u));
        for v in row[above..].iter().map(|&v| v as usize).take_while(|&v| v < rows.end) {
            if v == u {
                return Some(format!("node {u} is its own neighbour"));
            }
            let finger = &mut fingers[v - rows.start];
            match columns[*finger..offsets[v + 1]].first() {
                Some(&back) if back as usize == u => *finger += 1,
                Some(&back) if (back as usize) < u => return one_way(v, back as usize),
                _ => return one_way(u, v),
            }
        }
    }
    rows.clone().zip(fingers).find_map(|(v, finger)| {
        let back = columns[finger..offsets[v + 1]].first().map(|&u| u as usize)?;
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
        /// Few arcs are missing or too many, and threads may share the rows at any place.
        #[test]
        fn one_arc_too_many_or_too_few_is_noticed(
            edges in prop::collection::btree_set((0..9u32, 0..9u32), 0..30),
            changed in prop::option::of((0..9u32, 0..9u32)),
            cut in 0..10usize,
        ) {
            let kept = edges.iter().filter(|(u, v)| u != v);
            let mut arcs: BTreeSet<_> = kept.flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
            if let Some(arc) = changed && !arcs.remove(&arc) {
                arcs.insert(arc);
            }
            let adjacency = pattern(9, &arcs);
            prop_assert_eq!(problem(&adjacency).is_none(), is_undirected(&arcs));
            prop_assert_eq!(balances(&adjacency), is_undirected(&arcs));
            let halves = [0..cut.min(9), cut.min(9)..9];
            let found = halves.into_iter().any(|rows| problem_within(&adjacency, rows).is_some());
            prop_assert_eq!(!found, is_undirected(&arcs));
        }
    }

    #[test]
    fn a_loop_of_the_first_node_does_not_balance() {
        assert!(!balances(&pattern(2, &BTreeSet::from([(0, 0)]))));
        assert!(balances(&pattern(2, &BTreeSet::from([(0, 1), (1, 0)]))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |arcs: &[(u32, u32)]| problem(&pattern(3, &arcs.iter().copied().collect()));
        assert_eq!(said(&[(0, 2), (2, 0)]), None);
        assert_eq!(said(&[(0, 2)]).unwrap(), "arc 0 to 2 has no arc back");
        assert_eq!(said(&[(2, 0)]).unwrap(), "arc 2 to 0 has no arc back");
        assert_eq!(said(&[(2, 0), (1, 2), (2, 1)]).unwrap(), "arc 2 to 0 has no arc back");
        assert_eq!(said(&[(1, 1)]).unwrap(), "node 1 is its own neighbour");
    }
}
