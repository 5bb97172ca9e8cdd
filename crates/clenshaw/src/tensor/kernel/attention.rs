//! Attention over the neighbours of every node: an edge softmax per head.
//!
//! ```text
//! x_ij    = s_j + d_i                             j a neighbour of i, that is, an entry (i, j) of the pattern
//! e_ij    = x_ij if x_ij > 0, else slope x_ij
//! a_ij    = exp(e_ij - l_i)                       l_i = log sum_j exp(e_ij)
//! out_i   = sum_j m_ij a_ij g_j                   m_ij = 0 or 1 / (1 - p): dropout, not renormalised
//! ```
//!
//! With the gradient y of the result, and all products of rows taken per head:
//!
//! ```text
//! dx_ij = a_ij e'_ij ( m_ij <y_i, g_j> - <y_i, out_i> )
//! dg_j  = sum_i m_ij a_ij y_i                     ds_j = sum_i dx_ij        dd_i = sum_j dx_ij
//! ```
//!
//! The pattern is symmetric, so the sums over i also run over the entries of row j. The gradients of a row
//! are therefore computed by one thread, from the stored l and `<y, out>`, and nothing is scattered.
//! A node without neighbours has `out = 0`.

use super::{Arith, Kernel};
use crate::rng::{Bernoulli, Stream};
use crate::tensor::Real;

/// The largest number of heads.
pub(crate) const MAX_HEADS: usize = 64;

/// Which columns belong to which head of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadLayout {
    /// The columns of a head are adjacent: those of head 0, then those of head 1, and so on.
    Blocks,
    /// Column `c` belongs to head `c mod heads`.
    Interleaved,
}

impl HeadLayout {
    /// The head to which `column` belongs, in a matrix of `cols` columns.
    pub fn head(self, column: usize, cols: usize, heads: usize) -> usize {
        match self {
            Self::Blocks => column / (cols / heads),
            Self::Interleaved => column % heads,
        }
    }

    /// `out[c] += weights[head of c] x[c]`.
    #[inline(always)]
    fn add_scaled<A: Arith, T: Real>(self, weights: &[T], x: &[T], out: &mut [T]) {
        match self {
            Self::Blocks => {
                let width = out.len() / weights.len();
                let blocks = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
                for ((out, x), weight) in blocks.zip(weights) {
                    out.iter_mut().zip(x).for_each(|(out, x)| *out = A::madd(*weight, *x, *out));
                }
            }
            Self::Interleaved => {
                let groups = out.chunks_mut(weights.len()).zip(x.chunks(weights.len()));
                for (out, x) in groups {
                    let columns = out.iter_mut().zip(x).zip(weights);
                    columns.for_each(|((out, x), weight)| *out = A::madd(*weight, *x, *out));
                }
            }
        }
    }

    /// `out[c] *= factors[head of c]`.
    #[inline(always)]
    fn scale<T: Real>(self, factors: &[T], out: &mut [T]) {
        match self {
            Self::Blocks => {
                let width = out.len() / factors.len();
                for (out, factor) in out.chunks_exact_mut(width).zip(factors) {
                    out.iter_mut().for_each(|out| *out = *factor * *out);
                }
            }
            Self::Interleaved => {
                for out in out.chunks_mut(factors.len()) {
                    out.iter_mut().zip(factors).for_each(|(out, factor)| *out = *factor * *out);
                }
            }
        }
    }

    /// `out[k] = <a, b>` over the columns of head k.
    #[inline(always)]
    fn dots<A: Arith, T: Real>(self, a: &[T], b: &[T], out: &mut [T]) {
        let heads = out.len();
        match self {
            Self::Blocks => {
                let width = a.len() / heads;
                let blocks = a.chunks_exact(width).zip(b.chunks_exact(width));
                for ((a, b), out) in blocks.zip(out) {
                    *out = short_dot::<A, T>(a, b);
                }
            }
            Self::Interleaved => {
                out.fill(T::ZERO);
                for (a, b) in a.chunks(heads).zip(b.chunks(heads)) {
                    let columns = out.iter_mut().zip(a).zip(b);
                    columns.for_each(|((out, a), b)| *out = A::madd(*a, *b, *out));
                }
            }
        }
    }
}

