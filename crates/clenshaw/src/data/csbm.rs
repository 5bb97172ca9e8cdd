//! The contextual stochastic block model: classes determine edge probabilities and feature means.
//!
//! ```text
//! P(u ~ v) = p  if y_u = y_v, else q       (ratio p : q from homophily, scale from degree)
//! x_i = s m_{y_i} + z_i                    (see `gaussian.rs`)
//! ```
//!
//! With `N_in` pairs within a class and `N_out` across, `p = h M / N_in` and `q = (1 - h) M / N_out`
//! give `M = n degree / 2` edges on average, a share `h` of them within a class.
//! With the default settings, about 63% of the nodes can be classified correctly from their features alone;
//! a high-pass filter increases this by about 20 percentage points, and a low-pass filter reduces it by about 20.
//! Edges are sampled by geometric gaps (Batagelj & Brandes 2005), so the time depends on the number of edges
//! and not on the number of pairs.
//! Deshpande, Sen, Montanari & Mossel, NeurIPS 2018, arXiv:1807.09596.

use super::{Dataset, DatasetInfo, DatasetOrigin, SEED, check_classes, gaussian};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hyper::{HyperParam, Params};
use crate::rng::Stream;

/// The entry of this data set in [`DATASETS`](super::DATASETS).
pub const INFO: DatasetInfo = DatasetInfo {
    name: "csbm",
    title: "contextual stochastic block model, heterophilous by default",
    paper: "Deshpande et al., Contextual Stochastic Block Models, NeurIPS 2018",
    source: "generated from a seed",
    origin: DatasetOrigin::Generated { hyper: HYPER, generate },
};

static HYPER: &[HyperParam] = &[
    HyperParam::int("nodes", 2000, (10, 50_000_000), "number of nodes"),
    HyperParam::int("classes", 3, (2, 100), "number of classes, of nearly equal size"),
    HyperParam::real("degree", 15.0, (0.0, 200.0), "average number of neighbours"),
    HyperParam::real("homophily", 0.1, (0.0, 1.0), "share of edges within a class"),
    HyperParam::int("features", 32, (1, 1000), "number of features"),
    HyperParam::real("signal", 1.0, (0.0, 100.0), "length of the class means"),
    SEED,
];

fn generate(params: &Params) -> Result<Dataset> {
    let (n, n_classes) = (params.int("nodes"), params.int("classes"));
    check_classes(n_classes, n)?;
    let stream = Stream::new(params.int("seed") as u64, "graph");
    let classes = shuffled_classes(&stream, n, n_classes);
    let members = nodes_by_class(&classes, n_classes);
    let (p, q) = probabilities(params, &members)?;
    let edges = block_edges(&mut stream.named("edges"), &members, p, q);
    let x = gaussian::features(&stream, &classes, params.int("features"), params.real("signal"))?;
    INFO.build_generated(params, Graph::from_edges(INFO.name, n, &edges)?, x, &classes)
}

/// A random class for each node; the sizes of the classes differ by at most one.
fn shuffled_classes(stream: &Stream, n: usize, n_classes: usize) -> Vec<u32> {
    let mut classes: Vec<u32> = (0..n).map(|i| (i % n_classes) as u32).collect();
    stream.named("classes").shuffle(&mut classes);
    classes
}

/// The nodes of each class, ascending.
fn nodes_by_class(classes: &[u32], n_classes: usize) -> Vec<Vec<u32>> {
    let mut members = vec![vec![]; n_classes];
    for (node, &class) in (0..).zip(classes) {
        members[class as usize].push(node);
    }
    members
}

/// `p = h M / N_in` and `q = (1 - h) M / N_out`; an error if either exceeds 1.
fn probabilities(params: &Params, members: &[Vec<u32>]) -> Result<(f64, f64)> {
    let (n, h) = (params.int("nodes") as f64, params.real("homophily"));
    let pairs = |n: f64| n * (n - 1.0) / 2.0;
    let n_in: f64 = members.iter().map(|class| pairs(class.len() as f64)).sum();
    let n_out = pairs(n) - n_in;
    // The largest M with p <= 1 and q <= 1.
    let max_edges = (n_in / h).min(n_out / (1.0 - h));
    let m = n * params.real("degree") / 2.0;
    if m > max_edges {
        return Err(Error::OutOfRange {
            key: "degree".into(),
            value: params.real("degree").to_string(),
            allowed: format!(
                "0 to {} for this homophily and number of nodes and classes",
                2.0 * max_edges / n
            ),
        });
    }
    Ok((h * m / n_in, (1.0 - h) * m / n_out))
}

/// Samples edges: pairs within a class with probability `p` and all others with `q`.
fn block_edges(stream: &mut Stream, members: &[Vec<u32>], p: f64, q: f64) -> Vec<(u32, u32)> {
    let mut edges = vec![];
    for (a, class) in members.iter().enumerate() {
        let n_pairs = class.len() * class.len().saturating_sub(1) / 2;
        sample_indices(stream, n_pairs, p, |t| {
            let (i, j) = pair(t);
            edges.push((class[i], class[j]));
        });
        for other in &members[a + 1..] {
            sample_indices(stream, class.len() * other.len(), q, |t| {
                edges.push((class[t / other.len()], other[t % other.len()]));
            });
        }
    }
    edges
}

/// Calls `each` for the numbers of a random subset of `0..count`, which contains each one with probability `p`.
///
/// The gaps between the numbers are geometric: `floor(ln(1 - U) / ln(1 - p))`.
fn sample_indices(stream: &mut Stream, count: usize, p: f64, mut each: impl FnMut(usize)) {
    if p == 0.0 {
        return;
    }
    let mut gap = || ((1.0 - stream.unit()).ln() / (-p).ln_1p()) as usize;
    let mut t = gap();
    while t < count {
        each(t);
        t = t.saturating_add(1).saturating_add(gap());
    }
}

