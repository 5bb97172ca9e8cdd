//! Gradients of every model, and of unusual tapes, compared with finite differences in f64.

use crate::common::differences::assert_gradients;
use crate::common::problem::{Form, Problem, every_setting, perturbed_params};
use clenshaw::graph::{Normalisation, operator};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Init, Mat, OperatorVar, Plan, Tape, Targets, ThreadTeam, Var};

/// Compares the gradients at perturbed parameters with finite differences.
fn check(what: &str, plan: &Plan<f64>, problem: &Problem) {
    let dropout = Stream::new(3, "dropout");
    let (params, targets) = (perturbed_params(plan, 5), problem.targets());
    assert_gradients(what, plan, &params, &targets, &dropout, 1e-6);
}

#[test]
fn gradients_of_every_model_agree_with_a_fixed_dropout_mask() {
    // The masks are a function of the stream, so the loss is still differentiable.
    let problem = Problem::random(12, 2);
    for setting in every_setting().map(|setting| setting.with_dropout(0.3)) {
        check(&setting.what, &setting.compile(&problem, Form::Sparse), &problem);
    }
}

#[test]
fn gradients_of_every_model_agree_over_several_chunks_of_rows() {
    let problem = Problem::random(150, 3);
    for setting in every_setting() {
        if setting.what == setting.info.name || setting.what.ends_with("all options") {
            check(&setting.what, &setting.compile(&problem, Form::Dense), &problem);
        }
    }
}

#[test]
fn gradients_of_every_model_agree_on_a_weighted_graph() {
    let problem = Problem { weighted: true, ..Problem::random(12, 7) };
    assert!(problem.graph().weights().is_some());
    for setting in every_setting() {
        check(&setting.what, &setting.compile(&problem, Form::Dense), &problem);
    }
}

#[test]
fn plan_multiplies_by_a_weighted_operator() {
    let problem = Problem { weighted: true, ..Problem::random(40, 8) };
    for kind in [Normalisation::Plain, Normalisation::Looped] {
        let p = operator(&problem.graph(), kind);
        let x = problem.x().to_dense();
        let mut tape = Tape::new();
        let (x_var, p_var) = (tape.features(x.clone()), tape.operator(p.clone()));
        let product = tape.sum([p_var.apply(x_var)]);
        let plan = Plan::<f64>::compile(&tape, product);
        let mut work = plan.workspace(ThreadTeam::new(2));
        let scores = plan.scores(&mut work, &plan.zeros()).to_vec();
        for (found, expected) in scores.iter().zip(p.apply(&x).as_slice()) {
            assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
        }
    }
}

#[test]
fn gradients_of_every_model_agree_for_every_setting() {
    // With as many nodes as a parameter has rows, per-node and parameter buffers have equal shapes.
    for n in [2, 3, 5, 7, 12] {
        let problem = Problem::random(n, 6);
        for setting in every_setting() {
            let what = format!("{} on {n} nodes", setting.what);
            for form in [Form::Dense, Form::Sparse] {
                check(&what, &setting.compile(&problem, form), &problem);
            }
        }
    }
}

/// A tape with the features of a problem on it.
struct TapeTest {
    problem: Problem,
    tape: Tape,
    x: Var,
    p: OperatorVar,
}

impl TapeTest {
    fn with_nodes(n_nodes: usize) -> Self {
        let problem = Problem::random(n_nodes, 4);
        let mut tape = Tape::new();
        let x = tape.features(problem.x().to_dense());
        let p = tape.operator(operator(&problem.graph(), Normalisation::Looped));
        Self { problem, tape, x, p }
    }

    fn param(&mut self, name: &str, rows: usize, cols: usize) -> Var {
        self.tape.param(name, rows, cols, Init::Uniform(0.8), "test")
    }

    /// Records `x w` with a new weight of this name, `[n, width]`.
    fn project(&mut self, name: &str, width: usize) -> Var {
        let w = self.param(name, self.problem.n_features, width);
        self.tape.linear(self.x, w, None)
    }

