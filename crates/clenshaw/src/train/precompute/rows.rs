//! Rows of the terms of a filter in memory.

use super::TermShape;
use std::ops::Range;

/// The rows of some nodes, `[nodes, matrices, F]`.
pub(in crate::train) struct TermRows {
    shape: TermShape,
    /// The nodes, ascending; `None` for all nodes.
    nodes: Option<Vec<u32>>,
    values: Vec<f32>,
}

impl TermRows {
    /// The rows of all nodes, zero. The memory is not touched before it is written.
    pub fn all(shape: TermShape) -> Self {
        Self::new(shape, None, shape.n_nodes)
    }

    /// The rows of these nodes, which ascend, zero.
    pub fn of(shape: TermShape, nodes: Vec<u32>) -> Self {
        let n_rows = nodes.len();
        Self::new(shape, Some(nodes), n_rows)
    }

    fn new(shape: TermShape, nodes: Option<Vec<u32>>, n_rows: usize) -> Self {
        let values = vec![0.0; n_rows * shape.n_matrices * shape.n_features];
        Self { shape, nodes, values }
    }

    /// Sets a block of columns of a matrix, `[n, w]`, for all nodes.
    pub fn set_columns(&mut self, matrix: usize, columns: &Range<usize>, block: &[f32]) {
        let TermShape { n_features, n_matrices, .. } = self.shape;
        let start = matrix * n_features + columns.start;
        let rows = self.values.chunks_mut(n_matrices * n_features);
        for (row, block) in rows.zip(block.chunks(columns.len())) {
            row[start..start + columns.len()].copy_from_slice(block);
        }
    }

    /// Sets consecutive rows of a matrix, `[rows, F]`, from the row with this index on.
    pub fn set_rows(&mut self, matrix: usize, first: usize, rows: &[f32]) {
        let width = self.shape.n_features;
        for (i, row) in rows.chunks(width).enumerate() {
            let start = self.start(first + i, matrix);
            self.values[start..start + width].copy_from_slice(row);
        }
    }

    /// Copies the rows of these nodes to `out`, `[nodes, F]`.
    ///
    /// # Panics
    /// If there is no row of one of the nodes.
    pub fn read(&self, matrix: usize, nodes: &[u32], out: &mut [f32]) {
        let width = self.shape.n_features;
        for (node, out) in nodes.iter().zip(out.chunks_mut(width)) {
            let index = match &self.nodes {
                None => *node as usize,
                Some(known) => known.binary_search(node).expect("the copy contains this node"),
            };
            let start = self.start(index, matrix);
            out.copy_from_slice(&self.values[start..start + width]);
        }
    }

    /// Where row `index` of a matrix starts.
    fn start(&self, index: usize, matrix: usize) -> usize {
        (index * self.shape.n_matrices + matrix) * self.shape.n_features
    }
}
