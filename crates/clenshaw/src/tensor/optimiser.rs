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
//!
//! **Asymmetric learning** divides parameters with Adam into blocks, such as the dense layers and the filter,
//! and from step 11 on multiplies the gradient of each block by one factor:
//!
//! ```text
//! N <- 0.9 N + 0.1 |w|                            all entries of a block together, N = 0 at first
//! d  = the direction of Adam's step with g        m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
//! g <- g N / (|d| + 1e-8)                         then the step of Adam with this g
//! ```
//!
//! Adam's step hardly depends on a constant factor of the gradient, so mainly changes of the factor have an
//! effect, above all the first one. Mia-321/asym-opt, AAAI 2025.

use super::kernel::{Arith, Kernel, dispatch};
use super::{Real, ThreadTeam};
use std::ops::Range;
use std::sync::Mutex;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// The number of steps before the gradients of asymmetric blocks are scaled.
const WARM_UP: u64 = 10;
/// The decay of the average norm of a block.
const NORM_DECAY: f64 = 0.9;

/// How an optimiser updates parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateRule {
    /// Adam with coupled weight decay.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
    /// Gradient descent with this momentum and coupled weight decay.
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

/// An optimiser: its settings, and its state in public fields, which can be saved and restored bit for bit.
#[derive(Clone, Debug)]
pub struct Optimiser<T> {
    ranges: Vec<(Range<usize>, OptimiserSettings)>,
    /// First moments (Adam, AdamW) or the momentum buffer.
    pub first: Vec<T>,
    /// Second moments; zero where the rule is `Momentum`.
    pub second: Vec<T>,
    /// The number of steps taken.
    pub steps: u64,
    /// The averages N of asymmetric blocks; empty without [`Optimiser::with_blocks`].
    pub norms: Vec<T>,
    /// The block of each range; `None` for ranges in no block.
    blocks: Vec<Option<usize>>,
}

impl<T: Real> Optimiser<T> {
    /// An optimiser before its first step. Parameters outside all ranges are not updated.
    ///
    /// # Panics
    /// If the ranges overlap or do not ascend.
    pub fn new(ranges: Vec<(Range<usize>, OptimiserSettings)>) -> Self {
        let ascends = ranges.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start);
        assert!(ascends, "optimiser: expected ascending ranges");
        let n = ranges.iter().map(|(range, _)| range.end).max().unwrap_or(0);
        let blocks = vec![None; ranges.len()];
        let (first, second) = (vec![T::ZERO; n], vec![T::ZERO; n]);
        Self { ranges, first, second, steps: 0, norms: vec![], blocks }
    }

    /// The same optimiser with asymmetric learning: `blocks` contains the block of every range, counted from
    /// 0, or `None` for a range in no block.
    ///
    /// # Panics
    /// If there is not one entry per range, or if the rule of a range in a block is not Adam.
    pub fn with_blocks(self, blocks: Vec<Option<usize>>) -> Self {
        assert_eq!(blocks.len(), self.ranges.len(), "optimiser: expected one block per range");
        let ranges = self.ranges.iter().zip(&blocks).filter(|(_, block)| block.is_some());
        let is_adam = |settings: &OptimiserSettings| settings.rule == UpdateRule::Adam;
        let only_adam = ranges.map(|((_, settings), _)| settings).all(is_adam);
        assert!(only_adam, "optimiser: asymmetric learning needs Adam");
        let n_blocks = blocks.iter().flatten().max().map_or(0, |last| last + 1);
        Self { norms: vec![T::ZERO; n_blocks], blocks, ..self }
    }

    /// Updates the parameters from their gradients.
    ///
    /// # Panics
    /// If `params` or `grads` end before the last range does.
    pub fn step(&mut self, params: &mut [T], grads: &[T]) {
        self.step_on(&mut ThreadTeam::new(1), params, grads);
    }

    /// [`Optimiser::step`] on several threads, with the same result.
    pub(super) fn step_on(&mut self, team: &mut ThreadTeam, params: &mut [T], grads: &[T]) {
        self.steps += 1;
        let is_scaled = self.steps > WARM_UP;
        let mut norms = std::mem::take(&mut self.norms);
        let updates: Vec<Mutex<Update<'_, T>>> =
            self.updates(params, grads).map(Mutex::new).collect();
        let lock = |i: usize| updates[i].lock().expect("no update panics");
        if !norms.is_empty() {
            let squares: Vec<Mutex<(f64, f64)>> =
                updates.iter().map(|_| Mutex::default()).collect();
            team.run(updates.len(), |i, _| {
                *squares[i].lock().expect("no update panics") = dispatch(SquaredNorms(&lock(i)));
            });
            // The parts are added in order, regardless of the number of threads.
            for (block, norm) in norms.iter_mut().enumerate() {
                let (mut weights, mut direction) = (0.0, 0.0);
                let parts = (0..updates.len()).filter(|i| lock(*i).block == Some(block));
                for part in parts.clone() {
                    let (w, d) = *squares[part].lock().expect("no update panics");
                    (weights, direction) = (weights + w, direction + d);
                }
                let average = NORM_DECAY * norm.to_f64() + (1.0 - NORM_DECAY) * weights.sqrt();
                *norm = T::from_f64(average);
                if is_scaled {
                    let factor = norm.to_f64() / (direction.sqrt() + EPS);
                    parts.for_each(|part| lock(part).factor = factor);
                }
            }
        }
        team.run(updates.len(), |i, _| dispatch(&mut *lock(i)));
        drop(updates);
        self.norms = norms;
    }

    /// The updates of this step, in parts of at most [`PART`] parameters.
    fn updates<'a>(
        &'a mut self,
        params: &'a mut [T],
        grads: &'a [T],
    ) -> impl Iterator<Item = Update<'a, T>> {
        let t = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let (mut first, mut second) = (&mut self.first[..], &mut self.second[..]);
        let (mut params, mut end) = (params, 0);
        self.ranges.iter().zip(&self.blocks).flat_map(move |((range, settings), block)| {
            let skipped = range.start - end;
            end = range.end;
            let w = take(&mut params, skipped, range.len()).chunks_mut(PART);
            let m = take(&mut first, skipped, range.len()).chunks_mut(PART);
            let v = take(&mut second, skipped, range.len()).chunks_mut(PART);
            let g = grads[range.clone()].chunks(PART);
            let parts = w.zip(g).zip(m.zip(v));
            parts.map(move |((w, g), (m, v))| Update {
                settings: *settings,
                block: *block,
                factor: 1.0,
                t,
                w,
                g,
                m,
                v,
            })
        })
    }
}

