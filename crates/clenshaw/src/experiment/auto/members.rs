//! Trained models and their predictions, by configuration and validation split.
//!
//! ```text
//! <folder>/models/<configuration>-<split>-<nodes>.safetensors
//! ```
//!
//! `configuration` is a digest of model and hyper-parameters, `nodes` one of graph, split and seed, so that models
//! of other graphs, splits or seeds are not used. Predictions that are not in memory are computed again from the
//! files.

use super::search::{Configuration, short_digest};
use crate::data::{Dataset, Split};
use crate::error::{Error, Result};
use crate::filter::Response;
use crate::tensor::Mat;
use crate::train::{Epoch, EpochFilter, Outcome, TrainedModel};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Predictions of a new run are not kept in memory if those in memory have at least this size in bytes.
const MAX_BYTES: usize = 1 << 30;

/// The name of the folder of the models.
const MODELS: &str = "models";

/// A run: the id of its configuration and the number of its validation split.
pub(super) type RunKey = (String, usize);

/// The predictions of a run and how it was trained.
#[derive(Clone)]
pub(super) struct MemberRun {
    /// The probability of every class for every node, `[n, C]`.
    pub probabilities: Arc<Mat<f32>>,
    /// `None` if the predictions were computed from the model file.
    pub training: Option<Arc<TrainingHistory>>,
}

/// How a run was trained.
pub(in crate::experiment) struct TrainingHistory {
    pub epochs: Vec<Epoch>,
    pub filters: Vec<EpochFilter>,
    pub best_epoch: usize,
    pub filter: Option<Response>,
    pub seconds: f64,
}

/// The runs whose models are in a folder, of this process or of others.
pub(super) struct MemberStore {
    folder: PathBuf,
    dataset: Arc<Dataset>,
    /// A digest of the graph, the nodes and the seed of every split.
    split_ids: Vec<String>,
    runs: Mutex<HashMap<RunKey, MemberRun>>,
}

impl MemberStore {
    /// Creates the folder of the models if it does not exist; models on split `i` are trained with seed `seed + i`.
    pub fn open(folder: &Path, dataset: Arc<Dataset>, splits: &[Split], seed: u64) -> Result<Self> {
        let models = folder.join(MODELS);
        fs::create_dir_all(&models).map_err(Error::io(&models))?;
        let data = dataset.sha256();
        let seeds = (0..).map(|i| seed + i);
        let split_ids = splits
            .iter()
            .zip(seeds)
            .map(|(split, seed)| short_digest(&format!("{data} {} {seed}", split.sha256()), 8));
        let split_ids = split_ids.collect();
        Ok(Self { folder: folder.to_owned(), dataset, split_ids, runs: Mutex::default() })
    }

    /// The file of a run.
    pub fn path(&self, configuration: &Configuration, split: usize) -> PathBuf {
        self.folder.join(self.relative_path(configuration, split))
    }

    /// The file of a run, relative to the folder given to [`open`](Self::open).
    pub fn relative_path(&self, configuration: &Configuration, split: usize) -> String {
        let nodes = &self.split_ids[split];
        format!("{MODELS}/{}-{split}-{nodes}.safetensors", configuration.id())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunKey, MemberRun>> {
        self.runs.lock().expect("no code panics while holding the lock")
    }

    /// Writes the model of a run to its file and, up to [`MAX_BYTES`], keeps its predictions in memory.
    pub fn put(
        &self,
        configuration: &Configuration,
        split: usize,
        model: &TrainedModel,
        (outcome, seconds): (Outcome, f64),
    ) -> Result<()> {
        model.save(&self.path(configuration, split))?;
        let training = TrainingHistory {
            epochs: outcome.history,
            filters: outcome.filters,
            best_epoch: outcome.best.epoch,
            filter: outcome.filter,
            seconds,
        };
        let (probabilities, training) = (Arc::new(outcome.probabilities), Some(Arc::new(training)));
        let mut runs = self.lock();
        let bytes: usize = runs.values().map(|run| size_of_val(run.probabilities.as_slice())).sum();
        if bytes < MAX_BYTES {
            runs.insert((configuration.id(), split), MemberRun { probabilities, training });
        }
        Ok(())
    }

    /// The run, with predictions from memory or computed from its model file; `None` if the model cannot be read or
    /// does not match the graph.
    pub fn get(
        &self,
        configuration: &Configuration,
        split: usize,
        threads: usize,
    ) -> Option<MemberRun> {
        let key = (configuration.id(), split);
        if let Some(run) = self.lock().get(&key) {
            return Some(run.clone());
        }
        let model = self.model(configuration, split)?;
        let probabilities = Arc::new(model.predict(&self.dataset, threads).ok()?);
        let run = MemberRun { probabilities, training: None };
        self.lock().insert(key, run.clone());
        Some(run)
    }

    /// The trained model of a run; `None` if its file is missing or cannot be read.
    pub fn model(&self, configuration: &Configuration, split: usize) -> Option<TrainedModel> {
        TrainedModel::load(&self.path(configuration, split)).ok()
    }

    /// Deletes the model files of these configurations for all splits. Files that cannot be deleted are kept.
    pub fn remove<'a>(&self, configurations: impl IntoIterator<Item = &'a Configuration>) {
        for configuration in configurations {
            for split in 0..self.split_ids.len() {
                // The files only save time.
                let _ = fs::remove_file(self.path(configuration, split));
            }
        }
    }
}
