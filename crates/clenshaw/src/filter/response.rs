//! The frequency response of a trained model.

use super::{Basis, Filter, sample};
use crate::tensor::Mat;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The frequency response of a spectral model with given weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// One polynomial for all channels.
    Shared(Filter),
    /// One polynomial per channel.
    Channels(Vec<Filter>),
    /// For matrix-valued coefficients, the root mean square over the entries of the matrix `G(mu)`, as points
    /// `(mu, gain)` with `mu` ascending from -1 to 1; at least two.
    #[serde(deserialize_with = "at_least_two_points")]
    Gain(Vec<(f64, f64)>),
    /// For filters that are known on the eigenvalues of a graph only, points `(mu, h)` per channel, with `mu`
    /// ascending; at least two. Between them the response is interpolated, beyond them it is constant.
    #[serde(deserialize_with = "channels_of_at_least_two_points")]
    Tabulated(Vec<Vec<(f64, f64)>>),
}

/// Reads the points of a gain, between which it is interpolated.
fn at_least_two_points<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(f64, f64)>, D::Error> {
    let points = Vec::<(f64, f64)>::deserialize(deserializer)?;
    match points.len() {
        0 | 1 => Err(D::Error::invalid_length(points.len(), &"at least two points")),
        _ => Ok(points),
    }
}

/// Reads the points of every channel.
fn channels_of_at_least_two_points<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Vec<(f64, f64)>>, D::Error> {
    let channels = Vec::<Vec<(f64, f64)>>::deserialize(deserializer)?;
    match channels.iter().map(Vec::len).min() {
        None => Err(D::Error::invalid_length(0, &"at least one channel")),
        Some(n @ (0 | 1)) => Err(D::Error::invalid_length(n, &"at least two points")),
        Some(_) => Ok(channels),
    }
}

/// The number of points of a gain.
const GAIN_POINTS: usize = 201;

impl Response {
    /// The gain of the matrix-valued filter `G(mu) = sum_k A_k phi_k(mu)`, with at least one `A_k`.
    ///
    /// The basis must not be Bernstein, whose polynomials depend on the order.
    ///
    /// ```
    /// use clenshaw::{filter::{Basis, Response}, tensor::Mat};
    /// // [1 + mu, 1 - mu] treats both ends of the spectrum alike.
    /// let a = [Mat::from_vec(1, 2, vec![1.0, 1.0]), Mat::from_vec(1, 2, vec![1.0, -1.0])];
    /// let gain = Response::gain(&Basis::Monomial, &a);
    /// assert_eq!([-1.0, 0.0, 1.0].map(|mu| gain.evaluate(mu)), [2f64.sqrt(), 1.0, 2f64.sqrt()]);
    /// ```
    pub fn gain(basis: &Basis, a: &[Mat<f64>]) -> Self {
        let phi = |k: usize| {
            let coefficients = (0..=k).map(|j| f64::from(u8::from(j == k))).collect();
            Filter { basis: basis.clone(), coefficients }.sample(GAIN_POINTS)
        };
        let phi: Vec<Vec<(f64, f64)>> = (0..a.len()).map(phi).collect();
        let n_entries = a[0].as_slice().len();
        let square = |i: usize, entry: usize| {
            let g: f64 = a.iter().zip(&phi).map(|(a, phi)| a.as_slice()[entry] * phi[i].1).sum();
            g * g
        };
        let mean = |i| (0..n_entries).map(|entry| square(i, entry)).sum::<f64>() / n_entries as f64;
        Self::Gain((0..GAIN_POINTS).map(|i| (phi[0][i].0, mean(i).sqrt())).collect())
    }