/// `<a, b>` in eight partial sums; all instruction sets add in the same order.
#[inline(always)]
fn short_dot<A: Arith, T: Real>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 8;
    let mut sums = [T::ZERO; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            sums[i] = A::madd(a[i], b[i], sums[i]);
        }
    }
    for ((a, b), sum) in a_rest.iter().zip(b_rest).zip(&mut sums) {
        *sum = A::madd(*a, *b, *sum);
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Dropout of the weights of edges. The random bits of an edge depend on the numbers of its nodes.
#[derive(Clone, Copy)]
pub(crate) struct EdgeDropout<'a> {
    pub keep: Bernoulli,
    pub stream: &'a Stream,
    /// The node in each row; `None` if the rows are in the order of the node numbers.
    pub nodes: Option<&'a [u32]>,
    pub n_nodes: usize,
}

impl EdgeDropout<'_> {
    /// Sets `out[k]` to the factor of head k of the edge from row j to row i: 0 or the inverse of the
    /// probability of keeping it.
    #[inline(always)]
    fn factors<T: Real>(&self, i: usize, j: usize, out: &mut [T]) {
        /// Every head takes 16 of the 64 bits of a word.
        const PER_WORD: usize = 4;
        let node = |row: usize| self.nodes.map_or(row, |nodes| nodes[row] as usize) as u64;
        let edge = node(i).wrapping_mul(self.n_nodes as u64).wrapping_add(node(j));
        let first = edge.wrapping_mul(out.len().div_ceil(PER_WORD) as u64);
        let scale = T::from_f64(1.0 / self.keep.keep_probability());
        for (w, out) in out.chunks_mut(PER_WORD).enumerate() {
            let bits = self.stream.bits(first.wrapping_add(w as u64));
            for (k, out) in out.iter_mut().enumerate() {
                let is_kept = self.keep.keeps((bits >> (16 * k)) as u16);
                *out = if is_kept { scale } else { T::ZERO };
            }
        }
    }
}

/// The edges of a block of rows and their scores.
#[derive(Clone, Copy)]
pub(crate) struct AttentionEdges<'a, T> {
    pub layout: HeadLayout,
    pub heads: usize,
    /// The number of columns of `values`.
    pub cols: usize,
    pub slope: T,
    /// The first row of the block.
    pub first_row: usize,
    /// The start of each row of the block among the entries, and the end of the last one.
    pub offsets: &'a [usize],
    /// The columns of all entries of the pattern, which are rows of the following matrices.
    pub indices: &'a [u32],
    /// s, all rows.
    pub source: &'a [T],
    /// d, all rows.
    pub destination: &'a [T],
    /// g, all rows.
    pub values: &'a [T],
    pub drop: Option<EdgeDropout<'a>>,
}

impl<'a, T: Real> AttentionEdges<'a, T> {
    /// The rows of the block, from 0, with their neighbours.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = (usize, &'a [u32])> + use<'a, T> {
        let (offsets, indices) = (self.offsets, self.indices);
        offsets.windows(2).map(move |pair| &indices[pair[0]..pair[1]]).enumerate()
    }

    /// Row `i` of a matrix with one column per head.
    #[inline(always)]
    fn per_head(&self, matrix: &'a [T], i: usize) -> &'a [T] {
        &matrix[i * self.heads..(i + 1) * self.heads]
    }

    /// Row `i` of a matrix with the columns of `values`.
    #[inline(always)]
    fn row(&self, matrix: &'a [T], i: usize) -> &'a [T] {
        &matrix[i * self.cols..(i + 1) * self.cols]
    }

    /// `e` and its derivative, given `x`.
    #[inline(always)]
    fn leaky(&self, x: T) -> (T, T) {
        if x > T::ZERO { (x, T::ONE) } else { (self.slope * x, self.slope) }
    }

    /// Sets `out[k]` to m_ij of head k.
    #[inline(always)]
    fn factors(&self, i: usize, j: usize, out: &mut [T]) {
        match &self.drop {
            Some(drop) => drop.factors(i, j, out),
            None => out.fill(T::ONE),
        }
    }
}

/// `out` and `l` of a block of rows.
pub(crate) struct Attention<'a, T> {
    pub edges: AttentionEdges<'a, T>,
    pub out: &'a mut [T],
    pub log_sums: &'a mut [T],
}

