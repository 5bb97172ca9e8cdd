//! Graphs.

use crate::arrays::{Indices, PLACE, check_offsets, data_error, to_vector};
use crate::errors::to_python;
use clenshaw::graph::{
    self, Normalisation, edge_homophily, node_homophily, operator, spectral_density,
};
use clenshaw::tensor::Pattern;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ops::Range;

/// An undirected graph without self-loops.
#[pyclass(frozen, module = "clenshaw._clenshaw")]
pub struct Graph {
    pub graph: graph::Graph,
    /// What was changed when the graph was built.
    #[pyo3(get)]
    pub notes: Vec<String>,
}

/// `indptr`, `indices` and, if the graph has any, weights of a CSR matrix.
type CsrArrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Option<Bound<'py, PyArray1<f32>>>);

#[pymethods]
impl Graph {
    /// The graph of a CSR matrix; directions are dropped, the weights of both directions averaged.
    /// `notes` are those of an earlier conversion.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, weights, notes=vec![]))]
    fn from_csr(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        notes: Vec<String>,
    ) -> PyResult<Self> {
        let offsets: Vec<usize> = Indices::extract(indptr, "indptr")?.convert("indptr")?;
        let indices: Vec<u32> = Indices::extract(indices, "indices")?.convert("indices")?;
        let weights = weights.map(|weights| to_vector(weights, "data")).transpose()?;
        let n_values = weights.as_ref().map_or(indices.len(), Vec::len);
        check_offsets(&offsets, indices.len(), n_values)?;
        let mut graph = py.detach(move || Self::build(CsrMatrix { offsets, indices, weights }))?;
        graph.notes.splice(0..0, notes);
        Ok(graph)
    }

    /// For pickle: a function and its arguments.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (indptr, indices, weights) = slf.get().to_csr(slf.py());
        let arguments = (indptr, indices, weights, slf.get().notes.clone());
        (slf.get_type().getattr("from_csr")?, arguments).into_pyobject(slf.py())
    }

    /// The graph of an edge list between nodes numbered from 0.
    #[staticmethod]
    fn from_edges(
        py: Python<'_>,
        sources: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        n_nodes: usize,
    ) -> PyResult<Self> {
        let sources: Vec<u32> = Indices::extract(sources, "sources")?.convert("sources")?;
        let targets: Vec<u32> = Indices::extract(targets, "targets")?.convert("targets")?;
        let weights = weights.map(|weights| to_vector(weights, "weights")).transpose()?;
        let n = sources.len();
        if targets.len() != n || weights.as_ref().is_some_and(|weights| weights.len() != n) {
            let m = weights.as_ref().map_or(n, Vec::len);
            let problem = format!("{n} sources, {} targets and {m} weights", targets.len());
            return Err(data_error(problem));
        }
        py.detach(move || {
            let pairs = sources.into_iter().zip(targets);
            match weights {
                None => Self::unweighted(n_nodes, &pairs.collect::<Vec<_>>()),
                Some(weights) => {
                    let edges = pairs.zip(weights).map(|((u, v), weight)| (u, v, weight));
                    Self::weighted(n_nodes, &edges.collect::<Vec<_>>())
                }
            }
        })
    }

    /// Number of nodes.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.graph.n_nodes()
    }

    /// Number of undirected edges.
    #[getter]
    fn n_edges(&self) -> usize {
        self.graph.n_edges()
    }

    /// Whether the edges have weights other than 1.
    #[getter]
    fn has_weights(&self) -> bool {
        self.graph.weights().is_some()
    }

    /// The symmetric adjacency matrix.
    fn to_csr<'py>(&self, py: Python<'py>) -> CsrArrays<'py> {
        let adjacency = self.graph.adjacency();
        let offsets = adjacency.offsets().iter().map(|&offset| offset as i64);
        let indices = adjacency.indices().iter().map(|&index| index as i32);
        let weights = self.graph.weights().map(|weights| PyArray1::from_slice(py, weights));
        (PyArray1::from_iter(py, offsets), PyArray1::from_iter(py, indices), weights)
    }

    /// Edge and node homophily for class numbers, -1 for unlabelled nodes.
    fn homophily(
        &self,
        classes: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<(Option<f64>, Option<f64>)> {
        let classes: Vec<Option<u32>> =
            classes.as_array().iter().map(|&class| u32::try_from(class).ok()).collect();
        let (n, found) = (self.graph.n_nodes(), classes.len());
        if n != found {
            return Err(data_error(format!("{found} labels, but the graph has {n} nodes")));
        }
        Ok((edge_homophily(&self.graph, &classes), node_homophily(&self.graph, &classes)))
    }

    /// The share of eigenvalues in `bins` intervals from -1 to 1, and whether it is exact.
    fn spectral_density(
        &self,
        py: Python<'_>,
        normalisation: &str,
        bins: usize,
    ) -> PyResult<(Vec<f64>, bool)> {
        let kind = match normalisation {
            "plain" => Normalisation::Plain,
            "looped" => Normalisation::Looped,
            other => {
                let problem = format!("`normalisation` is `{other}`; expected plain or looped");
                return Err(PyValueError::new_err(problem));
            }
        };
        if !(1..=100_000).contains(&bins) {
            return Err(PyValueError::new_err(format!("`bins` is {bins}, outside 1 to 100000")));
        }
        let density = py.detach(|| spectral_density(&operator(&self.graph, kind), bins));
        Ok((density.shares, density.exact))
    }
}

