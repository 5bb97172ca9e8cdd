//! 95% intervals of a score on test nodes.
//!
//! ```text
//! accuracy    Wilson: (a + z^2/2n +- z sqrt(a (1 - a)/n + z^2/4n^2)) / (1 + z^2/n),   z = 1.96
//! others      s + quantiles of (s_H - s) over random halves H of the test nodes
//! ```
//!
//! A half without replacement varies around the score of all nodes as much as that score varies around
//! the true one (Politis & Romano, Annals of Statistics 1994, with half samples), and needs nothing except
//! scores of parts of the test nodes.

use crate::error::Result;
use crate::rng::Stream;

/// The 97.5% quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// The number of random halves.
const HALVES: usize = 400;

/// The 95% Wilson interval of a share of `n` nodes.
pub(super) fn wilson(share: f64, n: usize) -> (f64, f64) {
    let (n, z2) = (n as f64, Z * Z);
    let centre = share + z2 / (2.0 * n);
    let width = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let bound = |value: f64| (value / (1.0 + z2 / n)).clamp(0.0, 1.0);
    (bound(centre - width), bound(centre + width))
}

/// The 95% interval of a score of nodes, where `score_of` computes the score of a part of them. Parts whose score is
/// NaN are ignored; if no part remains, the interval is 0 to 1.
pub(super) fn half_samples(
    nodes: &[u32],
    score: f64,
    score_of: impl Fn(Vec<u32>) -> Result<f64>,
) -> Result<(f64, f64)> {
    let stream = Stream::new(0, "auto").named("halves");
    let mut differences = vec![];
    for i in 0..HALVES {
        let mut shuffled = nodes.to_vec();
        stream.numbered(i as u64).shuffle(&mut shuffled);
        shuffled.truncate(nodes.len() / 2);
        let difference = score_of(shuffled)? - score;
        differences.extend(Some(difference).filter(|difference| difference.is_finite()));
    }
    differences.sort_by(f64::total_cmp);
    let quantile = |q: f64| {
        let last = differences.len().saturating_sub(1);
        differences.get((q * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    };
    Ok(((score + quantile(0.025)).max(0.0), (score + quantile(0.975)).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_interval_matches_known_values() {
        // 8 of 10: (0.4902, 0.9433); 10 of 10: (0.7225, 1), as in statsmodels' proportion_confint.
        let close =
            |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-4 && (b - d).abs() < 1e-4;
        assert!(close(wilson(0.8, 10), (0.4902, 0.9433)), "{:?}", wilson(0.8, 10));
        assert!(close(wilson(1.0, 10), (0.7225, 1.0)), "{:?}", wilson(1.0, 10));
    }

    #[test]
    fn half_samples_have_the_width_of_the_standard_error() {
        // A share of 0.7 of 400 nodes: the standard error is 0.0229, so the interval is 0.7 +- 0.045.
        let nodes: Vec<u32> = (0..400).collect();
        let share = |nodes: Vec<u32>| {
            let hits = nodes.iter().filter(|&&node| node < 280).count();
            Ok(hits as f64 / nodes.len() as f64)
        };
        let (low, high) = half_samples(&nodes, 0.7, share).unwrap();
        assert!((low - 0.655).abs() < 0.01 && (high - 0.745).abs() < 0.01, "{low} to {high}");
    }
}
