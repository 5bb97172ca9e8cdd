//! The replay of a compiled plan.

use super::ThreadTeam;
use super::account::PhaseTimer;
use super::backward::backward;
use super::bf16::{GatherPrecision, gather_bf16};
use super::execute::{Memory, Scope};
use super::forward::{Mode, forward};
use super::instr::Buf;
use super::stage::{Program, Slot, program};
use super::tape::{Init, Op, Param, Tape, Var, ranges};
use crate::rng::Stream;
use crate::tensor::{AlignedVec, Mat, Pattern, Real};
use std::ops::Range;
use std::sync::Arc;

/// A compiled model: what it needs to train and to predict, shared by all runs on one graph.
pub struct Plan<T> {
    params: Vec<Param>,
    pub(super) train: Program,
    evaluate: Program,
    logits: Buf,
    named: Vec<(String, Buf)>,
    shape: (usize, usize),
    pub(super) consts: Vec<Mat<T>>,
    pub(super) sparse: Vec<Transposable>,
    pub(super) operators: Vec<(Arc<Pattern>, Vec<T>)>,
}

/// A sparse pattern with its transpose.
pub(super) struct Transposable {
    pub pattern: Pattern,
    pub transposed: Pattern,
    pub origin: Vec<u32>,
}

/// The nodes in the loss: what their scores should say and their weights, zero for all other nodes.
#[derive(Clone, Debug)]
pub struct Targets<T> {
    pub(super) goal: Goal<T>,
    pub(super) weights: Vec<T>,
}

/// What scores should say.
#[derive(Clone, Debug)]
pub(super) enum Goal<T> {
    /// A class for each node: negative log-likelihood.
    Classes(Vec<u32>),
    /// These numbers, row by row: squares.
    Values(Vec<T>),
}

impl<T: Real> Targets<T> {
    /// The mean over `nodes`; `label` is asked for these nodes only.
    pub fn mean_over(n_nodes: usize, nodes: &[u32], label: impl Fn(u32) -> u32) -> Self {
        let (mut labels, mut weights) = (vec![0; n_nodes], vec![T::ZERO; n_nodes]);
        for &i in nodes {
            labels[i as usize] = label(i);
            weights[i as usize] = T::from_f64(1.0 / nodes.len() as f64);
        }
        Self { goal: Goal::Classes(labels), weights }
    }

    /// `sum_i w_i |z_i - y_i|^2` for a row `y_i` of values and a weight `w_i` of every node.
    pub fn squares(values: &Mat<f64>, weights: &[f64]) -> Self {
        assert_eq!(values.rows(), weights.len(), "targets: a weight for every row of values");
        let cast = |numbers: &[f64]| numbers.iter().map(|v| T::from_f64(*v)).collect();
        Self { goal: Goal::Values(cast(values.as_slice())), weights: cast(weights) }
    }
}

/// The memory one run works in, and its threads.
pub struct Workspace<T> {
    arena: AlignedVec<T>,
    scratch: AlignedVec<T>,
    masks: Vec<u64>,
    partials: AlignedVec<T>,
    grads: AlignedVec<T>,
    team: ThreadTeam,
}

impl<T: Real> Workspace<T> {
    /// The gradient of every parameter after [`Plan::gradient`], in the order of the parameters.
    pub fn gradients(&self) -> &[T] {
        &self.grads
    }
}

impl<T: Real> Plan<T> {
    /// Compiles the computation of `logits`, forward and backward.
    pub fn compile(tape: &Tape, logits: Var) -> Self {
        Self::in_mode(tape, logits, Mode::Training, GatherPrecision::Full)
    }

    /// The same, with a choice of what products with operators read.
    pub fn compile_with(tape: &Tape, logits: Var, gathered: GatherPrecision) -> Self {
        Self::in_mode(tape, logits, Mode::Training, gathered)
    }

    /// The same with dropout off and batch statistics frozen in the backward pass too: [`Plan::gradient`]
    /// differentiates what [`Plan::scores`] computes.
    pub fn compile_frozen(tape: &Tape, logits: Var) -> Self {
        Self::in_mode(tape, logits, Mode::Frozen, GatherPrecision::Full)
    }

