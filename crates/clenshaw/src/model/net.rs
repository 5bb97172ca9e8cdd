//! The argument of a model's `build` function: a tape with the features and the operator.

use crate::error::{Error, Result};
use crate::graph::{Graph, Normalisation, try_operator};
use crate::tensor::{FeatureVar, Init, LinearInput, Mat, Operator, OperatorVar, Sparse, Tape, Var};
use std::ops::{Deref, DerefMut};

/// A [`Tape`] with the features, the operator and the graph of a data set.
#[derive(Debug)]
pub struct Net {
    tape: Tape,
    x: FeatureVar,
    /// The terms of a precomputed filter, which are inputs of the tape.
    terms: Option<Vec<Var>>,
    p: Option<OperatorVar>,
    n_classes: usize,
    graph: Option<Graph>,
    /// The nodes to which the net is restricted, ascending; `None` for all nodes of the graph.
    nodes: Option<Vec<u32>>,
    adjacency: Option<FeatureVar>,
    /// The largest distance between nodes that an operator connects.
    radius: usize,
    hidden: Option<Var>,
    /// The identity matrices recorded so far, by size.
    identities: Vec<(usize, Var)>,
    /// Why the network could not be built.
    failure: Option<Error>,
    node_input: Option<NodeInput>,
    /// Why contributions to the scores are not defined.
    attribution_refusal: Option<&'static str>,
}

/// A value in which class scores are affine, and whose rows depend on the features of their own node only.
#[derive(Clone, Copy, Debug)]
pub struct NodeInput {
    /// The value, one row per node.
    pub value: Var,
    /// Whether the scores are `h(P) value` for the model's filter, one per class or one for all classes.
    pub is_filtered: bool,
}

impl Net {
    /// A tape with dense features.
    pub fn dense(x: Mat<f64>, p: Option<Operator>, n_classes: usize) -> Self {
        let mut tape = Tape::new();
        let x = tape.features(x).into();
        Self::with_features(tape, x, p, n_classes)
    }

    /// A tape with sparse features.
    pub fn sparse(x: Sparse, p: Option<Operator>, n_classes: usize) -> Self {
        let mut tape = Tape::new();
        let x = tape.sparse_features(x);
        Self::with_features(tape, x, p, n_classes)
    }

    /// A tape with the terms of a precomputed filter as inputs: `n_terms` matrices with a row per node of a batch,
    /// and a column per feature.
    pub fn precomputed(
        (rows, n_features): (usize, usize),
        n_terms: usize,
        n_classes: usize,
    ) -> Self {
        assert!(n_terms > 0, "precomputed: expected at least one term");
        let mut tape = Tape::new();
        let terms: Vec<Var> = (0..n_terms).map(|_| tape.input(rows, n_features)).collect();
        let x = terms[0].into();
        Self { terms: Some(terms), ..Self::with_features(tape, x, None, n_classes) }
    }

    fn with_features(mut tape: Tape, x: FeatureVar, p: Option<Operator>, n_classes: usize) -> Self {
        let p = p.map(|p| tape.operator(p));
        Self {
            tape,
            x,
            terms: None,
            p,
            n_classes,
            graph: None,
            nodes: None,
            adjacency: None,
            radius: 1,
            hidden: None,
            identities: vec![],
            failure: None,
            node_input: None,
            attribution_refusal: None,
        }
    }

    /// Adds the graph, which [`Net::add_operator`] and [`Net::adjacency`] require.
    pub fn with_graph(self, graph: &Graph) -> Self {
        Self { graph: Some(graph.clone()), ..self }
    }

    /// States that the features and the operator of this net are those of these nodes of the graph, which must
    /// ascend; further operators are restricted to them as well.
    pub fn restricted_to(self, nodes: &[u32]) -> Self {
        Self { nodes: Some(nodes.to_vec()), ..self }
    }

    /// The recorded tape.
    pub fn into_tape(self) -> Tape {
        self.tape
    }

    /// Marks a value as the representation of the nodes before the last layer; a further call replaces it.
    pub fn set_hidden(&mut self, hidden: Var) {
        self.hidden = Some(hidden);
    }

    /// The value marked with [`Net::set_hidden`], if any.
    pub fn hidden(&self) -> Option<Var> {
        self.hidden
    }

    /// Marks a value in which the class scores are affine without dropout, and whose rows depend on the features
    /// of their own node only, so that the contribution of every node to a score is exactly known.
    pub fn set_node_input(&mut self, value: Var) {
        self.node_input = Some(NodeInput { value, is_filtered: false });
    }

    /// [`Net::set_node_input`] for scores that are the model's filter applied to `value`.
    pub fn set_filter_input(&mut self, value: Var) {
        self.node_input = Some(NodeInput { value, is_filtered: true });
    }

    /// The value marked with [`Net::set_node_input`] or [`Net::set_filter_input`], if any.
    pub fn node_input(&self) -> Option<NodeInput> {
        self.node_input
    }

    /// States why contributions of features and nodes to the scores are not defined: the scores are not a function
    /// of products of features with weights.
    pub fn refuse_attribution(&mut self, reason: &'static str) {
        self.attribution_refusal = Some(reason);
    }

