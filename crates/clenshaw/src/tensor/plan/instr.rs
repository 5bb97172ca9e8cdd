//! Instructions: what a compiled plan is made of, before it has an address for anything.

use crate::rng::Bernoulli;
use crate::tensor::kernel::{Act, Map};

/// A buffer's number.
pub(super) type Buf = usize;
/// A mask's number.
pub(super) type Mask = usize;

/// A factor: a number, or an entry or a row of a buffer read when the instruction runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    Fixed(f64),
    At(Buf, usize),
    Row(Buf, usize),
}

/// A place where dropout acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drop {
    pub site: u64,
    pub coin: Bernoulli,
}

/// One instruction. `add` means: add to the destination instead of overwriting it.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    /// The upper halves of the numbers of `src`, packed.
    Halve { src: Buf, dst: Buf },
    /// `dst = 0`.
    Clear { dst: Buf },
    /// `dst (+)= c P src + sum_t factor_t term_t + bias`.
    Sum {
        dst: Buf,
        add: bool,
        spread: Option<(usize, f64, Buf)>,
        terms: Vec<(Factor, Buf)>,
        bias: Option<Buf>,
    },
    /// `dst = a w + bias`.
    MatMul { a: Buf, w: Buf, bias: Option<Buf>, dst: Buf },
    /// `dst = X w + bias` for the sparse matrix X with these values.
    SparseMatMul { x: usize, values: Buf, w: Buf, bias: Option<Buf>, dst: Buf },
    /// The values of a sparse matrix after dropout.
    DropEntries { values: Buf, drop: Drop, dst: Buf },
    /// `dst = src^T`.
    Transpose { src: Buf, dst: Buf },
    /// Activation and dropout.
    Gate { src: Buf, dst: Buf, act: Act, drop: Option<Drop>, mask: Option<Mask> },
    /// `dst = mask . scale . src`.
    Ungate { src: Buf, mask: Mask, scale: f64, dst: Buf },
    /// `dst (+)= a^T g`.
    WeightGrad { a: Buf, g: Buf, dst: Buf, add: bool },
    /// `dst (+)= X^T g`.
    SparseWeightGrad { x: usize, values: Buf, g: Buf, dst: Buf, add: bool },
    /// `dst (+)= sum of the rows of g`.
    ColumnSums { g: Buf, dst: Buf, add: bool },
    /// `dst[at] += <a, b>`.
    Dot { a: Buf, b: Buf, dst: Buf, at: usize },
    /// `dst[.., to..to+width] = src[.., from..from+width]`.
    CopyColumns { src: Buf, from: usize, dst: Buf, to: usize, width: usize },
    /// `dst = f(src)`.
    Map { map: Map, src: Buf, dst: Buf },
    /// `dst = f'(x) g`, with `y = f(x)`.
    MapGrad { map: Map, x: Buf, y: Buf, g: Buf, dst: Buf },
    /// `dst = a b`, entry by entry.
    Product { a: Buf, b: Buf, dst: Buf },
    /// `dst = max(a, b)`, entry by entry.
    Max { a: Buf, b: Buf, dst: Buf },
    /// `dst = g` where `winner` is the larger, else 0; `first` wins among equals.
    MaxGrad { winner: Buf, other: Buf, first: bool, g: Buf, dst: Buf },
    /// `dst[i, ..] = by[i, column] x[i, ..]`.
    ScaleRows { x: Buf, by: Buf, column: usize, dst: Buf },
    /// `dst[i, column] += <a[i, ..], b[i, ..]>`.
    RowDots { a: Buf, b: Buf, dst: Buf, column: usize },
    /// Rows moved towards zero.
    Shrink { threshold: f64, src: Buf, dst: Buf },
    /// Its gradient.
    ShrinkGrad { threshold: f64, x: Buf, g: Buf, dst: Buf },
    /// Rows turned into shares.
    Softmax { src: Buf, dst: Buf },
    /// Its gradient, from its result.
    SoftmaxGrad { y: Buf, g: Buf, dst: Buf },
    /// `dst[at, c] (+)= sum_i a[i, c] b[i, c]`.
    ColumnDots { a: Buf, b: Buf, dst: Buf, at: usize, add: bool },
    /// `dst = (1, x_0, x_0 x_1, ...)`.
    RunningProduct { x: Buf, dst: Buf },
    /// Its gradient.
    RunningProductGrad { x: Buf, g: Buf, dst: Buf },
    /// The loss and its gradient with respect to the scores.
    Loss { scores: Buf, grad: Buf },
}

/// How an instruction touches a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads the rows it works on.
    ReadRows,
    /// Reads any row.
    ReadAll,
    /// Writes the rows it works on.
    WriteRows,
    /// Adds up over all rows; complete only when every row has been seen.
    Reduce,
}

