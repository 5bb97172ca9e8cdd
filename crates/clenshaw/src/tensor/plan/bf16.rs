//! Gathering from upper halves: half the bytes for what a large graph's step is bound by.
//!
//! Whatever is spread over the graph is also written as bf16, and the product reads that copy; it adds
//! up in full precision, and everything else keeps its numbers. Off unless asked for: eight binary
//! digits are enough for signals and gradients of these networks, but the result is another one.

use super::instr::{Access, Buf, Home, Instr, Listing};
use crate::tensor::Real;
use crate::tensor::kernel::halved;
use std::collections::BTreeMap;

/// What products with the graph's operator read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatherPrecision {
    /// The numbers themselves.
    #[default]
    Full,
    /// Their upper halves, bf16.
    Bf16,
}

/// Lets every product with an operator read halves, each written behind the last change of its numbers.
pub(super) fn gather_bf16<T: Real>(list: &mut Listing) {
    let mut last_change: BTreeMap<Buf, usize> = BTreeMap::new();
    for (i, instr) in list.main.iter().enumerate() {
        let written =
            instr.touches().into_iter().filter(|(_, access)| *access == Access::WriteRows);
        last_change.extend(written.map(|(buf, _)| (buf, i)));
    }
    let mut halves: BTreeMap<Buf, Buf> = BTreeMap::new();
    for i in 0..list.main.len() {
        let Instr::Sum { spread: Some((_, _, src)), .. } = list.main[i] else { continue };
        let spec = list.bufs[src];
        let is_ready = last_change.get(&src).is_some_and(|change| *change < i);
        if spec.home == Home::Computed && is_ready {
            let half = *halves.entry(src).or_insert_with(|| {
                let half = list.computed(spec.rows, halved::<T>(spec.cols));
                list.bufs[half].halves = true;
                half
            });
            if let Instr::Sum { spread: Some((_, _, src)), .. } = &mut list.main[i] {
                *src = half;
            }
        }
    }
    let mut behind: BTreeMap<usize, Instr> = BTreeMap::new();
    for (src, dst) in halves {
        behind.insert(last_change[&src], Instr::Halve { src, dst });
    }
    let main = std::mem::take(&mut list.main);
    list.main = main
        .into_iter()
        .enumerate()
        .flat_map(|(i, instr)| std::iter::once(instr).chain(behind.remove(&i)))
        .collect();
}
