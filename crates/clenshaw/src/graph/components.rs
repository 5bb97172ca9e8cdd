//! Connected components.

use super::Graph;

/// The size of each connected component, ordered by the lowest node of the component.
///
/// ```
/// use clenshaw::graph::{Graph, components};
/// let graph = Graph::from_edges("two", 4, &[(0, 2), (2, 3)]).unwrap();
/// assert_eq!(components(&graph), [3, 1]);
/// ```
pub fn components(graph: &Graph) -> Vec<usize> {
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
