//! A learned filter in the terminal, over the graph's own spectrum.

use clenshaw::data::Dataset;
use clenshaw::filter::{Basis, Filter, Response};
use clenshaw::graph::{Normalisation, operator};
use clenshaw::report::terminal_plot;
use clenshaw::tensor::Mat;

/// Draws `h(mu)` from the graph's lowest eigenvalue to 1; below it no signal on this graph exists.
pub fn response(title: &str, filter: &Response, dataset: &Dataset) -> String {
    let (lowest, points) = points(filter, dataset);
    terminal_plot(&format!("{title}; mu from {lowest:.2}"), &points, 72, 10)
}

/// The graph's lowest eigenvalue, and `h(mu)` from there to 1.
pub fn points(filter: &Response, dataset: &Dataset) -> (f64, Vec<(f64, f64)>) {
    let lowest = lowest_eigenvalue(dataset);
    let mut points = filter.sample(401);
    points.retain(|&(mu, _)| mu >= lowest);
    (lowest, points)
}

/// The lowest eigenvalue of P~, by power iteration on `I - P~`, whose eigenvalues are `1 - mu`.
fn lowest_eigenvalue(dataset: &Dataset) -> f64 {
    let p = operator(&dataset.graph, Normalisation::Looped);
    let high_pass = Filter { basis: Basis::Monomial, coefficients: vec![1.0, -1.0] };
    let n = dataset.graph.n_nodes();
    let mut x = Mat::from_vec(n, 1, (0..n).map(|i| (i as f64 + 1.0).sin()).collect());
    let mut length = 1.0;
    for _ in 0..300 {
        x.as_mut_slice().iter_mut().for_each(|entry| *entry /= length);
        x = high_pass.apply(&p, &x);
        length = x.as_slice().iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    }
    1.0 - length
}

#[cfg(test)]
mod tests {
    use super::*;
    use clenshaw::data;

    #[test]
    fn coras_spectrum_ends_where_the_literature_says() {
        // Wu et al. 2019 (SGC), figure 2: self-loops shrink the largest eigenvalue of L to about 1.5.
        let lowest = lowest_eigenvalue(&data::load("cora").unwrap());
        assert!((lowest + 0.48).abs() < 0.02, "{lowest}");
    }
}
