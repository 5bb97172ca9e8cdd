//! Undirected graphs, their normalised adjacency, and their spectra.

mod operator;
mod order;
mod homophily;
mod energy;
mod components;
mod spectrum;
mod density;
mod distance;
mod layout;
mod eigen;
mod krylov;
mod rows;
mod symmetric;
mod weights;

pub use components::component_sizes;
pub use density::{SpectralDensity, signal_energy, spectral_density};
pub use distance::distances;
pub use eigen::Eigen;
pub use energy::dirichlet_energy;
pub use homophily::{edge_homophily, node_homophily};
pub use krylov::Krylov;
pub use layout::{Drawing, draw};
pub(crate) use operator::unordered_operator;
pub use operator::{Normalisation, operator, try_operator};
pub use spectrum::extreme_eigenvalues;

use crate::error::{Error, Result};
use crate::memory;
use crate::tensor::{NodeOrder, Operator, Pattern, check_count};
use std::sync::{Arc, OnceLock};

const NO_NODES: &str = "the graph has no nodes; expected at least one";

/// An undirected simple graph: no self-loops, no duplicate edges, both directions stored.
///
/// Nodes and arcs are numbered by `u32`; constructors reject larger graphs.
#[derive(Clone, Debug)]
pub struct Graph {
    adjacency: Arc<Pattern>,
    /// The positive weight of each entry of `adjacency`, symmetric; `None` means that all of them are 1.
    weights: Option<Arc<Vec<f32>>>,
    /// Computed from the above when first needed; shared by clones.
    derived: Arc<Derived>,
}

/// The node order and the operators of a graph.
#[derive(Debug, Default)]
struct Derived {
    order: OnceLock<Option<Arc<NodeOrder>>>,
    /// By [`Normalisation`].
    operators: [OnceLock<Operator>; 3],
    eigen: OnceLock<Eigen>,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        (&self.adjacency, &self.weights) == (&other.adjacency, &other.weights)
    }
}

impl Graph {
    /// Creates a graph from edges; directions are ignored, and self-loops and duplicates are dropped. `place`
    /// names the source of the edges in errors.
    ///
    /// # Errors
    /// If there are no nodes, a node is not below `n_nodes`, or the graph is too large.
    ///
    /// ```
    /// use clenshaw::graph::Graph;
    /// let path = Graph::from_edges("path", 3, &[(0, 1), (1, 2), (2, 1), (2, 2)]).unwrap();
    /// assert_eq!((path.n_nodes(), path.n_edges()), (3, 2));
    /// assert_eq!(path.neighbours(1), [0, 2]);
    /// ```
    pub fn from_edges(place: &str, n_nodes: usize, edges: &[(u32, u32)]) -> Result<Self> {
        Self::from_blocks(place, n_nodes, &[edges])
    }

    /// [`Graph::from_edges`] for edges in several slices.
    pub(crate) fn from_blocks(
        place: &str,
        n_nodes: usize,
        blocks: &[&[(u32, u32)]],
    ) -> Result<Self> {
        let data_error = |problem| Error::Data { place: place.into(), problem };
        if n_nodes == 0 {
            return Err(data_error(NO_NODES.into()));
        }
        check_count(n_nodes, "nodes").map_err(data_error)?;
        let out_of_range = |&&(u, v): &&(u32, u32)| u.max(v) as usize >= n_nodes;
        if let Some(&(u, v)) = blocks.iter().copied().flatten().find(out_of_range) {
            let node = u.max(v);
            return Err(data_error(format!(
                "node {node} in the edge list, but the graph has {n_nodes} nodes"
            )));
        }
        // Every edge is stored in both directions.
        let n_edges: usize = blocks.iter().map(|block| block.len()).sum();
        let needed = 2 * size_of::<u32>() * n_edges + size_of::<usize>() * n_nodes;
        let what = || format!("{place}: a graph of {n_nodes} nodes and {n_edges} edges");
        memory::require(needed as u64, what, "use a smaller graph")?;
        let (offsets, columns) = rows::compress(n_nodes, blocks);
        Self::from_symmetric(
            place,
            Pattern::try_new(n_nodes, offsets, columns).map_err(data_error)?,
        )
    }

