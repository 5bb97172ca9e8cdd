//! Finds sums that rows of a chunk share.
//!
//! In every round, rows and sums are sorted by two hashes; those of two lists are equal with a probability that
//! grows with the share of common entries. The common entries of lists close to each other in this order become
//! a new sum, which can itself be shortened in later rounds.

use crate::tensor::sparse::Pattern;
use std::ops::Range;

/// The smallest number of common entries that become a new sum.
const MIN_COMMON: usize = 4;
/// The search ends after a round that saves less work than this share of the number of entries.
const MIN_SAVING: f64 = 0.0025;
/// The largest number of rounds.
const MAX_ROUNDS: u64 = 64;
/// The number of lists with which each list is compared: those directly after it in the sorted order.
const N_COMPARED: usize = 2;

/// The rows of a chunk as sums of columns and shared sums.
///
/// Rows and sums are numbered together: rows first, then sums.
pub(super) struct ChunkSums {
    n_rows: usize,
    n_columns: u32,
    /// The entries of every row and sum, ascending: columns, then `n_columns` plus the number of a sum.
    lists: Vec<Vec<u32>>,
}

/// The entries of a row or sum.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    list: &'a [u32],
    n_columns: u32,
}

impl<'a> Entries<'a> {
    /// The columns that are added.
    pub fn columns(self) -> impl Iterator<Item = u32> + 'a {
        self.list.iter().copied().filter(move |entry| *entry < self.n_columns)
    }

    /// The numbers of the shared sums that are added.
    pub fn sums(self) -> impl Iterator<Item = usize> + 'a {
        let sums = self.list.iter().filter(move |entry| **entry >= self.n_columns);
        sums.map(move |entry| (entry - self.n_columns) as usize)
    }
}

impl ChunkSums {
    /// Finds shared sums of these rows of a pattern; none if their numbers would not fit into `u32`.
    pub fn new(pattern: &Pattern, rows: Range<usize>) -> Self {
        let n_columns = pattern.n_cols() as u32;
        let lists: Vec<Vec<u32>> = rows.map(|row| pattern.row(row).to_vec()).collect();
        let mut sums = Self { n_rows: lists.len(), n_columns, lists };
        let n_entries: usize = sums.lists.iter().map(Vec::len).sum();
        // There are fewer sums than entries, because every new sum reduces the number of entries.
        if pattern.n_cols() + sums.n_rows + n_entries < u32::MAX as usize {
            for round in 0..MAX_ROUNDS {
                if (sums.share(round) as f64) < MIN_SAVING * n_entries as f64 {
                    break;
                }
            }
            sums.inline_small_sums();
        }
        sums
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of rows and sums.
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    /// The entries of a row or sum.
    pub fn list(&self, number: usize) -> Entries<'_> {
        Entries { list: &self.lists[number], n_columns: self.n_columns }
    }

    /// The number of reads of all rows and used sums, plus the number of these sums.
    pub fn work(&self) -> usize {
        let reads: usize = self.lists.iter().map(Vec::len).sum();
        reads + self.lists[self.n_rows..].iter().filter(|list| !list.is_empty()).count()
    }

    /// Runs one round; returns by how much it reduces [`ChunkSums::work`].
    fn share(&mut self, round: u64) -> usize {
        let mut candidates = self.candidates(round);
        candidates.sort_unstable_by_key(|&(common, a, b)| (std::cmp::Reverse(common), a, b));
        let mut is_used = vec![false; self.lists.len()];
        let mut saved = 0;
        for (_, a, b) in candidates {
            if !is_used[a] && !is_used[b] {
                (is_used[a], is_used[b]) = (true, true);
                saved += self.share_common(a, b);
            }
        }
        saved
    }

