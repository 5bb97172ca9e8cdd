//! The operations of a [`Tape`]: each function checks its operands and records an operation.

use super::{Init, RUNNING, Tape};
use crate::tensor::Mat;
use crate::tensor::kernel::{Act, HeadLayout, MAX_HEADS, Map};
use crate::tensor::plan::instr::{EdgeSoftmax, Factor, Spmm};
use crate::tensor::plan::op::Op;
use crate::tensor::plan::value::{
    AttentionInputs, Coef, LinearInput, NodeId, OperatorVar, Term, Var,
};

impl Tape {
    /// The sum of terms of the same shape and, optionally, one single-row term, which is added to every row.
    ///
    /// At most one term may be a product with an operator, and its factor must be a fixed number. The factor
    /// of a term that is broadcast to several rows must be 1.
    pub fn sum(&mut self, terms: impl IntoIterator<Item = Term>) -> Var {
        let terms: Vec<Term> = terms.into_iter().collect();
        let dims = |term: &Term| self.dims(self.node("sum", term.value));
        let rows = terms.iter().map(|term| dims(term).0).max().expect("sum: no terms");
        let cols = dims(&terms[0]).1;
        let (mut spmm, mut plain, mut bias) = (None, Vec::new(), None);
        for Term { coef, operator, value } in terms {
            let factor = self.factor(coef, cols);
            let src = self.node("sum", value);
            let node = &self.nodes[src];
            assert_eq!(node.cols, cols, "sum: columns differ");
            match (operator, factor) {
                _ if matches!(node.op, Op::Zero) => {}
                (Some(operator), Factor::Fixed(coef)) => {
                    let operator = self.operator_index("sum", operator);
                    let n = self.operators[operator].n_nodes();
                    let height = node.rows;
                    assert!(n == height, "sum: P of {n} nodes times a value of {height} rows");
                    assert!(n == rows, "sum: P of {n} nodes in a sum of {rows} rows");
                    let term = Spmm { operator, coef, src };
                    assert!(spmm.replace(term).is_none(), "sum: two products with an operator");
                }
                (Some(_), _) => {
                    panic!("sum: the factor of a product with an operator must be a fixed number")
                }
                (None, factor) if node.rows == rows => plain.push((factor, src)),
                (None, Factor::Fixed(1.0)) if node.rows == 1 => {
                    assert!(bias.replace(src).is_none(), "sum: two single-row terms");
                }
                _ => panic!(
                    "sum: a term of {} rows in a sum of {rows}; expected {rows}, or 1 with factor 1",
                    node.rows
                ),
            }
        }
        self.derive("sum", Op::Sum { spmm, terms: plain, bias }, (rows, cols))
    }

    /// `x w + bias`.
    pub fn linear(&mut self, x: impl LinearInput, w: Var, bias: Option<Var>) -> Var {
        let (x, w) = (self.node("linear", x.var()), self.node("linear", w));
        let bias = bias.map(|bias| self.node("linear", bias));
        let ((rows, k), (w_rows, cols)) = (self.dims(x), self.dims(w));
        assert_eq!(k, w_rows, "linear: [{rows}, {k}] x [{w_rows}, {cols}]");
        assert!(
            bias.is_none_or(|b| self.dims(b) == (1, cols)),
            "linear: expected bias [1, {cols}]"
        );
        let op = match self.sparse_matrix(x) {
            Some(matrix) => Op::SparseLinear { matrix, x, w, bias },
            None => Op::Linear { x, w, bias },
        };
        self.derive("linear", op, (rows, cols))
    }

    /// `max(x, 0)`; the gradient is zero where `x <= 0`.
    pub fn relu(&mut self, x: Var) -> Var {
        self.gate("relu", x, Act::Relu, 0.0)
    }

    /// `max(x, 0)`; the gradient is zero where `x < 0`, but not where `x = 0`.
    pub fn relu_star(&mut self, x: Var) -> Var {
        self.gate("relu_star", x, Act::ReluStar, 0.0)
    }

    /// Inverted dropout in training, and the identity otherwise. Entries are kept with the probability
    /// `1 - drop`, rounded to a multiple of 2^-16, and divided by it.
    pub fn dropout<X: LinearInput>(&mut self, x: X, drop: f64) -> X {
        assert!((0.0..1.0).contains(&drop), "dropout: rate {drop}; expected 0 <= rate < 1");
        let node = self.node("dropout", x.var());
        if drop == 0.0 {
            return x;
        }
        let Some(matrix) = self.sparse_matrix(node) else {
            return X::from_var(self.gate("dropout", x.var(), Act::Identity, drop));
        };
        let op = Op::SparseDropout { matrix, x: node, drop, site: self.next_site() };
        X::from_var(self.derive("dropout", op, self.dims(node)))
    }

