//! The learned filter beside the spectrum of the graph and the frequencies of the signals on it.

use crate::data::Dataset;
use crate::experiment::TrainingProgress;
use crate::filter::{Basis, Filter, Response};
use crate::graph::{Normalisation, operator, signal_energy, spectral_density};
use crate::model::{ModelFamily, ModelInfo};
use crate::report::Histogram;
use crate::rng::Stream;
use crate::tensor::{Mat, Operator};
use crate::train::{EpochFilter, TrainedModel};
use serde::Serialize;

/// The number of points of a response.
const POINTS: usize = 201;
/// The number of intervals of the spectral density.
const DENSITY_BINS: usize = 80;
/// The number of frequency bands of the signals' energy.
const BANDS: usize = 10;
/// With at least this share of the eigenvalues, a frequency counts as present in the graph.
const PRESENT_EIGENVALUES: f64 = 0.005;
/// With at least this share of the energy of the labels or the features, a frequency counts as present as well.
const PRESENT_ENERGY: f64 = 0.02;
/// The page shows at most this number of the filters recorded during a run.
const MAX_FILTERS: usize = 60;
/// The energy of the features is estimated from this number of random combinations of them.
const PROJECTIONS: usize = 16;

/// What the page shows about the filter of a run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FilterReport {
    /// The frequencies at which responses are sampled.
    mu: Vec<f64>,
    /// The response of the trained model, the mean if there are several channels; `None` for models without a
    /// filter.
    pub(super) response: Option<Vec<f64>>,
    /// The first recorded response: that before training or, in runs of early versions, after the first epoch.
    pub(super) initial: Option<Vec<f64>>,
    /// `None` if the filter is not a single polynomial.
    pub(super) coefficients: Option<Vec<f64>>,
    pub(super) basis: Option<String>,
    /// See [`Response::n_channels`].
    channels: usize,
    history: Option<FilterHistory>,
    /// The spectral density of the graph; `None` if it is not known.
    density: Option<Density>,
    /// `None` if it is not computed, or a signal is constant.
    pub(super) energy: Option<BandEnergy>,
    /// A remark on how to read the charts; `None` if none is needed.
    note: Option<String>,
}

/// The filter before training and after some of the epochs, as far as it is recorded.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FilterHistory {
    epochs: Vec<usize>,
    responses: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
}

/// The spectral density of an operator.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Density {
    /// The share of eigenvalues in each of equally wide bins over [-1, 1].
    shares: Vec<f64>,
    /// Whether all eigenvalues were computed; otherwise the shares are estimates.
    exact: bool,
}

/// The share of each signal's energy in bands of equal width from mu = -1 to mu = 1.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BandEnergy {
    /// The borders of the bands, one more than there are bands.
    pub(super) edges: Vec<f64>,
    pub(super) labels: Vec<f64>,
    pub(super) features: Vec<f64>,
    pub(super) predictions: Vec<f64>,
}

impl FilterReport {
    pub fn new(
        response: Option<&Response>,
        filters: &[EpochFilter],
        model: &TrainedModel,
        dataset: &Dataset,
        probabilities: &Mat<f32>,
    ) -> Self {
        let kind = model.info().operator.unwrap_or(Normalisation::Looped);
        let p = operator(&dataset.graph, kind);
        let values = |response: &Response| -> Vec<f64> {
            response.sample(POINTS).into_iter().map(|(_, value)| value).collect()
        };
        let shared = match response {
            Some(Response::Shared(filter)) => Some(filter),
            _ => None,
        };
        let history = shared.and_then(|filter| FilterHistory::new(filter, filters));
        Self {
            mu: frequencies(),
            response: response.map(values),
            initial: history.as_ref().and_then(|history| history.responses.first().cloned()),
            coefficients: shared.map(|filter| filter.coefficients.clone()),
            basis: shared.map(|filter| basis_name(&filter.basis)),
            channels: response.map_or(1, Response::n_channels),
            history,
            density: Some(Density::of(&p)),
            energy: BandEnergy::new(&p, model, dataset, probabilities),
            note: note(model, dataset),
        }
    }

    /// The points of a response between the lowest and the highest bin with eigenvalues; elsewhere it has no
    /// effect. All points if the density is not known.
    pub fn on_spectrum(&self, response: &[f64]) -> Vec<(f64, f64)> {
        let bins = self.histogram().bins;
        let low = bins.first().map_or(-1.0, |bin| bin.0);
        let high = bins.last().map_or(1.0, |bin| bin.1);
        let points = self.mu.iter().copied().zip(response.iter().copied());
        points.filter(|(mu, _)| (low..=high).contains(mu)).collect()
    }

