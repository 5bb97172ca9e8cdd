//! Bernstein polynomials: K + 1 polynomials that sum to one, each concentrated on a band of the spectrum.
//!
//! ```text
//! phi_k = C(K,k) ((1 + mu)/2)^{K-k} ((1 - mu)/2)^k             k = 0..=K
//! sum_k c_k phi_k = sum_j (c M)_j T_j                          row k of M: phi_k in Chebyshev polynomials
//! ```
//!
//! Small k belong to low frequencies. There is no three-term recurrence. Evaluating products of the two
//! factors with a matrix in place of mu would lose a factor of `C(K, K/2)` in precision and take 2K sparse
//! products; entries of M are at most 2, so the sum in the Chebyshev basis is accurate to rounding and
//! takes K.

use super::chebyshev::{interpolation_matrix, nodes};
use crate::tensor::Mat;

/// `phi_k(mu)` for `k = 0..=K`.
fn values(order: usize, mu: f64) -> Vec<f64> {
    let (low, high) = ((1.0 + mu) / 2.0, (1.0 - mu) / 2.0);
    let choose = |k: usize| (1..=k).fold(1.0, |c, i| c * (order - i + 1) as f64 / i as f64);
    let phi = |k| choose(k) * low.powi((order - k) as i32) * high.powi(k as i32);
    (0..=order).map(phi).collect()
}

/// `M`, `[K + 1, K + 1]`: the Chebyshev coefficients of every `phi_k`, computed by interpolation.
pub fn to_chebyshev(order: usize) -> Mat<f64> {
    let n = order + 1;
    let at_nodes: Vec<Vec<f64>> = nodes(order).into_iter().map(|x| values(order, x)).collect();
    let m = interpolation_matrix(order);
    let entry = |k: usize, i: usize| (0..n).map(|j| at_nodes[j][k] * m[(j, i)]).sum();
    Mat::from_vec(n, n, (0..n * n).map(|i| entry(i / n, i % n)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Basis, Filter};

    fn evaluate(coefficients: &[f64], mu: f64) -> f64 {
        Filter { basis: Basis::Bernstein, coefficients: coefficients.to_vec() }.evaluate(mu)
    }

    #[test]
    fn polynomials_sum_to_one() {
        for order in [0, 1, 2, 5, 10, 32, 64] {
            for i in 0..=20 {
                let mu = i as f64 / 10.0 - 1.0;
                let all = evaluate(&vec![1.0; order + 1], mu);
                assert!((all - 1.0).abs() < 1e-12, "order {order} at {mu}: {all}");
            }
        }
    }

    #[test]
    fn chebyshev_form_agrees_with_the_definition() {
        for order in [1, 3, 10, 32] {
            for k in 0..=order {
                let mut alone = vec![0.0; order + 1];
                alone[k] = 1.0;
                for mu in [-1.0, -0.6, 0.1, 0.9, 1.0] {
                    let (actual, expected) = (evaluate(&alone, mu), values(order, mu)[k]);
                    assert!((actual - expected).abs() < 1e-13, "{k} of {order} at {mu}: {actual}");
                }
            }
        }
    }

    #[test]
    fn values_of_order_two_match_hand_computation() {
        // ((1 + mu)/2)^2, 2 (1 + mu)/2 (1 - mu)/2 and ((1 - mu)/2)^2 at 1/2.
        assert_eq!(values(2, 0.5), [9.0 / 16.0, 6.0 / 16.0, 1.0 / 16.0]);
    }

    #[test]
    fn first_and_last_coefficients_are_the_values_at_the_ends() {
        let c = [3.0, -1.0, 4.0, -1.5];
        assert!(
            (evaluate(&c, 1.0) - 3.0).abs() < 1e-14 && (evaluate(&c, -1.0) + 1.5).abs() < 1e-14
        );
    }
}
