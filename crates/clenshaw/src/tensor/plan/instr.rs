//! The instructions of a plan, and the properties of each that the passes use.
//!
//! [`Instr::info`] states what an instruction reads and writes, which rows it iterates over, what it sums
//! over rows, what it costs and under which phase it is reported.
//! Scheduling, bf16 gathering, cost accounting and execution use it.

use super::cost::Phase;
use crate::rng::Bernoulli;
use crate::tensor::kernel::{Act, HeadLayout, Map};

/// The index of a buffer.
pub(super) type Buf = usize;
/// The index of a mask.
pub(super) type Mask = usize;

/// A factor of a term; its source is a value in an [`Op`](super::op::Op), and a buffer in an [`Instr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    /// A fixed number.
    Fixed(f64),
    /// Entry `.1` of source `.0`.
    Entry(usize, usize),
    /// Row `.1` of source `.0`: a factor per column.
    Row(usize, usize),
}

impl Factor {
    /// The value or buffer that the factor is read from; `None` for a fixed number.
    pub fn source(self) -> Option<usize> {
        match self {
            Self::Fixed(_) => None,
            Self::Entry(source, _) | Self::Row(source, _) => Some(source),
        }
    }
}

/// `coef P src`, a sparse matrix product with an operator; `src` is a value in an `Op`, and a buffer in an [`Instr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spmm {
    /// The index of the operator.
    pub operator: usize,
    pub coef: f64,
    pub src: usize,
}

/// The inputs of an attention, as in [`AttentionInputs`](super::AttentionInputs); each matrix is a value in an
/// `Op`, and a buffer in an [`Instr`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EdgeSoftmax {
    /// The index of the operator whose entries are the edges.
    pub operator: usize,
    pub values: usize,
    pub source: usize,
    pub destination: usize,
    pub layout: HeadLayout,
    /// The factor by which the leaky ReLU multiplies negative sums of two scores.
    pub slope: f64,
}

/// The parameters of a dropout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dropout {
    /// The number of the dropout on its tape, which selects the random stream.
    pub site: u64,
    /// The probability of keeping an entry.
    pub keep: Bernoulli,
    /// For [`Instr::Gate`], whether the value is [per node](super::op::Node::per_node): the random bits of rows that
    /// belong to nodes then depend on the node numbers, not on the order of the rows in memory. Other instructions
    /// ignore it.
    pub per_node: bool,
}

