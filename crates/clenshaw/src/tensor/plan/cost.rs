//! The cost of a training step, counted from its instructions, and its measured time by phase.
//!
//! ```text
//! flops      2 m k n for every dense product
//! gathered   a row for every entry of an operator, fewer if rows share sums, two in the gradients of attention;
//!            a row for every entry of sparse features that dropout keeps
//! streamed   the rows that a stage reads or writes in order; indices; masks
//! ```
//!
//! Parameters, their gradients and results that are used only within a stage stay in cache and are not counted as
//! streamed.

use super::instr::{Access, BufKind, Info, Instr, Work};
use super::program::{Program, Slot};
use super::replay::Plan;
use super::schedule::Stage;
use crate::tensor::Real;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The kinds of work in a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Dense matrix products, such as `H W` and its gradients.
    Products,
    /// Instructions that gather rows of neighbours: `P H` with the terms added to it; attention.
    Spmm,
    /// Products with sparse features, and their dropout.
    Features,
    /// ReLU, ReLU* and dropout of dense matrices, and their gradients.
    Gates,
    /// All other instructions, such as sums without `P H` and the loss.
    Rest,
}

impl Phase {
    /// All phases, in the order in which they are listed.
    pub const ALL: [Self; 5] =
        [Self::Products, Self::Spmm, Self::Features, Self::Gates, Self::Rest];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Products => "dense products",
            Self::Spmm => "gather",
            Self::Features => "sparse features",
            Self::Gates => "gates",
            Self::Rest => "rest",
        }
    }
}

/// An amount of work: operations and memory traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point operations of dense products.
    pub flops: f64,
    /// For every gather: its bytes, and the size in bytes of the matrix they are gathered from.
    pub gathered: Vec<(f64, usize)>,
    /// Bytes read and written sequentially.
    pub streamed: f64,
}

impl Cost {
    /// The total number of bytes gathered.
    pub fn gathered_bytes(&self) -> f64 {
        self.gathered.iter().fold(0.0, |sum, (bytes, _)| sum + bytes)
    }
}

/// The time that all threads together spent on the instructions of each phase.
#[derive(Default)]
pub(crate) struct PhaseTimer {
    nanoseconds: [AtomicU64; Phase::ALL.len()],
}

impl PhaseTimer {
    /// The seconds that all threads together spent on the instructions of a phase.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.nanoseconds[phase as usize].load(Ordering::Relaxed) as f64 * 1e-9
    }

    /// Runs `work` and adds its duration to a phase.
    pub(super) fn time(&self, phase: Phase, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        let spent = start.elapsed().as_nanos() as u64;
        self.nanoseconds[phase as usize].fetch_add(spent, Ordering::Relaxed);
    }
}

impl<T: Real> Plan<T> {
    /// The cost of one training step without the optimiser, for every phase in the order of [`Phase::ALL`].
    pub(crate) fn costs(&self) -> Vec<(Phase, Cost)> {
        self.costs_of(&self.train, |_| true)
    }

    /// [`Plan::costs`] of some stages of a program.
    pub(super) fn costs_of(
        &self,
        program: &Program,
        is_counted: impl Fn(&Stage) -> bool,
    ) -> Vec<(Phase, Cost)> {
        let mut total: Vec<(Phase, Cost)> =
            Phase::ALL.iter().map(|phase| (*phase, Cost::default())).collect();
        for stage in program.stages.iter().filter(|stage| is_counted(stage)) {
            let mut seen = BTreeSet::new();
            for step in &stage.steps {
                let cost = &mut total[step.info.phase as usize].1;
                self.add_work(program, stage, step.info.work, cost);
                cost.streamed += streamed_bytes::<T>(program, stage, &step.info, &mut seen);
            }
        }
        total
    }

    /// Adds the flops and gathered rows of an instruction, and the indices of these rows.
    fn add_work(&self, program: &Program, stage: &Stage, work: Work, cost: &mut Cost) {
        let bufs = &program.bufs;
        let row_bytes = |buf: usize| bufs[buf].cols * size_of::<T>();
        let mut gather = |entries: f64, src: usize| {
            cost.gathered.push((entries * row_bytes(src) as f64, bufs[src].rows * row_bytes(src)));
            cost.streamed += entries * size_of::<u32>() as f64;
        };
        match work {
            Work::Elementwise => {}
            Work::Product { k, n } => {
                cost.flops += (2 * stage.rows * bufs[k].cols * bufs[n].cols) as f64;
            }
            Work::Spmm { operator, src } => {
                gather(self.constants.operators[operator].n_reads() as f64, src);
            }
            Work::Attention { operator, src, n_rows } => {
                let pattern = &self.constants.operators[operator].layout.pattern;
                (0..n_rows).for_each(|_| gather(pattern.n_entries() as f64, src));
            }
            Work::SparseMatMul { matrix, values, src }
            | Work::SparseTransposeMatMul { matrix, values, src } => {
                gather(self.kept_entries(matrix, values), src);
            }
        }
    }

    /// The expected number of entries of a sparse matrix that dropout keeps; all of them without dropout. The
    /// kernel gathers rows for the other entries as well, but they are not counted as necessary work.
    fn kept_entries(&self, matrix: usize, values: usize) -> f64 {
        let steps = self.train.stages.iter().flat_map(|stage| &stage.steps);
        let mut keep = steps.filter_map(|step| match &step.instr {
            Instr::SparseDropout { drop, dst, .. } if *dst == values => {
                Some(drop.keep.keep_probability())
            }
            _ => None,
        });
        self.constants.sparse[matrix].pattern.n_entries() as f64 * keep.next().unwrap_or(1.0)
    }
}

/// The bytes of the rows that an instruction reads and writes in order, and of its mask. Each buffer counts at most
/// once per stage for reading and once for writing, as recorded in `seen`; parameters, their gradients and buffers
/// in scratch memory do not count.
fn streamed_bytes<T>(
    program: &Program,
    stage: &Stage,
    info: &Info,
    seen: &mut BTreeSet<(usize, bool)>,
) -> f64 {
    let mut bytes = 0;
    for &(buf, access) in &info.accesses {
        let is_in_memory = match program.slots[buf] {
            Slot::Arena(_) => true,
            Slot::Fixed(kind) => {
                matches!(kind, BufKind::Const(_) | BufKind::Input(_) | BufKind::SparseValues(_))
            }
            Slot::Scratch(_) | Slot::Unused => false,
        };
        let by_row = matches!(access, Access::ReadRows | Access::WriteRows);
        if is_in_memory && by_row && seen.insert((buf, access == Access::WriteRows)) {
            bytes += stage.rows * program.bufs[buf].cols * size_of::<T>();
        }
    }
    if let Some(mask) = info.mask {
        bytes += stage.rows * program.masks[mask].1.div_ceil(64) * size_of::<u64>();
    }
    bytes as f64
}
