//! The loss functions and their gradients.
//!
//! ```text
//! Nll      loss  = sum_i w_i (log sum_c exp z_ic - z_iy)          w_i >= 0, such as 1/m on m training nodes
//!          dz_ic = w_i (softmax(z_i)_c - [c = y_i])
//! Squares  loss  = sum_i w_i sum_c (z_ic - y_ic)^2
//!          dz_ic = 2 w_i (z_ic - y_ic)
//! Combination  loss = sum_i w_i sum_c a_c z_ic
//!              dz_ic = w_i a_c
//! ```
//!
//! The kernels return the loss of the rows of one block and store its gradient in `grad`.

use super::{Arith, Kernel};
use crate::tensor::Real;

/// Negative log-likelihood of the softmax, with a weight per row.
pub(crate) struct Nll<'a, T> {
    pub cols: usize,
    pub logits: &'a [T],
    pub labels: &'a [u32],
    pub weights: &'a [T],
    pub grad: &'a mut [T],
}

impl<T: Real> Kernel for Nll<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<A: Arith>(self) -> T {
        let mut loss = T::ZERO;
        for (i, (&label, &weight)) in self.labels.iter().zip(self.weights).enumerate() {
            let grad = &mut self.grad[i * self.cols..(i + 1) * self.cols];
            if weight == T::ZERO {
                grad.fill(T::ZERO);
                continue;
            }
            let z = &self.logits[i * self.cols..(i + 1) * self.cols];
            let log_sum = log_sum_exp(z);
            for (grad, z) in grad.iter_mut().zip(z) {
                *grad = weight * (*z - log_sum).exp();
            }
            grad[label as usize] = grad[label as usize] - weight;
            loss += weight * (log_sum - z[label as usize]);
        }
        loss
    }
}

/// `log sum_c exp z_c`, computed relative to the largest entry, so large scores do not overflow.
///
/// # Panics
/// If there are no scores.
#[inline(always)]
pub fn log_sum_exp<T: Real>(z: &[T]) -> T {
    let largest = z.iter().copied().fold(z[0], |m, v| if v > m { v } else { m });
    let sum = z.iter().fold(T::ZERO, |sum, v| sum + (*v - largest).exp());
    largest + sum.ln()
}

/// Squared error, with a weight per row.
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
                // Rows with weight zero may contain any number, even NaN.
                let error = if weight == T::ZERO { T::ZERO } else { *z - *y };
                *grad = (weight + weight) * error;
                loss += weight * error * error;
            }
        }
        loss
    }
}

/// A linear combination of the columns, with a weight per row.
pub(crate) struct Combination<'a, T> {
    pub scores: &'a [T],
    pub coefficients: &'a [T],
    pub weights: &'a [T],
    pub grad: &'a mut [T],
}

impl<T: Real> Kernel for Combination<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<A: Arith>(self) -> T {
        let mut loss = T::ZERO;
        let cols = self.coefficients.len();
        let rows = self.scores.chunks_exact(cols).zip(self.grad.chunks_exact_mut(cols));
        for ((z, grad), &weight) in rows.zip(self.weights) {
            for ((z, &a), grad) in z.iter().zip(self.coefficients).zip(grad) {
                *grad = weight * a;
                // Rows with weight zero may contain any number, even NaN.
                loss += if weight == T::ZERO { T::ZERO } else { weight * a * *z };
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
    fn two_equal_scores_have_loss_log_two() {
        let mut grad = [9.0f64; 4];
        let logits = [1000.0, 1000.0, 3.0, 4.0];
        let loss = dispatch(Nll {
            cols: 2,
            logits: &logits,
            labels: &[1, 0],
            weights: &[1.0, 0.0],
            grad: &mut grad,
        });
        assert!((loss - 2f64.ln()).abs() < 1e-12, "{loss}");
        assert!((grad[0] - 0.5).abs() < 1e-12 && (grad[1] + 0.5).abs() < 1e-12, "{grad:?}");
        assert_eq!(grad[2..], [0.0, 0.0]);
    }

    #[test]
    fn combination_matches_hand_computation() {
        let mut grad = [9.0f64; 4];
        let loss = dispatch(Combination {
            scores: &[f64::NAN, 5.0, 0.5, -1.0],
            coefficients: &[1.0, -2.0],
            weights: &[0.0, 3.0],
            grad: &mut grad,
        });
        assert_eq!((loss, grad), (3.0 * (0.5 + 2.0), [0.0, 0.0, 3.0, -6.0]));
    }

    #[test]
    fn squared_error_matches_hand_computation() {
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
