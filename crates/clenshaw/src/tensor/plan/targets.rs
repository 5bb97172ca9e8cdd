//! The function of the scores that a training step differentiates, usually a loss.

use crate::tensor::{Mat, Real};
use std::collections::BTreeMap;

/// The function of the scores that is differentiated: a loss with a weight per node, which may be zero, or a
/// linear combination of the scores of one node.
#[derive(Clone, Debug)]
pub struct Targets<T> {
    pub(super) kind: TargetKind<T>,
    pub(super) weights: Vec<T>,
}

/// The kind of the function, and its numbers other than the weights.
#[derive(Clone, Debug)]
pub(super) enum TargetKind<T> {
    /// A class per node, below `n_classes`, for the cross-entropy.
    Classes { labels: Vec<u32>, n_classes: usize },
    /// A row of `cols` numbers per node, for the squared error.
    Values { values: Vec<T>, cols: usize },
    /// A coefficient per column, for a linear combination of scores.
    Combination { coefficients: Vec<T> },
}

impl<T: Real> Targets<T> {
    /// The mean cross-entropy over `nodes`; `label` is called for these nodes only.
    ///
    /// # Panics
    /// If a node is repeated or not below `n_nodes`.
    pub fn cross_entropy(n_nodes: usize, nodes: &[u32], label: impl Fn(u32) -> u32) -> Self {
        let (mut labels, mut weights) = (vec![0; n_nodes], vec![T::ZERO; n_nodes]);
        let mut n_classes = 0;
        for &i in nodes {
            assert!((i as usize) < n_nodes, "targets: node {i}, but there are {n_nodes} nodes");
            assert!(weights[i as usize] == T::ZERO, "targets: node {i} is repeated");
            labels[i as usize] = label(i);
            weights[i as usize] = T::from_f64(1.0 / nodes.len() as f64);
            n_classes = n_classes.max(labels[i as usize] as usize + 1);
        }
        Self { kind: TargetKind::Classes { labels, n_classes }, weights }
    }

    /// The cross-entropy, averaged over the given nodes of each class and then over these classes.
    ///
    /// # Panics
    /// If a node is repeated or not below `n_nodes`.
    pub fn balanced_cross_entropy(
        n_nodes: usize,
        nodes: &[u32],
        label: impl Fn(u32) -> u32,
    ) -> Self {
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        nodes.iter().for_each(|&i| *sizes.entry(label(i)).or_default() += 1);
        let mut targets = Self::cross_entropy(n_nodes, nodes, &label);
        for &i in nodes {
            let weight = 1.0 / (sizes.len() * sizes[&label(i)]) as f64;
            targets.weights[i as usize] = T::from_f64(weight);
        }
        targets
    }

    /// Multiplies the weight of every node by a factor, then scales all weights so that their sum is
    /// unchanged.
    ///
    /// # Panics
    /// If there is not one factor per node, or the new weights do not have a positive sum.
    pub fn reweight(&mut self, factors: &[f64]) {
        assert_eq!(factors.len(), self.weights.len(), "reweight: one factor per node");
        let before = self.total_weight();
        // In f64, because very small or large factors would leave the range of f32.
        let products: Vec<f64> =
            self.weights.iter().zip(factors).map(|(w, factor)| w.to_f64() * factor).collect();
        let after: f64 = products.iter().sum();
        assert!(after > 0.0, "reweight: the sum of the weights is {after}; expected more than 0");
        for (weight, product) in self.weights.iter_mut().zip(products) {
            *weight = T::from_f64(product / after * before);
        }
    }

    /// The targets of some nodes, in this order, for scores of `n_rows` rows; further rows have no weight.
    ///
    /// # Panics
    /// If there are more nodes than rows, or a node is out of range.
    pub(crate) fn select(&self, nodes: &[u32], n_rows: usize) -> Self {
        assert!(nodes.len() <= n_rows, "select: {} nodes for {n_rows} rows", nodes.len());
        let mut weights: Vec<T> = nodes.iter().map(|&i| self.weights[i as usize]).collect();
        weights.resize(n_rows, T::ZERO);
        let kind = match &self.kind {
            TargetKind::Classes { labels, n_classes } => {
                let mut labels: Vec<u32> = nodes.iter().map(|&i| labels[i as usize]).collect();
                labels.resize(n_rows, 0);
                TargetKind::Classes { labels, n_classes: *n_classes }
            }
            TargetKind::Values { values, cols } => {
                let row = |&i: &u32| &values[i as usize * cols..(i as usize + 1) * cols];
                let mut values: Vec<T> = nodes.iter().flat_map(row).copied().collect();
                values.resize(n_rows * cols, T::ZERO);
                TargetKind::Values { values, cols: *cols }
            }
            combination @ TargetKind::Combination { .. } => combination.clone(),
        };
        Self { kind, weights }
    }

