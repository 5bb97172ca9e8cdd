//! Models without reference fixtures, compared with direct implementations of their equations.

use crate::common::problem::{Form, Problem, Setting, perturbed_params};
use crate::common::{assert_close, largest, lookup};
use clenshaw::graph::{Normalisation, operator};
use clenshaw::model;
use clenshaw::tensor::{AlignedVec, Mat, Plan, ThreadTeam};
use nalgebra::DMatrix;

type Matrix = DMatrix<f64>;

/// A model with random parameters on a small graph.
struct Case {
    problem: Problem,
    plan: Plan<f64>,
    params: AlignedVec<f64>,
}

impl Case {
    fn new(name: &str, hyper: &[(&str, &str)]) -> Self {
        let problem = Problem::random(12, 8);
        let mut setting = Setting::small(model::find(name).unwrap());
        hyper.iter().for_each(|(key, value)| setting.hp.set(key, value).unwrap());
        let plan = setting.compile(&problem, Form::Dense);
        let params = perturbed_params(&plan, 9);
        Self { problem, plan, params }
    }

    /// A parameter by name.
    fn param(&self, name: &str) -> Matrix {
        dense(&lookup(&self.plan, &self.params)(name))
    }

    fn x(&self) -> Matrix {
        dense(&self.problem.x().to_dense())
    }

    /// `x w + b`.
    fn linear(&self, x: &Matrix, w: &str, b: &str) -> Matrix {
        with_bias(x * self.param(w), &self.param(b))
    }

    fn assert_scores(&self, what: &str, expected: &Matrix) {
        let mut work = self.plan.workspace(ThreadTeam::new(1));
        let scores = self.plan.scores(&mut work, &self.params);
        let expected = expected.transpose(); // nalgebra is column-major, scores are row-major
        assert_close(what, scores, expected.as_slice(), largest(expected.as_slice()), 1e-13);
    }
}

fn dense(m: &Mat<f64>) -> Matrix {
    Matrix::from_row_slice(m.rows(), m.cols(), m.as_slice())
}

fn with_bias(mut x: Matrix, b: &Matrix) -> Matrix {
    x.row_iter_mut().for_each(|mut row| row += b);
    x
}

fn relu(x: &Matrix) -> Matrix {
    x.map(|v| v.max(0.0))
}

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// The states `h` of an LSTM after each value of one node.
fn lstm(case: &Case, name: &str, values: &[Matrix]) -> Vec<Matrix> {
    let gate = |letter: char, x: &Matrix, h: &Matrix| {
        let part = |part: &str| case.param(&format!("{name}.{letter}.{part}"));
        x * part("w") + h * part("u") + part("b")
    };
    let width = case.param(&format!("{name}.i.b")).ncols();
    let (mut h, mut c) = (Matrix::zeros(1, width), Matrix::zeros(1, width));
    let mut all = Vec::new();
    for x in values {
        let [i, f, o] = ['i', 'f', 'o'].map(|letter| gate(letter, x, &h).map(sigmoid));
        let g = gate('g', x, &h).map(f64::tanh);
        c = f.component_mul(&c) + i.component_mul(&g);
        h = o.component_mul(&c.map(f64::tanh));
        all.push(h.clone());
    }
    all
}

/// The sum of one node's layers, weighted by the attention of a bidirectional LSTM.
fn attention_sum(case: &Case, values: &[Matrix]) -> Matrix {
    let backwards: Vec<Matrix> = values.iter().rev().cloned().collect();
    let ahead = lstm(case, "forward", values);
    let back = lstm(case, "backward", &backwards);
    let a = case.param("attention.w");
    let width = a.nrows() / 2;
    let score = |l: usize| {
        let entry = |k: usize| ahead[l][k] * a[k] + back[values.len() - 1 - l][k] * a[width + k];
        (0..width).map(entry).sum::<f64>().exp()
    };
    let scores: Vec<f64> = (0..values.len()).map(score).collect();
    let total: f64 = scores.iter().sum();
    values.iter().zip(&scores).map(|(h, score)| h * (score / total)).sum()
}

#[test]
fn gcn_jk_with_lstm_attention_matches_its_equations() {
    // 3 layers of width 3: LSTMs of width 9 / 2, rounded down to 4.
    let settings = [("layers", "3"), ("hidden", "3"), ("bn", "false"), ("join", "lstm")];
    let case = Case::new("gcn-jk", &settings);
    assert_eq!(case.param("forward.f.u").shape(), (4, 4));
    let p = dense(&operator(&case.problem.graph(), Normalisation::Looped).to_dense());
    let (mut h, mut layers) = (case.x(), Vec::new());
    for l in 0..3 {
        h = case.linear(&(&p * h), &format!("conv.{l}.w"), &format!("conv.{l}.b"));
        h = if l < 2 { relu(&h) } else { h };
        layers.push(h.clone());
    }
    let mut joined = h; // [n, 3]
    for (i, mut row) in joined.row_iter_mut().enumerate() {
        let values: Vec<Matrix> = layers.iter().map(|h| h.rows(i, 1).into_owned()).collect();
        row.copy_from(&attention_sum(&case, &values));
    }
    case.assert_scores("gcn-jk", &case.linear(&joined, "w_out", "b_out"));
}

/// ReLU, then batch normalisation with the running statistics.
fn relu_and_batch_norm(case: &Case, name: &str, h: &Matrix) -> Matrix {
    let [gamma, beta, mean, var] =
        ["gamma", "beta", "mean", "var"].map(|part| case.param(&format!("{name}.{part}")));
    let scaled =
        |i, j| (h[(i, j)].max(0.0) - mean[j]) / (var[j] + 1e-5).sqrt() * gamma[j] + beta[j];
    Matrix::from_fn(h.nrows(), h.ncols(), scaled)
}

#[test]
fn linkx_matches_its_equations() {
    let case = Case::new("linkx", &[("layers_A", "2"), ("layers", "2")]);
    let (graph, n) = (case.problem.graph(), case.problem.n_nodes());
    let adjacent = |i: usize, j: usize| graph.adjacency().row(i).contains(&(j as u32));
    let a = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(adjacent(i, j))));

    let h_a = relu_and_batch_norm(&case, "a.0.bn", &case.linear(&a, "a.0.w", "a.0.b"));
    let h_a = case.linear(&h_a, "a.1.w", "a.1.b");
    let h_x = case.linear(&case.x(), "x.0.w", "x.0.b");
    let w = case.param("both.w");
    let width = w.ncols();
    let both = &h_a * w.rows(0, width) + &h_x * w.rows(width, width);
    let h = relu(&(with_bias(both, &case.param("both.b")) + h_a + h_x));
    let h = relu_and_batch_norm(&case, "out.0.bn", &case.linear(&h, "out.0.w", "out.0.b"));
    case.assert_scores("linkx", &case.linear(&h, "out.1.w", "out.1.b"));
}
