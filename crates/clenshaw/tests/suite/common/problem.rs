//! Small random graphs with features and labels, and settings of every model to test with them.

use clenshaw::graph::{Graph, operator};
use clenshaw::hyper::{HyperParam, Params, TuningSpace, Value, ValueRange};
use clenshaw::model::{MODELS, ModelInfo, Net, OptimiserGroup, OptimiserKind};
use clenshaw::rng::Stream;
use clenshaw::tensor::{
    AlignedVec, GatherPrecision, NodeOrder, Pattern, Plan, Real, Sparse, Targets,
};

/// The largest size (layers, width, order) of a model in a test that visits every parameter.
const SMALL: i64 = 5;

/// A graph whose nodes have features and classes.
#[derive(Clone)]
pub struct Problem {
    pub n_features: usize,
    pub n_classes: usize,
    pub edges: Vec<(u32, u32)>,
    /// Whether edges have different weights.
    pub weighted: bool,
    /// Column and value of every feature, node by node.
    pub features: Vec<Vec<(u32, f64)>>,
    pub labels: Vec<u32>,
    /// The order in which the rows of nodes are stored; `None` for the order of their numbers.
    pub order: Option<Vec<u32>>,
}

/// The form in which features are passed to a model.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Dense,
    Sparse,
}

impl Problem {
    /// A random problem with about four neighbours per node; the first node has no features, the last one no
    /// neighbours.
    pub fn random(n_nodes: usize, seed: u64) -> Self {
        let (n_features, n_classes) = (7, 3);
        let mut stream = Stream::new(seed, "test problem");
        let mut end = || stream.below(n_nodes - 1) as u32;
        let edges = (0..2 * n_nodes).map(|_| (end(), end())).collect();
        let mut row = |i: usize| {
            let kept = (0..n_features as u32).filter(|_| i > 0 && stream.unit() < 0.5);
            let kept: Vec<u32> = kept.collect();
            kept.into_iter().map(|j| (j, stream.symmetric(2.0))).collect()
        };
        let features = (0..n_nodes).map(&mut row).collect();
        let labels = (0..n_nodes).map(|_| stream.below(n_classes) as u32).collect();
        Self { n_features, n_classes, edges, weighted: false, features, labels, order: None }
    }

    /// A random problem in which every 20 consecutive nodes have 12 neighbours in common, so that products
    /// with the graph share sums.
    pub fn grouped(n_nodes: usize, seed: u64) -> Self {
        let mut problem = Self::random(n_nodes, seed);
        let common = |i: usize| (0..12).map(move |k| (i / 20 * 7 + 31 * k) % n_nodes);
        let edges = (0..n_nodes).flat_map(|i| common(i).map(move |j| (i as u32, j as u32)));
        problem.edges.extend(edges);
        problem
    }

    pub fn n_nodes(&self) -> usize {
        self.labels.len()
    }

    pub fn graph(&self) -> Graph {
        let weight = |i: usize| if self.weighted { 0.25 + (i % 7) as f32 } else { 1.0 };
        let edges = self.edges.iter().enumerate().map(|(i, &(u, v))| (u, v, weight(i)));
        let edges: Vec<(u32, u32, f32)> = edges.collect();
        let order = self.order.clone().map(|nodes| NodeOrder::new(nodes).unwrap());
        let graph = Graph::from_weighted_edges("test problem", self.n_nodes(), &edges).unwrap();
        graph.with_node_order(order)
    }

    pub fn x(&self) -> Sparse {
        let starts = self.features.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(starts).collect();
        let (indices, values) = self.features.iter().flatten().copied().unzip();
        Sparse::new(Pattern::new(self.n_features, offsets, indices), values)
    }

    /// The same problem, in which node `i` has become node `new_number[i]`.
    pub fn renumbered(&self, new_number: &[u32]) -> Self {
        let mut renumbered = self.clone();
        let edge = |&(u, v): &(u32, u32)| (new_number[u as usize], new_number[v as usize]);
        renumbered.edges = self.edges.iter().map(edge).collect();
        for (i, &j) in new_number.iter().enumerate() {
            renumbered.features[j as usize] = self.features[i].clone();
            renumbered.labels[j as usize] = self.labels[i];
        }
        renumbered
    }

    /// The mean loss over two thirds of the nodes, among them the first and the last.
    pub fn targets<T: Real>(&self) -> Targets<T> {
        let last = self.n_nodes() as u32 - 1;
        let nodes: Vec<u32> = (0..=last).filter(|i| i % 3 != 1 || *i == last).collect();
        Targets::cross_entropy(self.n_nodes(), &nodes, |i| self.labels[i as usize])
    }

    fn net(&self, info: &ModelInfo, form: Form) -> Net {
        let p = info.operator.map(|kind| operator(&self.graph(), kind));
        let net = match form {
            Form::Dense => Net::dense(self.x().to_dense(), p, self.n_classes),
            Form::Sparse => Net::sparse(self.x(), p, self.n_classes),
        };
        net.with_graph(&self.graph())
    }
}

/// A model with a value for each of its hyper-parameters.
#[derive(Clone)]
pub struct Setting {
    pub info: &'static ModelInfo,
    pub hp: Params,
    /// The model's name, and the hyper-parameter that was changed.
    pub what: String,
}

impl Setting {
    /// The model's defaults, except that dropout is off.
    pub fn defaults(info: &'static ModelInfo) -> Self {
        Self { info, hp: info.defaults(), what: info.name.into() }.with_dropout(0.0)
    }

