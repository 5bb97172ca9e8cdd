//! Symmetric operators on node signals.
//!
//! The backward pass assumes `P^T = P`; the public constructor checks it, and all fields are private.

use super::Mat;
use super::node_order::NodeOrder;
use super::shared_sums::SharedSums;
use super::sparse::Pattern;
use std::sync::{Arc, OnceLock};

/// A symmetric operator on node signals, `P = diag(scale) A diag(scale)`.
///
/// The normalised adjacency of a graph without weights needs no value per entry in this form, which
/// reduces the memory traffic of a product.
#[derive(Clone, Debug)]
pub struct Operator {
    pattern: Arc<Pattern>,
    /// The entries of A; `None` means that all of them are 1.
    values: Option<Arc<Vec<f64>>>,
    scale: Arc<Vec<f64>>,
    order: Option<Arc<NodeOrder>>,
    /// The result of [`Operator::layout`], prepared when it is first needed; shared by clones.
    layout: Arc<OnceLock<Arc<OperatorLayout>>>,
}

/// An operator in the form in which a plan executes products with it.
#[derive(Debug)]
pub(crate) struct OperatorLayout {
    /// The positions of the entries, in the order of the rows in memory.
    pub pattern: Arc<Pattern>,
    /// The entries of A; `None` means that all of them are 1.
    pub values: Option<Arc<Vec<f64>>>,
    /// The scale factor of each row in memory.
    pub scale: Arc<Vec<f64>>,
    /// Sums that several rows share, if they save enough work.
    pub shared: Option<SharedSums>,
}

impl Operator {
    /// The operator whose A is 1 at every position of the pattern, with a scale factor per node, such as `d^-1/2`.
    ///
    /// # Panics
    /// If the pattern is not square or not symmetric, or if there is not one factor per node.
    pub fn new(pattern: Arc<Pattern>, scale: Vec<f64>) -> Self {
        let operator = Self::from_square(pattern, scale);
        if let Some((i, j)) = operator.pattern.unpaired_entry() {
            panic!("operator: entry ({i}, {j}) without entry ({j}, {i}); expected symmetry");
        }
        operator
    }

    /// [`Operator::new`] for a pattern that is symmetric by construction.
    ///
    /// The symmetry is checked in debug builds only, because a graph's adjacency is checked when the graph is
    /// built.
    pub(crate) fn from_symmetric(pattern: Arc<Pattern>, scale: Vec<f64>) -> Self {
        let operator = Self::from_square(pattern, scale);
        debug_assert_eq!(operator.pattern.unpaired_entry(), None, "operator: expected symmetry");
        operator
    }

    /// [`Operator::from_symmetric`] with a value per entry of the pattern; the values must be symmetric, which is
    /// not checked.
    pub(crate) fn weighted(pattern: Arc<Pattern>, values: Vec<f64>, scale: Vec<f64>) -> Self {
        assert_eq!(values.len(), pattern.n_entries(), "operator: expected one value per entry");
        let operator = Self::from_symmetric(pattern, scale);
        Self { values: Some(Arc::new(values)), ..operator }
    }

    /// [`Operator::new`] without the check for symmetry.
    pub(super) fn from_square(pattern: Arc<Pattern>, scale: Vec<f64>) -> Self {
        let (n, n_cols) = (pattern.n_rows(), pattern.n_cols());
        assert_eq!(n, n_cols, "operator: {n} rows and {n_cols} columns; expected a square pattern");
        assert_eq!(scale.len(), n, "operator: expected one scale factor for each of {n} nodes");
        let (scale, layout) = (Arc::new(scale), Arc::default());
        Self { pattern, values: None, scale, order: None, layout }
    }

    /// The same operator, with an order in which plans may store the rows of nodes.
    ///
    /// # Panics
    /// If the order has a different number of nodes.
    pub fn with_order(self, order: Arc<NodeOrder>) -> Self {
        let (n, expected) = (order.n_nodes(), self.n_nodes());
        assert_eq!(n, expected, "operator: an order of {n} nodes; expected {expected}");
        Self { order: Some(order), layout: Arc::default(), ..self }
    }

    /// The order in which plans may store the rows of nodes; `None` for the order of their numbers.
    pub fn order(&self) -> Option<&Arc<NodeOrder>> {
        self.order.as_ref()
    }

