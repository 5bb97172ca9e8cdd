//! Specformer: a filter that is learned as a function of the whole spectrum.
//!
//! ```text
//! Z      = drop( relu( drop(X) W_in + b_in ) W_enc + b_enc )                      [n, C]
//! L      = I - P = U diag(lambda) U'
//! E      = [ lambda | sin(100 lambda w) | cos(100 lambda w) ] W + b,  w_i = 10000^(-2i / hidden)     [n, hidden]
//! E      <- E + drop( attention(LN(E)) )                   between all eigenvalues, `heads` heads
//! E      <- E + drop( gelu( LN(E) W1 + b1 ) W2 + b2 )
//! F      = E W_dec + b_dec                                 `heads` filters, one value per eigenvalue
//! Z      <- drop(Z) (.) c_0 + sum_m drop( U (F_m (.) U' Z) ) (.) c_m              `layers` times, c_m in R^C
//! out    = Z
//! ```
//!
//! The filters are not polynomials: their values on the eigenvalues depend on each other through the attention,
//! so the network can recognise, for example, gaps in the spectrum.
//! Without activations between the layers, class j is filtered by `prod_l ( c_0j + sum_m F_m c_mj )`, which is its
//! response, known on the eigenvalues of the graph only.
//!
//! The eigendecomposition takes O(n^3) time and O(n^2) memory, so the model is for graphs of a few thousand nodes.
//! Channels are divided among the heads as evenly as possible, and LN is layer normalisation.
//! Bo et al., ICLR 2023, arXiv:2303.01028.

use super::training::training;
use super::{ModelFamily, ModelInfo, Net, OptimiserGroup, WeightLookup, glorot};
use crate::error::Error;
use crate::filter::Response;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, StopRule};
use crate::memory;
use crate::tensor::{Init, LinearInput, Mat, Var};

static TRAINING: [HyperParam; 6] = training(StopRule::Patience, 200, 2000);

pub static INFO: ModelInfo = ModelInfo {
    name: "specformer",
    title: "Specformer",
    paper: "Bo et al., ICLR 2023, arXiv:2303.01028",
    family: ModelFamily::Spectral,
    equation: "E = transformer(encode(lambda)); F = E W_dec + b_dec; \
               Z <- Z (.) c_0 + sum_m U (F_m (.) U' Z) (.) c_m, L = U diag(lambda) U'",
    operator: Some(Normalisation::Plain),
    hyper: &[
        HyperParam::int("layers", 2, (1, 16), "number of filtering steps"),
        HyperParam::int("heads", 2, (1, 64), "number of attention heads and of filters")
            .tune_among(&[1.0, 2.0, 4.0]),
        HyperParam::int("hidden", 32, (2, 4096), "width of the dense layers and of the attention")
            .tune_among(&[16.0, 32.0, 64.0]),
        HyperParam::dropout("dropout", 0.5, "dropout on the features and on Z"),
        HyperParam::dropout("dropout_attention", 0.2, "dropout within the transformer"),
        HyperParam::dropout("dropout_prop", 0.3, "dropout on the terms of a filtering step"),
        HyperParam::real("lr", 1e-3, (0.0, 10.0), "learning rate")
            .tune_among(&[1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 1e-2]),
        HyperParam::real("wd", 5e-4, (0.0, 10.0), "weight decay")
            .tune_among(&[0.0, 1e-5, 1e-4, 5e-4, 1e-3]),
    ],
    training: &TRAINING,
    inductive: true,
    presets: include_str!("../../experiments/presets/specformer.toml"),
    groups: &[OptimiserGroup::adam("all", "lr", "wd")],
    build,
    filter: Some(filter),
    precompute: None,
};

/// The factor of eigenvalues in the arguments of sines and cosines.
const PHASE: f64 = 100.0;
/// The epsilon of layer normalisation.
const LN_EPS: f64 = 1e-5;
/// Bytes per entry of an `[n, n]` matrix: the decomposition in f64 and a copy while it is computed, U on the tape
/// in f64 and in the plan in f32.
const BYTES_PER_ENTRY: u64 = 8 + 8 + 8 + 4;
/// The largest number of nodes; the decomposition takes about an hour there.
const MAX_NODES: usize = 12_000;
/// The advice for larger graphs.
const OTHER_MODEL: &str = "use a model with polynomial filters, such as `opt-basis-gnn`";
/// The largest number of points of a response.
const MAX_POINTS: usize = 512;

