//! What a step has to do, counted, and where its time goes, measured.
//!
//! ```text
//! flops      2 m k n for every dense product
//! gathered   a row for every entry of an operator, or of sparse features that dropout keeps
//! streamed   every row that a stage reads from memory or writes to it, once; indices; masks
//! ```
//!
//! What one instruction of a stage hands to the next stays in cache and is not counted.

use super::instr::{Access, Home, Instr};
use super::run::Plan;
use super::stage::{Program, Slot, Stage};
use crate::rng::Bernoulli;
use crate::tensor::Real;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The kinds of work a step is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// `H W` and both of its gradients.
    Products,
    /// `P H` with the sums around it.
    Spread,
    /// Products with sparse features, and their dropout.
    Features,
    /// Activations and dropout.
    Gates,
    /// Everything else: sums, inner products, the loss.
    Rest,
}

impl Phase {
    /// All of them, in the order of a listing.
    pub const ALL: [Self; 5] =
        [Self::Products, Self::Spread, Self::Features, Self::Gates, Self::Rest];

    /// Its name in a listing.
    pub fn name(self) -> &'static str {
        match self {
            Self::Products => "dense products",
            Self::Spread => "gather",
            Self::Features => "sparse features",
            Self::Gates => "gates",
            Self::Rest => "rest",
        }
    }
}

/// An amount of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Floating-point operations of dense products.
    pub flops: f64,
    /// Bytes gathered, and the bytes of the matrix they are gathered from.
    pub gathered: Vec<(f64, usize)>,
    /// Bytes read and written in order.
    pub streamed: f64,
}

impl Cost {
    /// All bytes gathered.
    pub fn gathered_bytes(&self) -> f64 {
        self.gathered.iter().fold(0.0, |sum, (bytes, _)| sum + bytes)
    }
}

/// Seconds of all threads, by phase.
#[derive(Default)]
pub struct PhaseTimer {
    nanoseconds: [AtomicU64; Phase::ALL.len()],
}

impl PhaseTimer {
    /// The seconds that threads spent in a phase, all threads together.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.nanoseconds[phase as usize].load(Ordering::Relaxed) as f64 * 1e-9
    }

    pub(super) fn time(&self, phase: Phase, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        let spent = start.elapsed().as_nanos() as u64;
        self.nanoseconds[phase as usize].fetch_add(spent, Ordering::Relaxed);
    }
}

impl Instr {
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::MatMul { .. } | Self::WeightGrad { .. } => Phase::Products,
            Self::Sum { spread: Some(_), .. } => Phase::Spread,
            Self::SparseMatMul { .. }
            | Self::SparseWeightGrad { .. }
            | Self::DropEntries { .. } => Phase::Features,
            Self::Gate { .. } | Self::Ungate { .. } => Phase::Gates,
            _ => Phase::Rest,
        }
    }
}

impl<T: Real> Plan<T> {
    /// The work of one training step, without the optimiser, by phase.
    pub fn costs(&self) -> Vec<(Phase, Cost)> {
        let mut total: Vec<(Phase, Cost)> =
            Phase::ALL.iter().map(|phase| (*phase, Cost::default())).collect();
        for stage in &self.train.stages {
            let mut seen = BTreeSet::new();
            for instr in &stage.instrs {
                let work = &mut total[instr.phase() as usize].1;
                self.count(&self.train, stage, instr, work);
                work.streamed += streamed::<T>(&self.train, stage, instr, &mut seen);
            }
        }
        total
    }

    /// Flops and gathered rows of an instruction, and the indices that say which.
    fn count(&self, program: &Program, stage: &Stage, instr: &Instr, work: &mut Cost) {
        let bufs = &program.bufs;
        let row_bytes = |buf: usize| bufs[buf].cols * size_of::<T>();
        let mut gather = |entries: f64, from: usize| {
            let source = bufs[from].rows * row_bytes(from);
            work.gathered.push((entries * row_bytes(from) as f64, source));
            work.streamed += entries * size_of::<u32>() as f64;
        };
        match *instr {
            Instr::Sum { spread: Some((by, _, src)), .. } => {
                gather(self.operators[by].0.n_entries() as f64, src);
            }
            Instr::SparseMatMul { x, values, w, .. } => {
                gather(self.kept_entries(program, x, values), w);
            }
            Instr::SparseWeightGrad { x, values, g, .. } => {
                gather(self.kept_entries(program, x, values), g);
            }
            Instr::MatMul { a, dst, .. } => {
                work.flops += (2 * stage.rows * bufs[a].cols * bufs[dst].cols) as f64;
            }
            Instr::WeightGrad { a, g, .. } => {
                work.flops += (2 * stage.rows * bufs[a].cols * bufs[g].cols) as f64;
            }
            _ => {}
        }
    }

    /// The number of entries of a sparse matrix that dropout leaves, on average.
    fn kept_entries(&self, program: &Program, x: usize, values: usize) -> f64 {
        let instrs = program.stages.iter().flat_map(|stage| &stage.instrs);
        let mut keep = instrs.filter_map(|instr| match instr {
            Instr::DropEntries { drop, dst, .. } if *dst == values => {
                Some(Bernoulli::keep(drop.coin))
            }
            _ => None,
        });
        self.sparse[x].pattern.n_entries() as f64 * keep.next().unwrap_or(1.0)
    }
}

/// The bytes an instruction moves between its rows and memory, unless the stage has moved them before.
fn streamed<T>(
    program: &Program,
    stage: &Stage,
    instr: &Instr,
    seen: &mut BTreeSet<(usize, bool)>,
) -> f64 {
    let mut bytes = 0;
    for (buf, access) in instr.touches() {
        let far = match program.slots[buf] {
            Slot::Arena(_) => true,
            Slot::Home(home) => matches!(home, Home::Const(_)),
            Slot::Scratch(_) | Slot::Unused => false,
        };
        let by_row = matches!(access, Access::ReadRows | Access::WriteRows);
        if far && by_row && seen.insert((buf, access == Access::WriteRows)) {
            bytes += stage.rows * program.bufs[buf].cols * size_of::<T>();
        }
    }
    if let Some(mask) = instr.mask() {
        bytes += stage.rows * program.mask_cols[mask].div_ceil(64) * size_of::<u64>();
    }
    bytes as f64
}
