//! Optional pass: values of the forward pass are computed again in the backward pass instead of being kept.
//!
//! The forward pass is cut into segments. The values of the last segment are kept as usual. The values of any other
//! segment that the backward pass reads are computed again directly before it reads the first of them.
//! What this computation starts from is kept at every cut: the values that later segments read or, if these follow
//! from kept values without a product with an operator, those values instead.
//!
//! The stages of the program are not changed, because their chunks affect the last bits of sums over rows; copies of
//! instructions are inserted between them as stages of their own. They write the same buffers, which then have
//! several lifetimes. Dropout depends only on its counters, so results are the same to the last bit.

use super::cost::Cost;
use super::instr::{Access, Buf, BufKind, Instr, Work};
use super::program::Program;
use super::replay::Plan;
use super::schedule::{SparseRows, Stage, Step, stages};
use crate::tensor::Real;
use std::collections::BTreeSet;

/// The largest number of cuts that is tried.
const MAX_CUTS: usize = 12;
/// The parts of the saved values before the last cut that are tried, besides equal segments.
const PARTS: [f64; 3] = [0.25, 0.5, 0.75];
/// By how much the first segment is longer than the last one that is recomputed, as multiples of the mean length: the
/// backward pass of early segments has more memory, because later values are no longer needed.
const SLOPES: [f64; 2] = [0.0, 0.75];

impl<T: Real> Plan<T> {
    /// Makes the backward pass recompute values, so that a [`Plan::workspace`] with this number of threads needs at
    /// most this number of bytes. Among the ways that are tried, the one with the least additional work is chosen,
    /// or the one with the least memory if none is small enough. Results do not change. Does nothing if the
    /// workspace is small enough already.
    ///
    /// # Panics
    /// If it has been called before and had an effect.
    pub fn recompute_to_fit(&mut self, bytes: usize, threads: usize) {
        if self.allocated_bytes(threads) <= bytes {
            return;
        }
        let is_plain = self.train.stages.iter().all(|stage| !stage.is_recomputation);
        assert!(is_plain, "recompute_to_fit: the plan recomputes values already");
        let Some(forward) = ForwardPass::of(&self.train) else { return };
        let mut best: Option<(Fit, Program)> = None;
        for cuts in forward.possible_cuts() {
            let sparse_rows = |work: &_| self.constants.sparse_rows(work);
            let program = forward.program(&cuts, sparse_rows);
            let needed = self.allocated_bytes_with(&program, threads);
            let excess = needed.saturating_sub(bytes);
            let fit = Fit { excess, work: self.recomputed_work(&program) };
            if best.as_ref().is_none_or(|(other, _)| fit.is_better_than(*other)) {
                best = Some((fit, program));
            }
        }
        if let Some((_, program)) = best {
            self.train = program;
        }
    }

    /// The additional work of [`Plan::recompute_to_fit`], as a fraction of the work of a step without it; 0 if
    /// nothing is recomputed.
    pub fn recomputed_fraction(&self) -> f64 {
        let recomputed = self.recomputed_work(&self.train);
        recomputed / (self.work(&self.train, |_| true) - recomputed)
    }

    fn recomputed_work(&self, program: &Program) -> f64 {
        self.work(program, |stage| stage.is_recomputation)
    }

    /// An estimate of the time of some stages, in arbitrary units.
    fn work(&self, program: &Program, is_counted: impl Fn(&Stage) -> bool) -> f64 {
        let costs = self.costs_of(program, is_counted);
        costs.iter().map(|(_, cost)| relative_time(cost)).sum()
    }
}

/// An estimate of the time that some work takes, relative to that of other work: a processor executes about four
/// operations of a dense product while it reads one byte from memory.
fn relative_time(cost: &Cost) -> f64 {
    cost.flops / 4.0 + cost.gathered_bytes() + cost.streamed
}

/// How well a program fits.
#[derive(Clone, Copy)]
struct Fit {
    /// The bytes by which its workspace is too large.
    excess: usize,
    /// The work of recomputation.
    work: f64,
}

impl Fit {
    fn is_better_than(self, other: Self) -> bool {
        match self.excess.cmp(&other.excess) {
            std::cmp::Ordering::Equal => self.work < other.work,
            order => order.is_lt(),
        }
    }
}