fn build(net: &mut Net, hp: &Params) -> Var {
    let (drop, x) = (hp.real("dropout"), net.x());
    let x = net.dropout(x, drop);
    let z = dense(net, ("w_in", "b_in"), x, hp.int("hidden"));
    let z = net.relu(z);
    let n_classes = net.n_classes();
    let z = dense(net, ("w_enc", "b_enc"), z, n_classes);
    net.set_node_input(z);
    let z = net.dropout(z, drop);
    if let Some(error) = refusal(net.n_graph_nodes(), hp) {
        net.fail(error);
        return z;
    }
    let (mu, vectors) = net.eigen();
    let lambda: Vec<f64> = mu.iter().map(|mu| 1.0 - mu).collect();
    let filters = filters(net, hp, &lambda);
    let u = net.features(vectors);
    (0..hp.int("layers")).fold(z, |z, l| filter_step(net, hp, (u, filters), l, z))
}

/// Why the model cannot be used on a graph of `n` nodes, if it cannot.
fn refusal(n: usize, hp: &Params) -> Option<Error> {
    let (hidden, heads) = (hp.int("hidden"), hp.int("heads"));
    if heads > hidden {
        return Some(Error::OutOfRange {
            key: "heads".into(),
            value: heads.to_string(),
            allowed: format!("1 to `hidden`, which is {hidden}"),
        });
    }
    if n > MAX_NODES {
        let problem = format!(
            "a graph of {n} nodes; expected at most {MAX_NODES}, because the time of the eigendecomposition \
             grows with their cube; {OTHER_MODEL}"
        );
        return Some(Error::Data { place: INFO.name.into(), problem });
    }
    let needed = BYTES_PER_ENTRY * (n as u64).pow(2);
    let available = memory::available()?;
    (needed > available.bytes).then(|| Error::OutOfMemory {
        what: format!("specformer: the eigendecomposition of {n} nodes"),
        needed,
        available: Some(available.bytes),
        limit: available.limit.name(),
        advice: OTHER_MODEL.into(),
    })
}

/// `Z <- drop(Z) (.) c_0 + sum_m drop( U (F_m (.) U' Z) ) (.) c_m`.
fn filter_step(net: &mut Net, hp: &Params, (u, filters): (Var, Var), layer: usize, z: Var) -> Var {
    let (drop, heads, cols) = (hp.real("dropout_prop"), hp.int("heads"), net.n_classes());
    let ones = Init::Values(vec![1.0; (heads + 1) * cols]);
    let c = net.param(format!("comb.{layer}"), heads + 1, cols, ones, "all");
    let spectrum = net.inner_products(u, z); // [n, C], a row per eigenvalue
    let own = net.dropout(z, drop);
    let mut terms = vec![c.row(0) * own];
    for m in 0..heads {
        let filtered = net.scale_rows(spectrum, filters, m);
        let filtered = net.linear(u, filtered, None);
        let filtered = net.dropout(filtered, drop);
        terms.push(c.row(m + 1) * filtered);
    }
    net.sum(terms)
}

/// The values `F` of all filters on the eigenvalues, `[n, heads]`.
fn filters(net: &mut Net, hp: &Params, lambda: &[f64]) -> Var {
    let (width, drop) = (hp.int("hidden"), hp.real("dropout_attention"));
    let eigenvalues = net.constant(Mat::from_vec(lambda.len(), 1, lambda.to_vec()));
    net.name("eigenvalues", eigenvalues);
    let code = net.constant(encode(lambda, width));
    let e = dense(net, ("eig.w", "eig.b"), code, width);
    let y = net.layer_norm("mha.ln", e, LN_EPS, "all");
    let y = attention(net, hp, y);
    let y = net.dropout(y, drop);
    let e = net.sum([1.0 * e, 1.0 * y]);
    let y = net.layer_norm("ffn.ln", e, LN_EPS, "all");
    let y = dense(net, ("ffn.w1", "ffn.b1"), y, width);
    let y = net.gelu(y);
    let y = dense(net, ("ffn.w2", "ffn.b2"), y, width);
    let y = net.dropout(y, drop);
    let e = net.sum([1.0 * e, 1.0 * y]);
    let filters = dense(net, ("dec.w", "dec.b"), e, hp.int("heads"));
    net.name("filters", filters);
    filters
}

/// `[ lambda | sin(100 lambda w) | cos(100 lambda w) ]`, with `width / 2` frequencies w.
fn encode(lambda: &[f64], width: usize) -> Mat<f64> {
    let n_waves = width / 2;
    let waves = |lambda: f64, wave: fn(f64) -> f64| {
        (0..n_waves).map(move |i| {
            let frequency = libm::pow(10_000.0, -2.0 * i as f64 / width as f64);
            wave(PHASE * lambda * frequency)
        })
    };
    let row = |&lambda: &f64| {
        std::iter::once(lambda).chain(waves(lambda, libm::sin)).chain(waves(lambda, libm::cos))
    };
    Mat::from_vec(lambda.len(), 1 + 2 * n_waves, lambda.iter().flat_map(row).collect())
}