    /// Attention: the average of the rows of neighbours, weighted per head by a softmax of scores.
    ///
    /// ```text
    /// out_i = sum_j a_ij values_j        a_ij = softmax over j of leaky( source_j + destination_i )
    /// ```
    ///
    /// The neighbours j of i are the entries of row i of the operator, whose values do not matter;
    /// `leaky(x)` is x if x > 0, and `slope x` otherwise. In training, inverted dropout acts on the weights
    /// a, which are not normalised again. The row of a node without neighbours is 0.
    pub fn attention(&mut self, operator: OperatorVar, inputs: AttentionInputs) -> Var {
        let AttentionInputs { layout, slope, dropout, .. } = inputs;
        let [values, source, destination] =
            [inputs.values, inputs.source, inputs.destination].map(|v| self.node("attention", v));
        let operator = self.operator_index("attention", operator);
        let ((rows, cols), (score_rows, heads)) = (self.dims(values), self.dims(source));
        let n = self.operators[operator].n_nodes();
        assert_eq!(rows, n, "attention: {rows} rows and {n} nodes");
        assert_eq!(score_rows, n, "attention: {score_rows} rows of scores and {n} nodes");
        let same = self.dims(destination) == (score_rows, heads);
        assert!(same, "attention: source and destination scores differ in shape");
        assert!(heads <= MAX_HEADS, "attention: {heads} heads; expected at most {MAX_HEADS}");
        let fits = layout == HeadLayout::Interleaved || cols % heads == 0;
        assert!(fits, "attention: {cols} columns and {heads} heads; expected a multiple");
        assert!(
            (0.0..1.0).contains(&dropout),
            "attention: dropout {dropout}; expected 0 <= rate < 1"
        );
        let softmax = EdgeSoftmax { operator, values, source, destination, layout, slope };
        let op = Op::Attention { softmax, drop: dropout, site: self.next_site() };
        self.derive("attention", op, (rows, cols))
    }

    /// The columns of all parts side by side; the parts must have the same number of rows.
    pub fn concat(&mut self, parts: &[Var]) -> Var {
        let parts: Vec<NodeId> = parts.iter().map(|v| self.node("concat", *v)).collect();
        let rows = parts.first().map(|v| self.nodes[*v].rows).expect("concat: no parts");
        assert!(parts.iter().all(|v| self.nodes[*v].rows == rows), "concat: rows differ");
        let cols = parts.iter().map(|v| self.nodes[*v].cols).sum();
        self.derive("concat", Op::Concat(parts), (rows, cols))
    }

    /// `tanh x`, element-wise.
    pub fn tanh(&mut self, x: Var) -> Var {
        self.map("tanh", x, Map::Tanh)
    }

    /// `x` where x > 0, `e^x - 1` elsewhere; element-wise.
    pub fn elu(&mut self, x: Var) -> Var {
        self.map("elu", x, Map::Elu)
    }

    /// `1 / (1 + e^-x)`, element-wise.
    pub fn sigmoid(&mut self, x: Var) -> Var {
        self.map("sigmoid", x, Map::Sigmoid)
    }

    /// GELU, `x (1 + erf(x / sqrt 2)) / 2`, element-wise. Hendrycks & Gimpel 2016.
    pub fn gelu(&mut self, x: Var) -> Var {
        self.map("gelu", x, Map::Gelu)
    }

    /// `1 / x`, element-wise.
    pub fn reciprocal(&mut self, x: Var) -> Var {
        self.map("reciprocal", x, Map::Reciprocal)
    }

    /// `1 / x`, but 0 where `x <= threshold`; element-wise.
    pub fn reciprocal_above(&mut self, x: Var, threshold: f64) -> Var {
        self.map("reciprocal_above", x, Map::ReciprocalAbove(threshold))
    }

    /// `sqrt x`, element-wise.
    pub fn sqrt(&mut self, x: Var) -> Var {
        self.map("sqrt", x, Map::Sqrt)
    }