    fn check(self, what: &str, logits: Var) {
        check(what, &Plan::compile(&self.tape, logits), &self.problem);
    }
}

#[test]
fn loss_and_gradients_of_the_squared_error_agree() {
    for n in [12, 150] {
        let mut b = TapeTest::with_nodes(n);
        let h = b.project("w", 2);
        let h = b.tape.relu(h);
        let y = b.tape.sum([0.5 * b.p.apply(h), 1.0 * h]);
        let plan = Plan::compile(&b.tape, y);
        let mut stream = Stream::new(8, "test");
        let values = Mat::from_vec(n, 2, (0..2 * n).map(|_| stream.symmetric(1.0)).collect());
        let weights: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 3 > 0)) * 0.7).collect();
        let (params, dropout) = (perturbed_params(&plan, 5), Stream::new(3, "dropout"));
        let targets = Targets::squared_error(&values, &weights);
        assert_gradients("squares", &plan, &params, &targets, &dropout, 1e-6);

        let mut work = plan.workspace(ThreadTeam::new(1));
        let scores = plan.scores(&mut work, &params).to_vec();
        let squares = scores.iter().zip(values.as_slice()).map(|(z, y)| (z - y).powi(2));
        let expected: f64 = squares.enumerate().map(|(i, square)| weights[i / 2] * square).sum();
        let loss = plan.gradient(&mut work, &params, &targets, &dropout);
        assert!((loss - expected).abs() < 1e-12 * expected, "{loss}, not {expected}");
    }
}

/// Records an unusual computation; returns the class scores.
type Recording = fn(&mut TapeTest) -> Var;

