//! A trained model with everything that a prediction needs, in one file.

use super::{Setup, read_weights, write_weights};
use crate::data::read::Interpretation;
use crate::data::{self, Dataset, Scaler, Schema, Store};
use crate::error::{Error, Result};
use crate::files::write_atomically;
use crate::hyper::Params;
use crate::model::{self, ModelInfo};
use crate::tensor::Mat;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Weights, hyper-parameters, columns of the node table, scaling and classes of a trained model.
///
/// ```
/// use clenshaw::{data, model, train::{ModelProvenance, Setup, TrainedModel}};
/// let info = model::find("gcn")?;
/// let setup = Setup::new(data::load("csbm:nodes=60")?, info, info.defaults())?;
/// let untrained = TrainedModel::new(&setup, &setup.initial(0), ModelProvenance::default());
/// let bytes = untrained.to_bytes();
/// let model = TrainedModel::from_bytes("model", &bytes)?;
/// let other = data::load("csbm:nodes=90,seed=1")?;
/// assert_eq!(model.predict(&other, 1)?.rows(), 90);
/// # Ok::<(), clenshaw::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrainedModel {
    info: &'static ModelInfo,
    hp: Params,
    weights: Vec<(String, Mat<f32>)>,
    n_features: usize,
    scaler: Scaler,
    schema: Option<Schema>,
    class_names: Vec<String>,
    provenance: ModelProvenance,
}

/// How a model was trained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelProvenance {
    /// The graph, in command-line syntax.
    pub graph: String,
    /// The digest of graph, features and labels.
    pub data_sha256: String,
    /// The split, with its sizes.
    pub split: String,
    /// The seed of the run.
    pub seed: u64,
    /// The version of this library.
    pub version: String,
}

/// The metadata of a model file.
#[derive(Serialize, Deserialize)]
struct ModelMetadata {
    model: String,
    hyper: serde_json::Map<String, serde_json::Value>,
    features: usize,
    scaler: Scaler,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Schema>,
    classes: Vec<String>,
    #[serde(flatten)]
    provenance: ModelProvenance,
    /// The digest of the weights and of this metadata with an empty digest.
    sha256: String,
}

impl TrainedModel {
    /// A model with these parameters of a setup.
    pub fn new(setup: &Setup, params: &[f32], provenance: ModelProvenance) -> Self {
        let dataset = setup.dataset();
        Self {
            info: setup.info(),
            hp: setup.hp().clone(),
            weights: setup.named(params),
            n_features: dataset.x.n_cols(),
            scaler: setup.scaler().clone(),
            schema: dataset.schema.clone(),
            class_names: dataset.class_names.clone(),
            provenance,
        }
    }

