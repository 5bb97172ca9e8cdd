//! The two rules by which this literature ends training, as hyper-parameters of every model.

use crate::hyper::{Hyper, Space};

const RULES: &[&str] = &["patience", "mean"];
const RULE: &str = "patience: stop after so many epochs without a lower validation loss; \
                    mean: stop when the validation loss exceeds the mean of so many before it";
const EPOCHS: &str = "epochs at most";
const PATIENCE: &str = "epochs the stopping rule looks back";

/// Patience 300 within 2000 epochs: ClenshawGCN and its kin.
pub static PATIENT_STOP: [Hyper; 3] = stopping("patience", 300, 2000);

/// The mean of 200 within 1000 epochs: the GPRGNN line of papers.
pub static MEAN_STOP: [Hyper; 3] = stopping("mean", 200, 1000);

/// A rule with its numbers.
pub(super) const fn stopping(rule: &'static str, patience: i64, max_epochs: i64) -> [Hyper; 3] {
    [
        Hyper::int("max_epochs", max_epochs, (1, 1_000_000), Space::Fixed, EPOCHS),
        Hyper::int("patience", patience, (1, 1_000_000), Space::Fixed, PATIENCE),
        Hyper::word("stop", rule, RULES, Space::Fixed, RULE),
    ]
}
