//! A model made ready for a graph: compiled once, then shared by all its runs.

use crate::data::{Dataset, Features, Scaling};
use crate::filter::Response;
use crate::graph::operator;
use crate::hyper::Params;
use crate::model::{ModelInfo, Net, OptimiserKind};
use crate::rng::Stream;
use crate::tensor::{
    AlignedVec, GatherPrecision, Mat, Optimiser, OptimiserSettings, Plan, RUNNING, Real, Sparse,
    ThreadTeam, UpdateRule, Var, log_sum_exp,
};

/// A model, its hyper-parameters and its plan for one graph.
pub struct Setup {
    /// The model.
    pub info: &'static ModelInfo,
    /// Its hyper-parameters.
    pub hp: Params,
    plan: Plan<f32>,
}

impl Setup {
    /// Scales the features, builds the model and compiles it.
    ///
    /// ```
    /// use clenshaw::{data, model, train::Setup};
    /// let cora = data::load("cora")?;
    /// let info = model::find("clenshaw-gcn")?;
    /// let setup = Setup::new(&cora, info, info.defaults());
    /// assert_eq!(setup.plan().shape(), (2708, 7));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(dataset: &Dataset, info: &'static ModelInfo, hp: Params) -> Self {
        let (net, logits) = record(dataset, info, &hp);
        let tape = net.into_tape();
        let gathered = match hp.word("gather") {
            "bf16" => GatherPrecision::Bf16,
            _ => GatherPrecision::Full,
        };
        Self { info, plan: Plan::compile_with(&tape, logits, gathered), hp }
    }

    /// The compiled model.
    pub fn plan(&self) -> &Plan<f32> {
        &self.plan
    }

    /// The initial parameters of a run.
    pub fn initial(&self, seed: u64) -> AlignedVec<f32> {
        self.plan.initial(&Stream::new(seed, "weights"))
    }

    /// A parameter vector as named matrices.
    pub fn named(&self, params: &[f32]) -> Vec<(String, Mat<f32>)> {
        let each = self.plan.params().iter().zip(self.plan.ranges());
        each.map(|(p, range)| {
            (p.name.clone(), Mat::from_vec(p.rows, p.cols, params[range].to_vec()))
        })
        .collect()
    }

    /// What the model with these parameters does to each frequency, if that can be said.
    pub fn filter(&self, params: &[f32]) -> Option<Response> {
        let filter = self.info.filter?;
        let mut named = self.named(params);
        named.extend(self.plan.values(&mut self.plan.workspace(ThreadTeam::new(1)), params));
        let weights = |name: &str| {
            let found = named.iter().find(|(other, _)| other == name);
            found.expect("a filter asks for its own model's parameters and named values").1.cast()
        };
        Some(filter(&weights, &self.hp))
    }

    /// What the model with these parameters makes of every node before it names a class, `[n, hidden]`;
    /// nothing, if it does not say.
    pub fn hidden(&self, dataset: &Dataset, params: &[f32]) -> Option<Mat<f32>> {
        let (net, _) = record(dataset, self.info, &self.hp);
        let shown = net.hidden()?;
        let plan = Plan::<f32>::compile(&net.into_tape(), shown);
        let (n, width) = plan.shape();
        let mut work = plan.workspace(ThreadTeam::new(1));
        Some(Mat::from_vec(n, width, plan.scores(&mut work, params).to_vec()))
    }

    /// The probability of every class for every node, `[n, C]`.
    pub fn predict(&self, params: &[f32], threads: usize) -> Mat<f32> {
        let (n, c) = self.plan.shape();
        let mut work = self.plan.workspace(ThreadTeam::new(threads));
        let mut out = Mat::from_vec(n, c, self.plan.scores(&mut work, params).to_vec());
        for row in out.as_mut_slice().chunks_exact_mut(c) {
            let log_sum = log_sum_exp(row);
            row.iter_mut().for_each(|z| *z = (*z - log_sum).exp());
        }
        out
    }
}

/// The model's equations on this graph.
fn record(dataset: &Dataset, info: &ModelInfo, hp: &Params) -> (Net, Var) {
    let scaling: Scaling = hp.word("scaling").parse().expect("the range lists the scalings");
    let p = info.operator.map(|kind| operator(&dataset.graph, kind));
    let mut net = match dataset.x.scaled(scaling) {
        Features::Dense(x) => Net::dense(x.cast(), p, dataset.n_classes()),
        Features::Sparse { pattern, values } => {
            let values = values.into_iter().map(f64::from).collect();
            Net::sparse(Sparse::new(pattern, values), p, dataset.n_classes())
        }
    };
    net = net.with_graph(&dataset.graph);
    let logits = (info.build)(&mut net, hp);
    (net, logits)
}

/// The optimisers that a model's groups and hyper-parameters ask for.
pub fn optimiser<T: Real>(plan: &Plan<T>, info: &ModelInfo, hp: &Params) -> Optimiser<T> {
    let settings = |name: &str| {
        if name == RUNNING {
            return OptimiserSettings { rule: UpdateRule::Momentum(0.0), rate: 0.1, decay: 0.0 };
        }
        let group = info.groups.iter().find(|group| group.name == name);
        let group = group.expect("parameters are declared in the model's own groups");
        let rule = match group.kind {
            OptimiserKind::Adam => UpdateRule::Adam,
            OptimiserKind::AdamW => UpdateRule::AdamW,
            OptimiserKind::Momentum(key) => UpdateRule::Momentum(hp.real(key)),
        };
        OptimiserSettings { rule, rate: hp.real(group.rate), decay: hp.real(group.decay) }
    };
    let params = plan.params().iter().zip(plan.ranges());
    Optimiser::new(params.map(|(param, range)| (range, settings(param.group))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::hyper::ValueRange;
    use crate::model::{self, MODELS};

    #[test]
    fn the_last_layer_reads_what_is_hidden() {
        let dataset = data::load("csbm:nodes=50").unwrap();
        let info = model::find("clenshaw-gcn").unwrap();
        let setup = Setup::new(&dataset, info, info.defaults());
        let params = setup.initial(3);
        let hidden = setup.hidden(&dataset, &params).unwrap();
        let named = setup.named(&params);
        let of = |name: &str| &named.iter().find(|(other, _)| other == name).unwrap().1;
        let (w, b) = (of("w_out"), of("b_out"));
        let mut work = setup.plan().workspace(ThreadTeam::new(1));
        let scores = setup.plan().scores(&mut work, &params);
        for (i, score) in scores.iter().enumerate() {
            let (row, class) = (i / w.cols(), i % w.cols());
            let products = (0..w.rows()).map(|k| hidden.row(row)[k] * w.row(k)[class]);
            let expected = products.sum::<f32>() + b.row(0)[class];
            assert!((score - expected).abs() < 1e-5, "{score} and {expected}");
        }
        let mlp = model::find("mlp").unwrap();
        let setup = Setup::new(&dataset, mlp, mlp.defaults());
        assert!(setup.hidden(&dataset, &setup.initial(0)).is_none());
    }

    #[test]
    fn every_declared_scaling_exists() {
        for info in MODELS {
            let scaling = info.hyper_params().find(|hyper| hyper.name == "scaling").unwrap();
            assert_eq!(scaling.range, ValueRange::OneOf(Scaling::WORDS), "{}", info.name);
        }
    }
}