/// Removes the first `skipped + len` numbers of a slice; returns the last `len` of them.
fn take<'a, T>(numbers: &mut &'a mut [T], skipped: usize, len: usize) -> &'a mut [T] {
    let (head, rest) = std::mem::take(numbers).split_at_mut(skipped + len);
    *numbers = rest;
    &mut head[skipped..]
}

/// The largest number of parameters that a thread updates at a time.
const PART: usize = 1 << 14;

/// Step `t` for a part of the parameters `w`, with their gradients `g` and their moments `m` and `v`.
struct Update<'a, T> {
    settings: OptimiserSettings,
    /// The asymmetric block, if any.
    block: Option<usize>,
    /// The factor by which the gradient, including weight decay, is multiplied.
    factor: f64,
    t: i32,
    w: &'a mut [T],
    g: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
}

impl<T: Real> Kernel for &mut Update<'_, T> {
    type Output = ();

    /// All instruction sets compute the same bits: no operation is fused.
    #[inline(always)]
    fn run<A: Arith>(self) {
        match self.settings.rule {
            UpdateRule::Adam => self.adam(self.settings.decay),
            UpdateRule::AdamW => {
                let kept = T::from_f64(1.0 - self.settings.rate * self.settings.decay);
                self.w.iter_mut().for_each(|w| *w = kept * *w);
                self.adam(0.0);
            }
            UpdateRule::Momentum(mu) => self.momentum(mu),
        }
    }
}

/// Computes the squared norms of a part of the parameters and of the direction `d` of their Adam step.
struct SquaredNorms<'a, T>(&'a Update<'a, T>);

impl<T: Real> Kernel for SquaredNorms<'_, T> {
    type Output = (f64, f64);

    /// All instruction sets compute the same bits: no operation is fused.
    #[inline(always)]
    fn run<A: Arith>(self) -> (f64, f64) {
        let Update { settings, t, ref w, g, ref m, ref v, .. } = *self.0;
        let (first, second) = (1.0 - BETA1.powi(t), 1.0 - BETA2.powi(t));
        let (mut weights, mut direction) = (0.0, 0.0);
        for ((w, g), (m, v)) in w.iter().zip(g).zip(m.iter().zip(v.iter())) {
            let w = w.to_f64();
            let g = g.to_f64() + settings.decay * w;
            let m = BETA1 * m.to_f64() + (1.0 - BETA1) * g;
            let v = BETA2 * v.to_f64() + (1.0 - BETA2) * g * g;
            let d = m / first / ((v / second).sqrt() + EPS);
            (weights, direction) = (weights + w * w, direction + d * d);
        }
        (weights, direction)
    }
}

