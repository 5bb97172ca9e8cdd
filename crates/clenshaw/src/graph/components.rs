//! Connected components.

use super::Graph;

/// The number of nodes of each connected component, in the order of the lowest node of each component.
///
/// ```
/// use clenshaw::graph::{Graph, component_sizes};
/// let graph = Graph::from_edges("two", 4, &[(0, 2), (2, 3)]).unwrap();
/// assert_eq!(component_sizes(&graph), [3, 1]);
/// ```
pub fn component_sizes(graph: &Graph) -> Vec<usize> {
    let mut seen = vec![false; graph.n_nodes()];
    let mut sizes = Vec::new();
    let mut stack = Vec::new();
    for start in 0..graph.n_nodes() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut size = 0;
        stack.push(start as u32);
        while let Some(node) = stack.pop() {
            size += 1;
            for &next in graph.neighbours(node as usize) {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push(next);
                }
            }
        }
        sizes.push(size);
    }
    sizes
}
