//! Graphs and the operators that spread signals over them.

mod operator;
mod homophily;
mod energy;
mod components;
mod largest;
mod spectrum;
mod eigen;
mod krylov;
mod rows;
mod symmetric;

pub use components::components;
pub use eigen::Eigen;
pub use energy::dirichlet_energy;
pub use homophily::{edge_homophily, node_homophily};
pub use krylov::Krylov;
pub(crate) use largest::largest;
pub use operator::{Normalisation, operator};
pub use spectrum::extreme_eigenvalues;

use crate::error::{Error, Result};
use crate::tensor::Pattern;
use std::sync::Arc;

const NO_NODES: &str = "the graph has no nodes; expected at least one";

/// An undirected simple graph: no loops, no repeated edges, both directions stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    adjacency: Arc<Pattern>,
}

impl Graph {
    /// Makes edges symmetric and drops loops and repetitions; `place` names the source in errors.
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

    /// The same for edges that stand in several places.
    pub(crate) fn from_blocks(
        place: &str,
        n_nodes: usize,
        blocks: &[&[(u32, u32)]],
    ) -> Result<Self> {
        let data_error = |problem| Error::Data { place: place.into(), problem };
        if n_nodes == 0 {
            return Err(data_error(NO_NODES.into()));
        }
        let outside = |&&(u, v): &&(u32, u32)| u.max(v) as usize >= n_nodes;
        if let Some(&(u, v)) = blocks.iter().copied().flatten().find(outside) {
            let node = u.max(v);
            return Err(data_error(format!(
                "node {node} in the edge list, but the graph has {n_nodes} nodes"
            )));
        }
        let (offsets, columns) = rows::compress(n_nodes, blocks);
        Ok(Self { adjacency: Arc::new(Pattern::new(n_nodes, offsets, columns)) })
    }

    /// Takes an adjacency as it is, unless it is not symmetric or has loops.
    ///
    /// ```
    /// use clenshaw::{graph::Graph, tensor::Pattern};
    /// let directed = Pattern::new(2, vec![0, 1, 1], vec![1]);
    /// let error = Graph::from_adjacency("it", directed).unwrap_err().to_string();
    /// assert_eq!(error, "it: arc 0 to 1 has no arc back");
    /// ```
    pub fn from_adjacency(place: &str, adjacency: Pattern) -> Result<Self> {
        let (rows, columns) = (adjacency.n_rows(), adjacency.n_cols());
        let problem = match rows {
            0 => Some(NO_NODES.into()),
            _ if rows != columns => Some(format!("{rows} rows and {columns} columns of nodes")),
            _ => symmetric::problem(&adjacency),
        };
        match problem {
            Some(problem) => Err(Error::Data { place: place.into(), problem }),
            None => Ok(Self { adjacency: Arc::new(adjacency) }),
        }
    }

    /// The same for rows that were once taken from a graph, which is faster to find out.
    pub(crate) fn from_own_adjacency(place: &str, adjacency: Pattern) -> Result<Self> {
        let (rows, columns) = (adjacency.n_rows(), adjacency.n_cols());
        let is_square = rows > 0 && rows == columns;
        match is_square && symmetric::balances(&adjacency) {
            true => Ok(Self { adjacency: Arc::new(adjacency) }),
            false => Self::from_adjacency(place, adjacency),
        }
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// Number of undirected edges, each counted once.
    pub fn n_edges(&self) -> usize {
        self.adjacency.n_entries() / 2
    }

    /// The neighbours of node `i`, ascending.
    pub fn neighbours(&self, i: usize) -> &[u32] {
        self.adjacency.row(i)
    }

    /// Number of neighbours of node `i`.
    pub fn degree(&self, i: usize) -> usize {
        self.neighbours(i).len()
    }

    /// Every undirected edge once, `u < v`, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.n_nodes() as u32).flat_map(move |u| {
            self.neighbours(u as usize).iter().filter(move |&&v| u < v).map(move |&v| (u, v))
        })
    }

    /// The adjacency pattern A: symmetric, without loops.
    pub fn adjacency(&self) -> &Arc<Pattern> {
        &self.adjacency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_outside_the_graph_are_named() {
        let error = Graph::from_edges("cora/edges", 3, &[(0, 1), (1, 3)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cora/edges: node 3 in the edge list, but the graph has 3 nodes"
        );
        assert!(Graph::from_edges("x", 0, &[]).is_err());
    }

    #[test]
    fn edges_come_back_once_each() {
        let graph = Graph::from_edges("x", 4, &[(2, 0), (0, 2), (3, 1), (1, 1)]).unwrap();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    }
}