/// One instruction. `add` means adding to the destination instead of overwriting it.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    /// `dst = 0`.
    Clear { dst: Buf },
    /// `dst = bf16(src)`, packed.
    Bf16 { src: Buf, dst: Buf },
    /// `dst (+)= c P src + sum_t factor_t term_t + bias`.
    Sum { dst: Buf, add: bool, spmm: Option<Spmm>, terms: Vec<(Factor, Buf)>, bias: Option<Buf> },
    /// `dst = a w + bias`.
    MatMul { a: Buf, w: Buf, bias: Option<Buf>, dst: Buf },
    /// `dst = X w + bias` for a sparse matrix X with these values.
    SparseMatMul { matrix: usize, values: Buf, w: Buf, bias: Option<Buf>, dst: Buf },
    /// `dst (+)= a^T g`.
    WeightGrad { a: Buf, g: Buf, dst: Buf, add: bool },
    /// `dst (+)= X^T g`.
    SparseWeightGrad { matrix: usize, values: Buf, g: Buf, dst: Buf, add: bool },
    /// `dst_i = sum_j a_ij values_j` over the neighbours j of i, with the weights a of an edge softmax;
    /// `log_sums` receives the logarithm of the sum of the exponentials.
    Attention { softmax: EdgeSoftmax, drop: Option<Dropout>, dst: Buf, log_sums: Buf },
    /// The gradients of `Attention`, from the gradient `g` of its result and the inner products `dots` of its
    /// result with `g`, per head.
    AttentionGrad {
        softmax: EdgeSoftmax,
        drop: Option<Dropout>,
        log_sums: Buf,
        g: Buf,
        dots: Buf,
        values_grad: Buf,
        source_grad: Buf,
        destination_grad: Buf,
    },
    /// `dst[i, k] = <a[i, ..], b[i, ..]>` over the columns of head k.
    HeadDots { layout: HeadLayout, a: Buf, b: Buf, dst: Buf },
    /// `dst = src^T`.
    Transpose { src: Buf, dst: Buf },
    /// Activation and dropout; `mask` receives a bit per entry, set if the entry passes.
    Gate { src: Buf, dst: Buf, act: Act, drop: Option<Dropout>, mask: Option<Mask> },
    /// `dst = mask . scale . src`.
    GateGrad { src: Buf, mask: Mask, scale: f64, dst: Buf },
    /// The values of a sparse matrix after dropout.
    SparseDropout { values: Buf, drop: Dropout, dst: Buf },
    /// `dst (+)= sum_i g[i, ..]`, a row.
    ColumnSums { g: Buf, dst: Buf, add: bool },
    /// `dst[row, c] (+)= sum_i a[i, c] b[i, c]`.
    ColumnDots { a: Buf, b: Buf, dst: Buf, row: usize, add: bool },
    /// `dst[entry] += <a, b>`.
    Dot { a: Buf, b: Buf, dst: Buf, entry: usize },
    /// `dst[.., to..to+width] = src[.., from..from+width]`.
    CopyColumns { src: Buf, from: usize, dst: Buf, to: usize, width: usize },
    /// `dst[i, ..] = src[row of node i, ..]`.
    RestoreOrder { src: Buf, dst: Buf },
    /// `dst = f(src)`.
    Map { map: Map, src: Buf, dst: Buf },
    /// `dst = f'(x) g`, with `y = f(x)`.
    MapGrad { map: Map, x: Buf, y: Buf, g: Buf, dst: Buf },
    /// `dst = a b`, element-wise.
    Product { a: Buf, b: Buf, dst: Buf },
    /// `dst = max(a, b)`, element-wise.
    Max { a: Buf, b: Buf, dst: Buf },
    /// `dst = g` where `x > other`, or where `x = other` if `x` `wins_ties`; 0 elsewhere.
    MaxGrad { x: Buf, other: Buf, wins_ties: bool, g: Buf, dst: Buf },
    /// `dst[i, ..] = by[i, column] x[i, ..]`.
    ScaleRows { x: Buf, by: Buf, column: usize, dst: Buf },
    /// `dst[i, column] += <a[i, ..], b[i, ..]>`.
    RowDots { a: Buf, b: Buf, dst: Buf, column: usize },
    /// `dst_i = max(0, 1 - threshold / |src_i|) src_i` for every row.
    Shrink { threshold: f64, src: Buf, dst: Buf },
    /// The gradient of `Shrink`.
    ShrinkGrad { threshold: f64, x: Buf, g: Buf, dst: Buf },
    /// The softmax of every row.
    Softmax { src: Buf, dst: Buf },
    /// The gradient of `Softmax`, from its result.
    SoftmaxGrad { y: Buf, g: Buf, dst: Buf },
    /// Every row minus its mean, divided by its standard deviation; `eps` is added to the variance.
    Standardise { eps: f64, src: Buf, dst: Buf },
    /// The gradient of `Standardise`.
    StandardiseGrad { eps: f64, x: Buf, g: Buf, dst: Buf },
    /// `dst = (1, x_0, x_0 x_1, ...)`.
    RunningProduct { x: Buf, dst: Buf },
    /// The gradient of `RunningProduct`.
    RunningProductGrad { x: Buf, g: Buf, dst: Buf },
    /// The loss and its gradient with respect to the scores.
    Loss { scores: Buf, grad: Buf },
}

/// How an instruction accesses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads the rows it works on.
    ReadRows,
    /// May read any row.
    ReadAll,
    /// Writes the rows it works on.
    WriteRows,
    /// Writes a sum over all rows, which is complete at the end of the stage.
    Reduce,
}

/// The destination of a sum over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReduceInto {
    /// A whole buffer.
    Buffer(Buf),
    /// Row `.1` of a buffer.
    Row(Buf, usize),
    /// Entry `.1` of a buffer.
    Entry(Buf, usize),
    /// The loss.
    Loss,
}

/// A sum over rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub into: ReduceInto,
    /// Adds to the destination instead of overwriting it.
    pub add: bool,
}

/// The dominant part of an instruction's work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Neither a dense product nor a gather.
    Elementwise,
    /// A dense product over the columns of `k` and `n`: `2 rows k n` flops.
    Product { k: Buf, n: Buf },
    /// Gathers a row of `src` per entry of an operator, or fewer if rows share sums.
    Spmm { operator: usize, src: Buf },
    /// Gathers `n_rows` rows of the width of `src` per entry of an operator.
    Attention { operator: usize, src: Buf, n_rows: usize },
    /// Gathers a row of `src` per entry of a sparse matrix with these values.
    SparseMatMul { matrix: usize, values: Buf, src: Buf },
    /// Gathers a row of `src` per entry of the transposed sparse matrix.
    SparseTransposeMatMul { matrix: usize, values: Buf, src: Buf },
}

