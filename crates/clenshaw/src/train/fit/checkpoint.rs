//! Checkpoints: the state of a run in a file, and the run that it belongs to.

use super::{Batches, Epoch, EpochFilter, Fit};
use crate::error::{Error, Result};
use crate::tensor::{self, AlignedVec};
use crate::train::{WeightFile, weights};
use std::time::{Duration, Instant};

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

impl Fit {
    /// The state of the run as a safetensors file; a run restored from it has the same results, bit for bit.
    pub fn checkpoint(&mut self) -> Vec<u8> {
        self.undo_diverged_step();
        let mut state = vec![
            ("best", 1, &self.best_params[..]),
            ("first", 1, &self.optimiser.first[..]),
            ("params", 1, &self.params[..]),
            ("second", 1, &self.optimiser.second[..]),
        ];
        if !self.optimiser.norms.is_empty() {
            state.push(("norms", 1, &self.optimiser.norms[..]));
        }
        let log = CheckpointLog {
            run: self.identity(),
            elapsed: self.elapsed(),
            history: self.history.clone(),
            filters: self.filters.clone(),
            sha256: String::new(),
        };
        let sha256 = weights::digest(&log.to_json(), state.iter().copied());
        weights::write_slices(state, &CheckpointLog { sha256, ..log }.to_json())
    }

    /// What the checkpoint of this run must agree with.
    fn identity(&self) -> RunIdentity {
        RunIdentity {
            model: self.setup.info().name.into(),
            hyper: serde_json::to_value(self.setup.hp()).expect("numbers and words only"),
            data_sha256: self.setup.data_sha256().into(),
            split_sha256: self.split_sha256.clone(),
            seed: self.seed,
            bit_class: tensor::bit_class(tensor::instruction_set()).into(),
        }
    }

    /// Restores a checkpoint of the same run; `place` names it in errors.
    ///
    /// # Errors
    /// If the checkpoint is damaged, or is of a run with another model, hyper-parameters, data, split, seed or class
    /// of instructions ([`tensor::bit_class`]).
    pub fn restore(&mut self, place: &str, bytes: &[u8]) -> Result<()> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let (log, state) = CheckpointLog::read(place, bytes)?;
        let CheckpointLog { run, elapsed, history, filters, .. } = log;
        // A fuzzer cannot find the digests of a run.
        let difference = self.identity().difference(&run).filter(|_| !cfg!(fuzzing));
        if let Some(difference) = difference {
            return Err(bad(format!("the checkpoint of another run: {difference}; {START_AGAIN}")));
        }
        let n = self.params.len();
        let tensor = |name: &str, n: usize| {
            let found = state.tensors.iter().find(|(other, _)| other == name);
            let (_, m) = found.ok_or_else(|| bad(format!("no tensor `{name}`")))?;
            match (m.rows(), m.cols()) {
                (1, cols) if cols == n => Ok(m.as_slice().to_vec()),
                (rows, cols) => Err(bad(format!("`{name}` is {rows} x {cols}; expected 1 x {n}"))),
            }
        };
        let (params, best) = (tensor("params", n)?, tensor("best", n)?);
        let (first, second) = (tensor("first", n)?, tensor("second", n)?);
        if !self.optimiser.norms.is_empty() {
            self.optimiser.norms = tensor("norms", self.optimiser.norms.len())?;
        }
        (self.optimiser.first, self.optimiser.second) = (first, second);
        (self.params, self.best_params) =
            (AlignedVec::from(&params[..]), AlignedVec::from(&best[..]));
        let steps_per_epoch = self.batches.as_ref().map_or(1, Batches::n_steps);
        self.optimiser.steps = (history.len() * steps_per_epoch) as u64;
        (self.history, self.filters) = (history, filters);
        (self.diverged, self.next_loss) = (None, None);
        (self.earlier, self.started) = (elapsed, Instant::now());
        Ok(())
    }
}

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
