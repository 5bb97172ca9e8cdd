//! The normalised adjacency operators.
//!
//! ```text
//! P  = D^-1/2 A D^-1/2                            no self-loops; the row of an isolated node is 0
//! P~ = (D+I)^-1/2 (A+I) (D+I)^-1/2                one self-loop per node
//! ```
//!
//! With edge weights, A has these weights, D is the diagonal matrix of its row sums, and self-loops have
//! weight 1. Both are symmetric with spectrum in [-1, 1]. The Laplacian is `L = I - P`, and the scaled
//! Laplacian is `L^ = L - I = -P`.
//! H2GCN also uses the graph of nodes at distance exactly two, normalised like P.

use super::Graph;
use crate::error::{Error, Result};
use crate::memory;
use crate::tensor::{Operator, Pattern};
use std::sync::Arc;

/// The normalised adjacency that a model propagates with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// P: without self-loops.
    Plain,
    /// P~: with one self-loop on every node.
    Looped,
    /// P of the graph whose edges join nodes at distance exactly two.
    TwoHop,
}

impl Normalisation {
    /// The largest distance in the graph between nodes that the operator connects.
    pub fn radius(self) -> usize {
        match self {
            Self::Plain | Self::Looped => 1,
            Self::TwoHop => 2,
        }
    }
}

/// The operator of a graph; panics if [`try_operator`] returns an error.
pub fn operator(graph: &Graph, kind: Normalisation) -> Operator {
    try_operator(graph, kind).unwrap_or_else(|error| panic!("operator: {error}"))
}

/// The operator of a graph with this normalisation, which stores rows in the graph's [`Graph::node_order`].
/// [`Normalisation::TwoHop`] ignores edge weights. The graph caches its operators.
///
/// # Errors
/// [`Error::OutOfMemory`] for [`Normalisation::TwoHop`] if too many pairs of nodes are at distance two, as in
/// a graph with a node of very high degree.
pub fn try_operator(graph: &Graph, kind: Normalisation) -> Result<Operator> {
    let kept = &graph.derived.operators[kind as usize];
    if let Some(operator) = kept.get() {
        return Ok(operator.clone());
    }
    let operator = build_operator(graph, kind)?;
    let operator = match graph.node_order() {
        Some(order) => operator.with_order(Arc::clone(order)),
        None => operator,
    };
    Ok(kept.get_or_init(|| operator).clone())
}

/// [`try_operator`] without the node order, which takes time and memory to find. The result is not kept.
///
/// # Errors
/// As [`try_operator`].
pub(crate) fn unordered_operator(graph: &Graph, kind: Normalisation) -> Result<Operator> {
    let kept = graph.derived.operators[kind as usize].get();
    kept.map_or_else(|| build_operator(graph, kind), |operator| Ok(operator.clone()))
}

/// [`try_operator`] without the cache and the node order.
fn build_operator(graph: &Graph, kind: Normalisation) -> Result<Operator> {
    let weights = graph.weights().map(|weights| weights.iter().map(|&w| f64::from(w)).collect());
    Ok(match kind {
        Normalisation::Plain => normalise(graph.adjacency().clone(), weights),
        Normalisation::Looped => {
            let (pattern, weights) = with_loops(graph.adjacency(), weights);
            normalise(Arc::new(pattern), weights)
        }
        Normalisation::TwoHop => {
            let available = memory::available();
            let max_entries = available.map_or(u64::MAX, |known| known.bytes / TWO_HOP_BYTES);
            let max_entries = max_entries.min(u64::from(u32::MAX)) as usize;
            let pattern = two_hops(graph.adjacency(), max_entries).map_err(|n_entries| {
                Error::OutOfMemory {
                    what: "the graph of nodes at distance two".into(),
                    needed: n_entries as u64 * TWO_HOP_BYTES,
                    available: available.map(|known| known.bytes),
                    limit: available.map_or("at most 2^32 edges", |known| known.limit.name()),
                    advice: "choose a model other than h2gcn, or remove nodes of very high degree"
                        .into(),
                }
            })?;
            normalise(Arc::new(pattern), None)
        }
    })
}

/// Bytes per entry while the pattern of [`Normalisation::TwoHop`] is built: the list of columns, which grows
/// by doubling, and the transposed pattern.
const TWO_HOP_BYTES: u64 = 16;