impl<T: Real> Kernel for Attention<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { edges, out, log_sums } = self;
        let (heads, layout) = (edges.heads, edges.layout);
        let mut memory = [[T::ZERO; MAX_HEADS]; 4];
        let [max, sum, weights, factors] = memory.each_mut().map(|part| &mut part[..heads]);
        for (r, neighbours) in edges.rows() {
            let i = edges.first_row + r;
            let out = &mut out[r * edges.cols..(r + 1) * edges.cols];
            let log_sums = &mut log_sums[r * heads..(r + 1) * heads];
            out.fill(T::ZERO);
            if neighbours.is_empty() {
                log_sums.fill(T::ZERO);
                continue;
            }
            let d = edges.per_head(edges.destination, i);
            max.fill(T::from_f64(f64::NEG_INFINITY));
            sum.fill(T::ZERO);
            for &j in neighbours {
                let s = edges.per_head(edges.source, j as usize);
                for k in 0..heads {
                    let (e, _) = edges.leaky(s[k] + d[k]);
                    max[k] = if e > max[k] { e } else { max[k] };
                }
            }
            for &j in neighbours {
                let j = j as usize;
                let s = edges.per_head(edges.source, j);
                edges.factors(i, j, factors);
                for k in 0..heads {
                    let (e, _) = edges.leaky(s[k] + d[k]);
                    let weight = (e - max[k]).exp();
                    sum[k] += weight;
                    weights[k] = factors[k] * weight;
                }
                layout.add_scaled::<A, T>(weights, edges.row(edges.values, j), out);
            }
            for k in 0..heads {
                log_sums[k] = max[k] + sum[k].ln();
                weights[k] = T::ONE / sum[k];
            }
            layout.scale(weights, out);
        }
    }
}

/// The gradients with respect to values and scores, for a block of rows.
pub(crate) struct AttentionGrad<'a, T> {
    pub edges: AttentionEdges<'a, T>,
    /// l, all rows.
    pub log_sums: &'a [T],
    /// y, all rows.
    pub out_grad: &'a [T],
    /// `<y, out>` per head, all rows.
    pub dots: &'a [T],
    pub values_grad: &'a mut [T],
    pub source_grad: &'a mut [T],
    pub destination_grad: &'a mut [T],
}

impl<T: Real> Kernel for AttentionGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { edges, log_sums, out_grad, dots, .. } = self;
        let (heads, layout) = (edges.heads, edges.layout);
        let mut memory = [[T::ZERO; MAX_HEADS]; 3];
        let [weights, factors, products] = memory.each_mut().map(|part| &mut part[..heads]);
        self.values_grad.fill(T::ZERO);
        self.source_grad.fill(T::ZERO);
        self.destination_grad.fill(T::ZERO);
        for (r, neighbours) in edges.rows() {
            let row = edges.first_row + r;
            let values_grad = &mut self.values_grad[r * edges.cols..(r + 1) * edges.cols];
            let source_grad = &mut self.source_grad[r * heads..(r + 1) * heads];
            let destination_grad = &mut self.destination_grad[r * heads..(r + 1) * heads];
            for &other in neighbours {
                let other = other as usize;
                // Sets `weights` to m_ij a_ij and adds dx_ij to a gradient, for the edge from j to i.
                let mut edge = |i: usize, j: usize, weights: &mut [T], grad: &mut [T]| {
                    let (y, g) = (edges.row(out_grad, i), edges.row(edges.values, j));
                    layout.dots::<A, T>(y, g, products);
                    edges.factors(i, j, factors);
                    let (s, d) =
                        (edges.per_head(edges.source, j), edges.per_head(edges.destination, i));
                    let (log_sums, dots) = (edges.per_head(log_sums, i), edges.per_head(dots, i));
                    for k in 0..heads {
                        let (e, slope) = edges.leaky(s[k] + d[k]);
                        let alpha = (e - log_sums[k]).exp();
                        weights[k] = factors[k] * alpha;
                        grad[k] += alpha * slope * (factors[k] * products[k] - dots[k]);
                    }
                };
                edge(row, other, weights, destination_grad);
                edge(other, row, weights, source_grad);
                layout.add_scaled::<A, T>(weights, edges.row(out_grad, other), values_grad);
            }
        }
    }
}

/// `out[r, k] = <a[r], b[r]>` over the columns of head k, for every row.
pub(crate) struct HeadDots<'a, T> {
    pub layout: HeadLayout,
    pub heads: usize,
    pub cols: usize,
    pub a: &'a [T],
    pub b: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for HeadDots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let rows = self.a.chunks_exact(self.cols).zip(self.b.chunks_exact(self.cols));
        for ((a, b), out) in rows.zip(self.out.chunks_exact_mut(self.heads)) {
            self.layout.dots::<A, T>(a, b, out);
        }
    }
}

#[cfg(test)]
mod tests;
