//! Edge tables of any length, read in blocks and parsed by several threads.
//!
//! While one block is parsed, the next one is read and decompressed; of the edges, only the numbers of
//! their nodes and their weights are kept. Blocks end at line ends that do not depend on the number of
//! threads.
//!
//! The format is that of `delimited.rs`; a field cannot span lines. The first line is a header if neither of
//! its first two fields is a number or the name of a node; tables converted from Parquet always have one.
//!
//! The ids are in the columns `source` and `target` (or `src`, `dst`; `from`, `to`; `u`, `v`; `id1`,
//! `id2`; `id_1`, `id_2`; `numeric_id_1`, `numeric_id_2`), otherwise in the first two that have a name, or
//! the first two if there is no header. The weights are in the column that the user chose, otherwise in
//! `weight` or `edge_weight`. Other columns are not used.

mod layout;

pub(super) use self::layout::parse_weight;

use self::layout::{EdgeEnds, EdgeLayout, IdLookup};
use super::assemble::ReadEdges;
use super::delimited::{HeaderMode, split_line};
use super::text;
use crate::data::count;
use crate::data::schema::WeightChoice;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

/// Approximate number of bytes per block.
const BLOCK_SIZE: usize = 4 << 20;
/// Approximate number of bytes that a thread parses at a time.
const CHUNK_SIZE: usize = 256 << 10;
/// Maximum length of a line in bytes; a line that is at most one block longer may be accepted.
const MAX_LINE: usize = 64 << 20;

/// Without a node table, ids must be below `NODES_PER_EDGE * edges + MIN_NODE_LIMIT`.
const NODES_PER_EDGE: usize = 16;
const MIN_NODE_LIMIT: usize = 1 << 20;

/// Reads a graph from an edge table whose ids are node numbers, starting at 0; weights are not used.
///
/// Without `n_nodes`, the number of nodes is the largest id plus one.
///
/// # Errors
/// If the table cannot be read or is malformed, if an id is not below `n_nodes` or, without `n_nodes`, is much
/// larger than the number of edges, or if the graph has no nodes or is too large.
///
/// ```
/// use clenshaw::data::read::edges;
///
/// let graph = edges::read_bytes("path", b"from,to\n0,1\n1,2\n", None)?;
/// assert_eq!((graph.n_nodes(), graph.n_edges()), (3, 2));
/// let error = edges::read_bytes("path", b"from,to\n0,1\n1,-2\n", None).unwrap_err();
/// assert_eq!(error.to_string(), "path:3: id `-2`; expected a non-negative integer");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_edges(path: &Path, n_nodes: Option<usize>) -> Result<Graph> {
    read_numbered(path, text::open(path)?, n_nodes)
}

/// [`read_edges`] for the bytes of an edge table; errors refer to it as `place`.
pub fn read_bytes(place: &str, bytes: &[u8], n_nodes: Option<usize>) -> Result<Graph> {
    let place = Path::new(place);
    read_numbered(place, text::decompress_bytes(place, bytes)?, n_nodes)
}

/// [`read_edges`] for decompressed text; `path` only names the file in errors.
fn read_numbered(path: &Path, input: impl Read + Send, n_nodes: Option<usize>) -> Result<Graph> {
    let ids = IdLookup::Numbers(n_nodes.unwrap_or(usize::MAX));
    let table = parse(path, input, &ids, HeaderMode::Detect, WeightChoice::Unused)?;
    let place = path.display().to_string();
    let n_nodes = n_nodes.map_or_else(|| table.n_nodes(&place), Ok)?;
    table.graph(&place, n_nodes)
}

/// Reads a graph whose edges refer to nodes by name; `nodes` maps names to node numbers.
pub(super) fn read_named(
    path: &Path,
    input: impl Read + Send,
    nodes: &HashMap<String, u32>,
    header: HeaderMode,
    weights: WeightChoice,
) -> Result<ReadEdges> {
    let table = parse(path, input, &IdLookup::names(nodes), header, weights)?;
    let place = path.display().to_string();
    let mut edges = match table.layout.weight {
        Some(_) => ReadEdges::new(&place, nodes.len(), table.weighted_edges(), weights)?,
        None => {
            let graph = table.graph(&place, nodes.len())?;
            let n_edges: usize = table.blocks.iter().map(Vec::len).sum();
            let n_loops = table.blocks.iter().flatten().filter(|(u, v)| u == v).count();
            ReadEdges::with_counts(graph, n_loops, n_edges - n_loops)
        }
    };
    let EdgeLayout { notes, warnings, weight_source, .. } = table.layout;
    (edges.notes, edges.warnings, edges.weight_source) = (notes, warnings, weight_source);
    if table.has_decimal_comma {
        edges.notes.push(format!("{place}: weights with a decimal comma, such as 0,5"));
    }
    Ok(edges)
}