/// A description of what is unusual, the number of nodes, and the computation.
const TAPES: [(&str, usize, Recording); 19] = [
    ("a value used many times", 12, |b| {
        let h = b.project("w", 3);
        let mut y = b.tape.relu(h);
        for l in 0..7 {
            let terms = [0.5 * b.p.apply(y), 0.1 * l as f64 * h, -0.2 * h];
            y = b.tape.sum(terms);
            y = b.tape.relu_star(y);
        }
        b.tape.sum([1.0 * y, b.p.apply(h)])
    }),
    ("a value multiplied by P many times", 12, |b| {
        let h = b.project("w", 3);
        let products: Vec<Var> =
            (1..=6).map(|c| b.tape.sum([c as f64 * b.p.apply(h), -1.0 * h])).collect();
        b.tape.sum(products.into_iter().map(|v| 0.3 * v))
    }),
    ("a long sum", 12, |b| {
        let alpha = b.param("alpha", 1, 11);
        let bias = b.param("bias", 1, 3);
        let parts: Vec<Var> = (0..11).map(|k| b.project(&format!("w{k}"), 3)).collect();
        let mut terms: Vec<_> =
            parts.iter().enumerate().map(|(k, v)| alpha.entry(k) * *v).collect();
        terms.extend(parts.iter().map(|v| -0.5 * *v));
        terms.extend([2.0 * b.p.apply(parts[0]), 1.0 * bias]);
        b.tape.sum(terms)
    }),
    ("a shared weight", 12, |b| {
        let w = b.param("w", 3, 3);
        let bias = b.param("bias", 1, 3);
        let h = b.project("w_in", 3);
        let first = b.tape.linear(h, w, Some(bias));
        let first = b.tape.relu(first);
        let eye = b.tape.constant(Mat::identity(3));
        let mixed = b.tape.sum([0.4 * w, 0.6 * eye]);
        let second = b.tape.linear(first, mixed, Some(bias));
        let third = b.tape.linear(second, w, None);
        b.tape.sum([1.0 * third, 0.5 * first, 1.0 * bias])
    }),
    ("a weight used on nodes, then among parameters", 12, |b| {
        let (w, bias) = (b.param("w", 3, 3), b.param("bias", 1, 3));
        let h = b.project("w_in", 3);
        let h = b.tape.linear(h, w, Some(bias));
        let h = b.tape.relu(h);
        let product = b.param("v", 3, 3);
        let product = b.tape.linear(product, w, Some(bias)); // V W + b: no row per node
        b.tape.linear(h, product, None)
    }),
    ("a weight used among parameters, then on nodes", 12, |b| {
        let (w, bias) = (b.param("w", 3, 3), b.param("bias", 1, 3));
        let product = b.param("v", 3, 3);
        let product = b.tape.linear(product, w, Some(bias));
        let product = b.tape.relu(product);
        let h = b.project("w_in", 3);
        let h = b.tape.linear(h, w, Some(bias));
        b.tape.linear(h, product, None)
    }),
    ("a computed weight as tall as the graph", 7, |b| {
        // The weight's gradient is a sum over all nodes and has as many rows as there are nodes.
        let w = b.param("w", 7, 7);
        let doubled = b.tape.sum([2.0 * w]);
        let h = b.tape.linear(b.x, doubled, None);
        let w_out = b.param("w_out", 7, 3);
        b.tape.linear(h, w_out, None)
    }),
    ("shared parts of concatenations", 12, |b| {
        let h = b.project("w", 2);
        let g = b.project("v", 3);
        let ph = b.tape.sum([b.p.apply(h)]);
        let wide = b.tape.concat(&[h, g, ph, h, b.x]);
        let wide = b.tape.relu(wide);
        let wider = b.tape.concat(&[wide, h]);
        let (_, width) = b.tape.shape(wider);
        let w_out = b.param("w_out", width, 3);
        let y = b.tape.linear(wider, w_out, None);
        b.tape.sum([1.0 * y, 0.5 * g])
    }),
    ("a learned factor used twice", 12, |b| {
        let alpha = b.param("alpha", 1, 3);
        let (h, g) = (b.project("w", 3), b.project("v", 3));
        let s = b.tape.sum([b.p.apply(h), alpha.entry(1) * h, alpha.entry(1) * g]);
        let s = b.tape.relu_star(s);
        // and once as a bias
        b.tape.sum([alpha.entry(1) * s, alpha.entry(0) * h, 1.0 * alpha])
    }),
    ("a computed factor", 12, |b| {
        let alpha = b.param("alpha", 1, 4);
        let t = b.tape.constant(Mat::from_vec(4, 4, (0..16).map(|i| (i as f64).sin()).collect()));
        let gamma = b.tape.linear(alpha, t, None);
        let gamma = b.tape.relu(gamma);
        let h = b.project("w", 3);
        b.tape.sum((0..4).map(|k| gamma.entry(k) * h).chain([alpha.entry(3) * h]))
    }),
    ("dropout of an activation that is also used otherwise", 12, |b| {
        let h = b.project("w", 3);
        let active = b.tape.relu(h);
        let dropped = b.tape.dropout(active, 0.5);
        let again = b.tape.dropout(dropped, 0.25);
        b.tape.sum([b.p.apply(dropped), 0.5 * active, 2.0 * again, -0.3 * h])
    }),
    ("factors by column", 150, |b| {
        let alpha = b.param("alpha", 4, 3);
        let h = b.project("w", 3);
        let (mut h1, mut h2) = (h, b.tape.zeros_like(h));
        for k in 0..3 {
            let terms = [b.p.apply(h1), alpha.row(k) * h1, -0.5 * h2, alpha.row(k + 1) * h];
            (h1, h2) = (b.tape.sum(terms), h1);
        }
        b.tape.sum([alpha.row(3) * h1, 1.0 * h2])
    }),
    ("functions of parameters", 12, |b| {
        let eta = b.param("eta", 4, 1);
        let s = b.param("s", 5, 3);
        let w = b.param("w_out", 5, 3);
        let g = b.tape.tanh(eta);
        let products = b.tape.running_product(g);
        let w = b.tape.scale_rows(w, products, 0);
        let s = b.tape.clamp_min(s, 0.2);
        let s = b.tape.sigmoid(s);
        let s = b.tape.reciprocal(s);
        let w = b.tape.product(w, s);
        let h = b.project("w", 3);
        b.tape.sum((0..5).map(|k| w.row(k) * h))
    }),
    ("an orthogonal basis", 150, |b| {
        // One Lanczos step per column: gradients pass through norms and inner products.
        let alpha = b.param("alpha", 2, 3);
        let unit = |b: &mut TapeTest, v: Var| {
            let square = b.tape.column_dots(v, v);
            let square = b.tape.clamp_min(square, 1e-16);
            let norm = b.tape.sqrt(square);
            let inverse = b.tape.reciprocal(norm);
            b.tape.sum([inverse.row(0) * v])
        };
        let z = b.project("w", 3);
        let b0 = unit(b, z);
        let v = b.tape.sum([b.p.apply(b0)]);
        let along = b.tape.column_dots(v, b0);
        let along = b.tape.sum([-1.0 * along]);
        let v = b.tape.sum([1.0 * v, along.row(0) * b0]);
        let b1 = unit(b, v);
        b.tape.sum([alpha.row(0) * b0, alpha.row(1) * b1])
    }),
    ("maximum, shrinkage and softmax", 150, |b| {
        let parts: Vec<Var> = (0..3).map(|k| b.project(&format!("w{k}"), 3)).collect();
        let largest = b.tape.max(parts[0], parts[1]);
        let largest = b.tape.max(largest, parts[2]);
        let residue = b.tape.sum([b.p.apply(largest), -1.0 * largest]);
        let shrunk = b.tape.shrink(residue, 0.4);
        let shares = b.tape.softmax(parts[2]);
        let scaled = b.tape.scale_rows(shrunk, shares, 1);
        let again = b.tape.scale_rows(largest, shares, 2);
        let gate = b.tape.sigmoid(parts[0]);
        let gated = b.tape.product(gate, again);
        b.tape.sum([1.0 * scaled, 1.0 * gated, 0.5 * shrunk])
    }),
    ("a filter on the columns of a matrix with a row per node", 150, |b| {
        let u: Vec<f64> = (0..150 * 9).map(|i| (0.37 * i as f64).sin()).collect();
        let u = b.tape.features(Mat::from_vec(150, 9, u));
        let (z, g, f) = (b.project("w", 3), b.project("v", 4), b.param("f", 9, 2));
        let spectrum = b.tape.inner_products(u, z);
        let spectrum = b.tape.scale_rows(spectrum, f, 1);
        let filtered = b.tape.linear(u, spectrum, None);
        // Both factors depend on parameters.
        let mixed = b.tape.inner_products(g, z);
        let mixed = b.tape.linear(g, mixed, None);
        b.tape.sum([1.0 * filtered, 0.1 * mixed, 1.0 * z])
    }),
    ("attention among parameters", 12, |b| {
        let e = b.param("e", 6, 4);
        let (q, k, v) = (b.param("q", 4, 4), b.param("k", 4, 4), b.param("v", 4, 3));
        let [q, k, v] = [q, k, v].map(|w| b.tape.linear(e, w, None));
        let k = b.tape.transpose(k);
        let scores = b.tape.linear(q, k, None);
        let weights = b.tape.softmax(scores);
        let weights = b.tape.dropout(weights, 0.3);
        let mixed = b.tape.linear(weights, v, None);
        let products = b.tape.inner_products(mixed, mixed);
        let h = b.project("w", 3);
        let (p, again) = (b.tape.linear(h, products, None), b.tape.transpose(mixed));
        let w = b.tape.linear(again, mixed, None);
        let h = b.tape.linear(h, w, None);
        b.tape.sum([1.0 * p, 0.5 * h])
    }),
    ("layer normalisation and GELU", 150, |b| {
        let h = b.project("w0", 5);
        let h = b.tape.layer_norm("ln.0", h, 1e-5, "test");
        let h = b.tape.gelu(h);
        let w = b.param("w1", 5, 3);
        let h = b.tape.linear(h, w, None);
        let h = b.tape.sum([b.p.apply(h)]);
        b.tape.layer_norm("ln.1", h, 1e-2, "test")
    }),
    ("batch normalisation", 150, |b| {
        let h = b.project("w0", 4);
        let h = b.tape.batch_norm("bn.0", h, 1e-5, "test");
        let h = b.tape.relu(h);
        let w = b.param("w1", 4, 3);
        let h = b.tape.linear(h, w, None);
        let h = b.tape.sum([b.p.apply(h)]);
        b.tape.batch_norm("bn.1", h, 1e-5, "test")
    }),
];