impl Instr {
    /// Every buffer it touches, and how.
    pub fn touches(&self) -> Vec<(Buf, Access)> {
        use Access::{ReadAll, ReadRows, Reduce, WriteRows};
        match self {
            Self::Clear { dst } => vec![(*dst, WriteRows)],
            Self::Sum { dst, spread, terms, bias, .. } => {
                let mut list = vec![(*dst, WriteRows)];
                list.extend(spread.map(|(_, _, src)| (src, ReadAll)));
                list.extend(bias.map(|bias| (bias, ReadAll)));
                for (factor, src) in terms {
                    list.push((*src, ReadRows));
                    if let Factor::At(row, _) | Factor::Row(row, _) = factor {
                        list.push((*row, ReadAll));
                    }
                }
                list
            }
            Self::MatMul { a, w, bias, dst } => {
                let mut list = vec![(*a, ReadRows), (*w, ReadAll), (*dst, WriteRows)];
                list.extend(bias.map(|bias| (bias, ReadAll)));
                list
            }
            Self::SparseMatMul { values, w, bias, dst, .. } => {
                let mut list = vec![(*values, ReadAll), (*w, ReadAll), (*dst, WriteRows)];
                list.extend(bias.map(|bias| (bias, ReadAll)));
                list
            }
            Self::DropEntries { values, dst, .. } => vec![(*values, ReadRows), (*dst, WriteRows)],
            Self::Transpose { src, dst } => vec![(*src, ReadAll), (*dst, WriteRows)],
            Self::Gate { src, dst, .. }
            | Self::Ungate { src, dst, .. }
            | Self::Halve { src, dst }
            | Self::CopyColumns { src, dst, .. }
            | Self::Map { src, dst, .. }
            | Self::Shrink { src, dst, .. }
            | Self::Softmax { src, dst } => vec![(*src, ReadRows), (*dst, WriteRows)],
            Self::Product { a, b, dst }
            | Self::Max { a, b, dst }
            | Self::ScaleRows { x: a, by: b, dst, .. }
            | Self::RowDots { a, b, dst, .. }
            | Self::ShrinkGrad { x: a, g: b, dst, .. }
            | Self::SoftmaxGrad { y: a, g: b, dst } => {
                vec![(*a, ReadRows), (*b, ReadRows), (*dst, WriteRows)]
            }
            Self::MapGrad { x: a, y: b, g, dst, .. }
            | Self::MaxGrad { winner: a, other: b, g, dst, .. } => {
                vec![(*a, ReadRows), (*b, ReadRows), (*g, ReadRows), (*dst, WriteRows)]
            }
            Self::RunningProduct { x, dst } => vec![(*x, ReadAll), (*dst, WriteRows)],
            Self::RunningProductGrad { x, g, dst } => {
                vec![(*x, ReadAll), (*g, ReadAll), (*dst, WriteRows)]
            }
            Self::WeightGrad { a, g, dst, .. } => {
                vec![(*a, ReadRows), (*g, ReadRows), (*dst, Reduce)]
            }
            Self::SparseWeightGrad { values, g, dst, .. } => {
                vec![(*values, ReadAll), (*g, ReadAll), (*dst, WriteRows)]
            }
            Self::ColumnSums { g, dst, .. } => vec![(*g, ReadRows), (*dst, Reduce)],
            Self::Dot { a, b, dst, .. } | Self::ColumnDots { a, b, dst, .. } => {
                vec![(*a, ReadRows), (*b, ReadRows), (*dst, Reduce)]
            }
            Self::Loss { scores, grad } => vec![(*scores, ReadRows), (*grad, WriteRows)],
        }
    }

    /// The buffer whose rows it walks over.
    pub fn walks(&self) -> Buf {
        match self {
            Self::WeightGrad { g, .. } | Self::ColumnSums { g, .. } => *g,
            Self::Dot { a, .. } | Self::ColumnDots { a, .. } => *a,
            Self::Loss { grad, .. } => *grad,
            Self::Clear { dst }
            | Self::Sum { dst, .. }
            | Self::MatMul { dst, .. }
            | Self::SparseMatMul { dst, .. }
            | Self::DropEntries { dst, .. }
            | Self::Transpose { dst, .. }
            | Self::Gate { dst, .. }
            | Self::Ungate { dst, .. }
            | Self::Halve { dst, .. }
            | Self::SparseWeightGrad { dst, .. }
            | Self::CopyColumns { dst, .. }
            | Self::Map { dst, .. }
            | Self::MapGrad { dst, .. }
            | Self::Product { dst, .. }
            | Self::Max { dst, .. }
            | Self::MaxGrad { dst, .. }
            | Self::ScaleRows { dst, .. }
            | Self::RowDots { dst, .. }
            | Self::Shrink { dst, .. }
            | Self::ShrinkGrad { dst, .. }
            | Self::Softmax { dst, .. }
            | Self::SoftmaxGrad { dst, .. }
            | Self::RunningProduct { dst, .. }
            | Self::RunningProductGrad { dst, .. } => *dst,
        }
    }

    /// The mask it reads or writes.
    pub fn mask(&self) -> Option<Mask> {
        match self {
            Self::Gate { mask, .. } => *mask,
            Self::Ungate { mask, .. } => Some(*mask),
            _ => None,
        }
    }
}

/// Where a buffer's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Computed during the step.
    Computed,
    /// The parameter vector, at this offset.
    Param(usize),
    /// The gradient vector, at this offset.
    Grad(usize),
    /// The plan's constants, by number.
    Const(usize),
}

/// A buffer: shape and home.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufSpec {
    pub rows: usize,
    pub cols: usize,
    pub home: Home,
    /// Whether it holds packed upper halves instead of numbers.
    pub halves: bool,
}

/// A straight-line program: three sections run one after the other.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub bufs: Vec<BufSpec>,
    /// Rows and columns of each mask.
    pub masks: Vec<(usize, usize)>,
    /// What depends on parameters alone.
    pub prologue: Vec<Instr>,
    /// What has a row per node.
    pub main: Vec<Instr>,
    /// Gradients of what depends on parameters alone.
    pub epilogue: Vec<Instr>,
}

impl Listing {
    pub fn buffer(&mut self, rows: usize, cols: usize, home: Home) -> Buf {
        self.bufs.push(BufSpec { rows, cols, home, halves: false });
        self.bufs.len() - 1
    }

    pub fn computed(&mut self, rows: usize, cols: usize) -> Buf {
        self.buffer(rows, cols, Home::Computed)
    }
}
