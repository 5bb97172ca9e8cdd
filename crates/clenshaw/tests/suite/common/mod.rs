//! Helpers of the integration tests.

pub mod npz;
pub mod problem;
pub mod differences;
pub mod source;

use clenshaw::graph::Eigen;
use clenshaw::tensor::{Mat, Operator, Plan, Real, ThreadTeam};
use std::path::PathBuf;

/// The folder `$CLENSHAW_DATA`; if it is not set, `None`, or a panic in CI.
pub fn data_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("CLENSHAW_DATA").map(PathBuf::from);
    if folder.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI requires CLENSHAW_DATA");
        println!("skipped: no data");
    }
    folder
}

/// The largest magnitude among numbers.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Asserts that no entry differs by more than `tolerance * scale`; a failure prints the worst entry.
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
    if let Some((index, error)) = worst {
        assert!(
            error <= tolerance,
            "{what}: entry {index} is {} instead of {}, relative error {error:.2e} > {tolerance:.0e}",
            actual[index],
            expected[index]
        );
    }
}

/// `V h(M) V^T X` for `P = V M V^T`, row by row: a filter by its definition.
pub fn filter_by_eigendecomposition(
    p: &Operator,
    x: &Mat<f64>,
    h: impl Fn(f64) -> f64,
) -> Vec<f64> {
    Eigen::new(p).apply(x, h).as_slice().to_vec()
}

/// Returns a function that looks up a parameter, or a value named by the model, for this parameter vector.
pub fn lookup<T: Real>(plan: &Plan<T>, params: &[T]) -> impl Fn(&str) -> Mat<f64> + use<T> {
    let mut named = plan.values(&mut plan.workspace(ThreadTeam::new(1)), params);
    named.extend(plan.params().iter().zip(plan.ranges()).map(|(param, range)| {
        (param.name.clone(), Mat::from_vec(param.rows, param.cols, params[range].to_vec()))
    }));
    move |name| {
        let found = named.iter().find(|(other, _)| other == name);
        found.unwrap_or_else(|| panic!("no parameter or value `{name}`")).1.cast()
    }
}
