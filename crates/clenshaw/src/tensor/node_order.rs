//! The order in which the nodes of a graph are stored in memory.
//!
//! A plan may store the rows of dense node matrices in an order other than that of the node numbers, so that
//! rows that are read together are close to each other. The order is internal to the plan: inputs are reordered
//! when it is compiled, outputs are returned by node number, and dropout does not depend on the order.

use super::sparse::Pattern;

/// A permutation of the nodes: node `nodes[r]` is stored in row `r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOrder {
    /// The node in each row.
    nodes: Vec<u32>,
    /// The row of each node.
    rows: Vec<u32>,
}

impl NodeOrder {
    /// The order in which `nodes[r]` is stored in row `r`; `None` unless `nodes` contains each number below its
    /// length exactly once.
    ///
    /// ```
    /// use clenshaw::tensor::NodeOrder;
    /// let order = NodeOrder::new(vec![2, 0, 1]).unwrap();
    /// assert_eq!(order.rows(), [1, 2, 0]);
    /// assert_eq!(NodeOrder::new(vec![0, 2, 2]), None);
    /// ```
    pub fn new(nodes: Vec<u32>) -> Option<Self> {
        let mut rows = vec![u32::MAX; nodes.len()];
        for (row, &node) in nodes.iter().enumerate() {
            let slot = rows.get_mut(node as usize)?;
            if *slot != u32::MAX {
                return None;
            }
            *slot = u32::try_from(row).ok()?;
        }
        Some(Self { nodes, rows })
    }

    /// The node in each row.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The row of each node.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Reorders a matrix with one row of `cols` numbers per node from node numbers to this order.
    pub(crate) fn reorder_rows<T: Copy>(&self, cols: usize, numbers: &[T]) -> Vec<T> {
        let row = |&node: &u32| &numbers[node as usize * cols..(node as usize + 1) * cols];
        self.nodes.iter().flat_map(row).copied().collect()
    }

    /// Reorders the rows and columns of a symmetric pattern. Also returns, for each entry of the result, the
    /// index in `pattern` of its mirror image, the entry between the same two nodes in the other direction.
    pub(crate) fn reorder_pattern(&self, pattern: &Pattern) -> (Pattern, Vec<u32>) {
        let mut offsets = Vec::with_capacity(self.n_nodes() + 1);
        offsets.push(0);
        for &node in &self.nodes {
            offsets.push(offsets[offsets.len() - 1] + pattern.row(node as usize).len());
        }
        let mut next = offsets.clone();
        let mut indices = vec![0; pattern.n_entries()];
        let mut mirrored = vec![0; pattern.n_entries()];
        // Entries are appended to the row of their column, so that the columns of every row ascend.
        for (row, &node) in self.nodes.iter().enumerate() {
            let start = pattern.offsets()[node as usize];
            for (e, &j) in pattern.row(node as usize).iter().enumerate() {
                let position = &mut next[self.rows[j as usize] as usize];
                indices[*position] = row as u32;
                mirrored[*position] = (start + e) as u32;
                *position += 1;
            }
        }
        (Pattern::new(pattern.n_cols(), offsets, indices), mirrored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reordered_patterns_have_the_same_entries() {
        // The path 0-1-2 with a loop at 0, stored in the order 2, 0, 1.
        let pattern = Pattern::new(3, vec![0, 2, 4, 5], vec![0, 1, 0, 2, 1]);
        let order = NodeOrder::new(vec![2, 0, 1]).unwrap();
        let (reordered, mirrored) = order.reorder_pattern(&pattern);
        assert_eq!(reordered, Pattern::new(3, vec![0, 1, 3, 5], vec![2, 1, 2, 0, 1]));
        // Entry 0 is (2, 1); its mirror image (1, 2) is entry 3 of the pattern.
        assert_eq!(mirrored, [3, 0, 2, 4, 1]);
        assert_eq!(order.reorder_rows(2, &[1, 2, 3, 4, 5, 6]), [5, 6, 1, 2, 3, 4]);
    }
}
