//! What this machine can do: the rates that bound a training step.
//!
//! ```text
//! products   2 m k n flops of H W, blocks of 64 rows and 64 columns in cache
//! gather     one row of 64 numbers from a random place of a source of a given size
//! stream     reading a source of a given size from its first number to its last
//! ```
//!
//! Every rate is the best of a few tries with all threads at work: a bound, not an average.

use super::kernel::{self, dispatch};
use super::{Lines, Team};
use crate::rng::Stream;
use std::hint::black_box;
use std::time::Instant;

/// Rows and columns of a block, as in a training step of width 64.
const WIDTH: usize = 64;
const ROW_BYTES: usize = WIDTH * size_of::<f32>();
const TRIES: usize = 9;

/// Dense products: floating-point operations a second.
pub fn product_rate(team: &mut Team) -> f64 {
    const REPEATS: usize = 400;
    let flops = (2 * WIDTH * WIDTH * WIDTH * REPEATS * team.threads()) as f64;
    let numbers = Lines::<f32>::zeros(WIDTH * WIDTH);
    let threads = team.threads();
    best_rate(flops, || {
        team.run(threads, |_, _| {
            let mut c = Lines::zeros(WIDTH * WIDTH);
            for _ in 0..REPEATS {
                dispatch(kernel::Gemm {
                    m: WIDTH,
                    k: WIDTH,
                    n: WIDTH,
                    a: black_box(&numbers),
                    a_row: WIDTH,
                    a_col: 1,
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

/// Rows of 64 numbers from random places of a source: bytes a second.
pub fn gather_rate(team: &mut Team, source_bytes: usize) -> f64 {
    const READS: usize = 32;
    let rows = (source_bytes / ROW_BYTES).max(1);
    let n_reads = (1usize << 25).div_ceil(ROW_BYTES).max(rows.min(1 << 19));
    let src = Lines::<f32>::zeros(rows * WIDTH);
    let mut stream = Stream::new(0, "gather rate");
    let indices: Vec<u32> = (0..n_reads).map(|_| stream.below(rows) as u32).collect();
    let scale = vec![1.0; rows];
    let n_chunks = 16 * team.threads();
    let share = n_reads / READS / n_chunks;
    let bytes = (n_chunks * share * READS * ROW_BYTES) as f64;
    best_rate(bytes, || {
        team.run(n_chunks, |chunk, _| {
            let mut out = [0.0; WIDTH];
            for row in chunk * share..(chunk + 1) * share {
                let gather = kernel::Gather {
                    coef: 1.0,
                    offsets: &[row * READS, (row + 1) * READS],
                    indices: &indices,
                    scale: &scale,
                    first: 0,
                    src: &src,
                };
                dispatch(kernel::Sum {
                    cols: WIDTH,
                    gather: Some(gather),
                    terms: [(0.0, &[]); kernel::MAX_TERMS],
                    n_terms: 0,
                    bias: None,
                    out: &mut out,
                    add: false,
                });
                black_box(&out);
            }
        });
    })
}

/// A source read in order: bytes a second.
pub fn stream_rate(team: &mut Team, source_bytes: usize) -> f64 {
    const CHUNK: usize = 1 << 14;
    let n_chunks = (source_bytes / size_of::<f32>()).div_ceil(CHUNK).max(team.threads());
    let src = Lines::<f32>::zeros(n_chunks * CHUNK);
    let passes = (1usize << 26).div_ceil(size_of_val(&*src)).max(1);
    let bytes = (passes * size_of_val(&*src)) as f64;
    best_rate(bytes, || {
        for _ in 0..passes {
            team.run(n_chunks, |chunk, _| {
                let part = &src[chunk * CHUNK..(chunk + 1) * CHUNK];
                black_box(kernel::dot(part, part));
            });
        }
    })
}

/// The best of a few tries, in units a second.
fn best_rate(units: f64, mut work: impl FnMut()) -> f64 {
    let seconds = (0..TRIES).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    units / seconds.fold(f64::INFINITY, f64::min)
}
