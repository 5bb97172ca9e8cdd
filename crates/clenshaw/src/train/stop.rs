//! When training ends: a function of the validation losses so far, nothing hidden.
//!
//! ```text
//! patience(p)  stop when p epochs have passed since the lowest validation loss
//! mean(w)      stop at epoch e > w when loss(e) > mean of the w losses before it
//! ```
//!
//! Either way the weights of the lowest validation loss are restored.

use crate::hyper::Params;

/// A stopping rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Epochs without a strictly lower validation loss.
    Patience(usize),
    /// Number of earlier losses in the mean.
    Mean(usize),
}

impl Stop {
    /// The rule that `stop` and `patience` describe.
    pub fn from_params(hp: &Params) -> Self {
        let epochs = hp.int("patience");
        if hp.word("stop") == "mean" { Self::Mean(epochs) } else { Self::Patience(epochs) }
    }

    /// Whether these validation losses, one per epoch, end training.
    pub fn says_stop(self, losses: &[f64]) -> bool {
        match self {
            Self::Patience(p) => losses.len() > best(losses) + p,
            Self::Mean(w) => match losses {
                [earlier @ .., last] if earlier.len() >= w => {
                    let window = &earlier[earlier.len() - w..];
                    *last > window.iter().sum::<f64>() / w as f64
                }
                _ => false,
            },
        }
    }
}

/// The index of the lowest loss, the first of equals.
pub(super) fn best(losses: &[f64]) -> usize {
    let better = |best: usize, i: usize| if losses[i] < losses[best] { i } else { best };
    (1..losses.len()).fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_counts_epochs_since_the_best() {
        let losses = [1.0, 0.5, 0.5, 0.6];
        assert_eq!(best(&losses), 1);
        assert!(!Stop::Patience(3).says_stop(&losses));
        assert!(Stop::Patience(2).says_stop(&losses), "an equal loss is no improvement");
    }

    #[test]
    fn the_mean_rule_compares_with_the_window_before() {
        assert!(!Stop::Mean(2).says_stop(&[1.0, 9.0]), "the window is not full");
        assert!(!Stop::Mean(2).says_stop(&[9.0, 2.0, 1.0, 1.5]), "1.5 is the mean of 2 and 1");
        assert!(Stop::Mean(2).says_stop(&[9.0, 2.0, 1.0, 1.6]));
    }
}
