//! What a trained model does to each frequency.

use super::Filter;
use serde::{Deserialize, Serialize};

/// The answer of a spectral model to "what filter is this now?".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// One polynomial for all channels.
    Shared(Filter),
    /// A polynomial for each channel.
    Channels(Vec<Filter>),
    /// The root mean square over the entries of a filter whose coefficients are matrices: points
    /// `(mu, gain)`, `mu` ascending from -1 to 1.
    Gain(Vec<(f64, f64)>),
}

impl Response {
    /// The response at `n >= 2` equally spaced points from -1 to 1: the mean over channels.
    ///
    /// ```
    /// use clenshaw::filter::{Basis, Filter, Response};
    /// let filter = |c| Filter { basis: Basis::Monomial, coefficients: vec![0.0, c] };
    /// let two = Response::Channels(vec![filter(1.0), filter(3.0)]);
    /// assert_eq!(two.sample(3), [(-1.0, -2.0), (0.0, 0.0), (1.0, 2.0)]);
    /// ```
    pub fn sample(&self, n: usize) -> Vec<(f64, f64)> {
        assert!(n >= 2, "sample: {n} points do not span [-1, 1]");
        let mu = |i| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
        (0..n).map(mu).map(|mu| (mu, self.at(mu))).collect()
    }

    /// The response at one frequency: the mean over channels.
    pub fn at(&self, mu: f64) -> f64 {
        match self {
            Self::Shared(filter) => filter.at(mu),
            Self::Channels(filters) => {
                filters.iter().map(|filter| filter.at(mu)).sum::<f64>() / filters.len() as f64
            }
            Self::Gain(points) => between(points, mu),
        }
    }
}

/// The value at `mu` on the line through the points around it.
fn between(points: &[(f64, f64)], mu: f64) -> f64 {
    let above = points.partition_point(|&(x, _)| x < mu).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[above - 1], points[above]);
    y0 + (y1 - y0) * (mu - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_read_between_its_points() {
        let gain = Response::Gain(vec![(-1.0, 0.0), (0.0, 1.0), (1.0, 5.0)]);
        assert_eq!([-1.0, -0.5, 0.0, 0.5, 1.0].map(|mu| gain.at(mu)), [0.0, 0.5, 1.0, 3.0, 5.0]);
    }
}
