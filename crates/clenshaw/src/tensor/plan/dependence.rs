//! What a recorded value depends on: products of features with parameters, and the nodes within reach.

use super::Tape;
use super::fuse::{PassMode, fuse};
use super::op::Op;
use super::value::{FeatureVar, NodeId, Var};
use crate::tensor::kernel::Act;

/// A product `x w + b` of features with a parameter `w`.
#[derive(Clone, Copy, Debug)]
pub struct FeatureProduct {
    /// The value of `x w + b`.
    pub value: Var,
    /// The index of `w` among the parameters.
    pub weight: usize,
    /// The index of `b` among the parameters, if there is one.
    pub bias: Option<usize>,
}

impl Tape {
    /// The products of these features with a weight, including those of the features after dropout. `features` must
    /// be an input, not the result of dropout.
    ///
    /// # Panics
    /// If the features belong to another tape, or if a weight or bias of such a product is not a parameter.
    pub fn products_of(&self, features: FeatureVar) -> Vec<FeatureProduct> {
        let source = self.node("products_of", features.0);
        let param = |v: NodeId| match self.nodes[v].op {
            Op::Param(p) => p,
            _ => panic!("products_of: a weight of the features that is not a parameter"),
        };
        let product = |(node, op): (NodeId, &Op)| match *op {
            Op::Linear { x, w, bias } | Op::SparseLinear { x, w, bias, .. }
                if self.without_dropout(x) == source =>
            {
                let value = Var { node, ..features.0 };
                Some(FeatureProduct { value, weight: param(w), bias: bias.map(param) })
            }
            _ => None,
        };
        self.nodes.iter().map(|node| &node.op).enumerate().filter_map(product).collect()
    }

    /// The value to which dropout was applied; the value itself if it is not the result of dropout.
    fn without_dropout(&self, v: NodeId) -> NodeId {
        match self.nodes[v].op {
            Op::Gate { x, act: Act::Identity, .. } | Op::SparseDropout { x, .. } => {
                self.without_dropout(x)
            }
            _ => v,
        }
    }

    /// The largest number of products with operators and attentions on a path from an input to `v` in an
    /// evaluation; `None` if `v` also depends on other rows in another way, such as by a sum over all rows.
    ///
    /// If operators connect only neighbours, a row of `v` depends only on nodes at most this number of edges
    /// away.
    ///
    /// # Panics
    /// If the value belongs to another tape.
    pub fn reach(&self, v: Var) -> Option<usize> {
        let v = self.node("reach", v);
        let (nodes, needed) = fuse(&self.nodes, &[v], PassMode::Evaluation);
        let mut reach = vec![0; nodes.len()];
        // `Node::per_node` would not do: it is set before batch statistics are replaced by running ones.
        let mut reads_nodes = vec![false; nodes.len()];
        for i in (0..nodes.len()).filter(|i| needed[*i]) {
            let op = &nodes[i].op;
            reads_nodes[i] = match op {
                Op::Dense(_) | Op::Input(_) | Op::Sparse(_) => nodes[i].per_node,
                _ => op.inputs().iter().any(|x| reads_nodes[*x]),
            };
            let mixes_rows = match *op {
                Op::Sum { ref terms, .. } => {
                    let mut factors = terms.iter().filter_map(|(factor, _)| factor.source());
                    factors.any(|source| reads_nodes[source])
                }
                Op::ColumnSums(x) | Op::RunningProduct(x) => reads_nodes[x],
                Op::ColumnDots(a, b) | Op::InnerProducts(a, b) => reads_nodes[a] || reads_nodes[b],
                Op::Linear { w, .. } | Op::SparseLinear { w, .. } => reads_nodes[w],
                _ => false,
            };
            if mixes_rows {
                return None;
            }
            let farthest = op.inputs().iter().map(|x| reach[*x]).max().unwrap_or(0);
            let own = match op {
                Op::Sum { spmm: Some(spmm), .. } => reach[spmm.src] + 1,
                Op::Attention { .. } => farthest + 1,
                _ => 0,
            };
            reach[i] = farthest.max(own);
        }
        Some(reach[v])
    }

    /// Replaces a value with zeros of its shape; panics if the value belongs to another tape.
    pub fn set_zero(&mut self, v: Var) {
        let v = self.node("set_zero", v);
        self.nodes[v].op = Op::Zero;
    }
}

