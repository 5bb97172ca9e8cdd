//! Models that apply filters by recurrences in P, compared with the definition of these filters.
//!
//! ```text
//! FavardGNN     the initial polynomials are U_k(mu / 2)
//! OptBasisGNN   the B_k of every channel are orthonormal
//! ChebNet, ARMA the gain is the factor by which an eigenvector of P is amplified
//! ```

use crate::common::problem::{Problem, Setting};
use crate::common::{assert_close, filter_by_eigendecomposition, largest, lookup};
use clenshaw::filter::{Filter, Response};
use clenshaw::graph::{Graph, Normalisation, operator};
use clenshaw::hyper::Params;
use clenshaw::model::{self, ModelInfo, Net};
use clenshaw::rng::Stream;
use clenshaw::tensor::{AlignedVec, Mat, Operator, Plan, ThreadTeam};

/// The number of channels and of classes; equal, so that the last dense layer can be the identity.
const WIDTH: usize = 3;
const N_FEATURES: usize = 2;

/// A model with [`WIDTH`] channels on a graph.
struct TestModel {
    info: &'static ModelInfo,
    hp: Params,
    p: Operator,
}

impl TestModel {
    fn new(name: &str, graph: &Graph, settings: &[(&str, &str)]) -> Self {
        let info = model::find(name).unwrap();
        let mut hp = Setting::defaults(info).hp;
        hp.set("hidden", &WIDTH.to_string()).unwrap();
        settings.iter().for_each(|(key, value)| hp.set(key, value).unwrap());
        Self { info, hp, p: operator(graph, Normalisation::Plain) }
    }

    fn plan(&self, x: &Mat<f64>) -> Plan<f64> {
        let mut net = Net::dense(x.clone(), Some(self.p.clone()), WIDTH);
        let logits = (self.info.build)(&mut net, &self.hp);
        Plan::compile(&net, logits)
    }

    /// The scores for features `x`, `[n, WIDTH]`.
    fn scores(&self, x: &Mat<f64>, params: &[f64]) -> Mat<f64> {
        let plan = self.plan(x);
        let scores = plan.scores(&mut plan.workspace(ThreadTeam::new(1)), params).to_vec();
        Mat::from_vec(x.rows(), WIDTH, scores)
    }

    /// The declared filter with features `x`.
    fn filter(&self, x: &Mat<f64>, params: &[f64]) -> Response {
        let filter = self.info.filter.expect("a spectral model declares its filter");
        filter(&lookup(&self.plan(x), params), &self.hp)
    }
}

/// Parameters computed from name, index and a uniform draw from [-1, 1].
fn params(plan: &Plan<f64>, value: impl Fn(&str, usize, f64) -> f64) -> AlignedVec<f64> {
    let mut stream = Stream::new(1, "recurrences");
    let mut entry = |name: &str, i| value(name, i, stream.symmetric(1.0));
    plan.param_vector(|param| (0..param.rows * param.cols).map(|i| entry(&param.name, i)).collect())
}

/// Parameters for which the last dense layer is the identity, no channel is zero and `s` is about 1; all
/// others are random.
fn identity_output(name: &str, i: usize, drawn: f64) -> f64 {
    match name {
        "w_out" => f64::from(u8::from(i / WIDTH == i % WIDTH)),
        "b_out" => 0.0,
        "b_in" | "s" => 1.0 + 0.3 * drawn,
        _ => drawn,
    }
}

fn signal(n: usize) -> Mat<f64> {
    let mut stream = Stream::new(2, "recurrences");
    Mat::from_vec(n, N_FEATURES, (0..n * N_FEATURES).map(|_| stream.symmetric(1.0)).collect())
}

/// `Z = relu(X w_in + b_in)`.
fn first_layer(model: &TestModel, x: &Mat<f64>, params: &[f64]) -> Mat<f64> {
    let named = lookup(&model.plan(x), params);
    let (mut z, b) = (x.matmul(&named("w_in")), named("b_in"));
    z.as_mut_slice()
        .iter_mut()
        .enumerate()
        .for_each(|(i, z)| *z = (*z + b[(0, i % WIDTH)]).max(0.0));
    z
}

