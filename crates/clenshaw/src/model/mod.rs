//! The models, one file each, and the list of all models.
//!
//! A model file contains the forward equations, the hyper-parameters and the optimiser groups.
//! It does no input or output; gradients are derived from the equations.

mod net;
mod training;
mod head;
mod convolution;
mod norm;
mod neighbour_mean;
mod stack;
mod lstm;
mod residual;
mod decoupled;
mod per_channel;
mod universal_basis;

mod mlp;
mod linkx;
mod gcn;
mod sage;
mod sage_sep;
mod gcn_jk;
mod mixhop;
mod h2gcn;
mod gat;
mod gat_sep;
mod gcnii;
mod air_gnn;
mod cheb_net;
mod arma;
mod appnp;
mod gpr_gnn;
mod bern_net;
mod cheb_base;
mod cheb_net_ii;
mod jacobi_conv;
mod specformer;
mod favard_gnn;
mod opt_basis_gnn;
mod poly;
mod uni_filter;
mod horner_gcn;
mod fixed_clenshaw_gcn;
mod clenshaw_gcn;

pub use net::{Net, NodeInput, fan_in, fan_out, glorot};
pub use training::{ALL_500, MEAN_200, PATIENCE_100, PATIENCE_300};

use crate::error::{Error, Result};
use crate::filter::{FilterTerms, Response};
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params, ValueRange};
use crate::tensor::{Mat, Var};

/// All models, in the order in which they are listed.
pub static MODELS: &[&ModelInfo] = &[
    &mlp::INFO,                // the features alone
    &linkx::INFO,              // Lim et al. 2021
    &gcn::INFO,                // Kipf & Welling 2017
    &sage::INFO,               // Hamilton et al. 2017
    &sage_sep::INFO,           // Platonov et al. 2023
    &gcn_jk::INFO,             // Xu et al. 2018
    &mixhop::INFO,             // Abu-El-Haija et al. 2019
    &h2gcn::INFO,              // Zhu et al. 2020
    &gat::INFO,                // Velickovic et al. 2018
    &gat_sep::INFO,            // Platonov et al. 2023
    &gcnii::INFO,              // Chen et al. 2020
    &air_gnn::INFO,            // Liu et al. 2021
    &cheb_net::INFO,           // Defferrard et al. 2016
    &arma::INFO,               // Bianchi et al. 2021
    &appnp::INFO,              // Gasteiger et al. 2019
    &gpr_gnn::INFO,            // Chien et al. 2021
    &bern_net::INFO,           // He et al. 2021
    &cheb_base::INFO,          // He et al. 2022, with free coefficients
    &cheb_net_ii::INFO,        // He et al. 2022
    &jacobi_conv::INFO,        // Wang & Zhang 2022
    &specformer::INFO,         // Bo et al. 2023, a filter learned on the eigenvalues
    &favard_gnn::INFO,         // Guo & Wei 2023, a learned basis
    &opt_basis_gnn::INFO,      // Guo & Wei 2023, a basis computed from the signal
    &poly::INFO,               // Liao et al. 2024, the filters of a benchmark
    &uni_filter::INFO,         // Huang et al. 2024, a basis that follows the homophily
    &horner_gcn::INFO,         // Guo & Wei 2023, without the second-order residual
    &fixed_clenshaw_gcn::INFO, // Guo & Wei 2023, with frozen coefficients
    &clenshaw_gcn::INFO,       // Guo & Wei 2023
];

/// The flag of models that can be trained with asymmetric learning, see
/// [`Optimiser::with_blocks`](crate::tensor::Optimiser::with_blocks).
pub const ASYMMETRIC_KEY: &str = "asymmetric";

/// The hyper-parameter of models whose basis depends on the homophily of the training nodes; 0 means that it is
/// measured for every split.
pub const HOMOPHILY_KEY: &str = "homophily";

/// The flag of models that can filter the features before their dense layers. The terms of the filter are then
/// computed once, and the model is trained on batches of rows.
pub const PRECOMPUTE_KEY: &str = "precompute";

/// The hyper-parameter of the same models for the number of rows per training step.
pub const BATCH_SIZE_KEY: &str = "batch_size";

/// The optimiser group of filter coefficients, which asymmetric learning separates from all others.
pub const FILTER_GROUP: &str = "prop";