    /// The model.
    pub fn info(&self) -> &'static ModelInfo {
        self.info
    }

    /// Its hyper-parameters.
    pub fn hp(&self) -> &Params {
        &self.hp
    }

    /// Its classes.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// How it was trained.
    pub fn provenance(&self) -> &ModelProvenance {
        &self.provenance
    }

    /// Loads a graph to predict: the columns of a node table are matched by name with those of the
    /// training table, and labels are optional.
    pub fn load_graph(&self, store: &Store, text: &str) -> Result<Dataset> {
        // Formats without a node table, such as `.npz`, do not use the schema.
        let no_columns = Schema { columns: vec![], structural: None, weight: None };
        let schema = self.schema.as_ref().unwrap_or(&no_columns);
        let class_names = &self.class_names;
        data::load_as(store, text, Interpretation::Stored { schema, class_names })
    }

    /// Returns the probability of every class for every node of a graph, `[n, C]`.
    ///
    /// # Errors
    /// If the graph has other features than the training graph, or the model cannot be applied to
    /// another graph.
    pub fn predict(&self, dataset: &Dataset, threads: usize) -> Result<Mat<f32>> {
        let setup = self.setup(dataset)?;
        let params = setup.params_from("the trained model", &self.weights)?;
        Ok(setup.predict(&params, threads))
    }

    /// The model for a graph; its labels are not used.
    fn setup(&self, dataset: &Dataset) -> Result<Setup> {
        let bad = |problem| Error::Data { place: dataset.name.clone(), problem };
        let names = |schema: &Option<Schema>| schema.as_ref().map(Schema::feature_names);
        let n = dataset.x.n_cols();
        if !self.info.inductive && dataset.sha256() != self.provenance.data_sha256 {
            let title = self.info.title;
            return Err(bad(format!(
                "{title} has weights for each node, so it can only predict the nodes of its own graph"
            )));
        }
        if n != self.n_features {
            let expected = self.n_features;
            return Err(bad(format!("{n} features, but the model was trained with {expected}")));
        }
        if let (Some(found), Some(expected)) = (names(&dataset.schema), names(&self.schema))
            && let Some(at) =
                found.iter().zip(&expected).position(|(found, expected)| found != expected)
        {
            let (found, expected) = (&found[at], &expected[at]);
            return Err(bad(format!(
                "feature {} is `{found}`, but `{expected}` in training; use the original tables, \
                 whose columns are matched by name",
                at + 1
            )));
        }
        if let Some((node, column, value)) = dataset.x.first_non_finite() {
            let problem =
                format!("node {node}, feature {column} is {value}; expected a finite number");
            return Err(bad(problem));
        }
        let dataset = Dataset {
            y: vec![None; dataset.y.len()],
            class_names: self.class_names.clone(),
            ..dataset.clone()
        };
        Setup::with_scaler(Arc::new(dataset), self.info, self.hp.clone(), self.scaler.clone())
    }

    /// The bytes of a safetensors file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let hyper = serde_json::to_value(&self.hp).expect("numbers and words only");
        let metadata = ModelMetadata {
            model: self.info.name.into(),
            hyper: hyper.as_object().cloned().unwrap_or_default(),
            features: self.n_features,
            scaler: self.scaler.clone(),
            schema: self.schema.clone(),
            classes: self.class_names.clone(),
            provenance: self.provenance.clone(),
            sha256: String::new(),
        };
        let sha256 = digest(&metadata, &self.weights);
        let metadata = ModelMetadata { sha256, ..metadata };
        write_weights(&self.weights, &to_json(&metadata))
    }

    /// Writes a model file.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_atomically(path, [&self.to_bytes()[..]])
    }

    /// Reads a model file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        Self::from_bytes(&path.display().to_string(), &bytes)
    }

    /// Reads the bytes of a model file; errors refer to it as `place`.
    pub fn from_bytes(place: &str, bytes: &[u8]) -> Result<Self> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let file = read_weights(place, bytes)?;
        let metadata: ModelMetadata = serde_json::from_str(&file.metadata)
            .map_err(|error| bad(format!("not a trained model of this version: {error}")))?;
        let stored = metadata.sha256.clone();
        let metadata = ModelMetadata { sha256: String::new(), ..metadata };
        if digest(&metadata, &file.tensors) != stored {
            return Err(bad("the checksum is wrong; the file is damaged".into()));
        }
        let info = model::find(&metadata.model).map_err(|error| error.within(place))?;
        let mut hp = info.defaults();
        for (key, value) in &metadata.hyper {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            hp.set(key, &text).map_err(|error| error.within(place))?;
        }
        let is_for = |n: usize| match &metadata.scaler {
            Scaler::Columns { mean, std } => mean.len() == n && std.len() == n,
            _ => true,
        };
        if !is_for(metadata.features) {
            return Err(bad("the scaling is for another number of features".into()));
        }
        Ok(Self {
            info,
            hp,
            weights: file.tensors,
            n_features: metadata.features,
            scaler: metadata.scaler,
            schema: metadata.schema,
            class_names: metadata.classes,
            provenance: metadata.provenance,
        })
    }
}

fn to_json(metadata: &ModelMetadata) -> String {
    serde_json::to_string(metadata).expect("text and finite numbers only")
}

