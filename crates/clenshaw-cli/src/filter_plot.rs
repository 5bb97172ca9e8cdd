//! Plots of learned filters, from the lowest eigenvalue of the model's operator on a graph to 1.

use clenshaw::data::Dataset;
use clenshaw::filter::Response;
use clenshaw::graph::{Normalisation, extreme_eigenvalues, operator};
use clenshaw::report::terminal_plot;

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
