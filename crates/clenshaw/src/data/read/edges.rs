//! Edge tables, however long: read block by block, parsed on all threads, straight into a graph.
//!
//! While one block is parsed the next one is read and unpacked; what stays is eight bytes an edge.
//! Blocks are cut at line ends, at places that do not depend on the number of threads.
//!
//! | line | meaning |
//! |---|---|
//! | `# ...`, `% ...` before the table | skipped |
//! | a first line neither of whose ids is known | the header |
//! | all others | two ids; further columns are ignored |
//!
//! The ids stand in columns called `source` and `target` (or `src`, `dst`; `from`, `to`; `u`, `v`;
//! `id1`, `id2`; `id_1`, `id_2`), else in the first two.

mod layout;

use self::layout::{Edge, Ids, Layout};
use super::fields::{Header, split_line};
use super::text;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

/// What is read at once.
const BLOCK: usize = 4 << 20;
/// What one thread parses at once.
const PIECE: usize = 256 << 10;
/// What no line exceeds.
const LONGEST_LINE: usize = 64 << 20;

/// Without a table of nodes, how far the highest id may lie beyond the edges that are there.
const NODES_PER_EDGE: usize = 16;
const NODES_AT_LEAST: usize = 1 << 20;

/// A graph from a file of edges whose ids are node numbers, from 0.
///
/// Without `n_nodes` the highest id decides.
///
/// ```
/// use clenshaw::data::read::edges;
///
/// let graph = edges::read_bytes("path", b"from,to\n0,1\n1,2\n", None)?;
/// assert_eq!((graph.n_nodes(), graph.n_edges()), (3, 2));
/// let error = edges::read_bytes("path", b"from,to\n0,1\n1,-2\n", None).unwrap_err();
/// assert_eq!(error.to_string(), "path:3: id `-2`; expected a node number, 0 or above");
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn read_edges(path: &Path, n_nodes: Option<usize>) -> Result<Graph> {
    numbered(path, text::open(path)?, n_nodes)
}

/// The same from bytes, packed or not; `place` names them in errors.
pub fn read_bytes(place: &str, bytes: &[u8], n_nodes: Option<usize>) -> Result<Graph> {
    let place = Path::new(place);
    numbered(place, text::unpack_bytes(place, bytes)?, n_nodes)
}

fn numbered(path: &Path, input: impl Read + Send, n_nodes: Option<usize>) -> Result<Graph> {
    let table = parse(path, input, &Ids::Numbers(n_nodes.unwrap_or(usize::MAX)), Header::Guessed)?;
    let place = path.display().to_string();
    let n_nodes = n_nodes.map_or_else(|| table.n_nodes(&place), Ok)?;
    table.graph(&place, n_nodes)
}

/// A graph from a table of edges between nodes that have names, and what to know about it.
pub(super) fn named(
    path: &Path,
    input: impl Read + Send,
    nodes: &HashMap<String, u32>,
    header: Header,
) -> Result<(Graph, Vec<String>)> {
    let table = parse(path, input, &Ids::names(nodes), header)?;
    let graph = table.graph(&path.display().to_string(), nodes.len())?;
    Ok((graph, table.layout.warnings))
}

/// Everything a table says.
struct Table {
    layout: Layout,
    /// In the order of the file.
    blocks: Vec<Vec<Edge>>,
}

impl Table {
    /// One more than the highest id, unless that lies far beyond the edges.
    fn n_nodes(&self, place: &str) -> Result<usize> {
        let highest = |block: &Vec<Edge>| block.iter().map(|&(u, v)| u.max(v)).max();
        let Some(highest) = self.blocks.iter().filter_map(highest).max() else { return Ok(0) };
        let n_edges = self.blocks.iter().map(Vec::len).sum::<usize>();
        let most = n_edges.saturating_mul(NODES_PER_EDGE).saturating_add(NODES_AT_LEAST);
        match highest as usize {
            highest if highest < most => Ok(highest + 1),
            highest => Err(Error::Data {
                place: place.into(),
                problem: format!(
                    "node {highest} in a list of {n_edges} edges; expected node numbers from 0 \
                     without large gaps, or a table of nodes"
                ),
            }),
        }
    }

    fn graph(&self, place: &str, n_nodes: usize) -> Result<Graph> {
        let blocks: Vec<&[Edge]> = self.blocks.iter().map(Vec::as_slice).collect();
        Graph::from_blocks(place, n_nodes, &blocks)
    }
}

