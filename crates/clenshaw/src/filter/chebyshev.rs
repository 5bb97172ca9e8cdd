//! Chebyshev series of both kinds, by Clenshaw's summation.
//!
//! ```text
//! T_{k+1} = 2x T_k - T_{k-1}              T_0 = 1,  T_1 = x
//! U_{k+1} = 2x U_k - U_{k-1}              U_0 = 1,  U_1 = 2x
//!
//! b_{n+1} = b_{n+2} = 0
//! b_k     = a_k + 2x b_{k+1} - b_{k+2}    k = n, ..., 0
//! sum_k a_k U_k(x) = b_0
//! sum_k a_k T_k(x) = b_0 - x b_1
//! ```
//!
//! The kinds share the recurrence and differ in the last step: `T_k = U_k - x U_{k-1}`.
//! Clenshaw 1955; the second kind is Corollary 1 of Guo & Wei, KDD 2023, arXiv:2210.16508.

use super::combine;
use crate::tensor::{Mat, Operator};

/// `sum_k a_k U_k(x) = b_0`.
pub fn clenshaw_second(a: &[f64], x: f64) -> f64 {
    clenshaw(a, x).0
}

/// `sum_k a_k T_k(x) = b_0 - x b_1`.
pub fn clenshaw_first(a: &[f64], x: f64) -> f64 {
    let (b_0, b_1) = clenshaw(a, x);
    b_0 - x * b_1
}

/// `sum_k a_k U_k(P) X = B_0`.
pub fn clenshaw_second_of(p: &Operator, a: &[f64], x: &Mat<f64>) -> Mat<f64> {
    clenshaw_of(p, a, x).0
}

/// `sum_k a_k T_k(P) X = B_0 - P B_1`.
pub fn clenshaw_first_of(p: &Operator, a: &[f64], x: &Mat<f64>) -> Mat<f64> {
    let (b_0, b_1) = clenshaw_of(p, a, x);
    combine(1.0, &b_0, -1.0, &p.apply(&b_1), 0.0, &b_1)
}

/// `b_k = a_k + 2x b_{k+1} - b_{k+2}` down to `(b_0, b_1)`.
fn clenshaw(a: &[f64], x: f64) -> (f64, f64) {
    // b_{k+1}, b_{k+2}
    a.iter().rev().fold((0.0, 0.0), |(b1, b2), a_k| (a_k + 2.0 * x * b1 - b2, b1))
}

/// `B_k = a_k X + 2 P B_{k+1} - B_{k+2}` down to `(B_0, B_1)`.
fn clenshaw_of(p: &Operator, a: &[f64], x: &Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let zero = Mat::zeros(x.rows(), x.cols());
    let start = (zero.clone(), zero);
    a.iter().rev().fold(start, |(b1, b2), &a_k| {
        let b = combine(a_k, x, 2.0, &p.apply(&b1), -1.0, &b2);
        (b, b1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const ORDERS: [usize; 6] = [0, 1, 2, 8, 16, 32];

    fn coefficients(order: usize) -> Vec<f64> {
        let mut stream = Stream::new(order as u64, "test");
        (0..=order).map(|_| stream.symmetric(1.0)).collect()
    }

    fn assert_close(actual: f64, expected: f64, what: &str) {
        let error = (actual - expected).abs() / expected.abs().max(1.0);
        assert!(error < 1e-12, "{what}: {actual} instead of {expected}");
    }

    /// `sum_k a_k phi_k(x)` with `phi_{k+1} = 2x phi_k - phi_{k-1}` from `phi_0 = 1` and `phi_1`.
    fn direct_sum(a: &[f64], x: f64, phi_1: f64) -> f64 {
        let (mut phi, mut next, mut sum) = (1.0, phi_1, 0.0);
        for a_k in a {
            sum += a_k * phi;
            (phi, next) = (next, 2.0 * x * next - phi);
        }
        sum
    }

    #[test]
    fn clenshaw_is_the_direct_sum() {
        for order in ORDERS {
            let a = coefficients(order);
            for i in 0..=40 {
                let x = i as f64 / 20.0 - 1.0;
                let what = format!("order {order} at {x}");
                assert_close(clenshaw_second(&a, x), direct_sum(&a, x, 2.0 * x), &what);
                assert_close(clenshaw_first(&a, x), direct_sum(&a, x, x), &what);
            }
        }
    }

    #[test]
    fn clenshaw_is_the_trigonometric_sum() {
        for order in ORDERS {
            let a = coefficients(order);
            for i in 1..40 {
                let t = std::f64::consts::PI * i as f64 / 40.0;
                let terms = || a.iter().enumerate().map(|(k, a_k)| (k as f64, a_k));
                let second: f64 =
                    terms().map(|(k, a_k)| a_k * ((k + 1.0) * t).sin() / t.sin()).sum();
                let first: f64 = terms().map(|(k, a_k)| a_k * (k * t).cos()).sum();
                let what = format!("order {order} at cos {t}");
                assert_close(clenshaw_second(&a, t.cos()), second, &what);
                assert_close(clenshaw_first(&a, t.cos()), first, &what);
            }
        }
    }

    #[test]
    fn the_paper_s_fourth_polynomial() {
        // U_4 = 16 x^4 - 12 x^2 + 1 and T_4 = 8 x^4 - 8 x^2 + 1 at 1/2.
        let a = [0.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!((clenshaw_second(&a, 0.5), clenshaw_first(&a, 0.5)), (-1.0, -0.5));
    }
}