/// A square matrix in compressed rows.
struct CsrMatrix {
    offsets: Vec<usize>,
    indices: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl Graph {
    /// A graph that was not changed.
    pub fn unchanged(graph: graph::Graph) -> Self {
        Self { graph, notes: vec![] }
    }

    fn build(matrix: CsrMatrix) -> PyResult<Self> {
        let n_nodes = matrix.offsets.len() - 1;
        let CsrMatrix { offsets, indices, weights } = matrix;
        let weights = weights.filter(|weights| weights.iter().any(|&weight| weight != 1.0));
        let Some(weights) = weights else {
            return Self::unweighted_rows(n_nodes, &offsets, &indices);
        };
        let arcs = arcs(&offsets, &indices);
        let edges: Vec<(u32, u32, f32)> =
            arcs.into_iter().zip(weights).map(|((u, v), weight)| (u, v, weight)).collect();
        Self::weighted(n_nodes, &edges)
    }

    fn unweighted_rows(n_nodes: usize, offsets: &[usize], indices: &[u32]) -> PyResult<Self> {
        let is_ascending = |row: &[usize]| indices[row[0]..row[1]].is_sorted_by(|a, b| a < b);
        let in_range = indices.iter().all(|&index| (index as usize) < n_nodes);
        if !in_range || !offsets.windows(2).all(is_ascending) {
            return Self::unweighted(n_nodes, &arcs(offsets, indices));
        }
        let (ends, columns, n_loops) = symmetrise(n_nodes, offsets, indices);
        let pattern = Pattern::try_new(n_nodes, ends, columns).map_err(data_error)?;
        let graph = graph::Graph::from_adjacency(PLACE, pattern).map_err(to_python)?;
        let notes = notes(n_loops, indices.len(), &graph);
        Ok(Self { graph, notes })
    }

    fn unweighted(n_nodes: usize, edges: &[(u32, u32)]) -> PyResult<Self> {
        let graph = graph::Graph::from_edges(PLACE, n_nodes, edges).map_err(to_python)?;
        let n_loops = edges.iter().filter(|(u, v)| u == v).count();
        let notes = notes(n_loops, edges.len(), &graph);
        Ok(Self { graph, notes })
    }

    fn weighted(n_nodes: usize, edges: &[(u32, u32, f32)]) -> PyResult<Self> {
        let graph = graph::Graph::from_weighted_edges(PLACE, n_nodes, edges).map_err(to_python)?;
        let n_loops = edges.iter().filter(|(u, v, _)| u == v).count();
        let notes = notes(n_loops, edges.len(), &graph);
        Ok(Self { graph, notes })
    }
}

/// The row and column of every entry.
fn arcs(offsets: &[usize], indices: &[u32]) -> Vec<(u32, u32)> {
    let row = |(row, ends): (usize, &[usize])| (row as u32, ends[0]..ends[1]);
    let rows = offsets.windows(2).enumerate().map(row);
    rows.flat_map(|(u, entries)| entries.map(move |entry| (u, indices[entry]))).collect()
}

/// The most threads that symmetrise a matrix: each of them reads all entries.
const MAX_THREADS: usize = 4;

/// Consecutive rows of a symmetric matrix without its diagonal.
struct SymmetricRows {
    /// The end of each row in `columns`.
    ends: Vec<usize>,
    columns: Vec<u32>,
    /// The number of entries on the diagonal.
    n_loops: usize,
}

/// The union of a matrix with ascending rows and its transpose, without the diagonal: offsets, columns, and
/// the number of entries on the diagonal. Merging sorted rows takes less time than sorting all arcs.
fn symmetrise(n_nodes: usize, offsets: &[usize], indices: &[u32]) -> (Vec<usize>, Vec<u32>, usize) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let first_row = |part: usize| part * n_nodes / threads;
    let parts: Vec<SymmetricRows> = std::thread::scope(|scope| {
        let part = |i| {
            scope.spawn(move || symmetric_rows(first_row(i)..first_row(i + 1), offsets, indices))
        };
        let handles: Vec<_> = (0..threads).map(part).collect();
        handles.into_iter().map(|handle| handle.join().expect("merging does not panic")).collect()
    });
    let mut ends = Vec::with_capacity(n_nodes + 1);
    ends.push(0);
    let mut columns = Vec::with_capacity(parts.iter().map(|part| part.columns.len()).sum());
    for part in &parts {
        ends.extend(part.ends.iter().map(|end| columns.len() + end));
        columns.extend_from_slice(&part.columns);
    }
    (ends, columns, parts.iter().map(|part| part.n_loops).sum())
}

