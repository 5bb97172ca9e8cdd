//! A roofline model: the rates of this machine that bound a training step.
//!
//! ```text
//! products   flops per second of H W, on blocks of 64 rows and 64 columns in cache
//! gather     bytes per second of reading rows of 64 numbers at random positions in a source of a given size
//! stream     bytes per second of c = a + b, read and written in order; a, b and c have a given total size
//!
//! bound = flops / products + sum gathered / gather(source) + streamed / stream(workspace)
//! ```
//!
//! Every rate is the best of several runs with the kernels of a training step and the same number of
//! threads, so the bound is the time of a step in which each kind of work is as fast as in a tight loop.

use super::kernel::{self, MAX_TERMS, dispatch};
use super::{AlignedVec, Cost, ThreadTeam};
use crate::rng::Stream;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// Rows and columns of a block, as in a training step of width 64.
const WIDTH: usize = 64;
const ROW_BYTES: usize = WIDTH * size_of::<f32>();
/// The number of runs per rate; the best one counts.
const RUNS: usize = 15;
/// The approximate minimum number of bytes that a run moves.
const MIN_MOVED: usize = 1 << 26;

/// Measured rates of this machine; those that depend on a size are measured on first use.
pub struct Roofline {
    team: ThreadTeam,
    products: f64,
    gather: BTreeMap<usize, f64>,
    stream: BTreeMap<usize, f64>,
}

impl Roofline {
    /// Starts the threads and measures the rate of dense products; panics if a thread cannot be started.
    pub fn new(threads: usize) -> Self {
        let mut team = ThreadTeam::new(threads);
        let products = measure_product_rate(&mut team);
        Self { team, products, gather: BTreeMap::new(), stream: BTreeMap::new() }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.team.threads()
    }

    /// Floating-point operations per second of dense products.
    pub fn product_rate(&self) -> f64 {
        self.products
    }

    /// Bytes per second of gathering from a source of `source` bytes, measured on the first call for this size.
    pub fn gather_rate(&mut self, source: usize) -> f64 {
        *self.gather.entry(source).or_insert_with(|| measure_gather_rate(&mut self.team, source))
    }

    /// Bytes per second of sequential reads and writes in arrays of `bytes` bytes in total, measured on the
    /// first call for this size.
    pub fn stream_rate(&mut self, bytes: usize) -> f64 {
        *self.stream.entry(bytes).or_insert_with(|| measure_stream_rate(&mut self.team, bytes))
    }

    /// The time in seconds that `work` would take at these rates, in a workspace of `workspace` bytes.
    pub fn lower_bound(&mut self, work: &Cost, workspace: usize) -> f64 {
        let gathered: f64 =
            work.gathered.iter().map(|(bytes, source)| bytes / self.gather_rate(*source)).sum();
        work.flops / self.products + gathered + work.streamed / self.stream_rate(workspace)
    }
}

/// The flops per second of dense products on all threads.
fn measure_product_rate(team: &mut ThreadTeam) -> f64 {
    // A few milliseconds, so that threads have started and clock rates have risen.
    const REPEATS: usize = 2000;
    let threads = team.threads();
    let flops = (2 * WIDTH * WIDTH * WIDTH * REPEATS * threads) as f64;
    let numbers = AlignedVec::<f32>::zeros(WIDTH * WIDTH);
    best_rate(flops, || {
        team.run(threads, |_, _| {
            let mut c = AlignedVec::zeros(WIDTH * WIDTH);
            for _ in 0..REPEATS {
                dispatch(kernel::Gemm {
                    m: WIDTH,
                    k: WIDTH,
                    n: WIDTH,
                    a: black_box(&numbers),
                    a_row_stride: WIDTH,
                    a_col_stride: 1,
                    b: &numbers,
                    bias: None,
                    c: &mut c,
                    add: false,
                });
            }
            black_box(&c);
        });
    })
}

