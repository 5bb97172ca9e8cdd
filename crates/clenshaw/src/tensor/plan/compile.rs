//! Compiles a tape: runs the passes for the programs of a plan.

use super::bf16::{GatherPrecision, gather_bf16};
use super::constants::{Constants, PlanForm};
use super::differentiate::{Differentiated, Gradients, TrainingForm};
use super::fuse::{PassMode, training_matches_evaluation};
use super::instr::{Buf, Listing};
use super::lower::lower;
use super::program::Program;
use super::record::{Tape, aligned_ranges};
use super::replay::Plan;
use super::value::{NodeId, Var};
use crate::tensor::Real;
use std::sync::Arc;

impl<T: Real> Plan<T> {
    /// Compiles the computation of `logits`, forward and backward. Panics if `logits` is a value of another
    /// tape.
    pub fn compile(tape: &Tape, logits: Var) -> Self {
        Self::compile_with(tape, logits, GatherPrecision::Full)
    }

    /// [`Plan::compile`] with the precision in which products with operators read their source.
    pub fn compile_with(tape: &Tape, logits: Var, precision: GatherPrecision) -> Self {
        let compilation = Compilation { tape, mode: PassMode::Training, precision };
        compilation.plan(logits, PlanForm::Fast, Gradients::AllParams)
    }

    /// [`Plan::compile`], but without dropout and with running statistics in [`Plan::gradient`] too, which
    /// then differentiates what [`Plan::scores`] computes. The plan also stores rows by node number and
    /// shares no sums between rows, so it is slower, and its results may be rounded differently.
    pub fn compile_frozen(tape: &Tape, logits: Var) -> Self {
        Compilation::frozen(tape).plan(logits, PlanForm::Plain, Gradients::AllParams)
    }

    /// [`Plan::compile_frozen`], but only with the gradients of the parameters with these indices and of
    /// `watched` values, which [`Plan::watched_gradients`] returns. The gradients of all other parameters are zero.
    /// What only other gradients need is not computed and not kept in memory.
    ///
    /// # Panics
    /// If a value belongs to another tape, or a watched value is a parameter or depends on none of these parameters.
    pub fn compile_watching(tape: &Tape, logits: Var, params: &[usize], watched: &[Var]) -> Self {
        let watched: Vec<NodeId> = watched.iter().map(|v| tape.node("watch", *v)).collect();
        let gradients = Gradients::Of { params, watched: &watched };
        Compilation::frozen(tape).plan(logits, PlanForm::Plain, gradients)
    }
}

/// What all programs of a plan are compiled from.
#[derive(Clone, Copy)]
struct Compilation<'a> {
    tape: &'a Tape,
    /// The mode of the program that computes gradients.
    mode: PassMode,
    precision: GatherPrecision,
}

impl<'a> Compilation<'a> {
    /// A compilation in full precision, without dropout and with running statistics.
    fn frozen(tape: &'a Tape) -> Self {
        Self { tape, mode: PassMode::Frozen, precision: GatherPrecision::Full }
    }

    /// Compiles all programs.
    fn plan<T: Real>(self, logits: Var, form: PlanForm, gradients: Gradients<'_>) -> Plan<T> {
        let tape = self.tape;
        let shape = tape.shape(logits);
        let logits = tape.node("compile", logits);
        let constants = Constants::new(tape, form);
        let (evaluate, scores) = self.evaluation(&constants, &[logits]);
        let values: Vec<NodeId> = tape.named.iter().map(|(_, v)| *v).collect();
        let inspect = (!values.is_empty()).then(|| self.evaluation(&constants, &values));
        let form = TrainingForm {
            mode: self.mode,
            n_ordered: constants.order.as_ref().map(|order| order.n_nodes()),
            keeps_scores: self.mode == PassMode::Training
                && training_matches_evaluation(&tape.nodes),
        };
        let Differentiated { list: mut training, watched, scores: training_scores } =
            gradients.differentiate(tape, logits, form);
        let kept: Vec<Buf> = watched.iter().chain([&training_scores]).flatten().copied().collect();
        if self.precision == GatherPrecision::Bf16 {
            gather_bf16::<T>(&mut training);
        }
        let sparse_rows = |work: &_| constants.sparse_rows(work);
        let names = tape.named.iter().map(|(name, _)| name.clone());
        let value_bufs = inspect.as_ref().map_or(vec![], |(_, bufs)| bufs.clone());
        Plan {
            identity: Arc::new(()),
            params: tape.params.clone(),
            inputs: aligned_ranges(tape.inputs.iter().map(|(rows, cols)| rows * cols)),
            train: Program::new(training, &kept, sparse_rows),
            evaluate: Program::new(evaluate, &scores, sparse_rows),
            logits: scores[0],
            training_scores,
            inspect: inspect.map(|(list, bufs)| Program::new(list, &bufs, sparse_rows)),
            named: names.zip(value_bufs).collect(),
            watched,
            shape,
            constants,
        }
    }

    /// The instructions that compute these values, and the buffers of the values, with the rows of nodes in
    /// the order of the node numbers.
    fn evaluation<T: Real>(
        self,
        constants: &Constants<T>,
        outputs: &[NodeId],
    ) -> (Listing, Vec<Buf>) {
        let n_ordered = constants.order.as_ref().map(|order| order.n_nodes());
        let mut lowered = lower(self.tape, outputs, PassMode::Evaluation);
        let bufs = outputs.iter().map(|&v| lowered.output_buf(v, n_ordered)).collect();
        if self.precision == GatherPrecision::Bf16 {
            gather_bf16::<T>(&mut lowered.list);
        }
        (lowered.list, bufs)
    }
}
