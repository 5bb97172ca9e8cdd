//! A trained model with everything that a prediction needs, in one file.

use super::record::record_batch;
use super::{PrecomputeOptions, Setup, read_weights, weights, write_weights};
use crate::data::read::Interpretation;
use crate::data::{self, Dataset, Scaler, Schema, Store};
use crate::error::{Error, Result};
use crate::files::{self, write_atomically};
use crate::filter::Response;
use crate::hyper::Params;
use crate::model::{self, ModelInfo};
use crate::tensor::{Mat, Param};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Weights, hyper-parameters, columns of the node table, scaling and classes of a trained model.
///
/// ```
/// use clenshaw::{data, model, train::{ModelProvenance, Setup, TrainedModel}};
/// let info = model::find("gcn")?;
/// let setup = Setup::new(data::load("csbm:nodes=60")?, info, info.defaults())?;
/// let untrained = TrainedModel::new(&setup, &setup.initial_params(0), ModelProvenance::default());
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
    /// The model of a setup with these parameters.
    pub fn new(setup: &Setup, params: &[f32], provenance: ModelProvenance) -> Self {
        let dataset = setup.dataset();
        Self {
            info: setup.info(),
            hp: setup.hp().clone(),
            weights: setup.named_params(params),
            n_features: dataset.x.n_cols(),
            scaler: setup.scaler().clone(),
            schema: dataset.schema.clone(),
            class_names: dataset.class_names.clone(),
            provenance,
        }
    }

    /// The definition of the model.
    pub fn info(&self) -> &'static ModelInfo {
        self.info
    }

    /// The hyper-parameters.
    pub fn hp(&self) -> &Params {
        &self.hp
    }

    /// The names of the classes, in the order of the columns of a prediction.
    pub fn class_names(&self) -> &[String] {
        &self.class_names
    }

    /// Its parameters by name.
    pub fn weights(&self) -> &[(String, Mat<f32>)] {
        &self.weights
    }

    /// The same model with other values of its parameters.
    ///
    /// # Errors
    /// If a parameter is missing, unknown or of another shape, or a value is not finite.
    pub fn with_weights(&self, weights: Vec<(String, Mat<f32>)>) -> Result<Self> {
        let bad = |problem| Error::Data { place: self.info.title.into(), problem };
        let known = self.weights.iter().map(|(name, _)| name.as_str());
        if let Some((name, _)) = weights.iter().find(|(name, _)| !known.clone().any(|k| k == name))
        {
            return Err(Error::unknown("parameter", name, known));
        }
        let replace = |(name, old): &(String, Mat<f32>)| {
            let new = weights.iter().find(|(other, _)| other == name);
            let (_, new) = new.ok_or_else(|| bad(format!("no parameter `{name}`")))?;
            if (new.rows(), new.cols()) != (old.rows(), old.cols()) {
                let (rows, cols) = (new.rows(), new.cols());
                return Err(bad(format!(
                    "`{name}` is {rows} x {cols}; expected {} x {}",
                    old.rows(),
                    old.cols()
                )));
            }
            if let Some(value) = new.as_slice().iter().find(|value| !value.is_finite()) {
                return Err(bad(format!("`{name}` contains {value}; expected finite numbers")));
            }
            Ok((name.clone(), new.clone()))
        };
        let weights = self.weights.iter().map(replace).collect::<Result<_>>()?;
        Ok(Self { weights, ..self.clone() })
    }

    /// The number of features it was trained with.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The scaling of its features.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// The columns of the table it was trained with, if there was one.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// How the model was trained.
    pub fn provenance(&self) -> &ModelProvenance {
        &self.provenance
    }

    /// Loads a graph for prediction: the columns of a node table are matched by name with those of the
    /// training table, and labels are optional. Missing columns are filled, which the
    /// warnings of the data set report. Fails if the graph is unknown, or its files are missing or invalid.
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
    /// If the number or the names of the features differ from those of the training graph, if a feature is not
    /// finite, if the model cannot be applied to another graph, or if it needs more memory than there is.
    pub fn predict(&self, dataset: &Dataset, threads: usize) -> Result<Mat<f32>> {
        self.predict_precomputing(dataset, threads, &PrecomputeOptions::default())
    }

    /// [`TrainedModel::predict`], with options for models with a precomputed filter.
    ///
    /// # Errors
    /// As [`TrainedModel::predict`] and [`Setup::precomputing`].
    pub fn predict_precomputing(
        &self,
        dataset: &Dataset,
        threads: usize,
        options: &PrecomputeOptions<'_>,
    ) -> Result<Mat<f32>> {
        let setup = self.setup_with(dataset, options)?;
        let params = setup.params_from("the trained model", &self.weights)?;
        setup.predict(&params, threads)
    }

    /// Returns the score of every class for every node, `[n, C]`: the logarithms of the probabilities, up
    /// to a constant per node.
    ///
    /// # Errors
    /// As [`TrainedModel::predict`].
    pub fn scores(&self, dataset: &Dataset, threads: usize) -> Result<Mat<f32>> {
        let setup = self.setup(dataset)?;
        let params = setup.params_from("the trained model", &self.weights)?;
        setup.scores(&params, threads)
    }

    /// Returns the hidden representation of every node, see [`Setup::hidden`]; `None` if the model marks none.
    ///
    /// # Errors
    /// As [`TrainedModel::predict`].
    pub fn hidden(&self, dataset: &Dataset) -> Result<Option<Mat<f32>>> {
        let setup = self.setup(dataset)?;
        let params = setup.params_from("the trained model", &self.weights)?;
        setup.hidden(&params)
    }

    /// Returns the learned filter; `None` if the model has none. For models whose filter depends on the
    /// features, it is the one for this graph.
    ///
    /// # Errors
    /// As [`TrainedModel::predict`].
    pub fn filter(&self, dataset: &Dataset) -> Result<Option<Response>> {
        if self.info.precomputed_terms(&self.hp).is_some() {
            self.check(dataset)?;
            return self.filter_of_weights();
        }
        let setup = self.setup(dataset)?;
        let params = setup.params_from("the trained model", &self.weights)?;
        setup.filter(&params)
    }

    /// The filter of a model with a precomputed filter. It depends on the weights alone, so nothing is computed from
    /// the features.
    fn filter_of_weights(&self) -> Result<Option<Response>> {
        let (net, _) =
            record_batch(self.info, &self.hp, (1, self.n_features), self.class_names.len())?;
        let found = |param: &Param| self.weights.iter().find(|(name, _)| *name == param.name);
        for param in net.params() {
            let shape = found(param).map(|(_, m)| (m.rows(), m.cols()));
            if shape != Some((param.rows, param.cols)) {
                let (name, rows, cols) = (&param.name, param.rows, param.cols);
                let problem = format!("expected a parameter `{name}` of {rows} x {cols}");
                return Err(Error::Data { place: "the trained model".into(), problem });
            }
        }
        let weights = |name: &str| {
            let param = self.weights.iter().find(|(other, _)| other == name);
            param.map(|(_, m)| m.cast()).expect("a filter reads parameters of its model")
        };
        Ok(self.info.filter.map(|filter| filter(&weights, &self.hp)))
    }

    /// Compiles the model for a graph, whose labels are not used.
    fn setup(&self, dataset: &Dataset) -> Result<Setup> {
        self.setup_with(dataset, &PrecomputeOptions::default())
    }

    /// [`TrainedModel::setup`], with options for models with a precomputed filter.
    fn setup_with(&self, dataset: &Dataset, options: &PrecomputeOptions<'_>) -> Result<Setup> {
        self.check(dataset)?;
        let dataset = Dataset {
            y: vec![None; dataset.y.len()],
            class_names: self.class_names.clone(),
            ..dataset.clone()
        };
        let (hp, scaler) = (self.hp.clone(), self.scaler.clone());
        Setup::with_options(Arc::new(dataset), self.info, hp, scaler, options)
    }

    /// Returns an error if the model cannot be applied to this graph.
    pub(super) fn check(&self, dataset: &Dataset) -> Result<()> {
        let bad = |problem| Error::Data { place: dataset.name.clone(), problem };
        let names = |schema: &Option<Schema>| schema.as_ref().map(Schema::feature_names);
        let n = dataset.x.n_cols();
        if !self.info.inductive && dataset.sha256() != self.provenance.data_sha256 {
            let title = self.info.title;
            return Err(bad(format!(
                "{title} has weights or a basis for each node, so it can only predict the nodes of its own graph"
            )));
        }
        if n != self.n_features {
            let expected = self.n_features;
            return Err(bad(format!("{n} features, but the model was trained with {expected}")));
        }
        if let (Some(found), Some(expected)) = (names(&dataset.schema), names(&self.schema))
            // Features that are computed from the graph have no names.
            && let Some((i, (found, expected))) =
                found.iter().zip(&expected).enumerate().find(|(_, (found, expected))| found != expected)
        {
            return Err(bad(format!(
                "feature {} is `{found}`, but `{expected}` in training; use the original tables, \
                 whose columns are matched by name",
                i + 1
            )));
        }
        if let Some((node, column, value)) = dataset.x.first_non_finite() {
            let problem =
                format!("node {node}, feature {column} is {value}; expected a finite number");
            return Err(bad(problem));
        }
        Ok(())
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

    /// Writes a model file. Fails if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_atomically(path, [&self.to_bytes()[..]])
    }

    /// Reads a model file. Fails if it cannot be read, and as [`TrainedModel::from_bytes`].
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = files::read(path)?;
        Self::from_bytes(&path.display().to_string(), &bytes)
    }

    /// Reads the bytes of a model file; `place` names it in errors. Fails if the file is damaged or this version
    /// does not have the model or a hyper-parameter.
    pub fn from_bytes(place: &str, bytes: &[u8]) -> Result<Self> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let file = read_weights(place, bytes)?;
        let metadata: ModelMetadata = serde_json::from_str(&file.metadata)
            .map_err(|error| bad(format!("not a trained model of this version: {error}")))?;
        let stored = metadata.sha256.clone();
        let metadata = ModelMetadata { sha256: String::new(), ..metadata };
        // A fuzzer cannot find valid checksums.
        if !cfg!(fuzzing) && digest(&metadata, &file.tensors) != stored {
            return Err(bad("the checksum is wrong; the file is damaged".into()));
        }
        let info = model::find(&metadata.model).map_err(|error| error.with_place(place))?;
        let mut hp = info.defaults();
        for (key, value) in &metadata.hyper {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            hp.set(key, &text).map_err(|error| error.with_place(place))?;
        }
        if let Scaler::Columns { mean, std } = &metadata.scaler
            && [mean.len(), std.len()] != [metadata.features; 2]
        {
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
    let matrices = weights.iter().map(|(name, m)| (name.as_str(), m.rows(), m.as_slice()));
    weights::digest(&to_json(metadata), matrices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SplitKind;
    use crate::train::Fit;

    fn train(graph: &str) -> (TrainedModel, Mat<f32>) {
        let info = model::find("clenshaw-gcn").unwrap();
        let mut hp = info.defaults();
        hp.set("scaling", "standard").unwrap();
        hp.set("max_epochs", "5").unwrap();
        let dataset = Arc::new(data::load(graph).unwrap());
        let split = SplitKind::Stratified.draw(&dataset, 0).unwrap();
        let setup = Arc::new(Setup::new(dataset, info, hp).unwrap());
        let mut fit = Fit::new(setup.clone(), &split, 0, 1).unwrap();
        fit.run_to_end().unwrap();
        let outcome = fit.outcome().unwrap();
        let model = TrainedModel::new(&setup, &outcome.weights, ModelProvenance::default());
        (model, outcome.probabilities)
    }

    #[test]
    fn a_saved_model_gives_the_probabilities_of_training() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        let (model, probabilities) = train("csbm:nodes=80");
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
        let (model, _) = train("csbm:nodes=80");
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
    fn damaged_files_are_rejected() {
        let bytes = train("csbm:nodes=60").0.to_bytes();
        for i in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1;
            assert!(TrainedModel::from_bytes("x", &damaged).is_err(), "byte {i}");
        }
    }

    #[test]
    fn models_with_weights_per_node_reject_other_graphs() {
        let info = model::find("linkx").unwrap();
        let data = data::load("csbm:nodes=60").unwrap();
        let provenance =
            ModelProvenance { data_sha256: data.sha256(), ..ModelProvenance::default() };
        let setup = Setup::new(data.clone(), info, info.defaults()).unwrap();
        let model = TrainedModel::new(&setup, &setup.initial_params(0), provenance);
        assert!(model.predict(&data, 1).is_ok());
        let other = data::load("csbm:nodes=60,seed=1").unwrap();
        let error = model.predict(&other, 1).unwrap_err().to_string();
        assert!(error.ends_with("it can only predict the nodes of its own graph"), "{error}");
    }

    #[test]
    fn graphs_with_other_features_are_rejected() {
        let (model, _) = train("csbm:nodes=60,features=7");
        let error =
            model.predict(&data::load("csbm:nodes=60").unwrap(), 1).unwrap_err().to_string();
        assert!(error.ends_with("features, but the model was trained with 7"), "{error}");
    }
}