/// [`symmetrise`] for some of the rows.
fn symmetric_rows(rows: Range<usize>, offsets: &[usize], indices: &[u32]) -> SymmetricRows {
    let (starts, transposed) = transposed_rows(rows.clone(), offsets, indices);
    let n_own = offsets[rows.end] - offsets[rows.start];
    let mut columns = vec![0; n_own + transposed.len()];
    let (mut ends, mut n, mut n_loops) = (Vec::with_capacity(rows.len()), 0, 0);
    for row in rows.clone() {
        let own = &indices[offsets[row]..offsets[row + 1]];
        let back = &transposed[starts[row - rows.start]..starts[row - rows.start + 1]];
        let (mut i, mut j) = (0, 0);
        while i < own.len() || j < back.len() {
            let a = own.get(i).copied().unwrap_or(u32::MAX);
            let b = back.get(j).copied().unwrap_or(u32::MAX);
            let column = a.min(b);
            i += usize::from(a == column);
            j += usize::from(b == column);
            columns[n] = column;
            let is_loop = column as usize == row;
            n += usize::from(!is_loop);
            n_loops += usize::from(is_loop);
        }
        ends.push(n);
    }
    columns.truncate(n);
    SymmetricRows { ends, columns, n_loops }
}

/// Offsets and ascending columns of some rows of the transpose.
fn transposed_rows(
    rows: Range<usize>,
    offsets: &[usize],
    indices: &[u32],
) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; rows.len() + 1];
    let position = |column: u32| (column as usize).wrapping_sub(rows.start);
    for at in indices.iter().map(|&column| position(column)).filter(|&at| at < rows.len()) {
        starts[at + 1] += 1;
    }
    for row in 0..rows.len() {
        starts[row + 1] += starts[row];
    }
    let (mut next, mut columns) = (starts.clone(), vec![0; starts[rows.len()]]);
    for row in 0..offsets.len() - 1 {
        for &column in &indices[offsets[row]..offsets[row + 1]] {
            if let Some(next) =
                next.get_mut(position(column)).filter(|_| position(column) < rows.len())
            {
                columns[*next] = row as u32;
                *next += 1;
            }
        }
    }
    (starts, columns)
}

/// Describes what was dropped or merged.
fn notes(n_loops: usize, n_listed: usize, graph: &graph::Graph) -> Vec<String> {
    let mut notes = vec![];
    if n_loops > 0 {
        notes.push(format!("self-loops removed: {n_loops}"));
    }
    let kept = n_listed - n_loops;
    // Both directions of every edge are the usual form, so only a difference is reported.
    if kept != graph.n_edges() && kept != 2 * graph.n_edges() {
        notes.push(format!(
            "{kept} entries between different nodes became {} undirected edges",
            graph.n_edges()
        ));
    }
    notes
}
