//! Medians and ratios with their ranges.

/// The median of some values, the smallest and the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianRange {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl MedianRange {
    /// The median and the range of some values; panics if there are none.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (n, last) = (sorted.len(), sorted.len() - 1);
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        Self { median, min: sorted[0], max: sorted[last] }
    }

    /// The median and the range of the ratios of two lists of times, round by round.
    pub fn ratio(theirs: &[f64], ours: &[f64]) -> Self {
        let ratios: Vec<f64> =
            theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
        Self::of(&ratios)
    }
}

/// `exp(mean(ln x))`; `None` for no values.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

/// Whether two losses differ by at most `tolerance`, relative to the larger of `|other|` and 1.
pub fn agree(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * other.abs().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        let range = MedianRange { median: 2.0, min: 1.0, max: 9.0 };
        assert_eq!(MedianRange::of(&[9.0, 1.0, 2.0]), range);
        assert_eq!(MedianRange::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(MedianRange::of(&[7.0]), MedianRange { median: 7.0, min: 7.0, max: 7.0 });
    }

    #[test]
    fn ratio_compares_times_of_the_same_round() {
        // The machine was half as fast in the second round; the ratio stays the same.
        let range = MedianRange { median: 3.0, min: 3.0, max: 4.0 };
        assert_eq!(MedianRange::ratio(&[3.0, 6.0, 4.0], &[1.0, 2.0, 1.0]), range);
    }

    #[test]
    fn geometric_mean_of_powers() {
        let mean = geometric_mean(&[2.0, 4.0, 8.0]).unwrap();
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn agree_uses_relative_tolerance() {
        assert!(agree(1.00009, 1.0, 1e-4) && agree(20.001, 20.0, 1e-4));
        assert!(!agree(1.0002, 1.0, 1e-4) && !agree(f64::NAN, 1.0, 1e-4));
    }
}
