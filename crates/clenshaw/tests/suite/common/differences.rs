//! Gradients by finite differences.

use super::{assert_close, largest};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Plan, RUNNING, Targets, ThreadTeam};

/// Step lengths; a step that crosses a kink of relu is repeated with a shorter one.
const STEPS: [f64; 3] = [1e-5, 1e-6, 1e-7];

/// Compares every entry of every parameter's gradient with central differences of the loss,
/// relative to the largest entry of the parameter (but at least 1e-3 of the loss).
pub fn assert_gradients(
    what: &str,
    plan: &Plan<f64>,
    params: &[f64],
    targets: &Targets<f64>,
    dropout: &Stream,
    tolerance: f64,
) {
    let mut work = plan.workspace(ThreadTeam::new(1));
    let loss = plan.gradient(&mut work, params, targets, dropout);
    let gradient = work.gradients().to_vec();
    let mut moved = params.to_vec();
    let mut slope = |i: usize, step: f64| {
        let mut loss_at = |w: f64| {
            moved[i] = w;
            plan.gradient(&mut work, &moved, targets, dropout)
        };
        let rise = loss_at(params[i] + step) - loss_at(params[i] - step);
        moved[i] = params[i];
        rise / (2.0 * step)
    };
    let learned = plan.params().iter().zip(plan.ranges());
    for (param, range) in learned.filter(|(param, _)| param.group != RUNNING) {
        let scale = largest(&gradient[range.clone()]).max(1e-3 * loss);
        let mut nearest = |i: usize| {
            let mut difference = f64::NAN;
            for step in STEPS {
                difference = slope(i, step);
                if (difference - gradient[i]).abs() <= tolerance * scale {
                    break;
                }
            }
            difference
        };
        let differences: Vec<f64> = range.clone().map(&mut nearest).collect();
        let what = format!("{what}: gradient of {}", param.name);
        assert_close(&what, &gradient[range], &differences, scale, tolerance);
    }
}
