//! Compares the kernels with a plain reference, and the gradients with finite differences.

use super::*;
use crate::tensor::kernel::testing::{LEVELS, assert_close, dispatch_at, numbers};
use crate::tensor::kernel::{SimdLevel, dispatch};
use crate::tensor::{NodeOrder, Pattern};

const N: usize = 9;
const SLOPE: f64 = 0.2;

/// A graph of nine nodes: a path with two chords, a loop at node 2, and node 8 without neighbours.
fn pattern() -> Pattern {
    let mut rows = vec![vec![]; N];
    for i in 0..7 {
        rows[i].push(i as u32 + 1);
        rows[i + 1].push(i as u32);
    }
    for (i, j) in [(0, 4), (1, 6)] {
        rows[i].push(j as u32);
        rows[j].push(i as u32);
    }
    rows[2].push(2);
    rows.iter_mut().for_each(|row| row.sort_unstable());
    let ends = rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    let offsets = std::iter::once(0).chain(ends).collect();
    Pattern::new(N, offsets, rows.concat())
}

/// A layout, a number of heads and a number of columns.
const SHAPES: [(HeadLayout, usize, usize); 5] = [
    (HeadLayout::Blocks, 1, 5),
    (HeadLayout::Blocks, 6, 66),
    (HeadLayout::Interleaved, 3, 6),
    (HeadLayout::Interleaved, 5, 33),
    (HeadLayout::Interleaved, 4, 2),
];

/// The inputs of an attention.
#[derive(Clone)]
struct Inputs<T> {
    shape: (HeadLayout, usize, usize),
    values: Vec<T>,
    source: Vec<T>,
    destination: Vec<T>,
    drop: Option<(Bernoulli, Stream)>,
    order: Option<NodeOrder>,
    pattern: Pattern,
}

impl Inputs<f32> {
    fn random(shape: (HeadLayout, usize, usize), drop: f64) -> Self {
        let (_, heads, cols) = shape;
        let scores = |seed| numbers(N * heads, seed).iter().map(|v| 3.0 * v).collect();
        Self {
            shape,
            values: numbers(N * cols, 1),
            source: scores(2),
            destination: scores(3),
            drop: (drop > 0.0)
                .then(|| (Bernoulli::from_drop_rate(drop), Stream::new(4, "attention test"))),
            order: None,
            pattern: pattern(),
        }
    }

    fn to_f64(&self) -> Inputs<f64> {
        let wide = |numbers: &[f32]| numbers.iter().map(|v| f64::from(*v)).collect();
        Inputs {
            shape: self.shape,
            values: wide(&self.values),
            source: wide(&self.source),
            destination: wide(&self.destination),
            drop: self.drop.clone(),
            order: self.order.clone(),
            pattern: self.pattern.clone(),
        }
    }
}

impl<T: Real> Inputs<T> {
    /// The edges of some rows.
    fn edges(&self, rows: std::ops::Range<usize>) -> AttentionEdges<'_, T> {
        let (layout, heads, cols) = self.shape;
        AttentionEdges {
            layout,
            heads,
            cols,
            slope: T::from_f64(SLOPE),
            first_row: rows.start,
            offsets: &self.pattern.offsets()[rows.start..=rows.end],
            indices: self.pattern.indices(),
            source: &self.source,
            destination: &self.destination,
            values: &self.values,
            drop: self.drop.as_ref().map(|(keep, stream)| EdgeDropout {
                keep: *keep,
                stream,
                nodes: self.order.as_ref().map(|order| order.nodes()),
                n_nodes: N,
            }),
        }
    }

    /// `out` and `l`, computed in two blocks.
    fn run(&self, level: SimdLevel) -> (Vec<T>, Vec<T>) {
        let (_, heads, cols) = self.shape;
        let (mut out, mut log_sums) = (vec![T::ONE; N * cols], vec![T::ONE; N * heads]);
        for rows in [0..4, 4..N] {
            let out = &mut out[rows.start * cols..rows.end * cols];
            let log_sums = &mut log_sums[rows.start * heads..rows.end * heads];
            dispatch_at(level, Attention { edges: self.edges(rows), out, log_sums });
        }
        (out, log_sums)
    }

    /// The gradients of values, source and destination scores, given the gradient `y` of the result.
    fn gradients(&self, level: SimdLevel, y: &[T]) -> [Vec<T>; 3] {
        let (layout, heads, cols) = self.shape;
        let (out, log_sums) = self.run(level);
        let mut dots = vec![T::ONE; N * heads];
        dispatch_at(level, HeadDots { layout, heads, cols, a: y, b: &out, out: &mut dots });
        let mut grads = [cols, heads, heads].map(|width| vec![T::ONE; N * width]);
        for rows in [0..4, 4..N] {
            let [values_grad, source_grad, destination_grad] = grads.each_mut().map(|grad| {
                let width = grad.len() / N;
                &mut grad[rows.start * width..rows.end * width]
            });
            let edges = self.edges(rows);
            let kernel = AttentionGrad {
                edges,
                log_sums: &log_sums,
                out_grad: y,
                dots: &dots,
                values_grad,
                source_grad,
                destination_grad,
            };
            dispatch_at(level, kernel);
        }
        grads
    }
}

