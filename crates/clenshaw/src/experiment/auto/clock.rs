//! The time budget.
//!
//! ```text
//! 0 .. 0.40   portfolio on the first validation split        (shares of the time for trials)
//!   .. 0.55   its better half on more splits
//!   .. 0.75   its better quarter on all splits
//!   .. 1      tuning
//! ```
//!
//! The time for trials is the budget without a reserve for the last steps. A stage that ends early leaves its
//! time to the next ones.

use std::time::{Duration, Instant};

/// The smallest share of the budget that is reserved for ensemble, predictions and report.
const RESERVE: f64 = 0.08;
/// The least time to reserve, unless it is more than [`MAX_RESERVE`] of the budget.
const MIN_RESERVE: Duration = Duration::from_secs(2);
/// The largest share of the budget that is reserved.
const MAX_RESERVE: f64 = 0.4;

/// The time that has passed and the time that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct BudgetClock {
    start: Instant,
    /// The time used by earlier processes for the same study.
    earlier: Duration,
    /// The time for trials; `None` for no limit.
    for_trials: Option<Duration>,
    /// The time for everything; `None` for no limit.
    budget: Option<Duration>,
}

impl BudgetClock {
    pub fn start(budget: Option<Duration>) -> Self {
        let clock =
            Self { start: Instant::now(), earlier: Duration::ZERO, for_trials: None, budget };
        clock.with_reserve(MIN_RESERVE)
    }

    /// The same clock with at least this time for the last steps, within the limits of [`MAX_RESERVE`].
    pub fn with_reserve(self, least: Duration) -> Self {
        let for_trials = self.budget.map(|budget| {
            let least = least.max(MIN_RESERVE).min(budget.mul_f64(MAX_RESERVE));
            budget.saturating_sub(budget.mul_f64(RESERVE).max(least))
        });
        Self { for_trials, ..self }
    }

    /// The same clock, with this time already used by earlier processes.
    pub fn after(self, earlier_seconds: f64) -> Self {
        let earlier = Duration::try_from_secs_f64(earlier_seconds).unwrap_or(Duration::ZERO);
        Self { earlier, ..self }
    }

    fn elapsed(&self) -> Duration {
        self.earlier.saturating_add(self.start.elapsed())
    }

    /// The seconds used so far, including those of earlier processes.
    pub fn total_seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    /// Whether there is a time limit.
    pub fn is_limited(&self) -> bool {
        self.for_trials.is_some()
    }

    /// The share of the time for trials that has been used, more than 1 once it is exceeded; 0 without a limit.
    pub fn share(&self) -> f64 {
        match self.for_trials {
            None => 0.0,
            Some(time) if time.is_zero() => f64::INFINITY,
            Some(time) => self.elapsed().as_secs_f64() / time.as_secs_f64(),
        }
    }

    /// The time left until this share of the time for trials has been used, zero if it has; `None` without a
    /// limit.
    pub fn left_until(&self, share: f64) -> Option<Duration> {
        self.for_trials.map(|time| time.mul_f64(share).saturating_sub(self.elapsed()))
    }
}

/// The time that one run may take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunLimit {
    /// The run ends before the epoch that would exceed this time, and the best epoch so far is kept; `None` for
    /// no limit.
    pub seconds: Option<f64>,
    /// Whether a run that is too slow to be useful is given up without a result.
    pub may_skip: bool,
}

/// What to do with a run after an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RunCheck {
    Continue,
    /// The next epoch would exceed the limit.
    Stop,
    /// The run is to be given up, because too few epochs fit into its time; the seconds per epoch.
    TooSlow(f64),
}

/// A run that may be skipped is given up after [`MEASURED_EPOCHS`] if fewer epochs than this fit into its time.
const MIN_EPOCHS: f64 = 30.0;
/// A run that may be skipped is given up, not stopped, if its time ends before this many epochs.
const MIN_KEPT: usize = 10;
/// The number of epochs after which it is estimated how many fit.
const MEASURED_EPOCHS: usize = 3;

impl RunLimit {
    /// Decides whether a run continues after `epochs` epochs that took `seconds`.
    pub fn check(&self, epochs: usize, seconds: f64) -> RunCheck {
        let Some(limit) = self.seconds else { return RunCheck::Continue };
        let per_epoch = seconds / epochs.max(1) as f64;
        if self.may_skip && epochs == MEASURED_EPOCHS && per_epoch * MIN_EPOCHS > limit {
            return RunCheck::TooSlow(per_epoch);
        }
        // Another epoch must fit.
        match seconds + per_epoch > limit {
            false => RunCheck::Continue,
            true if self.may_skip && epochs < MIN_KEPT => RunCheck::TooSlow(per_epoch),
            true => RunCheck::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_has_a_reserve() {
        let time = |seconds: u64| {
            BudgetClock::start(Some(Duration::from_secs(seconds))).for_trials.unwrap().as_secs_f64()
        };
        assert!((time(600) - 552.0).abs() < 1e-6);
        assert!((time(10) - 8.0).abs() < 1e-6);
        assert!((time(2) - 1.2).abs() < 1e-6);
        let slow = BudgetClock::start(Some(Duration::from_secs(60)));
        let reserved = |seconds| slow.with_reserve(Duration::from_secs(seconds)).for_trials;
        assert_eq!(reserved(10), Some(Duration::from_secs(50)));
        assert_eq!(reserved(50), Some(Duration::from_secs(36)), "at most 40%");
        let clock = BudgetClock::start(Some(Duration::from_secs(600))).after(276.0);
        assert!((clock.share() - 0.5).abs() < 0.01);
        let left = clock.left_until(0.75).unwrap().as_secs_f64();
        assert!((left - 138.0).abs() < 5.0, "{left}");
        assert_eq!(BudgetClock::start(None).share(), 0.0);
        assert_eq!(BudgetClock::start(Some(Duration::ZERO)).share(), f64::INFINITY);
    }

    #[test]
    fn slow_runs_are_skipped_and_long_ones_stopped() {
        let limit = RunLimit { seconds: Some(10.0), may_skip: true };
        assert_eq!(limit.check(2, 2.0), RunCheck::Continue);
        assert_eq!(limit.check(3, 3.0), RunCheck::TooSlow(1.0));
        assert_eq!(limit.check(3, 0.9), RunCheck::Continue);
        assert_eq!(limit.check(2, 9.0), RunCheck::TooSlow(4.5));
        assert_eq!(limit.check(20, 9.9), RunCheck::Stop);
        let first = RunLimit { may_skip: false, ..limit };
        assert_eq!(first.check(3, 3.0), RunCheck::Continue);
        assert_eq!(first.check(9, 9.0), RunCheck::Continue);
        assert_eq!(first.check(9, 9.5), RunCheck::Stop);
        assert_eq!(RunLimit::default().check(9, 1e9), RunCheck::Continue);
    }
}
