//! When training ends and which epoch counts: functions of the history so far, nothing hidden.
//!
//! ```text
//! patience       stop when p epochs have passed since the lowest validation loss
//! mean           stop at epoch e > w when loss(e) > mean of the w losses before it
//! late-mean      the same, but only in the second half of the epochs
//! accuracy       stop when p epochs have passed since the highest validation accuracy
//! accuracy-ties  the same, but an equal accuracy counts as an improvement
//! none           train to the end
//! ```
//!
//! The weights of the best epoch are restored: of the lowest validation loss under the first three
//! rules, of the highest validation accuracy under the others; of equals the first, and with
//! `accuracy-ties` the last.

use super::Epoch;
use crate::hyper::Params;

/// A stopping rule with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyStopping {
    /// When to stop.
    pub rule: StopRule,
    /// How many epochs it looks back.
    pub patience: usize,
    /// Epochs at most.
    pub max_epochs: usize,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRule {
    /// Epochs without a lower validation loss.
    Patience,
    /// A loss above the mean of those before it.
    Mean,
    /// The same in the second half.
    LateMean,
    /// Epochs without a higher validation accuracy.
    Accuracy,
    /// Epochs without an equal or higher validation accuracy.
    AccuracyTies,
    /// The last epoch.
    None,
}

impl EarlyStopping {
    /// The rule that `stop`, `patience` and `max_epochs` describe.
    pub fn from_params(hp: &Params) -> Self {
        let rule = match hp.word("stop") {
            "mean" => StopRule::Mean,
            "late-mean" => StopRule::LateMean,
            "accuracy" => StopRule::Accuracy,
            "accuracy-ties" => StopRule::AccuracyTies,
            "none" => StopRule::None,
            _ => StopRule::Patience,
        };
        Self { rule, patience: hp.int("patience"), max_epochs: hp.int("max_epochs") }
    }

    /// Whether these epochs end training.
    pub fn should_stop(self, history: &[Epoch]) -> bool {
        history.len() >= self.max_epochs
            || match self.rule {
                StopRule::Patience | StopRule::Accuracy | StopRule::AccuracyTies => {
                    history.len() > self.best(history) + self.patience
                }
                StopRule::Mean => above_mean(history, self.patience),
                StopRule::LateMean => {
                    history.len() > self.max_epochs / 2 && above_mean(history, self.patience)
                }
                StopRule::None => false,
            }
    }

    /// The index of the epoch whose weights count.
    pub fn best(self, history: &[Epoch]) -> usize {
        let better = |new: &Epoch, old: &Epoch| match self.rule {
            StopRule::Patience | StopRule::Mean | StopRule::LateMean => new.val_loss < old.val_loss,
            StopRule::Accuracy | StopRule::None => new.val_accuracy > old.val_accuracy,
            StopRule::AccuracyTies => new.val_accuracy >= old.val_accuracy,
        };
        (1..history.len())
            .fold(0, |best, i| if better(&history[i], &history[best]) { i } else { best })
    }
}

/// Whether the last loss exceeds the mean of the `w` before it.
fn above_mean(history: &[Epoch], w: usize) -> bool {
    match history {
        [earlier @ .., last] if earlier.len() >= w => {
            let window = earlier[earlier.len() - w..].iter().map(|epoch| epoch.val_loss);
            last.val_loss > window.sum::<f64>() / w as f64
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(rule: StopRule, patience: usize) -> EarlyStopping {
        EarlyStopping { rule, patience, max_epochs: 8 }
    }

    fn losses(losses: &[f64]) -> Vec<Epoch> {
        let epoch = |(i, &val_loss): (usize, &f64)| Epoch {
            epoch: i + 1,
            train_loss: 0.0,
            val_loss,
            val_accuracy: 0.0,
        };
        losses.iter().enumerate().map(epoch).collect()
    }

    fn accuracies(accuracies: &[f64]) -> Vec<Epoch> {
        let mut history = losses(&vec![0.0; accuracies.len()]);
        history.iter_mut().zip(accuracies).for_each(|(epoch, a)| epoch.val_accuracy = *a);
        history
    }

    #[test]
    fn patience_counts_epochs_since_the_best() {
        let history = losses(&[1.0, 0.5, 0.5, 0.6]);
        assert_eq!(stop(StopRule::Patience, 3).best(&history), 1);
        assert!(!stop(StopRule::Patience, 3).should_stop(&history));
        assert!(
            stop(StopRule::Patience, 2).should_stop(&history),
            "an equal loss is no improvement"
        );
    }

    #[test]
    fn the_mean_rule_compares_with_the_window_before() {
        let says = |list: &[f64]| stop(StopRule::Mean, 2).should_stop(&losses(list));
        assert!(!says(&[1.0, 9.0]), "the window is not full");
        assert!(!says(&[9.0, 2.0, 1.0, 1.5]), "1.5 is the mean of 2 and 1");
        assert!(says(&[9.0, 2.0, 1.0, 1.6]));
    }

    #[test]
    fn the_late_mean_rule_waits_for_the_second_half() {
        let says = |list: &[f64]| stop(StopRule::LateMean, 2).should_stop(&losses(list));
        assert!(!says(&[9.0, 2.0, 1.0, 1.6]));
        assert!(says(&[9.0, 9.0, 2.0, 1.0, 1.6]));
    }

    #[test]
    fn accuracy_rules_differ_on_equals() {
        let history = accuracies(&[0.5, 0.7, 0.7, 0.6]);
        let (strict, ties) = (stop(StopRule::Accuracy, 2), stop(StopRule::AccuracyTies, 2));
        assert_eq!((strict.best(&history), ties.best(&history)), (1, 2));
        assert!(strict.should_stop(&history) && !ties.should_stop(&history));
    }

    #[test]
    fn none_runs_to_the_end_and_keeps_the_first_of_the_best() {
        let rule = stop(StopRule::None, 1);
        let history = accuracies(&[0.5, 0.7, 0.7, 0.6, 0.6, 0.6, 0.6]);
        assert!(!rule.should_stop(&history) && rule.best(&history) == 1);
        assert!(rule.should_stop(&losses(&[1.0; 8])));
    }
}