    /// Creates a graph from a symmetric adjacency without self-loops.
    fn from_symmetric(place: &str, adjacency: Pattern) -> Result<Self> {
        // P~ has one more entry per node.
        let n_entries = adjacency.n_entries() + adjacency.n_rows();
        match check_count(n_entries, "arcs and nodes") {
            Ok(()) => {
                let (adjacency, derived) = (Arc::new(adjacency), Arc::default());
                Ok(Self { adjacency, weights: None, derived })
            }
            Err(problem) => Err(Error::Data { place: place.into(), problem }),
        }
    }

    /// Creates a graph from its adjacency, whose source `place` names in errors.
    ///
    /// # Errors
    /// If the pattern is not square and symmetric, has self-loops, no rows or too many entries.
    ///
    /// ```
    /// use clenshaw::{graph::Graph, tensor::Pattern};
    /// let directed = Pattern::new(2, vec![0, 1, 1], vec![1]);
    /// let error = Graph::from_adjacency("example", directed).unwrap_err().to_string();
    /// assert_eq!(error, "example: arc 0 to 1 has no reverse arc");
    /// ```
    pub fn from_adjacency(place: &str, adjacency: Pattern) -> Result<Self> {
        let (rows, columns) = (adjacency.n_rows(), adjacency.n_cols());
        let problem = match rows {
            0 => Some(NO_NODES.into()),
            _ if rows != columns => Some(format!(
                "the adjacency matrix is {rows} x {columns}; expected a square matrix"
            )),
            _ => symmetric::find_problem(&adjacency),
        };
        match problem {
            Some(problem) => Err(Error::Data { place: place.into(), problem }),
            None => Self::from_symmetric(place, adjacency),
        }
    }

    /// Creates a graph from weighted edges. Self-loops and edges of weight 0 are dropped; the weights of
    /// repeated edges are added; if an edge is listed in both directions, its weight is the mean of both.
    /// If all weights are 1, the result is that of [`Graph::from_edges`]: repeated edges count once.
    ///
    /// # Errors
    /// If a weight, or the sum of those of a repeated edge, is negative or not finite, or in the cases of
    /// [`Graph::from_edges`]; the nodes of dropped edges are not checked.
    ///
    /// ```
    /// use clenshaw::graph::Graph;
    /// let edges = [(0, 1, 2.0), (1, 0, 4.0), (1, 2, 0.5), (2, 2, 9.0)];
    /// let path = Graph::from_weighted_edges("path", 3, &edges)?;
    /// assert_eq!(path.weights(), Some(&[3.0, 3.0, 0.5, 0.5][..]));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn from_weighted_edges(
        place: &str,
        n_nodes: usize,
        edges: &[(u32, u32, f32)],
    ) -> Result<Self> {
        let valid = |weight: f32| weight.is_finite() && weight >= 0.0;
        if let Some((u, v, weight)) = edges.iter().find(|(_, _, weight)| !valid(*weight)) {
            let problem = format!(
                "the weight of edge {u} to {v} is {weight}; expected a finite, non-negative number"
            );
            return Err(Error::Data { place: place.into(), problem });
        }
        let kept = || edges.iter().filter(|(u, v, weight)| u != v && *weight > 0.0);
        let pairs: Vec<(u32, u32)> = kept().map(|&(u, v, _)| (u, v)).collect();
        let graph = Self::from_edges(place, n_nodes, &pairs)?;
        if kept().all(|(_, _, weight)| *weight == 1.0) {
            return Ok(graph);
        }
        let weights = weights::symmetrise(&graph.adjacency, kept().copied());
        if weights.iter().any(|weight| !weight.is_finite()) {
            let problem =
                "the weights of a repeated edge add up to infinity; expected a finite sum";
            return Err(Error::Data { place: place.into(), problem: problem.into() });
        }
        Ok(graph.weighted(weights))
    }

    /// Returns the graph with a weight for each entry of its adjacency; `place` names their source in errors.
    ///
    /// # Errors
    /// If there is not one positive finite weight per entry, or the weights of the two directions of an
    /// edge differ.
    pub fn with_weights(self, place: &str, weights: Vec<f32>) -> Result<Self> {
        match weights::find_problem(&self.adjacency, &weights) {
            Some(problem) => Err(Error::Data { place: place.into(), problem }),
            None => Ok(self.weighted(weights)),
        }
    }

    /// The graph with these weights.
    fn weighted(self, weights: Vec<f32>) -> Self {
        // The order does not depend on the weights, but the operators do.
        let derived = Derived { order: self.derived.order.clone(), ..Derived::default() };
        Self { weights: Some(Arc::new(weights)), derived: Arc::new(derived), ..self }
    }

    /// An order of the nodes in which neighbours are close to each other; `None` if the graph is small or the
    /// order of the node numbers is about as good. Computed by the first call.
    pub fn node_order(&self) -> Option<&Arc<NodeOrder>> {
        let compute = || order::useful_order(&self.adjacency).map(Arc::new);
        self.derived.order.get_or_init(compute).as_ref()
    }

    /// The same graph, for which [`Graph::node_order`] returns `order`.
    ///
    /// # Panics
    /// If the order has a different number of nodes.
    pub fn with_node_order(self, order: Option<NodeOrder>) -> Self {
        let n = order.as_ref().map_or(self.n_nodes(), NodeOrder::n_nodes);
        assert_eq!(n, self.n_nodes(), "graph: an order of {n} nodes");
        let order = OnceLock::from(order.map(Arc::new));
        Self { derived: Arc::new(Derived { order, ..Derived::default() }), ..self }
    }

    /// The weight of each entry of the adjacency; `None` means that all of them are 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| weights.as_slice())
    }

    /// The number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// The number of undirected edges, each counted once.
    pub fn n_edges(&self) -> usize {
        self.adjacency.n_entries() / 2
    }

    /// The neighbours of node `i`, ascending.
    pub fn neighbours(&self, i: usize) -> &[u32] {
        self.adjacency.row(i)
    }

    /// The number of neighbours of node `i`.
    pub fn degree(&self, i: usize) -> usize {
        self.neighbours(i).len()
    }

    /// Every undirected edge once, `u < v`, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes() as u32).flat_map(move |u| {
            self.neighbours(u as usize).iter().filter(move |&&v| u < v).map(move |&v| (u, v))
        })
    }

    /// The eigendecomposition of P, computed by the first call and kept; needs O(n^2) memory and O(n^3) time.
    pub fn eigen(&self) -> &Eigen {
        self.derived.eigen.get_or_init(|| Eigen::new(&operator(self, Normalisation::Plain)))
    }

    /// The adjacency pattern A: symmetric, without self-loops.
    pub fn adjacency(&self) -> &Arc<Pattern> {
        &self.adjacency
    }
}

