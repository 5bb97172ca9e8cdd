//! Samplers and pruners by the words people type, with the numbers that a study's reports call for.

use super::TuneRequest;
use crate::error::{Error, Result};
use clenshaw_tune::{Halving, Hyperband, Median, Pruner, Sampler, Tpe};

/// A trial of one split reports this often at most.
const REPORTS: usize = 100;

/// `tpe`, `random` or `grid`.
pub fn sampler(name: &str) -> Result<Sampler> {
    match name {
        "tpe" => Ok(Sampler::Tpe(Tpe::default())),
        "random" => Ok(Sampler::Random),
        "grid" => Ok(Sampler::Grid),
        _ => Err(Error::unknown("sampler", name, ["tpe", "random", "grid"])),
    }
}

/// Epochs between two reports of a trial of one split.
pub(super) fn distance(max_epochs: usize) -> u64 {
    max_epochs.div_ceil(REPORTS).max(1) as u64
}

/// Which trials end early, by the word people type. Steps are splits, or epochs if there is but one
/// split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// `median`, the authors' rule: five completed trials and three reports pass before it ends any.
    Median,
    /// `halving`.
    Halving,
    /// `hyperband`.
    Hyperband,
    /// `none`.
    Never,
}

impl std::str::FromStr for Judge {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "median" => Ok(Self::Median),
            "halving" => Ok(Self::Halving),
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
    /// The pruner that this study's reports call for.
    pub(super) fn pruner(&self) -> Pruner {
        let (first, last) = match self.request.runs {
            0 | 1 => {
                let epochs = self.request.hyper.int("max_epochs");
                (distance(epochs), epochs as u64)
            }
            splits => (1, splits as u64),
        };
        match self.judge {
            Judge::Median => {
                let median = Median::default();
                Pruner::Median(Median { warmup_steps: median.warmup_steps * first, ..median })
            }
            Judge::Halving => {
                Pruner::Halving(Halving { min_resource: Some(first), ..Halving::default() })
            }
            Judge::Hyperband => Pruner::Hyperband(Hyperband {
                min_resource: first,
                max_resource: Some(last),
                ..Hyperband::new(&self.study)
            }),
            Judge::Never => Pruner::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Request;

    #[test]
    fn a_trial_of_one_split_is_judged_by_its_epochs() {
        let mut study = TuneRequest::new(Request::new("csbm", "gcn").unwrap(), "s");
        assert_eq!(study.pruner(), Pruner::Median(Median::default()));
        study.request.runs = 1;
        study.request.set("max_epochs", "1950").unwrap();
        let median = Median { warmup_steps: 60, ..Median::default() };
        assert_eq!(study.pruner(), Pruner::Median(median));
        (study.judge, study.study) = ("hyperband".parse().unwrap(), "later".into());
        let Pruner::Hyperband(hyperband) = study.pruner() else { panic!("{:?}", study.judge) };
        let expected =
            Hyperband { min_resource: 20, max_resource: Some(1950), ..Hyperband::new("later") };
        assert_eq!(hyperband, expected);
        let error = "mean".parse::<Judge>().unwrap_err().to_string();
        assert!(error.starts_with("unknown pruner `mean`; did you mean `median`?"), "{error}");
    }

    #[test]
    fn reports_are_a_hundred_at_most() {
        assert_eq!([1, 100, 101, 2000].map(distance), [1, 1, 2, 20]);
    }
}
