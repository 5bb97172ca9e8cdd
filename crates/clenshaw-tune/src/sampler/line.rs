//! A numeric distribution as an interval of the real line on which it is even.

use crate::Distribution;

/// An interval: logarithms where those are even, and half a step more at both ends where values
/// come in steps, so that every value has an equal share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The least value.
    pub(crate) low: f64,
    /// The largest value that steps from `low` reach.
    pub(crate) high: f64,
    pub(crate) step: Option<f64>,
    pub(crate) log: bool,
}

impl Line {
    /// The line of a distribution; lists of choices have none.
    pub(crate) fn of(distribution: &Distribution) -> Option<Self> {
        let (low, high, log, step) = match *distribution {
            Distribution::Float { low, high, log, step } => (low, high, log, step),
            Distribution::Int { low, high, log, step } => {
                (low as f64, high as f64, log, Some(step as f64))
            }
            Distribution::Categorical { .. } => return None,
        };
        // A quotient just below a whole number is that number: 0.3 / 0.1 counts three steps.
        let reach = |step: f64| low + ((high - low) / step + 1e-8).floor() * step;
        Some(Self { low, high: step.map_or(high, |step| reach(step).min(high)), step, log })
    }

    /// Its ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let half = self.half_step();
        (self.place(self.low - half), self.place(self.high + half))
    }

    /// Where a value lies.
    pub(crate) fn place(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    /// The value nearest to a place.
    pub(crate) fn value(&self, place: f64) -> f64 {
        let value = if self.log { place.exp() } else { place };
        let stepped = |step: f64| self.low + ((value - self.low) / step).round() * step;
        self.step.map_or(value, stepped).clamp(self.low, self.high)
    }

    /// Half a step, nothing without steps.
    pub(crate) fn half_step(&self) -> f64 {
        self.step.map_or(0.0, |step| step / 2.0)
    }

    /// How many values there are: without steps no number, unless there is but one.
    pub(crate) fn count(&self) -> Option<u64> {
        match self.step {
            Some(step) => Some(((self.high - self.low) / step).round() as u64 + 1),
            None => (self.low == self.high).then_some(1),
        }
    }

    /// The first `most` values in steps from the least.
    pub(crate) fn values(&self, most: u64) -> Option<Vec<f64>> {
        let step = self.step.unwrap_or(0.0);
        let value = |k: u64| (self.low + k as f64 * step).min(self.high);
        Some((0..self.count()?.min(most)).map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_where_they_reach() {
        let order = Distribution::Int { low: 2, high: 11, log: false, step: 4 };
        let line = Line::of(&order).unwrap();
        assert_eq!((line.high, line.ends()), (10.0, (0.0, 12.0)));
        assert_eq!(line.values(9).unwrap(), [2.0, 6.0, 10.0]);
        let rate = Distribution::Float { low: 0.0, high: 0.3, log: false, step: Some(0.1) };
        assert_eq!(Line::of(&rate).unwrap().values(9).unwrap(), [0.0, 0.1, 0.2, 0.3]);
    }

    #[test]
    fn places_round_to_values() {
        let width = Distribution::Int { low: 1, high: 64, log: true, step: 1 };
        let line = Line::of(&width).unwrap();
        assert_eq!(line.ends(), (0.5f64.ln(), 64.5f64.ln()));
        assert_eq!([0.51f64, 1.4, 1.6, 64.4].map(|x| line.value(x.ln())), [1.0, 1.0, 2.0, 64.0]);
        assert_eq!(line.count(), Some(64));
        let rate = Distribution::Float { low: 1e-5, high: 1.0, log: true, step: None };
        let line = Line::of(&rate).unwrap();
        assert_eq!(line.value(line.ends().0), 1e-5, "no rounding leads outside");
        assert_eq!(line.count(), None);
    }
}