/// A parsed edge table.
struct EdgeTable {
    layout: EdgeLayout,
    /// The edges in file order, in several parts.
    blocks: Vec<Vec<EdgeEnds>>,
    /// The weight of each edge; empty if the table has no weight column.
    weights: Vec<f32>,
    /// Whether a weight is written with a decimal comma.
    has_decimal_comma: bool,
}

impl EdgeTable {
    /// Returns the largest id plus one, or 0 without edges; an error if it is too large for the number of
    /// edges.
    fn n_nodes(&self, place: &str) -> Result<usize> {
        let highest = |block: &Vec<EdgeEnds>| block.iter().map(|&(u, v)| u.max(v)).max();
        let Some(highest) = self.blocks.iter().filter_map(highest).max() else { return Ok(0) };
        let n_edges = self.blocks.iter().map(Vec::len).sum::<usize>();
        let limit = n_edges.saturating_mul(NODES_PER_EDGE).saturating_add(MIN_NODE_LIMIT);
        match highest as usize {
            highest if highest < limit => Ok(highest + 1),
            highest => Err(Error::Data {
                place: place.into(),
                problem: format!(
                    "node {highest} in a table of {}; expected node numbers from 0 without large \
                     gaps, or a node table",
                    count(n_edges, "edge", "edges")
                ),
            }),
        }
    }

    /// The edges with their weights; empty if the table has no weight column.
    fn weighted_edges(&self) -> Vec<(u32, u32, f32)> {
        let ends = self.blocks.iter().flatten().zip(&self.weights);
        ends.map(|(&(u, v), &weight)| (u, v, weight)).collect()
    }

    /// The graph of the edges, without weights.
    fn graph(&self, place: &str, n_nodes: usize) -> Result<Graph> {
        let blocks: Vec<&[EdgeEnds]> = self.blocks.iter().map(Vec::as_slice).collect();
        Graph::from_blocks(place, n_nodes, &blocks)
    }
}

/// Parses the table in `input`; errors refer to it as `path`.
fn parse(
    path: &Path,
    input: impl Read + Send,
    ids: &IdLookup,
    header: HeaderMode,
    weights: WeightChoice,
) -> Result<EdgeTable> {
    let mut lines = LineBlocks { input, rest: vec![] };
    let (mut block, mut next) = (vec![], vec![]);
    lines.fill(&mut block).map_err(text::io_error(path))?;
    let layout = EdgeLayout::of(path, &block, ids, header, weights)?;
    let (mut start, mut line) = layout.start;
    let (mut blocks, mut weights, mut has_decimal_comma) = (vec![], vec![], false);
    while !block.is_empty() {
        let threads = if block.len() < CHUNK_SIZE { 1 } else { parallel::available_threads() };
        let parse_all = || {
            let chunks = chunks(&block[start..]);
            parallel::map(threads, chunks, |chunk| parse_chunk(chunk, &layout, ids))
        };
        let (read, parsed) = match threads {
            1 => (lines.fill(&mut next), parse_all()),
            _ => parallel::join(|| lines.fill(&mut next), parse_all),
        };
        for chunk in parsed {
            let chunk = chunk.map_err(|(within, problem)| {
                text::line_error(&path.display().to_string(), line + within, problem)
            })?;
            line += chunk.n_lines;
            blocks.push(chunk.edges);
            weights.extend(chunk.weights);
            has_decimal_comma |= chunk.has_decimal_comma;
        }
        read.map_err(text::io_error(path))?;
        (block, next, start) = (next, block, 0);
    }
    Ok(EdgeTable { layout, blocks, weights, has_decimal_comma })
}

/// Reads blocks of whole lines.
struct LineBlocks<R> {
    input: R,
    /// The start of a line whose end has not been read yet.
    rest: Vec<u8>,
}