    /// Whether training has changed the filter by more than the rounding of recorded responses; `false` if the
    /// initial filter is unknown.
    pub fn is_learned(&self) -> bool {
        let (Some(initial), Some(response)) = (&self.initial, &self.response) else { return false };
        initial.iter().zip(response).any(|(a, b)| (a - b).abs() >= 2e-4)
    }

    /// The points of a response between the lowest and the highest bin that counts as present in the graph, and
    /// the largest absolute value there. Of the bins with eigenvalues, those count that have a sufficient share
    /// of the eigenvalues or of the energy of labels or features, as in `report/html/microscope.js`; all of them
    /// if none has.
    pub fn where_present(&self, response: &[f64]) -> (Vec<(f64, f64)>, f64) {
        let has_energy = |shares: &[f64], mu: f64| {
            let band = ((mu + 1.0) / 2.0 * BANDS as f64) as usize;
            shares.get(band).is_some_and(|share| *share >= PRESENT_ENERGY)
        };
        let is_present = |&&(low, high, share): &&(f64, f64, f64)| {
            let mu = (low + high) / 2.0;
            let energy = self.energy.as_ref();
            let in_energy =
                energy.is_some_and(|e| has_energy(&e.labels, mu) || has_energy(&e.features, mu));
            share >= PRESENT_EIGENVALUES || in_energy
        };
        let all = self.histogram().bins;
        let present: Vec<_> = all.iter().filter(is_present).copied().collect();
        let present = if present.is_empty() { all } else { present };
        let low = present.first().map_or(-1.0, |bin| bin.0);
        let high = present.last().map_or(1.0, |bin| bin.1);
        let points = self.mu.iter().copied().zip(response.iter().copied());
        let points: Vec<(f64, f64)> = points.filter(|(mu, _)| (low..=high).contains(mu)).collect();
        let largest = points.iter().fold(0f64, |largest, point| largest.max(point.1.abs()));
        (points, largest)
    }

    /// The bins of the density with eigenvalues; empty if the density is not known.
    pub fn histogram(&self) -> Histogram {
        let Some(density) = &self.density else {
            return Histogram { name: "eigenvalues".into(), bins: vec![] };
        };
        let step = 2.0 / density.shares.len() as f64;
        // The estimated density of an empty bin is not exactly zero.
        let least = if density.exact { 0.0 } else { 1e-4 };
        let bin = |(i, share): (usize, &f64)| {
            let low = i as f64 * step - 1.0;
            (low, low + step, *share)
        };
        let bins = density.shares.iter().enumerate().map(bin);
        let bins = bins.filter(|bin| bin.2 > least).collect();
        Histogram { name: "eigenvalues".into(), bins }
    }
}

impl FilterReport {
    /// The filter of a followed run, whose energies are not computed; `None` if no valid coefficients are known.
    pub fn of_progress(
        info: &ModelInfo,
        progress: &TrainingProgress,
        density: Option<Density>,
    ) -> Option<Self> {
        let (basis, last) = (progress.basis.as_ref()?, progress.filters.last()?);
        let filter = Filter { basis: basis.clone(), coefficients: last.coefficients.clone() };
        let history = FilterHistory::new(&filter, &progress.filters)?;
        Some(Self {
            mu: frequencies(),
            response: history.responses.last().cloned(),
            initial: history.responses.first().cloned(),
            coefficients: Some(filter.coefficients),
            basis: Some(basis_name(basis)),
            channels: 1,
            history: Some(history),
            density,
            energy: None,
            note: (info.family == ModelFamily::Clenshaw).then(|| RESIDUAL_FILTER.to_owned()),
        })
    }
}

/// The frequencies at which a response is sampled.
fn frequencies() -> Vec<f64> {
    (0..POINTS).map(|i| 2.0 * i as f64 / (POINTS - 1) as f64 - 1.0).collect()
}

/// The name of a basis, or its JSON text if it has parameters.
fn basis_name(basis: &Basis) -> String {
    let name = serde_json::to_value(basis).unwrap_or_default();
    name.as_str().map_or_else(|| name.to_string(), str::to_owned)
}

impl Density {
    /// The spectral density of an operator, exact for small graphs.
    pub fn of(p: &Operator) -> Self {
        let density = spectral_density(p, DENSITY_BINS);
        Self { shares: density.shares, exact: density.exact }
    }
}

const RESIDUAL_FILTER: &str = "This is the filter of the residual connections; the weights and activations \
                               between the layers change the signal as well.";

