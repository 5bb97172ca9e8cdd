//! Classification metrics: functions of the predicted and the true classes.
//!
//! ```text
//! accuracy          = correct nodes / nodes
//! recall_c          = correct nodes of class c / nodes of class c
//! F1_c              = 2 correct_c / (nodes of class c + predictions of class c)
//! balanced accuracy = mean of recall_c over the classes that occur in the truth
//! macro-F1          = mean of F1_c over the classes that occur in the truth or the predictions
//! majority share    = the accuracy of always predicting the most frequent class
//! ```
//!
//! The means ignore classes that neither occur nor are predicted, as in scikit-learn, with whose results
//! the tests compare. Without nodes every metric is NaN, which is `null` in JSON.
//! Functions of predicted and true classes panic if the two differ in length or a class is not below `n_classes`.

/// The fraction of correct predictions.
///
/// ```
/// use clenshaw::train::metrics::{accuracy, balanced_accuracy, majority_share};
/// let (predicted, truth) = ([0, 0, 0, 0], [0, 0, 0, 1]);
/// assert_eq!(accuracy(&predicted, &truth), 0.75);
/// assert_eq!(majority_share(&truth), 0.75); // so the classifier learned nothing
/// assert_eq!(balanced_accuracy(&predicted, &truth, 2), 0.5); // as this metric shows
/// ```
pub fn accuracy(predicted: &[u32], truth: &[u32]) -> f64 {
    assert_same_length(predicted, truth);
    let correct = predicted.iter().zip(truth).filter(|(p, t)| p == t).count();
    correct as f64 / truth.len() as f64
}

/// The confusion matrix: entry `[t][p]` counts nodes of class `t` predicted as class `p`.
///
/// # Shapes
/// [n_classes, n_classes], rows true, columns predicted.
pub fn confusion(predicted: &[u32], truth: &[u32], n_classes: usize) -> Vec<Vec<usize>> {
    assert_same_length(predicted, truth);
    let mut counts = vec![vec![0; n_classes]; n_classes];
    for (&p, &t) in predicted.iter().zip(truth) {
        counts[t as usize][p as usize] += 1;
    }
    counts
}

/// The mean of `F1_c` over the classes that occur in the truth or the predictions.
pub fn macro_f1(predicted: &[u32], truth: &[u32], n_classes: usize) -> f64 {
    let counts = confusion(predicted, truth, n_classes);
    mean((0..n_classes).filter_map(|c| {
        let both = n_true(&counts, c) + n_predicted(&counts, c);
        (both > 0).then(|| 2.0 * counts[c][c] as f64 / both as f64)
    }))
}

/// The mean of `recall_c` over the classes that occur in the truth.
pub fn balanced_accuracy(predicted: &[u32], truth: &[u32], n_classes: usize) -> f64 {
    let counts = confusion(predicted, truth, n_classes);
    mean((0..n_classes).filter_map(|c| {
        let nodes = n_true(&counts, c);
        (nodes > 0).then(|| counts[c][c] as f64 / nodes as f64)
    }))
}

/// The area under the ROC curve: the probability that a node of class 1 has a higher score than one of
/// class 0, ties counting half. NaN if either class is missing.
///
/// ```
/// use clenshaw::train::metrics::roc_auc;
/// assert_eq!(roc_auc(&[0.1, 0.4, 0.35, 0.8], &[0, 0, 1, 1]), 0.75);
/// ```
pub fn roc_auc(scores: &[f64], truth: &[u32]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    // In each group of ties, a one ranks above all zeros below the group and half of the zeros in it.
    let (mut zeros, mut ones, mut won) = (0.0, 0.0, 0.0);
    for group in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let hits = group.iter().filter(|&&i| truth[i] == 1).count() as f64;
        let misses = group.len() as f64 - hits;
        won += hits * (zeros + misses / 2.0);
        (zeros, ones) = (zeros + misses, ones + hits);
    }
    won / (zeros * ones)
}

/// The fraction of nodes in the most frequent class.
pub fn majority_share(truth: &[u32]) -> f64 {
    let n_classes = truth.iter().max().map_or(0, |&c| c as usize + 1);
    let mut counts = vec![0usize; n_classes];
    for &c in truth {
        counts[c as usize] += 1;
    }
    counts.into_iter().max().unwrap_or(0) as f64 / truth.len() as f64
}

/// The number of nodes of a class.
fn n_true(counts: &[Vec<usize>], c: usize) -> usize {
    counts[c].iter().sum()
}

