//! Optional fifth pass: products with the graph's operators read bf16.
//!
//! Gathering rows limits the speed of a training step on a large graph, and bf16 halves the bytes read. A
//! computed source of a product with an operator is also written as bf16, and the product reads this
//! copy; it accumulates in full precision, and other instructions are unchanged. Eight significant bits
//! are enough for the signals and gradients of these networks, but results differ, so this pass is off by
//! default.

use super::instr::{Access, Buf, BufKind, Instr, Listing, Spmm};
use crate::tensor::Real;
use crate::tensor::kernel::bf16_stride;
use std::collections::BTreeMap;

/// The precision in which products with the graph's operators read their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatherPrecision {
    /// The same precision as all other computations.
    #[default]
    Full,
    /// Computed sources are read as bf16, the upper half of an f32; inputs in full precision.
    Bf16,
}

/// Makes products with an operator in the main section read a bf16 copy of their source, if this section computes
/// the source and does not change it after the product. The copy is written after the last change of the source.
pub(super) fn gather_bf16<T: Real>(list: &mut Listing) {
    let mut last_write: BTreeMap<Buf, usize> = BTreeMap::new();
    for (i, instr) in list.main.iter().enumerate() {
        let accesses = instr.info().accesses.into_iter();
        let written = accesses.filter(|(_, access)| *access == Access::WriteRows);
        last_write.extend(written.map(|(buf, _)| (buf, i)));
    }
    let mut copies: BTreeMap<Buf, Buf> = BTreeMap::new();
    for i in 0..list.main.len() {
        let Instr::Sum { spmm: Some(Spmm { src, .. }), .. } = list.main[i] else { continue };
        let spec = list.bufs[src];
        let is_ready = last_write.get(&src).is_some_and(|write| *write < i);
        if spec.kind == BufKind::Computed && is_ready {
            let copy = *copies.entry(src).or_insert_with(|| {
                let copy = list.computed(spec.rows, bf16_stride::<T>(spec.cols));
                list.bufs[copy].is_bf16 = true;
                copy
            });
            if let Instr::Sum { spmm: Some(Spmm { src, .. }), .. } = &mut list.main[i] {
                *src = copy;
            }
        }
    }
    let mut conversions: BTreeMap<usize, Instr> = BTreeMap::new();
    for (src, dst) in copies {
        conversions.insert(last_write[&src], Instr::Bf16 { src, dst });
    }
    let main = std::mem::take(&mut list.main);
    list.main = main
        .into_iter()
        .enumerate()
        .flat_map(|(i, instr)| std::iter::once(instr).chain(conversions.remove(&i)))
        .collect();
}
