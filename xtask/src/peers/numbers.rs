//! Medians, and ratios with their spread.

/// A median and the ends of what it was taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Panics without values.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (n, last) = (sorted.len(), sorted.len() - 1);
        let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        Self { median, least: sorted[0], most: sorted[last] }
    }

    /// How many times as long theirs took, round by round.
    pub fn ratio(theirs: &[f64], ours: &[f64]) -> Self {
        let ratios: Vec<f64> =
            theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
        Self::of(&ratios)
    }
}

/// `exp(mean(ln x))`; none of nothing.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

/// Whether two losses are the same but for rounding.
pub fn agree(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * other.abs().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_its_middle_and_its_ends() {
        let spread = Spread { median: 2.0, least: 1.0, most: 9.0 };
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), spread);
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of(&[7.0]), Spread { median: 7.0, least: 7.0, most: 7.0 });
    }

    #[test]
    fn rounds_are_compared_with_their_neighbours() {
        // The machine was half as fast in the second round; the ratio does not care.
        let spread = Spread { median: 3.0, least: 3.0, most: 4.0 };
        assert_eq!(Spread::ratio(&[3.0, 6.0, 4.0], &[1.0, 2.0, 1.0]), spread);
    }

    #[test]
    fn a_geometric_mean_is_the_root_of_the_product() {
        let mean = geometric_mean(&[2.0, 4.0, 8.0]).unwrap();
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn losses_agree_within_the_tolerance() {
        assert!(agree(1.00009, 1.0, 1e-4) && agree(20.001, 20.0, 1e-4));
        assert!(!agree(1.0002, 1.0, 1e-4) && !agree(f64::NAN, 1.0, 1e-4));
    }
}
