//! A compiled plan, its memory, and the replay of its programs.

use super::ThreadTeam;
use super::constants::Constants;
use super::cost::PhaseTimer;
use super::execute::{Memory, ThreadContext};
use super::inputs::{Inputs, inputs_len};
use super::instr::{Buf, ReduceInto};
use super::program::{Program, Slot};
use super::record::{Init, Param, param_ranges};
use super::schedule::blocks;
use super::targets::Targets;
use crate::rng::Stream;
use crate::tensor::{AlignedVec, Mat, Optimiser, Real};
use std::ops::Range;
use std::sync::Arc;

/// A compiled model for one graph: the programs of a training step and of an evaluation.
///
/// It is immutable and may be shared by many runs, each with its own [`Workspace`].
pub struct Plan<T> {
    /// Identifies the workspaces of this plan; those of other plans may be too small.
    pub(super) identity: Arc<()>,
    pub(super) params: Vec<Param>,
    /// The range of each input of the tape among the inputs of a workspace.
    pub(super) inputs: Vec<Range<usize>>,
    pub(super) train: Program,
    pub(super) evaluate: Program,
    /// The scores, in `evaluate`.
    pub(super) logits: Buf,
    /// The scores, in `train`; `None` unless [`Plan::gradient_keeps_scores`].
    pub(super) training_scores: Option<Buf>,
    /// An evaluation that computes the named values; `None` without named values.
    pub(super) inspect: Option<Program>,
    /// The named values, in `inspect`.
    pub(super) named: Vec<(String, Buf)>,
    /// The gradients of the watched values in `train`; `None` for a value on which the scores do not depend.
    pub(super) watched: Vec<Option<Buf>>,
    /// Rows and columns of the scores.
    pub(super) shape: (usize, usize),
    pub(super) constants: Constants<T>,
}

/// Partial sums with fewer numbers than this are added up by one thread.
const COMBINE_TOGETHER: usize = 1 << 15;

/// The memory and threads of one run of a plan.
pub struct Workspace<T> {
    /// The identity of the plan for which the workspace was allocated.
    plan: Arc<()>,
    /// The buffers with all of their rows.
    arena: AlignedVec<T>,
    /// For each thread, the buffers with one block of rows, and the slots of shared sums.
    scratch: AlignedVec<T>,
    /// The masks of the gates, one bit per entry.
    masks: Vec<u64>,
    /// The partial sums of the chunks of a stage.
    partials: AlignedVec<T>,
    /// The gradient of every parameter, in the layout of the parameter vector.
    grads: AlignedVec<T>,
    pub(super) inputs: Inputs<T>,
    team: ThreadTeam,
}

impl<T: Real> Workspace<T> {
    /// The gradient of the last call of [`Plan::gradient`], in the layout of the parameter vector.
    pub fn gradients(&self) -> &[T] {
        &self.grads
    }

    /// Updates the parameters with the gradient of the last call of [`Plan::gradient`], on the threads of the
    /// workspace.
    ///
    /// # Panics
    /// If `params` does not have the length of the plan's parameter vector, or the optimiser was created for a
    /// longer one.
    pub fn update(&mut self, optimiser: &mut Optimiser<T>, params: &mut [T]) {
        assert_eq!(params.len(), self.grads.len(), "update: parameters of another plan");
        optimiser.step_on(&mut self.team, params, &self.grads);
    }
}

