//! Weights of undirected edges, stored once per direction.

use crate::tensor::Pattern;

/// The weight of every entry of a symmetric adjacency: the sum over repeated edges of one direction, and
/// the mean over the directions in which the edge is listed.
pub(super) fn symmetrise(
    adjacency: &Pattern,
    edges: impl Iterator<Item = (u32, u32, f32)>,
) -> Vec<f32> {
    let mut sums = vec![0f64; adjacency.n_entries()];
    for (u, v, weight) in edges {
        let entry = find(adjacency, u, v).expect("the adjacency was built from these edges");
        sums[entry] += f64::from(weight);
    }
    let mut weights = vec![0.0; adjacency.n_entries()];
    for u in 0..adjacency.n_rows() as u32 {
        for &v in adjacency.row(u as usize) {
            let [forward, backward] = [(u, v), (v, u)]
                .map(|(u, v)| find(adjacency, u, v).expect("the adjacency is symmetric"));
            let directions =
                [sums[forward], sums[backward]].iter().filter(|sum| **sum > 0.0).count();
            weights[forward] = ((sums[forward] + sums[backward]) / directions as f64) as f32;
        }
    }
    weights
}

/// Describes a problem of the weights of an adjacency; `None` if they are positive, finite and symmetric.
pub(super) fn find_problem(adjacency: &Pattern, weights: &[f32]) -> Option<String> {
    let (n, found) = (adjacency.n_entries(), weights.len());
    if n != found {
        return Some(format!("{found} weights; expected {n}, one per entry"));
    }
    if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
        return Some(format!("a weight is {weight}; expected a positive number"));
    }
    for u in 0..adjacency.n_rows() as u32 {
        for &v in adjacency.row(u as usize) {
            let [forward, backward] = [find(adjacency, u, v), find(adjacency, v, u)];
            if forward.map(|entry| weights[entry]) != backward.map(|entry| weights[entry]) {
                return Some(format!("the weights of edges {u} to {v} and {v} to {u} differ"));
            }
        }
    }
    None
}

/// The index of the entry `(u, v)`; `None` if there is no such entry.
fn find(adjacency: &Pattern, u: u32, v: u32) -> Option<usize> {
    let position = adjacency.row(u as usize).binary_search(&v).ok()?;
    Some(adjacency.offsets()[u as usize] + position)
}
