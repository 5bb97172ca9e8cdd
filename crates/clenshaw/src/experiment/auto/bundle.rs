//! An ensemble of trained models in a folder, which `predict` applies like a single model.
//!
//! ```text
//! p = softmax( ln( sum_i w_i p_i ) / T )           w_i: weights, divided by their sum; T: temperature
//!
//! <folder>/ensemble.json        {"graph": .., "temperature": .., "members": [{"weight": .., "file": ..}]}
//! <folder>/models/*.safetensors
//! ```
//!
//! Members of the same configuration were trained on different validation splits.

use super::ensemble::weighted_mean;
use super::temperature;
use crate::data::{Dataset, Store};
use crate::error::{Error, Result};
use crate::experiment::Predictions;
use crate::experiment::folder::json;
use crate::files::{self, write_atomically};
use crate::tensor::Mat;
use crate::train::TrainedModel;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// The name of the file that describes the ensemble.
const FILE: &str = "ensemble.json";

/// Trained models with weights, and the temperature of their mean prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelEnsemble {
    /// The version of the library that wrote it.
    pub version: String,
    /// The graph it was trained on, in command-line syntax.
    pub graph: String,
    /// The temperature of the mean prediction.
    pub temperature: f64,
    /// The members; at least one.
    pub members: Vec<EnsembleMember>,
}

/// A member of an ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnsembleMember {
    /// Its share of the mean.
    pub weight: f64,
    /// Its configuration, see [`ConfigurationRow::title`](super::ConfigurationRow::title).
    pub configuration: String,
    /// The path of its model file, relative to the folder of the ensemble.
    pub file: String,
}

impl ModelEnsemble {
    /// Writes `ensemble.json` to a folder.
    pub fn save(&self, folder: &Path) -> Result<()> {
        write_atomically(&folder.join(FILE), [&json(self)[..]])
    }

    /// Reads `ensemble.json` from a folder; `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid.
    pub fn load(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        match files::read_text(&path) {
            Ok(text) => Self::from_json(&path.display().to_string(), &text).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Parses the contents of `ensemble.json`; errors refer to it as `place`.
    pub(in crate::experiment) fn from_json(place: &str, text: &str) -> Result<Self> {
        let bad = |problem: String| Error::Data { place: place.into(), problem };
        let ensemble: Self =
            serde_json::from_str(text).map_err(|error| bad(format!("not an ensemble: {error}")))?;
        let weights = || ensemble.members.iter().map(|member| member.weight);
        let is_inside = |member: &EnsembleMember| {
            let path = Path::new(&member.file);
            path.components().all(|part| matches!(part, Component::Normal(_)))
        };
        if !(ensemble.temperature.is_finite() && ensemble.temperature > 0.0) {
            return Err(bad("the temperature is not a positive number".into()));
        }
        if ensemble.members.is_empty() || !weights().all(|w| w.is_finite() && w > 0.0) {
            return Err(bad("expected at least one member, with positive weights".into()));
        }
        if !ensemble.members.iter().all(is_inside) {
            return Err(bad("a model file is outside of this folder".into()));
        }
        Ok(ensemble)
    }

    /// Applies the ensemble, whose models are in `folder`, to `graph` or, without it, to the graph it was trained
    /// on.
    ///
    /// # Errors
    /// If a model or the graph cannot be loaded, or a model does not match the graph.
    pub fn predict(
        &self,
        folder: &Path,
        store: &Store,
        graph: Option<&str>,
        threads: usize,
    ) -> Result<Predictions> {
        let load = |member: &EnsembleMember| {
            Ok((member.weight, TrainedModel::load(&folder.join(&member.file))?))
        };
        let models: Vec<(f64, TrainedModel)> =
            self.members.iter().map(load).collect::<Result<_>>()?;
        let first = &models[0].1;
        let dataset = first.load_graph(store, graph.unwrap_or(&self.graph))?;
        let probabilities = self.combine(&models, &dataset, threads)?;
        let dataset = Dataset { class_names: first.class_names().to_vec(), ..dataset };
        Ok(Predictions::new(&dataset, None, probabilities))
    }

    /// The weighted mean of the models' predictions, with the temperature applied.
    fn combine(
        &self,
        models: &[(f64, TrainedModel)],
        dataset: &Dataset,
        threads: usize,
    ) -> Result<Mat<f32>> {
        let predict =
            |(weight, model): &(f64, TrainedModel)| Ok((*weight, model.predict(dataset, threads)?));
        let predictions: Vec<(f64, Mat<f32>)> =
            models.iter().map(predict).collect::<Result<_>>()?;
        let mean = weighted_mean(predictions.iter().map(|(weight, p)| (*weight, p)));
        Ok(temperature::scaled(&mean, self.temperature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_the_folder_and_invalid_numbers_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let member = EnsembleMember {
            weight: 1.0,
            configuration: "gcn-cora".into(),
            file: "models/a.safetensors".into(),
        };
        let ensemble = ModelEnsemble {
            version: "0".into(),
            graph: "csbm".into(),
            temperature: 1.5,
            members: vec![member.clone()],
        };
        assert_eq!(ModelEnsemble::load(folder.path()).unwrap(), None);
        ensemble.save(folder.path()).unwrap();
        assert_eq!(ModelEnsemble::load(folder.path()).unwrap().unwrap(), ensemble);
        let error = |changed: ModelEnsemble| {
            changed.save(folder.path()).unwrap();
            ModelEnsemble::load(folder.path()).unwrap_err().to_string()
        };
        let with =
            |member: EnsembleMember| ModelEnsemble { members: vec![member], ..ensemble.clone() };
        for file in ["../a.safetensors", "/etc/passwd"] {
            let outside = with(EnsembleMember { file: file.into(), ..member.clone() });
            assert!(error(outside).ends_with("a model file is outside of this folder"));
        }
        let weightless = with(EnsembleMember { weight: 0.0, ..member });
        assert!(error(weightless).ends_with("expected at least one member, with positive weights"));
        let cold = ModelEnsemble { temperature: 0.0, ..ensemble.clone() };
        assert!(error(cold).ends_with("the temperature is not a positive number"));
    }
}