/// Parameters and memory.
impl<T: Real> Plan<T> {
    /// The parameters, in the order of the parameter vector.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The range of each parameter in the parameter vector.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        param_ranges(&self.params)
    }

    /// The shape of the scores: rows, usually nodes, and columns, usually classes.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// A parameter vector of zeros; [`Plan::ranges`] is its layout.
    pub fn zeros(&self) -> AlignedVec<T> {
        AlignedVec::zeros(self.param_len())
    }

    /// The parameter vector with the given numbers for each parameter, row by row.
    ///
    /// # Panics
    /// If the number of values for a parameter differs from its size.
    pub fn param_vector(&self, mut numbers: impl FnMut(&Param) -> Vec<f64>) -> AlignedVec<T> {
        let mut all = self.zeros();
        for (param, range) in self.params.iter().zip(self.ranges()) {
            let numbers = numbers(param);
            assert_eq!(numbers.len(), range.len(), "plan: number of values of `{}`", param.name);
            for (to, from) in all[range].iter_mut().zip(numbers) {
                *to = T::from_f64(from);
            }
        }
        all
    }

    /// The initial parameters; random ones are drawn from a stream derived from `weights` and the parameter's name.
    pub fn initial_params(&self, weights: &Stream) -> AlignedVec<T> {
        self.param_vector(|param| {
            let n = param.rows * param.cols;
            let mut stream = weights.named(&param.name);
            let mut draw = |bound| Vec::from_iter((0..n).map(|_| stream.symmetric(bound)));
            match &param.init {
                Init::Zeros => vec![0.0; n],
                Init::Uniform(bound) => draw(*bound),
                Init::UnitSum => {
                    let values = draw(1.0);
                    let sum: f64 = values.iter().map(|v| v.abs()).sum();
                    values.into_iter().map(|v| v / sum).collect()
                }
                Init::Values(values) => values.clone(),
            }
        })
    }

    /// The maximum of a length over all programs.
    fn longest(&self, len: fn(&Program) -> usize) -> usize {
        let inspect = self.inspect.as_ref().map_or(0, len);
        len(&self.train).max(len(&self.evaluate)).max(inspect)
    }

    /// The size of a single-threaded workspace in bytes, without gradients and parameters.
    pub fn workspace_bytes(&self) -> usize {
        self.allocated_bytes(1) - self.param_len() * size_of::<T>()
    }

    /// The size of the plan's dense features and constants in bytes.
    pub fn constant_bytes(&self) -> usize {
        let entries = self.constants.dense.iter().map(|x| x.as_slice().len());
        entries.sum::<usize>() * size_of::<T>()
    }

    /// The size in bytes of a [`Plan::workspace`] with this number of threads, with gradients.
    pub fn allocated_bytes(&self, threads: usize) -> usize {
        self.allocated_bytes_with(&self.train, threads)
    }

    /// [`Plan::allocated_bytes`], if this were the training program.
    pub(super) fn allocated_bytes_with(&self, train: &Program, threads: usize) -> usize {
        let programs = || [train, &self.evaluate].into_iter().chain(&self.inspect);
        let longest = |len: fn(&Program) -> usize| programs().map(len).max().unwrap_or(0);
        let numbers = inputs_len(&self.inputs)
            + longest(|p| p.arena_len)
            + longest(|p| p.scratch_len) * threads.max(1)
            + longest(|p| p.partial_len)
            + self.param_len();
        numbers * size_of::<T>() + longest(|p| p.mask_len) * size_of::<u64>()
    }

    /// The number of entries of all values that [`Plan::values`] returns.
    pub fn values_len(&self) -> usize {
        let Some(program) = &self.inspect else { return 0 };
        self.named.iter().map(|(_, buf)| program.bufs[*buf].rows * program.bufs[*buf].cols).sum()
    }

    /// The length of the parameter vector.
    pub fn param_len(&self) -> usize {
        self.ranges().last().map_or(0, |range| range.end)
    }

    /// Allocates the memory for one run of this plan, with these threads.
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn workspace(&self, team: ThreadTeam) -> Workspace<T> {
        self.try_workspace(team).expect("workspace: not enough memory")
    }

    /// [`Plan::workspace`]; `None` if there is not enough memory.
    pub fn try_workspace(&self, team: ThreadTeam) -> Option<Workspace<T>> {
        let mut masks = Vec::new();
        masks.try_reserve_exact(self.longest(|p| p.mask_len)).ok()?;
        masks.resize(self.longest(|p| p.mask_len), 0);
        Some(Workspace {
            plan: Arc::clone(&self.identity),
            arena: AlignedVec::try_zeros(self.longest(|p| p.arena_len))?,
            scratch: AlignedVec::try_zeros(self.longest(|p| p.scratch_len) * team.threads())?,
            masks,
            partials: AlignedVec::try_zeros(self.longest(|p| p.partial_len))?,
            grads: AlignedVec::try_zeros(self.param_len())?,
            inputs: Inputs::try_zeros(&self.inputs)?,
            team,
        })
    }
}

/// Execution. The functions that run a program panic if the workspace belongs to another plan or if the length
/// of the parameter vector differs from that of [`Plan::zeros`].
impl<T: Real> Plan<T> {
    /// Runs one forward and backward pass; equal streams give the same dropout.
    ///
    /// Returns the loss; its gradient is in [`Workspace::gradients`]. In plans that use the statistics of the
    /// batch, the entries of running statistics are not gradients; see [`RUNNING`](super::RUNNING).
    ///
    /// # Panics
    /// If the targets do not fit [`Plan::shape`].
    pub fn gradient(
        &self,
        work: &mut Workspace<T>,
        params: &[T],
        targets: &Targets<T>,
        stream: &Stream,
    ) -> T {
        targets.check(self.shape);
        self.replay(&self.train, work, params, Some((targets, stream)), None)
    }

    /// [`Plan::gradient`], adding the time of each phase to a timer.
    ///
    /// # Panics
    /// If the targets do not fit [`Plan::shape`].
    pub(crate) fn timed_gradient(
        &self,
        work: &mut Workspace<T>,
        params: &[T],
        targets: &Targets<T>,
        stream: &Stream,
        timer: &PhaseTimer,
    ) -> T {
        targets.check(self.shape);
        self.replay(&self.train, work, params, Some((targets, stream)), Some(timer))
    }

