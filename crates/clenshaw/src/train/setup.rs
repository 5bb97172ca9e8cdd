//! A model compiled for a data set, shared by all runs on it.

use super::forecast::check_recording;
use super::precompute::{PrecomputeOptions, PrecomputedTerms};
use super::record::{HIDDEN, precompute, record, record_batch};
use crate::data::{Dataset, Scaler, Split};
use crate::error::{Error, Result};
use crate::filter::{Filter, Response};
use crate::graph::edge_homophily;
use crate::hyper::{HyperParam, Params, Value};
use crate::model::{
    ASYMMETRIC_KEY, BATCH_SIZE_KEY, FILTER_GROUP, HOMOPHILY_KEY, ModelInfo, OptimiserKind,
};
use crate::rng::Stream;
use crate::tensor::{
    AlignedVec, Mat, Optimiser, OptimiserSettings, Plan, RUNNING, Real, Targets, UpdateRule,
    Workspace, log_sum_exp,
};
use std::sync::{Arc, OnceLock};

/// A model, its hyper-parameters and its compiled plan for one data set.
pub struct Setup {
    dataset: Arc<Dataset>,
    info: &'static ModelInfo,
    hp: Params,
    scaler: Scaler,
    plan: Plan<f32>,
    /// The terms of a precomputed filter, whose rows are the inputs of the plan.
    terms: Option<Arc<PrecomputedTerms>>,
    data_sha256: OnceLock<String>,
}

