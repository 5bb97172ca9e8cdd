//! Full-batch regression with Adam, stopped when the sum of squares has not improved for a while.

use super::problem::Problem;
use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::tensor::{
    AlignedVec, Mat, Optimiser, OptimiserSettings, Plan, Real, Targets, ThreadTeam, UpdateRule,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Optimiser settings and stopping criteria.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSettings {
    /// Learning rate of Adam, for all parameters.
    pub rate: f64,
    /// Maximum number of epochs.
    pub max_epochs: usize,
    /// Number of epochs without a lower loss after which training stops.
    pub patience: usize,
}

impl FitSettings {
    fn should_continue(&self, result: &FitResult) -> bool {
        result.epochs < self.max_epochs && result.epochs < result.best_epoch + self.patience
    }
}

/// The best epoch of a fit, the one with the lowest loss.
#[derive(Clone, Copy, Debug)]
pub struct FitResult {
    /// The sum of squares with the parameters of the best epoch.
    pub sum_of_squares: f64,
    /// The number of the best epoch, counted from one; 0 if no epoch had a finite loss.
    pub best_epoch: usize,
    /// Number of epochs trained.
    pub epochs: usize,
}

/// Minimises a loss with Adam and returns the parameters of the best epoch; stops at a loss that is not
/// finite. `ranges` are the positions of the parameters in `start`. `loss_and_gradient` writes the gradient to its
/// second argument; its errors are returned.
fn minimise<T: Real>(
    start: &[T],
    ranges: impl IntoIterator<Item = Range<usize>>,
    settings: &FitSettings,
    mut loss_and_gradient: impl FnMut(&[T], &mut [T]) -> Result<f64>,
) -> Result<(AlignedVec<T>, FitResult)> {
    // Without weight decay.
    let adam = OptimiserSettings { rule: UpdateRule::Adam, rate: settings.rate, decay: 0.0 };
    let mut optimiser = Optimiser::new(ranges.into_iter().map(|range| (range, adam)).collect());
    let vector = || start.iter().copied().collect::<AlignedVec<T>>();
    let (mut params, mut best, mut gradient) = (vector(), vector(), vector());
    let mut result = FitResult { sum_of_squares: f64::INFINITY, best_epoch: 0, epochs: 0 };
    while settings.should_continue(&result) {
        result.epochs += 1;
        let loss = loss_and_gradient(&params, &mut gradient)?;
        if !loss.is_finite() {
            break;
        }
        if loss < result.sum_of_squares {
            (result.sum_of_squares, result.best_epoch) = (loss, result.epochs);
            best.copy_from_slice(&params);
        }
        optimiser.step(&mut params, &gradient);
    }
    Ok((best, result))
}

/// Trains a network with one output per pixel and returns the parameters of the best epoch, whose sum of
/// squares is recomputed from its scores in double precision. Returns [`Error::Interrupted`] if `cancel` is set
/// during training.
pub fn fit_network<T: Real>(
    plan: &Plan<T>,
    start: &[T],
    problem: &Problem,
    settings: &FitSettings,
    cancel: &AtomicBool,
) -> Result<(AlignedVec<T>, FitResult)> {
    let values = Mat::from_vec(problem.y.len(), 1, problem.y.clone());
    let targets = Targets::squared_error(&values, &problem.mask);
    let mut workspace = plan.workspace(ThreadTeam::new(1));
    let dropout = Stream::new(0, "dropout"); // unused: dropout is 0
    let (best, mut result) = minimise(start, plan.ranges(), settings, |params, gradient| {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let loss = plan.gradient(&mut workspace, params, &targets, &dropout).to_f64();
        gradient.copy_from_slice(workspace.gradients());
        Ok(loss)
    })?;
    let scores: Vec<f64> = plan.scores(&mut workspace, &best).iter().map(|z| z.to_f64()).collect();
    result.sum_of_squares = problem.sum_of_squares(&scores);
    Ok((best, result))
}

/// The sum of squares as a function of the coefficients: `y'y - 2 c'b + c'G c`.
pub struct QuadraticLoss {
    /// `y'y`.
    yy: f64,
    /// `b_k = B_k'y`.
    b: Vec<f64>,
    /// `G_jk = B_j'B_k`.
    g: Mat<f64>,
}

impl QuadraticLoss {
    /// The loss over the inner pixels, for these columns `B_0, ..., B_K`.
    pub fn new(problem: &Problem, columns: &[Vec<f64>]) -> Self {
        let dot = |x: &[f64], y: &[f64]| -> f64 {
            x.iter().zip(y).zip(&problem.mask).map(|((x, y), mask)| mask * x * y).sum()
        };
        let n = columns.len();
        let entry = |i: usize| dot(&columns[i / n], &columns[i % n]);
        Self {
            yy: dot(&problem.y, &problem.y),
            b: columns.iter().map(|column| dot(column, &problem.y)).collect(),
            g: Mat::from_vec(n, n, (0..n * n).map(entry).collect()),
        }
    }

    /// Returns the sum of squares, and writes its gradient `2 (G c - b)` to `gradient`.
    fn evaluate(&self, c: &[f64], gradient: &mut [f64]) -> f64 {
        let row = |k: usize| self.g.row(k).iter().zip(c).map(|(g, c)| g * c).sum::<f64>();
        let gc: Vec<f64> = (0..c.len()).map(row).collect();
        let terms = c.iter().zip(&gc).zip(&self.b).map(|((c, gc), b)| c * (gc - 2.0 * b));
        for (slope, (gc, b)) in gradient.iter_mut().zip(gc.iter().zip(&self.b)) {
            *slope = 2.0 * (gc - b);
        }
        self.yy + terms.sum::<f64>()
    }
}

/// Minimises a quadratic loss with the same optimiser steps as [`fit_network`], but without a network; returns the
/// coefficients of the best epoch.
pub fn fit_coefficients(
    quadratic: &QuadraticLoss,
    start: &[f64],
    settings: &FitSettings,
) -> (Vec<f64>, FitResult) {
    let ranges = std::iter::once(0..start.len());
    let fitted =
        minimise(start, ranges, settings, |c, gradient| Ok(quadratic.evaluate(c, gradient)));
    let (best, result) = fitted.expect("a quadratic loss has no errors");
    (best.to_vec(), result)
}
