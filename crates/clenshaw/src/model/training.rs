//! What every model declares about its training: the features' scaling, when to stop and how to gather.

use super::{OptimiserGroup, OptimiserKind};
use crate::hyper::{HyperParam, TuningSpace};

const SCALINGS: &[&str] = &["raw", "row0", "row", "zscore"];
const SCALING: &str = "features: raw as they are, row0 rows sum to 1, row the same but never scaled up, \
                       zscore columns standardised";
const GATHERS: &[&str] = &["f32", "bf16"];
const GATHER: &str = "what products with the graph read: f32 the numbers, bf16 their upper halves, \
                      faster on large graphs";
const RULES: &[&str] = &["patience", "mean", "late-mean", "accuracy", "accuracy-ties", "none"];
const RULE: &str = "patience: stop after so many epochs without a lower validation loss; \
                    mean: when the validation loss exceeds the mean of so many before it; \
                    late-mean: the same in the second half; \
                    accuracy: after so many without a higher validation accuracy; \
                    accuracy-ties: the same, equals count as higher; none: at the last epoch";

/// Patience 300 within 2000 epochs: ClenshawGCN and its kin.
pub static PATIENCE_300: [HyperParam; 5] = training("patience", 300, 2000);

/// The mean of 200 within 1000 epochs: the GPRGNN line of papers.
pub static MEAN_200: [HyperParam; 5] = training("mean", 200, 1000);

/// 500 epochs to the end: the LINKX line of papers.
pub static ALL_500: [HyperParam; 5] = training("none", 1, 500);

/// One Adam with decoupled weight decay for all parameters: the LINKX line of papers.
pub(super) const DECOUPLED: OptimiserGroup =
    OptimiserGroup { name: "all", kind: OptimiserKind::AdamW, rate: "lr", decay: "wd" };

/// Its learning rate.
pub(super) const LR: HyperParam = HyperParam::real(
    "lr",
    0.01,
    (0.0, 10.0),
    TuningSpace::Among(&[0.001, 0.002, 0.01, 0.05, 0.1]),
    "learning rate",
);

/// Its weight decay, which that line does not tune.
pub(super) const WD: HyperParam =
    HyperParam::real("wd", 1e-3, (0.0, 10.0), TuningSpace::Fixed, "decoupled weight decay");

/// A stopping rule with its numbers.
pub(super) const fn training(
    rule: &'static str,
    patience: i64,
    max_epochs: i64,
) -> [HyperParam; 5] {
    const MOST: (i64, i64) = (1, 1_000_000);
    [
        HyperParam::word("scaling", "raw", SCALINGS, TuningSpace::Fixed, SCALING),
        HyperParam::int("max_epochs", max_epochs, MOST, TuningSpace::Fixed, "epochs at most"),
        HyperParam::int(
            "patience",
            patience,
            MOST,
            TuningSpace::Fixed,
            "epochs the stopping rule looks back",
        ),
        HyperParam::word("stop", rule, RULES, TuningSpace::Fixed, RULE),
        HyperParam::word("gather", "f32", GATHERS, TuningSpace::Fixed, GATHER),
    ]
}