impl Setup {
    /// Fits the scaling to the features, builds the model and compiles it. If a run would need more memory than is
    /// available, the backward pass recomputes values; results do not change.
    ///
    /// # Errors
    /// If features or labels do not fit the graph, see [`Dataset::check_shapes`].
    ///
    /// # Panics
    /// If `hp` are not the hyper-parameters of the model.
    ///
    /// ```
    /// use clenshaw::{data, model, train::Setup};
    /// let info = model::find("clenshaw-gcn")?;
    /// let setup = Setup::new(data::load("cora")?, info, info.defaults())?;
    /// assert_eq!(setup.plan().shape(), (2708, 7));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(
        dataset: impl Into<Arc<Dataset>>,
        info: &'static ModelInfo,
        hp: Params,
    ) -> Result<Self> {
        Self::precomputing(dataset, info, hp, &PrecomputeOptions::default())
    }

    /// As [`Setup::new`]. The options apply to a model with a precomputed filter only.
    ///
    /// # Errors
    /// As [`Setup::new`]; for a model with a precomputed filter also if the memory budget is too small, a file
    /// cannot be read or written, or the computation is interrupted.
    ///
    /// # Panics
    /// As [`Setup::new`].
    pub fn precomputing(
        dataset: impl Into<Arc<Dataset>>,
        info: &'static ModelInfo,
        hp: Params,
        options: &PrecomputeOptions<'_>,
    ) -> Result<Self> {
        let dataset = dataset.into();
        dataset.check_shapes()?;
        let scaler = Scaler::fit(hp.choice("scaling"), &dataset.x);
        Self::with_options(dataset, info, hp, scaler, options)
    }

    /// As [`Setup::new`], with a scaling that was fitted to another graph.
    ///
    /// # Errors
    /// As [`Setup::new`].
    ///
    /// # Panics
    /// As [`Setup::new`], and if the scaling was fitted to another number of features.
    pub fn with_scaler(
        dataset: Arc<Dataset>,
        info: &'static ModelInfo,
        hp: Params,
        scaler: Scaler,
    ) -> Result<Self> {
        Self::with_options(dataset, info, hp, scaler, &PrecomputeOptions::default())
    }

    /// [`Setup::with_scaler`] and [`Setup::precomputing`] at once.
    pub(super) fn with_options(
        dataset: Arc<Dataset>,
        info: &'static ModelInfo,
        hp: Params,
        scaler: Scaler,
        options: &PrecomputeOptions<'_>,
    ) -> Result<Self> {
        dataset.check_shapes()?;
        let declared = info.hyper_params().map(|hyper| hyper.name);
        let is_own = declared.eq(hp.iter().map(|(hyper, _)| hyper.name));
        assert!(is_own, "setup: these are not the hyper-parameters of {}", info.name);
        let (terms, (net, logits)) = match info.precomputed_terms(&hp) {
            Some(filter) => {
                let terms = precompute(&dataset, info, &scaler, &filter, options)?;
                let n_rows = dataset.graph.n_nodes().min(hp.int(BATCH_SIZE_KEY));
                let shape = (n_rows, dataset.x.n_cols());
                let recorded = record_batch(info, &hp, shape, dataset.n_classes())?;
                (Some(Arc::new(terms)), recorded)
            }
            None => {
                check_recording(&dataset, info)?;
                (None, record(&dataset, info, &hp, &scaler, None)?)
            }
        };
        let plan = Plan::compile_with(&net.into_tape(), logits, hp.choice("gather"));
        let mut setup =
            Self { dataset, info, hp, scaler, plan, terms, data_sha256: OnceLock::new() };
        setup.fit_into_memory();
        Ok(setup)
    }

    /// The terms of a precomputed filter; `None` if the plan is that of the whole graph.
    pub(super) fn terms(&self) -> Option<&Arc<PrecomputedTerms>> {
        self.terms.as_ref()
    }

    /// The setup of runs on this split: compiled again if the basis of the model depends on the homophily of the
    /// training nodes and this is to be measured, otherwise the same.
    ///
    /// # Errors
    /// If no edge connects two training nodes, or the model cannot be compiled.
    pub(super) fn for_split(self: Arc<Self>, split: &Split) -> Result<Arc<Self>> {
        if !self.measures_homophily() {
            return Ok(self);
        }
        split.check(&self.dataset)?;
        let mut classes = vec![None; self.dataset.y.len()];
        for &i in split.train() {
            classes[i as usize] = self.dataset.y[i as usize];
        }
        let homophily = edge_homophily(&self.dataset.graph, &classes);
        let homophily = homophily.ok_or_else(|| Error::Split {
            split: split.provenance().into(),
            problem: format!(
                "no edge connects two training nodes, so their homophily is unknown; set `{HOMOPHILY_KEY}`"
            ),
        })?;
        let mut hp = self.hp.clone();
        hp.set_value(HOMOPHILY_KEY, homophily)?;
        let dataset = self.dataset.clone();
        let setup = Self::with_scaler(dataset, self.info, hp, self.scaler.clone())?;
        if let Some(sha256) = self.data_sha256.get() {
            setup.data_sha256.get_or_init(|| sha256.clone());
        }
        Ok(Arc::new(setup))
    }

    /// Whether [`Setup::for_split`] compiles the model for every split.
    fn measures_homophily(&self) -> bool {
        self.hp.has(HOMOPHILY_KEY) && self.hp.real(HOMOPHILY_KEY) == 0.0
    }

    /// The memory of a run: that of its workspace and, if the model is compiled for every split, that of its
    /// constants.
    pub fn bytes_per_run(&self) -> usize {
        let constants = if self.measures_homophily() { self.plan.constant_bytes() } else { 0 };
        self.plan.workspace_bytes() + constants + self.bytes_of_copies() as usize
    }

    /// The data set.
    pub fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    /// The digest of the data set, see [`Dataset::sha256`]; computed by the first call.
    pub fn data_sha256(&self) -> &str {
        self.data_sha256.get_or_init(|| self.dataset.sha256())
    }

    /// The model.
    pub fn info(&self) -> &'static ModelInfo {
        self.info
    }

    /// The hyper-parameters.
    pub fn hp(&self) -> &Params {
        &self.hp
    }

    /// The scaling of the features.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// The compiled model.
    pub fn plan(&self) -> &Plan<f32> {
        &self.plan
    }

    pub(super) fn plan_mut(&mut self) -> &mut Plan<f32> {
        &mut self.plan
    }

    /// The training loss: the cross-entropy of the training nodes. All nodes have the same weight or, with
    /// `class_weights`, all classes.
    ///
    /// # Errors
    /// If the split does not fit the data set, or has no training nodes.
    pub fn targets(&self, split: &Split) -> Result<Targets<f32>> {
        split.check(&self.dataset)?;
        if split.train().is_empty() {
            let problem = "there are no training nodes".into();
            return Err(Error::Split { split: split.provenance().into(), problem });
        }
        let label = |i: u32| self.dataset.y[i as usize].expect("the split was checked");
        let n_nodes = self.dataset.graph.n_nodes();
        match self.hp.flag("class_weights") {
            true => Ok(Targets::balanced_cross_entropy(n_nodes, split.train(), label)),
            false => Ok(Targets::cross_entropy(n_nodes, split.train(), label)),
        }
    }

    /// The initial parameters of a run.
    pub fn initial_params(&self, seed: u64) -> AlignedVec<f32> {
        self.plan.initial_params(&Stream::new(seed, "weights"))
    }

    /// Splits a parameter vector into named matrices; panics if it is too short.
    pub fn named_params(&self, params: &[f32]) -> Vec<(String, Mat<f32>)> {
        let end = self.plan.ranges().last().map_or(0, |range| range.end);
        assert!(params.len() >= end, "named_params: {} parameters; expected {end}", params.len());
        let each = self.plan.params().iter().zip(self.plan.ranges());
        each.map(|(p, range)| {
            (p.name.clone(), Mat::from_vec(p.rows, p.cols, params[range].to_vec()))
        })
        .collect()
    }

    /// The parameter vector with these matrices, as [`Setup::named_params`] returns them; `place` names their
    /// source in errors.
    ///
    /// # Errors
    /// If a parameter is missing or has a different shape on this data set.
    pub fn params_from(
        &self,
        place: &str,
        named: &[(String, Mat<f32>)],
    ) -> Result<AlignedVec<f32>> {
        let bad = |problem| Error::Data { place: place.into(), problem };
        let mut params = self.plan.zeros();
        for (param, range) in self.plan.params().iter().zip(self.plan.ranges()) {
            let found = named.iter().find(|(name, _)| *name == param.name);
            let (name, m) = found.ok_or_else(|| bad(format!("no parameter `{}`", param.name)))?;
            if (m.rows(), m.cols()) != (param.rows, param.cols) {
                return Err(bad(format!(
                    "`{name}` is {} x {}, but on {} the model needs {} x {}; \
                     choose a graph with the same features and classes as in training",
                    m.rows(),
                    m.cols(),
                    self.dataset.name,
                    param.rows,
                    param.cols
                )));
            }
            params[range].copy_from_slice(m.as_slice());
        }
        Ok(params)
    }

    /// The frequency response of the model with these parameters; `None` if the model defines none.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the filter depends on the features and they do not fit into memory again.
    pub fn filter(&self, params: &[f32]) -> Result<Option<Response>> {
        let values = match self.filter_reads_values() {
            true => self.values(params)?,
            false => vec![],
        };
        Ok(self.filter_from(params, &values))
    }

    /// Whether the filter depends on computed values, not on the parameters alone.
    pub(super) fn filter_reads_values(&self) -> bool {
        self.info.filter.is_some() && self.plan.value_names().any(|name| name != HIDDEN)
    }

    /// The named values of the plan, computed in a workspace of their own.
    fn values(&self, params: &[f32]) -> Result<Vec<(String, Mat<f32>)>> {
        let mut work = self.allocate_to_apply(1, self.plan.values_len())?;
        Ok(self.plan.values(&mut work, params))
    }

    /// The filter, given the named values that it may read; `None` if the model defines none.
    pub(super) fn filter_from(
        &self,
        params: &[f32],
        values: &[(String, Mat<f32>)],
    ) -> Option<Response> {
        let filter = self.info.filter?;
        let weights = |name: &str| {
            let value =
                values.iter().find(|(other, _)| other == name).map(|(_, value)| value.cast());
            let found = value.or_else(|| self.named_param(params, name));
            found.expect("a model's filter reads its own parameters and named values")
        };
        Some(filter(&weights, &self.hp))
    }

    /// The coefficients of the filter, if it is a single polynomial that depends on the parameters
    /// alone; otherwise `None`. Takes microseconds, unlike [`Setup::filter`] of models whose filter
    /// depends on the features.
    pub fn filter_coefficients(&self, params: &[f32]) -> Option<Vec<f64>> {
        self.filter_polynomial(params).map(|filter| filter.coefficients)
    }

    /// The filter, if it is a single polynomial that depends on the parameters alone; otherwise `None`.
    pub(super) fn filter_polynomial(&self, params: &[f32]) -> Option<Filter> {
        if self.filter_reads_values() {
            return None;
        }
        match self.filter_from(params, &[])? {
            Response::Shared(filter) => Some(filter),
            _ => None,
        }
    }

    /// The parameter of this name; `None` if there is none.
    fn named_param(&self, params: &[f32], name: &str) -> Option<Mat<f64>> {
        let mut each = self.plan.params().iter().zip(self.plan.ranges());
        let (param, range) = each.find(|(param, _)| param.name == name)?;
        Some(Mat::from_vec(param.rows, param.cols, params[range].to_vec()).cast())
    }

    /// The hidden representation of every node before the last layer, `[n, hidden]`; `None` if the
    /// model marks none with [`Net::set_hidden`](crate::model::Net::set_hidden).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the workspace does not fit into memory.
    pub fn hidden(&self, params: &[f32]) -> Result<Option<Mat<f32>>> {
        Ok(hidden_from(self.values(params)?))
    }

    /// The score of every class for every node before the softmax, `[n, C]`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the workspace does not fit into memory, and an error if the terms of a precomputed
    /// filter cannot be read.
    pub fn scores(&self, params: &[f32], threads: usize) -> Result<Mat<f32>> {
        self.scores_in(&mut self.allocate_for_scores(threads)?, params)
    }

    fn allocate_for_scores(&self, threads: usize) -> Result<Workspace<f32>> {
        self.allocate_to_apply(threads, self.dataset.graph.n_nodes() * self.plan.shape().1)
    }

    /// [`Setup::scores`], computed in an existing workspace of the plan.
    pub(super) fn scores_in(&self, work: &mut Workspace<f32>, params: &[f32]) -> Result<Mat<f32>> {
        if let Some(terms) = &self.terms {
            return self.scores_by_batch(terms, work, params);
        }
        let (n, c) = self.plan.shape();
        Ok(Mat::from_vec(n, c, self.plan.scores(work, params).to_vec()))
    }

    /// The probability of every class for every node, `[n, C]`.
    ///
    /// # Errors
    /// As [`Setup::scores`].
    pub fn predict(&self, params: &[f32], threads: usize) -> Result<Mat<f32>> {
        self.predict_in(&mut self.allocate_for_scores(threads)?, params)
    }

    /// [`Setup::predict`], computed in an existing workspace of the plan.
    pub(super) fn predict_in(&self, work: &mut Workspace<f32>, params: &[f32]) -> Result<Mat<f32>> {
        let mut out = self.scores_in(work, params)?;
        let c = out.cols();
        for row in out.as_mut_slice().chunks_exact_mut(c) {
            let log_sum = log_sum_exp(row);
            row.iter_mut().for_each(|z| *z = Real::exp(*z - log_sum));
        }
        Ok(out)
    }
}

