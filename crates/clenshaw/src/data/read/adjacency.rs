//! Adjacency matrices of `scipy.sparse.save_npz`, read beside a node table.
//!
//! Row `i` of the matrix is row `i` of the node table, whatever its id. Entries are the weights of edges.
//! The matrix is CSR or CSC; it need not be symmetric, but the graph is undirected.

use super::arrays::square_matrix;
use super::assemble::ReadEdges;
use super::npz;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Pattern;

/// Reads the edges between the `n_nodes` rows of a table.
pub(super) fn parse(place: &str, bytes: &[u8], n_nodes: usize) -> Result<ReadEdges> {
    let matrix = square_matrix(place, &npz::read_bytes(place, bytes)?)?;
    let n = matrix.pattern.n_rows();
    if n != n_nodes {
        let problem =
            format!("{n} rows, but the node table has {n_nodes}; expected one row per node");
        return Err(Error::Data { place: place.into(), problem });
    }
    let edges = matrix.entries();
    let graph = Graph::from_weighted_edges(place, n, &edges)?;
    let n_loops = edges.iter().filter(|(u, v, weight)| u == v && *weight != 0.0).count();
    let listed = |edge: &&(u32, u32, f32)| edge.2 != 0.0;
    let directed = edges.iter().filter(listed).any(|&(u, v, _)| !contains(&matrix.pattern, v, u));
    // A symmetric matrix contains every edge twice.
    let n_listed = graph.n_edges();
    Ok(ReadEdges { graph, n_loops, n_listed, directed, warnings: vec![] })
}

fn contains(pattern: &Pattern, row: u32, column: u32) -> bool {
    pattern.row(row as usize).binary_search(&column).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::arrays::tests::SCIPY_FILE;
    use super::*;

    #[test]
    fn reads_scipy_matrix() {
        // 0 1 0
        // 1 0 2
        // 0 0 0
        let edges = parse("x.npz", SCIPY_FILE, 3).unwrap();
        assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(edges.graph.weights(), Some(&[1.0, 1.0, 2.0, 2.0][..]));
        assert_eq!((edges.n_listed, edges.n_loops, edges.directed), (2, 0, true));
    }

    #[test]
    fn number_of_rows_is_that_of_the_table() {
        assert_eq!(
            parse("x.npz", SCIPY_FILE, 4).err().unwrap().to_string(),
            "x.npz: 3 rows, but the node table has 4; expected one row per node"
        );
        let error = parse("x.npz", b"PK", 3).err().unwrap().to_string();
        assert!(error.starts_with("x.npz: "), "{error}");
    }
}