    /// The sum of the weights.
    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.iter().map(|w| w.to_f64()).sum()
    }

    /// Multiplies all weights by a factor.
    pub(crate) fn scale_weights(&mut self, factor: f64) {
        self.weights.iter_mut().for_each(|w| *w = T::from_f64(w.to_f64() * factor));
    }

    /// `sum_i w_i |z_i - y_i|^2` for a row `y_i` of values and a weight `w_i` per node.
    ///
    /// # Panics
    /// If there is not one weight per row of values.
    pub fn squared_error(values: &Mat<f64>, weights: &[f64]) -> Self {
        assert_eq!(values.rows(), weights.len(), "targets: expected one weight per row of values");
        let kind = TargetKind::Values { values: cast(values.as_slice()), cols: values.cols() };
        Self { kind, weights: cast(weights) }
    }

    /// `sum_c a_c z_ic`, a combination of the scores of one node with these coefficients `a`. It is not a loss
    /// to minimise: its gradient shows what the scores of the node depend on.
    ///
    /// # Panics
    /// If the node is not below `n_nodes`.
    pub fn combination(n_nodes: usize, node: usize, coefficients: &[f64]) -> Self {
        assert!(node < n_nodes, "targets: node {node}, but there are {n_nodes} nodes");
        let mut weights = vec![T::ZERO; n_nodes];
        weights[node] = T::ONE;
        Self { kind: TargetKind::Combination { coefficients: cast(coefficients) }, weights }
    }

    /// Panics unless the targets fit scores of this shape.
    pub(super) fn check(&self, (n_nodes, n_cols): (usize, usize)) {
        let n = self.weights.len();
        assert_eq!(n, n_nodes, "targets: {n} nodes, but the plan has {n_nodes}");
        match self.kind {
            TargetKind::Classes { n_classes, .. } => {
                let last = n_classes.saturating_sub(1);
                assert!(
                    n_classes <= n_cols,
                    "targets: class {last}, but the plan has {n_cols} classes"
                );
            }
            TargetKind::Values { cols, .. } => {
                assert_eq!(
                    cols, n_cols,
                    "targets: {cols} values per node, but the plan has {n_cols}"
                );
            }
            TargetKind::Combination { ref coefficients } => {
                let n = coefficients.len();
                assert_eq!(
                    n, n_cols,
                    "targets: {n} coefficients, but the plan has {n_cols} columns"
                );
            }
        }
    }
}

/// Converts the numbers to the precision `T`.
pub(super) fn cast<T: Real>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|v| T::from_f64(*v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::assert_panics;

    #[test]
    fn repeated_nodes_are_rejected() {
        let targets = || _ = Targets::<f64>::cross_entropy(3, &[1, 0, 1], |_| 0);
        let balanced = || _ = Targets::<f64>::balanced_cross_entropy(3, &[1, 0, 1], |_| 0);
        assert_panics(&[
            ("targets: node 1 is repeated", &targets),
            ("targets: node 1 is repeated", &balanced),
        ]);
    }

    #[test]
    fn reweighted_targets_keep_the_sum_of_the_weights() {
        let mut targets = Targets::<f64>::cross_entropy(3, &[0, 1], |_| 0);
        targets.reweight(&[1.0, 3.0, 5.0]);
        assert_eq!(targets.weights, [0.25, 0.75, 0.0]);
    }

    #[test]
    fn selected_targets_are_padded_with_rows_without_weight() {
        let mut targets =
            Targets::<f64>::cross_entropy(4, &[0, 1, 3], |i| i + 5).select(&[3, 2, 1], 4);
        assert_eq!(targets.weights, [1.0 / 3.0, 0.0, 1.0 / 3.0, 0.0]);
        let TargetKind::Classes { labels, n_classes } = &targets.kind else { panic!() };
        assert_eq!((&labels[..], *n_classes), (&[8, 0, 6, 0][..], 9));
        targets.scale_weights(1.5);
        assert_eq!(targets.total_weight(), 1.0);
        let values = Mat::from_vec(3, 2, (0..6).map(f64::from).collect());
        let targets = Targets::<f64>::squared_error(&values, &[1.0, 2.0, 3.0]).select(&[2], 2);
        let TargetKind::Values { values, .. } = &targets.kind else { panic!() };
        assert_eq!(
            (&values[..], &targets.weights[..]),
            (&[4.0, 5.0, 0.0, 0.0][..], &[3.0, 0.0][..])
        );
    }

    #[test]
    fn only_the_ratios_of_the_factors_matter() {
        for scale in [1e-60, 1.0, 1e60] {
            let mut targets = Targets::<f32>::cross_entropy(3, &[0, 1], |_| 0);
            targets.reweight(&[scale, 3.0 * scale, 5.0 * scale]);
            assert_eq!(targets.weights, [0.25, 0.75, 0.0], "{scale}");
        }
    }

    #[test]
    fn balanced_targets_give_every_class_the_same_weight() {
        let labels = [0, 1, 1, 1, 9];
        let targets =
            Targets::<f64>::balanced_cross_entropy(5, &[0, 1, 2, 3], |i| labels[i as usize]);
        assert_eq!(targets.weights, [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.0]);
    }
}