/// The forward pass of a training program, as far as recomputation needs it.
struct ForwardPass<'a> {
    program: &'a Program,
    /// The stage that computes the loss; its index is also the number of stages before it.
    loss_stage: usize,
    /// The steps that write each buffer before the loss, as pairs of stage and step, if it can be recomputed: it
    /// has a row per row of the scores, is not a sum over rows, and is not changed after the loss. Empty for all
    /// other buffers.
    writers: Vec<Vec<(usize, usize)>>,
    /// The buffers with writers that stages after the loss read, in the order in which they are computed.
    saved: Vec<Buf>,
}

impl<'a> ForwardPass<'a> {
    /// `None` for a program without a loss.
    fn of(program: &'a Program) -> Option<Self> {
        let steps = |(s, stage): (usize, &'a Stage)| {
            stage.steps.iter().enumerate().map(move |(i, step)| ((s, i), step))
        };
        let all = || program.stages.iter().enumerate().flat_map(steps);
        let is_loss = |step: &Step| matches!(step.instr, Instr::Loss { .. });
        let (loss, step) = all().find(|(_, step)| is_loss(step))?;
        let rows = program.bufs[step.info.iterated].rows;
        let mut can_recompute: Vec<bool> = program
            .bufs
            .iter()
            .map(|spec| spec.kind == BufKind::Computed && spec.rows == rows)
            .collect();
        program.outputs.iter().for_each(|buf| can_recompute[*buf] = false);
        let mut writers = vec![vec![]; program.bufs.len()];
        let mut is_saved = vec![false; program.bufs.len()];
        for (position, step) in all() {
            for &(buf, access) in &step.info.accesses {
                match access {
                    Access::WriteRows if position < loss => writers[buf].push(position),
                    Access::WriteRows | Access::Reduce => can_recompute[buf] = false,
                    Access::ReadRows | Access::ReadAll => is_saved[buf] |= position.0 > loss.0,
                }
            }
        }
        for (writers, can_recompute) in writers.iter_mut().zip(&can_recompute) {
            if !can_recompute {
                writers.clear();
            }
        }
        let is_saved = |buf: &Buf| is_saved[*buf] && !writers[*buf].is_empty();
        let mut saved: Vec<Buf> = (0..program.bufs.len()).filter(is_saved).collect();
        saved.sort_by_key(|&buf| writers[buf][0]);
        Some(Self { program, loss_stage: loss.0, writers, saved })
    }

    /// Lists of stages before which to cut the forward pass.
    fn possible_cuts(&self) -> BTreeSet<Vec<usize>> {
        let size = |buf: &Buf| self.program.bufs[*buf].cols as f64;
        let total: f64 = self.saved.iter().map(size).sum();
        let mut lists = BTreeSet::new();
        for n in 1..=MAX_CUTS {
            let equal = n as f64 / (n + 1) as f64;
            for (part, slope) in
                PARTS.into_iter().chain([equal]).flat_map(|p| SLOPES.map(|s| (p, s)))
            {
                // The end of segment `i` of `n`, if lengths decrease linearly.
                let end = |i: f64| i + slope * i * (1.0 - i) / 2.0;
                let ends = (1..=n).map(|i| total * part * end(i as f64 / n as f64));
                let cuts: BTreeSet<usize> =
                    ends.filter_map(|end| self.stage_after(end, size)).collect();
                lists.insert(cuts.into_iter().collect::<Vec<usize>>());
            }
        }
        lists.remove(&vec![]);
        lists
    }

    /// The stage that begins to compute the first saved value beyond this total size; `None` if there is no such
    /// value.
    fn stage_after(&self, end: f64, size: impl Fn(&Buf) -> f64) -> Option<usize> {
        let mut before = 0.0;
        let beyond = self.saved.iter().find(|buf| {
            before += size(buf);
            before > end + 0.5
        });
        beyond.map(|buf| self.writers[*buf][0].0)
    }