/// The properties of an instruction that the passes use.
#[derive(Clone, Debug)]
pub(super) struct Info {
    /// The buffer whose rows the instruction iterates over.
    pub iterated: Buf,
    pub phase: Phase,
    pub accesses: Vec<(Buf, Access)>,
    /// The mask it reads or writes.
    pub mask: Option<Mask>,
    pub reduction: Option<Reduction>,
    pub work: Work,
}

impl Info {
    /// The properties of an instruction that iterates over the rows of a buffer and accesses nothing yet.
    fn new(iterated: Buf, phase: Phase) -> Self {
        let accesses = Vec::new();
        Self { iterated, phase, accesses, mask: None, reduction: None, work: Work::Elementwise }
    }

    /// An instruction that writes the rows it iterates over.
    fn writing(dst: Buf, phase: Phase) -> Self {
        Self::new(dst, phase).access(Access::WriteRows, [dst])
    }

    /// An element-wise or row-wise function of some buffers.
    fn row_wise(dst: Buf, sources: impl IntoIterator<Item = Buf>) -> Self {
        Self::writing(dst, Phase::Rest).access(Access::ReadRows, sources)
    }

    /// An instruction that sums over the rows of a buffer.
    fn reducing(iterated: Buf, phase: Phase, into: ReduceInto, add: bool) -> Self {
        let dst = match into {
            ReduceInto::Buffer(dst) | ReduceInto::Row(dst, _) | ReduceInto::Entry(dst, _) => {
                Some(dst)
            }
            ReduceInto::Loss => None,
        };
        let reduction = Some(Reduction { into, add });
        Self { reduction, ..Self::new(iterated, phase).access(Access::Reduce, dst) }
    }

    /// Adds accesses of this kind to buffers.
    fn access(mut self, access: Access, bufs: impl IntoIterator<Item = Buf>) -> Self {
        self.accesses.extend(bufs.into_iter().map(|buf| (buf, access)));
        self
    }

    /// Sets the mask.
    fn mask(self, mask: Option<Mask>) -> Self {
        Self { mask, ..self }
    }

    /// Sets the work.
    fn work(self, work: Work) -> Self {
        Self { work, ..self }
    }
}