/// The bytes per second of gathering rows from a source of `source` bytes, on all threads.
fn measure_gather_rate(team: &mut ThreadTeam, source: usize) -> f64 {
    const READS_PER_ROW: usize = 32;
    let rows = (source / ROW_BYTES).max(1);
    let n_chunks = 16 * team.threads();
    let chunk_rows = (MIN_MOVED / ROW_BYTES / READS_PER_ROW).div_ceil(n_chunks);
    let n_reads = n_chunks * chunk_rows * READS_PER_ROW;
    let src = AlignedVec::<f32>::zeros(rows * WIDTH);
    let mut stream = Stream::new(0, "gather rate");
    let indices: Vec<u32> = (0..n_reads).map(|_| stream.below(rows) as u32).collect();
    let scale = vec![1.0; rows];
    best_rate((n_reads * ROW_BYTES) as f64, || {
        team.run(n_chunks, |chunk, _| {
            let mut out = [0.0; WIDTH];
            for row in chunk * chunk_rows..(chunk + 1) * chunk_rows {
                let gather = kernel::Gather {
                    coef: 1.0,
                    entries: kernel::GatherEntries::Rows {
                        offsets: &[row * READS_PER_ROW, (row + 1) * READS_PER_ROW],
                        indices: &indices,
                        values: None,
                    },
                    scale: &scale,
                    first_row: 0,
                    src: kernel::GatherSource::Full(&src),
                };
                let terms = [(0.0, &[][..]); MAX_TERMS];
                dispatch(sum_kernel(Some(gather), terms, 0, &mut out));
                black_box(&out);
            }
        });
    })
}

/// The bytes per second of `c = a + b` for arrays of about `bytes` bytes in total, on all threads.
fn measure_stream_rate(team: &mut ThreadTeam, bytes: usize) -> f64 {
    const CHUNK: usize = 64 * WIDTH;
    let n_chunks = (bytes / 3 / size_of::<f32>()).div_ceil(CHUNK).max(team.threads());
    let len = n_chunks * CHUNK;
    let (a, b, mut c) = (AlignedVec::zeros(len), AlignedVec::zeros(len), AlignedVec::zeros(len));
    let moved = 3 * len * size_of::<f32>();
    let passes = MIN_MOVED.div_ceil(moved);
    let out = SharedPointer(c.as_mut_ptr());
    let rate = best_rate((passes * moved) as f64, || {
        for _ in 0..passes {
            team.run(n_chunks, |chunk, _| {
                let range = chunk * CHUNK..(chunk + 1) * CHUNK;
                // SAFETY: chunks are disjoint parts of `c`, which lives until the end.
                let out = unsafe { std::slice::from_raw_parts_mut(out.offset(range.start), CHUNK) };
                let none: (f32, &[f32]) = (0.0, &[]);
                let terms = [(1.0, &a[range.clone()]), (1.0, &b[range]), none, none];
                dispatch(sum_kernel(None, terms, 2, out));
            });
        }
    });
    black_box(&c);
    rate
}

/// A pointer to memory of which every thread writes its own part.
struct SharedPointer(*mut f32);

// SAFETY: threads write disjoint parts.
unsafe impl Sync for SharedPointer {}

impl SharedPointer {
    fn offset(&self, offset: usize) -> *mut f32 {
        self.0.wrapping_add(offset)
    }
}

/// The kernel for a sum of rows of `WIDTH` columns, without bias, that overwrites `out`.
fn sum_kernel<'a>(
    gather: Option<kernel::Gather<'a, f32>>,
    terms: [(f32, &'a [f32]); MAX_TERMS],
    n_terms: usize,
    out: &'a mut [f32],
) -> kernel::Sum<'a, f32> {
    kernel::Sum { cols: WIDTH, gather, terms, n_terms, bias: None, out, add: false }
}

/// The highest rate of several runs of `work`, in units per second; each run processes `units` units.
fn best_rate(units: f64, mut work: impl FnMut()) -> f64 {
    let seconds = (0..RUNS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    units / seconds.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bound_adds_the_times_of_all_kinds_of_work() {
        let mut roofline = Roofline {
            team: ThreadTeam::new(1),
            products: 100.0,
            gather: BTreeMap::from([(64, 10.0), (128, 5.0)]),
            stream: BTreeMap::from([(1000, 4.0)]),
        };
        let gathered = vec![(20.0, 64), (15.0, 128)];
        let work = Cost { flops: 300.0, gathered, streamed: 6.0 };
        assert_eq!(roofline.lower_bound(&work, 1000), 3.0 + 2.0 + 3.0 + 1.5);
    }
}