/// The largest absolute value; 0 for an empty list, NaN if any value is NaN.
pub(crate) fn max_abs(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_abs_propagates_nan() {
        assert_eq!(max_abs([1.0, -3.0, 2.0]), 3.0);
        assert_eq!(max_abs([]), 0.0);
        assert!(max_abs([1.0, -f64::NAN, f64::INFINITY]).is_nan());
    }

    #[test]
    fn more_than_u32_max_nodes_are_rejected() {
        let error = Graph::from_edges("huge", 1 << 33, &[(0, 1)]).unwrap_err().to_string();
        assert_eq!(error, "huge: 8589934592 nodes; expected at most 4294967295");
    }

    #[test]
    fn edges_outside_the_graph_are_rejected() {
        let error = Graph::from_edges("cora/edges", 3, &[(0, 1), (1, 3)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cora/edges: node 3 in the edge list, but the graph has 3 nodes"
        );
        assert!(Graph::from_edges("x", 0, &[]).is_err());
    }

    #[test]
    fn weights_that_add_up_to_infinity_are_rejected() {
        let edges = [(0, 1, 3e38), (0, 1, 3e38), (1, 2, 1.0)];
        let error = Graph::from_weighted_edges("x", 3, &edges).unwrap_err().to_string();
        let problem = "the weights of a repeated edge add up to infinity; expected a finite sum";
        assert_eq!(error, format!("x: {problem}"));
        let once = Graph::from_weighted_edges("x", 3, &edges[1..]).unwrap();
        assert_eq!(once.weights(), Some(&[3e38, 3e38, 1.0, 1.0][..]));
    }

    #[test]
    fn edges_lists_each_edge_once() {
        let graph = Graph::from_edges("x", 4, &[(2, 0), (0, 2), (3, 1), (1, 1)]).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    }
}
