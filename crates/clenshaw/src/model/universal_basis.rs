//! The universal basis of UniFilter: vectors at equal angles, mixed with powers of the operator.
//!
//! ```text
//! For every column x of the features, with h the homophily and c = cos(pi (1 - h) / 2):
//!
//! v_0 = u_0 = x / |x|,   v_k = P v_{k-1} - <., v_{k-1}> v_{k-1} - <., v_{k-2}> v_{k-2},  normalised
//! s   = (u_0 + ... + u_{k-1}) / k,    t = sqrt( (<s, r> / c)^2 - ((k-1) c + 1) / k ),  0 if not real
//! u_k = (s + t v_k) / |s + t v_k|
//! B_0 = x,   B_k = tau P^k x + (1 - tau) u_k
//! ```
//!
//! The `v_k` are those of the Lanczos method, orthonormal.
//! With `r = u_{k-1}`, all `u_i` and `u_j` enclose the same angle, whose cosine is c: the more heterophilous a
//! graph, the more the basis varies from one vector to the next.
//! The authors' code has `r = B_{k-1}`, for which the angles differ.
//!
//! For h = 0 the cosine is 0, and the formula divides by it; `u_k = v_k` is its limit.
//! Huang et al., ICML 2024, arXiv:2405.12474.

use crate::parallel;
use crate::tensor::{Mat, Operator};
use std::f64::consts::FRAC_PI_2;

/// The smallest cosine: with it, `u_k` and its limit `v_k` agree to about six digits.
const MIN_COSINE: f64 = 1e-6;
/// Vectors that are not longer than this are rounding error and become 0.
const MIN_NORM: f64 = 1e-8;
/// The number of columns that are processed at a time, so that they stay in cache.
const BLOCK_COLUMNS: usize = 64;

/// The vector `r` to which the angle of the next `u_k` is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// `B_{k-1}`, as in the authors' code.
    Mixed,
    /// `u_{k-1}`, as in the paper.
    Previous,
}

/// The settings of a basis.
#[derive(Clone, Copy, Debug)]
pub(super) struct UniversalBasis {
    pub order: usize,
    pub tau: f64,
    pub homophily: f64,
    pub reference: Reference,
}

impl UniversalBasis {
    /// `B_0, ..., B_K`, each with the shape of `x`.
    pub fn compute(self, p: &Operator, x: &Mat<f64>) -> Vec<Mat<f64>> {
        let (n, cols) = (x.rows(), x.cols());
        let starts: Vec<usize> = (0..cols).step_by(BLOCK_COLUMNS).collect();
        let threads = parallel::available_threads();
        let mut basis: Vec<Mat<f64>> = (0..=self.order).map(|_| Mat::zeros(n, cols)).collect();
        // A few blocks at a time, so that not all of them are in memory twice.
        for group in starts.chunks(4 * threads) {
            let block = |&start: &usize| {
                let width = BLOCK_COLUMNS.min(cols - start);
                self.block(p, &columns(x, start, width))
            };
            for (&start, block) in group.iter().zip(parallel::map(threads, group, block)) {
                for (whole, part) in basis.iter_mut().zip(&block) {
                    write_columns(whole, start, part);
                }
            }
        }
        basis
    }

    /// The basis of a few columns.
    fn block(self, p: &Operator, x: &Mat<f64>) -> Vec<Mat<f64>> {
        let Self { order, tau, reference, .. } = self;
        let mut power = x.clone(); // P^k x
        let (mut v1, mut v2) = (normalised(x.clone()), Mat::zeros(x.rows(), x.cols())); // v_{k-1}, v_{k-2}
        let (mut u, mut sum) = (v1.clone(), v1.clone()); // u_{k-1}, u_0 + ... + u_{k-1}
        let mut basis = vec![x.clone()];
        for k in 1..=order {
            let mut v = apply(p, &v1);
            for known in [&v1, &v2] {
                let dots = column_dots(&v, known);
                add_columns(&mut v, known, |j| -dots[j]);
            }
            let v = normalised(v);
            let r = match reference {
                Reference::Mixed => &basis[k - 1],
                Reference::Previous => &u,
            };
            let t = self.steps(k, &column_dots(&sum, r));
            u = sum.clone();
            u.as_mut_slice().iter_mut().for_each(|u| *u /= k as f64);
            add_columns(&mut u, &v, |j| t[j]);
            u = normalised(u);
            add_columns(&mut sum, &u, |_| 1.0);
            power = apply(p, &power);
            let entries = power.as_slice().iter().zip(u.as_slice());
            let mixed = entries.map(|(power, u)| tau * power + (1.0 - tau) * u).collect();
            basis.push(Mat::from_vec(x.rows(), x.cols(), mixed));
            (v2, v1) = (v1, v);
        }
        basis
    }

    /// `t` of every column, given `<u_0 + ... + u_{k-1}, r>`.
    fn steps(self, k: usize, sum_dots: &[f64]) -> Vec<f64> {
        let c = libm::cos(FRAC_PI_2 * (1.0 - self.homophily)).max(MIN_COSINE);
        let k = k as f64;
        let step = |dot: &f64| {
            let square = (dot / k / c).powi(2) - ((k - 1.0) * c + 1.0) / k;
            square.max(0.0).sqrt()
        };
        sum_dots.iter().map(step).collect()
    }
}

/// Some consecutive columns.
fn columns(x: &Mat<f64>, start: usize, width: usize) -> Mat<f64> {
    let entries = (0..x.rows()).flat_map(|i| &x.row(i)[start..start + width]).copied();
    Mat::from_vec(x.rows(), width, entries.collect())
}