/// The result by its definition: a dense matrix of weights per head.
fn plain(inputs: &Inputs<f64>) -> Vec<f64> {
    let (layout, heads, cols) = inputs.shape;
    let mut out = vec![0.0; N * cols];
    for i in 0..N {
        for c in 0..cols {
            let k = layout.head(c, cols, heads);
            let score = |j: u32| {
                let x = inputs.source[j as usize * heads + k] + inputs.destination[i * heads + k];
                x.max(SLOPE * x).exp()
            };
            let neighbours = inputs.pattern.row(i);
            let total: f64 = neighbours.iter().map(|&j| score(j)).sum();
            for &j in neighbours {
                let mut factors = vec![1.0; heads];
                inputs.edges(0..N).factors(i, j as usize, &mut factors);
                out[i * cols + c] +=
                    factors[k] * score(j) / total * inputs.values[j as usize * cols + c];
            }
        }
    }
    out
}

#[test]
fn kernels_agree_with_the_definition() {
    for shape in SHAPES {
        for drop in [0.0, 0.4] {
            let inputs = Inputs::random(shape, drop);
            let expected = plain(&inputs.to_f64());
            let (out, _) = inputs.to_f64().run(SimdLevel::Portable);
            let error = out.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-14, "{shape:?}: {error}");
            let expected: Vec<f32> = expected.iter().map(|v| *v as f32).collect();
            for level in LEVELS {
                assert_close(&inputs.run(level).0, &expected, 1e-6);
            }
            let cols = shape.2;
            assert!(out[8 * cols..].iter().all(|v| *v == 0.0), "a node without neighbours");
        }
    }
}

#[test]
fn vectorised_gradients_agree_with_the_portable_ones() {
    for shape in SHAPES {
        let inputs = Inputs::random(shape, 0.3);
        let y = numbers(N * shape.2, 5);
        let expected = inputs.gradients(SimdLevel::Portable, &y);
        for level in LEVELS {
            for (found, expected) in inputs.gradients(level, &y).iter().zip(&expected) {
                assert_close(found, expected, 1e-6);
            }
        }
        assert_eq!(
            inputs.gradients(SimdLevel::Avx2, &y),
            inputs.gradients(SimdLevel::Avx512, &y),
            "AVX2 and AVX-512 give the same bits"
        );
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    for shape in SHAPES {
        for drop in [0.0, 0.4] {
            let inputs = Inputs::random(shape, drop).to_f64();
            let y: Vec<f64> = numbers(N * shape.2, 5).iter().map(|v| f64::from(*v)).collect();
            let loss = |inputs: &Inputs<f64>| -> f64 {
                plain(inputs).iter().zip(&y).map(|(out, y)| out * y).sum()
            };
            let gradients = inputs.gradients(SimdLevel::Portable, &y);
            let part = |inputs: &mut Inputs<f64>, which: usize, entry: usize, step: f64| {
                let numbers = match which {
                    0 => &mut inputs.values,
                    1 => &mut inputs.source,
                    _ => &mut inputs.destination,
                };
                numbers[entry] += step;
            };
            for (which, gradient) in gradients.iter().enumerate() {
                for (entry, found) in gradient.iter().enumerate().step_by(3) {
                    let at = |step| {
                        let mut moved = inputs.clone();
                        part(&mut moved, which, entry, step);
                        loss(&moved)
                    };
                    let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                    assert!(
                        (slope - found).abs() < 1e-8,
                        "{shape:?}, input {which}, entry {entry}: {found} instead of {slope}"
                    );
                }
            }
        }
    }
}

#[test]
fn dropout_depends_on_node_numbers_and_has_the_given_rate() {
    // The rows of another order have the same factors for the same pairs of nodes.
    let inputs = Inputs::random(SHAPES[1], 0.4);
    let order = NodeOrder::new((0..N as u32).rev().collect()).unwrap();
    let reordered = Inputs { order: Some(order), ..inputs.clone() };
    let factors = |inputs: &Inputs<f32>, i, j| {
        let mut factors = vec![0.0; 6];
        inputs.edges(0..N).factors(i, j, &mut factors);
        factors
    };
    let mut kept = 0;
    for i in 0..N {
        for j in 0..N {
            let found = factors(&inputs, i, j);
            assert_eq!(found, factors(&reordered, N - 1 - i, N - 1 - j));
            kept += found.iter().filter(|factor| **factor > 0.0).count();
        }
    }
    let share = kept as f64 / (6 * N * N) as f64;
    assert!((share - 0.6).abs() < 0.1, "{share}");
    assert_ne!(factors(&inputs, 0, 1), factors(&inputs, 1, 0), "edges have a direction");
}

#[test]
fn large_scores_do_not_overflow_and_nan_propagates() {
    let mut inputs = Inputs::random(SHAPES[0], 0.0);
    inputs.source.iter_mut().for_each(|s| *s += 1e4);
    assert!(inputs.run(SimdLevel::Portable).0.iter().all(|v| v.is_finite()));
    inputs.source[1] = f32::NAN;
    let (out, _) = inputs.run(SimdLevel::Portable);
    // Node 0 is a neighbour of node 1, node 4 is not.
    assert!(out[0].is_nan() && out[4 * 5].is_finite());
}

#[test]
fn products_per_head_sum_the_columns_of_the_head() {
    let mut out = [0.0f64; 2];
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 10.0]);
    for (layout, expected) in
        [(HeadLayout::Blocks, [3.0, 43.0]), (HeadLayout::Interleaved, [4.0, 42.0])]
    {
        dispatch(HeadDots { layout, heads: 2, cols: 4, a: &a, b: &b, out: &mut out });
        assert_eq!(out, expected, "{layout:?}");
    }
}