    /// Computes the scores, `[n, C]` row by row in the order of the node numbers, without dropout and with running
    /// statistics.
    pub fn scores<'w>(&self, work: &'w mut Workspace<T>, params: &[T]) -> &'w [T] {
        self.replay(&self.evaluate, work, params, None, None);
        output(&self.evaluate, work, self.logits)
    }

    /// Whether [`Plan::gradient`] computes the same scores as [`Plan::scores`] and keeps them: if the tape has no
    /// dropout or batch statistics, but not in plans of [`Plan::compile_frozen`] and
    /// [`Plan::compile_watching`].
    pub fn gradient_keeps_scores(&self) -> bool {
        self.training_scores.is_some()
    }

    /// The scores of the last call of [`Plan::gradient`], as [`Plan::scores`] returns them.
    ///
    /// Call this directly after [`Plan::gradient`]: [`Plan::scores`] and [`Plan::values`] overwrite these scores
    /// in the workspace.
    ///
    /// # Panics
    /// If the workspace belongs to another plan, or [`Plan::gradient_keeps_scores`] is `false`.
    pub fn scores_of_gradient<'w>(&self, work: &'w Workspace<T>) -> &'w [T] {
        assert!(Arc::ptr_eq(&self.identity, &work.plan), "plan: the workspace of another plan");
        let buf = self.training_scores.expect("scores_of_gradient: the gradient keeps no scores");
        output(&self.train, work, buf)
    }

    /// The gradients of the values given to [`Plan::compile_watching`], row by row; `None` for a value on which
    /// the scores do not depend.
    ///
    /// Call this directly after [`Plan::gradient`]: [`Plan::scores`] and [`Plan::values`] overwrite these
    /// gradients in the workspace.
    ///
    /// # Panics
    /// If the workspace belongs to another plan.
    pub fn watched_gradients<'w>(&self, work: &'w Workspace<T>) -> Vec<Option<&'w [T]>> {
        assert!(Arc::ptr_eq(&self.identity, &work.plan), "plan: the workspace of another plan");
        let rows = |buf: Buf| output(&self.train, work, buf);
        self.watched.iter().map(|buf| buf.map(rows)).collect()
    }

    /// The names given with [`Tape::name`](super::Tape::name).
    pub fn value_names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// Computes the values named with [`Tape::name`](super::Tape::name), without dropout and with running statistics;
    /// an empty list without named values.
    pub fn values(&self, work: &mut Workspace<T>, params: &[T]) -> Vec<(String, Mat<T>)> {
        let Some(program) = &self.inspect else { return vec![] };
        self.replay(program, work, params, None, None);
        let value = |buf: Buf| {
            let spec = &program.bufs[buf];
            Mat::from_vec(spec.rows, spec.cols, output(program, work, buf).to_vec())
        };
        self.named.iter().map(|(name, buf)| (name.clone(), value(*buf))).collect()
    }

    /// Runs a program and returns the loss, which is zero in an evaluation.
    fn replay(
        &self,
        program: &Program,
        work: &mut Workspace<T>,
        params: &[T],
        training: Option<(&Targets<T>, &Stream)>,
        timer: Option<&PhaseTimer>,
    ) -> T {
        assert!(Arc::ptr_eq(&self.identity, &work.plan), "plan: the workspace of another plan");
        let (len, expected) = (params.len(), work.grads.len());
        assert_eq!(len, expected, "plan: {len} parameters; expected {expected}");
        let mut loss = T::ZERO;
        let memory = Memory {
            arena: work.arena.as_mut_ptr(),
            scratch: work.scratch.as_mut_ptr(),
            masks: work.masks.as_mut_ptr(),
            partials: work.partials.as_mut_ptr(),
            grads: work.grads.as_mut_ptr(),
            params: params.as_ptr(),
            inputs: work.inputs.values.as_ptr(),
        };
        for stage in &program.stages {
            let context =
                |thread| ThreadContext { plan: self, program, memory: &memory, training, thread };
            work.team.run(stage.chunks.len(), |chunk, thread| {
                let context = context(thread);
                for (b, rows) in blocks(&stage.chunks[chunk]).enumerate() {
                    for step in &stage.steps {
                        // SAFETY: the workspace was made for this plan. Chunks are disjoint ranges of
                        // rows, and `schedule` ensures that no instruction of a stage reads rows that
                        // the stage writes in another chunk.
                        let run = || unsafe { context.execute(step, &rows, chunk, b == 0) };
                        match timer {
                            Some(timer) => timer.time(step.info.phase, run),
                            None => run(),
                        }
                    }
                }
            });
            for step in &stage.steps {
                let (size, n_chunks) = (step.partials.map_or(0, |p| p.size), stage.chunks.len());
                let n_parts =
                    if size * n_chunks < COMBINE_TOGETHER { 1 } else { work.team.threads() };
                let part_len = size.div_ceil(n_parts).max(1);
                let parts = size.div_ceil(part_len);
                work.team.run(parts, |part, thread| {
                    let part = part * part_len..((part + 1) * part_len).min(size);
                    // SAFETY: all chunks are done, and no other thread works on this part.
                    unsafe { context(thread).combine_partials(step, n_chunks, part) };
                });
                if step.info.reduction.is_some_and(|reduction| reduction.into == ReduceInto::Loss) {
                    // SAFETY: the first partial sum is the total, and no other thread is running.
                    loss = unsafe { context(0).partial(step, 0)[0] };
                }
            }
        }
        loss
    }
}

