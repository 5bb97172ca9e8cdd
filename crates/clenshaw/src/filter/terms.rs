//! The terms of a filter, computed once for a block of columns at a time.
//!
//! ```text
//! phi_{k+1}(P) X = a_k P phi_k(P) X + b_k phi_k(P) X - c_k phi_{k-1}(P) X          k = 0..K
//! ```
//!
//! P acts on every column of X on its own, so a block of w columns needs two buffers of `[n, w]` and the operator:
//! the next term overwrites the last but one.
//! An entry is computed in f64 from the entries of its column, neighbour by neighbour in ascending order, and rounded
//! once. Its bits therefore depend neither on the other columns of the block nor on the number of threads.

use super::{Basis, Filter, RecurrenceStep, multiply_row};
use crate::parallel;
use crate::tensor::{AlignedVec, Operator, RecurrenceStepRows, StepFactors, dispatch};

/// The widths of blocks of columns, in descending order. A row of 16 columns in f32 fills one cache line.
pub(crate) const BLOCK_WIDTHS: [usize; 5] = [16, 8, 4, 2, 1];

/// Parts of the rows per thread, so that no thread waits long for another one.
const PARTS_PER_THREAD: usize = 8;

/// The matrices that a model with a precomputed filter reads: every `phi_k(P) X`, or one fixed combination of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterTerms {
    /// The first K steps of the recurrence.
    steps: Vec<RecurrenceStep>,
    /// The coefficient of each `phi_k` in the combination.
    combination: Option<Vec<f64>>,
}

impl FilterTerms {
    /// `phi_k(P) X` for `k = 0..=order`. The Bernstein basis is replaced by the Chebyshev basis of the first kind, to
    /// which its coefficients have to be converted.
    pub fn each(basis: &Basis, order: usize) -> Self {
        let conversion = basis.change_of_basis(order);
        let basis = conversion.as_ref().map_or(basis, |(basis, _)| basis);
        Self { steps: (0..order).map(|k| basis.step(k)).collect(), combination: None }
    }

    /// The matrix `h(P) X`.
    ///
    /// # Panics
    /// If the filter has no coefficients.
    pub fn sum(filter: &Filter) -> Self {
        let order = filter.coefficients.len().checked_sub(1);
        let order = order.expect("FilterTerms::sum: a filter without coefficients");
        let coefficients = match filter.basis.change_of_basis(order) {
            Some((_, m)) => multiply_row(&filter.coefficients, &m),
            None => filter.coefficients.clone(),
        };
        Self { combination: Some(coefficients), ..Self::each(&filter.basis, order) }
    }

    /// The number of matrices.
    pub fn n_matrices(&self) -> usize {
        if self.combination.is_some() { 1 } else { self.steps.len() + 1 }
    }

    /// The number of terms of the recurrence, K + 1.
    pub(crate) fn n_terms(&self) -> usize {
        self.steps.len() + 1
    }

    /// The bytes of the buffers that [`FilterTerms::compute`] needs per row for a block of this width.
    pub(crate) fn bytes_per_row(&self, width: usize) -> usize {
        (2 + usize::from(self.combination.is_some())) * width * size_of::<f32>()
    }

    /// Everything that the matrices depend on, besides P and X.
    pub(crate) fn description(&self) -> String {
        format!("{:?} {:?}", self.steps, self.combination)
    }

