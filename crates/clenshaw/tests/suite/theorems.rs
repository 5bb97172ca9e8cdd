//! Theorems of the papers about their networks, checked with an eigendecomposition.
//!
//! ```text
//! Theorem 1   linear HornerGCN    H(K) = sum_l alpha_{K-l} P~^l H*
//! Theorem 2   linear ClenshawGCN  H(K) = sum_l alpha_{K-l} U_l(P~) H*
//! ```
//!
//! The network ends in `relu`, which removes negative entries of `H(K)`. But `H(K)` is linear in alpha, so
//! a second run with `-alpha` recovers them: `relu(h) - relu(-h) = h`.
//! Guo & Wei, KDD 2023, arXiv:2210.16508. Decoupled models are linear after their first layers, so their
//! declared filters can be compared with their outputs.

use crate::common::problem::{Form, Problem, Setting};
use crate::common::{assert_close, filter_by_eigendecomposition, largest, lookup};
use clenshaw::filter::{self, Filter};
use clenshaw::graph::{Graph, Normalisation, operator};
use clenshaw::hyper::Params;
use clenshaw::model::{self, ModelFamily, ModelInfo, Net};
use clenshaw::rng::Stream;
use clenshaw::tensor::{AlignedVec, Init, Mat, Operator, Param, Plan, Tape, ThreadTeam, Var};
use clenshaw::train::optimiser;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Number of columns of H*, width of the network and number of classes: all layers have the same width.
const WIDTH: usize = 2;

/// The residual networks with learned coefficients.
const LEARNED: [&str; 2] = ["horner-gcn", "clenshaw-gcn"];

/// The default hyper-parameters without dropout, changed to these values.
fn with_values(info: &'static ModelInfo, values: &[(&str, String)]) -> Params {
    let mut hp = Setting::defaults(info).hp;
    for (key, value) in values {
        hp.set(key, value).unwrap();
    }
    hp
}

/// The hyper-parameters of the model without `W(l)` and inner activations.
fn linear_params(info: &'static ModelInfo, order: usize) -> Params {
    let off = || "false".to_string();
    let (order, width) = (order.to_string(), WIDTH.to_string());
    with_values(info, &[("K", order), ("hidden", width), ("use_weight", off()), ("use_act", off())])
}

/// A network whose dense layers are the identity, so that `x >= 0` is the input of the filter, and whose
/// other parameters are computed by `coefficients`.
fn with_identity_layers(
    info: &ModelInfo,
    hp: &Params,
    p: &Operator,
    x: &Mat<f64>,
    mut coefficients: impl FnMut(&Param) -> Vec<f64>,
) -> (Plan<f64>, AlignedVec<f64>) {
    let mut net = Net::dense(x.clone(), Some(p.clone()), WIDTH);
    let logits = (info.build)(&mut net, hp);
    let plan = Plan::<f64>::compile(&net, logits);
    let params = plan.param_vector(|param| match param.name.as_str() {
        "w_in" | "w_out" => Mat::<f64>::identity(WIDTH).as_slice().to_vec(),
        "b_in" | "b_out" => vec![0.0; WIDTH],
        _ => coefficients(param),
    });
    (plan, params)
}

fn scores(plan: &Plan<f64>, params: &[f64]) -> Vec<f64> {
    plan.scores(&mut plan.workspace(ThreadTeam::new(1)), params).to_vec()
}

/// `relu(H(K))` of the linear network, for `H* = x >= 0`.
fn rectified_output(
    info: &ModelInfo,
    hp: &Params,
    p: &Operator,
    x: &Mat<f64>,
    alpha: &[f64],
) -> Vec<f64> {
    let (plan, params) = with_identity_layers(info, hp, p, x, |param| {
        assert_eq!(param.name, "alpha", "the only other parameter of a linear network");
        alpha.to_vec()
    });
    scores(&plan, &params)
}

