//! The squared error with a weight per row, and its gradient.
//!
//! ```text
//! loss  = sum_i w_i sum_c (z_ic - y_ic)^2
//! dz_ic = 2 w_i (z_ic - y_ic)
//! ```

use super::{Arith, Kernel};
use crate::tensor::Real;

/// Loss and gradient for the rows of one block; returns the block's part of the loss.
pub(crate) struct Squares<'a, T> {
    pub cols: usize,
    pub scores: &'a [T],
    pub values: &'a [T],
    pub weights: &'a [T],
    pub grad: &'a mut [T],
}

impl<T: Real> Kernel for Squares<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<A: Arith>(self) -> T {
        let mut loss = T::ZERO;
        let rows = self.scores.chunks_exact(self.cols).zip(self.values.chunks_exact(self.cols));
        let rows = rows.zip(self.grad.chunks_exact_mut(self.cols)).zip(self.weights);
        for (((z, y), grad), &weight) in rows {
            for ((z, y), grad) in z.iter().zip(y).zip(grad) {
                // Rows of weight zero may hold any number, even NaN.
                let error = if weight == T::ZERO { T::ZERO } else { *z - *y };
                *grad = (weight + weight) * error;
                loss += weight * error * error;
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::super::dispatch;
    use super::*;

    #[test]
    fn two_rows_match_hand_computation() {
        let mut grad = [9.0f64; 6];
        let loss = dispatch(Squares {
            cols: 2,
            scores: &[1.0, 5.0, 0.5, -1.0, f64::NAN, 2.0],
            values: &[0.0, 2.0, 0.5, 1.0, 7.0, 7.0],
            weights: &[1.0, 0.5, 0.0],
            grad: &mut grad,
        });
        assert_eq!(loss, 1.0 + 9.0 + 0.5 * 4.0);
        assert_eq!(grad, [2.0, 6.0, 0.0, -2.0, 0.0, 0.0]);
    }
}
