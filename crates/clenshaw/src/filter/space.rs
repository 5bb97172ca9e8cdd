//! The arguments of a filter: a frequency, signals on a graph, or values on a tape.
//!
//! Recurrences are written once, in terms of `a P v + sum_i c_i v_i`. With an eigenvalue in place of P
//! they evaluate the response, with the operator they filter a signal, and on a model's tape they record
//! the network.

use crate::tensor::{Mat, Operator};

/// A vector space on which P acts.
pub trait SignalSpace {
    /// The elements of the space.
    type Signal: Clone;
    /// The scalars that elements are multiplied by.
    type Coefficient: Copy + From<f64>;

    /// The zero element with the shape of `like`.
    fn zero(&mut self, like: &Self::Signal) -> Self::Signal;

    /// `a P v + sum_i c_i v_i`.
    fn combine(
        &mut self,
        a: f64,
        v: &Self::Signal,
        terms: &[(Self::Coefficient, &Self::Signal)],
    ) -> Self::Signal;
}

/// Numbers, on which P acts as its eigenvalue mu.
pub struct FrequencySpace(pub f64);

impl SignalSpace for FrequencySpace {
    type Signal = f64;
    type Coefficient = f64;

    fn zero(&mut self, _: &f64) -> f64 {
        0.0
    }

    fn combine(&mut self, a: f64, v: &f64, terms: &[(f64, &f64)]) -> f64 {
        terms.iter().fold(a * self.0 * v, |sum, &(c, v)| sum + c * v)
    }
}

/// Signals on a graph, `[n, d]`.
pub struct GraphSpace<'a>(pub &'a Operator);

impl SignalSpace for GraphSpace<'_> {
    type Signal = Mat<f64>;
    type Coefficient = f64;

    fn zero(&mut self, like: &Mat<f64>) -> Mat<f64> {
        Mat::zeros(like.rows(), like.cols())
    }

    fn combine(&mut self, a: f64, v: &Mat<f64>, terms: &[(f64, &Mat<f64>)]) -> Mat<f64> {
        let mut sum = self.0.apply(v);
        sum.as_mut_slice().iter_mut().for_each(|entry| *entry *= a);
        for (c, v) in terms {
            let entries = sum.as_mut_slice().iter_mut().zip(v.as_slice());
            entries.for_each(|(entry, v)| *entry += c * v);
        }
        sum
    }
}