/// The pattern of the pairs of nodes at distance exactly two. If it has more than `max_entries` entries, the
/// error is their number, extrapolated from the rows so far.
fn two_hops(adjacency: &Pattern, max_entries: usize) -> std::result::Result<Pattern, usize> {
    let n = adjacency.n_rows();
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    let mut seen = vec![usize::MAX; n];
    for i in 0..n {
        seen[i] = i;
        adjacency.row(i).iter().for_each(|&j| seen[j as usize] = i);
        let start = indices.len();
        for &j in adjacency.row(i) {
            for &k in adjacency.row(j as usize) {
                if std::mem::replace(&mut seen[k as usize], i) != i {
                    indices.push(k);
                }
            }
        }
        if indices.len() > max_entries {
            return Err((indices.len() as f64 / (i + 1) as f64 * n as f64) as usize);
        }
        indices[start..].sort_unstable();
        offsets.push(indices.len());
    }
    Ok(Pattern::new(n, offsets, indices))
}

/// `D^-1/2 A D^-1/2`, with `d^-1/2 := 0` for an empty row; without weights, all entries of A are 1.
fn normalise(pattern: Arc<Pattern>, weights: Option<Vec<f64>>) -> Operator {
    let degree = |i: usize| match &weights {
        None => pattern.row(i).len() as f64,
        Some(weights) => weights[pattern.offsets()[i]..pattern.offsets()[i + 1]].iter().sum(),
    };
    let inverse_root = |i| match degree(i) {
        0.0 => 0.0,
        degree => 1.0 / degree.sqrt(),
    };
    let scale = (0..pattern.n_rows()).map(inverse_root).collect();
    match weights {
        None => Operator::from_symmetric(pattern, scale),
        Some(weights) => Operator::weighted(pattern, weights, scale),
    }
}

