//! Numeric distributions as intervals on which sampling is uniform.

use crate::Distribution;

/// A numeric distribution. Its values are sampled uniformly from the interval [`bounds`](Self::bounds), which
/// consists of logarithms if the scale is logarithmic, and extends half a step beyond the first and the last
/// value if there are steps, so that on a linear scale every value is equally likely.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumericRange {
    /// The smallest value.
    pub(crate) low: f64,
    /// The largest value; with steps, a whole number of them above `low`.
    pub(crate) high: f64,
    /// The distance between consecutive values; `None` for all real numbers.
    pub(crate) step: Option<f64>,
    /// Whether the scale is logarithmic.
    pub(crate) log: bool,
}

impl NumericRange {
    /// The range of a distribution; `None` if it is categorical.
    pub(crate) fn new(distribution: &Distribution) -> Option<Self> {
        let (low, high, log, step) = match *distribution {
            Distribution::Float { low, high, log, step } => (low, high, log, step),
            Distribution::Int { low, high, log, step } => {
                (low as f64, high as f64, log, Some(step as f64))
            }
            Distribution::Categorical { .. } => return None,
        };
        // The tolerance counts a quotient just below an integer as that integer: 0.3 / 0.1 is 3 steps.
        let reach = |step: f64| low + ((high - low) / step + 1e-8).floor() * step;
        Some(Self { low, high: step.map_or(high, |step| reach(step).min(high)), step, log })
    }

    /// The bounds of the interval on which sampling is uniform; logarithms if the scale is logarithmic.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let half = self.half_step();
        (self.transform(self.low - half), self.transform(self.high + half))
    }

    /// Maps a value to the interval: takes the logarithm if the scale is logarithmic.
    pub(crate) fn transform(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    /// Maps a point of the interval back to a value, rounded to the nearest one of the distribution.
    pub(crate) fn untransform(&self, point: f64) -> f64 {
        let value = if self.log { point.exp() } else { point };
        let rounded = |step: f64| self.low + ((value - self.low) / step).round() * step;
        self.step.map_or(value, rounded).clamp(self.low, self.high)
    }

    /// Half a step; 0 without steps.
    pub(crate) fn half_step(&self) -> f64 {
        self.step.map_or(0.0, |step| step / 2.0)
    }

    /// The number of values, at most `u64::MAX`; `None` if there are infinitely many.
    pub(crate) fn count(&self) -> Option<u64> {
        match self.step {
            Some(step) => Some((((self.high - self.low) / step).round() as u64).saturating_add(1)),
            None => (self.low == self.high).then_some(1),
        }
    }

    /// The values in increasing order, at most the first `limit`; `None` if there are infinitely many.
    pub(crate) fn values(&self, limit: u64) -> Option<Vec<f64>> {
        let step = self.step.unwrap_or(0.0);
        let value = |k: u64| (self.low + k as f64 * step).min(self.high);
        Some((0..self.count()?.min(limit)).map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_determine_the_largest_value() {
        let order = Distribution::Int { low: 2, high: 11, log: false, step: 4 };
        let range = NumericRange::new(&order).unwrap();
        assert_eq!((range.high, range.bounds()), (10.0, (0.0, 12.0)));
        assert_eq!(range.values(9).unwrap(), [2.0, 6.0, 10.0]);
        let rate = Distribution::Float { low: 0.0, high: 0.3, log: false, step: Some(0.1) };
        assert_eq!(NumericRange::new(&rate).unwrap().values(9).unwrap(), [0.0, 0.1, 0.2, 0.3]);
    }

    #[test]
    fn count_does_not_overflow() {
        let all = Distribution::Int { low: i64::MIN, high: i64::MAX, log: false, step: 1 };
        assert_eq!(NumericRange::new(&all).unwrap().count(), Some(u64::MAX));
    }

    #[test]
    fn untransform_rounds_to_values_within_bounds() {
        let width = Distribution::Int { low: 1, high: 64, log: true, step: 1 };
        let range = NumericRange::new(&width).unwrap();
        assert_eq!(range.bounds(), (0.5f64.ln(), 64.5f64.ln()));
        let values = [0.51f64, 1.4, 1.6, 64.4].map(|x| range.untransform(x.ln()));
        assert_eq!(values, [1.0, 1.0, 2.0, 64.0]);
        assert_eq!(range.count(), Some(64));
        let rate = Distribution::Float { low: 1e-5, high: 1.0, log: true, step: None };
        let range = NumericRange::new(&rate).unwrap();
        assert_eq!(range.untransform(range.bounds().0), 1e-5, "rounding must stay within bounds");
        assert_eq!(range.count(), None);
    }
}
