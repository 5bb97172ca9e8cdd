//! Chart axes with ticks at round numbers.

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic, with a tick at every power of two; positive numbers only.
    Log2,
}

impl Scale {
    /// The number itself, or its logarithm: equal differences have equal lengths on the axis.
    fn position(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log2 => value.log2(),
        }
    }

    /// Whether a number can be drawn on this scale.
    pub(super) fn accepts(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }
}

/// An axis over the positions `[low, high]` with a tick at every multiple of `step`; on a logarithmic
/// axis, positions are logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// A linear axis with at most `n_steps` steps of 1, 2 or 5 times a power of ten; an empty range is
    /// widened.
    pub fn linear(low: f64, high: f64, n_steps: usize) -> Self {
        let (low, high) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
        let least = (high - low) / n_steps.max(1) as f64;
        let power = 10f64.powf(least.log10().floor());
        // Tolerate rounding, so that a step that just fits is not replaced by the next one.
        let fits = |factor: &f64| factor * power >= 0.999 * least;
        let step = power * [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0);
        Self { scale: Scale::Linear, low, high, step }
    }

    /// A logarithmic axis from the power of two at or below `low` to the one at or above `high`.
    pub fn log2(low: f64, high: f64) -> Self {
        let (low, high) = (low.log2().floor(), high.log2().ceil());
        Self { scale: Scale::Log2, low, high: high.max(low + 1.0), step: 1.0 }
    }

    /// The ticks in ascending order.
    pub fn ticks(self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step - 1e-9).ceil() as i64;
        let last = (self.high / self.step + 1e-9).floor() as i64;
        (first..=last).map(move |i| match self.scale {
            Scale::Linear => i as f64 * self.step,
            Scale::Log2 => 2f64.powi(i as i32),
        })
    }

    /// The relative position of a value: 0 at the low end, 1 at the high end.
    pub fn fraction(self, value: f64) -> f64 {
        (self.scale.position(value) - self.low) / (self.high - self.low)
    }

    /// The label of a tick; on a linear axis, with as many decimals as the step needs.
    pub fn label(self, tick: f64) -> String {
        if self.scale == Scale::Log2 {
            return tick.to_string();
        }
        let digits = -self.step.log10().floor();
        match digits {
            -6.0..=6.0 => format!("{tick:.*}", digits.max(0.0) as usize),
            _ if tick == 0.0 => "0".into(),
            _ => format!("{tick:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, n_steps: usize) -> Vec<String> {
        let axis = Axis::linear(low, high, n_steps);
        axis.ticks().map(|tick| axis.label(tick)).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(labels(-1.0, 1.0, 4), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(0.0, 1.3, 6), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(-37.0, 212.0, 5), ["0", "50", "100", "150", "200"]);
        assert_eq!(labels(0.0, 0.3, 3), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(0.0, 3e9, 3), ["0", "1e9", "2e9", "3e9"]);
    }

    #[test]
    fn empty_range_is_widened() {
        assert_eq!(labels(0.0, 0.0, 2), ["-1", "0", "1"]);
    }

    #[test]
    fn fractions_run_from_zero_to_one() {
        let axis = Axis::linear(-2.0, 6.0, 4);
        assert_eq!([-2.0, 0.0, 6.0].map(|v| axis.fraction(v)), [0.0, 0.25, 1.0]);
    }

    #[test]
    fn log2_axis_has_a_tick_per_power() {
        let axis = Axis::log2(2.0, 31.0);
        let labels: Vec<String> = axis.ticks().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, ["2", "4", "8", "16", "32"]);
        assert_eq!([2.0, 4.0, 32.0].map(|v| axis.fraction(v)), [0.0, 0.25, 1.0]);
        assert_eq!(Axis::log2(8.0, 8.0).ticks().collect::<Vec<_>>(), [8.0, 16.0]);
        assert_eq!(axis.label(0.25), "0.25");
    }
}
