//! Dirichlet energy: how much a signal changes between neighbours.

use crate::tensor::{Mat, Operator};

/// The Dirichlet energy of the columns of `h`, divided by their squared norm; `None` if `h` is zero.
///
/// ```text
/// tr( H' (I - P) H ) / tr( H' H )
/// ```
///
/// This is the mean of `1 - mu` over the eigenvalues `mu` of P, weighted by the energy of `h` at each: 0 if all
/// energy is at `mu = 1`.
///
/// ```
/// use clenshaw::graph::{Graph, Normalisation, dirichlet_energy, operator};
/// use clenshaw::tensor::Mat;
/// let edge = Graph::from_edges("edge", 2, &[(0, 1)])?;
/// let p = operator(&edge, Normalisation::Plain);
/// let energy = |a, b| dirichlet_energy(&p, &Mat::from_vec(2, 1, vec![a, b]));
/// assert_eq!(energy(3.0, 3.0), Some(0.0));
/// assert_eq!(energy(3.0, -3.0), Some(2.0));
/// assert_eq!(energy(0.0, 0.0), None);
/// # Ok::<(), clenshaw::Error>(())
/// ```
///
/// # Panics
/// If `h` does not have one row per node.
pub fn dirichlet_energy(p: &Operator, h: &Mat<f64>) -> Option<f64> {
    let ph = p.apply(h);
    let product = |a: &Mat<f64>, b: &Mat<f64>| -> f64 {
        a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum()
    };
    let squares = product(h, h);
    (squares > 0.0).then(|| 1.0 - product(h, &ph) / squares)
}
