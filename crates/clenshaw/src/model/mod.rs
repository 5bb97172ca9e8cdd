//! The models, one file a paper, and the list that everything else is derived from.
//!
//! A model file holds the paper's forward equations, its hyper-parameters and its optimiser groups.
//! It reads no files, clocks or terminals and says nothing about gradients.

mod net;
mod training;
mod head;
mod convolution;
mod lstm;
mod residual;
mod decoupled;
mod per_channel;

mod mlp;
mod linkx;
mod gcn;
mod gcn_jk;
mod mixhop;
mod h2gcn;
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
mod favard_gnn;
mod opt_basis_gnn;
mod poly;
mod horner_gcn;
mod fixed_clenshaw_gcn;
mod clenshaw_gcn;

pub use net::{Net, fan_in, fan_out, glorot};
pub use training::{ALL_500, MEAN_200, PATIENCE_300};

use crate::error::{Error, Result};
use crate::filter::Response;
use crate::graph::Normalisation;
use crate::hyper::{HyperParam, Params};
use crate::tensor::{Mat, Var};

/// Every model, in the order of its listing.
pub static MODELS: &[&ModelInfo] = &[
    &mlp::INFO,                // the features alone
    &linkx::INFO,              // Lim et al. 2021
    &gcn::INFO,                // Kipf & Welling 2017
    &gcn_jk::INFO,             // Xu et al. 2018
    &mixhop::INFO,             // Abu-El-Haija et al. 2019
    &h2gcn::INFO,              // Zhu et al. 2020
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
    &favard_gnn::INFO,         // Guo & Wei 2023, a learned basis
    &opt_basis_gnn::INFO,      // Guo & Wei 2023, the signal's own basis
    &poly::INFO,               // Liao et al. 2024, the filters of a benchmark
    &horner_gcn::INFO,         // Guo & Wei 2023, without the second-order residue
    &fixed_clenshaw_gcn::INFO, // Guo & Wei 2023, with frozen coefficients
    &clenshaw_gcn::INFO,       // Guo & Wei 2023
];

/// All there is to know about a model.
#[derive(Debug)]
pub struct ModelInfo {
    /// The word people type.
    pub name: &'static str,
    /// The name in print.
    pub title: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Which of the paper's tables it stands in.
    pub family: ModelFamily,
    /// The forward equations.
    pub equation: &'static str,
    /// The operator it spreads with, if it looks at the graph at all.
    pub operator: Option<Normalisation>,
    /// Its own hyper-parameters.
    pub hyper: &'static [HyperParam],
    /// How its features are scaled and when its training stops.
    pub training: &'static [HyperParam],
    /// Published settings in TOML, a table per graph; may be empty.
    pub presets: &'static str,
    /// Its optimiser groups.
    pub groups: &'static [OptimiserGroup],
    /// Writes its equations down; returns the class scores.
    pub build: fn(&mut Net, &Params) -> Var,
    /// What it does to each frequency now, if that can be said.
    pub filter: Option<fn(&WeightLookup<'_>, &Params) -> Response>,
}

/// What a model is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelFamily {
    /// Neither: dense layers alone, on the features or on the adjacency's rows.
    Baseline,
    /// Message passing with residual connections.
    Residual,
    /// A filter on the graph's spectrum.
    Spectral,
    /// Both: residual connections that make a filter.
    Clenshaw,
}

/// Parameters that one optimiser moves.
#[derive(Debug)]
pub struct OptimiserGroup {
    /// The name parameters are declared with.
    pub name: &'static str,
    /// Which optimiser.
    pub kind: OptimiserKind,
    /// The hyper-parameter that holds its learning rate.
    pub rate: &'static str,
    /// The hyper-parameter that holds its weight decay.
    pub decay: &'static str,
}

/// Which optimiser moves a group.
#[derive(Clone, Copy, Debug)]
pub enum OptimiserKind {
    /// Adam with coupled weight decay.
    Adam,
    /// Adam with decoupled weight decay.
    AdamW,
    /// Momentum, held by this hyper-parameter.
    Momentum(&'static str),
}

/// Looks up a trained parameter, or a value named with [`Tape::name`](crate::tensor::Tape::name).
pub type WeightLookup<'a> = dyn Fn(&str) -> Mat<f64> + 'a;

impl ModelInfo {
    /// Own hyper-parameters, then those of training.
    pub fn hyper_params(&self) -> impl Iterator<Item = &'static HyperParam> + use<> {
        self.hyper.iter().chain(self.training)
    }

    /// Every hyper-parameter at its default.
    pub fn defaults(&self) -> Params {
        Params::defaults(self.hyper_params())
    }
}

/// The model of this name.
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