#[test]
fn gradients_of_unusual_tapes_agree() {
    for (what, n_nodes, record) in TAPES {
        let mut b = TapeTest::with_nodes(n_nodes);
        let y = record(&mut b);
        b.check(what, y);
    }
}

/// A way to use a parameter `w` of shape `[n, n]` on a graph of n nodes with features `h`, also
/// `[n, n]`; returns `[n, n]`.
type Use = fn(&mut TapeTest, w: Var, h: Var) -> Var;

const USES: [(&str, Use); 20] = [
    ("weight", |b, w, h| b.tape.linear(h, w, None)),
    ("weight among parameters", |b, w, _| b.tape.linear(w, w, None)),
    ("weight of sparse features", |b, w, _| {
        let x = b.tape.sparse_features(b.problem.x());
        b.tape.linear(x, w, None)
    }),
    ("bias", |b, w, h| {
        let sums = b.tape.column_sums(w);
        b.tape.linear(h, w, Some(sums))
    }),
    ("term", |b, w, h| b.tape.sum([0.7 * w, 1.0 * h])),
    ("term among parameters", |b, w, _| b.tape.sum([0.7 * w, -0.2 * w])),
    ("product with P", |b, w, h| b.tape.sum([0.7 * b.p.apply(w), 1.0 * h])),
    ("product with P among parameters", |b, w, _| b.tape.sum([0.7 * b.p.apply(w)])),
    ("factor", |b, w, h| b.tape.sum([w.entry(3) * h])),
    ("factor among parameters", |b, w, _| b.tape.sum([w.entry(3) * w])),
    ("factor by column", |b, w, h| b.tape.sum([w.row(2) * h])),
    ("element-wise product", |b, w, h| b.tape.product(w, h)),
    ("function", |b, w, _| b.tape.tanh(w)),
    ("inner products", |b, w, h| {
        let dots = b.tape.column_dots(w, h);
        b.tape.sum([dots.row(0) * h])
    }),
    ("row factors", |b, w, h| b.tape.scale_rows(h, w, 1)),
    ("scaled rows", |b, w, h| b.tape.scale_rows(w, h, 1)),
    ("gate", |b, w, _| b.tape.relu_star(w)),
    ("part of a concatenation", |b, w, h| {
        let both = b.tape.concat(&[w, h]);
        let mix =
            b.tape.constant(Mat::from_vec(14, 7, (0..98).map(|i| (i as f64).sin()).collect()));
        b.tape.linear(both, mix, None)
    }),
    ("normalised", |b, w, _| {
        let name = format!("bn.{}", b.tape.params().len());
        b.tape.batch_norm(&name, w, 1e-5, "test")
    }),
    ("with standardised rows", |b, w, _| b.tape.standardise(w, 1e-2)),
];