/// The number of nodes predicted as a class.
fn n_predicted(counts: &[Vec<usize>], c: usize) -> usize {
    counts.iter().map(|row| row[c]).sum()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    sum / n as f64
}

fn assert_same_length(predicted: &[u32], truth: &[u32]) {
    let (p, t) = (predicted.len(), truth.len());
    assert_eq!(p, t, "metrics: {p} predictions for {t} nodes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_five_nodes_match_hand_computation() {
        // Class 0: one of two is correct; class 1: two of three; one wrong prediction each.
        let (predicted, truth) = ([0, 1, 1, 1, 0], [0, 0, 1, 1, 1]);
        assert_eq!(confusion(&predicted, &truth, 2), [[1, 1], [1, 2]]);
        assert_eq!(accuracy(&predicted, &truth), 0.6);
        assert_eq!(balanced_accuracy(&predicted, &truth, 2), (1.0 / 2.0 + 2.0 / 3.0) / 2.0);
        assert_eq!(macro_f1(&predicted, &truth, 2), (2.0 / 4.0 + 4.0 / 6.0) / 2.0);
        assert_eq!(majority_share(&truth), 0.6);
    }

    #[test]
    fn absent_classes_are_ignored() {
        // Class 2 is predicted but not true: it has an F1 of 0 and no recall. Class 3 is neither.
        let (predicted, truth) = ([0, 1, 2], [0, 1, 1]);
        assert_eq!(balanced_accuracy(&predicted, &truth, 4), 0.75);
        assert_eq!(macro_f1(&predicted, &truth, 4), (1.0 + 2.0 / 3.0 + 0.0) / 3.0);
    }

    #[test]
    fn roc_auc_agrees_with_counting_pairs() {
        let pairs = |scores: &[f64], truth: &[u32]| {
            let nodes = |class| (0..truth.len()).filter(move |&i| truth[i] == class);
            let won: f64 = nodes(1)
                .flat_map(|i| nodes(0).map(move |j| (i, j)))
                .map(|(i, j)| match scores[i].total_cmp(&scores[j]) {
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                })
                .sum();
            won / (nodes(0).count() * nodes(1).count()) as f64
        };
        let scores = [0.5, 0.2, 0.5, 0.9, 0.1, 0.5, 0.3];
        let truth = [1, 0, 0, 1, 1, 1, 0];
        assert_eq!(roc_auc(&scores, &truth), pairs(&scores, &truth));
        assert_eq!(roc_auc(&[1.0, 1.0], &[0, 1]), 0.5);
        assert!(roc_auc(&[1.0], &[1]).is_nan());
    }

    #[test]
    fn metrics_without_nodes_are_nan() {
        assert!(accuracy(&[], &[]).is_nan() && majority_share(&[]).is_nan());
        assert!(macro_f1(&[], &[], 3).is_nan() && balanced_accuracy(&[], &[], 3).is_nan());
    }

    /// Random predictions, scored by scikit-learn: accuracy_score, f1_score(average="macro") and
    /// balanced_accuracy_score. In the second case two predicted classes never occur.
    #[test]
    fn metrics_agree_with_scikit_learn() {
        let check = |predicted: &[u32], truth: &[u32], n_classes, expected: [f64; 3]| {
            let actual = [
                accuracy(predicted, truth),
                macro_f1(predicted, truth, n_classes),
                balanced_accuracy(predicted, truth, n_classes),
            ];
            let close = actual.iter().zip(&expected).all(|(a, e)| (a - e).abs() < 1e-15);
            assert!(close, "{actual:?} instead of {expected:?}");
        };
        check(
            &[0, 0, 1, 1, 1, 0, 0, 0, 0, 2, 1, 1],
            &[2, 1, 1, 0, 0, 0, 0, 0, 0, 2, 1, 2],
            3,
            [0.5833333333333334, 0.5555555555555555, 0.5555555555555555],
        );
        check(
            &[3, 1, 2, 0, 4, 2, 4, 2, 3, 2, 2, 0, 2, 2, 2, 0, 4, 0, 3, 2],
            &[0, 1, 2, 1, 1, 2, 2, 2, 1, 2, 2, 1, 2, 2, 2, 1, 2, 0, 1, 2],
            5,
            [0.55, 0.2966666666666667, 0.48701298701298706],
        );
        check(
            &[3, 3, 3, 2, 0, 0, 2, 3, 3, 1, 3, 3, 2, 0, 3],
            &[3, 1, 3, 2, 3, 0, 3, 3, 0, 1, 2, 0, 2, 2, 3],
            4,
            [0.5333333333333333, 0.5357142857142857, 0.5],
        );
    }
}
