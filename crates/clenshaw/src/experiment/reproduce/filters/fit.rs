//! Full-batch regression: Adam until the sum of squares has not been lower for a while.

use super::problem::Problem;
use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::tensor::{
    AlignedVec, Mat, Optimiser, OptimiserSettings, Plan, Real, Targets, ThreadTeam, UpdateRule,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long to try.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Adam's learning rate, for all parameters.
    pub rate: f64,
    /// Epochs at most.
    pub max_epochs: usize,
    /// Epochs without a lower loss that end it.
    pub patience: usize,
}

impl Effort {
    fn goes_on(&self, end: &End) -> bool {
        end.epochs < self.max_epochs && end.epochs < end.best_epoch + self.patience
    }
}

/// What the best epoch was worth.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Its sum of squares, in double precision from its scores.
    pub sum_of_squares: f64,
    /// Counted from one.
    pub best_epoch: usize,
    /// Epochs trained.
    pub epochs: usize,
}

/// Trains a network of one output a pixel, and returns the best epoch's parameters; a loss that is no
/// number ends it.
pub fn fit<T: Real>(
    plan: &Plan<T>,
    start: AlignedVec<T>,
    problem: &Problem,
    effort: &Effort,
    cancel: &AtomicBool,
) -> Result<(AlignedVec<T>, End)> {
    let values = Mat::from_vec(problem.y.len(), 1, problem.y.clone());
    let targets = Targets::squares(&values, &problem.mask);
    let mut optimiser = adam(plan.ranges(), effort);
    let mut work = plan.workspace(ThreadTeam::new(1));
    let chance = Stream::new(0, "dropout"); // there is none
    let (mut params, mut best) = (start.clone(), start);
    let mut end = End { sum_of_squares: f64::INFINITY, best_epoch: 0, epochs: 0 };
    while effort.goes_on(&end) {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        end.epochs += 1;
        let loss = plan.gradient(&mut work, &params, &targets, &chance).to_f64();
        if !loss.is_finite() {
            break;
        }
        if loss < end.sum_of_squares {
            (end.sum_of_squares, end.best_epoch) = (loss, end.epochs);
            best.copy_from_slice(&params);
        }
        optimiser.step(&mut params, work.gradients());
    }
    let scores: Vec<f64> = plan.scores(&mut work, &best).iter().map(|z| z.to_f64()).collect();
    end.sum_of_squares = problem.sum_of_squares(&scores);
    Ok((best, end))
}

/// The sum of squares as a function of coefficients alone: `y'y - 2 c'b + c'G c`.
pub struct Quadratic {
    yy: f64,
    b: Vec<f64>,
    g: Mat<f64>,
}

impl Quadratic {
    /// With `G_jk = B_j'B_k` and `b_k = B_k'y` over the pixels that count, for these columns B.
    pub fn new(problem: &Problem, columns: &[Vec<f64>]) -> Self {
        let dot = |x: &[f64], y: &[f64]| -> f64 {
            x.iter().zip(y).zip(&problem.mask).map(|((x, y), mask)| mask * x * y).sum()
        };
        let n = columns.len();
        let entry = |at: usize| dot(&columns[at / n], &columns[at % n]);
        Self {
            yy: dot(&problem.y, &problem.y),
            b: columns.iter().map(|column| dot(column, &problem.y)).collect(),
            g: Mat::from_vec(n, n, (0..n * n).map(entry).collect()),
        }
    }

    /// The sum of squares, and its gradient `2 (G c - b)`.
    fn at(&self, c: &[f64]) -> (f64, Vec<f64>) {
        let row = |k: usize| self.g.row(k).iter().zip(c).map(|(g, c)| g * c).sum::<f64>();
        let gc: Vec<f64> = (0..c.len()).map(row).collect();
        let terms = c.iter().zip(&gc).zip(&self.b).map(|((c, gc), b)| c * (gc - 2.0 * b));
        (
            self.yy + terms.sum::<f64>(),
            gc.iter().zip(&self.b).map(|(gc, b)| 2.0 * (gc - b)).collect(),
        )
    }
}

/// [`fit`] for a quadratic form: the same steps without a graph, and the best epoch's coefficients.
pub fn descend(quadratic: &Quadratic, start: Vec<f64>, effort: &Effort) -> (Vec<f64>, End) {
    let mut optimiser = adam(std::iter::once(0..start.len()), effort);
    let (mut c, mut best) = (start.clone(), start);
    let mut end = End { sum_of_squares: f64::INFINITY, best_epoch: 0, epochs: 0 };
    while effort.goes_on(&end) {
        end.epochs += 1;
        let (loss, gradient) = quadratic.at(&c);
        if !loss.is_finite() {
            break;
        }
        if loss < end.sum_of_squares {
            (end.sum_of_squares, end.best_epoch) = (loss, end.epochs);
            best.copy_from_slice(&c);
        }
        optimiser.step(&mut c, &gradient);
    }
    (best, end)
}

/// Adam without weight decay for these stretches.
fn adam<T: Real>(
    stretches: impl IntoIterator<Item = Range<usize>>,
    effort: &Effort,
) -> Optimiser<T> {
    let settings = OptimiserSettings { rule: UpdateRule::Adam, rate: effort.rate, decay: 0.0 };
    Optimiser::new(stretches.into_iter().map(|range| (range, settings)).collect())
}