/// Writes consecutive columns.
fn write_columns(x: &mut Mat<f64>, start: usize, part: &Mat<f64>) {
    let (cols, width) = (x.cols(), part.cols());
    for (row, part) in x.as_mut_slice().chunks_exact_mut(cols).zip(part.as_slice().chunks(width)) {
        row[start..start + width].copy_from_slice(part);
    }
}

/// `P x`.
fn apply(p: &Operator, x: &Mat<f64>) -> Mat<f64> {
    let (pattern, scale, cols) = (p.pattern(), p.scale(), x.cols());
    let mut out = Mat::zeros(x.rows(), cols);
    for (i, out) in out.as_mut_slice().chunks_exact_mut(cols).enumerate() {
        let entries = pattern.offsets()[i]..pattern.offsets()[i + 1];
        for (e, &j) in entries.zip(pattern.row(i)) {
            let value = p.values().map_or(1.0, |values| values[e]);
            let weight = scale[i] * value * scale[j as usize];
            out.iter_mut().zip(x.row(j as usize)).for_each(|(out, x)| *out += weight * x);
        }
    }
    out
}

/// The inner product of each column of `a` with the same column of `b`.
fn column_dots(a: &Mat<f64>, b: &Mat<f64>) -> Vec<f64> {
    let mut dots = vec![0.0; a.cols()];
    for (a, b) in a.as_slice().chunks_exact(a.cols()).zip(b.as_slice().chunks_exact(b.cols())) {
        dots.iter_mut().zip(a).zip(b).for_each(|((dot, a), b)| *dot += a * b);
    }
    dots
}

/// Adds every column j of `b`, times `factor(j)`, to `a`.
fn add_columns(a: &mut Mat<f64>, b: &Mat<f64>, factor: impl Fn(usize) -> f64) {
    let cols = a.cols();
    let factors: Vec<f64> = (0..cols).map(factor).collect();
    for (a, b) in a.as_mut_slice().chunks_exact_mut(cols).zip(b.as_slice().chunks_exact(cols)) {
        a.iter_mut().zip(b).zip(&factors).for_each(|((a, b), factor)| *a += factor * b);
    }
}

/// Every column divided by its norm; 0 where it is only rounding error.
fn normalised(mut x: Mat<f64>) -> Mat<f64> {
    let norms = column_dots(&x, &x).into_iter().map(f64::sqrt);
    let inverse = |norm: f64| if norm > MIN_NORM { 1.0 / norm } else { 0.0 };
    let factors: Vec<f64> = norms.map(inverse).collect();
    let cols = x.cols();
    for row in x.as_mut_slice().chunks_exact_mut(cols) {
        row.iter_mut().zip(&factors).for_each(|(x, factor)| *x *= factor);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Normalisation, operator};
    use crate::rng::Stream;

    /// The operator of a random graph, and a random matrix of 70 columns, which are two blocks.
    fn problem() -> (Operator, Mat<f64>) {
        let mut stream = Stream::new(2, "universal basis");
        let edges: Vec<(u32, u32)> =
            (0..120).map(|_| (stream.below(40) as u32, stream.below(40) as u32)).collect();
        let graph = Graph::from_edges("random", 40, &edges).unwrap();
        let x = (0..40 * 70).map(|_| stream.symmetric(1.0)).collect();
        (operator(&graph, Normalisation::Plain), Mat::from_vec(40, 70, x))
    }

    #[test]
    fn vectors_of_the_paper_enclose_equal_angles() {
        let (p, x) = problem();
        for homophily in [0.0, 0.3, 0.8] {
            let settings =
                UniversalBasis { order: 6, tau: 0.0, homophily, reference: Reference::Previous };
            let mut u = settings.compute(&p, &x);
            u[0] = normalised(u[0].clone());
            let c = (FRAC_PI_2 * (1.0 - homophily)).cos();
            for i in 0..u.len() {
                for j in 0..=i {
                    let expected = if i == j { 1.0 } else { c };
                    for dot in column_dots(&u[i], &u[j]) {
                        // For h = 0 the cosine is 1e-6 instead of 0.
                        assert!((dot - expected).abs() < 2e-6, "h {homophily}: {i} {j} {dot}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_angles_the_basis_consists_of_powers() {
        let (p, x) = problem();
        for reference in [Reference::Mixed, Reference::Previous] {
            let settings = UniversalBasis { order: 3, tau: 1.0, homophily: 0.5, reference };
            let basis = settings.compute(&p, &x);
            let mut power = x.clone();
            for b in &basis {
                let worst = b.as_slice().iter().zip(power.as_slice()).map(|(b, p)| (b - p).abs());
                assert!(worst.fold(0.0, f64::max) < 1e-14);
                power = p.apply(&power);
            }
        }
    }

    #[test]
    fn columns_without_entries_or_directions_stay_zero() {
        // P has two eigenvalues, so v_2 is 0 up to rounding.
        let pair = Graph::from_edges("pair", 2, &[(0, 1)]).unwrap();
        let p = operator(&pair, Normalisation::Plain);
        let x = Mat::from_vec(2, 2, vec![0.0, 1.0, 0.0, 0.3]);
        let settings =
            UniversalBasis { order: 5, tau: 0.5, homophily: 0.4, reference: Reference::Previous };
        for b in settings.compute(&p, &x) {
            assert_eq!((b[(0, 0)], b[(1, 0)]), (0.0, 0.0));
            assert!(b.as_slice().iter().all(|entry| entry.abs() <= 1.0), "{b:?}");
        }
    }

    #[test]
    fn threads_do_not_change_the_basis() {
        let (p, x) = problem();
        let settings =
            UniversalBasis { order: 4, tau: 0.3, homophily: 0.2, reference: Reference::Mixed };
        let [one, three] =
            [1, 3].map(|threads| parallel::with_threads(threads, || settings.compute(&p, &x)));
        assert_eq!(one, three);
    }
}