    /// Pairs of similar lists, as (number of common entries, list, list).
    fn candidates(&self, round: u64) -> Vec<(usize, usize, usize)> {
        let long = (0..self.lists.len()).filter(|&i| self.lists[i].len() >= MIN_COMMON);
        let mut keys: Vec<(u64, u64, usize)> = long
            .map(|i| {
                let hash = |seed| min_hash(&self.lists[i], seed);
                (hash(2 * round), hash(2 * round + 1), i)
            })
            .collect();
        keys.sort_unstable();
        let mut candidates = vec![];
        for (k, &(_, _, a)) in keys.iter().enumerate() {
            for &(_, _, b) in keys[k + 1..].iter().take(N_COMPARED) {
                let common = count_common(&self.lists[a], &self.lists[b]);
                if common >= MIN_COMMON {
                    candidates.push((common, a.min(b), a.max(b)));
                }
            }
        }
        candidates
    }

    /// Replaces the common entries of two lists with an existing or new sum; returns by how much this reduces
    /// [`ChunkSums::work`].
    fn share_common(&mut self, a: usize, b: usize) -> usize {
        let common = common_entries(&self.lists[a], &self.lists[b]);
        let is_whole = |i: usize| i >= self.n_rows && self.lists[i].len() == common.len();
        // If one of the lists is a sum of exactly these entries, the other one uses it.
        for (sum, other) in [(a, b), (b, a)] {
            if is_whole(sum) {
                self.replace(other, &common, sum);
                return common.len() - 1;
            }
        }
        let sum = self.lists.len();
        self.replace(a, &common, sum);
        self.replace(b, &common, sum);
        let saved = common.len() - 3;
        self.lists.push(common);
        saved
    }

    /// Replaces these entries of a list with a sum.
    fn replace(&mut self, list: usize, entries: &[u32], sum: usize) {
        let replaced = &mut self.lists[list];
        let mut next = entries.iter().peekable();
        replaced.retain(|entry| next.next_if_eq(&entry).is_none());
        let sum = self.n_columns + sum as u32;
        let position = replaced.partition_point(|entry| *entry < sum);
        replaced.insert(position, sum);
    }

    /// Replaces sums that save nothing with their entries: those with `u` uses and `c` entries for which
    /// `u c < c + u + 2`. Their lists become empty.
    fn inline_small_sums(&mut self) {
        let mut uses = vec![0; self.lists.len()];
        for number in 0..self.lists.len() {
            self.list(number).sums().for_each(|sum| uses[sum] += 1);
        }
        let is_small: Vec<bool> = (0..self.lists.len())
            .map(|i| {
                let (u, c) = (uses[i], self.lists[i].len());
                i >= self.n_rows && u * c < c + u + 2
            })
            .collect();
        let expanded = |number: usize| -> Vec<u32> {
            let mut list = vec![];
            self.expand(&self.lists[number], &is_small, &mut list);
            list.sort_unstable();
            list
        };
        let lists =
            (0..self.lists.len()).map(|i| if is_small[i] { vec![] } else { expanded(i) }).collect();
        self.lists = lists;
    }

    /// Appends these entries, with small sums replaced by their own entries.
    fn expand(&self, entries: &[u32], is_small: &[bool], into: &mut Vec<u32>) {
        for &entry in entries {
            match entry.checked_sub(self.n_columns) {
                Some(sum) if is_small[sum as usize] => {
                    self.expand(&self.lists[sum as usize], is_small, into);
                }
                _ => into.push(entry),
            }
        }
    }
}

/// The smallest hash of the entries.
fn min_hash(entries: &[u32], seed: u64) -> u64 {
    let hash = |entry: &u32| {
        let x = (u64::from(*entry) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seed);
        let x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        x ^ (x >> 32)
    };
    entries.iter().map(hash).min().unwrap_or(u64::MAX)
}

/// The number of common entries of two ascending lists.
fn count_common(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        common += usize::from(a[i] == b[j]);
        let (x, y) = (a[i], b[j]);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    common
}

/// The common entries of two ascending lists.
fn common_entries(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut b = b.iter().peekable();
    let is_in_b = |x: &&u32| {
        while b.next_if(|y| *y < *x).is_some() {}
        b.next_if_eq(x).is_some()
    };
    a.iter().filter(is_in_b).copied().collect()
}
