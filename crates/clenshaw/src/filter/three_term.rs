//! Any basis that a three-term recurrence makes, by Clenshaw's summation.
//!
//! ```text
//! phi_{k+1} = (a_k x + b_k) phi_k - c_k phi_{k-1}         phi_0 = 1,  phi_{-1} = 0
//!
//! s_{n+1} = s_{n+2} = 0
//! s_k     = w_k + (a_k x + b_k) s_{k+1} - c_{k+1} s_{k+2}     k = n, ..., 0
//! sum_k w_k phi_k(x) = s_0
//! ```
//!
//! Favard's theorem: with positive `a_k a_{k-1} c_k` these are the polynomials orthogonal under some
//! weight, and every family of orthogonal polynomials is of this kind. A family that starts at another
//! constant than 1 has that constant as a factor of all its coefficients instead.
//! Clenshaw 1955; Favard 1935.

use super::combine;
use crate::tensor::{Mat, Operator};

/// `a_k`, `b_k` and `c_k`: how `phi_{k+1}` follows from the two before it.
pub type Step = [f64; 3];

/// `sum_k w_k phi_k(x) = s_0`.
pub fn clenshaw(steps: &[Step], w: &[f64], x: f64) -> f64 {
    let start = (0.0, 0.0); // s_{k+1}, s_{k+2}
    let (s_0, _) = w.iter().enumerate().rev().fold(start, |(s1, s2), (k, w_k)| {
        let ([a, b, _], [_, _, c]) = (step(steps, w, k), step(steps, w, k + 1));
        (w_k + (a * x + b) * s1 - c * s2, s1)
    });
    s_0
}

/// `sum_k w_k phi_k(P) X = S_0`.
pub fn clenshaw_of(p: &Operator, steps: &[Step], w: &[f64], x: &Mat<f64>) -> Mat<f64> {
    let zero = Mat::zeros(x.rows(), x.cols());
    let start = (zero.clone(), zero);
    let (s_0, _) = w.iter().enumerate().rev().fold(start, |(s1, s2), (k, &w_k)| {
        let ([a, b, _], [_, _, c]) = (step(steps, w, k), step(steps, w, k + 1));
        let s = combine(a, &p.apply(&s1), b, &s1, -c, &s2);
        (combine(w_k, x, 1.0, &s, 0.0, &s), s1)
    });
    s_0
}

/// Step `k`; beyond the last coefficient there is nothing to step to.
fn step(steps: &[Step], w: &[f64], k: usize) -> Step {
    if k + 1 < w.len() { steps[k] } else { [0.0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hermite_s_third_polynomial() {
        // He_{k+1} = x He_k - k He_{k-1}: He_3 = x^3 - 3x.
        let steps = [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 2.0]];
        let of = |x| clenshaw(&steps, &[0.0, 0.0, 0.0, 1.0], x);
        assert_eq!([0.0, 1.0, 2.0, -1.0].map(of), [0.0, -2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_shift_moves_the_middle() {
        // phi_1 = 2x - 1 and phi_2 = (2x - 1)^2 - 3.
        let steps = [[2.0, -1.0, 0.0], [2.0, -1.0, 3.0]];
        assert_eq!(clenshaw(&steps, &[5.0, 1.0, 10.0], 0.5), 5.0 - 30.0);
        assert_eq!(clenshaw(&steps, &[5.0, 1.0, 10.0], 1.0), 5.0 + 1.0 - 20.0);
    }
}