impl<T: Real> Update<'_, T> {
    /// The step of Adam with this coupled weight decay.
    #[inline(always)]
    fn adam(&mut self, decay: f64) {
        let (decay, factor) = (T::from_f64(decay), T::from_f64(self.factor));
        let (b1, b2) = (T::from_f64(BETA1), T::from_f64(BETA2));
        let (a1, a2) = (T::from_f64(1.0 - BETA1), T::from_f64(1.0 - BETA2));
        let rate = T::from_f64(self.settings.rate / (1.0 - BETA1.powi(self.t)));
        let root = T::from_f64((1.0 - BETA2.powi(self.t)).sqrt());
        let eps = T::from_f64(EPS);
        let moments = self.m.iter_mut().zip(self.v.iter_mut());
        for ((w, g), (m, v)) in self.w.iter_mut().zip(self.g).zip(moments) {
            let g = factor * (*g + decay * *w);
            *m = b1 * *m + a1 * g;
            *v = b2 * *v + a2 * g * g;
            *w = *w - rate * *m / (v.sqrt() / root + eps);
        }
    }

    /// The step of gradient descent with momentum `mu`.
    #[inline(always)]
    fn momentum(&mut self, mu: f64) {
        let (decay, mu) = (T::from_f64(self.settings.decay), T::from_f64(mu));
        let rate = T::from_f64(self.settings.rate);
        for ((w, g), m) in self.w.iter_mut().zip(self.g).zip(self.m.iter_mut()) {
            *m = mu * *m + (*g + decay * *w);
            *w = *w - rate * *m;
        }
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
    fn asymmetric_blocks_scale_their_gradients_after_the_warm_up() {
        // One weight and a constant gradient: |d| = 1 up to eps, so the factor is N.
        let settings = OptimiserSettings { rule: UpdateRule::Adam, rate: 0.0, decay: 0.0 };
        let mut adam = Optimiser::<f64>::new(vec![(0..1, settings)]).with_blocks(vec![Some(0)]);
        let mut w = [2.0];
        for step in 1..=11 {
            adam.step(&mut w, &[0.5]);
            // N = 2 (1 - 0.9^t)
            assert!((adam.norms[0] - 2.0 * (1.0 - 0.9f64.powi(step))).abs() < 1e-12);
        }
        let before = 0.5 * (1.0 - 0.9f64.powi(10));
        let expected = 0.9 * before + 0.1 * 0.5 * adam.norms[0];
        assert!((adam.first[0] - expected).abs() < 1e-7, "{} and {expected}", adam.first[0]);
    }

    #[test]
    fn blocks_without_adam_are_rejected() {
        let rule = UpdateRule::Momentum(0.5);
        let settings = OptimiserSettings { rule, rate: 0.1, decay: 1.0 };
        crate::tensor::assert_panics(&[
            ("optimiser: asymmetric learning needs Adam", &|| {
                _ = Optimiser::<f64>::new(vec![(0..1, settings)]).with_blocks(vec![Some(0)]);
            }),
            ("optimiser: expected one block per range", &|| {
                _ = Optimiser::<f64>::new(vec![(0..1, settings)]).with_blocks(vec![]);
            }),
        ]);
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

    #[test]
    fn threads_and_parts_do_not_change_the_result() {
        let settings = |rule| OptimiserSettings { rule, rate: 0.1, decay: 0.01 };
        let n = 2 * PART + 100;
        let ranges = vec![
            (3..PART + 50, settings(UpdateRule::Adam)),
            (PART + 60..n, settings(UpdateRule::Momentum(0.9))),
        ];
        let g: Vec<f32> = (0..n).map(|i| (i % 17) as f32 - 8.0).collect();
        let trained = |threads| {
            let optimiser = Optimiser::new(ranges.clone());
            let (mut optimiser, mut w) = (optimiser.with_blocks(vec![Some(0), None]), vec![1.0; n]);
            let mut team = ThreadTeam::new(threads);
            (0..13).for_each(|_| optimiser.step_on(&mut team, &mut w, &g));
            w
        };
        let single = trained(1);
        assert_eq!(single, trained(3));
        assert_eq!((single[2], single[PART + 55]), (1.0, 1.0), "outside of the ranges");
        // Entries with equal gradients are updated alike in every part of a range.
        assert_eq!(single[17], single[17 * 900]);
        assert_eq!(single[PART + 60], single[PART + 60 + 17 * 900]);
    }
}
