//! Samplers and pruners by their names on the command line, configured for the study.

use super::TuneRequest;
use crate::error::{Error, Result};
use clenshaw_tune::{Hyperband, Median, Pruner, Sampler, SuccessiveHalving, Tpe};

/// Maximum number of intermediate values that a trial with a single split reports.
const MAX_REPORTS: usize = 100;

/// The sampler named `tpe`, `random` or `grid`; other names are errors.
pub fn sampler(name: &str) -> Result<Sampler> {
    match name {
        "tpe" => Ok(Sampler::Tpe(Tpe::default())),
        "random" => Ok(Sampler::Random),
        "grid" => Ok(Sampler::Grid),
        _ => Err(Error::unknown("sampler", name, ["tpe", "random", "grid"])),
    }
}

/// Number of epochs between reports of a trial with a single split.
pub(super) fn report_interval(max_epochs: usize) -> u64 {
    max_epochs.div_ceil(MAX_REPORTS).max(1) as u64
}

/// The rule that ends unpromising trials early. Its steps are splits, or epochs if there is only one
/// split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrunerKind {
    /// `median`, the rule used by the authors of ClenshawGCN: once five trials are complete, it may end a trial
    /// from the third report on.
    Median,
    /// `halving`: asynchronous successive halving.
    SuccessiveHalving,
    /// `hyperband`.
    Hyperband,
    /// `none`: no trial is ended early.
    Never,
}

impl std::str::FromStr for PrunerKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "median" => Ok(Self::Median),
            "halving" => Ok(Self::SuccessiveHalving),
            "hyperband" => Ok(Self::Hyperband),
            "none" => Ok(Self::Never),
            _ => {
                let known = ["median", "halving", "hyperband", "none"];
                Err(Error::unknown("pruner", name, known))
            }
        }
    }
}

impl TuneRequest {
    /// The pruner, with its steps in the unit of this study's reports: splits, or epochs with one split.
    pub(super) fn build_pruner(&self) -> Pruner {
        let (first, last) = match self.training.runs {
            0 | 1 => {
                let epochs = self.training.hyper.int("max_epochs");
                (report_interval(epochs), epochs as u64)
            }
            splits => (1, splits as u64),
        };
        match self.pruner {
            PrunerKind::Median => {
                let median = Median::default();
                Pruner::Median(Median { n_warmup_steps: median.n_warmup_steps * first, ..median })
            }
            PrunerKind::SuccessiveHalving => Pruner::SuccessiveHalving(SuccessiveHalving {
                min_resource: Some(first),
                ..SuccessiveHalving::default()
            }),
            PrunerKind::Hyperband => Pruner::Hyperband(Hyperband {
                min_resource: first,
                max_resource: Some(last),
                ..Hyperband::new(&self.study)
            }),
            PrunerKind::Never => Pruner::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Request;

    #[test]
    fn pruner_counts_epochs_with_a_single_split() {
        let mut study = TuneRequest::new(Request::new("csbm", "gcn").unwrap(), "s");
        assert_eq!(study.build_pruner(), Pruner::Median(Median::default()));
        study.training.runs = 1;
        study.training.set("max_epochs", "1950").unwrap();
        let median = Median { n_warmup_steps: 60, ..Median::default() };
        assert_eq!(study.build_pruner(), Pruner::Median(median));
        (study.pruner, study.study) = ("hyperband".parse().unwrap(), "later".into());
        let Pruner::Hyperband(hyperband) = study.build_pruner() else {
            panic!("{:?}", study.pruner)
        };
        let expected =
            Hyperband { min_resource: 20, max_resource: Some(1950), ..Hyperband::new("later") };
        assert_eq!(hyperband, expected);
        let error = "mean".parse::<PrunerKind>().unwrap_err().to_string();
        assert!(error.starts_with("unknown pruner `mean`; did you mean `median`?"), "{error}");
    }

    #[test]
    fn at_most_a_hundred_reports() {
        assert_eq!([1, 100, 101, 2000].map(report_interval), [1, 1, 2, 20]);
    }
}