/// The hidden representation among the named values; `None` if the model marks none.
pub(super) fn hidden_from(values: Vec<(String, Mat<f32>)>) -> Option<Mat<f32>> {
    values.into_iter().find(|(name, _)| name == HIDDEN).map(|(_, hidden)| hidden)
}

/// The optimiser that a model's groups and hyper-parameters define.
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
        OptimiserSettings { rule, rate: hp.real(group.rate), decay: group.weight_decay(hp) }
    };
    let params = plan.params().iter().zip(plan.ranges());
    let ranges = params.map(|(param, range)| (range, settings(param.group))).collect();
    let is_on = |(hyper, value): (&HyperParam, Value)| {
        hyper.name == ASYMMETRIC_KEY && value == Value::Flag(true)
    };
    if !hp.iter().any(is_on) {
        return Optimiser::new(ranges);
    }
    let block = |group: &str| (group != RUNNING).then_some(usize::from(group != FILTER_GROUP));
    let blocks = plan.params().iter().map(|param| block(param.group)).collect();
    Optimiser::new(ranges).with_blocks(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, Features};
    use crate::model;
    use crate::tensor::ThreadTeam;

    #[test]
    fn last_layer_reads_the_hidden_representation() {
        let dataset = data::load("csbm:nodes=50").unwrap();
        let info = model::find("clenshaw-gcn").unwrap();
        let dataset = Arc::new(dataset);
        let setup = Setup::new(dataset.clone(), info, info.defaults()).unwrap();
        let params = setup.initial_params(3);
        let hidden = setup.hidden(&params).unwrap().unwrap();
        let named = setup.named_params(&params);
        let matrix = |name: &str| &named.iter().find(|(other, _)| other == name).unwrap().1;
        let (w, b) = (matrix("w_out"), matrix("b_out"));
        let mut work = setup.plan().workspace(ThreadTeam::new(1));
        let scores = setup.plan().scores(&mut work, &params);
        for (i, score) in scores.iter().enumerate() {
            let (row, class) = (i / w.cols(), i % w.cols());
            let products = (0..w.rows()).map(|k| hidden.row(row)[k] * w.row(k)[class]);
            let expected = products.sum::<f32>() + b.row(0)[class];
            assert!((score - expected).abs() < 1e-5, "{score} and {expected}");
        }
        let mlp = model::find("mlp").unwrap();
        let setup = Setup::new(dataset, mlp, mlp.defaults()).unwrap();
        assert!(setup.hidden(&setup.initial_params(0)).unwrap().is_none());
    }

    #[test]
    fn named_parameters_round_trip() {
        let dataset = data::load("csbm:nodes=50").unwrap();
        let info = model::find("gcn").unwrap();
        let setup = Setup::new(dataset, info, info.defaults()).unwrap();
        let params = setup.initial_params(3);
        let mut named = setup.named_params(&params);
        assert_eq!(setup.params_from("w", &named).unwrap(), params);
        named[0].1 = Mat::zeros(1, 2);
        assert!(
            setup.params_from("w", &named).unwrap_err().to_string().contains("is 1 x 2, but on")
        );
        named.clear();
        assert!(
            setup.params_from("w", &named).unwrap_err().to_string().starts_with("w: no parameter")
        );
    }

    #[test]
    fn inconsistent_data_sets_are_rejected() {
        let good = data::load("csbm:nodes=50").unwrap();
        let info = model::find("gcn").unwrap();
        let rejection = |dataset: Dataset| {
            Setup::new(dataset, info, info.defaults()).map(drop).unwrap_err().to_string()
        };
        let mut y = good.y.clone();
        y[7] = Some(99);
        let error = rejection(Dataset { y, ..good.clone() });
        assert!(error.contains("node 7 has label 99, but there are"), "{error}");
        let error = rejection(Dataset { y: good.y[..9].to_vec(), ..good.clone() });
        assert!(error.contains("9 labels, but the graph has 50 nodes"), "{error}");
        let error = rejection(Dataset { x: Features::Dense(Mat::zeros(51, 3)), ..good });
        assert!(error.contains("51 rows of features, but the graph has 50 nodes"), "{error}");
    }

    #[test]
    #[should_panic(expected = "setup: these are not the hyper-parameters of gcn")]
    fn hyper_parameters_of_another_model_panic() {
        let dataset = data::load("csbm:nodes=50").unwrap();
        let other = model::find("mlp").unwrap().defaults();
        let _ = Setup::new(dataset, model::find("gcn").unwrap(), other);
    }
}