    /// `max(x, floor)`, element-wise; the gradient is zero where `x <= floor`.
    pub fn clamp_min(&mut self, x: Var, floor: f64) -> Var {
        self.map("clamp_min", x, Map::ClampMin(floor))
    }

    /// `a b`, element-wise.
    pub fn product(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.nodes_of_same_shape("product", a, b);
        self.derive("product", Op::Product(a, b), self.dims(a))
    }

    /// `max(a, b)`, element-wise; only the larger entry receives the gradient, and `a` if both are equal.
    pub fn max(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.nodes_of_same_shape("max", a, b);
        self.derive("max", Op::Max(a, b), self.dims(a))
    }

    /// Row `i` of `x` times entry `(i, column)` of `by`.
    pub fn scale_rows(&mut self, x: Var, by: Var, column: usize) -> Var {
        let (x, by) = (self.node("scale_rows", x), self.node("scale_rows", by));
        let ((rows, cols), (by_rows, by_cols)) = (self.dims(x), self.dims(by));
        assert_eq!(rows, by_rows, "scale_rows: rows differ");
        assert!(column < by_cols, "scale_rows: column {column} of {by_cols}");
        self.derive("scale_rows", Op::ScaleRows { x, by, column }, (rows, cols))
    }

    /// `max(0, 1 - threshold / |x_i|) x_i` for every row; a zero row stays zero.
    pub fn shrink(&mut self, x: Var, threshold: f64) -> Var {
        let x = self.node("shrink", x);
        self.derive("shrink", Op::Shrink { x, threshold }, self.dims(x))
    }

    /// The softmax of every row.
    pub fn softmax(&mut self, x: Var) -> Var {
        let x = self.node("softmax", x);
        self.derive("softmax", Op::Softmax(x), self.dims(x))
    }

    /// `(x - mean) / sqrt(var + eps)` for every row, with the mean and the biased variance of its entries.
    pub fn standardise(&mut self, x: Var, eps: f64) -> Var {
        let x = self.node("standardise", x);
        self.derive("standardise", Op::Standardise { x, eps }, self.dims(x))
    }

    /// The sum of the rows, `[1, cols]`.
    pub fn column_sums(&mut self, x: Var) -> Var {
        let x = self.node("column_sums", x);
        self.derive("column_sums", Op::ColumnSums(x), (1, self.nodes[x].cols))
    }

    /// The inner product of each column of `a` with the same column of `b`, `[1, cols]`.
    pub fn column_dots(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = self.nodes_of_same_shape("column_dots", a, b);
        self.derive("column_dots", Op::ColumnDots(a, b), (1, self.nodes[a].cols))
    }

    /// `a' b`: the inner product of every column of `a` with every column of `b`, `[cols of a, cols of b]`.
    pub fn inner_products(&mut self, a: Var, b: Var) -> Var {
        let (a, b) = (self.node("inner_products", a), self.node("inner_products", b));
        let ((a_rows, rows), (b_rows, cols)) = (self.dims(a), self.dims(b));
        assert_eq!(a_rows, b_rows, "inner_products: rows differ");
        self.derive("inner_products", Op::InnerProducts(a, b), (rows, cols))
    }

    /// The transpose of a constant, a parameter or a value that is computed from them alone.
    ///
    /// # Panics
    /// If the value is computed from node features: a plan may store rows of nodes in another order.
    pub fn transpose(&mut self, x: Var) -> Var {
        let x = self.node("transpose", x);
        assert!(!self.nodes[x].per_node, "transpose: a value computed from node features");
        let (rows, cols) = self.dims(x);
        self.derive("transpose", Op::Transpose(x), (cols, rows))
    }

    /// `(1, x_0, x_0 x_1, ...)` of one column, `[rows + 1, 1]`.
    pub fn running_product(&mut self, x: Var) -> Var {
        let x = self.node("running_product", x);
        let (rows, cols) = self.dims(x);
        assert_eq!(cols, 1, "running_product: expected one column");
        self.derive("running_product", Op::RunningProduct(x), (rows + 1, 1))
    }

