//! A learned filter in the terminal, over the graph's own spectrum.

use clenshaw::data::Dataset;
use clenshaw::filter::Response;
use clenshaw::graph::{Normalisation, extreme_eigenvalues, operator};
use clenshaw::report::terminal_plot;

/// Draws `h(mu)` from the graph's lowest eigenvalue to 1; below it no signal on this graph exists.
pub fn response(title: &str, filter: &Response, dataset: &Dataset) -> String {
    let (lowest, points) = points(filter, dataset);
    terminal_plot(&format!("{title}; mu from {lowest:.2}"), &points, 72, 10)
}

/// The graph's lowest eigenvalue, and `h(mu)` from there to 1.
pub fn points(filter: &Response, dataset: &Dataset) -> (f64, Vec<(f64, f64)>) {
    let (lowest, _) = extreme_eigenvalues(&operator(&dataset.graph, Normalisation::Looped));
    let mut points = filter.sample(401);
    points.retain(|&(mu, _)| mu >= lowest);
    (lowest, points)
}