    /// The operator in its [`Operator::order`] and, if they save enough work, with shared sums.
    pub(crate) fn layout(&self) -> Arc<OperatorLayout> {
        let prepare = || {
            let mut layout = self.plain_layout();
            if let Some(order) = &self.order {
                let (pattern, mirrored) = order.reorder_pattern(&self.pattern);
                let mirror = |values: &Arc<Vec<f64>>| {
                    Arc::new(mirrored.iter().map(|&e| values[e as usize]).collect())
                };
                layout.values = self.values.as_ref().map(mirror);
                layout.scale = Arc::new(order.reorder_rows(1, &self.scale));
                layout.pattern = Arc::new(pattern);
            }
            if layout.values.is_none() {
                layout.shared = SharedSums::new(&layout.pattern);
            }
            Arc::new(layout)
        };
        Arc::clone(self.layout.get_or_init(prepare))
    }

    /// The operator in the order of the node numbers, without shared sums.
    pub(crate) fn plain_layout(&self) -> OperatorLayout {
        let (pattern, values) = (Arc::clone(&self.pattern), self.values.clone());
        OperatorLayout { pattern, values, scale: Arc::clone(&self.scale), shared: None }
    }

    /// The positions of the entries; symmetric.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The entries of A in the order of the pattern; `None` means that all of them are 1.
    pub fn values(&self) -> Option<&[f64]> {
        self.values.as_ref().map(|values| values.as_slice())
    }

    /// The scale factor of each node.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// The operator with only the entries `P_ij` for which both `i` and `j` are among `nodes`; node `nodes[k]`
    /// becomes node `k`. The result has no [`Operator::order`].
    ///
    /// # Panics
    /// If `nodes` does not ascend strictly, or if one of them is out of range.
    pub fn restricted_to(&self, nodes: &[u32]) -> Self {
        assert!(nodes.is_sorted_by(|a, b| a < b), "operator: expected ascending nodes");
        let position = |j: u32| nodes.binary_search(&j).ok().map(|position| position as u32);
        let (pattern, kept) = self.pattern.select(nodes, nodes.len(), position);
        let scale = nodes.iter().map(|&i| self.scale[i as usize]).collect();
        let operator = Self::from_symmetric(Arc::new(pattern), scale);
        let values = self.values().map(|values| kept.iter().map(|&e| values[e]).collect());
        Self { values: values.map(Arc::new), ..operator }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.pattern.n_rows()
    }

    /// `P x`, computed by plain loops on one thread; slow for large matrices.
    ///
    /// # Panics
    /// If `x` does not have one row per node.
    pub fn apply(&self, x: &Mat<f64>) -> Mat<f64> {
        assert_eq!(x.rows(), self.n_nodes(), "operator: expected a matrix with one row per node");
        let mut out = Mat::zeros(x.rows(), x.cols());
        for i in 0..x.rows() {
            let entries = self.pattern.offsets()[i]..self.pattern.offsets()[i + 1];
            for (e, &j) in entries.zip(self.pattern.row(i)) {
                let value = self.values().map_or(1.0, |values| values[e]);
                let w = self.scale[i] * value * self.scale[j as usize];
                for c in 0..x.cols() {
                    out[(i, c)] += w * x[(j as usize, c)];
                }
            }
        }
        out
    }

    /// The operator as a dense matrix.
    pub fn to_dense(&self) -> Mat<f64> {
        self.apply(&Mat::identity(self.n_nodes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::assert_panics;

    #[test]
    fn invalid_operators_are_rejected() {
        let operator = |n_cols, offsets: &[usize], indices: &[u32], n_scales| {
            let pattern = Pattern::new(n_cols, offsets.to_vec(), indices.to_vec());
            Operator::new(Arc::new(pattern), vec![1.0; n_scales]);
        };
        assert_panics(&[
            ("operator: entry (0, 1) without entry (1, 0)", &|| operator(2, &[0, 1, 1], &[1], 2)),
            ("operator: 2 rows and 3 columns", &|| operator(3, &[0, 1, 2], &[0, 1], 2)),
            ("operator: expected one scale factor for each of 2 nodes", &|| {
                operator(2, &[0, 1, 2], &[1, 0], 1);
            }),
            ("operator: an order of 1 nodes; expected 2", &|| {
                let path = Pattern::new(2, vec![0, 1, 2], vec![1, 0]);
                let order = NodeOrder::new(vec![0]).unwrap();
                Operator::new(Arc::new(path), vec![1.0; 2]).with_order(Arc::new(order));
            }),
            ("operator: expected ascending nodes", &|| {
                let path = Pattern::new(2, vec![0, 1, 2], vec![1, 0]);
                Operator::new(Arc::new(path), vec![1.0; 2]).restricted_to(&[1, 0]);
            }),
        ]);
    }
}
