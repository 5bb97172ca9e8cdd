//! Jacobi polynomials: orthogonal on [-1, 1] with respect to the weight `(1-x)^a (1+x)^b`.
//!
//! ```text
//! P_1 = (a - b)/2 + (a + b + 2)/2 x
//! P_k = (c0 x + c1) P_{k-1} - c2 P_{k-2}                       k >= 2, s = a + b
//!
//! c   = 2k (k + s) (2k + s - 2)
//! c0  = (2k + s - 1) (2k + s) (2k + s - 2) / c
//! c1  = (2k + s - 1) (a^2 - b^2) / c
//! c2  = 2 (k + a - 1) (k + b - 1) (2k + s) / c
//! ```
//!
//! The released JacobiConv subtracts `c1` instead of adding it; the two agree if |a| = |b|.
//! Wang & Zhang, ICML 2022, arXiv:2205.11172.

use super::RecurrenceStep;

/// Step `k` of the recurrence of `P_k^(a,b)(mu)`.
pub fn step(a: f64, b: f64, k: usize) -> RecurrenceStep {
    let s = a + b;
    if k == 0 {
        return RecurrenceStep { a: (s + 2.0) / 2.0, b: (a - b) / 2.0, c: 0.0 };
    }
    let k = k as f64 + 1.0; // the degree of the polynomial that the step computes
    let c = 2.0 * k * (k + s) * (2.0 * k + s - 2.0);
    RecurrenceStep {
        a: (2.0 * k + s - 1.0) * (2.0 * k + s) * (2.0 * k + s - 2.0) / c,
        b: (2.0 * k + s - 1.0) * (a * a - b * b) / c,
        c: 2.0 * (k + a - 1.0) * (k + b - 1.0) * (2.0 * k + s) / c,
    }
}

/// Step `k` as in the released code, with the sign of `c1` flipped for `k >= 1`.
pub fn released_step(a: f64, b: f64, k: usize) -> RecurrenceStep {
    let step = step(a, b, k);
    if k == 0 { step } else { RecurrenceStep { b: -step.b, ..step } }
}

#[cfg(test)]
mod tests {
    use crate::filter::{Basis, Filter};

    const POINTS: [f64; 6] = [-1.0, -0.7, 0.0, 0.25, 0.9, 1.0];

    /// `phi_k(mu)`.
    fn phi(basis: &Basis, k: usize, mu: f64) -> f64 {
        let mut coefficients = vec![0.0; k + 1];
        coefficients[k] = 1.0;
        Filter { basis: basis.clone(), coefficients }.evaluate(mu)
    }

    /// `phi_k` is `scale(k)` times the `k`-th Jacobi polynomial.
    fn assert_multiple(a: f64, other: &Basis, scale: impl Fn(usize) -> f64) {
        let jacobi = Basis::Jacobi { a, b: a };
        for k in 0..=12 {
            for mu in POINTS {
                let (actual, expected) = (scale(k) * phi(&jacobi, k, mu), phi(other, k, mu));
                assert!((actual - expected).abs() < 1e-12, "{other:?} {k} at {mu}: {actual}");
            }
        }
    }

    /// `C(k + a, k)`, the value of `P_k^(a,b)` at 1.
    fn at_one(a: f64, k: usize) -> f64 {
        (1..=k).map(|i| (i as f64 + a) / i as f64).product()
    }

    #[test]
    fn legendre_and_both_chebyshev_kinds_are_special_cases() {
        assert_multiple(0.0, &Basis::Legendre, |_| 1.0);
        assert_multiple(-0.5, &Basis::ChebyshevFirst, |k| 1.0 / at_one(-0.5, k));
        assert_multiple(0.5, &Basis::ChebyshevSecond, |k| (k as f64 + 1.0) / at_one(0.5, k));
    }

    #[test]
    fn values_at_both_ends_match_the_closed_form() {
        let (a, b) = (1.0, 0.5);
        for k in 0..=10 {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            let basis = Basis::Jacobi { a, b };
            assert!((phi(&basis, k, 1.0) - at_one(a, k)).abs() < 1e-12, "{k} at 1");
            assert!((phi(&basis, k, -1.0) - sign * at_one(b, k)).abs() < 1e-12, "{k} at -1");
        }
    }

    #[test]
    fn released_sign_matters_unless_a_and_b_have_equal_magnitude() {
        let (a, b) = (1.0, 0.5);
        let second = phi(&Basis::ReleasedJacobi { a, b }, 2, 1.0);
        assert!((second - 2.7245).abs() < 1e-4, "{second}");
        let b = -1.0 + 0.25;
        for k in 0..=8 {
            let (book, code) = (Basis::Jacobi { a: 0.75, b }, Basis::ReleasedJacobi { a: 0.75, b });
            assert_eq!(phi(&book, k, 0.3), phi(&code, k, 0.3));
        }
    }
}