    /// The reason given to [`Net::refuse_attribution`], if any.
    pub fn attribution_refusal(&self) -> Option<&'static str> {
        self.attribution_refusal
    }

    /// The largest distance in the graph from which a node affects the value `v` of another one in an
    /// evaluation; `None` if all nodes affect it.
    pub fn reach(&self, v: Var) -> Option<usize> {
        self.tape.reach(v).map(|products| products * self.radius)
    }

    /// The features, `[n, F]`.
    pub fn x(&self) -> FeatureVar {
        self.x
    }

    /// The features as a dense matrix, `[n, F]`.
    pub fn dense_x(&mut self) -> Var {
        let (x, identity) = (self.x, self.identity(self.n_features()));
        self.linear(x, identity, None)
    }

    /// The terms of a precomputed filter; `None` if the net has features and an operator instead.
    pub fn precomputed_terms(&self) -> Option<Vec<Var>> {
        self.terms.clone()
    }

    /// The operator that the model declares; panics if it declares none.
    pub fn p(&self) -> OperatorVar {
        self.p.expect("build: the model declared no operator")
    }

    /// Adds another operator of the graph; panics without [`Net::with_graph`]. If it cannot be built, the
    /// error is returned by [`Net::into_checked`], and the operator is that of the model.
    pub fn add_operator(&mut self, kind: Normalisation) -> OperatorVar {
        match try_operator(self.graph(), kind) {
            Ok(mut operator) => {
                if let Some(nodes) = &self.nodes {
                    operator = operator.restricted_to(nodes);
                }
                self.radius = self.radius.max(kind.radius());
                self.operator(operator)
            }
            Err(error) => {
                self.fail(error);
                self.p()
            }
        }
    }

    /// Marks the network as one that cannot be built; [`Net::into_checked`] returns the first error. The function
    /// that builds it must still return class scores.
    pub fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// The eigenvalues of P in descending order, and the rows of its eigenvectors that belong to the nodes of this
    /// net, one column per eigenvalue, `[n, n]`; panics without [`Net::with_graph`].
    pub fn eigen(&self) -> (Vec<f64>, Mat<f64>) {
        let (values, vectors) = self.graph().eigen().sorted();
        match &self.nodes {
            None => (values, vectors),
            Some(nodes) => {
                let rows = nodes.iter().flat_map(|&u| vectors.row(u as usize)).copied().collect();
                (values, Mat::from_vec(nodes.len(), vectors.cols(), rows))
            }
        }
    }

    /// The number of nodes of the whole graph; panics without [`Net::with_graph`].
    pub fn n_graph_nodes(&self) -> usize {
        self.graph().n_nodes()
    }

    /// The net; an error if it could not be built.
    pub fn into_checked(mut self) -> Result<Self> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The adjacency A, with its weights, as sparse features, `[n, n]`; panics without
    /// [`Net::with_graph`].
    pub fn adjacency(&mut self) -> FeatureVar {
        let mut pattern = self.graph().adjacency().as_ref().clone();
        let mut values = match self.graph().weights() {
            Some(weights) => weights.iter().map(|&weight| f64::from(weight)).collect(),
            None => vec![1.0; pattern.n_entries()],
        };
        if let Some(nodes) = &self.nodes {
            let (rows, kept) = pattern.select(nodes, pattern.n_cols(), Some);
            (pattern, values) = (rows, kept.iter().map(|&e| values[e]).collect());
        }
        let adjacency = self.sparse_features(Sparse::new(pattern, values));
        self.adjacency = Some(adjacency);
        adjacency
    }

    /// The adjacency, if [`Net::adjacency`] has recorded it.
    pub fn recorded_adjacency(&self) -> Option<FeatureVar> {
        self.adjacency
    }

    /// The identity matrix of this size, which all layers share.
    pub fn identity(&mut self, size: usize) -> Var {
        if let Some((_, known)) = self.identities.iter().find(|(other, _)| *other == size) {
            return *known;
        }
        let identity = self.constant(Mat::identity(size));
        self.identities.push((size, identity));
        identity
    }

    fn graph(&self) -> &Graph {
        self.graph.as_ref().expect("build: the net has no graph; call `with_graph` first")
    }

    /// The number of features F.
    pub fn n_features(&self) -> usize {
        self.tape.shape(self.x).1
    }

    /// The number of classes C.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// A dense layer `x w + b` with `width` outputs and new parameters of these names, initialised by
    /// [`fan_in`].
    pub fn dense_layer(
        &mut self,
        (w, b): (&str, &str),
        x: impl LinearInput,
        width: usize,
        group: &'static str,
    ) -> Var {
        let k = self.shape(x).1;
        let w = self.param(w, k, width, fan_in(k), group);
        let b = self.param(b, 1, width, fan_in(k), group);
        self.linear(x, w, Some(b))
    }
}

impl Deref for Net {
    type Target = Tape;

    fn deref(&self) -> &Tape {
        &self.tape
    }
}

impl DerefMut for Net {
    fn deref_mut(&mut self) -> &mut Tape {
        &mut self.tape
    }
}

/// Uniform in `+-1/sqrt(inputs)`, for weights and biases of dense layers.
pub fn fan_in(inputs: usize) -> Init {
    Init::Uniform(1.0 / (inputs as f64).sqrt())
}

/// Glorot: uniform in `+-sqrt(6 / (inputs + outputs))`, for graph convolutions.
pub fn glorot(inputs: usize, outputs: usize) -> Init {
    Init::Uniform((6.0 / (inputs + outputs) as f64).sqrt())
}

/// Uniform in `+-1/sqrt(outputs)`, for the inner layers of GCNII and ClenshawGCN.
pub fn fan_out(outputs: usize) -> Init {
    Init::Uniform(1.0 / (outputs as f64).sqrt())
}
