//! What the integration tests share.
#![allow(dead_code, clippy::unwrap_used)]

pub mod npz;
pub mod problem;
pub mod differences;
pub mod source;

use clenshaw::tensor::{Mat, Plan, Real};

/// The largest magnitude among numbers.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Compares entry by entry, relative to `scale`; a failure prints the worst entry.
pub fn assert_close<T: Real>(
    what: &str,
    actual: &[T],
    expected: &[f64],
    scale: f64,
    tolerance: f64,
) {
    assert_eq!(actual.len(), expected.len(), "{what}: length");
    let errors = actual.iter().zip(expected).map(|(a, e)| (a.to_f64() - e).abs() / scale);
    let worst = errors.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((at, error)) = worst {
        assert!(
            error <= tolerance,
            "{what}: entry {at} is {} instead of {}, relative error {error:.2e} > {tolerance:.0e}",
            actual[at],
            expected[at]
        );
    }
}

/// Looks parameters up by name in a parameter vector.
pub fn lookup<'a, T: Real>(plan: &'a Plan<T>, params: &'a [T]) -> impl Fn(&str) -> Mat<f64> + 'a {
    |name| {
        let at = plan.params().iter().position(|param| param.name == name);
        let at = at.unwrap_or_else(|| panic!("no parameter `{name}`"));
        let values = params[plan.ranges()[at].clone()].iter().map(|v| v.to_f64()).collect();
        Mat::from_vec(plan.params()[at].rows, plan.params()[at].cols, values)
    }
}
