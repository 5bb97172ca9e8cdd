//! The networks of the theorems, with the weights used in the proofs.
//!
//! ```text
//! H*   = relu( X W + b )                                       W, b: arbitrary
//! W(l) = I, b(l) = 0                                           so that (1 - beta_l) I + beta_l W(l) = I
//! relu(x) = x                                                  in inner layers: `use_act = false`
//! ```
//!
//! This is the same model as in training, on the graph's own features, but with these weights. Its last
//! activation cannot be turned off and removes negative entries of `H(K)`. But `H(K)` is linear in
//! alpha, so a second pass with `-alpha` recovers them: `relu(h) - relu(-h) = h`.

use crate::data::{Dataset, Features};
use crate::error::Result;
use crate::graph::operator;
use crate::model::{self, Net};
use crate::tensor::{Mat, Param, Plan, Sparse, ThreadTeam};

/// The weights of the first layer.
pub struct FirstLayer {
    /// `[F, d]`.
    pub w: Mat<f64>,
    /// `[d]`.
    pub b: Vec<f64>,
}

impl FirstLayer {
    /// `H* = relu( X W + b )`, computed entry by entry.
    pub fn apply(&self, x: &Features) -> Mat<f64> {
        let d = self.b.len();
        let mut h = Mat::zeros(x.n_rows(), d);
        for i in 0..x.n_rows() {
            (0..d).for_each(|c| h[(i, c)] = self.b[c]);
            let mut add = |j: usize, value: f32| {
                for c in 0..d {
                    h[(i, c)] += f64::from(value) * self.w[(j, c)];
                }
            };
            match x {
                Features::Dense(x) => x.row(i).iter().enumerate().for_each(|(j, v)| add(j, *v)),
                Features::Sparse { pattern, values } => {
                    let entries = pattern.offsets()[i]..pattern.offsets()[i + 1];
                    let row = pattern.row(i).iter().zip(&values[entries]);
                    row.for_each(|(&j, v)| add(j as usize, *v));
                }
            }
        }
        h.as_mut_slice().iter_mut().for_each(|entry| *entry = entry.max(0.0));
        h
    }
}

/// HornerGCN or ClenshawGCN without inner activations.
pub struct LinearNetwork {
    plan: Plan<f64>,
    channels: usize,
}

impl LinearNetwork {
    /// Builds the model `name` of this order on a graph, with this number of columns in every layer. Fails if the
    /// model is unknown or does not accept one of the settings.
    pub fn new(name: &str, dataset: &Dataset, order: usize, channels: usize) -> Result<Self> {
        let info = model::find(name)?;
        let mut hp = info.defaults();
        for (key, value) in [("K", order), ("hidden", channels)] {
            hp.set(key, &value.to_string())?;
        }
        hp.set("use_act", "false")?;
        let p = info.operator.map(|kind| operator(&dataset.graph, kind));
        let mut net = match &dataset.x {
            Features::Dense(x) => Net::dense(x.cast(), p, channels),
            Features::Sparse { pattern, values } => {
                let values = values.iter().map(|&v| f64::from(v)).collect();
                Net::sparse(Sparse::new(pattern.clone(), values), p, channels)
            }
        };
        let scores = (info.build)(&mut net, &hp);
        Ok(Self { plan: Plan::compile(&net, scores), channels })
    }

    /// `H(K)` for coefficients ordered by layer.
    pub fn last_layer(&self, first: &FirstLayer, alpha: &[f64]) -> Mat<f64> {
        let negated: Vec<f64> = alpha.iter().map(|a| -a).collect();
        let mut h = self.relu_last_layer(first, alpha);
        h.add_scaled(-1.0, &self.relu_last_layer(first, &negated));
        h
    }

    /// `relu(H(K))`.
    fn relu_last_layer(&self, first: &FirstLayer, alpha: &[f64]) -> Mat<f64> {
        let d = self.channels;
        let identity = || Mat::<f64>::identity(d).as_slice().to_vec();
        let params = self.plan.param_vector(|Param { name, .. }| match name.as_str() {
            "alpha" => alpha.to_vec(),
            "w_in" => first.w.as_slice().to_vec(),
            "b_in" => first.b.clone(),
            name if name == "w_out" || name.ends_with(".w") => identity(),
            _ => vec![0.0; d],
        });
        let mut work = self.plan.workspace(ThreadTeam::new(1));
        let scores = self.plan.scores(&mut work, &params).to_vec();
        Mat::from_vec(self.plan.shape().0, d, scores)
    }
}
