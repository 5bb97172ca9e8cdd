//! The metadata of a checkpoint, and the run that it belongs to.

use super::{Epoch, EpochFilter, weights};
use crate::error::{Error, Result};
use crate::train::WeightFile;
use std::time::Duration;

/// The metadata of a checkpoint, next to its tensors.
#[derive(serde::Serialize, serde::Deserialize)]
pub(in crate::train) struct CheckpointLog {
    pub run: RunIdentity,
    pub elapsed: Duration,
    pub history: Vec<Epoch>,
    pub filters: Vec<EpochFilter>,
    /// The digest of the tensors and of this metadata with an empty digest.
    pub sha256: String,
}

/// Everything that determines a run; only the same run accepts its checkpoint.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(in crate::train) struct RunIdentity {
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
    /// Reads a checkpoint and returns its metadata, without the digest, and the whole file. Fails if it is damaged;
    /// `place` names the file in errors.
    pub fn read(place: &str, bytes: &[u8]) -> Result<(Self, WeightFile)> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let state = weights::read_weights(place, bytes)?;
        let log: Self = serde_json::from_str(&state.metadata)
            .map_err(|e| bad(format!("not a checkpoint of this version: {e}; {START_AGAIN}")))?;
        let (stored, log) = (log.sha256.clone(), Self { sha256: String::new(), ..log });
        let tensors = state.tensors.iter().map(|(name, m)| (name.as_str(), m.rows(), m.as_slice()));
        // A fuzzer cannot find valid checksums.
        if !cfg!(fuzzing) && weights::digest(&log.to_json(), tensors) != stored {
            return Err(bad(format!("the checksum is wrong; the file is damaged; {START_AGAIN}")));
        }
        if !log.history.iter().map(|epoch| epoch.epoch).eq(1..=log.history.len()) {
            return Err(bad("expected epochs numbered from 1 without gaps".into()));
        }
        Ok((log, state))
    }

    /// The metadata as stored in the file.
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

/// Whether these are the bytes of a checkpoint, of any run.
#[cfg(any(test, fuzzing))]
pub fn is_checkpoint(place: &str, bytes: &[u8]) -> bool {
    CheckpointLog::read(place, bytes).is_ok()
}
