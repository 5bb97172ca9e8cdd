//! Plots of learned filters over the spectrum of a graph.

use clenshaw::data::Dataset;
use clenshaw::filter::Response;
use clenshaw::graph::{Normalisation, extreme_eigenvalues, operator};
use clenshaw::report::terminal_plot;

/// Draws `h(mu)` in characters, from the graph's lowest eigenvalue to 1.
pub fn in_terminal(title: &str, filter: &Response, dataset: &Dataset) -> String {
    let (lowest, points) = points(filter, dataset);
    terminal_plot(&format!("{title}; mu from {lowest:.2}"), &points, 72, 10)
}

/// Returns the graph's lowest eigenvalue, and samples of `h(mu)` from there to 1.
///
/// No signal on the graph has a component below its lowest eigenvalue.
pub fn points(filter: &Response, dataset: &Dataset) -> (f64, Vec<(f64, f64)>) {
    let (lowest, _) = extreme_eigenvalues(&operator(&dataset.graph, Normalisation::Looped));
    let mut points = filter.sample(401);
    points.retain(|&(mu, _)| mu >= lowest);
    (lowest, points)
}
