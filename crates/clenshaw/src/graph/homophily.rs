//! Homophily: how often neighbours have the same class. Nodes without a label are ignored.

use super::Graph;

/// The fraction of edges whose endpoints have the same class; `None` if no edge has two labelled endpoints.
/// `classes` contains the class of each node, or `None` if it has no label.
///
/// ```
/// use clenshaw::graph::{Graph, edge_homophily};
/// let path = Graph::from_edges("path", 3, &[(0, 1), (1, 2)]).unwrap();
/// assert_eq!(edge_homophily(&path, &[Some(0), Some(0), Some(1)]), Some(0.5));
/// ```
///
/// # Panics
/// If there are fewer classes than nodes.
pub fn edge_homophily(graph: &Graph, classes: &[Option<u32>]) -> Option<f64> {
    let known =
        graph.edges().filter_map(|(u, v)| Some((classes[u as usize]?, classes[v as usize]?)));
    let (agree, total) =
        known.fold((0, 0), |(agree, total), (a, b)| (agree + usize::from(a == b), total + 1));
    (total > 0).then(|| agree as f64 / total as f64)
}

/// Node homophily H(G) of Geom-GCN: the fraction of labelled neighbours of the same class, averaged over
/// labelled nodes with labelled neighbours; `None` if there are no such nodes.
///
/// # Panics
/// If there are fewer classes than nodes.
pub fn node_homophily(graph: &Graph, classes: &[Option<u32>]) -> Option<f64> {
    let fraction = |i: usize| {
        let class = classes[i]?;
        let known: Vec<u32> =
            graph.neighbours(i).iter().filter_map(|&j| classes[j as usize]).collect();
        let agree = known.iter().filter(|&&other| other == class).count();
        (!known.is_empty()).then(|| agree as f64 / known.len() as f64)
    };
    let fractions: Vec<f64> = (0..graph.n_nodes()).filter_map(fraction).collect();
    (!fractions.is_empty()).then(|| fractions.iter().sum::<f64>() / fractions.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_a_class_are_ignored() {
        // A path with classes 0 - 0 - 1 - unknown, and an isolated node of class 1.
        let graph = Graph::from_edges("test", 5, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        let classes = [Some(0), Some(0), Some(1), None, Some(1)];
        assert_eq!(edge_homophily(&graph, &classes), Some(0.5));
        // Node 0: 1, node 1: 1/2, node 2: 0, since its other neighbour has no label.
        assert_eq!(node_homophily(&graph, &classes), Some(0.5));
        assert_eq!(edge_homophily(&graph, &[None; 5]), None);
    }
}
