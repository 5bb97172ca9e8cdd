//! Legendre polynomials: orthogonal on [-1, 1] with respect to a constant weight.
//!
//! ```text
//! (k+1) P_{k+1} = (2k+1) x P_k - k P_{k-1}                     Bonnet's recurrence
//! ```

use super::RecurrenceStep;

/// Step `k` of the recurrence of `P_k(mu)`.
pub fn step(k: usize) -> RecurrenceStep {
    let k = k as f64;
    RecurrenceStep { a: (2.0 * k + 1.0) / (k + 1.0), b: 0.0, c: k / (k + 1.0) }
}

#[cfg(test)]
mod tests {
    use crate::filter::{Basis, Filter};

    #[test]
    fn fourth_polynomial_matches_its_closed_form() {
        // P_4 = (35 x^4 - 30 x^2 + 3) / 8.
        let fourth = Filter { basis: Basis::Legendre, coefficients: vec![0.0, 0.0, 0.0, 0.0, 1.0] };
        for x in [-1.0, -0.4, 0.0, 0.5, 1.0_f64] {
            let expected = (35.0 * x.powi(4) - 30.0 * x * x + 3.0) / 8.0;
            assert!((fourth.evaluate(x) - expected).abs() < 1e-14, "{x}");
        }
    }
}