/// The pattern and the weights of A + I.
fn with_loops(adjacency: &Pattern, weights: Option<Vec<f64>>) -> (Pattern, Option<Vec<f64>>) {
    let n = adjacency.n_rows();
    let mut offsets = Vec::with_capacity(n + 1);
    let mut indices = Vec::with_capacity(adjacency.n_entries() + n);
    let mut looped = vec![];
    offsets.push(0);
    for i in 0..n {
        let row = adjacency.row(i);
        let below = row.partition_point(|&j| (j as usize) < i);
        indices.extend_from_slice(&row[..below]);
        indices.push(i as u32);
        indices.extend_from_slice(&row[below..]);
        offsets.push(indices.len());
        if let Some(weights) = &weights {
            let weights = &weights[adjacency.offsets()[i]..adjacency.offsets()[i + 1]];
            looped.extend_from_slice(&weights[..below]);
            looped.push(1.0);
            looped.extend_from_slice(&weights[below..]);
        }
    }
    (Pattern::new(n, offsets, indices), weights.map(|_| looped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Mat;

    fn path_and_isolated_node() -> Graph {
        Graph::from_edges("test", 4, &[(0, 1), (1, 2)]).unwrap()
    }

    #[test]
    fn isolated_node_has_a_zero_row_in_p() {
        let p = operator(&path_and_isolated_node(), Normalisation::Plain).to_dense();
        let h = 1.0 / 2f64.sqrt();
        let expected = [0., h, 0., 0., h, 0., h, 0., 0., h, 0., 0., 0., 0., 0., 0.];
        assert_close(&p, &expected);
    }

    #[test]
    fn isolated_node_has_a_one_in_p_looped() {
        let p = operator(&path_and_isolated_node(), Normalisation::Looped).to_dense();
        let s = 1.0 / 6f64.sqrt();
        let third = 1.0 / 3.0;
        let expected = [0.5, s, 0., 0., s, third, s, 0., 0., s, 0.5, 0., 0., 0., 0., 1.];
        assert_close(&p, &expected);
    }

    #[test]
    fn too_many_pairs_at_distance_two_are_reported() {
        // All 99 leaves of a star have distance two from each other.
        let edges: Vec<(u32, u32)> = (1..100).map(|leaf| (0, leaf)).collect();
        let star = Graph::from_edges("star", 100, &edges).unwrap();
        let pattern = two_hops(star.adjacency(), 99 * 98).unwrap();
        assert_eq!(pattern.n_entries(), 99 * 98);
        // Row 0 is empty and rows 1 to 11 have 98 entries each.
        assert_eq!(two_hops(star.adjacency(), 1000), Err(98 * 11 * 100 / 12));
    }

    #[test]
    fn two_hops_exclude_neighbours_and_the_node_itself() {
        // A path 0-1-2-3 with a triangle 3-4-5 at its end.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)];
        let graph = Graph::from_edges("test", 7, &edges).unwrap();
        let p = operator(&graph, Normalisation::TwoHop);
        let rows: Vec<&[u32]> = (0..7).map(|i| p.pattern().row(i)).collect();
        assert_eq!(rows, [&[2][..], &[3], &[0, 4, 5], &[1], &[2], &[2], &[]]);
        assert!((p.to_dense()[(0, 2)] - 1.0 / 3f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn weights_enter_the_operator_and_the_degrees() {
        // A triangle with weights 1, 2 and 4.
        let edges = [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 4.0)];
        let graph = Graph::from_weighted_edges("test", 3, &edges).unwrap();
        let d = [5f64, 3.0, 6.0];
        let w = [0.0, 1.0, 4.0, 1.0, 0.0, 2.0, 4.0, 2.0, 0.0];
        let plain: Vec<f64> = (0..9).map(|e| w[e] / (d[e / 3] * d[e % 3]).sqrt()).collect();
        assert_close(&operator(&graph, Normalisation::Plain).to_dense(), &plain);
        let looped = |e: usize| {
            let entry = w[e] + f64::from(u8::from(e / 3 == e % 3));
            entry / ((d[e / 3] + 1.0) * (d[e % 3] + 1.0)).sqrt()
        };
        let looped: Vec<f64> = (0..9).map(looped).collect();
        assert_close(&operator(&graph, Normalisation::Looped).to_dense(), &looped);
    }

    /// `gcn_norm` of PyTorch Geometric 2.8.1 in f64, with and without self-loops.
    #[test]
    fn weighted_operators_match_gcn_norm_of_pyg() {
        let edges = [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 4.0), (2, 3, 0.5), (3, 4, 3.25)];
        let graph = Graph::from_weighted_edges("test", 6, &edges).unwrap();
        let plain = [
            (0, 1, 0.258198889747),
            (0, 2, 0.701646415446),
            (1, 2, 0.452910813658),
            (2, 3, 0.101273936708),
            (3, 4, 0.930949336251),
        ];
        let looped = [
            (0, 0, 0.166666666667),
            (0, 1, 0.204124145232),
            (0, 2, 0.596284794),
            (1, 1, 0.25),
            (1, 2, 0.36514837167),
            (2, 2, 0.133333333333),
            (2, 3, 0.083770781658),
            (3, 3, 0.210526315789),
            (3, 4, 0.723339349297),
            (4, 4, 0.235294117647),
            (5, 5, 1.0),
        ];
        for (kind, entries) in
            [(Normalisation::Plain, &plain[..]), (Normalisation::Looped, &looped)]
        {
            let mut expected = Mat::zeros(6, 6);
            for &(i, j, value) in entries {
                (expected[(i, j)], expected[(j, i)]) = (value, value);
            }
            let found = operator(&graph, kind).to_dense();
            for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
                let difference: f64 = found - expected;
                assert!(difference.abs() < 1e-11, "{kind:?}: {found} and {expected}");
            }
        }
    }

    #[test]
    fn equal_weights_do_not_change_p() {
        let edges = [(0, 1), (1, 2), (2, 3), (0, 2)];
        let plain = Graph::from_edges("test", 4, &edges).unwrap();
        let weighted = edges.map(|(u, v)| (u, v, 2.5));
        let weighted = Graph::from_weighted_edges("test", 4, &weighted).unwrap();
        let p = |graph| operator(graph, Normalisation::Plain).to_dense();
        assert_close(&p(&weighted), p(&plain).as_slice());
    }

    fn assert_close(actual: &Mat<f64>, expected: &[f64]) {
        for (a, e) in actual.as_slice().iter().zip(expected) {
            assert!((a - e).abs() < 1e-15, "{actual:?}");
        }
    }
}