    /// The program with recomputation, cut before these stages.
    fn program<'s>(
        &self,
        cuts: &[usize],
        sparse_rows: impl Fn(&Work) -> Option<SparseRows<'s>>,
    ) -> Program {
        let Program { bufs, masks, outputs, .. } = self.program;
        let segment = |buf: Buf| cuts.partition_point(|cut| *cut <= self.writers[buf][0].0);
        let kept = self.kept(cuts);
        let mut dropped: BTreeSet<Buf> = self.saved.iter().copied().collect();
        dropped.retain(|buf| !kept.contains(buf) && segment(*buf) < cuts.len());
        let mut result = vec![];
        for (s, stage) in self.program.stages.iter().enumerate() {
            let accesses = stage.steps.iter().flat_map(|step| &step.info.accesses);
            let read: Vec<Buf> = accesses.map(|(buf, _)| *buf).collect();
            while s > self.loss_stage
                && let Some(missing) = read.iter().find(|buf| dropped.contains(buf))
            {
                let current = segment(*missing);
                let of_segment = |buf: &Buf| segment(*buf) == current;
                let values: Vec<Buf> = dropped.iter().copied().filter(of_segment).collect();
                result.extend(self.recomputation(&values, &kept, &dropped, &sparse_rows));
                dropped.retain(|buf| !of_segment(buf));
            }
            result.push(stage.clone());
        }
        Program::place(result, bufs.clone(), masks.clone(), outputs.clone())
    }

    /// The buffers to keep at these cuts.
    fn kept(&self, cuts: &[usize]) -> BTreeSet<Buf> {
        let mut kept = BTreeSet::new();
        for &cut in cuts {
            for stage in &self.program.stages[cut..=self.loss_stage] {
                for (buf, _) in stage.steps.iter().flat_map(|step| &step.info.accesses) {
                    if self.writers[*buf].first().is_some_and(|(stage, _)| *stage < cut) {
                        kept.extend(self.origins(*buf));
                    }
                }
            }
        }
        kept
    }

    /// The saved values from which a value follows without a product with an operator or another instruction that
    /// reads all rows of such a value; the value itself if it is saved, or if this is not possible.
    fn origins(&self, buf: Buf) -> BTreeSet<Buf> {
        let mut origins = BTreeSet::new();
        let mut pending = vec![buf];
        while let Some(next) = pending.pop() {
            if self.saved.contains(&next) {
                origins.insert(next);
                continue;
            }
            for (source, access) in self.sources(next) {
                if access == Access::ReadAll {
                    return BTreeSet::from([buf]);
                }
                pending.push(source);
            }
        }
        origins
    }

    /// The buffers that the writers of a buffer read, as far as they can be recomputed, and how.
    fn sources(&self, buf: Buf) -> impl Iterator<Item = (Buf, Access)> {
        let accesses = self.writers[buf].iter().flat_map(|at| &self.step(*at).info.accesses);
        let is_read = |access| matches!(access, Access::ReadRows | Access::ReadAll);
        let sources = accesses.filter(move |(source, access)| *source != buf && is_read(*access));
        sources.copied().filter(|(source, _)| !self.writers[*source].is_empty())
    }

    fn step(&self, (stage, step): (usize, usize)) -> &Step {
        &self.program.stages[stage].steps[step]
    }

    /// The stages that compute these values again from kept values and from dropped ones that have already been
    /// computed again.
    fn recomputation<'s>(
        &self,
        values: &[Buf],
        kept: &BTreeSet<Buf>,
        dropped: &BTreeSet<Buf>,
        sparse_rows: impl Fn(&Work) -> Option<SparseRows<'s>>,
    ) -> Vec<Stage> {
        let is_available =
            |buf: &Buf| kept.contains(buf) || self.saved.contains(buf) && !dropped.contains(buf);
        let mut computed: BTreeSet<Buf> = BTreeSet::new();
        let mut positions = BTreeSet::new();
        let mut pending = values.to_vec();
        while let Some(buf) = pending.pop() {
            if !computed.insert(buf) {
                continue;
            }
            positions.extend(self.writers[buf].iter().copied());
            pending
                .extend(self.sources(buf).map(|(source, _)| source).filter(|x| !is_available(x)));
            // An instruction may write several buffers.
            let accesses = self.writers[buf].iter().flat_map(|at| &self.step(*at).info.accesses);
            let written = accesses.filter(|(_, access)| *access == Access::WriteRows);
            pending.extend(written.map(|(other, _)| *other));
        }
        let instrs = positions.iter().map(|at| self.step(*at).instr.clone());
        let mut result = stages(instrs, &self.program.bufs, sparse_rows);
        for stage in &mut result {
            stage.is_recomputation = true;
            let accesses = stage.steps.iter().flat_map(|step| &step.info.accesses);
            let written = accesses.filter(|(_, access)| *access == Access::WriteRows);
            let written: BTreeSet<Buf> = written.map(|(buf, _)| *buf).collect();
            stage.recomputed = written.into_iter().filter(|buf| computed.remove(buf)).collect();
        }
        result
    }
}
