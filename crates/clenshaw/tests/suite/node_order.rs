//! The order in which nodes are stored, and the sums that rows share, change no result.

use crate::common::problem::{Form, Problem, every_setting, perturbed_params};
use crate::common::{assert_close, largest};
use clenshaw::graph::Graph;
use clenshaw::rng::Stream;
use clenshaw::tensor::{Plan, ThreadTeam};

/// Loss, gradient, scores and named values, with dropout.
fn results(plan: &Plan<f64>, problem: &Problem) -> Vec<(String, Vec<f64>)> {
    let mut work = plan.workspace(ThreadTeam::new(2));
    let params = perturbed_params(plan, 3);
    let dropout = Stream::new(5, "dropout");
    let loss = plan.gradient(&mut work, &params, &problem.targets(), &dropout);
    let gradient = work.gradients().to_vec();
    let scores = plan.scores(&mut work, &params).to_vec();
    let values = plan.values(&mut work, &params);
    let values = values.into_iter().map(|(name, value)| (name, value.as_slice().to_vec()));
    let named = [("loss", vec![loss]), ("gradient", gradient), ("scores", scores)];
    named.map(|(name, numbers)| (name.to_owned(), numbers)).into_iter().chain(values).collect()
}

/// Compares all settings of all models between the order of the numbers, in which products share sums unless
/// they have weights, and a random order, in which they share none.
fn assert_order_changes_nothing(numbered: &Problem, form: Form) {
    let mut shuffled = numbered.clone();
    let mut nodes: Vec<u32> = (0..numbered.n_nodes() as u32).collect();
    Stream::new(1, "node order").shuffle(&mut nodes);
    shuffled.order = Some(nodes);
    for setting in every_setting().map(|setting| setting.with_dropout(0.4)) {
        let expected = results(&setting.compile(numbered, form), numbered);
        let actual = results(&setting.compile(&shuffled, form), &shuffled);
        for ((name, expected), (_, actual)) in expected.iter().zip(&actual) {
            let what = format!("{}: {name}", setting.what);
            assert_close(&what, actual, expected, largest(expected).max(1e-3), 1e-9);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_order_in_which_nodes_are_stored() {
    assert_order_changes_nothing(&Problem::grouped(600, 2), Form::Sparse);
}

#[test]
fn results_with_edge_weights_do_not_depend_on_the_order_either() {
    let problem = Problem { weighted: true, ..Problem::grouped(140, 2) };
    assert_order_changes_nothing(&problem, Form::Dense);
}

#[test]
fn a_graph_chooses_an_order_by_itself() {
    // The nodes of a group are far apart in the order of their numbers.
    let n = 1200;
    let node = |group: u32, k: u32| 40 * k + group;
    let pairs = (0..40).flat_map(|g| {
        (0..30).flat_map(move |a| (0..a).step_by(3).map(move |b| (node(g, a), node(g, b))))
    });
    let graph = Graph::from_edges("groups", n, &Vec::from_iter(pairs)).unwrap();
    let order = graph.node_order().unwrap();
    let groups = order.nodes().iter().map(|node| node % 40);
    let changes = Vec::from_iter(groups).windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes < 200, "{changes} changes of group between adjacent rows");
    assert!(graph.with_node_order(None).node_order().is_none());
}