    /// Batch normalisation, `(x - mean) / sqrt(var + eps) gamma + beta`.
    ///
    /// Mean and variance are those of each column in training, their running averages otherwise.
    /// Declares the parameters `NAME.gamma` and `NAME.beta` in `group` and, in [`RUNNING`], `NAME.mean`
    /// and `NAME.var`, the running average of the unbiased variance. Ioffe & Szegedy 2015.
    pub fn batch_norm(&mut self, name: &str, x: Var, eps: f64, group: &'static str) -> Var {
        let (rows, cols) = self.dims(self.node("batch_norm", x));
        let n = rows as f64;
        let gamma =
            self.param(format!("{name}.gamma"), 1, cols, Init::Values(vec![1.0; cols]), group);
        let beta = self.param(format!("{name}.beta"), 1, cols, Init::Zeros, group);
        let mean = self.param(format!("{name}.mean"), 1, cols, Init::Zeros, RUNNING);
        let var =
            self.param(format!("{name}.var"), 1, cols, Init::Values(vec![1.0; cols]), RUNNING);

        let sums = self.column_sums(x);
        let batch = self.sum([1.0 / n * sums]);
        let mean = self.statistic(batch, batch, mean);
        let mean = self.sum([-1.0 * mean]);
        let centred = self.sum([1.0 * x, 1.0 * mean]);
        let squares = self.column_dots(centred, centred);
        let (batch, unbiased) =
            (self.sum([1.0 / n * squares]), self.sum([1.0 / (n - 1.0).max(1.0) * squares]));
        let var = self.statistic(batch, unbiased, var);

        let eps = self.constant(Mat::from_vec(1, cols, vec![eps; cols]));
        let var = self.sum([1.0 * var, 1.0 * eps]);
        let deviation = self.sqrt(var);
        let scale = self.reciprocal(deviation);
        let scale = self.product(gamma, scale);
        self.sum([scale.row(0) * centred, 1.0 * beta])
    }
}

/// Normalisation of rows.
impl Tape {
    /// Layer normalisation: [`Tape::standardise`], then `y gamma + beta`.
    ///
    /// Declares the parameters `NAME.gamma` and `NAME.beta`, one entry per column, in `group`.
    /// Ba, Kiros & Hinton 2016.
    pub fn layer_norm(&mut self, name: &str, x: Var, eps: f64, group: &'static str) -> Var {
        let (_, cols) = self.dims(self.node("layer_norm", x));
        let gamma =
            self.param(format!("{name}.gamma"), 1, cols, Init::Values(vec![1.0; cols]), group);
        let beta = self.param(format!("{name}.beta"), 1, cols, Init::Zeros, group);
        let standard = self.standardise(x, eps);
        self.sum([gamma.row(0) * standard, 1.0 * beta])
    }
}

impl Tape {
    /// `batch` in training, where `running` is updated with `observed`; `running` otherwise.
    fn statistic(&mut self, batch: Var, observed: Var, running: Var) -> Var {
        let (batch, running) = self.nodes_of_same_shape("statistic", batch, running);
        let observed = self.node("statistic", observed);
        self.derive("statistic", Op::Statistic { batch, observed, running }, self.dims(batch))
    }

    /// Records a function of every entry; `operation` is its name in panics.
    fn map(&mut self, operation: &str, x: Var, map: Map) -> Var {
        let x = self.node(operation, x);
        self.derive(operation, Op::Map { x, map }, self.dims(x))
    }

    /// Records an activation or a dropout; `operation` is its name in panics.
    fn gate(&mut self, operation: &str, x: Var, act: Act, drop: f64) -> Var {
        let x = self.node(operation, x);
        let site = self.next_site();
        self.derive(operation, Op::Gate { x, act, drop, site }, self.dims(x))
    }

    /// The index of an operator; panics, naming the operation, if it belongs to another tape.
    pub(super) fn operator_index(&self, operation: &str, operator: OperatorVar) -> usize {
        let is_own = operator.tape == self.id && operator.index < self.operators.len();
        assert!(is_own, "{operation}: an operator of another tape");
        operator.index
    }

    /// The factor of a term with `cols` columns.
    fn factor(&self, coef: Coef, cols: usize) -> Factor {
        match coef {
            Coef::Fixed(c) => Factor::Fixed(c),
            Coef::Entry(v, k) => {
                let v = self.node("sum", v);
                let (rows, width) = self.dims(v);
                assert!(k < rows * width, "sum: entry {k} of [{rows}, {width}] as a factor");
                Factor::Entry(v, k)
            }
            Coef::Row(v, k) => {
                let v = self.node("sum", v);
                let (rows, width) = self.dims(v);
                assert!(k < rows && width == cols, "sum: row {k} of [{rows}, {width}] as a factor");
                Factor::Row(v, k)
            }
        }
    }
}
