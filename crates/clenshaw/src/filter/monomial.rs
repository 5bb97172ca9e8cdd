//! Powers, by Horner's method.
//!
//! ```text
//! b_{n+1} = 0
//! b_k     = a_k + x b_{k+1}               k = n, ..., 0
//! sum_k a_k x^k = b_0
//! ```

use super::combine;
use crate::tensor::{Mat, Operator};

/// `b_k = a_k + x b_{k+1}`; the sum is `b_0`.
pub fn horner(a: &[f64], x: f64) -> f64 {
    a.iter().rev().fold(0.0, |b, a_k| a_k + x * b)
}

/// `B_k = a_k X + P B_{k+1}`; the sum is `B_0`.
pub fn horner_of(p: &Operator, a: &[f64], x: &Mat<f64>) -> Mat<f64> {
    let zero = Mat::zeros(x.rows(), x.cols());
    a.iter().rev().fold(zero, |b, &a_k| combine(a_k, x, 1.0, &p.apply(&b), 0.0, &b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubic_by_hand() {
        // 1 - 2x + 4x^3 at 1/2, 0 and -1.
        let a = [1.0, -2.0, 0.0, 4.0];
        assert_eq!([0.5, 0.0, -1.0].map(|x| horner(&a, x)), [0.5, 1.0, -1.0]);
    }
}
