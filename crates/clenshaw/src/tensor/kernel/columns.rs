//! Scaled sums and inner products with one factor per column.

use super::{Arith, Kernel, dispatch};
use crate::tensor::Real;

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
    assert_eq!(x.len(), out.len(), "columns: lengths differ");
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

#[cfg(test)]
mod tests {
    use super::super::testing::{LEVELS, assert_close, at_level, numbers};
    use super::*;

    #[test]
    fn small_examples_match_hand_computation() {
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
