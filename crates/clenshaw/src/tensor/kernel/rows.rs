//! Row-wise functions.
//!
//! ```text
//! shrink   y = max(0, 1 - t / |x|) x     dx = (1 - t / |x|) g + (t / |x|^3) <x, g> x   if |x| > t, else 0
//! softmax  y_c = e^x_c / sum_j e^x_j     dx = y (g - <y, g>)
//! standard y = r (x - mean x)            dx = r (g - mean g - y mean(y g))
//!          r = 1 / sqrt(mean (x - mean x)^2 + eps)
//! ```

use super::log_sum_exp;
use super::reduce::{dot_in_lanes, sum_in_lanes};
use super::{Arith, Kernel, dot};
use crate::tensor::Real;

/// Reduces the norm of every row by `threshold`, but not below zero.
pub(crate) struct Shrink<'a, T> {
    pub cols: usize,
    pub threshold: T,
    pub x: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for Shrink<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { cols, threshold, x, out } = self;
        for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
            let length = dot_in_lanes::<A, T>(x, x).sqrt();
            // A row of length zero stays zero; NaN propagates.
            let factor = if length <= threshold { T::ZERO } else { T::ONE - threshold / length };
            out.iter_mut().zip(x).for_each(|(out, x)| *out = factor * *x);
        }
    }
}

/// The gradient with respect to the input `x` of [`Shrink`], given the gradient `g` of the result.
pub(crate) struct ShrinkGrad<'a, T> {
    pub cols: usize,
    pub threshold: T,
    pub x: &'a [T],
    pub g: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for ShrinkGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { cols, threshold, x, g, out } = self;
        let rows = x.chunks_exact(cols).zip(g.chunks_exact(cols)).zip(out.chunks_exact_mut(cols));
        for ((x, g), out) in rows {
            let length = dot_in_lanes::<A, T>(x, x).sqrt();
            if length <= threshold {
                out.fill(T::ZERO);
                continue;
            }
            let factor = T::ONE - threshold / length;
            let cube = length * length * length;
            let along = threshold / cube * dot_in_lanes::<A, T>(x, g);
            for ((out, x), g) in out.iter_mut().zip(x).zip(g) {
                *out = factor * *g + along * *x;
            }
        }
    }
}

/// `out[i, ..] = by[i, column] x[i, ..]`.
pub(crate) struct ScaleRows<'a, T> {
    pub cols: usize,
    pub x: &'a [T],
    /// The rows of `by`, of `by_cols` columns.
    pub by: &'a [T],
    pub by_cols: usize,
    pub column: usize,
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for ScaleRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let rows = self.x.chunks_exact(self.cols).zip(self.by.chunks_exact(self.by_cols));
        for ((x, by), out) in rows.zip(self.out.chunks_exact_mut(self.cols)) {
            let factor = by[self.column];
            out.iter_mut().zip(x).for_each(|(out, x)| *out = factor * *x);
        }
    }
}

/// The softmax of every row.
pub(crate) fn softmax<T: Real>(cols: usize, x: &[T], out: &mut [T]) {
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let log_sum = log_sum_exp(x);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = (*x - log_sum).exp());
    }
}

/// The gradient with respect to the input of [`softmax`], given its result `y` and the gradient `g` of `y`.
pub(crate) fn softmax_gradient<T: Real>(cols: usize, y: &[T], g: &[T], out: &mut [T]) {
    let rows = y.chunks_exact(cols).zip(g.chunks_exact(cols)).zip(out.chunks_exact_mut(cols));
    for ((y, g), out) in rows {
        let mean = dot(y, g);
        for ((out, y), g) in out.iter_mut().zip(y).zip(g) {
            *out = *y * (*g - mean);
        }
    }
}

/// Subtracts the mean of every row and multiplies by `r`: `y` of the table above.
pub(crate) struct Standardise<'a, T> {
    pub cols: usize,
    pub eps: T,
    pub x: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for Standardise<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { cols, eps, x, out } = self;
        for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
            let inverse = centre::<A, T>(x, eps, out);
            out.iter_mut().for_each(|out| *out = *out * inverse);
        }
    }
}