/// Scaled dot-product attention of the rows of `y` to all rows; a head has consecutive channels.
fn attention(net: &mut Net, hp: &Params, y: Var) -> Var {
    let (width, heads) = (hp.int("hidden"), hp.int("heads"));
    let mut projected = |part: char| {
        let w = net.param(format!("mha.w{part}"), width, width, glorot(width, 3 * width), "all");
        let b = net.param(format!("mha.b{part}"), 1, width, Init::Zeros, "all");
        net.linear(y, w, Some(b))
    };
    let [q, k, v] = ['q', 'k', 'v'].map(&mut projected);
    let scale = (heads as f64 / width as f64).sqrt();
    let parts: Vec<Var> = (0..heads)
        .map(|head| {
            let channels = head * width / heads..(head + 1) * width / heads;
            let select = net.constant(selection(width, channels));
            let [q, k, v] = [q, k, v].map(|part| net.linear(part, select, None));
            let k = net.transpose(k);
            let scores = net.linear(q, k, None); // [n, n]
            let scores = net.sum([scale * scores]);
            let weights = net.softmax(scores);
            let weights = net.dropout(weights, hp.real("dropout_attention"));
            net.linear(weights, v, None)
        })
        .collect();
    let joined = net.concat(&parts);
    dense(net, ("mha.wo", "mha.bo"), joined, width)
}

/// The columns `channels` of the identity matrix.
fn selection(width: usize, channels: std::ops::Range<usize>) -> Mat<f64> {
    let mut select = Mat::zeros(width, channels.len());
    for (column, channel) in channels.enumerate() {
        select[(channel, column)] = 1.0;
    }
    select
}

/// A dense layer whose weights have standard deviation 0.01 and whose biases are 0.
fn dense(net: &mut Net, (w, b): (&str, &str), x: impl LinearInput, width: usize) -> Var {
    let k = net.shape(x).1;
    let w = net.param(w, k, width, Init::Uniform(0.01 * 3f64.sqrt()), "all");
    let b = net.param(b, 1, width, Init::Zeros, "all");
    net.linear(x, w, Some(b))
}

/// `h_j = prod_l ( c_0j + sum_m F_m c_mj )` of every class j on the eigenvalues `mu = 1 - lambda` of P.
fn filter(weights: &WeightLookup<'_>, hp: &Params) -> Response {
    let (lambda, filters) = (weights("eigenvalues"), weights("filters"));
    let combinations: Vec<Mat<f64>> =
        (0..hp.int("layers")).map(|l| weights(&format!("comb.{l}"))).collect();
    let value = |i: usize, class: usize| -> f64 {
        let step = |c: &Mat<f64>| {
            let learned = (0..filters.cols()).map(|m| filters[(i, m)] * c[(m + 1, class)]);
            c[(0, class)] + learned.sum::<f64>()
        };
        combinations.iter().map(step).product()
    };
    let mut kept: Vec<usize> = (0..lambda.rows()).rev().collect();
    // Repeated eigenvalues have the same values.
    kept.dedup_by(|i, j| (lambda[(*i, 0)] - lambda[(*j, 0)]).abs() < 1e-6);
    let stride = kept.len().div_ceil(MAX_POINTS);
    let kept: Vec<usize> = kept.into_iter().step_by(stride).collect();
    let channel = |class: usize| {
        let points = kept.iter().map(|&i| (1.0 - lambda[(i, 0)], value(i, class)));
        let mut points: Vec<(f64, f64)> = points.collect();
        if let [(mu, h)] = points[..] {
            points.push((mu + 1.0, h));
        }
        points
    };
    Response::Tabulated((0..combinations[0].cols()).map(channel).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::model::find;

    #[test]
    fn graphs_that_are_too_large_are_refused_with_numbers() {
        let hp = find("specformer").unwrap().defaults();
        assert!(refusal(3000, &hp).is_none());
        let error = refusal(1_000_000, &hp).unwrap().to_string();
        for part in ["1000000 nodes", "at most 12000", "`opt-basis-gnn`"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn more_heads_than_channels_are_refused() {
        let mut hp = find("specformer").unwrap().defaults();
        hp.set("hidden", "4").unwrap();
        hp.set("heads", "5").unwrap();
        let graph = Graph::from_edges("pair", 2, &[(0, 1)]).unwrap();
        let x = Mat::from_vec(2, 1, vec![1.0, 2.0]);
        let p = crate::graph::operator(&graph, Normalisation::Plain);
        let mut net = Net::dense(x, Some(p), 2).with_graph(&graph);
        build(&mut net, &hp);
        let error = net.into_checked().unwrap_err().to_string();
        assert_eq!(error, "`heads` is 5, outside 1 to `hidden`, which is 4");
    }

    #[test]
    fn codes_of_eigenvalues_are_sines_and_cosines() {
        let code = encode(&[0.5, 2.0], 4);
        let low = 50.0 * 10_000f64.powf(-0.5);
        let expected = [0.5, 50f64.sin(), low.sin(), 50f64.cos(), low.cos()];
        assert_eq!((code.rows(), code.row(0)), (2, &expected[..]));
    }
}
