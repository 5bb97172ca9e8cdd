//! Statistics over runs: mean, standard deviation and confidence interval of the mean.
//!
//! ```text
//! std  = sqrt( sum_i (x_i - mean)^2 / (n - 1) )              0 for a single run
//! ci95 = max(mean - q_0.025, q_0.975 - mean)                 q: quantiles of the mean of
//!                                                            1000 resamples with replacement
//! ```
//!
//! Most papers on these models report `mean ± ci95`, the larger side of the percentile bootstrap. It
//! shrinks with the number of runs while the standard deviation does not, so we always show both. The
//! resamples come from a fixed random stream, so the same runs give the same interval.

use crate::rng::Stream;
use serde::Serialize;

/// Number of bootstrap resamples.
const RESAMPLES: usize = 1000;

/// Mean, sample standard deviation and half-width of the 95% confidence interval of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistic {
    /// The mean over the runs.
    pub mean: f64,
    /// The sample standard deviation, with n - 1 degrees of freedom.
    pub std: f64,
    /// The larger half-width of the bootstrap interval of the mean.
    pub ci95: f64,
}

impl Statistic {
    /// Computes the statistics; all are NaN without runs.
    ///
    /// ```
    /// use clenshaw::report::Statistic;
    /// let accuracy = Statistic::of(&[0.87, 0.89, 0.91, 0.89]);
    /// assert_eq!(accuracy.in_percent(), "89.00 ± 1.63 [95% ± 1.50]");
    /// ```
    pub fn of(runs: &[f64]) -> Self {
        match runs {
            [] => Self { mean: f64::NAN, std: f64::NAN, ci95: f64::NAN },
            [run] => Self { mean: *run, std: 0.0, ci95: 0.0 },
            _ => {
                let mean = mean(runs);
                Self { mean, std: standard_deviation(runs, mean), ci95: bootstrap_ci95(runs, mean) }
            }
        }
    }

    /// Mean, standard deviation and interval in percent, as in `88.90 ± 1.26 [95% ± 0.59]`.
    pub fn in_percent(&self) -> String {
        let [mean, std, ci95] = [self.mean, self.std, self.ci95].map(|share| 100.0 * share);
        format!("{mean:.2} ± {std:.2} [95% ± {ci95:.2}]")
    }
}

/// The p-value of the hypothesis that paired differences are symmetric around zero: the share of sign
/// patterns that give a mean at least as far from zero.
///
/// All patterns are counted for up to 12 differences, otherwise 4096 random ones.
///
/// ```
/// use clenshaw::report::sign_flip_p_value;
/// assert_eq!(sign_flip_p_value(&[1.0, 2.0, 3.0]), 0.25); // +++ and --- of eight patterns
/// assert_eq!(sign_flip_p_value(&[1.0, -1.0]), 1.0);
/// ```
pub fn sign_flip_p_value(differences: &[f64]) -> f64 {
    let n = differences.len();
    let observed = differences.iter().sum::<f64>().abs() - 1e-12;
    let stream = Stream::new(0, "sign-flip");
    let exact = n <= 12;
    let patterns: u64 = if exact { 1 << n } else { 4096 };
    let is_extreme = |pattern: u64| {
        let mut random = stream.numbered(pattern);
        let sum: f64 = differences
            .iter()
            .enumerate()
            .map(|(i, difference)| {
                let flip = if exact { pattern >> i & 1 == 1 } else { random.unit() < 0.5 };
                if flip { -difference } else { *difference }
            })
            .sum();
        sum.abs() >= observed
    };
    let extreme = (0..patterns).filter(|&pattern| is_extreme(pattern)).count();
    extreme as f64 / patterns as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `sqrt( sum_i (x_i - mean)^2 / (n - 1) )`.
fn standard_deviation(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// `max(mean - q_0.025, q_0.975 - mean)` of the means of the resamples.
fn bootstrap_ci95(values: &[f64], mean: f64) -> f64 {
    let n = values.len();
    let mut stream = Stream::new(0, "bootstrap");
    let mut resample = || (0..n).map(|_| values[stream.below(n)]).sum::<f64>() / n as f64;
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resample()).collect();
    means.sort_by(f64::total_cmp);
    (mean - quantile(&means, 0.025)).max(quantile(&means, 0.975) - mean)
}

/// A quantile of sorted values, by linear interpolation.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let (low, fraction) = (position.floor() as usize, position.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] * (1.0 - fraction) + sorted[high] * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_two_runs() {
        // The mean of a resample is 0, 1/2 or 1 with probabilities 1/4, 1/2, 1/4: the interval is [0, 1].
        let two = Statistic::of(&[0.0, 1.0]);
        assert_eq!(two, Statistic { mean: 0.5, std: 0.5f64.sqrt(), ci95: 0.5 });
    }

    #[test]
    fn single_run_has_no_spread() {
        assert_eq!(Statistic::of(&[0.7]), Statistic { mean: 0.7, std: 0.0, ci95: 0.0 });
        let none = Statistic::of(&[]);
        assert!(none.mean.is_nan() && none.std.is_nan() && none.ci95.is_nan(), "{none:?}");
    }

    #[test]
    fn many_runs_approach_the_normal_interval() {
        let mut stream = Stream::new(1, "test");
        let runs: Vec<f64> = (0..400).map(|_| stream.normal()).collect();
        let all = Statistic::of(&runs);
        let normal = 1.96 * all.std / 20.0;
        assert!((all.ci95 / normal - 1.0).abs() < 0.1, "{} instead of {normal}", all.ci95);
        assert_eq!(all, Statistic::of(&runs));
    }

    #[test]
    fn quantiles_interpolate_linearly() {
        let values = [0.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!([0.0, 0.25, 0.3, 1.0].map(|q| quantile(&values, q)), [0.0, 10.0, 12.0, 40.0]);
    }
}