#[cfg(test)]
mod tests {
    use crate::rng::Stream;
    use crate::tensor::{Init, Mat, Operator, Pattern, Plan, Sparse, Tape, Targets, ThreadTeam};
    use crate::tensor::{Var, assert_panics};
    use std::sync::Arc;

    /// The adjacency of two joined nodes.
    fn pair() -> Operator {
        Operator::new(Arc::new(Pattern::new(2, vec![0, 1, 2], vec![1, 0])), vec![1.0, 1.0])
    }

    #[test]
    fn reach_counts_products_along_the_longest_path() {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, 2.0]));
        let p = t.operator(pair());
        let near = t.sum([p.apply(x)]);
        let far = t.sum([p.apply(near), 1.0 * x]);
        let both = t.sum([1.0 * far, 1.0 * near]);
        assert_eq!([x, near, far, both].map(|v| t.reach(v)), [0, 1, 2, 2].map(Some));
        let products = t.inner_products(x, near);
        let spread = t.linear(x, products, None);
        assert_eq!([products, spread].map(|v| t.reach(v)), [None, None]);
        let wide = t.concat(&[x, x]);
        let mixed = t.linear(wide, far, None); // the rows of the weight are nodes
        assert_eq!(t.reach(mixed), None);
        let sparse = t.sparse_features(Sparse::new(Pattern::clone(pair().pattern()), vec![1.0; 2]));
        let mixed = t.linear(sparse, far, None);
        assert_eq!(t.reach(mixed), None);
        let sums = t.column_sums(far);
        let shifted = t.sum([1.0 * x, 1.0 * sums]);
        assert_eq!(t.reach(shifted), None);
        // All rows depend on row 0 of `x`.
        let scaled = t.sum([x.entry(0) * x]);
        let running = t.running_product(x);
        assert_eq!([scaled, running].map(|v| t.reach(v)), [None, None]);
        // Running statistics do not depend on other rows.
        let normalised = t.batch_norm("bn", near, 1e-5, "all");
        assert_eq!(t.reach(normalised), Some(1));
    }

    #[test]
    fn parameters_and_values_without_gradients_cannot_be_watched() {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, 2.0]));
        let w = t.param("w", 1, 1, Init::Zeros, "dense");
        let y = t.linear(x, w, None);
        let watch = |v: Var| _ = Plan::<f64>::compile_watching(&t, y, &[0], &[v]);
        assert_panics(&[
            ("watch: a parameter; expected a computed value", &|| watch(w)),
            ("watch: a value that depends on none of these parameters", &|| watch(x)),
        ]);
    }

    #[test]
    fn watched_gradients_match_hand_computation() {
        // y = P relu(x w) u: node 0 reads the value of node 1.
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(2, 1, vec![1.0, 2.0]));
        let w = t.param("w", 1, 2, Init::Zeros, "dense");
        let u = t.param("u", 2, 1, Init::Zeros, "dense");
        let p = t.operator(pair());
        let dropped = t.dropout(x, 0.5);
        let product = t.linear(dropped, w, None);
        let h = t.relu(product);
        let hu = t.linear(h, u, None);
        let y = t.sum([p.apply(hu)]);
        let products = t.products_of(x.into());
        assert_eq!((products.len(), products[0].value, products[0].weight), (1, product, 0));
        let plan = Plan::<f64>::compile_watching(&t, y, &[0], &[product, h]);
        let mut work = plan.workspace(ThreadTeam::new(1));
        let values = |name: &str| if name == "w" { vec![3.0, -4.0] } else { vec![5.0, 7.0] };
        let params = plan.param_vector(|param| values(&param.name));
        let score = Targets::combination(2, 0, &[2.0]);
        let value = plan.gradient(&mut work, &params, &score, &Stream::new(0, "dropout"));
        assert_eq!(value, 2.0 * 6.0 * 5.0);
        // Only row 1 matters, and its second entry is cut off by relu.
        let gradients = plan.watched_gradients(&work);
        assert_eq!(gradients[0], Some(&[0.0, 0.0, 10.0, 0.0][..]));
        assert_eq!(gradients[1], Some(&[0.0, 0.0, 10.0, 14.0][..]));
        let ranges = plan.ranges();
        assert_eq!(work.gradients()[ranges[0].clone()], [20.0, 0.0]);
        assert_eq!(work.gradients()[ranges[1].clone()], [0.0, 0.0]);
    }
}