/// Returns the `t`-th of the pairs (1, 0), (2, 0), (2, 1), (3, 0), ..., counted from 0.
fn pair(t: usize) -> (usize, usize) {
    let row = |i: usize| i * (i - 1) / 2;
    let guess = ((1.0 + (1.0 + 8.0 * t as f64).sqrt()) / 2.0) as usize;
    // Rounding can make the guess off by one.
    let i = if row(guess) > t { guess - 1 } else { guess };
    let i = if row(i + 1) <= t { i + 1 } else { i };
    (i, t - row(i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::load;
    use crate::graph::{Normalisation, edge_homophily, operator};
    use crate::tensor::Mat;

    #[test]
    fn pair_enumerates_all_pairs() {
        let mut expected = (1..60).flat_map(|i| (0..i).map(move |j| (i, j)));
        assert!((0..59 * 60 / 2).all(|t| Some(pair(t)) == expected.next()));
        let big = 3_000_000_000_usize;
        assert_eq!(pair(big * (big - 1) / 2), (big, 0));
        assert_eq!(pair(big * (big - 1) / 2 - 1), (big - 1, big - 2));
    }

    #[test]
    fn has_the_requested_degree_and_homophily() {
        for (h, degree, classes) in [(0.0, 4.0, 2), (0.1, 15.0, 3), (0.5, 10.0, 5), (1.0, 6.0, 4)] {
            let text = format!("csbm:homophily={h},degree={degree},classes={classes},features=1");
            let dataset = load(&text).unwrap();
            let m: f64 = 1000.0 * degree;
            let edges = dataset.graph.n_edges() as f64;
            assert!((edges - m).abs() < 4.0 * m.sqrt(), "{text}: {edges} edges");
            let measured = edge_homophily(&dataset.graph, &dataset.y).unwrap();
            let error = (h * (1.0 - h) / m).sqrt();
            assert!((measured - h).abs() <= 4.0 * error, "{text}: homophily {measured}");
        }
    }

    #[test]
    fn degrees_are_poisson_distributed() {
        let graph = load("csbm:features=1,seed=5").unwrap().graph;
        let degrees: Vec<f64> = (0..2000).map(|i| graph.degree(i) as f64).collect();
        let mean = degrees.iter().sum::<f64>() / 2000.0;
        let variance = degrees.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 1999.0;
        // Standard errors: sqrt(2 * 15 / 2000) = 0.12 and about 15 sqrt(2 / 2000) = 0.47.
        assert!((mean - 15.0).abs() < 0.5 && (variance - 15.0).abs() < 2.0, "{mean} {variance}");
    }

    /// The share of nodes whose row of `x` is closest to the mean row of their own class.
    fn nearest_mean_accuracy(x: &Mat<f64>, dataset: &Dataset) -> f64 {
        let sizes = dataset.class_sizes();
        let class = |i: usize| dataset.y[i].unwrap() as usize;
        let mut means = Mat::<f64>::zeros(sizes.len(), x.cols());
        for i in 0..x.rows() {
            let c = class(i);
            (0..x.cols()).for_each(|j| means[(c, j)] += x[(i, j)] / sizes[c] as f64);
        }
        let distance = |i: usize, c: usize| -> f64 {
            x.row(i).iter().zip(means.row(c)).map(|(x, m)| (x - m).powi(2)).sum()
        };
        let by_distance = |i: usize, a: usize, b: usize| distance(i, a).total_cmp(&distance(i, b));
        let nearest = |i: usize| (0..sizes.len()).min_by(|&a, &b| by_distance(i, a, b));
        (0..x.rows()).filter(|&i| nearest(i) == Some(class(i))).count() as f64 / x.rows() as f64
    }

    /// `sum_k (a P)^k X` for k up to 3, by Horner's method.
    fn filtered(dataset: &Dataset, a: f64) -> Mat<f64> {
        let p = operator(&dataset.graph, Normalisation::Plain);
        let x = dataset.x.to_dense().cast::<f64>();
        let step = |h: Mat<f64>| {
            let ph = p.apply(&h);
            let terms = x.as_slice().iter().zip(ph.as_slice()).map(|(x, ph)| x + a * ph);
            Mat::from_vec(x.rows(), x.cols(), terms.collect())
        };
        (0..3).fold(x.clone(), |h, _| step(h))
    }

    #[test]
    fn high_pass_filter_improves_classification() {
        let dataset = load("csbm").unwrap();
        let accuracy = |a: f64| nearest_mean_accuracy(&filtered(&dataset, a), &dataset);
        let (alone, high_pass, low_pass) = (accuracy(0.0), accuracy(-2.0), accuracy(2.0));
        assert!((0.55..0.7).contains(&alone), "{alone}");
        assert!(high_pass > 0.8, "{high_pass}");
        assert!(low_pass < 0.5, "{low_pass}");
    }

    #[test]
    fn rejects_degree_above_the_maximum() {
        let error = load("csbm:nodes=10,classes=2,homophily=0,degree=6").unwrap_err().to_string();
        let allowed = "0 to 5 for this homophily and number of nodes and classes";
        assert_eq!(error, format!("`degree` is 6, outside {allowed}"));
        let full = load("csbm:nodes=10,classes=2,homophily=0,degree=5").unwrap();
        assert_eq!(full.graph.n_edges(), 25);
    }
}
