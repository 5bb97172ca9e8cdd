//! A gate with vector masks, for f32; everything else takes the plain loops.
//!
//! A comparison of 8 or 16 numbers gives their bits in one instruction, and AVX-512 multiplies under
//! such bits: neither is found by the compiler.

use super::gate::{Act, gate, pass, passing};
use crate::tensor::Real;
use std::any::TypeId;
use std::arch::x86_64::*;

/// [`gate`] on a processor with AVX2.
///
/// # Safety
/// Inlined only into code compiled for AVX2.
#[inline(always)]
pub(super) unsafe fn gate_avx2<T: Real>(
    act: Act,
    keep: u64,
    scale: T,
    x: &[T],
    out: &mut [T],
) -> u64 {
    let same = TypeId::of::<T>() == TypeId::of::<f32>();
    if !same || act == Act::Identity || !x.len().is_multiple_of(8) {
        return gate(act, keep, scale, x, out);
    }
    let mut open = 0;
    for (i, eight) in x.as_chunks::<8>().0.iter().enumerate() {
        // SAFETY: eight f32 are read; the caller's promise.
        let byte = unsafe {
            let (v, zero) = (_mm256_loadu_ps(eight.as_ptr().cast()), _mm256_setzero_ps());
            // "Not less" is true for what is not a number.
            let open = match act {
                Act::ReluStar => _mm256_cmp_ps::<_CMP_NLT_UQ>(v, zero),
                _ => _mm256_cmp_ps::<_CMP_NLE_UQ>(v, zero),
            };
            _mm256_movemask_ps(open) as u32
        };
        open |= u64::from(byte) << (8 * i);
    }
    debug_assert_eq!(open, passing(act, x));
    pass(open & keep, scale, x, out);
    open & keep
}

/// [`gate`] on a processor with AVX-512.
///
/// # Safety
/// Inlined only into code compiled for AVX-512F.
#[inline(always)]
pub(super) unsafe fn gate_avx512<T: Real>(
    act: Act,
    keep: u64,
    scale: T,
    x: &[T],
    out: &mut [T],
) -> u64 {
    if TypeId::of::<T>() != TypeId::of::<f32>() {
        return gate(act, keep, scale, x, out);
    }
    assert!(x.len() <= 64 && x.len() == out.len(), "gate: up to 64 entries");
    let valid = u64::MAX.checked_shr(64 - x.len() as u32).unwrap_or(0);
    let keep = keep & valid;
    let (x, out) = (x.as_ptr().cast(), out.as_mut_ptr().cast());
    let scale = scale.to_f64() as f32;
    // SAFETY: `valid` has a bit for each of the entries, which are f32; the caller's promise.
    unsafe {
        match act {
            Act::Identity => word::<_CMP_TRUE_UQ>(valid, keep, scale, x, out),
            Act::Relu => word::<_CMP_NLE_UQ>(valid, keep, scale, x, out),
            Act::ReluStar => word::<_CMP_NLT_UQ>(valid, keep, scale, x, out),
        }
    }
}

/// The bits of `keep` whose entries compare with zero as they should; they alone pass.
///
/// # Safety
/// `x` and `out` hold an entry for every bit of `valid`.
#[inline(always)]
unsafe fn word<const PASSES: i32>(
    valid: u64,
    keep: u64,
    scale: f32,
    x: *const f32,
    out: *mut f32,
) -> u64 {
    let mut open = 0;
    for i in 0..4 {
        let (lanes, keep) = ((valid >> (16 * i)) as u16, (keep >> (16 * i)) as u16);
        // SAFETY: lanes that are not valid are neither read nor written.
        let bits = unsafe {
            let v = _mm512_maskz_loadu_ps(lanes, x.wrapping_add(16 * i));
            let bits = _mm512_mask_cmp_ps_mask::<PASSES>(keep, v, _mm512_setzero_ps());
            let kept = _mm512_maskz_mul_ps(bits, _mm512_set1_ps(scale), v);
            _mm512_mask_storeu_ps(out.wrapping_add(16 * i), lanes, kept);
            bits
        };
        open |= u64::from(bits) << (16 * i);
    }
    open
}