impl<R: Read> LineBlocks<R> {
    /// Replaces `block` with the next lines, about [`BLOCK_SIZE`] bytes; it is empty at the end of the
    /// file. An error if a line is too long; see [`MAX_LINE`].
    fn fill(&mut self, block: &mut Vec<u8>) -> io::Result<()> {
        block.clear();
        block.append(&mut self.rest);
        loop {
            block.reserve(BLOCK_SIZE);
            let count = (&mut self.input).take(BLOCK_SIZE as u64).read_to_end(block)?;
            if count == 0 {
                return Ok(());
            }
            if let Some(end) = memchr::memrchr(b'\n', block) {
                self.rest.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
                return Ok(());
            }
            if block.len() > MAX_LINE {
                let limit = MAX_LINE >> 20;
                return Err(io::Error::other(format!("a line is longer than {limit} MiB")));
            }
        }
    }
}

/// Splits a block at the first line end after every [`CHUNK_SIZE`] bytes.
fn chunks(mut block: &[u8]) -> Vec<&[u8]> {
    let mut chunks = vec![];
    while let Some(after) = block.get(CHUNK_SIZE..) {
        let end = memchr::memchr(b'\n', after).map_or(block.len(), |at| CHUNK_SIZE + at + 1);
        let (chunk, rest) = block.split_at(end);
        chunks.push(chunk);
        block = rest;
    }
    chunks.push(block);
    chunks
}

/// The edges of a chunk.
struct ParsedChunk {
    edges: Vec<EdgeEnds>,
    /// Empty if the table has no weight column.
    weights: Vec<f32>,
    has_decimal_comma: bool,
    n_lines: usize,
}

/// Parses a chunk; the error is the number of the first bad line in it, counted from 1, and the problem.
fn parse_chunk(
    mut chunk: &[u8],
    layout: &EdgeLayout,
    ids: &IdLookup,
) -> std::result::Result<ParsedChunk, (usize, String)> {
    let mut edges = Vec::with_capacity(1 + memchr::memchr_iter(b'\n', chunk).count());
    let (mut weights, mut has_decimal_comma, mut n_lines) = (vec![], false, 0);
    let is_simple = layout.n_fields == 2 && layout.columns == [0, 1] && layout.weight.is_none();
    while !chunk.is_empty() {
        n_lines += 1;
        if is_simple
            && let Some((u, v, rest)) = parse_simple_edge(chunk, layout.separator)
            && let (Some(u), Some(v)) = (ids.find_number(u), ids.find_number(v))
        {
            edges.push((u, v));
            chunk = rest;
            continue;
        }
        let (line, rest) = split_line(chunk);
        if let Some(edge) = layout.edge(line, ids).map_err(|problem| (n_lines, problem))? {
            edges.push(edge.ends);
            weights.extend(layout.weight.map(|_| edge.weight));
            has_decimal_comma |= edge.has_decimal_comma;
        }
        chunk = rest;
    }
    Ok(ParsedChunk { edges, weights, has_decimal_comma, n_lines })
}

/// Parses `12,34` and a line end, and returns both numbers and the rest. `None` if
/// [`parse_simple_number`] cannot parse both, or if the line has another form.
///
/// This is the fast path for tables that consist of two columns of numbers.
fn parse_simple_edge(bytes: &[u8], separator: u8) -> Option<(u32, u32, &[u8])> {
    let (u, rest) = parse_simple_number(bytes)?;
    let (v, rest) = parse_simple_number(rest.strip_prefix(&[separator])?)?;
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Some((u, v, rest.strip_prefix(b"\n")?))
}

/// Parses up to seven digits without a leading zero; returns the number and the rest. `None` for other
/// input and if fewer than eight bytes are left.
///
/// Eight bytes are processed at once as a little-endian word.
fn parse_simple_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let digits = u64::from_le_bytes(*bytes.first_chunk()?) ^ (EACH * u64::from(b'0'));
    // The highest bit is set for bytes of ten or more; carries only affect later bytes.
    let non_digits = (digits.wrapping_add(EACH * (0x80 - 10)) | digits) & (EACH * 0x80);
    let n_digits = non_digits.trailing_zeros() as usize / 8;
    let has_leading_zero = bytes.first() == Some(&b'0') && n_digits > 1;
    if n_digits == 0 || n_digits == 8 || has_leading_zero {
        return None;
    }
    // Pad with leading zeros, then combine neighbours: 8 x 1 digit, 4 x 2, 2 x 4, 1 x 8.
    let ones = digits << (64 - 8 * n_digits);
    let twos = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    let number = fours * 10_000 + (fours >> 32);
    Some((number as u32, &bytes[n_digits..]))
}

#[cfg(test)]
mod tests;
