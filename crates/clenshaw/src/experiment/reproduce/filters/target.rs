//! The five target responses and their application to an image.
//!
//! ```text
//! low      exp(-10 l^2)             l = 1 - mu, an eigenvalue of L = I - P
//! high     1 - exp(-10 l^2)
//! band     exp(-10 (l - 1)^2)
//! reject   1 - exp(-10 (l - 1)^2)
//! comb     |sin(pi l)|
//! ```
//!
//! `h(P) x` is computed with the polynomial that interpolates `h` at the Chebyshev nodes. The first four
//! responses are entire functions, for which order 120 is accurate to rounding error. The comb has a kink
//! at l = 1; close to it, the error at order N is almost 2 / N, and elsewhere it is smaller. The largest
//! difference from the result at half the order is used as an estimate of the error.
//!
//! He et al., NeurIPS 2021, arXiv:2106.10994.

use crate::filter::Filter;
use crate::graph::max_abs;
use crate::tensor::{Mat, Operator};
use std::f64::consts::PI;

/// A response to be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetResponse {
    /// Low pass.
    Low,
    /// High pass.
    High,
    /// Band pass around the middle of the spectrum.
    Band,
    /// Band reject around the middle of the spectrum.
    Reject,
    /// Zero at both ends and in the middle of the spectrum.
    Comb,
}

impl TargetResponse {
    /// All responses, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Low, Self::High, Self::Band, Self::Reject, Self::Comb];

    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Band => "band",
            Self::Reject => "reject",
            Self::Comb => "comb",
        }
    }

    /// `h` at an eigenvalue of P.
    pub fn evaluate(self, mu: f64) -> f64 {
        let l = 1.0 - mu;
        match self {
            Self::Low => (-10.0 * l * l).exp(),
            Self::High => 1.0 - (-10.0 * l * l).exp(),
            Self::Band => (-10.0 * (l - 1.0).powi(2)).exp(),
            Self::Reject => 1.0 - (-10.0 * (l - 1.0).powi(2)).exp(),
            Self::Comb => (PI * l).sin().abs(),
        }
    }

    /// The order of the interpolating polynomial.
    fn order(self) -> usize {
        match self {
            Self::Comb => 2000,
            _ => 120,
        }
    }

    /// `h(P) x`, and its largest difference from the result at half the order.
    pub fn apply(self, p: &Operator, x: &[f64]) -> (Vec<f64>, f64) {
        let x = Mat::from_vec(x.len(), 1, x.to_vec());
        let [half, whole] = [self.order() / 2, self.order()]
            .map(|order| Filter::interpolate(order, |mu| self.evaluate(mu)).apply(p, &x));
        let entries = half.as_slice().iter().zip(whole.as_slice());
        let change = max_abs(entries.map(|(a, b)| a - b));
        (whole.as_slice().to_vec(), change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::experiment::reproduce::filters::image::image;
    use crate::graph::{Eigen, Normalisation, operator};

    #[test]
    fn interpolants_agree_with_eigenvectors() {
        let graph = data::load("grid:rows=14,columns=11").unwrap().graph;
        let p = operator(&graph, Normalisation::Plain);
        let x = image(3, 0, 14, 11);
        let eigen = Eigen::new(&p);
        for target in TargetResponse::ALL {
            let (actual, change) = target.apply(&p, &x);
            let signal = Mat::from_vec(x.len(), 1, x.clone());
            let expected = eigen.apply(&signal, |mu| target.evaluate(mu));
            let worst = max_abs(actual.iter().zip(expected.as_slice()).map(|(a, e)| a - e));
            let (allowed, name) =
                (if target == TargetResponse::Comb { 1e-3 } else { 1e-12 }, target.name());
            assert!(worst < allowed, "{name}: {worst}");
            assert!(change < allowed * 2.0, "{name}: {change}");
        }
    }

    #[test]
    fn responses_at_known_frequencies() {
        assert_eq!(
            [TargetResponse::Low.evaluate(1.0), TargetResponse::High.evaluate(1.0)],
            [1.0, 0.0]
        );
        assert_eq!(
            [TargetResponse::Band.evaluate(0.0), TargetResponse::Reject.evaluate(0.0)],
            [1.0, 0.0]
        );
        assert!((TargetResponse::Comb.evaluate(0.5) - 1.0).abs() < 1e-15);
        assert!((TargetResponse::Comb.evaluate(-0.5) - 1.0).abs() < 1e-15);
        assert!((TargetResponse::Low.evaluate(0.5) - (-2.5f64).exp()).abs() < 1e-15);
    }
}
