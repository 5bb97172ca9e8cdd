//! Plots of learned filters, from the lowest eigenvalue of the model's operator on a graph to 1.

use clenshaw::data::Dataset;
use clenshaw::filter::Response;
use clenshaw::graph::{Normalisation, extreme_eigenvalues, operator, spectral_density};
use clenshaw::report::{Histogram, terminal_plot};

/// The number of intervals of the distribution of eigenvalues.
const BINS: usize = 80;

/// Draws `h(mu)` in characters, from the lowest eigenvalue of the operator to 1.
pub fn in_terminal(
    title: &str,
    filter: &Response,
    dataset: &Dataset,
    kind: Normalisation,
) -> String {
    let (lowest, points) = points(filter, dataset, kind);
    terminal_plot(&format!("{title}; mu from {lowest:.2}"), &points, 72, 10)
}

/// Returns the lowest eigenvalue of the operator of this kind, and samples of `h(mu)` from that eigenvalue
/// to 1. The values of `h` below it have no effect on this graph.
pub fn points(filter: &Response, dataset: &Dataset, kind: Normalisation) -> (f64, Vec<(f64, f64)>) {
    let (lowest, _) = extreme_eigenvalues(&operator(&dataset.graph, kind));
    let mut points = filter.sample(401);
    points.retain(|&(mu, _)| mu >= lowest);
    (lowest, points)
}

/// The distribution of the eigenvalues of the operator, for the background of a chart; empty intervals are left
/// out.
pub fn eigenvalues(dataset: &Dataset, kind: Normalisation) -> Histogram {
    let density = spectral_density(&operator(&dataset.graph, kind), BINS);
    // The estimated density of an empty interval is not exactly zero.
    let least = if density.exact { 0.0 } else { 1e-4 };
    let step = 2.0 / BINS as f64;
    let bin =
        |(i, share): (usize, &f64)| (i as f64 * step - 1.0, (i + 1) as f64 * step - 1.0, *share);
    let bins = density.shares.iter().enumerate().map(bin).filter(|bin| bin.2 > least).collect();
    Histogram { name: "eigenvalues".into(), bins }
}