    /// The response at `n >= 2` equally spaced points from -1 to 1; the mean if there are several channels.
    ///
    /// ```
    /// use clenshaw::filter::{Basis, Filter, Response};
    /// let filter = |c| Filter { basis: Basis::Monomial, coefficients: vec![0.0, c] };
    /// let mean = Response::Channels(vec![filter(1.0), filter(3.0)]);
    /// assert_eq!(mean.sample(3), [(-1.0, -2.0), (0.0, 0.0), (1.0, 2.0)]);
    /// ```
    pub fn sample(&self, n: usize) -> Vec<(f64, f64)> {
        sample(n, |mu| self.evaluate(mu))
    }

    /// The number of channels with a filter of their own; 1 if one filter applies to all channels.
    pub fn n_channels(&self) -> usize {
        match self {
            Self::Shared(_) | Self::Gain(_) => 1,
            Self::Channels(filters) => filters.len(),
            Self::Tabulated(channels) => channels.len(),
        }
    }

    /// The response at one frequency; the mean if there are several channels.
    pub fn evaluate(&self, mu: f64) -> f64 {
        match self {
            Self::Shared(filter) => filter.evaluate(mu),
            Self::Channels(filters) => {
                filters.iter().map(|filter| filter.evaluate(mu)).sum::<f64>() / filters.len() as f64
            }
            Self::Gain(points) => interpolate_linearly(points, mu),
            Self::Tabulated(channels) => {
                let value = |points: &Vec<(f64, f64)>| {
                    let (low, high) = (points[0].0, points[points.len() - 1].0);
                    interpolate_linearly(points, mu.max(low).min(high))
                };
                channels.iter().map(value).sum::<f64>() / channels.len() as f64
            }
        }
    }
}

/// Linear interpolation of the points at `mu`.
fn interpolate_linearly(points: &[(f64, f64)], mu: f64) -> f64 {
    let above = points.partition_point(|&(x, _)| x < mu).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[above - 1], points[above]);
    y0 + (y1 - y0) * (mu - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such filters could be read, and caused a panic when they were drawn.
    #[test]
    fn stored_filters_that_cannot_be_evaluated_are_rejected() {
        let read = |text: &str| serde_json::from_str::<Response>(text).map_err(|e| e.to_string());
        let gain = Response::Gain(vec![(-1.0, 2.0), (1.0, 3.0)]);
        assert_eq!(read(r#"{"gain":[[-1,2],[1,3]]}"#), Ok(gain));
        for (text, expected) in [
            (r#"{"gain":[]}"#, "expected at least two points"),
            (r#"{"gain":[[0,1]]}"#, "expected at least two points"),
            (r#"{"tabulated":[]}"#, "expected at least one channel"),
            (r#"{"tabulated":[[[0,1],[1,1]],[[0,1]]]}"#, "expected at least two points"),
            (
                r#"{"shared":{"basis":{"three-term":[]},"coefficients":[1,2]}}"#,
                "a filter with 2 coefficients; its basis allows 1",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let long = vec!["0"; 2000].join(",");
        let bernstein = format!(r#"{{"shared":{{"basis":"bernstein","coefficients":[{long}]}}}}"#);
        assert!(read(&bernstein).unwrap_err().contains("its basis allows 1025"));
    }

    #[test]
    fn gain_is_interpolated_linearly() {
        let gain = Response::Gain(vec![(-1.0, 0.0), (0.0, 1.0), (1.0, 5.0)]);
        assert_eq!(
            [-1.0, -0.5, 0.0, 0.5, 1.0].map(|mu| gain.evaluate(mu)),
            [0.0, 0.5, 1.0, 3.0, 5.0]
        );
    }

    #[test]
    fn tabulated_channels_are_averaged_and_constant_beyond_their_points() {
        let table =
            Response::Tabulated(vec![vec![(-0.5, 1.0), (0.5, 3.0)], vec![(0.0, 1.0), (1.0, 2.0)]]);
        assert_eq!([-1.0, 0.0, 0.5, 1.0].map(|mu| table.evaluate(mu)), [1.0, 1.5, 2.25, 2.5]);
        assert_eq!(table.n_channels(), 2);
    }
}
