//! The five responses, and what they make of a picture.
//!
//! ```text
//! low      exp(-10 l^2)             l = 1 - mu, an eigenvalue of L = I - P
//! high     1 - exp(-10 l^2)
//! band     exp(-10 (l - 1)^2)
//! reject   1 - exp(-10 (l - 1)^2)
//! comb     |sin(pi l)|
//! ```
//!
//! `h(L) x` is summed as a Chebyshev series: the first four are entire, and 120 terms leave nothing but
//! rounding. The comb has a kink at l = 1, where N terms miss it by 2 / N and by less everywhere else;
//! how much that matters is told by half as many terms.
//! He et al., NeurIPS 2021, arXiv:2106.10994.

use crate::filter::Filter;
use crate::graph::largest;
use crate::tensor::{Mat, Operator};
use std::f64::consts::PI;

/// A response to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The slow part.
    Low,
    /// All but the slow part.
    High,
    /// The middle.
    Band,
    /// All but the middle.
    Reject,
    /// Everything but both ends and the middle.
    Comb,
}

impl Target {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Low, Self::High, Self::Band, Self::Reject, Self::Comb];

    /// The word for it.
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
    pub fn at(self, mu: f64) -> f64 {
        let l = 1.0 - mu;
        match self {
            Self::Low => (-10.0 * l * l).exp(),
            Self::High => 1.0 - (-10.0 * l * l).exp(),
            Self::Band => (-10.0 * (l - 1.0).powi(2)).exp(),
            Self::Reject => 1.0 - (-10.0 * (l - 1.0).powi(2)).exp(),
            Self::Comb => (PI * l).sin().abs(),
        }
    }

    /// Terms enough that twice as many change nothing, or little.
    fn order(self) -> usize {
        match self {
            Self::Comb => 2000,
            _ => 120,
        }
    }

    /// `h(P) x`, and how far half as many terms are from it at most.
    pub fn of(self, p: &Operator, x: &[f64]) -> (Vec<f64>, f64) {
        let x = Mat::from_vec(x.len(), 1, x.to_vec());
        let [half, whole] = [self.order() / 2, self.order()]
            .map(|order| Filter::interpolate(order, |mu| self.at(mu)).apply(p, &x));
        let entries = half.as_slice().iter().zip(whole.as_slice());
        let change = largest(entries.map(|(a, b)| a - b));
        (whole.as_slice().to_vec(), change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::experiment::reproduce::filters::picture::picture;
    use crate::graph::{Eigen, Normalisation, operator};

    #[test]
    fn the_series_do_what_the_eigenvectors_do() {
        let graph = data::load("grid:rows=14,columns=11").unwrap().graph;
        let p = operator(&graph, Normalisation::Plain);
        let x = picture(3, 0, 14, 11);
        let eigen = Eigen::of(&p);
        for target in Target::ALL {
            let (actual, change) = target.of(&p, &x);
            let signal = Mat::from_vec(x.len(), 1, x.clone());
            let expected = eigen.apply(&signal, |mu| target.at(mu));
            let worst = largest(actual.iter().zip(expected.as_slice()).map(|(a, e)| a - e));
            let (allowed, name) =
                (if target == Target::Comb { 1e-3 } else { 1e-12 }, target.name());
            assert!(worst < allowed, "{name}: {worst}");
            assert!(change < allowed * 2.0, "{name}: {change}");
        }
    }

    #[test]
    fn known_values() {
        assert_eq!([Target::Low.at(1.0), Target::High.at(1.0)], [1.0, 0.0]);
        assert_eq!([Target::Band.at(0.0), Target::Reject.at(0.0)], [1.0, 0.0]);
        assert!((Target::Comb.at(0.5) - 1.0).abs() < 1e-15);
        assert!((Target::Comb.at(-0.5) - 1.0).abs() < 1e-15);
        assert!((Target::Low.at(0.5) - (-2.5f64).exp()).abs() < 1e-15);
    }
}