#[test]
fn gradients_of_a_parameter_used_in_two_ways_agree() {
    for (first, use_first) in USES {
        for (second, use_second) in USES {
            let mut b = TapeTest::with_nodes(7);
            assert_eq!(b.problem.n_features, 7);
            let (x, w) = (b.x, b.param("w", 7, 7));
            let a = use_first(&mut b, w, x);
            // Twice, so that gradient terms of one kind meet as well.
            let c = use_second(&mut b, w, x);
            let d = use_second(&mut b, w, a);
            let sum = b.tape.sum([1.0 * a, 0.5 * c, 0.3 * d]);
            let w_out = b.param("w_out", 7, 3);
            let y = b.tape.linear(sum, w_out, None);
            b.check(&format!("{first}, then {second}"), y);
        }
    }
}

#[test]
fn gradients_of_a_frozen_plan_with_dropout_agree() {
    // Dropout is off in both passes, so the gradient is that of the scores.
    let mut b = TapeTest::with_nodes(12);
    let h = b.project("w", 4);
    let active = b.tape.relu(h);
    let dropped = b.tape.dropout(active, 0.5);
    let again = b.tape.dropout(dropped, 0.25);
    let w_out = b.param("w_out", 4, 3);
    let y = b.tape.linear(again, w_out, None);
    let plan = Plan::compile_frozen(&b.tape, y);
    check("a frozen plan with dropout", &plan, &b.problem);
}

