//! The gate with vector masks, for f32; other types use the portable loops.
//!
//! AVX-512 compares 16 numbers with one instruction into one bit per number, and multiplies under such
//! a mask. AVX2 compares 8 numbers into full lanes; the bits of `keep` are expanded to lanes, and the
//! product is ANDed with both. The compiler generates neither from the portable loops.

use super::gate::{Act, gate};
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
    if TypeId::of::<T>() != TypeId::of::<f32>() {
        return gate(act, keep, scale, x, out);
    }
    assert!(
        x.len() <= 64 && x.len() == out.len(),
        "gate: `x` and `out` must have the same length, at most 64"
    );
    let (eights, rest) = x.as_chunks::<8>();
    let (out_eights, out_rest) = out.as_chunks_mut::<8>();
    let mut open = 0;
    for (i, (x, out)) in eights.iter().zip(out_eights).enumerate() {
        let (x, out) = (x.as_ptr().cast(), out.as_mut_ptr().cast());
        let (keep, scale) = ((keep >> (8 * i)) as u8, scale.to_f64() as f32);
        // SAFETY: both hold eight f32, and the caller guarantees AVX2.
        let bits = unsafe {
            match act {
                Act::Identity => gate_8::<_CMP_TRUE_UQ>(keep, scale, x, out),
                Act::Relu => gate_8::<_CMP_NLE_UQ>(keep, scale, x, out),
                Act::ReluStar => gate_8::<_CMP_NLT_UQ>(keep, scale, x, out),
            }
        };
        open |= u64::from(bits) << (8 * i);
    }
    if !rest.is_empty() {
        let done = 8 * eights.len();
        open |= gate(act, keep >> done, scale, rest, out_rest) << done;
    }
    open
}

/// Writes `scale * x` where the bit of `keep` is set and the comparison `PASSES` of `x` with zero holds,
/// and zero elsewhere. Returns the bits of the entries that passed.
///
/// # Safety
/// `x` and `out` point to eight entries each. Inlined only into code compiled for AVX2.
#[inline(always)]
unsafe fn gate_8<const PASSES: i32>(keep: u8, scale: f32, x: *const f32, out: *mut f32) -> u8 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let v = _mm256_loadu_ps(x);
        let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let kept = _mm256_and_si256(_mm256_set1_epi32(i32::from(keep)), bit);
        let kept = _mm256_castsi256_ps(_mm256_cmpeq_epi32(kept, bit));
        let open = _mm256_and_ps(kept, _mm256_cmp_ps::<PASSES>(v, _mm256_setzero_ps()));
        _mm256_storeu_ps(out, _mm256_and_ps(open, _mm256_mul_ps(_mm256_set1_ps(scale), v)));
        _mm256_movemask_ps(open) as u8
    }
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
    assert!(
        x.len() <= 64 && x.len() == out.len(),
        "gate: `x` and `out` must have the same length, at most 64"
    );
    let valid = u64::MAX.checked_shr(64 - x.len() as u32).unwrap_or(0);
    let keep = keep & valid;
    let (x, out) = (x.as_ptr().cast(), out.as_mut_ptr().cast());
    let scale = scale.to_f64() as f32;
    // SAFETY: `valid` has a bit for each entry, the entries are f32, and the caller guarantees AVX-512F.
    unsafe {
        match act {
            Act::Identity => gate_64::<_CMP_TRUE_UQ>(valid, keep, scale, x, out),
            Act::Relu => gate_64::<_CMP_NLE_UQ>(valid, keep, scale, x, out),
            Act::ReluStar => gate_64::<_CMP_NLT_UQ>(valid, keep, scale, x, out),
        }
    }
}

/// Writes `scale * x` where the bit of `keep` is set and the comparison `PASSES` of `x` with zero holds,
/// and zero elsewhere. Returns the bits of the entries that passed.
///
/// # Safety
/// `x` and `out` point to an entry for every set bit of `valid`. Inlined only into code compiled for
/// AVX-512F.
#[inline(always)]
unsafe fn gate_64<const PASSES: i32>(
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