    /// [`Setting::defaults`] with every integer at most [`SMALL`], if its range allows.
    pub fn small(info: &'static ModelInfo) -> Self {
        let mut setting = Self::defaults(info);
        for hyper in info.hyper {
            if let (ValueRange::Int(low, _), Value::Int(default)) = (hyper.range, hyper.default) {
                setting.set(hyper, Value::Int(default.min(SMALL).max(low)));
            }
        }
        setting
    }

    /// [`Setting::small`], and variants of it with one hyper-parameter changed. Dropout and the
    /// hyper-parameters of optimisers are not changed.
    pub fn variants(info: &'static ModelInfo) -> Vec<Self> {
        let base = Self::small(info);
        let shapes_the_model =
            |hyper: &&HyperParam| !is_dropout(hyper) && !optimiser_keys(info).contains(&hyper.name);
        let mut settings = vec![base.clone()];
        for hyper in info.hyper.iter().filter(shapes_the_model) {
            for value in other_values(hyper) {
                let mut setting = base.clone();
                setting.set(hyper, value);
                setting.what = format!("{} with {} = {value}", info.name, hyper.name);
                settings.push(setting);
            }
        }
        settings
    }

    /// [`Setting::small`] with norm, skip connections and the options that belong to them, all at once; none if
    /// the model does not have them.
    pub fn combined_options(info: &'static ModelInfo) -> Vec<Self> {
        let mut settings = vec![];
        for norm in ["batch", "layer"] {
            let mut setting = Self::small(info);
            let options = [
                ("norm", norm),
                ("skip", "linear"),
                ("head", "dense"),
                ("pre_linear", "true"),
                ("jk", "true"),
                ("loops", "true"),
            ];
            for (key, value) in options {
                if setting.hp.has(key) {
                    setting.hp.set(key, value).unwrap();
                }
            }
            setting.what = format!("{} with {norm} norm and all options", info.name);
            if setting.hp.has("norm") {
                settings.push(setting);
            }
        }
        settings
    }

    /// The same setting with every dropout at this rate.
    pub fn with_dropout(mut self, rate: f64) -> Self {
        for hyper in self.info.hyper.iter().filter(|hyper| is_dropout(hyper)) {
            self.set(hyper, Value::Real(rate));
        }
        self
    }

    pub fn compile<T: Real>(&self, problem: &Problem, form: Form) -> Plan<T> {
        self.compile_with(problem, form, GatherPrecision::Full)
    }

    pub fn compile_with<T: Real>(
        &self,
        problem: &Problem,
        form: Form,
        precision: GatherPrecision,
    ) -> Plan<T> {
        let mut net = problem.net(self.info, form);
        let logits = (self.info.build)(&mut net, &self.hp);
        Plan::compile_with(&net, logits, precision)
    }

    fn set(&mut self, hyper: &HyperParam, value: Value) {
        self.hp.set(hyper.name, &value.to_string()).unwrap();
    }
}

/// [`Setting::variants`] and [`Setting::combined_options`] of every model.
pub fn every_setting() -> impl Iterator<Item = Setting> {
    MODELS
        .iter()
        .flat_map(|info| [Setting::variants(info), Setting::combined_options(info)].concat())
}

/// [`Setting::combined_options`] of every model.
pub fn every_combination() -> impl Iterator<Item = Setting> {
    MODELS.iter().flat_map(|info| Setting::combined_options(info))
}

fn is_dropout(hyper: &HyperParam) -> bool {
    hyper.name.starts_with("dropout")
}

/// The hyper-parameters of a model's optimiser groups: learning rates, weight decays and momenta.
pub fn optimiser_keys(info: &ModelInfo) -> Vec<&'static str> {
    let momentum = |kind| match kind {
        OptimiserKind::Momentum(key) => Some(key),
        OptimiserKind::Adam | OptimiserKind::AdamW => None,
    };
    let keys = |g: &OptimiserGroup| [Some(g.rate), g.decay, momentum(g.kind)];
    info.groups.iter().flat_map(keys).flatten().collect()
}

/// The values of a tuning space; for steps, the first two and the last; for flags, none.
pub fn tuned_values(hyper: &HyperParam) -> Vec<Value> {
    let number = |v: &f64| match hyper.range {
        ValueRange::Int(..) => Value::Int(*v as i64),
        _ => Value::Real(*v),
    };
    match (hyper.space, hyper.range) {
        (TuningSpace::Steps { low, high, step }, _) => {
            [low, low + step, high].iter().map(number).collect()
        }
        (TuningSpace::Among(values), _) => values.iter().map(number).collect(),
        (TuningSpace::All, ValueRange::OneOf(words)) => {
            words.iter().map(|word| Value::Word(word)).collect()
        }
        _ => vec![],
    }
}

/// Values that differ from the default: every word or flag, the smallest integer, or the first and last
/// tuned real number.
fn other_values(hyper: &HyperParam) -> Vec<Value> {
    let candidates: Vec<Value> = match hyper.range {
        ValueRange::Flag => [false, true].map(Value::Flag).to_vec(),
        ValueRange::OneOf(words) => words.iter().map(|word| Value::Word(word)).collect(),
        ValueRange::Int(low, _) => vec![Value::Int(low)],
        ValueRange::Real(..) => {
            let tuned = tuned_values(hyper);
            tuned.first().into_iter().chain(tuned.last()).copied().collect()
        }
    };
    candidates.into_iter().filter(|value| *value != hyper.default).collect()
}

/// Initial parameters with noise added, so that no coefficient or bias is zero.
pub fn perturbed_params<T: Real>(plan: &Plan<T>, seed: u64) -> AlignedVec<T> {
    let mut noise = Stream::new(seed, "perturbation");
    let initial = plan.initial_params(&Stream::new(seed, "weights"));
    initial.iter().map(|w| *w + T::from_f64(noise.symmetric(0.4))).collect()
}
