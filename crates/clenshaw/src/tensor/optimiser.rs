//! The optimisers and their update rules.
//!
//! ```text
//! g <- g + wd w                                   coupled weight decay, except for AdamW
//! Adam      m <- b1 m + (1 - b1) g                b1 = 0.9, b2 = 0.999, eps = 1e-8
//!           v <- b2 v + (1 - b2) g^2
//!           w <- w - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
//! AdamW     w <- w - lr wd w, then Adam without weight decay
//! Momentum  m <- mu m + g                         no dampening, no Nesterov
//!           w <- w - lr m
//! ```

use super::Real;
use std::ops::Range;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// The update rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateRule {
    /// Adam with coupled weight decay.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
    /// Stochastic gradient descent with this momentum.
    Momentum(f64),
}

/// The settings for one range of the parameter vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimiserSettings {
    /// The update rule.
    pub rule: UpdateRule,
    /// Learning rate.
    pub rate: f64,
    /// Weight decay; coupled, except for AdamW.
    pub decay: f64,
}

/// The state of an optimiser; it can be saved and restored bit for bit.
#[derive(Clone, Debug)]
pub struct Optimiser<T> {
    ranges: Vec<(Range<usize>, OptimiserSettings)>,
    /// First moments (Adam, AdamW) or the momentum buffer.
    pub first: Vec<T>,
    /// Second moments; zero where the rule is `Momentum`.
    pub second: Vec<T>,
    /// The number of steps taken.
    pub steps: u64,
}

impl<T: Real> Optimiser<T> {
    /// An optimiser before its first step. Parameters outside all ranges are not updated.
    pub fn new(ranges: Vec<(Range<usize>, OptimiserSettings)>) -> Self {
        let n = ranges.iter().map(|(range, _)| range.end).max().unwrap_or(0);
        Self { ranges, first: vec![T::ZERO; n], second: vec![T::ZERO; n], steps: 0 }
    }

    /// Updates the parameters from their gradients.
    pub fn step(&mut self, params: &mut [T], grads: &[T]) {
        self.steps += 1;
        let t = i32::try_from(self.steps).unwrap_or(i32::MAX);
        for (range, settings) in &self.ranges {
            let w = &mut params[range.clone()];
            let g = &grads[range.clone()];
            let m = &mut self.first[range.clone()];
            match settings.rule {
                UpdateRule::Adam => adam(settings, t, w, g, m, &mut self.second[range.clone()]),
                UpdateRule::AdamW => {
                    let kept = T::from_f64(1.0 - settings.rate * settings.decay);
                    w.iter_mut().for_each(|w| *w = kept * *w);
                    let settings = &OptimiserSettings { decay: 0.0, ..*settings };
                    adam(settings, t, w, g, m, &mut self.second[range.clone()]);
                }
                UpdateRule::Momentum(mu) => momentum(settings, mu, w, g, m),
            }
        }
    }
}

fn adam<T: Real>(
    settings: &OptimiserSettings,
    t: i32,
    w: &mut [T],
    g: &[T],
    m: &mut [T],
    v: &mut [T],
) {
    let decay = T::from_f64(settings.decay);
    let (b1, b2) = (T::from_f64(BETA1), T::from_f64(BETA2));
    let (a1, a2) = (T::from_f64(1.0 - BETA1), T::from_f64(1.0 - BETA2));
    let rate = T::from_f64(settings.rate / (1.0 - BETA1.powi(t)));
    let root = T::from_f64((1.0 - BETA2.powi(t)).sqrt());
    let eps = T::from_f64(EPS);
    for i in 0..w.len() {
        let g = g[i] + decay * w[i];
        m[i] = b1 * m[i] + a1 * g;
        v[i] = b2 * v[i] + a2 * g * g;
        w[i] = w[i] - rate * m[i] / (v[i].sqrt() / root + eps);
    }
}

fn momentum<T: Real>(settings: &OptimiserSettings, mu: f64, w: &mut [T], g: &[T], m: &mut [T]) {
    let (decay, rate, mu) =
        (T::from_f64(settings.decay), T::from_f64(settings.rate), T::from_f64(mu));
    for i in 0..w.len() {
        m[i] = mu * m[i] + (g[i] + decay * w[i]);
        w[i] = w[i] - rate * m[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_first_adam_step_is_the_learning_rate() {
        // m / (1 - b1) = g and sqrt(v / (1 - b2)) = |g|: the step is lr sign(g).
        let settings = OptimiserSettings { rule: UpdateRule::Adam, rate: 0.1, decay: 0.0 };
        let mut adam = Optimiser::<f64>::new(vec![(0..2, settings)]);
        let mut w = [1.0, 1.0];
        adam.step(&mut w, &[5.0, -0.01]);
        assert!((w[0] - 0.9).abs() < 1e-9 && (w[1] - 1.1).abs() < 1e-6, "{w:?}");
    }

    #[test]
    fn decoupled_decay_does_not_enter_the_moments() {
        // The step is lr sign(g), regardless of the decay, which also subtracts lr wd w.
        let settings = OptimiserSettings { rule: UpdateRule::AdamW, rate: 0.1, decay: 0.5 };
        let mut adam_w = Optimiser::<f64>::new(vec![(0..1, settings)]);
        let mut w = [2.0];
        adam_w.step(&mut w, &[5.0]);
        assert!((w[0] - (2.0 - 0.1 * 0.5 * 2.0 - 0.1)).abs() < 1e-9, "{w:?}");
    }

    #[test]
    fn momentum_matches_hand_computation() {
        let settings = OptimiserSettings { rule: UpdateRule::Momentum(0.5), rate: 0.1, decay: 1.0 };
        let mut sgd = Optimiser::<f64>::new(vec![(0..1, settings)]);
        let mut w = [1.0];
        sgd.step(&mut w, &[1.0]); // m = 2, w = 0.8
        sgd.step(&mut w, &[1.0]); // m = 1 + 1.8, w = 0.52
        assert!((w[0] - 0.52).abs() < 1e-15, "{w:?}");
    }
}