    /// Computes the matrices for a block of columns. Calls `on_matrix` with each of them and its index, and
    /// `on_term` after every term; either can end the computation with an error.
    ///
    /// # Shapes
    /// `x` and the matrices are `[n, width]`.
    ///
    /// # Panics
    /// If the width is not one of [`BLOCK_WIDTHS`], or `x` has another shape.
    pub(crate) fn compute<E>(
        &self,
        p: &Operator,
        (x, width): (AlignedVec<f32>, usize),
        threads: usize,
        mut on_matrix: impl FnMut(usize, &[f32]) -> Result<(), E>,
        mut on_term: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        assert_eq!(x.len(), p.n_nodes() * width, "filter terms: expected one row per node");
        let mut sum = self.combination.as_ref().map(|_| AlignedVec::zeros(x.len()));
        let mut previous = AlignedVec::zeros(x.len());
        let mut current = x;
        for k in 0..self.n_terms() {
            match (&mut sum, &self.combination) {
                (Some(sum), Some(c)) => add_scaled(sum, c[k], &current, threads),
                _ => on_matrix(k, &current)?,
            }
            if let Some(&step) = self.steps.get(k) {
                advance(p, step, (&current, &mut previous), width, threads);
                std::mem::swap(&mut current, &mut previous);
            }
            on_term()?;
        }
        sum.map_or(Ok(()), |sum| on_matrix(0, &sum))
    }
}

/// `sum += c x`.
fn add_scaled(sum: &mut [f32], c: f64, x: &[f32], threads: usize) {
    let len = sum.len().div_ceil(threads.max(1)).max(1);
    parallel::map(threads, sum.chunks_mut(len).zip(x.chunks(len)), |(sum, x)| {
        sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += (c * f64::from(*x)) as f32);
    });
}

/// Overwrites the previous term with the next one.
fn advance(
    p: &Operator,
    step: RecurrenceStep,
    terms: (&[f32], &mut [f32]),
    width: usize,
    threads: usize,
) {
    match width {
        16 => advance_block::<16>(p, step, terms, threads),
        8 => advance_block::<8>(p, step, terms, threads),
        4 => advance_block::<4>(p, step, terms, threads),
        2 => advance_block::<2>(p, step, terms, threads),
        1 => advance_block::<1>(p, step, terms, threads),
        _ => panic!("filter terms: a block of {width} columns"),
    }
}

