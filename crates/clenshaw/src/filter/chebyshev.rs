//! Chebyshev polynomials of both kinds, and interpolation at their nodes.
//!
//! ```text
//! T_{k+1} = 2x T_k - T_{k-1}              T_0 = 1,  T_1 = x
//! U_{k+1} = 2x U_k - U_{k-1}              U_0 = 1,  U_1 = 2x
//!
//! x_j  = cos((K - j + 1/2) pi / (K+1))                         j = 0..=K, ascending
//! h(x) = sum_k c_k T_k(x) has h(x_j) = v_j for
//! c_k  = (2 - [k=0]) / (K+1) sum_j v_j T_k(x_j)
//! ```
//!
//! The two kinds differ only in the first step of the recurrence.
//! Summing the second kind is Corollary 1 of Guo & Wei, KDD 2023, arXiv:2210.16508; interpolation is
//! equation 8 of He, Wei & Wen, NeurIPS 2022, arXiv:2202.03580.

use super::RecurrenceStep;
use crate::tensor::Mat;
use std::f64::consts::PI;

/// Step `k` of the recurrence of `T_k(mu)`.
pub fn first_kind_step(k: usize) -> RecurrenceStep {
    RecurrenceStep { a: if k == 0 { 1.0 } else { 2.0 }, b: 0.0, c: 1.0 }
}

/// Step `k` of the recurrence of `U_k(mu)`.
pub fn second_kind_step(_: usize) -> RecurrenceStep {
    RecurrenceStep { a: 2.0, b: 0.0, c: 1.0 }
}

/// Step `k` of the recurrence of `T_k(-mu)`: the scaled Laplacian L^ is -P.
pub fn laplacian_step(k: usize) -> RecurrenceStep {
    let RecurrenceStep { a, b, c } = first_kind_step(k);
    RecurrenceStep { a: -a, b, c }
}

/// The angle `t_j` of the node `x_j = cos t_j`.
fn angle(order: usize, j: usize) -> f64 {
    (order as f64 - j as f64 + 0.5) * PI / (order as f64 + 1.0)
}

/// The zeros of `T_{K+1}`, ascending.
pub fn nodes(order: usize) -> Vec<f64> {
    (0..=order).map(|j| libm::cos(angle(order, j))).collect()
}

/// The matrix that maps values at the nodes to coefficients, `c = v M`.
///
/// # Shapes
/// `[K + 1, K + 1]`, one row per node.
pub fn interpolation_matrix(order: usize) -> Mat<f64> {
    let n = order + 1;
    let weight = |k: usize| if k == 0 { 1.0 } else { 2.0 } / n as f64;
    let entry = |i: usize| weight(i % n) * libm::cos((i % n) as f64 * angle(order, i / n));
    Mat::from_vec(n, n, (0..n * n).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use crate::filter::{Basis, Filter};
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

    fn first(a: &[f64], x: f64) -> f64 {
        Filter { basis: Basis::ChebyshevFirst, coefficients: a.to_vec() }.evaluate(x)
    }

    fn second(a: &[f64], x: f64) -> f64 {
        Filter { basis: Basis::ChebyshevSecond, coefficients: a.to_vec() }.evaluate(x)
    }

    #[test]
    fn clenshaw_agrees_with_the_trigonometric_sum() {
        for order in ORDERS {
            let a = coefficients(order);
            for i in 1..40 {
                let t = std::f64::consts::PI * i as f64 / 40.0;
                let terms = || a.iter().enumerate().map(|(k, a_k)| (k as f64, a_k));
                let sines: f64 =
                    terms().map(|(k, a_k)| a_k * ((k + 1.0) * t).sin() / t.sin()).sum();
                let cosines: f64 = terms().map(|(k, a_k)| a_k * (k * t).cos()).sum();
                let what = format!("order {order} at cos {t}");
                assert_close(second(&a, t.cos()), sines, &what);
                assert_close(first(&a, t.cos()), cosines, &what);
            }
        }
    }

    #[test]
    fn fourth_polynomials_match_their_closed_forms() {
        // U_4 = 16 x^4 - 12 x^2 + 1 and T_4 = 8 x^4 - 8 x^2 + 1 at 1/2.
        let a = [0.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!((second(&a, 0.5), first(&a, 0.5)), (-1.0, -0.5));
    }

    #[test]
    fn laplacian_basis_at_mu_is_the_first_kind_at_minus_mu() {
        let coefficients = coefficients(7);
        let laplacian =
            Filter { basis: Basis::ChebyshevLaplacian, coefficients: coefficients.clone() };
        for mu in [-1.0, -0.3, 0.0, 0.8] {
            assert_eq!(laplacian.evaluate(mu), first(&coefficients, -mu));
        }
    }

    #[test]
    fn interpolation_reproduces_values_at_the_nodes() {
        for order in ORDERS {
            let h = |x: f64| (3.0 * x).sin() + x.abs();
            let filter = Filter::interpolate(order, h);
            for x in super::nodes(order) {
                assert_close(filter.evaluate(x), h(x), &format!("order {order} at {x}"));
            }
        }
        let nodes = super::nodes(4);
        assert!(nodes.is_sorted() && nodes[2].abs() < 1e-16, "{nodes:?}");
    }
}
