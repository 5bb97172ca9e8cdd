//! The normalised adjacency operators.
//!
//! ```text
//! P  = D^-1/2 A D^-1/2                            no loops; an isolated node's row is 0
//! P~ = (D+I)^-1/2 (A+I) (D+I)^-1/2                one loop a node
//! ```
//!
//! Both are symmetric with spectrum in [-1, 1]; `L = I - P` and `L^ = -P` follow from them.

use super::Graph;
use crate::tensor::{Operator, Pattern};
use std::sync::Arc;

/// Which normalised adjacency a model propagates with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// P: without self-loops.
    Plain,
    /// P~: with one self-loop on every node.
    Looped,
}

/// P or P~ of a graph.
pub fn operator(graph: &Graph, kind: Normalisation) -> Operator {
    match kind {
        Normalisation::Plain => symmetric(graph.adjacency().clone()),
        Normalisation::Looped => symmetric(Arc::new(with_loops(graph.adjacency()))),
    }
}

/// `D^-1/2 pattern D^-1/2`, with `d^-1/2 := 0` for an empty row.
fn symmetric(pattern: Arc<Pattern>) -> Operator {
    let inverse_root = |i| match pattern.row(i).len() {
        0 => 0.0,
        degree => 1.0 / (degree as f64).sqrt(),
    };
    let scale = (0..pattern.n_rows()).map(inverse_root).collect();
    Operator { pattern, scale: Arc::new(scale) }
}

/// A + I.
fn with_loops(adjacency: &Pattern) -> Pattern {
    let n = adjacency.n_rows();
    let mut offsets = Vec::with_capacity(n + 1);
    let mut indices = Vec::with_capacity(adjacency.n_entries() + n);
    offsets.push(0);
    for i in 0..n {
        let row = adjacency.row(i);
        let below = row.partition_point(|&j| (j as usize) < i);
        indices.extend_from_slice(&row[..below]);
        indices.push(i as u32);
        indices.extend_from_slice(&row[below..]);
        offsets.push(indices.len());
    }
    Pattern::new(n, offsets, indices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Mat;

    fn path_and_a_lonely_node() -> Graph {
        Graph::from_edges("test", 4, &[(0, 1), (1, 2)]).unwrap()
    }

    #[test]
    fn plain_leaves_the_isolated_node_at_zero() {
        let p = operator(&path_and_a_lonely_node(), Normalisation::Plain).to_dense();
        let h = 1.0 / 2f64.sqrt();
        let expected = [0., h, 0., 0., h, 0., h, 0., 0., h, 0., 0., 0., 0., 0., 0.];
        assert_close(&p, &expected);
    }

    #[test]
    fn looped_gives_the_isolated_node_a_one() {
        let p = operator(&path_and_a_lonely_node(), Normalisation::Looped).to_dense();
        let s = 1.0 / 6f64.sqrt();
        let third = 1.0 / 3.0;
        let expected = [0.5, s, 0., 0., s, third, s, 0., 0., s, 0.5, 0., 0., 0., 0., 1.];
        assert_close(&p, &expected);
    }

    fn assert_close(actual: &Mat<f64>, expected: &[f64]) {
        for (a, e) in actual.as_slice().iter().zip(expected) {
            assert!((a - e).abs() < 1e-15, "{actual:?}");
        }
    }
}