/// The definition of a model.
#[derive(Debug)]
pub struct ModelInfo {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// Its name in tables.
    pub title: &'static str,
    /// The publication.
    pub paper: &'static str,
    /// The kind of model.
    pub family: ModelFamily,
    /// The forward equations.
    pub equation: &'static str,
    /// The operator that [`Net::p`] returns; `None` if the model uses none.
    pub operator: Option<Normalisation>,
    /// The hyper-parameters of the network and its optimisers.
    pub hyper: &'static [HyperParam],
    /// The hyper-parameters that every model has: feature scaling, early stopping, precision, class weights.
    pub training: &'static [HyperParam],
    /// Whether a trained model can be applied to another graph: it has no weights per node, and its scores do not
    /// depend on the number of nodes.
    pub inductive: bool,
    /// Presets in TOML, one table per graph, with published or tuned settings; may be empty.
    pub presets: &'static str,
    /// Its optimiser groups.
    pub groups: &'static [OptimiserGroup],
    /// Records the equations of the model on a tape; returns the class scores, `[n, C]`.
    pub build: fn(&mut Net, &Params) -> Var,
    /// Computes the frequency response for given weights; `None` if the model does not have one.
    pub filter: Option<fn(&WeightLookup<'_>, &Params) -> Response>,
    /// What is computed once if [`PRECOMPUTE_KEY`] is true; `None` for models without this hyper-parameter.
    pub precompute: Option<fn(&Params) -> FilterTerms>,
}

/// The kind of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelFamily {
    /// Dense layers only, on the features or on the rows of the adjacency.
    Baseline,
    /// Message passing, with or without residual connections.
    Residual,
    /// A filter on the graph's spectrum.
    Spectral,
    /// Residual connections that implement a filter.
    Clenshaw,
}

/// The optimiser of a group of parameters.
#[derive(Debug)]
pub struct OptimiserGroup {
    /// Its name, as given in the declaration of its parameters.
    pub name: &'static str,
    /// The kind of optimiser.
    pub kind: OptimiserKind,
    /// The hyper-parameter for its learning rate.
    pub rate: &'static str,
    /// The hyper-parameter for its weight decay; `None` for no weight decay.
    pub decay: Option<&'static str>,
}

impl OptimiserGroup {
    /// A group that is trained by Adam.
    pub const fn adam(name: &'static str, rate: &'static str, decay: &'static str) -> Self {
        Self { name, kind: OptimiserKind::Adam, rate, decay: Some(decay) }
    }

    /// Its weight decay for these hyper-parameters.
    pub fn weight_decay(&self, hp: &Params) -> f64 {
        self.decay.map_or(0.0, |key| hp.real(key))
    }
}

/// The kind of optimiser of a group.
#[derive(Clone, Copy, Debug)]
pub enum OptimiserKind {
    /// Adam with coupled weight decay.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
    /// SGD with the momentum that this hyper-parameter sets.
    Momentum(&'static str),
}

/// Looks up a trained parameter, or a value named with [`Tape::name`](crate::tensor::Tape::name).
pub type WeightLookup<'a> = dyn Fn(&str) -> Mat<f64> + 'a;

impl ModelInfo {
    /// All hyper-parameters: [`hyper`](Self::hyper), then [`training`](Self::training).
    pub fn hyper_params(&self) -> impl Iterator<Item = &'static HyperParam> + use<> {
        self.hyper.iter().chain(self.training)
    }

    /// The names of the integer hyper-parameters of the network, such as its width and depth.
    pub fn size_params(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_size = |hyper: &&HyperParam| matches!(hyper.range, ValueRange::Int(..));
        self.hyper.iter().filter(is_size).map(|hyper| hyper.name)
    }

    /// What is computed once from the features with these hyper-parameters; `None` if the model is trained on the
    /// whole graph.
    pub fn precomputed_terms(&self, hp: &Params) -> Option<FilterTerms> {
        self.precompute.filter(|_| hp.flag(PRECOMPUTE_KEY)).map(|terms| terms(hp))
    }

    /// The default values of all hyper-parameters.
    pub fn defaults(&self) -> Params {
        Params::defaults(self.hyper_params())
    }
}

/// Returns the model of this name.
///
/// ```
/// assert_eq!(clenshaw::model::find("gcnii").unwrap().title, "GCNII");
/// assert!(clenshaw::model::find("gcniii").is_err());
/// ```
pub fn find(name: &str) -> Result<&'static ModelInfo> {
    let names = MODELS.iter().map(|info| info.name);
    let found = MODELS.iter().find(|info| info.name == name);
    found.copied().ok_or_else(|| Error::unknown("model", name, names))
}