    fn in_mode(tape: &Tape, logits: Var, mode: Mode, gathered: GatherPrecision) -> Self {
        let outputs: Vec<Var> =
            std::iter::once(logits).chain(tape.named.iter().map(|(_, v)| *v)).collect();
        let mut evaluation = forward(tape, &outputs, Mode::Evaluation);
        let mut training = backward(forward(tape, &[logits], mode), logits);
        if gathered == GatherPrecision::Bf16 {
            gather_bf16::<T>(&mut evaluation.list);
            gather_bf16::<T>(&mut training);
        }
        let kept: Vec<Buf> = outputs.iter().map(|v| evaluation.value(*v)).collect();
        let names = tape.named.iter().map(|(name, _)| name.clone());
        let mut consts = Vec::new();
        let mut sparse = Vec::new();
        for node in &tape.nodes {
            match &node.op {
                Op::Dense(x) => consts.push(x.cast()),
                Op::Sparse(x) => {
                    consts.push(Mat::from_vec(x.values.len(), 1, x.values.clone()).cast());
                    let (transposed, origin) = x.pattern.transpose();
                    sparse.push(Transposable { pattern: x.pattern.clone(), transposed, origin });
                }
                _ => {}
            }
        }
        let cast = |scale: &[f64]| scale.iter().map(|v| T::from_f64(*v)).collect();
        let operators =
            tape.operators.iter().map(|p| (p.pattern.clone(), cast(&p.scale))).collect();
        Self {
            params: tape.params.clone(),
            train: program(training, &[]),
            evaluate: program(evaluation.list, &kept),
            logits: kept[0],
            named: names.zip(kept[1..].iter().copied()).collect(),
            shape: tape.shape(logits),
            consts,
            sparse,
            operators,
        }
    }