fn graphs() -> impl Strategy<Value = Graph> {
    (2..=20u32).prop_flat_map(|n| {
        let edges = prop::collection::vec((0..n, 0..n), 0..=50);
        edges.prop_map(move |edges| Graph::from_edges("random", n as usize, &edges).unwrap())
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0),
        ..ProptestConfig::default()
    })]

    /// The polynomials that the models declare are compared with powers and sines in `filter`.
    #[test]
    fn linear_networks_are_their_declared_filters(
        graph in graphs(),
        alpha in prop::collection::vec(-1.0..1.0f64, 2..=33), // K = 1..=32
        entries in prop::collection::vec(0.0..1.0f64, 20 * WIDTH),
    ) {
        let (n, order) = (graph.n_nodes(), alpha.len() - 1);
        let p = operator(&graph, Normalisation::Looped);
        let x = Mat::from_vec(n, WIDTH, entries[..n * WIDTH].to_vec());
        for info in model::MODELS.iter().filter(|info| info.family == ModelFamily::Clenshaw) {
            let hp = linear_params(info, order);
            let filter = info.filter.expect("a residual network that simulates a filter");
            for sign in [1.0, -1.0] {
                let alpha: Vec<f64> = alpha.iter().map(|a| sign * a).collect();
                let h = filter(&|_: &str| Mat::from_vec(1, order + 1, alpha.clone()), &hp);
                let expected = filter_by_eigendecomposition(&p, &x, |mu| h.evaluate(mu));
                let rectified_expected: Vec<f64> = expected.iter().map(|v| v.max(0.0)).collect();
                let actual = rectified_output(info, &hp, &p, &x, &alpha);
                // U_32 is 33 at mu = 1 and its slope there about 12,000.
                let scale = largest(&expected).max(1.0);
                assert_close(info.name, &actual, &rectified_expected, scale, 1e-10);
            }
        }
    }
}

/// The declared filter of every channel; `None` if the model has only a gain.
fn declared_filters(setting: &Setting, plan: &Plan<f64>, params: &[f64]) -> Option<Vec<Filter>> {
    match setting.info.filter?(&lookup(plan, params), &setting.hp) {
        filter::Response::Shared(filter) => Some(vec![filter; WIDTH]),
        filter::Response::Channels(filters) => Some(filters),
        filter::Response::Gain(_) | filter::Response::Tabulated(_) => None,
    }
}

#[test]
fn declared_filters_of_decoupled_models_match_their_outputs() {
    let problem = Problem::random(20, 6);
    let mut stream = Stream::new(6, "theorems");
    let x = Mat::from_vec(20, WIDTH, (0..20 * WIDTH).map(|_| stream.unit()).collect());
    // The filter of Specformer is no polynomial, and the model is not built without a graph.
    let spectral = model::MODELS
        .iter()
        .filter(|info| info.family == ModelFamily::Spectral && info.name != "specformer");
    for mut setting in spectral.flat_map(|info| Setting::variants(info)) {
        let (info, hp) = (setting.info, &mut setting.hp);
        if hp.has("hidden") {
            hp.set("hidden", &WIDTH.to_string()).unwrap();
        }
        let p = operator(&problem.graph(), info.operator.expect("a filter has an operator"));
        let random = |param: &Param| {
            (0..param.rows * param.cols).map(|_| 0.3 + stream.symmetric(1.0)).collect()
        };
        let (plan, params) = with_identity_layers(info, hp, &p, &x, random);
        let Some(filters) = declared_filters(&setting, &plan, &params) else { continue };
        let is_filtered_first = setting.hp.has("precompute") && setting.hp.flag("precompute");
        let actual = scores(&plan, &params);
        for (c, h) in filters.iter().enumerate() {
            let mut expected = filter_by_eigendecomposition(&p, &x, |mu| h.evaluate(mu));
            if is_filtered_first && setting.hp.has("hidden") {
                // The activation of the hidden layer comes after the filter.
                expected.iter_mut().for_each(|value| *value = value.max(0.0));
            }
            let column = |y: &[f64]| y.iter().skip(c).step_by(WIDTH).copied().collect::<Vec<_>>();
            let scale = largest(&expected).max(1.0);
            assert_close(&setting.what, &column(&actual), &column(&expected), scale, 1e-11);
        }
    }
}