#[test]
fn two_dropouts_of_one_value_use_different_masks() {
    let mut b = TapeTest::with_nodes(12);
    let h = b.project("w", 3);
    let (left, right) = (b.tape.dropout(h, 0.5), b.tape.dropout(h, 0.5));
    let y = b.tape.sum([1.0 * left, -1.0 * right]);
    let plan = Plan::<f64>::compile(&b.tape, y);
    let mut work = plan.workspace(ThreadTeam::new(1));
    let dropout = Stream::new(3, "dropout");
    plan.gradient(&mut work, &perturbed_params(&plan, 5), &b.problem.targets(), &dropout);
    assert!(work.gradients().iter().any(|g| *g != 0.0), "two dropouts share one mask");
    b.check("two dropouts of one value", y);
}

#[test]
fn gradients_of_unused_parameters_are_exactly_zero() {
    let mut b = TapeTest::with_nodes(12);
    let unused = b.param("unused", 2, 3);
    let _dead_end = b.tape.relu(unused);
    let y = b.project("w", 3);
    let plan = Plan::<f64>::compile(&b.tape, y);
    let mut work = plan.workspace(ThreadTeam::new(1));
    let params = perturbed_params(&plan, 5);
    for _ in 0..2 {
        plan.gradient(&mut work, &params, &b.problem.targets(), &Stream::new(0, "dropout"));
        let [unused, used] = [0, 1].map(|i| &work.gradients()[plan.ranges()[i].clone()]);
        assert_eq!(unused, [0.0; 6]);
        assert!(used.iter().all(|g| *g != 0.0), "{used:?}");
    }
}

#[test]
fn gradients_of_running_statistics_are_their_differences_from_the_batch() {
    // x w is the features' first column: its mean and unbiased variance by hand.
    let mut b = TapeTest::with_nodes(12);
    let x = b.problem.x().to_dense();
    let column: Vec<f64> = (0..12).map(|i| x[(i, 0)]).collect();
    let mean = column.iter().sum::<f64>() / 12.0;
    let var = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 11.0;
    let first = (0..b.problem.n_features).map(|j| f64::from(u8::from(j == 0))).collect();
    let w = b.tape.param("w", b.problem.n_features, 1, Init::Values(first), "test");
    let h = b.tape.linear(b.x, w, None);
    let h = b.tape.batch_norm("bn", h, 1e-5, "test");
    let y = b.tape.concat(&[h, h, h]);
    let plan = Plan::<f64>::compile(&b.tape, y);
    let params = plan.initial_params(&Stream::new(0, "weights"));
    let mut work = plan.workspace(ThreadTeam::new(1));
    plan.gradient(&mut work, &params, &b.problem.targets(), &Stream::new(0, "dropout"));
    let gradient = |name: &str| {
        let index = plan.params().iter().position(|param| param.name == name).unwrap();
        work.gradients()[plan.ranges()[index].start]
    };
    assert!((gradient("bn.mean") - (0.0 - mean)).abs() < 1e-14, "{}", gradient("bn.mean"));
    assert!((gradient("bn.var") - (1.0 - var)).abs() < 1e-14, "{}", gradient("bn.var"));
}