/// The rows of an output of the program that was last run in the workspace.
fn output<'w, T: Real>(program: &Program, work: &'w Workspace<T>, buf: Buf) -> &'w [T] {
    let Slot::Arena(offset) = program.slots[buf] else {
        unreachable!("`schedule` places all rows of an output in the arena")
    };
    let spec = &program.bufs[buf];
    &work.arena[offset..offset + spec.rows * spec.cols]
}

#[cfg(test)]
mod tests {
    use super::super::Tape;
    use super::*;
    use crate::tensor::assert_panics;

    /// A plan with a hidden value of `hidden + 1` columns.
    fn plan_of_width(hidden: usize) -> Plan<f64> {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, -2.0]));
        let mut h = x;
        for _ in 0..hidden {
            h = t.concat(&[h, x]);
        }
        let w = t.param("w", 2, 2, Init::Zeros, "dense");
        let parts = t.constant(Mat::zeros(hidden + 1, 2));
        let h = t.linear(h, parts, None);
        let y = t.linear(h, w, None);
        Plan::compile(&t, y)
    }

    fn gradient_with(targets: &Targets<f64>) -> f64 {
        let plan = plan_of_width(1);
        let mut work = plan.workspace(ThreadTeam::new(2));
        plan.gradient(&mut work, &plan.zeros(), targets, &Stream::new(0, "dropout"))
    }

    #[test]
    fn arguments_of_another_plan_or_shape_are_rejected() {
        let (small, large) = (plan_of_width(1), plan_of_width(40));
        assert_eq!(small.zeros().len(), large.zeros().len());
        let (work, stream) = (|| small.workspace(ThreadTeam::new(1)), Stream::new(0, "dropout"));
        let targets = |n_nodes, node, class| Targets::cross_entropy(n_nodes, &[node], |_| class);
        let another = "plan: the workspace of another plan";
        assert_panics(&[
            (another, &|| {
                large.gradient(&mut work(), &large.zeros(), &targets(2, 0, 1), &stream);
            }),
            (another, &|| _ = large.scores(&mut work(), &large.zeros())),
            ("plan: 3 parameters; expected 4", &|| _ = small.scores(&mut work(), &[0.0; 3])),
            ("targets: 3 nodes, but the plan has 2", &|| _ = gradient_with(&targets(3, 0, 1))),
            ("targets: class 2, but the plan has 2 classes", &|| {
                _ = gradient_with(&targets(2, 0, 2))
            }),
            ("targets: node 2, but there are 2 nodes", &|| _ = targets(2, 2, 0)),
            ("targets: 3 values per node, but the plan has 2", &|| {
                gradient_with(&Targets::squared_error(&Mat::zeros(2, 3), &[1.0, 1.0]));
            }),
            ("a value of another tape", &|| {
                let logits = Tape::new().features(Mat::zeros(2, 2));
                Plan::<f64>::compile(&Tape::new(), logits);
            }),
        ]);
    }

    #[test]
    fn nan_targets_give_a_nan_loss() {
        let values = Mat::from_vec(2, 2, vec![f64::NAN; 4]);
        assert!(gradient_with(&Targets::squared_error(&values, &[1.0, 1.0])).is_nan());
    }

    #[test]
    fn named_values_are_returned_although_their_gates_could_be_fused() {
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
    fn inputs_can_be_outputs() {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, -2.0]));
        let w = t.param("w", 1, 1, Init::Zeros, "dense");
        t.name("weights", w);
        let plan = Plan::<f64>::compile(&t, x);
        let mut work = plan.workspace(ThreadTeam::new(1));
        assert_eq!(plan.scores(&mut work, &[7.0]), [1.0, -2.0]);
        let expected = ("weights".to_owned(), Mat::from_vec(1, 1, vec![7.0]));
        assert_eq!(plan.values(&mut work, &[7.0]), [expected]);
    }
}
