//! Settings with a fixed set of values: enums whose variants are selected by a word.
//!
//! [`choices!`] lists the words of an enum once; parsing, printing and the allowed values of a
//! hyper-parameter are derived from that list. The two enums below are settings of every model.

/// An enum whose variants are selected by a word.
pub trait Choice: Copy + PartialEq + std::fmt::Debug + 'static {
    /// The word of every variant, in the order of declaration.
    const WORDS: &'static [&'static str];

    /// The variant that `word` selects; `None` for an unknown word.
    fn from_word(word: &str) -> Option<Self>;
}

/// Implements [`Choice`], `word` and `Display` for an enum.
///
/// The enum is declared elsewhere, or here with a word for each variant.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        $crate::hyper::choices!($name, $($variant = $word),+);
    };
    ($name:ident, $($variant:ident = $word:literal),+ $(,)?) => {
        impl $name {
            /// The word that selects this variant.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl $crate::hyper::Choice for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(crate) use choices;

choices! {
    /// How features are scaled before training.
    #[derive(Default)]
    pub enum Scaling {
        /// No scaling.
        #[default]
        Raw = "raw",
        /// `x / sum_j x_j`; a row whose sum is zero becomes zero.
        Row0 = "row0",
        /// `x - min(X)`, then `x / max(1, sum_j x_j)`: rows with a small sum are not scaled up.
        Row = "row",
        /// `(x - mean) / std` of every column, unbiased std; a constant column becomes zero.
        ZScore = "zscore",
        /// `zscore` for columns of numbers; columns of zeros and ones, and mostly zero columns of
        /// sparse features, stay as they are.
        Standard = "standard",
    }
}

choices! {
    /// When training stops before its last epoch.
    pub enum StopRule {
        /// After `patience` epochs without a lower validation loss.
        Patience = "patience",
        /// When the validation loss exceeds the mean of the previous `patience` losses.
        Mean = "mean",
        /// The same as `Mean`, but only in the second half of the epochs.
        LateMean = "late-mean",
        /// After `patience` epochs without a higher validation accuracy.
        Accuracy = "accuracy",
        /// After `patience` epochs without an equal or higher validation accuracy.
        AccuracyTies = "accuracy-ties",
        /// Never: all epochs are trained.
        None = "none",
        /// Never, as with `None`, but the best epoch has the highest validation ROC AUC; for two classes.
        RocAuc = "roc-auc",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_selects_the_variant_that_prints_it() {
        for word in Scaling::WORDS {
            assert_eq!(Scaling::from_word(word).unwrap().to_string(), *word);
        }
        for word in StopRule::WORDS {
            assert_eq!(StopRule::from_word(word).unwrap().to_string(), *word);
        }
        assert_eq!(Scaling::from_word("zscor"), None);
    }
}