fn parse(path: &Path, input: impl Read + Send, ids: &Ids, header: Header) -> Result<Table> {
    let mut lines = Blocks { input, rest: vec![] };
    let (mut block, mut next) = (vec![], vec![]);
    lines.fill(&mut block).map_err(text::trouble(path))?;
    let layout = Layout::of(path, &block, ids, header)?;
    let (mut start, mut line) = layout.start;
    let mut blocks = vec![];
    while !block.is_empty() {
        let threads = if block.len() < PIECE { 1 } else { parallel::available_threads() };
        let parse_all =
            || parallel::map(threads, pieces(&block[start..]), |p| parse_piece(p, &layout, ids));
        let (read, parsed) = match threads {
            1 => (lines.fill(&mut next), parse_all()),
            _ => parallel::join(|| lines.fill(&mut next), parse_all),
        };
        for piece in parsed {
            let piece = piece.map_err(|(within, problem)| {
                text::at(&path.display().to_string(), line + within, problem)
            })?;
            line += piece.n_lines;
            blocks.push(piece.edges);
        }
        read.map_err(text::trouble(path))?;
        (block, next, start) = (next, block, 0);
    }
    Ok(Table { layout, blocks })
}

/// Hands out whole lines.
struct Blocks<R> {
    input: R,
    /// The beginning of a line whose end was not read yet.
    rest: Vec<u8>,
}

impl<R: Read> Blocks<R> {
    /// The next lines, about [`BLOCK`] bytes; none at the end.
    fn fill(&mut self, block: &mut Vec<u8>) -> io::Result<()> {
        block.clear();
        block.append(&mut self.rest);
        loop {
            block.reserve(BLOCK);
            let count = (&mut self.input).take(BLOCK as u64).read_to_end(block)?;
            if count == 0 {
                return Ok(());
            }
            if let Some(end) = memchr::memrchr(b'\n', block) {
                self.rest.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
                return Ok(());
            }
            if block.len() > LONGEST_LINE {
                let most = LONGEST_LINE >> 20;
                return Err(io::Error::other(format!("a line is longer than {most} MiB")));
            }
        }
    }
}

/// Cuts at the first line end behind every [`PIECE`] bytes.
fn pieces(mut block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = vec![];
    while let Some(behind) = block.get(PIECE..) {
        let end = memchr::memchr(b'\n', behind).map_or(block.len(), |at| PIECE + at + 1);
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    pieces.push(block);
    pieces
}

struct Piece {
    edges: Vec<Edge>,
    n_lines: usize,
}

/// The edges of a piece, or the number of the first bad line within it and what is wrong there.
fn parse_piece(
    mut piece: &[u8],
    layout: &Layout,
    ids: &Ids,
) -> std::result::Result<Piece, (usize, String)> {
    let mut edges = Vec::with_capacity(1 + memchr::memchr_iter(b'\n', piece).count());
    let mut n_lines = 0;
    let is_plain = layout.n_fields == 2 && layout.columns == [0, 1];
    while !piece.is_empty() {
        n_lines += 1;
        if is_plain
            && let Some((u, v, rest)) = plain_edge(piece, layout.separator)
            && let (Some(u), Some(v)) = (ids.quick(u), ids.quick(v))
        {
            edges.push((u, v));
            piece = rest;
            continue;
        }
        let (line, rest) = split_line(piece);
        edges.extend(layout.edge(line, ids).map_err(|problem| (n_lines, problem))?);
        piece = rest;
    }
    Ok(Piece { edges, n_lines })
}

/// `12,34` and a line end: what nearly all lines of a long list look like.
fn plain_edge(bytes: &[u8], separator: u8) -> Option<(u32, u32, &[u8])> {
    let (u, rest) = plain_number(bytes)?;
    let (v, rest) = plain_number(rest.strip_prefix(&[separator])?)?;
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    Some((u, v, rest.strip_prefix(b"\n")?))
}

/// Up to seven digits without a zero in front, and what follows them; eight bytes are looked at together, the first lowest.
fn plain_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let digits = u64::from_le_bytes(*bytes.first_chunk()?) ^ (EACH * u64::from(b'0'));
    // A byte of ten or more reaches the highest bit; carries only touch bytes behind the first such.
    let others = (digits.wrapping_add(EACH * (0x80 - 10)) | digits) & (EACH * 0x80);
    let n_digits = others.trailing_zeros() as usize / 8;
    let zero_in_front = bytes.first() == Some(&b'0') && n_digits > 1;
    if n_digits == 0 || n_digits == 8 || zero_in_front {
        return None;
    }
    // Zeros in front, then neighbours join: 8 x 1 digit, 4 x 2, 2 x 4, 1 x 8.
    let ones = digits << (64 - 8 * n_digits);
    let twos = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    let number = fours * 10_000 + (fours >> 32);
    Some((number as u32, &bytes[n_digits..]))
}

#[cfg(test)]
mod tests;