/// The SHA-256 of metadata and weights, in hexadecimal.
fn digest(metadata: &ModelMetadata, weights: &[(String, Mat<f32>)]) -> String {
    let mut sha256 = Sha256::new();
    sha256.update(to_json(metadata));
    let mut weights: Vec<&(String, Mat<f32>)> = weights.iter().collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, matrix) in weights {
        sha256.update(format!("\0{name}\0{} {}\0", matrix.rows(), matrix.cols()));
        matrix.as_slice().iter().for_each(|value| sha256.update(value.to_le_bytes()));
    }
    sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SplitKind;
    use crate::train::Fit;

    fn trained(graph: &str) -> (TrainedModel, Mat<f32>) {
        let info = model::find("clenshaw-gcn").unwrap();
        let mut hp = info.defaults();
        hp.set("scaling", "standard").unwrap();
        hp.set("max_epochs", "5").unwrap();
        let dataset = Arc::new(data::load(graph).unwrap());
        let split = SplitKind::Stratified.draw(&dataset, 0).unwrap();
        let setup = Arc::new(Setup::new(dataset, info, hp).unwrap());
        let mut fit = Fit::new(setup.clone(), &split, 0, 1).unwrap();
        fit.run_to_end().unwrap();
        let outcome = fit.outcome();
        let model = TrainedModel::new(&setup, &outcome.weights, ModelProvenance::default());
        (model, outcome.probabilities)
    }

    #[test]
    fn a_saved_model_gives_the_probabilities_of_training() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let (model, probabilities) = trained("csbm:nodes=80");
        model.save(&path).unwrap();
        let loaded = TrainedModel::load(&path).unwrap();
        assert_eq!(
            loaded.predict(&data::load("csbm:nodes=80").unwrap(), 2).unwrap(),
            probabilities
        );
    }

    #[test]
    fn scaling_is_not_fitted_again_and_features_must_be_finite() {
        // On a single node, standardised features would all be zero.
        let (model, _) = trained("csbm:nodes=80");
        let dataset = data::load("csbm:nodes=80").unwrap();
        let graph = crate::graph::Graph::from_edges("one", 1, &[]).unwrap();
        let row = |shift: f32| -> Vec<f32> {
            dataset.x.to_dense().row(0).iter().map(|value| value + shift).collect()
        };
        let one = |values: Vec<f32>| {
            let x = crate::data::Features::Dense(Mat::from_vec(1, values.len(), values));
            Dataset::new("one", graph.clone(), x, vec![None], dataset.class_names.clone())
        };
        let error = model.predict(&one(row(f32::NAN)), 1).unwrap_err().to_string();
        assert_eq!(error, "one: node 0, feature 0 is NaN; expected a finite number");
        let near = model.predict(&one(row(0.0)), 1).unwrap();
        assert_ne!(near, model.predict(&one(row(3.0)), 1).unwrap());
    }

    #[test]
    fn every_damaged_bit_is_found() {
        let bytes = trained("csbm:nodes=60").0.to_bytes();
        for at in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(TrainedModel::from_bytes("x", &damaged).is_err(), "byte {at}");
        }
    }

    #[test]
    fn models_with_weights_per_node_are_for_their_own_graph() {
        let info = model::find("linkx").unwrap();
        let data = data::load("csbm:nodes=60").unwrap();
        let provenance =
            ModelProvenance { data_sha256: data.sha256(), ..ModelProvenance::default() };
        let setup = Setup::new(data.clone(), info, info.defaults()).unwrap();
        let model = TrainedModel::new(&setup, &setup.initial(0), provenance);
        assert!(model.predict(&data, 1).is_ok());
        let other = data::load("csbm:nodes=60,seed=1").unwrap();
        let error = model.predict(&other, 1).unwrap_err().to_string();
        assert!(error.ends_with("it can only predict the nodes of its own graph"), "{error}");
    }

    #[test]
    fn graphs_with_other_features_are_rejected() {
        let (model, _) = trained("csbm:nodes=60,features=7");
        let error =
            model.predict(&data::load("csbm:nodes=60").unwrap(), 1).unwrap_err().to_string();
        assert!(error.ends_with("features, but the model was trained with 7"), "{error}");
    }
}