impl Instr {
    /// The properties of this instruction that the passes use.
    pub fn info(&self) -> Info {
        use Access::{ReadAll, ReadRows};
        match *self {
            Self::Clear { dst } => Info::row_wise(dst, []),
            Self::Bf16 { src, dst } => Info::row_wise(dst, [src]),
            Self::Sum { dst, spmm, ref terms, bias, .. } => {
                let info = match spmm {
                    None => Info::writing(dst, Phase::Rest),
                    Some(Spmm { operator, src, .. }) => Info::writing(dst, Phase::Spmm)
                        .access(ReadAll, [src])
                        .work(Work::Spmm { operator, src }),
                };
                info.access(ReadAll, bias)
                    .access(ReadRows, terms.iter().map(|(_, src)| *src))
                    .access(ReadAll, terms.iter().filter_map(|(factor, _)| factor.source()))
            }
            Self::MatMul { a, w, bias, dst } => Info::writing(dst, Phase::Products)
                .access(ReadRows, [a])
                .access(ReadAll, [w].into_iter().chain(bias))
                .work(Work::Product { k: a, n: dst }),
            Self::SparseMatMul { matrix, values, w, bias, dst } => {
                Info::writing(dst, Phase::Features)
                    .access(ReadAll, [values, w].into_iter().chain(bias))
                    .work(Work::SparseMatMul { matrix, values, src: w })
            }
            Self::WeightGrad { a, g, dst, add } => {
                Info::reducing(g, Phase::Products, ReduceInto::Buffer(dst), add)
                    .access(ReadRows, [a, g])
                    .work(Work::Product { k: a, n: g })
            }
            Self::SparseWeightGrad { matrix, values, g, dst, .. } => {
                Info::writing(dst, Phase::Features)
                    .access(ReadAll, [values, g])
                    .work(Work::SparseTransposeMatMul { matrix, values, src: g })
            }
            Self::Attention { softmax, dst, log_sums, .. } => {
                let EdgeSoftmax { operator, values, source, destination, .. } = softmax;
                Info::writing(dst, Phase::Spmm)
                    .access(Access::WriteRows, [log_sums])
                    .access(ReadAll, [values, source, destination])
                    .work(Work::Attention { operator, src: values, n_rows: 1 })
            }
            Self::AttentionGrad {
                softmax,
                log_sums,
                g,
                dots,
                values_grad,
                source_grad,
                destination_grad,
                ..
            } => {
                let EdgeSoftmax { operator, values, source, destination, .. } = softmax;
                Info::writing(values_grad, Phase::Spmm)
                    .access(Access::WriteRows, [source_grad, destination_grad])
                    .access(ReadAll, [values, source, destination, log_sums, g, dots])
                    .work(Work::Attention { operator, src: values, n_rows: 2 })
            }
            Self::Transpose { src, dst } | Self::RestoreOrder { src, dst } => {
                Info::writing(dst, Phase::Rest).access(ReadAll, [src])
            }
            Self::Gate { src, dst, mask, .. } => {
                Info::writing(dst, Phase::Gates).access(ReadRows, [src]).mask(mask)
            }
            Self::GateGrad { src, mask, dst, .. } => {
                Info::writing(dst, Phase::Gates).access(ReadRows, [src]).mask(Some(mask))
            }
            Self::SparseDropout { values, dst, .. } => {
                Info::writing(dst, Phase::Features).access(ReadRows, [values])
            }
            Self::ColumnSums { g, dst, add } => {
                Info::reducing(g, Phase::Rest, ReduceInto::Buffer(dst), add).access(ReadRows, [g])
            }
            Self::ColumnDots { a, b, dst, row, add } => {
                Info::reducing(a, Phase::Rest, ReduceInto::Row(dst, row), add)
                    .access(ReadRows, [a, b])
            }
            Self::Dot { a, b, dst, entry } => {
                Info::reducing(a, Phase::Rest, ReduceInto::Entry(dst, entry), true)
                    .access(ReadRows, [a, b])
            }
            Self::Loss { scores, grad } => {
                Info::reducing(grad, Phase::Rest, ReduceInto::Loss, false)
                    .access(ReadRows, [scores])
                    .access(Access::WriteRows, [grad])
            }
            Self::CopyColumns { src, dst, .. }
            | Self::Map { src, dst, .. }
            | Self::Shrink { src, dst, .. }
            | Self::Softmax { src, dst }
            | Self::Standardise { src, dst, .. } => Info::row_wise(dst, [src]),
            Self::Product { a, b, dst }
            | Self::Max { a, b, dst }
            | Self::ScaleRows { x: a, by: b, dst, .. }
            | Self::RowDots { a, b, dst, .. }
            | Self::HeadDots { a, b, dst, .. }
            | Self::ShrinkGrad { x: a, g: b, dst, .. }
            | Self::SoftmaxGrad { y: a, g: b, dst }
            | Self::StandardiseGrad { x: a, g: b, dst, .. } => Info::row_wise(dst, [a, b]),
            Self::MapGrad { x, y, g, dst, .. } => Info::row_wise(dst, [x, y, g]),
            Self::MaxGrad { x, other, g, dst, .. } => Info::row_wise(dst, [x, other, g]),
            Self::RunningProduct { x, dst } => Info::writing(dst, Phase::Rest).access(ReadAll, [x]),
            Self::RunningProductGrad { x, g, dst } => {
                Info::writing(dst, Phase::Rest).access(ReadAll, [x, g])
            }
        }
    }
}

/// What the numbers in a buffer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufKind {
    /// Computed by the program.
    Computed,
    /// A part of the parameter vector, at this offset.
    Param(usize),
    /// A part of the gradient vector, at this offset.
    Grad(usize),
    /// A dense matrix of the plan, by index.
    Const(usize),
    /// An input of the workspace, by index.
    Input(usize),
    /// The values of a sparse matrix of the plan, by index.
    SparseValues(usize),
}

/// The shape and kind of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufSpec {
    pub rows: usize,
    pub cols: usize,
    pub kind: BufKind,
    /// Whether it holds packed bf16 numbers.
    pub is_bf16: bool,
}

/// A straight-line program of three sections that run one after the other.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub bufs: Vec<BufSpec>,
    /// Rows and columns of each mask.
    pub masks: Vec<(usize, usize)>,
    /// Computes values that are not [`per_node`](super::op::Node::per_node), clears accumulators, and transposes
    /// weights for the backward pass.
    pub prologue: Vec<Instr>,
    /// Computes all other values and the loss, and differentiates these values.
    pub main: Vec<Instr>,
    /// Differentiates the values of the prologue.
    pub epilogue: Vec<Instr>,
}

impl Listing {
    /// Declares a buffer.
    pub fn buffer(&mut self, rows: usize, cols: usize, kind: BufKind) -> Buf {
        self.bufs.push(BufSpec { rows, cols, kind, is_bf16: false });
        self.bufs.len() - 1
    }

    /// Declares a buffer for a computed value.
    pub fn computed(&mut self, rows: usize, cols: usize) -> Buf {
        self.buffer(rows, cols, BufKind::Computed)
    }
}
