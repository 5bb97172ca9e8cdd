//! Early stopping: when training ends and which epoch's weights are kept.
//!
//! ```text
//! patience       stop when p epochs have passed since the lowest validation loss
//! mean           stop at epoch e > p when loss(e) > mean of the p losses before it
//! late-mean      the same, but only in the second half of the maximum number of epochs
//! accuracy       stop when p epochs have passed since the highest validation accuracy
//! accuracy-ties  the same, but an equal accuracy counts as an improvement
//! none           train all epochs
//! roc-auc        train all epochs, for graphs with two classes
//! ```
//!
//! The weights of the best epoch are kept: the one with the lowest validation loss under the first three
//! rules, with the highest validation ROC AUC under `roc-auc`, and with the highest validation accuracy under the
//! others. Ties go to the first epoch, or with
//! `accuracy-ties` to the last. Without validation nodes all epochs are trained and the last one is
//! the best. When to stop and which epoch is best depend only on the history.

use super::Epoch;
use crate::hyper::{Params, StopRule};

/// A stopping rule and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyStopping {
    /// When to stop.
    pub rule: StopRule,
    /// The rule's window, in epochs.
    pub patience: usize,
    /// The maximum number of epochs.
    pub max_epochs: usize,
}

impl EarlyStopping {
    /// The rule that the hyper-parameters `stop`, `patience` and `max_epochs` set.
    pub fn from_params(hp: &Params) -> Self {
        let (patience, max_epochs) = (hp.int("patience"), hp.int("max_epochs"));
        Self { rule: hp.choice("stop"), patience, max_epochs }
    }

    /// Returns whether training ends after these epochs.
    pub fn should_stop(self, history: &[Epoch]) -> bool {
        history.len() >= self.max_epochs
            || match self.rule {
                StopRule::Patience | StopRule::Accuracy | StopRule::AccuracyTies => {
                    history.len() > self.best_index(history) + self.patience
                }
                StopRule::Mean => above_mean(history, self.patience),
                StopRule::LateMean => {
                    history.len() > self.max_epochs / 2 && above_mean(history, self.patience)
                }
                StopRule::None | StopRule::RocAuc => false,
            }
    }

    /// The index in `history` of the epoch whose weights are kept; 0 if the history is empty.
    pub fn best_index(self, history: &[Epoch]) -> usize {
        (1..history.len())
            .fold(0, |best, i| if self.improves(&history[i], &history[best]) { i } else { best })
    }

    /// Whether the weights of `new` are kept instead of those of the earlier epoch `old`.
    fn improves(self, new: &Epoch, old: &Epoch) -> bool {
        let (Some(new_loss), Some(old_loss)) = (new.val_loss, old.val_loss) else {
            return true;
        };
        match self.rule {
            StopRule::Patience | StopRule::Mean | StopRule::LateMean => new_loss < old_loss,
            StopRule::Accuracy | StopRule::None => new.val_accuracy > old.val_accuracy,
            StopRule::AccuracyTies => new.val_accuracy >= old.val_accuracy,
            StopRule::RocAuc => new.val_roc_auc > old.val_roc_auc,
        }
    }
}