/// Filters each column with its own filter.
fn filter_columns(p: &Operator, z: &Mat<f64>, filters: &[Filter]) -> Vec<f64> {
    let each: Vec<Vec<f64>> = filters
        .iter()
        .map(|filter| filter_by_eigendecomposition(p, z, |mu| filter.evaluate(mu)))
        .collect();
    (0..z.rows() * WIDTH).map(|i| each[i % WIDTH][i]).collect()
}

fn channels(response: Response) -> Vec<Filter> {
    let Response::Channels(filters) = response else { panic!("expected one filter per channel") };
    assert_eq!(filters.len(), WIDTH);
    filters
}

#[test]
fn initial_favard_basis_is_chebyshev_at_half_the_frequency() {
    // B_k = P B_{k-1} - B_{k-2} is the recurrence of U_k(mu / 2) = sin((k+1) t) / sin t at mu = 2 cos t.
    let graph = Problem::random(20, 1).graph();
    let (order, x) = (5, signal(20));
    let model = TestModel::new("favard-gnn", &graph, &[("K", "5")]);
    let plan = model.plan(&x);
    let initial = plan.initial_params(&Stream::new(0, "weights"));
    let alpha_index = plan.params().iter().position(|param| param.name == "alpha").unwrap();
    for k in 0..=order {
        let mut params = initial.clone();
        let alpha = &mut params[plan.ranges()[alpha_index].clone()];
        alpha.iter_mut().enumerate().for_each(|(i, a)| *a = f64::from(u8::from(i / WIDTH == k)));
        for filter in channels(model.filter(&x, &params)) {
            for (mu, h) in filter.sample(41) {
                let t = (mu / 2.0).acos();
                let expected = ((k + 1) as f64 * t).sin() / t.sin();
                assert!((h - expected).abs() < 1e-12, "B_{k} at {mu}: {h} instead of {expected}");
            }
        }
    }
    let filters = channels(model.filter(&x, &initial));
    assert!(
        filters.iter().all(|filter| filter.evaluate(0.3) == 1.0),
        "the initial filter is the identity"
    );
}

/// `B_0, ..., B_K` of OptBasisGNN, each selected by alpha.
fn basis(model: &TestModel, x: &Mat<f64>) -> Vec<Mat<f64>> {
    let select = |k: usize| {
        let only = |name: &str, i: usize, drawn: f64| match name {
            "alpha" => f64::from(u8::from(i / WIDTH == k)),
            _ => identity_output(name, i, drawn),
        };
        model.scores(x, &params(&model.plan(x), only))
    };
    (0..=model.hp.int("K")).map(select).collect()
}

/// `<a, b>` of one column.
fn dot(a: &Mat<f64>, b: &Mat<f64>, column: usize) -> f64 {
    (0..a.rows()).map(|i| a[(i, column)] * b[(i, column)]).sum()
}

#[test]
fn opt_basis_is_orthonormal() {
    let graph = Problem::random(60, 1).graph();
    let basis = basis(&TestModel::new("opt-basis-gnn", &graph, &[("K", "8")]), &signal(60));
    for (i, b_i) in basis.iter().enumerate() {
        for (j, b_j) in basis.iter().enumerate() {
            for column in 0..WIDTH {
                let expected = f64::from(u8::from(i == j));
                let product = dot(b_i, b_j, column);
                assert!((product - expected).abs() < 1e-10, "<B_{i}, B_{j}> = {product}");
            }
        }
    }
}

#[test]
fn opt_basis_has_one_vector_per_frequency_of_the_graph() {
    // The complete graph of four nodes has two frequencies, 1 and -1/3.
    let edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let graph = Graph::from_edges("complete", 4, &edges).unwrap();
    let (x, model) = (signal(4), TestModel::new("opt-basis-gnn", &graph, &[("K", "6")]));
    for (k, b_k) in basis(&model, &x).iter().enumerate().skip(2) {
        assert_eq!(largest(b_k.as_slice()), 0.0, "B_{k}");
    }
    let params = params(&model.plan(&x), identity_output);
    let z = first_layer(&model, &x, &params);
    let expected = filter_columns(&model.p, &z, &channels(model.filter(&x, &params)));
    let actual = model.scores(&x, &params);
    assert_close("four nodes", actual.as_slice(), &expected, largest(&expected), 1e-12);
}