    /// The parameters, in the order of the parameter vector.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Where each parameter stands in the parameter vector.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        ranges(&self.params)
    }

    /// A parameter vector of zeros; [`Plan::ranges`] says what stands where.
    pub fn zeros(&self) -> AlignedVec<T> {
        AlignedVec::zeros(self.ranges().last().map_or(0, |range| range.end))
    }

    /// The parameter vector that holds these numbers.
    pub fn vector(&self, mut numbers: impl FnMut(&Param) -> Vec<f64>) -> AlignedVec<T> {
        let mut all = self.zeros();
        for (param, range) in self.params.iter().zip(self.ranges()) {
            let numbers = numbers(param);
            assert_eq!(numbers.len(), range.len(), "plan: numbers for `{}`", param.name);
            for (to, from) in all[range].iter_mut().zip(numbers) {
                *to = T::from_f64(from);
            }
        }
        all
    }

    /// Initial parameters; each is drawn from a stream of its own name.
    pub fn initial(&self, weights: &Stream) -> AlignedVec<T> {
        self.vector(|param| {
            let n = param.rows * param.cols;
            let mut stream = weights.named(&param.name);
            let mut drawn = |bound| Vec::from_iter((0..n).map(|_| stream.symmetric(bound)));
            match &param.init {
                Init::Zeros => vec![0.0; n],
                Init::Uniform(bound) => drawn(*bound),
                Init::UnitSum => {
                    let drawn = drawn(1.0);
                    let sum: f64 = drawn.iter().map(|v| v.abs()).sum();
                    drawn.into_iter().map(|v| v / sum).collect()
                }
                Init::Values(values) => values.clone(),
            }
        })
    }

    /// The size of a single-threaded workspace, gradients and parameters aside.
    pub fn workspace_bytes(&self) -> usize {
        let longest = |len: fn(&Program) -> usize| len(&self.train).max(len(&self.evaluate));
        let numbers =
            longest(|p| p.arena_len) + longest(|p| p.scratch_len) + longest(|p| p.partial_len);
        numbers * size_of::<T>() + longest(|p| p.mask_len) * size_of::<u64>()
    }

    /// Memory for one run.
    pub fn workspace(&self, team: ThreadTeam) -> Workspace<T> {
        let longest = |len: fn(&Program) -> usize| len(&self.train).max(len(&self.evaluate));
        let scratch = longest(|p| p.scratch_len) * team.threads();
        Workspace {
            arena: AlignedVec::zeros(longest(|p| p.arena_len)),
            scratch: AlignedVec::zeros(scratch),
            masks: vec![0; longest(|p| p.mask_len)],
            partials: AlignedVec::zeros(longest(|p| p.partial_len)),
            grads: self.zeros(),
            team,
        }
    }

    /// One forward and backward pass with dropout drawn from `chance`: the loss, and its gradient in
    /// [`Workspace::gradients`].
    pub fn gradient(
        &self,
        work: &mut Workspace<T>,
        params: &[T],
        targets: &Targets<T>,
        chance: &Stream,
    ) -> T {
        self.replay(&self.train, work, params, Some((targets, chance)), None)
    }

    /// The same, with the time of every phase added to a meter.
    pub fn metered_gradient(
        &self,
        work: &mut Workspace<T>,
        params: &[T],
        targets: &Targets<T>,
        chance: &Stream,
        meter: &PhaseTimer,
    ) -> T {
        self.replay(&self.train, work, params, Some((targets, chance)), Some(meter))
    }

    /// The scores of every class for every node, without dropout, row by row.
    pub fn scores<'w>(&self, work: &'w mut Workspace<T>, params: &[T]) -> &'w [T] {
        self.replay(&self.evaluate, work, params, None, None);
        self.kept(work, self.logits)
    }

    /// The values that the model gave names to, as they are without dropout.
    pub fn values(&self, work: &mut Workspace<T>, params: &[T]) -> Vec<(String, Mat<T>)> {
        if self.named.is_empty() {
            return vec![];
        }
        self.replay(&self.evaluate, work, params, None, None);
        let value = |buf: Buf| {
            let spec = &self.evaluate.bufs[buf];
            Mat::from_vec(spec.rows, spec.cols, self.kept(work, buf).to_vec())
        };
        self.named.iter().map(|(name, buf)| (name.clone(), value(*buf))).collect()
    }

    /// A value that outlives the evaluation.
    fn kept<'w>(&self, work: &'w Workspace<T>, buf: Buf) -> &'w [T] {
        let Slot::Arena(at) = self.evaluate.slots[buf] else {
            panic!("plan: what outlives the evaluation is computed, not a parameter or a constant")
        };
        let spec = &self.evaluate.bufs[buf];
        &work.arena[at..at + spec.rows * spec.cols]
    }

    /// Number of nodes and of classes.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn replay(
        &self,
        program: &Program,
        work: &mut Workspace<T>,
        params: &[T],
        training: Option<(&Targets<T>, &Stream)>,
        meter: Option<&PhaseTimer>,
    ) -> T {
        assert_eq!(params.len(), work.grads.len(), "plan: length of the parameter vector");
        let mut loss = T::ZERO;
        let memory = Memory {
            arena: work.arena.as_mut_ptr(),
            scratch: work.scratch.as_mut_ptr(),
            masks: work.masks.as_mut_ptr(),
            partials: work.partials.as_mut_ptr(),
            grads: work.grads.as_mut_ptr(),
            params: params.as_ptr(),
        };
        for stage in &program.stages {
            work.team.run(stage.n_chunks(), |chunk, thread| {
                let scope = Scope { plan: self, program, memory: &memory, training, stage, thread };
                for (b, rows) in stage.blocks(chunk).enumerate() {
                    for i in 0..stage.instrs.len() {
                        // SAFETY: chunks of a stage are disjoint rows, and `joins` let no instruction
                        // into the stage that reads other rows of what the stage writes.
                        let run = || unsafe { scope.execute(i, rows.clone(), chunk, b == 0) };
                        match meter {
                            Some(meter) => meter.time(stage.instrs[i].phase(), run),
                            None => run(),
                        }
                    }
                }
            });
            let scope = Scope { plan: self, program, memory: &memory, training, stage, thread: 0 };
            for i in 0..stage.instrs.len() {
                // SAFETY: all chunks are done and this is the only thread left.
                unsafe { scope.finish(i, &mut loss) };
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_values_are_shown_even_where_gates_would_melt_together() {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, -2.0]));
        let w = t.param("w", 1, 2, Init::Values(vec![3.0, -1.0]), "dense");
        let h = t.linear(x, w, None);
        let active = t.relu(h);
        t.name("active", active);
        let dropped = t.dropout(active, 0.5);
        let sums = t.column_sums(dropped);
        t.name("sums", sums);
        let y = t.sum([1.0 * dropped, 1.0 * sums]);
        let plan = Plan::<f64>::compile(&t, y);
        let mut work = plan.workspace(ThreadTeam::new(1));
        let values = plan.values(&mut work, &[3.0, -1.0]);
        let named = |name: &str, rows, data| (name.to_owned(), Mat::from_vec(rows, 2, data));
        let expected =
            [named("active", 2, vec![3.0, 0.0, 0.0, 2.0]), named("sums", 1, vec![3.0, 2.0])];
        assert_eq!(values, expected);
        assert_eq!(plan.scores(&mut work, &[3.0, -1.0]), [6.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    #[should_panic(expected = "name: `w` given twice")]
    fn a_name_is_given_once() {
        let mut t = Tape::new();
        let w = t.param("w", 1, 2, Init::Zeros, "dense");
        t.name("w", w);
    }
}
