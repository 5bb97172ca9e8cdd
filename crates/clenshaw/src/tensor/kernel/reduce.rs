//! Sums over rows, in an order that depends only on the shapes.

use super::{Arith, Kernel, dispatch};
use crate::tensor::Real;

/// Lanes of a running sum; fixed, so that every instruction set adds in the same order.
const LANES: usize = 64;

/// `sum_i a_i b_i`.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    struct Dot<'a, T>(&'a [T], &'a [T]);
    impl<T: Real> Kernel for Dot<'_, T> {
        type Output = T;
        #[inline(always)]
        fn run<A: Arith>(self) -> T {
            let mut acc = [T::ZERO; LANES];
            let (a, a_rest) = self.0.as_chunks::<LANES>();
            let (b, b_rest) = self.1.as_chunks::<LANES>();
            for (a, b) in a.iter().zip(b) {
                for i in 0..LANES {
                    acc[i] = A::madd(a[i], b[i], acc[i]);
                }
            }
            for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
                acc[i] = A::madd(*a, *b, acc[i]);
            }
            acc.iter().fold(T::ZERO, |sum, v| sum + *v)
        }
    }
    assert_eq!(a.len(), b.len(), "dot: lengths differ");
    dispatch(Dot(a, b))
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

/// `out (+)= x`.
pub(crate) fn accumulate<T: Real>(x: &[T], out: &mut [T], add: bool) {
    if !add {
        return out.copy_from_slice(x);
    }
    for (out, x) in out.iter_mut().zip(x) {
        *out += *x;
    }
}

#[cfg(test)]
mod tests {
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
}
