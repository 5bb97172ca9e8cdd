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
    p: Option<OperatorVar>,
    n_classes: usize,
    graph: Option<Graph>,
    hidden: Option<Var>,
    /// The identity matrices recorded so far, by size.
    identities: Vec<(usize, Var)>,
    /// Why an operator could not be built.
    failure: Option<Error>,
}

impl Net {
    /// A tape with dense features.
    pub fn dense(x: Mat<f64>, p: Option<Operator>, n_classes: usize) -> Self {
        let mut tape = Tape::new();
        let x = tape.features(x).into();
        let p = p.map(|p| tape.operator(p));
        Self { tape, x, p, n_classes, graph: None, hidden: None, identities: vec![], failure: None }
    }

    /// A tape with sparse features.
    pub fn sparse(x: Sparse, p: Option<Operator>, n_classes: usize) -> Self {
        let mut tape = Tape::new();
        let x = tape.sparse_features(x);
        let p = p.map(|p| tape.operator(p));
        Self { tape, x, p, n_classes, graph: None, hidden: None, identities: vec![], failure: None }
    }

    /// Adds the graph, which [`Net::add_operator`] and [`Net::adjacency`] require.
    pub fn with_graph(self, graph: &Graph) -> Self {
        Self { graph: Some(graph.clone()), ..self }
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

    /// The features, `[n, F]`.
    pub fn x(&self) -> FeatureVar {
        self.x
    }

    /// The operator that the model declares; panics if it declares none.
    pub fn p(&self) -> OperatorVar {
        self.p.expect("build: the model declared no operator")
    }

    /// Adds another operator of the graph; panics without [`Net::with_graph`]. If it cannot be built, the
    /// error is returned by [`Net::into_checked`], and the operator is that of the model.
    pub fn add_operator(&mut self, kind: Normalisation) -> OperatorVar {
        match try_operator(self.graph(), kind) {
            Ok(operator) => self.operator(operator),
            Err(error) => {
                self.failure = Some(error);
                self.p()
            }
        }
    }

    /// The net; an error if one of its operators could not be built.
    pub fn into_checked(mut self) -> Result<Self> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The adjacency A, with its weights, as sparse features, `[n, n]`; panics without
    /// [`Net::with_graph`].
    pub fn adjacency(&mut self) -> FeatureVar {
        let pattern = self.graph().adjacency().as_ref().clone();
        let values = match self.graph().weights() {
            Some(weights) => weights.iter().map(|&weight| f64::from(weight)).collect(),
            None => vec![1.0; pattern.n_entries()],
        };
        self.sparse_features(Sparse::new(pattern, values))
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
