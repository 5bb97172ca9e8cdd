//! The hyper-parameters of training, which every model declares: feature scaling, stopping rule, precision
//! of products with the graph, and class weights.

use super::{OptimiserGroup, OptimiserKind};
use crate::hyper::{HyperParam, Scaling, StopRule, choices};
use crate::tensor::GatherPrecision;

choices!(GatherPrecision, Full = "f32", Bf16 = "bf16");

const SCALING: &str = "raw: features unchanged; row0: rows sum to 1; row: the same, but rows are never \
                       scaled up; zscore: columns are standardised; standard: the same, but \
                       columns of zeros and ones, and mostly zero columns of sparse features, are unchanged";
const GATHER: &str = "precision of the values that products with the graph read: f32, or bf16, which \
                      is faster on large graphs; attention always reads f32";
const CLASS_WEIGHTS: &str = "true: every class has the same weight in the training loss, so rare classes \
                             count as much as frequent ones";
const STOP: &str = "patience: stop after `patience` epochs without a lower validation loss; \
                    mean: when the validation loss exceeds the mean of the previous `patience` losses; \
                    late-mean: the same, but not in the first half of the epochs; \
                    accuracy: after `patience` epochs without a higher validation accuracy; \
                    accuracy-ties: the same, but a tie counts as higher; none: after `max_epochs`; \
                    roc-auc: the same, but the weights of the highest validation ROC AUC are kept";

/// The rule `patience` with 300 epochs, at most 2000 epochs: ClenshawGCN and its variants.
pub static PATIENCE_300: [HyperParam; 6] = training(StopRule::Patience, 300, 2000);

/// The rule `patience` with 100 epochs, at most 1000 epochs: GAT.
pub static PATIENCE_100: [HyperParam; 6] = training(StopRule::Patience, 100, 1000);

/// The rule `mean` with 200 epochs, at most 1000 epochs: GPRGNN and the papers that follow it.
pub static MEAN_200: [HyperParam; 6] = training(StopRule::Mean, 200, 1000);

/// Always 500 epochs: LINKX and its baselines.
pub static ALL_500: [HyperParam; 6] = training(StopRule::None, 1, 500);

/// One AdamW optimiser for all parameters: LINKX and its baselines.
pub(super) const ADAM_W: OptimiserGroup =
    OptimiserGroup { name: "all", kind: OptimiserKind::AdamW, rate: "lr", decay: Some("wd") };

/// Learning rate of [`ADAM_W`].
pub(super) const LR: HyperParam = HyperParam::real("lr", 0.01, (0.0, 10.0), "learning rate")
    .tune_among(&[0.001, 0.002, 0.01, 0.05, 0.1]);

/// Weight decay of [`ADAM_W`], which these papers do not tune.
pub(super) const WD: HyperParam =
    HyperParam::real("wd", 1e-3, (0.0, 10.0), "decoupled weight decay");

/// Declares the hyper-parameters of training with these defaults.
pub(super) const fn training(stop: StopRule, patience: i64, max_epochs: i64) -> [HyperParam; 6] {
    const BOUNDS: (i64, i64) = (1, 1_000_000);
    [
        HyperParam::choice::<Scaling>("scaling", Scaling::Raw.word(), SCALING),
        HyperParam::int("max_epochs", max_epochs, BOUNDS, "maximum number of epochs"),
        HyperParam::int("patience", patience, BOUNDS, "window of the stopping rule, in epochs"),
        HyperParam::choice::<StopRule>("stop", stop.word(), STOP),
        HyperParam::choice::<GatherPrecision>("gather", GatherPrecision::Full.word(), GATHER),
        HyperParam::flag("class_weights", false, CLASS_WEIGHTS).omit_default(),
    ]
}
