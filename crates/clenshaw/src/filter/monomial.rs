//! Monomials, for which Clenshaw's summation is Horner's method.
//!
//! ```text
//! mu^{k+1} = mu mu^k
//! ```

use super::RecurrenceStep;

/// The step of the recurrence of `mu^k`, the same for all k.
pub fn step(_: usize) -> RecurrenceStep {
    RecurrenceStep { a: 1.0, b: 0.0, c: 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::filter::{Basis, Filter};

    #[test]
    fn values_of_a_cubic() {
        // 1 - 2x + 4x^3 at 1/2, 0 and -1.
        let cubic = Filter { basis: Basis::Monomial, coefficients: vec![1.0, -2.0, 0.0, 4.0] };
        assert_eq!([0.5, 0.0, -1.0].map(|x| cubic.evaluate(x)), [0.5, 1.0, -1.0]);
    }
}