/// [`advance`] for blocks of `W` columns.
fn advance_block<const W: usize>(
    p: &Operator,
    step: RecurrenceStep,
    (current, previous): (&[f32], &mut [f32]),
    threads: usize,
) {
    let (current, mut rest) = (current.as_chunks::<W>().0, previous.as_chunks_mut::<W>().0);
    let parts = p.pattern().split_rows(threads.max(1) * PARTS_PER_THREAD);
    let parts: Vec<_> = parts
        .map(|rows| {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(rows.len());
            rest = others;
            (rows, part)
        })
        .collect();
    let RecurrenceStep { a, b, c } = step;
    parallel::map(threads, parts, |(rows, out)| {
        let factors = StepFactors { a, b, c };
        dispatch(RecurrenceStepRows { p, factors, rows, x: current, out });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, max_abs, operator};
    use crate::rng::Stream;
    use crate::tensor::Mat;
    use std::convert::Infallible;

    const N: usize = 300;
    const WIDTH: usize = 16;

    fn graph(weighted: bool) -> Operator {
        let mut stream = Stream::new(4, "test");
        let mut end = || stream.below(N - 1) as u32;
        let weight = |i: usize| if weighted { 0.5 + (i % 5) as f32 } else { 1.0 };
        let edges: Vec<_> = (0..4 * N).map(|i| (end(), end(), weight(i))).collect();
        let graph = Graph::from_weighted_edges("test", N, &edges).unwrap();
        operator(&graph, Normalisation::Plain)
    }

    fn signal() -> AlignedVec<f32> {
        let mut stream = Stream::new(5, "test");
        (0..N * WIDTH).map(|_| stream.symmetric(1.0) as f32).collect()
    }

    fn matrices(
        terms: &FilterTerms,
        p: &Operator,
        (x, width): (AlignedVec<f32>, usize),
        threads: usize,
    ) -> Vec<Vec<f32>> {
        let mut found = vec![];
        let keep = |index: usize, matrix: &[f32]| {
            assert_eq!(index, found.len());
            found.push(matrix.to_vec());
            Ok::<_, Infallible>(())
        };
        terms.compute(p, (x, width), threads, keep, || Ok(())).unwrap();
        found
    }

    /// `phi_k(P) x` by the filter with one coefficient, in f64.
    fn expected(basis: &Basis, p: &Operator, c: Vec<f64>) -> Vec<f64> {
        let x = Mat::from_vec(N, WIDTH, signal().to_vec()).cast();
        Filter { basis: basis.clone(), coefficients: c }.apply(p, &x).into_vec()
    }

    fn assert_close(actual: &[f32], expected: &[f64], what: &str) {
        let errors = actual.iter().zip(expected).map(|(a, e)| f64::from(*a) - e);
        let scale = max_abs(expected.iter().copied()).max(1.0);
        let worst = max_abs(errors) / scale;
        assert!(worst < 2e-6, "{what}: {worst}");
    }

    #[test]
    fn each_term_is_the_filter_with_one_coefficient() {
        let order = 6;
        for weighted in [false, true] {
            let p = graph(weighted);
            for basis in [
                Basis::Monomial,
                Basis::ChebyshevLaplacian,
                Basis::Legendre,
                Basis::Jacobi { a: 0.5, b: -0.25 },
            ] {
                let terms = FilterTerms::each(&basis, order);
                let found = matrices(&terms, &p, (signal(), WIDTH), 2);
                assert_eq!((found.len(), terms.n_matrices()), (order + 1, order + 1));
                assert_eq!(found[0], *signal());
                for (k, found) in found.iter().enumerate() {
                    let mut c = vec![0.0; order + 1];
                    c[k] = 1.0;
                    let what = format!("{basis:?} {k}, weighted {weighted}");
                    assert_close(found, &expected(&basis, &p, c), &what);
                }
            }
        }
    }

    #[test]
    fn combination_is_the_filter() {
        let p = graph(false);
        let c = vec![0.7, -0.4, 1.1, 0.2, -0.9];
        for basis in [Basis::Monomial, Basis::Bernstein, Basis::ChebyshevSecond] {
            let filter = Filter { basis: basis.clone(), coefficients: c.clone() };
            let found = matrices(&FilterTerms::sum(&filter), &p, (signal(), WIDTH), 1);
            assert_eq!(found.len(), 1);
            assert_close(&found[0], &expected(&basis, &p, c.clone()), &format!("{basis:?}"));
        }
    }

    #[test]
    fn bits_depend_neither_on_the_width_of_a_block_nor_on_the_threads() {
        let (p, x) = (graph(true), signal());
        let filter = Filter { basis: Basis::Legendre, coefficients: vec![0.5, 0.25, -1.0] };
        for terms in [FilterTerms::each(&Basis::Legendre, 5), FilterTerms::sum(&filter)] {
            let whole = matrices(&terms, &p, (x.clone(), WIDTH), 1);
            assert_eq!(matrices(&terms, &p, (x.clone(), WIDTH), 3), whole);
            for width in BLOCK_WIDTHS {
                let start = WIDTH - width;
                let columns = |m: &[f32]| {
                    Vec::from_iter(m.chunks(WIDTH).flat_map(|row| row[start..].to_vec()))
                };
                let found = matrices(&terms, &p, (columns(&x).into_iter().collect(), width), 2);
                let expected: Vec<Vec<f32>> = whole.iter().map(|m| columns(m)).collect();
                assert_eq!(found, expected, "{width} columns");
            }
        }
    }

    #[test]
    fn an_error_ends_the_computation() {
        let terms = FilterTerms::each(&Basis::Monomial, 5);
        let mut n_terms = 0;
        let stop = || {
            n_terms += 1;
            if n_terms == 3 { Err("stopped") } else { Ok(()) }
        };
        let result = terms.compute(&graph(false), (signal(), WIDTH), 1, |_, _| Ok(()), stop);
        assert_eq!((result, n_terms), (Err("stopped"), 3));
    }
}