/// The gradient with respect to the input `x` of [`Standardise`], given the gradient `g` of the result.
pub(crate) struct StandardiseGrad<'a, T> {
    pub cols: usize,
    pub eps: T,
    pub x: &'a [T],
    pub g: &'a [T],
    pub out: &'a mut [T],
}

impl<T: Real> Kernel for StandardiseGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arith>(self) {
        let Self { cols, eps, x, g, out } = self;
        let share = T::ONE / T::from_f64(cols as f64);
        let rows = x.chunks_exact(cols).zip(g.chunks_exact(cols)).zip(out.chunks_exact_mut(cols));
        for ((x, g), out) in rows {
            let inverse = centre::<A, T>(x, eps, out);
            let mean = share * sum_in_lanes(g);
            // mean(y g) y = (r^2 mean((x - mean x) g)) (x - mean x)
            let along = share * dot_in_lanes::<A, T>(out, g) * inverse * inverse;
            for (out, g) in out.iter_mut().zip(g) {
                *out = inverse * A::madd(-along, *out, *g - mean);
            }
        }
    }
}

/// Writes `x - mean x` to `out`; returns `1 / sqrt(mean (x - mean x)^2 + eps)`.
#[inline(always)]
fn centre<A: Arith, T: Real>(x: &[T], eps: T, out: &mut [T]) -> T {
    let share = T::ONE / T::from_f64(x.len() as f64);
    let mean = share * sum_in_lanes(x);
    out.iter_mut().zip(x).for_each(|(out, x)| *out = *x - mean);
    T::ONE / (share * dot_in_lanes::<A, T>(out, out) + eps).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{LEVELS, assert_close, dispatch_at, numbers};
    use super::*;

    #[test]
    fn shrinking_subtracts_the_threshold_from_the_length() {
        let mut out = [9.0f64; 6];
        let x = [3.0, 4.0, 0.6, 0.8, 0.0, 0.0];
        Shrink { cols: 2, threshold: 1.0, x: &x, out: &mut out }.run::<super::super::Portable>();
        assert_eq!(out, [0.8 * 3.0, 0.8 * 4.0, 0.0, 0.0, 0.0, 0.0]);
        let x = [3.0, 4.0, 0.1, 0.0, 0.0, 0.0];
        let gradient = ShrinkGrad { cols: 2, threshold: 1.0, x: &x, g: &[1.0; 6], out: &mut out };
        gradient.run::<super::super::Portable>();
        let along = 7.0 / 125.0;
        assert!((out[0] - (0.8 + 3.0 * along)).abs() < 1e-15, "{out:?}");
        assert_eq!(out[2..], [0.0; 4]);
    }

    #[test]
    fn instruction_sets_agree_on_shrunk_and_scaled_rows() {
        let threshold = 0.8;
        for cols in [1, 5, 64, 71] {
            let (x, g) = (numbers(9 * cols, 4), numbers(9 * cols, 5));
            let by = numbers(9 * 3, 6);
            let run = |level| {
                let mut all = [(); 3].map(|()| vec![9.0; x.len()]);
                let [shrunk, grad, scaled] = &mut all;
                dispatch_at(level, Shrink { cols, threshold, x: &x, out: shrunk });
                dispatch_at(level, ShrinkGrad { cols, threshold, x: &x, g: &g, out: grad });
                let (by, by_cols, column) = (&by[..], 3, 1);
                dispatch_at(level, ScaleRows { cols, x: &x, by, by_cols, column, out: scaled });
                all
            };
            let plain = run(LEVELS[0]);
            for (i, scaled) in plain[2].iter().enumerate() {
                assert_eq!(*scaled, by[i / cols * 3 + 1] * x[i]);
            }
            for level in LEVELS {
                for (actual, expected) in run(level).iter().zip(&plain) {
                    assert_close(actual, expected, 1e-6);
                }
            }
        }
    }

    #[test]
    fn standardised_rows_match_hand_computation() {
        // Mean 2 and variance 1.
        let x = [1.0f64, 3.0, 1.0, 3.0, 5.0, 5.0, 5.0, 5.0];
        let mut y = [9.0; 8];
        Standardise { cols: 4, eps: 3.0, x: &x, out: &mut y }.run::<super::super::Portable>();
        assert_eq!(y, [-0.5, 0.5, -0.5, 0.5, 0.0, 0.0, 0.0, 0.0]);
        // r = 1/2, mean g = 1, mean(y g) = -0.5.
        let g = [4.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 2.0];
        let mut dx = [9.0; 8];
        let gradient = StandardiseGrad { cols: 4, eps: 3.0, x: &x, g: &g, out: &mut dx };
        gradient.run::<super::super::Portable>();
        let s = 1.0 / 3f64.sqrt();
        let expected = [1.375, -0.375, -0.625, -0.375, -s, 0.0, s, 0.0];
        for (dx, expected) in dx.iter().zip(expected) {
            assert!((dx - expected).abs() < 1e-15, "{dx} instead of {expected}");
        }
    }

    /// The definition in f64, row by row.
    fn plain_standardised(cols: usize, eps: f64, x: &[f32], g: &[f32]) -> [Vec<f32>; 2] {
        let (mut all_y, mut all_dx) = (vec![], vec![]);
        for (x, g) in x.chunks(cols).zip(g.chunks(cols)) {
            let mean = |v: &dyn Fn(usize) -> f64| (0..cols).map(v).sum::<f64>() / cols as f64;
            let centre = mean(&|c| x[c].into());
            let var = mean(&|c| (f64::from(x[c]) - centre).powi(2));
            let r = 1.0 / (var + eps).sqrt();
            let y = |c: usize| r * (f64::from(x[c]) - centre);
            let (g_mean, along) = (mean(&|c| g[c].into()), mean(&|c| y(c) * f64::from(g[c])));
            all_y.extend((0..cols).map(|c| y(c) as f32));
            all_dx
                .extend((0..cols).map(|c| (r * (f64::from(g[c]) - g_mean - y(c) * along)) as f32));
        }
        [all_y, all_dx]
    }

    #[test]
    fn instruction_sets_agree_with_the_definition_of_standardised_rows() {
        for cols in [1, 2, 5, 37, 64, 130] {
            let (x, g) = (numbers(9 * cols, 4), numbers(9 * cols, 5));
            let [y, dx] = plain_standardised(cols, 1e-5, &x, &g);
            for level in LEVELS {
                let (mut out, mut grad) = (vec![9.0; x.len()], vec![9.0; x.len()]);
                let eps = 1e-5;
                dispatch_at(level, Standardise { cols, eps, x: &x, out: &mut out });
                dispatch_at(level, StandardiseGrad { cols, eps, x: &x, g: &g, out: &mut grad });
                if cols > 1 {
                    assert_close(&out, &y, 2e-6);
                    assert_close(&grad, &dx, 2e-5);
                } else {
                    assert!(out.iter().chain(&grad).all(|v| *v == 0.0), "{out:?} {grad:?}");
                }
            }
        }
    }

    #[test]
    fn softmax_rows_sum_to_one_and_their_gradient_to_zero() {
        let (mut y, mut dx) = ([0.0f64; 3], [0.0f64; 3]);
        softmax(3, &[1000.0, 1000.0, 999.0], &mut y);
        assert!(
            (y.iter().sum::<f64>() - 1.0).abs() < 1e-12 && y[0] == y[1] && y[2] < y[1],
            "{y:?}"
        );
        softmax_gradient(3, &y, &[1.0, -2.0, 0.5], &mut dx);
        assert!(dx.iter().sum::<f64>().abs() < 1e-12, "{dx:?}");
    }
}
