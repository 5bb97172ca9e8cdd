//! Edges in an `.npz` file beside a node table.
//!
//! ```text
//! edge_index [2, e]                      as in PyTorch Geometric
//! indptr, indices, data, shape, format   as in `scipy.sparse.save_npz`, CSR or CSC
//! ```
//!
//! Node `i` of the file is row `i` of the node table, counted from 0, regardless of its id. The weights of
//! edges are described in `arrays.rs`. The matrix need not be symmetric, but the graph is undirected.

use super::arrays::{WEIGHTS, edge_index, is_matrix, matrix_edges};
use super::assemble::ReadEdges;
use super::npz;
use crate::data::count;
use crate::data::schema::WeightChoice;
use crate::error::{Error, Result};

/// Reads the edges between the `n_nodes` rows of a table; an error if a matrix has a different number of rows
/// or a node of `edge_index` does not exist.
pub(super) fn parse(
    place: &str,
    bytes: &[u8],
    n_nodes: usize,
    weights: WeightChoice,
) -> Result<ReadEdges> {
    let npz = npz::read_bytes(place, bytes)?;
    if !is_matrix(&npz) {
        let mut edges = edge_index(place, &npz, n_nodes, weights)?;
        edges
            .notes
            .insert(0, format!("{place}: read as an `edge_index` of rows of the node table"));
        let is_used = |name: &&str| {
            *name == "edge_index" || WEIGHTS.contains(name) || weights == WeightChoice::Column(name)
        };
        let unused: Vec<&str> = npz.names().filter(|name| !is_used(name)).collect();
        if !unused.is_empty() {
            let unused = unused.join(", ");
            let warning =
                format!("{place}: arrays not used, because there is a node table: {unused}");
            edges.warnings.push(warning);
        }
        return Ok(edges);
    }
    let mut edges = matrix_edges(place, &npz, weights)?;
    let n = edges.graph.n_nodes();
    if n != n_nodes {
        let rows = count(n, "row", "rows");
        let problem =
            format!("{rows}, but the node table has {n_nodes}; expected one row per node");
        return Err(Error::Data { place: place.into(), problem });
    }
    edges
        .notes
        .push(format!("{place}: read as a sparse matrix whose rows are those of the node table"));
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::super::arrays::tests::{SCIPY_FILE, array};
    use super::*;

    fn read(bytes: &[u8], n_nodes: usize) -> Result<ReadEdges> {
        parse("x.npz", bytes, n_nodes, WeightChoice::ByName)
    }

    #[test]
    fn reads_scipy_matrix() {
        // 0 1 0
        // 1 0 2
        // 0 0 0
        let edges = read(SCIPY_FILE, 3).unwrap();
        assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(edges.graph.weights(), Some(&[1.0, 1.0, 2.0, 2.0][..]));
        assert_eq!((edges.n_listed, edges.n_loops, edges.directed), (2, 0, true));
        let error = parse("x.npz", SCIPY_FILE, 3, WeightChoice::Column("minutes")).err().unwrap();
        assert_eq!(
            error.to_string(),
            "x.npz: the array of weights is `minutes`, but the weights of a sparse matrix are its values; \
             expected `data` or `none`"
        );
    }

    #[test]
    fn reads_edge_index_by_content() {
        let index = ("edge_index", array("|u1", &[2, 3], &[0, 1, 2, 1, 2, 2]));
        let weights = ("edge_weight", array("|u1", &[3], &[1, 3, 1]));
        let y = ("y", array("|u1", &[3], &[0, 1, 0]));
        let bytes = npz::tests::npz(&[index.clone(), weights, y]);
        let edges = read(&bytes, 3).unwrap();
        assert_eq!(edges.graph.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(edges.graph.weights(), Some(&[1.0, 1.0, 3.0, 3.0][..]));
        assert_eq!((edges.n_loops, edges.n_listed), (1, 2));
        assert_eq!(edges.notes, ["x.npz: read as an `edge_index` of rows of the node table"]);
        assert_eq!(edges.warnings, ["x.npz: arrays not used, because there is a node table: y"]);
        let plain = parse("x.npz", &bytes, 3, WeightChoice::Unused).unwrap();
        assert_eq!(plain.graph.weights(), None);
        let chosen = ("w", array("|u1", &[3], &[1, 3, 1]));
        let bytes = npz::tests::npz(&[index.clone(), chosen]);
        let edges = parse("x.npz", &bytes, 3, WeightChoice::Column("w")).unwrap();
        assert_eq!(edges.weight_source, "array `w`");
        assert!(edges.warnings.is_empty());
        assert_eq!(
            read(&npz::tests::npz(&[index]), 2).err().unwrap().to_string(),
            "x.npz: edge_index: node 2 in the edge list, but the graph has 2 nodes"
        );
        assert_eq!(
            read(&npz::tests::npz(&[("arr_0", array("|u1", &[2, 1], &[0, 1]))]), 2)
                .err()
                .unwrap()
                .to_string(),
            "x.npz: no array `edge_index`; the file has: arr_0"
        );
    }

    #[test]
    fn rejects_a_wrong_number_of_rows_and_a_truncated_file() {
        assert_eq!(
            read(SCIPY_FILE, 4).err().unwrap().to_string(),
            "x.npz: 3 rows, but the node table has 4; expected one row per node"
        );
        let error = read(b"PK", 3).err().unwrap().to_string();
        assert!(error.starts_with("x.npz: "), "{error}");
    }
}
