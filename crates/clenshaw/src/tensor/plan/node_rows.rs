//! Whether the rows of nodes can be stored in another order.
//!
//! Most operations treat every row alike, so their results do not depend on the order in which rows are stored.
//! A tape can also combine rows of nodes with rows of a parameter or constant, or select one by its position.
//! The plan of such a tape stores rows by node number.

use super::Tape;
use super::instr::Spmm;
use super::op::{Node, Op};
use super::value::NodeId;

/// What the rows of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// One row per node.
    Nodes,
    /// Rows of a parameter, a constant or a result such as a sum over nodes.
    Other,
    /// All rows are equal, so they are the same in every order: zeros, or a value computed from zeros row by row.
    Equal,
}

impl Tape {
    /// Whether a plan may store the rows of nodes in another order, which then changes only the order of each value's
    /// own rows. Also `false` if later passes would mistake other rows for rows of nodes.
    pub(super) fn permits_node_order(&self) -> bool {
        let n_nodes = self.operators.first().map(|operator| operator.n_nodes());
        let mut rows = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // Later passes recognise rows of nodes by their number.
            let is_mistaken =
                |kind| kind == Rows::Other && node.per_node && n_nodes == Some(node.rows);
            match rows_of(node, &rows) {
                Some(kind) if !is_mistaken(kind) => rows.push(kind),
                _ => return false,
            }
        }
        true
    }
}

/// What the rows of a value are, given those of all earlier values; `None` if the value depends on the order of
/// nodes.
fn rows_of(node: &Node, rows: &[Rows]) -> Option<Rows> {
    let has_node_rows = |v: NodeId| rows[v] == Rows::Nodes;
    match &node.op {
        Op::Dense(_) | Op::Sparse(_) => Some(if node.per_node { Rows::Nodes } else { Rows::Other }),
        // The rows of an input are set by number.
        Op::Input(_) => None,
        Op::Zero => Some(Rows::Equal),
        Op::Param(_) => Some(Rows::Other),
        Op::Sum { spmm, terms, .. } => {
            let factors = terms.iter().filter_map(|(factor, _)| factor.source());
            let source = spmm.as_ref().map(|Spmm { src, .. }| *src);
            let reads_other_rows = source.is_some_and(|v| rows[v] == Rows::Other);
            let selects_a_node = factors.clone().any(has_node_rows);
            if reads_other_rows || selects_a_node {
                return None;
            }
            // A product with the graph has one row per node even if all rows of its source are equal.
            let product = source.map(|_| Rows::Nodes);
            common(terms.iter().map(|(_, v)| rows[*v]).chain(product))
        }
        Op::Linear { w, .. } | Op::SparseLinear { w, .. } if has_node_rows(*w) => None,
        // Every row has its own dropout mask.
        Op::Gate { x, drop, .. } if rows[*x] == Rows::Equal && *drop > 0.0 => Some(Rows::Nodes),
        Op::Linear { x, .. }
        | Op::SparseLinear { x, .. }
        | Op::Gate { x, .. }
        | Op::SparseDropout { x, .. }
        | Op::Map { x, .. }
        | Op::Shrink { x, .. }
        | Op::Softmax(x)
        | Op::Standardise { x, .. } => Some(rows[*x]),
        Op::Attention { softmax, .. } => {
            let inputs = [softmax.values, softmax.source, softmax.destination];
            (!inputs.iter().any(|v| rows[*v] == Rows::Other)).then_some(Rows::Nodes)
        }
        Op::Concat(parts) => common(parts.iter().map(|v| rows[*v])),
        Op::Product(a, b) | Op::Max(a, b) => common([rows[*a], rows[*b]]),
        Op::ScaleRows { x, by, .. } => common([rows[*x], rows[*by]]),
        Op::ColumnDots(a, b) | Op::InnerProducts(a, b) => {
            common([rows[*a], rows[*b]]).map(|_| Rows::Other)
        }
        Op::Transpose(x) | Op::RunningProduct(x) if has_node_rows(*x) => None,
        Op::ColumnSums(_) | Op::Transpose(_) | Op::RunningProduct(_) | Op::Statistic { .. } => {
            Some(Rows::Other)
        }
    }
}

