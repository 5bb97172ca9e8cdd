//! The truncated normal distribution, in logarithms.
//!
//! ```text
//! ndtr(x)  = 1/2 + pdf(x) (x + x^3/3 + x^5/(3 5) + ...)                          |x| < 2
//!          = pdf(x) / (-x + 1/(-x + 2/(-x + 3/...)))                             x <= -2
//! ```
//!
//! The series has no cancellation and Laplace's continued fraction no underflow, so that the logarithm of
//! a tail is as accurate at -100 as at -2.
//! Abramowitz & Stegun, 26.2.11 and 26.2.14.

use std::f64::consts::LN_2;

/// `ln sqrt(2 pi)`.
const LN_ROOT_TAU: f64 = 0.918_938_533_204_672_8;

/// `ln pdf(x) = -x^2/2 - ln sqrt(2 pi)`.
pub(super) fn log_pdf(x: f64) -> f64 {
    -0.5 * x * x - LN_ROOT_TAU
}

/// The cumulative distribution function of the standard normal distribution.
pub(super) fn ndtr(x: f64) -> f64 {
    match x {
        x if x <= -2.0 => log_tail(x).exp(),
        x if x >= 2.0 => 1.0 - log_tail(-x).exp(),
        _ => 0.5 + log_pdf(x).exp() * series(x),
    }
}

/// The logarithm of `ndtr(x)`.
pub(super) fn log_ndtr(x: f64) -> f64 {
    match x {
        x if x <= -2.0 => log_tail(x),
        x if x >= 2.0 => (-log_tail(-x).exp()).ln_1p(),
        _ => ndtr(x).ln(),
    }
}

/// The logarithm of the probability of `a..=b` under the standard normal distribution, for `a <= b`.
///
/// A range in the right tail is mirrored to the left tail, where small probabilities are accurate.
pub(crate) fn log_mass(a: f64, b: f64) -> f64 {
    if a > 0.0 {
        return log_mass(-b, -a);
    }
    if b > 0.0 {
        return (-ndtr(a) - ndtr(-b)).ln_1p();
    }
    let (below, above) = (log_ndtr(a), log_ndtr(b));
    above + (-(below - above).exp().min(1.0)).ln_1p()
}

/// The quantile `q` of the standard normal distribution truncated to `a..=b`.
pub(super) fn quantile(q: f64, a: f64, b: f64) -> f64 {
    let mass = log_mass(a, b);
    let left = log_sum(log_ndtr(a), q.ln() + mass);
    let right = log_sum(log_ndtr(-b), (-q).ln_1p() + mass);
    let x = if left <= right { log_ndtri(left) } else { -log_ndtri(right) };
    x.clamp(a, b)
}

/// The `x <= 0` with `log_ndtr(x) = y`, for `y <= -ln 2`.
///
/// As `ndtr(x) <= exp(-x^2/2) / 2` for negative `x`, the initial value is below the root; as `log_ndtr`
/// is concave, Newton's method increases to the root without passing it.
fn log_ndtri(y: f64) -> f64 {
    let mut x = -(-2.0 * (y + LN_2)).max(0.0).sqrt();
    for _ in 0..100 {
        let log_p = log_ndtr(x);
        let step = (y - log_p) * (log_p - log_pdf(x)).exp();
        x += step;
        if step.abs() <= 1e-12 * x.abs().max(1.0) {
            break;
        }
    }
    x
}

/// `ln(exp(p) + exp(q))`.
fn log_sum(p: f64, q: f64) -> f64 {
    let (low, high) = if p < q { (p, q) } else { (q, p) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// `x + x^3/3 + x^5/(3 5) + ...` for `|x| < 2`.
fn series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for odd in (3..).step_by(2) {
        term *= x * x / f64::from(odd);
        sum += term;
        if term.abs() <= 1e-17 * sum.abs() {
            break;
        }
    }
    sum
}

/// `log_ndtr(x)` for `x <= -2`. The relative error of the truncated continued fraction is below 3e-14.
fn log_tail(x: f64) -> f64 {
    let depth = (240.0 / (x * x)) as i32 + 16;
    let fraction = (1..=depth).rev().fold(-x, |below, k| -x + f64::from(k) / below);
    log_pdf(x) - fraction.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ndtr_matches_reference_values() {
        // x and ln ndtr(x), computed with 50 digits.
        let known = [
            (-100.0, -5_005.524_208_694_205),
            (-37.5, -707.668_989_317_507_2),
            (-10.0, -53.231_285_150_512_47),
            (-5.0, -15.064_998_393_988_725),
            (-3.0, -6.607_726_221_510_349),
            (-2.0, -3.783_184_333_682_032),
            (-1.0, -1.841_021_645_009_263_6),
            (0.0, -LN_2),
            (0.5, -0.368_946_415_288_656_4),
            (3.0, -0.001_350_809_964_748_193_8),
            (9.0, -1.128_588_405_953_840_5e-19),
        ];
        for (x, expected) in known {
            let got = log_ndtr(x);
            assert!((got - expected).abs() <= 1e-14 * f64::abs(expected), "{x}: {got} {expected}");
        }
    }

    #[test]
    fn series_and_continued_fraction_agree_at_two() {
        for x in [-2.0f64, 2.0] {
            let outside = if x < 0.0 { log_tail(x).exp() } else { 1.0 - log_tail(-x).exp() };
            let inside = 0.5 + log_pdf(x).exp() * series(x);
            assert!((outside - inside).abs() < 1e-15, "{outside} {inside}");
        }
    }

    #[test]
    fn log_mass_is_the_difference_of_cumulative_probabilities() {
        for (a, b) in [(-3.0, -1.0), (-1.0, 2.5), (0.5, 0.6), (4.0, 9.0)] {
            let plain = (ndtr(b) - ndtr(a)).ln();
            assert!((log_mass(a, b) - plain).abs() < 1e-11, "{a} {b}");
        }
        assert!((log_mass(30.0, 31.0) - log_ndtr(-30.0)).abs() < 1e-10);
        assert_eq!(log_mass(-1.0, -1.0), f64::NEG_INFINITY);
    }

    #[test]
    fn quantile_inverts_the_distribution() {
        for (a, b) in [(-3.0, 1.0), (-0.1, 0.1), (2.0, 40.0), (-50.0, -20.0), (-1e3, 1e3)] {
            let mut last = a;
            for q in [1e-12, 1e-3, 0.2, 0.5, 0.8, 0.999] {
                let x = quantile(q, a, b);
                assert!(x >= last && x <= b, "{a} {b} {q}: {x}");
                let back = (log_mass(a, x) - log_mass(a, b)).exp();
                // The rounding of x limits the accuracy of the probability.
                assert!((back - q).abs() <= 1e-9, "{a} {b} {q}: {back}");
                last = x;
            }
            let ends = (quantile(0.0, a, b) - a).abs().max((quantile(1.0, a, b) - b).abs());
            assert!(ends <= 1e-12 * b.abs().max(a.abs()), "{a} {b}: {ends}");
        }
    }
}