/// The filter of the initial weights.
fn initial_filter(name: &str, values: &[(&str, &str)]) -> filter::Response {
    let mut setting = Setting::defaults(model::find(name).unwrap());
    values.iter().for_each(|(key, value)| setting.hp.set(key, value).unwrap());
    let plan = setting.compile::<f64>(&Problem::random(15, 2), Form::Dense);
    let initial = plan.initial_params(&Stream::new(0, "weights"));
    let filter = setting.info.filter.expect("a model with a filter");
    filter(&lookup(&plan, &initial), &setting.hp)
}

#[test]
fn initial_filter_is_the_identity() {
    for name in LEARNED {
        let h = initial_filter(name, &[]);
        assert!(h.sample(101).iter().all(|&(_, h)| h == 1.0), "{name}: {h:?}");
    }
    let decoupled: [(&str, &[(&str, &str)]); 6] = [
        ("gpr-gnn", &[("init", "ppr"), ("alpha", "1")]),
        ("bern-net", &[]),
        ("cheb-base", &[]),
        ("cheb-net-ii", &[]),
        ("poly", &[("filter", "jacobi")]),
        ("poly", &[("filter", "bernstein")]),
    ];
    for (name, values) in decoupled {
        let h = initial_filter(name, values);
        let worst = h.sample(101).iter().fold(0.0, |w: f64, (_, h)| w.max((h - 1.0).abs()));
        assert!(worst < 1e-13, "{name} {values:?}: error {worst}");
    }
}

#[test]
fn random_init_of_gpr_gnn_has_unit_l1_norm() {
    let filter::Response::Shared(h) = initial_filter("gpr-gnn", &[("init", "random")]) else {
        panic!("one filter for all channels");
    };
    let sum: f64 = h.coefficients.iter().map(|gamma| gamma.abs()).sum();
    assert!((sum - 1.0).abs() < 1e-14, "{sum}");
    assert!(h.coefficients.iter().any(|g| *g < 0.0) && h.coefficients.iter().any(|g| *g > 0.0));
}

#[test]
fn cheb_net_ii_interpolates_theta_at_the_chebyshev_nodes() {
    let (info, order) = (model::find("cheb-net-ii").unwrap(), 10);
    let mut stream = Stream::new(7, "theorems");
    let theta: Vec<f64> = (0..=order).map(|_| stream.symmetric(1.0)).collect();
    let weights = |_: &str| Mat::from_vec(1, order + 1, theta.clone());
    for (relu, low) in [("true", 0.0), ("false", -1.0)] {
        let hp = with_values(info, &[("K", order.to_string()), ("relu", relu.into())]);
        let h = info.filter.expect("it learns a filter")(&weights, &hp);
        for (j, theta_j) in theta.iter().enumerate() {
            let x_j = ((order - j) as f64 + 0.5) * std::f64::consts::PI / (order as f64 + 1.0);
            // L^ = -P, so that x_0, the lowest, is the lowest frequency.
            let (actual, expected) = (h.evaluate(-x_j.cos()), theta_j.max(low));
            assert!((actual - expected).abs() < 1e-13, "theta_{j} = {expected}, not {actual}");
        }
    }
}

/// `relu( H* W' ) W_out + b_out` with `W' = beta_K W(K) + (1 - beta_K) I`: a network without a graph.
fn head(net: &mut Net, hp: &Params) -> Var {
    let (width, order) = (hp.int("hidden"), hp.int("K"));
    let x = net.x();
    let h_star = net.dense_layer(("w_in", "b_in"), x, width, "dense");
    let mut h = net.relu(h_star);
    if hp.flag("use_weight") {
        let beta = (hp.real("lambda") / order as f64 + 1.0).ln().min(1.0);
        let w = net.param(format!("conv.{order}.w"), width, width, model::fan_out(width), "conv");
        let hw = net.linear(h, w, None);
        h = net.sum([beta * hw, (1.0 - beta) * h]);
    }
    let h = net.relu(h);
    net.dense_layer(("w_out", "b_out"), h, net.n_classes(), "dense")
}

