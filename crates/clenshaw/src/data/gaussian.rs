//! Gaussian features with one mean per class.
//!
//! ```text
//! x_i = s m_{y_i} + z_i        z_i ~ N(0, I_d)        m_c ~ N(0, I_d / d), so |m_c| is about 1
//! ```

use super::Features;
use crate::error::Result;
use crate::memory;
use crate::rng::Stream;
use crate::tensor::Mat;

/// Draws `x_i = s m_{y_i} + z_i` in `d` dimensions for nodes of these classes.
///
/// # Errors
/// If the features do not fit into memory.
pub(super) fn features(stream: &Stream, classes: &[u32], d: usize, s: f64) -> Result<Features> {
    require_memory(classes.len(), d, "lower `nodes` or `features`")?;
    let n_classes = classes.iter().max().map_or(0, |&class| class as usize + 1);
    let mut means = stream.named("means");
    let length = s / (d as f64).sqrt();
    let means: Vec<f64> = (0..n_classes * d).map(|_| length * means.normal()).collect();

    let mut noise = stream.named("noise");
    let mut x = Mat::zeros(classes.len(), d);
    for (i, &class) in classes.iter().enumerate() {
        for j in 0..d {
            x[(i, j)] = (means[class as usize * d + j] + noise.normal()) as f32;
        }
    }
    Ok(Features::Dense(x))
}

/// Returns an error, with this advice, if `d` dense features of `n` nodes do not fit into memory.
pub(super) fn require_memory(n: usize, d: usize, advice: &str) -> Result<()> {
    let what = || format!("{d} features of {n} nodes");
    memory::require((size_of::<f32>() * n * d) as u64, what, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_between_class_means_matches_s() {
        let (n, d, s) = (20_000, 200, 3.0);
        let classes: Vec<u32> = (0..n).map(|i| i % 2).collect();
        let x = features(&Stream::new(1, "graph"), &classes, d, s).unwrap().to_dense();
        let difference = |j: usize| {
            let signed = |i: usize| f64::from(x[(i, j)]) * [1.0, -1.0][i % 2];
            (0..n as usize).map(signed).sum::<f64>() * 2.0 / f64::from(n)
        };
        // E|s m_0 - s m_1|^2 = 2 s^2; the estimate adds d (4/n) and varies by about 2 s^2 sqrt(2/d).
        let distance2: f64 = (0..d).map(|j| difference(j).powi(2)).sum();
        let (expected, error) = (2.0 * s * s + 0.04, 2.0 * s * s * 0.1);
        assert!((distance2 - expected).abs() < 4.0 * error, "{distance2}, expected {expected}");
    }
}