/// The kind of rows of the result if an operation combines rows of these kinds one by one; equal rows can be
/// combined with any kind. `None` if some are rows of nodes and some are other rows.
fn common(kinds: impl IntoIterator<Item = Rows>) -> Option<Rows> {
    kinds.into_iter().try_fold(Rows::Equal, |all, one| match (all, one) {
        (Rows::Equal, kind) | (kind, Rows::Equal) => Some(kind),
        (a, b) => (a == b).then_some(a),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::tensor::{Init, Mat, NodeOrder, Operator, OperatorVar, Pattern};
    use crate::tensor::{Plan, Targets, ThreadTeam, Var};
    use std::sync::Arc;

    /// The path of three nodes, which plans store as 2, 0, 1.
    fn path() -> Operator {
        let pattern = Pattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1]);
        let order = NodeOrder::new(vec![2, 0, 1]).unwrap();
        Operator::new(Arc::new(pattern), vec![1.0; 3]).with_order(Arc::new(order))
    }

    /// Features `x` of shape [3, 3], a parameter `w` of the same shape, and the operator.
    fn tape() -> (Tape, Var, Var, OperatorVar) {
        let mut t = Tape::new();
        let x = t.features(Mat::from_vec(3, 3, (0..9).map(f64::from).collect()));
        let w = t.param("w", 3, 3, Init::Zeros, "dense");
        let p = t.operator(path());
        (t, x, w, p)
    }

    type Record = fn(&mut Tape, Var, Var, OperatorVar) -> Var;

    const INDEPENDENT_OF_ORDER: [Record; 5] = [
        |t, x, w, p| {
            let h = t.linear(x, w, None);
            t.sum([p.apply(h), 1.0 * x])
        },
        |t, x, _, p| {
            let sums = t.column_sums(x);
            t.sum([p.apply(x), 1.0 * sums])
        },
        |t, x, _, _| {
            let wide = t.concat(&[x, x]);
            let products = t.inner_products(wide, x); // [6, 3]
            t.sum([products.row(1) * x])
        },
        |t, x, w, _| t.sum([w.entry(2) * x]),
        |t, x, _, p| {
            let zero = t.zeros_like(x);
            t.sum([p.apply(x), 1.0 * zero])
        },
    ];

    /// The first starts with equal rows. The last one is mistaken for values of the three nodes.
    const TREATED_AS_DEPENDENT: [Record; 10] = [
        |t, x, w, p| {
            let zeros = t.zeros_like(x);
            let halves = t.sigmoid(zeros);
            let degrees = t.sum([p.apply(halves)]);
            let wide = t.concat(&[degrees, degrees]);
            let products = t.inner_products(wide, w); // [6, 3]
            t.sum([products.row(1) * x])
        },
        |t, _, w, p| t.sum([p.apply(w)]),
        |t, x, w, p| t.sum([p.apply(x), 1.0 * w]),
        |t, x, w, _| t.product(x, w),
        |t, x, w, _| t.concat(&[x, w]),
        |t, x, w, _| t.scale_rows(x, w, 0),
        |t, x, _, _| t.sum([x.row(0) * x]),
        |t, x, _, _| t.linear(x, x, None),
        |t, x, w, _| {
            let products = t.inner_products(x, w);
            t.sum([products.row(1) * x])
        },
        |t, x, _, _| t.inner_products(x, x),
    ];

    #[test]
    fn order_is_permitted_unless_it_affects_values() {
        let permits = |record: &Record| {
            let (mut t, x, w, p) = tape();
            record(&mut t, x, w, p);
            t.permits_node_order()
        };
        assert!(INDEPENDENT_OF_ORDER.iter().all(permits));
        assert!(!TREATED_AS_DEPENDENT.iter().any(permits));
        let equal_rows_with_dropout: Record = |t, x, w, _| {
            let zeros = t.zeros_like(x);
            let halves = t.sigmoid(zeros);
            let dropped = t.dropout(halves, 0.5);
            t.product(dropped, w)
        };
        assert!(!permits(&equal_rows_with_dropout));
    }

    #[test]
    fn scores_and_gradients_do_not_depend_on_the_order() {
        for (i, record) in INDEPENDENT_OF_ORDER.iter().chain(&TREATED_AS_DEPENDENT).enumerate() {
            let (mut t, x, w, p) = tape();
            let y = record(&mut t, x, w, p);
            let plans = [Plan::<f64>::compile(&t, y), Plan::compile_frozen(&t, y)];
            let results = plans.map(|plan| {
                let mut work = plan.workspace(ThreadTeam::new(1));
                let params =
                    plan.param_vector(|_| (0..9).map(|i| 0.3 - 0.1 * f64::from(i)).collect());
                let targets = Targets::cross_entropy(3, &[0, 1, 2], |node| node);
                plan.gradient(&mut work, &params, &targets, &Stream::new(0, "dropout"));
                let gradients = work.gradients().to_vec();
                (plan.scores(&mut work, &params).to_vec(), gradients)
            });
            let [(scores, gradients), (plain_scores, plain_gradients)] = &results;
            for (a, b) in
                scores.iter().zip(plain_scores).chain(gradients.iter().zip(plain_gradients))
            {
                assert!((a - b).abs() < 1e-12, "tape {i}: {a} {b}");
            }
        }
    }
}