#[test]
fn initial_network_equals_its_dense_layers() {
    let problem = Problem::random(15, 3);
    let weights = Stream::new(3, "weights"); // one stream per name: both draw the same parameters
    for name in LEARNED {
        for use_weight in ["true", "false"] {
            let mut setting = Setting::defaults(model::find(name).unwrap());
            setting.hp.set("use_weight", use_weight).unwrap();
            let plan = setting.compile::<f64>(&problem, Form::Dense);
            let mut net = Net::dense(problem.x().to_dense(), None, problem.n_classes);
            let logits = head(&mut net, &setting.hp);
            let alone = Plan::<f64>::compile(&net, logits);
            let scores = |plan: &Plan<f64>| {
                let mut work = plan.workspace(ThreadTeam::new(1));
                plan.scores(&mut work, &plan.initial_params(&weights)).to_vec()
            };
            let (actual, expected) = (scores(&plan), scores(&alone));
            let what = format!("{name}, use_weight = {use_weight}");
            assert_close(&what, &actual, &expected, largest(&expected), 1e-14);
        }
    }
}

#[test]
fn one_step_changes_every_coefficient() {
    let problem = Problem::random(30, 4);
    for name in LEARNED {
        let setting = Setting::defaults(model::find(name).unwrap());
        let plan = setting.compile::<f64>(&problem, Form::Sparse);
        let initial = plan.initial_params(&Stream::new(4, "weights"));
        let mut work = plan.workspace(ThreadTeam::new(1));
        plan.gradient(&mut work, &initial, &problem.targets(), &Stream::new(4, "dropout"));
        let mut stepped = initial.clone();
        optimiser(&plan, setting.info, &setting.hp).step(&mut stepped, work.gradients());
        let (before, after) = (lookup(&plan, &initial)("alpha"), lookup(&plan, &stepped)("alpha"));
        for (l, (a, b)) in before.as_slice().iter().zip(after.as_slice()).enumerate() {
            // Weight decay alone moves alpha_K = 1, by lr * wd = 1e-7.
            assert!((a - b).abs() > 1e-6, "{name}: alpha_{l} went from {a} to {b}");
        }
    }
}

/// The gradient of alpha at the paper's initialisation, with this activation in the inner layers.
fn alpha_gradient(order: usize, act: fn(&mut Tape, Var) -> Var) -> Vec<f64> {
    let problem = Problem::random(30, 5);
    let mut t = Tape::new();
    let x = t.features(problem.x().to_dense());
    let p = t.operator(operator(&problem.graph(), Normalisation::Looped));
    let mut start = vec![0.0; order + 1];
    start[order] = 1.0;
    let alpha = t.param("alpha", 1, order + 1, Init::Values(start), "alpha");
    let w_in = t.param("w_in", problem.n_features, 8, Init::Uniform(0.4), "dense");
    let h_star = t.linear(x, w_in, None);
    let h_star = act(&mut t, h_star);
    let (mut h1, mut h2) = (t.zeros_like(h_star), t.zeros_like(h_star)); // H(l-1), H(l-2)
    for l in 0..=order {
        let mut h = t.sum([2.0 * p.apply(h1), -1.0 * h2, alpha.entry(l) * h_star]);
        if l + 2 <= order {
            h = act(&mut t, h);
        }
        (h1, h2) = (h, h1);
    }
    let h = act(&mut t, h1);
    let w_out = t.param("w_out", 8, problem.n_classes, Init::Uniform(0.4), "dense");
    let logits = t.linear(h, w_out, None);
    let plan = Plan::<f64>::compile(&t, logits);
    let mut work = plan.workspace(ThreadTeam::new(1));
    let params = plan.initial_params(&Stream::new(5, "weights"));
    plan.gradient(&mut work, &params, &problem.targets(), &Stream::new(5, "dropout"));
    work.gradients()[..=order].to_vec()
}

#[test]
fn plain_relu_gives_inner_coefficients_no_gradient() {
    let order = 6;
    let usual = alpha_gradient(order, Tape::relu);
    assert_eq!(usual[..order - 1], vec![0.0; order - 1], "alpha_0 ..= alpha_(K-2)");
    assert!(usual[order - 1..].iter().all(|g| g.abs() > 1e-6), "{usual:?}");

    let star = alpha_gradient(order, Tape::relu_star);
    assert!(star.iter().all(|g| g.abs() > 1e-6), "{star:?}");
}
