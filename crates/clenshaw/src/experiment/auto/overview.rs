//! What can be said about a graph without the labels of test nodes.

use super::hold_out::HoldOut;
use crate::data::Dataset;
use crate::graph::{Normalisation, edge_homophily, extreme_eigenvalues, operator, signal_energy};
use crate::rng::Stream;
use crate::tensor::Mat;
use serde::Serialize;

/// The spectrum is computed if the product of P~ and the label indicators needs at most this many multiplications.
const MAX_PRODUCT: usize = 5_000_000;
/// A share of energy is called stronger than that of shuffled labels if it exceeds it by more than this.
const MIN_EXCESS: f64 = 0.03;

/// Size, features, homophily and spectrum of a graph.
#[derive(Clone, Debug, Serialize)]
pub struct GraphOverview {
    /// The name.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges.
    pub edges: usize,
    /// Number of feature columns.
    pub features: usize,
    /// Whether all features are zeros and ones.
    pub binary_features: bool,
    /// The share of feature values that are not zero.
    pub feature_density: f64,
    /// Number of classes.
    pub classes: usize,
    /// Number of nodes without a label.
    pub unlabelled: usize,
    /// Number of training and validation nodes.
    pub development: usize,
    /// Number of test nodes.
    pub test: usize,
    /// The share of the most frequent class among the labelled nodes that are not test nodes.
    pub majority_share: f64,
    /// Of the edges between labelled nodes that are not test nodes, the share between nodes of the same class;
    /// `None` if there are no such edges.
    pub homophily: Option<f64>,
    /// The homophily to be expected if the edges were independent of the classes.
    pub chance_homophily: f64,
    /// The spectrum of the labels of all nodes except test nodes; `None` if the graph is large or all these labels
    /// are the same.
    pub spectrum: Option<LabelSpectrum>,
    /// Warnings about the graph and the split.
    pub notes: Vec<String>,
}

/// The shares of the energy of the labels at low, middle and high frequencies, that is, at eigenvalues of P~
/// from 1/3 to 1, from -1/3 to 1/3 and from -1 to -1/3. The labels are those of all nodes except test nodes, as
/// indicators of the classes minus their means.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelSpectrum {
    /// The lowest and the highest eigenvalue of P~.
    pub eigenvalues: (f64, f64),
    /// The shares of the labels: low, middle, high.
    pub labels: [f64; 3],
    /// The shares of the same labels when they are shuffled among the nodes.
    pub shuffled: [f64; 3],
}

impl GraphOverview {
    pub(super) fn of(dataset: &Dataset, hold_out: &HoldOut) -> Self {
        let visible = hold_out.visible_labels(dataset);
        let (graph, x) = (&dataset.graph, &dataset.x);
        let shares = class_shares(&visible, dataset.n_classes());
        let entries = (x.n_rows() * x.n_cols()).max(1) as f64;
        let non_zero = x.values().iter().filter(|value| **value != 0.0).count();
        let mut notes = dataset.warnings.clone();
        notes.extend(hold_out.notes.iter().cloned());
        Self {
            name: dataset.name.clone(),
            nodes: graph.n_nodes(),
            edges: graph.n_edges(),
            features: x.n_cols(),
            binary_features: x.values().iter().all(|value| *value == 0.0 || *value == 1.0),
            feature_density: non_zero as f64 / entries,
            classes: dataset.n_classes(),
            unlabelled: dataset.y.iter().filter(|label| label.is_none()).count(),
            development: hold_out.split.train().len() + hold_out.split.val().len(),
            test: hold_out.split.test().len(),
            majority_share: shares.iter().copied().fold(0.0, f64::max),
            homophily: edge_homophily(graph, &visible),
            chance_homophily: shares.iter().map(|share| share * share).sum(),
            spectrum: LabelSpectrum::of(dataset, &visible),
            notes,
        }
    }

    /// Whether neighbours tend to have the same class, in one sentence.
    pub fn homophily_sentence(&self) -> String {
        let Some(homophily) = self.homophily else {
            return "No edge joins two labelled nodes outside the test set, so its homophily is not known.".into();
        };
        let chance = self.chance_homophily;
        let kind = match homophily - chance {
            excess if excess > 0.1 => "neighbours tend to agree (homophily)",
            excess if excess < -0.1 => "neighbours tend to differ (heterophily)",
            _ => "neighbours agree about as often as by chance",
        };
        format!(
            "Of its edges between labelled nodes outside the test set, {:.0}% join nodes of the same class; {:.0}% would \
             by chance: {kind}.",
            100.0 * homophily,
            100.0 * chance
        )
    }

