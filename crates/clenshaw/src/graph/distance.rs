//! Distances from a node, in edges.

use super::Graph;
use std::collections::VecDeque;

/// The number of edges on a shortest path from `centre` to each node; `None` for nodes in other components.
///
/// ```
/// use clenshaw::graph::{Graph, distances};
/// let path = Graph::from_edges("path", 4, &[(0, 1), (1, 2)])?;
/// assert_eq!(distances(&path, 0), [Some(0), Some(1), Some(2), None]);
/// # Ok::<(), clenshaw::Error>(())
/// ```
///
/// # Panics
/// If `centre` is not a node of the graph.
pub fn distances(graph: &Graph, centre: u32) -> Vec<Option<usize>> {
    let mut distances = vec![None; graph.n_nodes()];
    distances[centre as usize] = Some(0);
    let mut queue = VecDeque::from([(centre, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        for &next in graph.neighbours(node as usize) {
            if distances[next as usize].is_none() {
                distances[next as usize] = Some(distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}
