//! Axes with ticks at round numbers.

/// What equal lengths on an axis stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios, with a tick at every power of two; only positive numbers have a place.
    Doubling,
    /// Equal ratios, with a tick at every power of ten; only positive numbers have a place.
    Decades,
}

impl Scale {
    /// Where a number stands before the axis is stretched.
    fn position(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Doubling => value.log2(),
            Self::Decades => value.log10(),
        }
    }

    /// Whether a number has a place.
    pub(super) fn holds(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }
}

/// An axis over positions in `[low, high]` with a tick at every multiple of `step` in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// At most `n_steps` steps of 1, 2 or 5 times a power of ten fit in; a flat range is widened.
    pub fn over(low: f64, high: f64, n_steps: usize) -> Self {
        let (low, high) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
        let least = (high - low) / n_steps.max(1) as f64;
        let power = 10f64.powf(least.log10().floor());
        // Rounding must not turn a step that just fits into the next one.
        let fits = |factor: &f64| factor * power >= 0.999 * least;
        let step = power * [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0);
        Self { scale: Scale::Linear, low, high, step }
    }

    /// From the power of two or ten at or below `low` to the one at or above `high`, with a tick at each.
    pub fn powers(scale: Scale, low: f64, high: f64) -> Self {
        let (low, high) = (scale.position(low).floor(), scale.position(high).ceil());
        Self { scale, low, high: high.max(low + 1.0), step: 1.0 }
    }

    /// The ticks, ascending.
    pub fn ticks(self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step - 1e-9).ceil() as i64;
        let last = (self.high / self.step + 1e-9).floor() as i64;
        (first..=last).map(move |i| match self.scale {
            Scale::Linear => i as f64 * self.step,
            Scale::Doubling => 2f64.powi(i as i32),
            Scale::Decades => 10f64.powi(i as i32),
        })
    }

    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub fn share(self, value: f64) -> f64 {
        (self.scale.position(value) - self.low) / (self.high - self.low)
    }

    /// A tick's value with the digits its step needs, or as a power of ten.
    pub fn label(self, tick: f64) -> String {
        match self.scale {
            Scale::Linear => {}
            Scale::Doubling => return tick.to_string(),
            Scale::Decades => return power_of_ten(tick.log10().round() as i32),
        }
        let digits = -self.step.log10().floor();
        match digits {
            -6.0..=6.0 => format!("{tick:.*}", digits.max(0.0) as usize),
            _ if tick == 0.0 => "0".into(),
            _ => format!("{tick:e}"),
        }
    }
}

/// `0.1`, `1`, `10`, and beyond these `10⁻²`, `10³`.
fn power_of_ten(exponent: i32) -> String {
    if (-1..=1).contains(&exponent) {
        return 10f64.powi(exponent).to_string();
    }
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    "10".chars().chain(exponent.to_string().chars().map(raised)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, n_steps: usize) -> Vec<String> {
        let axis = Axis::over(low, high, n_steps);
        axis.ticks().map(|tick| axis.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(-1.0, 1.0, 4), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(0.0, 1.3, 6), ["0.0", "0.5", "1.0"]);
        assert_eq!(labels(-37.0, 212.0, 5), ["0", "50", "100", "150", "200"]);
        assert_eq!(labels(0.0, 0.3, 3), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(labels(0.0, 3e9, 3), ["0", "1e9", "2e9", "3e9"]);
    }

    #[test]
    fn a_flat_line_still_has_an_axis() {
        assert_eq!(labels(0.0, 0.0, 2), ["-1", "0", "1"]);
    }

    #[test]
    fn shares_run_from_zero_to_one() {
        let axis = Axis::over(-2.0, 6.0, 4);
        assert_eq!([-2.0, 0.0, 6.0].map(|v| axis.share(v)), [0.0, 0.25, 1.0]);
    }

    #[test]
    fn decades_have_a_tick_each() {
        let axis = Axis::powers(Scale::Decades, 0.03, 700.0);
        let labels: Vec<String> = axis.ticks().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, ["10⁻²", "0.1", "1", "10", "10²", "10³"]);
        assert_eq!([0.01, 0.1, 1000.0].map(|v| axis.share(v)), [0.0, 0.2, 1.0]);
        assert_eq!(Axis::powers(Scale::Decades, 1e12, 1e12).ticks().count(), 2);
        assert_eq!(power_of_ten(12), "10¹²");
    }

    #[test]
    fn doublings_have_a_tick_each() {
        let axis = Axis::powers(Scale::Doubling, 2.0, 31.0);
        let labels: Vec<String> = axis.ticks().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, ["2", "4", "8", "16", "32"]);
        assert_eq!([2.0, 4.0, 32.0].map(|v| axis.share(v)), [0.0, 0.25, 1.0]);
        assert_eq!(
            Axis::powers(Scale::Doubling, 8.0, 8.0).ticks().collect::<Vec<_>>(),
            [8.0, 16.0]
        );
        assert_eq!(axis.label(0.25), "0.25");
    }
}
