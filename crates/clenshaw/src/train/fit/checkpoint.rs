//! The metadata of a checkpoint, and the run that it belongs to.

use super::{Epoch, EpochFilter};
use std::time::Duration;

/// The metadata of a checkpoint, next to its tensors.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct CheckpointLog {
    pub run: RunIdentity,
    pub elapsed: Duration,
    pub history: Vec<Epoch>,
    pub filters: Vec<EpochFilter>,
    /// The digest of the tensors and of this metadata with an empty digest.
    pub sha256: String,
}

/// What a run is determined by; a checkpoint is accepted only by the same run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct RunIdentity {
    pub model: String,
    pub hyper: serde_json::Value,
    pub data_sha256: String,
    pub split_sha256: String,
    pub seed: u64,
    /// See [`bit_class`](crate::tensor::bit_class).
    pub bit_class: String,
}

/// The advice for a checkpoint that cannot be used.
pub(super) const START_AGAIN: &str = "delete it to train this run from the start";

impl CheckpointLog {
    /// As stored in the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("epochs are finite numbers")
    }
}

impl RunIdentity {
    /// Describes the first difference from the run of a checkpoint; `None` if they are the same run.
    pub fn difference(&self, stored: &Self) -> Option<String> {
        let differs = |what: &str, own: &dyn std::fmt::Display, stored: &dyn std::fmt::Display| {
            Some(format!("its {what} is {stored}; expected {own}"))
        };
        match self {
            _ if self.seed != stored.seed => differs("seed", &self.seed, &stored.seed),
            _ if self.model != stored.model => differs("model", &self.model, &stored.model),
            _ if self.hyper != stored.hyper => Some("its hyper-parameters differ".into()),
            _ if self.data_sha256 != stored.data_sha256 => Some("its graph differs".into()),
            _ if self.split_sha256 != stored.split_sha256 => Some("its split differs".into()),
            _ if self.bit_class != stored.bit_class => {
                differs("class of instructions", &self.bit_class, &stored.bit_class)
            }
            _ => None,
        }
    }
}