/// What to bear in mind when reading the charts; `None` if nothing.
fn note(model: &TrainedModel, dataset: &Dataset) -> Option<String> {
    let mut notes = vec![];
    if model.info().family == ModelFamily::Clenshaw {
        notes.push(RESIDUAL_FILTER.to_owned());
    }
    let (known, n) = (dataset.labelled().len(), dataset.y.len());
    if known < n {
        notes.push(format!(
            "Labels are known for {known} of {n} nodes. The others count as zero, which moves energy of \
             the labels towards high frequencies."
        ));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

impl FilterHistory {
    /// Evenly spaced entries of `filters`, the first and the last included, in the basis of `learned`; `None` if
    /// `filters` is empty, or an entry has more coefficients than the basis allows, as in a damaged file.
    pub fn new(learned: &Filter, filters: &[EpochFilter]) -> Option<Self> {
        let max_terms = learned.basis.max_terms();
        if filters.iter().any(|filter| filter.coefficients.len() > max_terms) {
            return None;
        }
        let last = filters.len().checked_sub(1)?;
        let n = filters.len().min(MAX_FILTERS);
        let position = |i: usize| if n > 1 { i * last / (n - 1) } else { 0 };
        let chosen: Vec<&EpochFilter> = (0..n).map(|i| &filters[position(i)]).collect();
        let response = |filter: &&EpochFilter| -> Vec<f64> {
            let coefficients = filter.coefficients.clone();
            let filter = Filter { basis: learned.basis.clone(), coefficients };
            // Four decimals are more than a chart shows, and keep the page small.
            let round = |value: f64| (value * 1e4).round() / 1e4;
            filter.sample(POINTS).into_iter().map(|(_, value)| round(value)).collect()
        };
        Some(Self {
            epochs: chosen.iter().map(|filter| filter.epoch).collect(),
            responses: chosen.iter().map(response).collect(),
            coefficients: chosen.iter().map(|filter| filter.coefficients.clone()).collect(),
        })
    }
}

impl BandEnergy {
    /// `None` if a signal is constant, for example if predictions are the same for every node.
    fn new(
        p: &Operator,
        model: &TrainedModel,
        dataset: &Dataset,
        probabilities: &Mat<f32>,
    ) -> Option<Self> {
        let n = dataset.graph.n_nodes();
        let mut labels = Mat::zeros(n, dataset.n_classes());
        let labelled: Vec<usize> = (0..n).filter(|&i| dataset.y[i].is_some()).collect();
        for &i in &labelled {
            labels[(i, dataset.y[i]? as usize)] = 1.0;
        }
        let all: Vec<usize> = (0..n).collect();
        let energy =
            |signals: &Mat<f64>, nodes: &[usize]| signal_energy(p, &centred(signals, nodes), BANDS);
        Some(Self {
            edges: (0..=BANDS).map(|i| 2.0 * i as f64 / BANDS as f64 - 1.0).collect(),
            labels: energy(&labels, &labelled)?,
            features: energy(&projected_features(model, dataset), &all)?,
            predictions: energy(&probabilities.cast(), &all)?,
        })
    }
}

/// Subtracts from each column its mean over some nodes; the rows of other nodes become zero.
fn centred(signals: &Mat<f64>, nodes: &[usize]) -> Mat<f64> {
    let cols = signals.cols();
    let mut means = vec![0.0; cols];
    for &node in nodes {
        means.iter_mut().zip(signals.row(node)).for_each(|(mean, value)| *mean += value);
    }
    means.iter_mut().for_each(|mean| *mean /= nodes.len().max(1) as f64);
    let mut result = Mat::zeros(signals.rows(), cols);
    for &node in nodes {
        for (j, mean) in means.iter().enumerate() {
            result[(node, j)] = signals[(node, j)] - mean;
        }
    }
    result
}

/// Random combinations of the scaled features, whose energy at every frequency is on average proportional to that
/// of the features.
fn projected_features(model: &TrainedModel, dataset: &Dataset) -> Mat<f64> {
    let x = model.scaler().apply(&dataset.x).to_dense();
    let stream = Stream::new(0, "projection");
    let sign = |i: usize| if stream.numbered(i as u64).unit() < 0.5 { -1.0 } else { 1.0 };
    let signs: Vec<f64> = (0..x.cols() * PROJECTIONS).map(sign).collect();
    let mut projected = Mat::zeros(x.rows(), PROJECTIONS);
    for i in 0..x.rows() {
        for (j, &value) in x.row(i).iter().enumerate().filter(|(_, value)| **value != 0.0) {
            for k in 0..PROJECTIONS {
                projected[(i, k)] += f64::from(value) * signs[j * PROJECTIONS + k];
            }
        }
    }
    projected
}