/// Whether the last validation loss exceeds the mean of the `window` losses before it.
fn above_mean(history: &[Epoch], window: usize) -> bool {
    let Some((last, earlier)) = history.split_last() else { return false };
    let Some(start) = earlier.len().checked_sub(window) else { return false };
    let losses: Option<Vec<f64>> = earlier[start..].iter().map(|epoch| epoch.val_loss).collect();
    match (last.val_loss, losses) {
        (Some(last), Some(losses)) => last > losses.iter().sum::<f64>() / window as f64,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopping(rule: StopRule, patience: usize) -> EarlyStopping {
        EarlyStopping { rule, patience, max_epochs: 8 }
    }

    fn history(validation: impl IntoIterator<Item = Option<(f64, f64)>>) -> Vec<Epoch> {
        let epochs = (1..).zip(validation).map(|(epoch, validation)| Epoch {
            epoch,
            train_loss: 0.0,
            val_loss: validation.map(|(loss, _)| loss),
            val_accuracy: validation.map(|(_, accuracy)| accuracy),
            val_roc_auc: None,
        });
        epochs.collect()
    }

    fn losses(losses: &[f64]) -> Vec<Epoch> {
        history(losses.iter().map(|loss| Some((*loss, 0.0))))
    }

    fn accuracies(accuracies: &[f64]) -> Vec<Epoch> {
        history(accuracies.iter().map(|accuracy| Some((0.0, *accuracy))))
    }

    #[test]
    fn patience_counts_epochs_since_best() {
        let history = losses(&[1.0, 0.5, 0.5, 0.6]);
        let patient = |patience| stopping(StopRule::Patience, patience);
        assert_eq!(patient(3).best_index(&history), 1);
        assert!(!patient(3).should_stop(&history));
        assert!(patient(2).should_stop(&history), "an equal loss is not an improvement");
    }

    #[test]
    fn mean_compares_with_the_window_before() {
        let stops = |list: &[f64]| stopping(StopRule::Mean, 2).should_stop(&losses(list));
        assert!(!stops(&[1.0, 9.0]), "the window is not full");
        assert!(!stops(&[9.0, 2.0, 1.0, 1.5]), "1.5 is the mean of 2 and 1");
        assert!(stops(&[9.0, 2.0, 1.0, 1.6]));
    }

    #[test]
    fn late_mean_waits_for_the_second_half() {
        let stops = |list: &[f64]| stopping(StopRule::LateMean, 2).should_stop(&losses(list));
        assert!(!stops(&[9.0, 2.0, 1.0, 1.6]));
        assert!(stops(&[9.0, 9.0, 2.0, 1.0, 1.6]));
    }

    #[test]
    fn accuracy_rules_differ_on_ties() {
        let history = accuracies(&[0.5, 0.7, 0.7, 0.6]);
        let strict = stopping(StopRule::Accuracy, 2);
        let ties = stopping(StopRule::AccuracyTies, 2);
        assert_eq!((strict.best_index(&history), ties.best_index(&history)), (1, 2));
        assert!(strict.should_stop(&history) && !ties.should_stop(&history));
    }

    #[test]
    fn none_trains_all_epochs_and_keeps_the_first_best() {
        let none = stopping(StopRule::None, 1);
        let history = accuracies(&[0.5, 0.7, 0.7, 0.6, 0.6, 0.6, 0.6]);
        assert!(!none.should_stop(&history) && none.best_index(&history) == 1);
        assert!(none.should_stop(&losses(&[1.0; 8])));
    }

    #[test]
    fn roc_auc_trains_all_epochs_and_keeps_the_first_best() {
        let mut history = accuracies(&[0.9, 0.5, 0.5, 0.5]);
        for (epoch, roc_auc) in history.iter_mut().zip([0.6, 0.8, 0.8, f64::NAN]) {
            epoch.val_roc_auc = Some(roc_auc);
        }
        let roc_auc = stopping(StopRule::RocAuc, 1);
        assert!(!roc_auc.should_stop(&history) && roc_auc.best_index(&history) == 1);
    }

    #[test]
    fn without_validation_the_last_epoch_is_best() {
        use StopRule::{Accuracy, AccuracyTies, LateMean, Mean, None, Patience, RocAuc};
        for rule in [Patience, Mean, LateMean, Accuracy, AccuracyTies, None, RocAuc] {
            let stopping = stopping(rule, 1);
            assert_eq!(stopping.best_index(&history([Option::None; 7])), 6, "{rule}");
            assert!(!stopping.should_stop(&history([Option::None; 7])), "{rule}");
            assert!(stopping.should_stop(&history([Option::None; 8])), "{rule}");
        }
    }
}