#[test]
fn zero_channel_stays_zero() {
    let graph = Problem::random(20, 1).graph();
    let (x, model) = (signal(20), TestModel::new("opt-basis-gnn", &graph, &[("K", "6")]));
    let negative = |name: &str, i: usize, drawn: f64| match name {
        "b_in" => -10.0,
        _ => identity_output(name, i, drawn),
    };
    let params = params(&model.plan(&x), negative);
    assert_eq!(model.scores(&x, &params), Mat::zeros(20, WIDTH));
    let filters = channels(model.filter(&x, &params));
    assert!(filters.iter().all(|filter| filter.evaluate(0.5) == 0.0), "{filters:?}");
}

/// A cycle of six nodes and one of four, with the frequencies 1, 1/2, 0, -1/2 and -1.
fn two_cycles() -> Graph {
    let cycle = |from: u32, n: u32| (0..n).map(move |i| (from + i, from + (i + 1) % n));
    let edges: Vec<(u32, u32)> = cycle(0, 6).chain(cycle(6, 4)).collect();
    Graph::from_edges("cycles", 10, &edges).unwrap()
}

/// The eigenvalue and the eigenvector of P that is a wave of `k` periods on the cycle of `n` nodes that
/// begins at `from`.
fn wave(from: usize, n: usize, k: usize) -> (f64, Vec<f64>) {
    let angle = |i: usize| 2.0 * std::f64::consts::PI * (i * k) as f64 / n as f64;
    let mut v = vec![0.0; 10];
    (0..n).for_each(|i| v[from + i] = angle(i).cos());
    (angle(1).cos(), v)
}

#[test]
fn gain_is_the_amplification_of_an_eigenvector() {
    // With biases this large every activation is linear and the network is affine: a wave in feature f
    // adds row f of G(mu) times the wave to the scores.
    let large_biases = |name: &str, _: usize, drawn: f64| match name {
        _ if name.contains(".b") => 10.0 + drawn,
        _ => 0.1 * drawn,
    };
    let cases: [(&str, &[(&str, &str)]); 8] = [
        ("cheb-net", &[("terms", "1")]),
        ("cheb-net", &[("terms", "2")]),
        ("cheb-net", &[("terms", "4")]),
        ("cheb-net", &[("terms", "5")]),
        ("cheb-net", &[("terms", "6")]),
        ("arma", &[]),
        ("arma", &[("stacks", "2"), ("layers", "3")]),
        ("arma", &[("stacks", "2"), ("layers", "3"), ("shared", "false")]),
    ];
    for (name, settings) in cases {
        let model = TestModel::new(name, &two_cycles(), settings);
        let zeros = Mat::zeros(10, N_FEATURES);
        let params = params(&model.plan(&zeros), large_biases);
        let (gain, rest) = (model.filter(&zeros, &params), model.scores(&zeros, &params));
        for (mu, v) in [wave(0, 6, 0), wave(0, 6, 1), wave(6, 4, 1), wave(0, 6, 2), wave(6, 4, 2)] {
            let energy: f64 = v.iter().map(|v| v * v).sum();
            let mut square = 0.0;
            for f in 0..N_FEATURES {
                let mut x = zeros.clone();
                (0..10).for_each(|i| x[(i, f)] = v[i]);
                let scores = model.scores(&x, &params);
                let row = |c| (0..10).map(|i| (scores[(i, c)] - rest[(i, c)]) * v[i]).sum::<f64>();
                square += (0..WIDTH).map(|c| (row(c) / energy).powi(2)).sum::<f64>();
            }
            let measured = (square / (N_FEATURES * WIDTH) as f64).sqrt();
            let what = format!("{name} with {settings:?} at {mu}");
            assert!(
                (gain.evaluate(mu) - measured).abs() < 1e-12,
                "{what}: {} instead of {measured}",
                gain.evaluate(mu)
            );
        }
    }
}
