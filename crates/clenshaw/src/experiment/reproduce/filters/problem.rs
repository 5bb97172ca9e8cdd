//! A regression problem: an image and its filtered version.

use super::target::TargetResponse;
use crate::filter::{Basis, Filter, RecurrenceStep};
use crate::graph::Krylov;
use crate::tensor::{Mat, Operator};

/// An image, its filtered version, and a mask of the pixels that count towards the loss.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The image.
    pub x: Vec<f64>,
    /// The filtered image, `h(P) x`: the target values.
    pub y: Vec<f64>,
    /// 1 for inner pixels, 0 on the border, which is excluded from the loss.
    pub mask: Vec<f64>,
    /// Estimate of the largest error of an entry of `y`.
    pub truth_error: f64,
}

impl Problem {
    /// The regression problem for a target response and an image of this size; a border of this width is
    /// excluded from the loss.
    pub fn new(
        target: TargetResponse,
        p: &Operator,
        x: Vec<f64>,
        (rows, columns): (usize, usize),
        border: usize,
    ) -> Self {
        let inside = |i: usize, n: usize| (border..n.saturating_sub(border)).contains(&i);
        let is_inner = |i: usize| inside(i / columns, rows) && inside(i % columns, columns);
        let mask = (0..x.len()).map(|i| f64::from(u8::from(is_inner(i)))).collect();
        let (y, truth_error) = target.apply(p, &x);
        Self { x, y, mask, truth_error }
    }

    /// `sum (z - y)^2` over inner pixels.
    pub fn sum_of_squares(&self, z: &[f64]) -> f64 {
        let entries = z.iter().zip(&self.y).zip(&self.mask);
        entries.map(|((z, y), mask)| mask * (z - y).powi(2)).sum()
    }

    /// `R^2 = 1 - sum (z - y)^2 / sum (y - mean y)^2` over inner pixels, given the first sum.
    pub fn r_squared(&self, sum_of_squares: f64) -> f64 {
        let n: f64 = self.mask.iter().sum();
        let mean = self.y.iter().zip(&self.mask).map(|(y, mask)| mask * y).sum::<f64>() / n;
        1.0 - sum_of_squares / self.sum_of_squares(&vec![mean; self.y.len()])
    }

    /// The best polynomial of at most this order in `p`, and its sum of squares.
    ///
    /// Solved in the Lanczos basis. Its vectors are orthogonal on the whole image but not on the inner
    /// pixels, so they are orthogonalised again by Gram-Schmidt.
    pub fn optimum(&self, p: &Operator, order: usize) -> (Filter, f64) {
        let krylov = Krylov::new(p, &self.x, order + 1);
        let masked = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&self.mask).map(|(v, mask)| v * mask).collect()
        };
        // B = Q R, where B_k is |x| q_k on the inner pixels and 0 on the border; R by rows.
        let n = krylov.q.len();
        let (mut q, mut r) = (Vec::<Vec<f64>>::new(), Mat::<f64>::zeros(n, n));
        for (k, column) in krylov.q.iter().enumerate() {
            let mut rest: Vec<f64> = masked(column).iter().map(|v| v * krylov.norm_x).collect();
            for _ in 0..2 {
                for (j, q) in q.iter().enumerate() {
                    let along = dot(q, &rest);
                    r[(j, k)] += along;
                    rest.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
                }
            }
            r[(k, k)] = dot(&rest, &rest).sqrt();
            rest.iter_mut().for_each(|v| *v /= r[(k, k)]);
            q.push(rest);
        }
        let y = masked(&self.y);
        let mut c: Vec<f64> = q.iter().map(|q| dot(q, &y)).collect();
        for k in (0..n).rev() {
            c[k] -= (k + 1..n).map(|j| r[(k, j)] * c[j]).sum::<f64>();
            c[k] /= r[(k, k)];
        }
        let filter = Filter { basis: optimal_basis(&krylov), coefficients: c };
        let z = filter.apply(p, &Mat::from_vec(self.x.len(), 1, self.x.clone()));
        (filter, self.sum_of_squares(z.as_slice()))
    }
}

/// The polynomials that are orthogonal with respect to the signal: `phi_k(P) x = |x| q_k`.
pub fn optimal_basis(krylov: &Krylov) -> Basis {
    let step = |k: usize| {
        let (a, b) = (krylov.a[k], krylov.b[k]);
        let before = if k == 0 { 0.0 } else { krylov.b[k - 1] };
        RecurrenceStep { a: 1.0 / b, b: -a / b, c: before / b }
    };
    Basis::ThreeTerm((0..krylov.b.len()).map(step).collect())
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data;
    use crate::experiment::reproduce::filters::image::image;
    use crate::graph::{Graph, Normalisation, operator};

    /// The problem of learning a response on an image of 20 x 16 pixels.
    pub fn example(target: TargetResponse) -> (Graph, Operator, Problem) {
        let graph = data::load("grid:rows=20,columns=16").unwrap().graph;
        let p = operator(&graph, Normalisation::Plain);
        let x = image(5, 1, 20, 16);
        let problem = Problem::new(target, &p, x, (20, 16), 2);
        (graph, p, problem)
    }

    #[test]
    fn border_is_excluded_from_the_loss() {
        let (_, _, problem) = example(TargetResponse::Low);
        assert_eq!(problem.mask.iter().sum::<f64>(), 16.0 * 12.0);
        let mut z = problem.y.clone();
        z[0] += 5.0;
        z[2 * 16 + 1] -= 5.0;
        assert_eq!(problem.sum_of_squares(&z), 0.0);
        z[2 * 16 + 2] += 3.0;
        assert!((problem.sum_of_squares(&z) - 9.0).abs() < 1e-12);
        assert_eq!(problem.r_squared(0.0), 1.0);
    }

    #[test]
    fn optimum_is_a_local_minimum() {
        for target in TargetResponse::ALL {
            let (_, p, problem) = example(target);
            let (filter, best) = problem.optimum(&p, 6);
            let x = Mat::from_vec(problem.x.len(), 1, problem.x.clone());
            for k in 0..=6 {
                for step in [-1e-3, 1e-3] {
                    let mut near = filter.clone();
                    near.coefficients[k] += step;
                    let sum = problem.sum_of_squares(near.apply(&p, &x).as_slice());
                    assert!(sum > best, "{} {k} {step}: {sum} below {best}", target.name());
                }
            }
            assert!(problem.optimum(&p, 8).1 < best, "{}", target.name());
        }
    }

    #[test]
    fn polynomial_target_is_recovered_exactly() {
        let (_, p, mut problem) = example(TargetResponse::Low);
        let x = Mat::from_vec(problem.x.len(), 1, problem.x.clone());
        let filter = Filter { basis: Basis::Legendre, coefficients: vec![0.3, -1.0, 0.0, 0.7] };
        problem.y = filter.apply(&p, &x).as_slice().to_vec();
        let (found, sum) = problem.optimum(&p, 3);
        assert!(sum < 1e-20, "{sum}");
        for mu in [-1.0, -0.2, 0.9] {
            assert!((found.evaluate(mu) - filter.evaluate(mu)).abs() < 1e-9, "{mu}");
        }
    }
}