    /// Where the labels are in the spectrum, in one sentence; `None` if it was not computed.
    pub fn spectrum_sentence(&self) -> Option<String> {
        let LabelSpectrum { labels, shuffled, .. } = self.spectrum.as_ref()?;
        let bands = ["low", "middle", "high"];
        let excess = |band: &usize| labels[*band] - shuffled[*band];
        let found: Vec<&str> =
            (0..3).filter(|band| excess(band) > MIN_EXCESS).map(|band| bands[band]).collect();
        let shares =
            |values: &[f64; 3]| values.map(|share| format!("{:.0}%", 100.0 * share)).join(", ");
        let (own, random) = (shares(labels), shares(shuffled));
        Some(match found.is_empty() {
            true => format!(
                "Its labels are spread over the frequencies like shuffled ones (low, middle, high: {own})."
            ),
            false => format!(
                "Its labels are stronger at {} frequencies than shuffled ones would be (low, middle, high: \
                 {own}; shuffled: {random}).",
                found.join(" and ")
            ),
        })
    }
}

/// The share of each class among the labels; zero without labels.
fn class_shares(y: &[Option<u32>], n_classes: usize) -> Vec<f64> {
    let n = y.iter().flatten().count().max(1) as f64;
    let mut shares = vec![0.0; n_classes];
    y.iter().flatten().for_each(|&class| shares[class as usize] += 1.0 / n);
    shares
}

impl LabelSpectrum {
    /// `None` if the graph is large or all labels are the same.
    fn of(dataset: &Dataset, y: &[Option<u32>]) -> Option<Self> {
        let (graph, n_classes) = (&dataset.graph, dataset.n_classes());
        if (2 * graph.n_edges() + graph.n_nodes()) * n_classes > MAX_PRODUCT {
            return None;
        }
        let p = operator(graph, Normalisation::Looped);
        let shares = |y: &[Option<u32>]| -> Option<[f64; 3]> {
            let energy = signal_energy(&p, &indicators(y, n_classes), 3)?;
            Some([energy[2], energy[1], energy[0]])
        };
        Some(Self {
            eigenvalues: extreme_eigenvalues(&p),
            labels: shares(y)?,
            shuffled: shares(&shuffled(y))?,
        })
    }
}

/// `[n, C]`: 1 for the class of a node minus the share of the class; zero for nodes without a label.
fn indicators(y: &[Option<u32>], n_classes: usize) -> Mat<f64> {
    let shares = class_shares(y, n_classes);
    let mut signals = Mat::zeros(y.len(), n_classes);
    for (row, class) in signals.as_mut_slice().chunks_exact_mut(n_classes).zip(y) {
        if let Some(class) = class {
            row.iter_mut().zip(&shares).for_each(|(value, share)| *value = -share);
            row[*class as usize] += 1.0;
        }
    }
    signals
}

/// The labels in another order, on the same nodes.
fn shuffled(y: &[Option<u32>]) -> Vec<Option<u32>> {
    let mut labels: Vec<u32> = y.iter().flatten().copied().collect();
    Stream::new(0, "auto").named("shuffle").shuffle(&mut labels);
    let mut labels = labels.into_iter();
    y.iter().map(|label| label.and_then(|_| labels.next())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{AutoRequest, GraphOrigin};
    use super::*;
    use crate::data;

    fn overview(graph: &str) -> GraphOverview {
        let dataset = data::load(graph).unwrap();
        let hold_out = HoldOut::new(&dataset, &AutoRequest::new(graph, "s"), GraphOrigin::Public);
        let hold_out = hold_out.unwrap();
        GraphOverview::of(&dataset, &hold_out)
    }

    #[test]
    fn homophilous_and_heterophilous_graphs_are_told_apart() {
        let low = overview("csbm:nodes=400,homophily=0.9");
        assert!(low.homophily.unwrap() > 0.8);
        assert!(low.homophily_sentence().ends_with("neighbours tend to agree (homophily)."));
        assert!(low.spectrum_sentence().unwrap().contains("stronger at low frequencies"));
        let high = overview("csbm:nodes=400,homophily=0.1");
        assert!(high.homophily_sentence().ends_with("neighbours tend to differ (heterophily)."));
        let sentence = high.spectrum_sentence().unwrap();
        assert!(sentence.contains("high frequencies"), "{sentence}");
        let spectrum = high.spectrum.unwrap();
        for shares in [spectrum.labels, spectrum.shuffled] {
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{shares:?}");
        }
    }

    #[test]
    fn labels_of_test_nodes_are_not_counted() {
        let cora = overview("cora");
        assert_eq!((cora.nodes, cora.features, cora.unlabelled), (2708, 1433, 0));
        assert_eq!(cora.development + cora.test, 2708);
        assert!(cora.binary_features && (cora.feature_density - 0.0127).abs() < 1e-3);
        // 0.81 with all labels.
        assert!((cora.homophily.unwrap() - 0.81).abs() < 0.02);
    }

    #[test]
    fn labelled_nodes_outside_the_split_are_not_development_nodes() {
        let mut dataset = data::load("csbm:nodes=60").unwrap();
        let parts = [(0..30).collect(), (30..40).collect(), (40..50).collect()];
        let split = data::Split::new("own", parts).unwrap();
        dataset.splits = vec![data::FixedSplit { name: "own".into(), split }];
        let request = AutoRequest::new("csbm:nodes=60", "s");
        let hold_out = HoldOut::new(&dataset, &request, GraphOrigin::Own).unwrap();
        let overview = GraphOverview::of(&dataset, &hold_out);
        assert_eq!((overview.development, overview.test), (40, 10));
    }
}
