//! Calibration: one temperature for all probabilities.
//!
//! ```text
//! q_c = p_c^(1/T) / sum_d p_d^(1/T)            T = argmin of the cross-entropy of q on validation nodes
//! ```
//!
//! This is the softmax of the scores `ln p` divided by T. Up to rounding, it keeps the order of the classes. The
//! cross-entropy is convex in 1/T, and its minimum is found by golden-section search over ln T.
//! Guo, Pleiss, Sun & Weinberger, ICML 2017, arXiv:1706.04599.

use crate::tensor::Mat;

/// The lowest and the highest temperature.
const RANGE: (f64, f64) = (0.1, 10.0);
/// The lower bound of the probabilities `p`, so that `ln p` is finite; smaller ones are raised to it.
const FLOOR: f64 = 1e-12;
/// The number of steps of the search; each reduces the interval of ln T by the golden ratio.
const STEPS: usize = 40;

/// The temperature within [`RANGE`] that minimises the cross-entropy of these predictions, `[n, C]`, for the true
/// classes; 1 without nodes.
pub(super) fn fit(predictions: &Mat<f32>, truth: &[u32]) -> f64 {
    if truth.is_empty() {
        return 1.0;
    }
    let loss = |log_t: f64| loss(predictions, truth, libm::exp(log_t));
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (libm::log(RANGE.0), libm::log(RANGE.1));
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut loss_a, mut loss_b) = (loss(a), loss(b));
    for _ in 0..STEPS {
        if loss_a <= loss_b {
            (high, b, loss_b) = (b, a, loss_a);
            a = high - ratio * (high - low);
            loss_a = loss(a);
        } else {
            (low, a, loss_a) = (a, b, loss_b);
            b = low + ratio * (high - low);
            loss_b = loss(b);
        }
    }
    libm::exp((low + high) / 2.0)
}

/// The mean of `-ln q` of the true classes, in double precision: single precision would blur the minimum.
fn loss(predictions: &Mat<f32>, truth: &[u32], temperature: f64) -> f64 {
    let term =
        |(row, &class): (&[f32], &u32)| -libm::log(probabilities(row, temperature)[class as usize]);
    let rows = predictions.as_slice().chunks_exact(predictions.cols());
    rows.zip(truth).map(term).sum::<f64>() / truth.len() as f64
}

/// The probabilities `q` of a row; none is zero.
fn probabilities(row: &[f32], temperature: f64) -> Vec<f64> {
    let scores = row.iter().map(|p| libm::log(f64::from(*p).max(FLOOR)) / temperature);
    let scores: Vec<f64> = scores.collect();
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| libm::exp(score - highest)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| (weight / total).max(f64::MIN_POSITIVE)).collect()
}

/// The probabilities `q`, `[n, C]`, at a temperature.
pub(super) fn scaled(predictions: &Mat<f32>, temperature: f64) -> Mat<f32> {
    let mut out = predictions.clone();
    let c = out.cols();
    for row in out.as_mut_slice().chunks_exact_mut(c) {
        let scaled = probabilities(row, temperature);
        row.iter_mut().zip(scaled).for_each(|(p, value)| *p = value as f32);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperature_of_an_overconfident_prediction() {
        // Four nodes predicted with 0.9, three of them correct: the best probability is 0.75, and
        // logit(0.75) = ln 3 = ln 9 / 2 = logit(0.9) / 2, so T = 2.
        let p = Mat::from_vec(4, 2, [0.9f32, 0.1].repeat(4));
        let t = fit(&p, &[0, 0, 0, 1]);
        assert!((t - 2.0).abs() < 1e-5, "{t}");
        let q = scaled(&p, t);
        assert!((q[(0, 0)] - 0.75).abs() < 1e-5, "{}", q[(0, 0)]);
    }

    #[test]
    fn extreme_predictions_stay_finite_and_keep_their_class() {
        let p = Mat::from_vec(2, 3, vec![1.0, 0.0, 0.0, 0.2, 0.5, 0.3]);
        // All correct: the temperature is at its lower bound.
        assert!((fit(&p, &[0, 1]) - RANGE.0).abs() < 1e-3);
        for t in [0.1, 1.0, 10.0] {
            let q = scaled(&p, t);
            assert!(q.as_slice().iter().all(|value| value.is_finite()));
            for i in 0..2 {
                let row = q.row(i);
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
                assert_eq!(crate::train::most_likely(row), crate::train::most_likely(p.row(i)));
            }
        }
        assert_eq!(fit(&Mat::zeros(0, 2), &[]), 1.0);
    }
}
