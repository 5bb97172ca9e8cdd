//! Weights of undirected edges, stored once per direction.

use crate::tensor::Pattern;

/// The weight of every entry of a symmetric adjacency: repeated edges of one direction are added, and the
/// result is the mean over the directions that are listed. All weights must be positive.
pub(super) fn symmetrise(
    adjacency: &Pattern,
    edges: impl Iterator<Item = (u32, u32, f32)>,
) -> Vec<f32> {
    let mut sums = vec![0f64; adjacency.n_entries()];
    for (u, v, weight) in edges {
        let position = adjacency.row(u as usize).binary_search(&v);
        let position = position.expect("the adjacency was built from these edges");
        sums[adjacency.offsets()[u as usize] + position] += f64::from(weight);
    }
    let mean = |(forward, backward): (usize, &u32)| {
        let (forward, backward) = (sums[forward], sums[*backward as usize]);
        let directions = [forward, backward].iter().filter(|sum| **sum > 0.0).count();
        ((forward + backward) / directions as f64) as f32
    };
    reverse_entries(adjacency).iter().enumerate().map(mean).collect()
}

/// Describes a problem with the weights of a symmetric adjacency; `None` if there is one positive finite weight
/// per entry, equal in both directions.
pub(super) fn find_problem(adjacency: &Pattern, weights: &[f32]) -> Option<String> {
    let (n, found) = (adjacency.n_entries(), weights.len());
    if n != found {
        return Some(format!("{found} weights; expected {n}, one per entry"));
    }
    if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
        return Some(format!("a weight is {weight}; expected a positive number"));
    }
    let reverse = reverse_entries(adjacency);
    let entry = (0..n).find(|&entry| weights[entry] != weights[reverse[entry] as usize])?;
    let [u, v] = [reverse[entry] as usize, entry].map(|entry| adjacency.indices()[entry]);
    Some(format!("the weights of edges {u} to {v} and {v} to {u} differ"))
}

/// For each entry `(u, v)` of a symmetric adjacency, the index of `(v, u)`.
fn reverse_entries(adjacency: &Pattern) -> Vec<u32> {
    adjacency.transpose().1
}
