//! Greedy ensemble selection: in each step, the configuration whose addition gives the best mean
//! prediction is added; a configuration can be added several times.
//!
//! ```text
//! P_t = ((t - 1) P_{t-1} + p_c) / t,   c = argmax of the mean over splits of score(P_t on validation nodes)
//! ```
//!
//! Ties go to the lower cross-entropy, then to the earlier configuration. Of all prefixes the first one with
//! the highest score is kept, so an ensemble is never worse than its best member on the validation nodes.
//! Caruana, Niculescu-Mizil, Crew & Ksikes, ICML 2004.

use super::objective::Objective;
use crate::tensor::Mat;

/// The largest number of additions.
const MAX_ADDITIONS: usize = 25;
/// The lower bound of probabilities in the cross-entropy; smaller ones are raised to it.
const FLOOR: f64 = 1e-12;

/// The validation nodes of a split: their labels, and the predictions of each candidate for them.
pub(super) struct ValidationPart {
    pub truth: Vec<u32>,
    /// `[n_val, C]` for each candidate, with rows in the order of `truth`.
    pub predictions: Vec<Mat<f32>>,
}

/// The number of times that each candidate occurs among the additions that are kept. Some number is positive unless
/// there are no splits, in which case there are no numbers.
///
/// # Panics
/// If a split has no candidates.
pub(super) fn select(objective: Objective, parts: &[ValidationPart]) -> Vec<usize> {
    let n = parts.first().map_or(0, |part| part.predictions.len());
    let mut counts = vec![0; n];
    let mut sums: Vec<Mat<f32>> =
        parts.iter().map(|part| zeros_like(&part.predictions[0])).collect();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for size in 1..=MAX_ADDITIONS {
        let value = |candidate: usize| evaluate(objective, parts, &sums, candidate, size);
        let scored = (0..n).map(|candidate| (candidate, value(candidate)));
        let chosen = scored.reduce(|a, b| if is_better(b.1, a.1) { b } else { a });
        let Some((candidate, (score, _))) = chosen else { break };
        counts[candidate] += 1;
        for (sum, part) in sums.iter_mut().zip(parts) {
            add(sum, &part.predictions[candidate]);
        }
        if best.as_ref().is_none_or(|(highest, _)| score > *highest + 1e-12) {
            best = Some((score, counts.clone()));
        }
    }
    best.map_or(counts, |(_, counts)| counts)
}

/// Higher score, or equal score and lower cross-entropy.
fn is_better(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 > b.0 + 1e-12 || ((a.0 - b.0).abs() <= 1e-12 && a.1 < b.1 - 1e-12)
}

/// Score and cross-entropy, averaged over the splits, when a candidate is added to the sums.
fn evaluate(
    objective: Objective,
    parts: &[ValidationPart],
    sums: &[Mat<f32>],
    candidate: usize,
    size: usize,
) -> (f64, f64) {
    let (mut score, mut loss) = (0.0, 0.0);
    for (part, sum) in parts.iter().zip(sums) {
        let mut p = sum.clone();
        add(&mut p, &part.predictions[candidate]);
        p.as_mut_slice().iter_mut().for_each(|value| *value /= size as f32);
        let nodes: Vec<u32> = (0..part.truth.len() as u32).collect();
        score += objective.score(&p, &nodes, &part.truth) / parts.len() as f64;
        loss += cross_entropy(&p, &part.truth) / parts.len() as f64;
    }
    (score, loss)
}

/// The mean over rows of `-ln p` of the true class; NaN without rows.
pub(super) fn cross_entropy(p: &Mat<f32>, truth: &[u32]) -> f64 {
    let term =
        |(i, &class): (usize, &u32)| -libm::log(f64::from(p[(i, class as usize)]).max(FLOOR));
    truth.iter().enumerate().map(term).sum::<f64>() / truth.len() as f64
}

fn zeros_like(m: &Mat<f32>) -> Mat<f32> {
    Mat::zeros(m.rows(), m.cols())
}

fn add(sum: &mut Mat<f32>, m: &Mat<f32>) {
    sum.as_mut_slice().iter_mut().zip(m.as_slice()).for_each(|(sum, value)| *sum += value);
}

/// The weighted mean of predictions, `[n, C]`; panics if there are none.
pub(super) fn weighted_mean<'a>(
    predictions: impl IntoIterator<Item = (f64, &'a Mat<f32>)>,
) -> Mat<f32> {
    let (mut sum, mut total) = (None::<Mat<f64>>, 0.0);
    for (weight, p) in predictions {
        let sum = sum.get_or_insert_with(|| Mat::zeros(p.rows(), p.cols()));
        let entries = sum.as_mut_slice().iter_mut().zip(p.as_slice());
        entries.for_each(|(sum, value)| *sum += weight * f64::from(*value));
        total += weight;
    }
    let mut mean = sum.expect("an ensemble has members");
    mean.as_mut_slice().iter_mut().for_each(|value| *value /= total);
    mean.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Binary predictions, given by the probability of class 1.
    fn binary(p: &[f32]) -> Mat<f32> {
        Mat::from_vec(p.len(), 2, p.iter().flat_map(|p| [1.0 - p, *p]).collect())
    }

    #[test]
    fn complementary_candidates_are_combined() {
        // Each candidate is wrong on one of four nodes, but never confidently; their mean is always right.
        let truth = vec![1, 1, 0, 0];
        let a = binary(&[0.9, 0.45, 0.1, 0.1]);
        let b = binary(&[0.45, 0.9, 0.1, 0.1]);
        let worse = binary(&[0.1, 0.1, 0.9, 0.1]);
        let parts = [ValidationPart { truth, predictions: vec![worse, a, b] }];
        // Step 1: a and b have 3 of 4 and the same cross-entropy, so a; step 2: adding b gives 4 of 4.
        assert_eq!(select(Objective::Accuracy, &parts), [0, 1, 1]);
    }

    #[test]
    fn a_perfect_candidate_stays_alone() {
        let truth = vec![1, 0];
        let parts = [ValidationPart {
            truth,
            predictions: vec![binary(&[0.6, 0.6]), binary(&[0.8, 0.2]), binary(&[0.9, 0.1])],
        }];
        // Both of the others have accuracy 1; the third has the lower cross-entropy.
        assert_eq!(select(Objective::Accuracy, &parts), [0, 0, 1]);
    }

    #[test]
    fn splits_count_equally() {
        // Candidate 0 is right on all three nodes of the first split and wrong on the single one of the
        // second; candidate 1 is right on two of three and on that one: 1/2 against 5/6.
        let first = ValidationPart {
            truth: vec![1, 1, 1],
            predictions: vec![binary(&[0.51, 0.51, 0.51]), binary(&[0.99, 0.99, 0.01])],
        };
        let second =
            ValidationPart { truth: vec![0], predictions: vec![binary(&[0.9]), binary(&[0.1])] };
        let counts = select(Objective::Accuracy, &[first, second]);
        assert!(counts[1] >= 1, "{counts:?}");
    }

    #[test]
    fn weighted_mean_and_cross_entropy_match_hand_computation() {
        let mean = weighted_mean([(3.0, &binary(&[1.0])), (1.0, &binary(&[0.0]))]);
        assert_eq!(mean.as_slice(), [0.25, 0.75]);
        let loss = cross_entropy(&binary(&[0.25, 0.5]), &[1, 0]);
        assert!((loss - (4f64.ln() + 2f64.ln()) / 2.0).abs() < 1e-7);
        assert!(cross_entropy(&binary(&[0.0]), &[1]).is_finite());
    }
}
