//! Inner products and sums over rows, whose order of additions depends only on the shapes, and sums with
//! one factor per column. `(+)=` adds if `add` is set, and overwrites otherwise.

use super::{Arith, Kernel, dispatch};
use crate::tensor::Real;

/// The number of partial sums of [`dot`]; fixed, so that every instruction set adds in the same order.
const LANES: usize = 64;

/// `sum_i a_i b_i`.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    struct Dot<'a, T>(&'a [T], &'a [T]);
    impl<T: Real> Kernel for Dot<'_, T> {
        type Output = T;
        #[inline(always)]
        fn run<A: Arith>(self) -> T {
            dot_in_lanes::<A, T>(self.0, self.1)
        }
    }
    assert_eq!(a.len(), b.len(), "dot: lengths differ");
    dispatch(Dot(a, b))
}

/// [`dot`] as a part of another kernel.
#[inline(always)]
pub(super) fn dot_in_lanes<A: Arith, T: Real>(a: &[T], b: &[T]) -> T {
    let mut acc = [T::ZERO; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            acc[i] = A::madd(a[i], b[i], acc[i]);
        }
    }
    for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        acc[i] = A::madd(*a, *b, acc[i]);
    }
    add_lanes(acc)
}

/// `sum_i x_i`, in the order of [`dot`].
#[inline(always)]
pub(super) fn sum_in_lanes<T: Real>(x: &[T]) -> T {
    let mut acc = [T::ZERO; LANES];
    let (x, rest) = x.as_chunks::<LANES>();
    for x in x {
        for i in 0..LANES {
            acc[i] += x[i];
        }
    }
    for (i, x) in rest.iter().enumerate() {
        acc[i] += *x;
    }
    add_lanes(acc)
}

#[inline(always)]
fn add_lanes<T: Real>(mut acc: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            acc[i] += acc[half + i];
        }
        half /= 2;
    }
    acc[0]
}

/// `out[c] (+)= sum_r g[r, c]`.
pub(crate) fn column_sums<T: Real>(g: &[T], out: &mut [T], add: bool) {
    struct ColumnSums<'a, T>(&'a [T], &'a mut [T]);
    impl<T: Real> Kernel for ColumnSums<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arith>(self) {
            for row in self.0.chunks_exact(self.1.len()) {
                for (out, g) in self.1.iter_mut().zip(row) {
                    *out += *g;
                }
            }
        }
    }
    if !add {
        out.fill(T::ZERO);
    }
    dispatch(ColumnSums(g, out));
}

/// `out[r, c] += factor[c] x[r, c]`.
pub(crate) fn add_columns<T: Real>(factor: &[T], x: &[T], out: &mut [T]) {
    struct AddColumns<'a, T>(&'a [T], &'a [T], &'a mut [T]);
    impl<T: Real> Kernel for AddColumns<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arith>(self) {
            let Self(factor, x, out) = self;
            let cols = factor.len();
            for (out, x) in out.chunks_exact_mut(cols).zip(x.chunks_exact(cols)) {
                for c in 0..cols {
                    out[c] = A::madd(factor[c], x[c], out[c]);
                }
            }
        }
    }
    assert_eq!(x.len(), out.len(), "add columns: lengths differ");
    dispatch(AddColumns(factor, x, out));
}

/// `out[c] (+)= sum_r a[r, c] b[r, c]`.
pub(crate) fn column_dots<T: Real>(a: &[T], b: &[T], out: &mut [T], add: bool) {
    struct ColumnDots<'a, T>(&'a [T], &'a [T], &'a mut [T]);
    impl<T: Real> Kernel for ColumnDots<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arith>(self) {
            let Self(a, b, out) = self;
            let cols = out.len();
            for (a, b) in a.chunks_exact(cols).zip(b.chunks_exact(cols)) {
                for c in 0..cols {
                    out[c] = A::madd(a[c], b[c], out[c]);
                }
            }
        }
    }
    assert_eq!(a.len(), b.len(), "column dots: lengths differ");
    if !add {
        out.fill(T::ZERO);
    }
    dispatch(ColumnDots(a, b, out));
}

/// `out (+)= x`.
pub(crate) fn accumulate<T: Real>(x: &[T], out: &mut [T], add: bool) {
    struct Accumulate<'a, T>(&'a [T], &'a mut [T]);
    impl<T: Real> Kernel for Accumulate<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arith>(self) {
            for (out, x) in self.1.iter_mut().zip(self.0) {
                *out += *x;
            }
        }
    }
    match add {
        true => dispatch(Accumulate(x, out)),
        false => out.copy_from_slice(x),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LEVELS, assert_close, at_level, numbers};
    use super::*;

    #[test]
    fn small_sums_are_exact() {
        let a: Vec<f64> = (0..37).map(f64::from).collect();
        assert_eq!(dot(&a, &a), 16206.0);
        let mut sums = [100.0, 200.0];
        column_sums(&[1.0, 2.0, 3.0, 4.0], &mut sums, true);
        assert_eq!(sums, [104.0, 206.0]);
        column_sums(&[1.0, 2.0, 3.0, 4.0], &mut sums, false);
        assert_eq!(sums, [4.0, 6.0]);
    }

    #[test]
    fn factors_per_column_match_hand_computation() {
        let mut out = [1.0f64, 1.0, 1.0, 1.0];
        add_columns(&[2.0, -1.0], &[1.0, 2.0, 3.0, 4.0], &mut out);
        assert_eq!(out, [3.0, -1.0, 7.0, -3.0]);
        let mut dots = [10.0, 20.0];
        column_dots(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut dots, true);
        assert_eq!(dots, [36.0, 64.0]);
        column_dots(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut dots, false);
        assert_eq!(dots, [26.0, 44.0]);
    }

    #[test]
    fn instruction_sets_agree() {
        let (factor, a, b) = (numbers(37, 1), numbers(37 * 9, 2), numbers(37 * 9, 3));
        let run = || {
            let (mut sum, mut dots) = (b.clone(), vec![0.0; 37]);
            add_columns(&factor, &a, &mut sum);
            column_dots(&a, &b, &mut dots, false);
            [sum, dots].concat()
        };
        let plain = at_level(LEVELS[0], run);
        for level in LEVELS {
            assert_close(&at_level(level, run), &plain, 1e-6);
        }
    }
}
