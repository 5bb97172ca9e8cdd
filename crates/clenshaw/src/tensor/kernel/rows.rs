//! Row-wise functions.
//!
//! ```text
//! shrink   y = max(0, 1 - t / |x|) x     dx = (1 - t / |x|) g + (t / |x|^3) <x, g> x   if |x| > t, else 0
//! softmax  y_c = e^x_c / sum_j e^x_j     dx = y (g - <y, g>)
//! ```

use super::dot;
use super::log_sum_exp;
use crate::tensor::Real;

/// Reduces the norm of every row by `threshold`, but not below zero.
pub(crate) fn shrink<T: Real>(cols: usize, threshold: T, x: &[T], out: &mut [T]) {
    for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let length = dot(x, x).sqrt();
        // A row of length zero stays zero; NaN propagates.
        let factor = if length <= threshold { T::ZERO } else { T::ONE - threshold / length };
        out.iter_mut().zip(x).for_each(|(out, x)| *out = factor * *x);
    }
}

/// The gradient with respect to the input `x` of [`shrink`], given the gradient `g` of the result.
pub(crate) fn shrink_gradient<T: Real>(cols: usize, threshold: T, x: &[T], g: &[T], out: &mut [T]) {
    let rows = x.chunks_exact(cols).zip(g.chunks_exact(cols)).zip(out.chunks_exact_mut(cols));
    for ((x, g), out) in rows {
        let length = dot(x, x).sqrt();
        if length <= threshold {
            out.fill(T::ZERO);
            continue;
        }
        let factor = T::ONE - threshold / length;
        let along = threshold / (length * length * length) * dot(x, g);
        for ((out, x), g) in out.iter_mut().zip(x).zip(g) {
            *out = factor * *g + along * *x;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_subtracts_the_threshold_from_the_length() {
        let mut out = [9.0f64; 6];
        shrink(2, 1.0, &[3.0, 4.0, 0.6, 0.8, 0.0, 0.0], &mut out);
        assert_eq!(out, [0.8 * 3.0, 0.8 * 4.0, 0.0, 0.0, 0.0, 0.0]);
        shrink_gradient(2, 1.0, &[3.0, 4.0, 0.1, 0.0, 0.0, 0.0], &[1.0; 6], &mut out);
        let along = 7.0 / 125.0;
        assert!((out[0] - (0.8 + 3.0 * along)).abs() < 1e-15, "{out:?}");
        assert_eq!(out[2..], [0.0; 4]);
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
