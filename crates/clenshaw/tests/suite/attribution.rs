//! Contributions of nodes and features: they add up to the score, for every model.

use crate::common::problem::{Problem, Setting, every_setting, perturbed_params};
use clenshaw::data::{Dataset, Features};
use clenshaw::filter::{Filter, Response};
use clenshaw::graph::{Graph, distances, operator};
use clenshaw::model::{self, MODELS, ModelInfo, Net};
use clenshaw::rng::Stream;
use clenshaw::tensor::{Mat, Plan, ThreadTeam};
use clenshaw::train::{
    Attribution, AttributionLimits, AttributionMethod, AttributionTarget, ModelProvenance, Setup,
    TrainedModel, Trainer,
};

const TARGET: AttributionTarget = AttributionTarget { node: 3, class: 1, other: 2 };

/// Whether contributions to the scores of a model are defined.
fn is_attributable(info: &ModelInfo) -> bool {
    info.name != "uni-filter"
}

/// Whether a model with this setting has a precomputed filter, which has no contributions of features.
fn is_precomputed(setting: &Setting) -> bool {
    setting.info.precomputed_terms(&setting.hp).is_some()
}

/// The problem with dense features.
fn dataset(problem: &Problem) -> Dataset {
    let x = Features::Dense(problem.x().to_dense().cast());
    let y = problem.labels.iter().map(|label| Some(*label)).collect();
    let classes = (0..problem.n_classes).map(|c| format!("class {c}")).collect();
    Dataset::new("test problem", problem.graph(), x, y, classes)
}

/// A model with random weights; the features are not scaled.
fn model(setting: &Setting, dataset: &Dataset) -> TrainedModel {
    let mut hp = setting.hp.clone();
    hp.set("scaling", "raw").unwrap();
    let setup = Setup::new(dataset.clone(), setting.info, hp).unwrap();
    let params = perturbed_params(setup.plan(), 5);
    let provenance = ModelProvenance { data_sha256: dataset.sha256(), ..Default::default() };
    TrainedModel::new(&setup, &params, provenance)
}

fn attribution(model: &TrainedModel, dataset: &Dataset, target: AttributionTarget) -> Attribution {
    model.attribution(dataset, target, &AttributionLimits::default()).unwrap()
}

/// The sum of absolute contributions and of the part without nodes, the scale of rounding errors.
fn scale(a: &Attribution) -> f64 {
    let parts = a.by_node.iter().map(|(_, part)| part.margin.abs() + part.score.abs());
    a.total.score.abs() + a.without_nodes.score.abs() + parts.sum::<f64>() + 1e-3
}

/// The score of [`TARGET`] in an ordinary prediction.
fn predicted_score(model: &TrainedModel, dataset: &Dataset) -> f64 {
    f64::from(model.scores(dataset, 1).unwrap()[(TARGET.node, TARGET.class)])
}

fn with_features(dataset: &Dataset, change: impl Fn(usize, &mut f32)) -> Dataset {
    let mut x = dataset.x.to_dense();
    let cols = x.cols();
    x.as_mut_slice().iter_mut().enumerate().for_each(|(i, value)| change(i / cols, value));
    Dataset { x: Features::Dense(x), ..dataset.clone() }
}

#[test]
fn contributions_of_every_model_add_up_to_its_score() {
    let problem = Problem::random(24, 11);
    let data = dataset(&problem);
    let is_included = |setting: &Setting| is_attributable(setting.info) && !is_precomputed(setting);
    for setting in every_setting().filter(is_included) {
        let (what, model) = (&setting.what, model(&setting, &data));
        let a = attribution(&model, &data, TARGET);
        let tolerance = 1e-4 * scale(&a);
        let score = predicted_score(&model, &data);
        assert!((a.total.score - score).abs() < tolerance, "{what}: {:?} for {score}", a.total);
        let parts: f64 = a.by_node.iter().map(|(_, part)| part.score).sum();
        let (gap, features) = (a.node_gap(), a.feature_gap());
        match a.method {
            AttributionMethod::Exact => {
                // Nothing but rounding in f64.
                let error = gap.score.abs().max(gap.margin.abs());
                assert!(error < 1e-12 * scale(&a), "{what}: {gap:?}");
            }
            AttributionMethod::IntegratedGradients => {
                assert!(
                    (gap.margin - features.margin).abs() < 1e-10 * scale(&a),
                    "{what}: {gap:?} for nodes, {features:?} for features"
                );
                // The path scales the adjacency as well, which changed features do not.
                if setting.info.name != "linkx" {
                    let zero = with_features(&data, |_, value| *value = 0.0);
                    let start = predicted_score(&model, &zero);
                    let error = (score - start - parts).abs();
                    assert!(error < gap.score.abs() + tolerance, "{what}: {error} and {gap:?}");
                }
            }
        }
        let change = a.total - a.without_features;
        assert!(
            a.points == 243 || features.margin.abs() <= 0.01 * change.margin.abs(),
            "{what}: {features:?} after {} points",
            a.points
        );
        assert!(features.margin.abs() < 0.05 * scale(&a), "{what}: {features:?} of {change:?}");
    }
}

#[test]
fn models_with_a_precomputed_filter_have_no_contributions() {
    let data = dataset(&Problem::random(24, 11));
    let precomputed: Vec<Setting> = every_setting().filter(is_precomputed).collect();
    assert_eq!(precomputed.len(), MODELS.iter().filter(|info| info.precompute.is_some()).count());
    for setting in precomputed {
        let model = model(&setting, &data);
        let error = model.attribution(&data, TARGET, &AttributionLimits::default()).unwrap_err();
        assert!(error.to_string().contains("`precompute = false`"), "{}: {error}", setting.what);
    }
}

#[test]
fn exact_contributions_do_not_depend_on_other_nodes() {
    let problem = Problem::random(24, 11);
    let data = dataset(&problem);
    let mut exact = vec![];
    for info in MODELS.iter().filter(|info| is_attributable(info)) {
        let model = model(&Setting::small(info), &data);
        let before = attribution(&model, &data, TARGET);
        if before.method != AttributionMethod::Exact {
            continue;
        }
        exact.push(info.name);
        for &(changed, contribution) in before.by_node.iter().step_by(5) {
            let other = with_features(&data, |node, value| {
                *value = if node == changed as usize { 1.5 - *value } else { *value }
            });
            let after = attribution(&model, &other, TARGET);
            let tolerance = 1e-12 * scale(&before);
            for (&(node, a), &(_, b)) in before.by_node.iter().zip(&after.by_node) {
                let same = (a - b).margin.abs() < tolerance && (a - b).score.abs() < tolerance;
                assert!(node == changed || same, "{}: node {node} changed", info.name);
            }
            let position = before.by_node.iter().position(|(node, _)| *node == changed).unwrap();
            let difference = after.by_node[position].1 - contribution;
            let error = (after.total - before.total) - difference;
            assert!(error.margin.abs() < tolerance, "{}: {error:?}", info.name);
        }
    }
    let expected = [
        "mlp",
        "h2gcn",
        "appnp",
        "gpr-gnn",
        "bern-net",
        "cheb-base",
        "cheb-net-ii",
        "jacobi-conv",
        "specformer",
        "favard-gnn",
        "poly",
    ];
    assert_eq!(exact, expected);
}

/// `relu(X W1 + b1) W2 + b2`, by plain loops.
fn head(model: &TrainedModel, x: &Mat<f64>) -> Mat<f64> {
    let weight = |name: &str| -> Mat<f64> {
        model.weights().iter().find(|(other, _)| other == name).unwrap().1.cast()
    };
    let add = |mut y: Mat<f64>, b: Mat<f64>| {
        let cols = y.cols();
        y.as_mut_slice().iter_mut().enumerate().for_each(|(i, y)| *y += b.as_slice()[i % cols]);
        y
    };
    let mut y = add(x.matmul(&weight("w_in")), weight("b_in"));
    y.as_mut_slice().iter_mut().for_each(|y| *y = y.max(0.0));
    add(y.matmul(&weight("w_out")), weight("b_out"))
}

#[test]
fn a_node_contributes_what_the_score_loses_without_its_head() {
    let problem = Problem::random(24, 11);
    let data = dataset(&problem);
    let mut models = 0;
    for info in MODELS.iter().filter(|info| is_attributable(info)) {
        let model = model(&Setting::small(info), &data);
        let a = attribution(&model, &data, TARGET);
        let Some(terms) = &a.terms else { continue };
        // The terms of the polynomial are another division of the same score.
        let sum: f64 = terms.terms.iter().map(|term| term.contribution.margin).sum();
        assert!((sum - a.total.margin).abs() < 1e-11 * scale(&a), "{}: {sum}", info.name);
        let Some(Response::Shared(filter)) = model.filter(&data).unwrap() else { continue };
        models += 1;
        let p = operator(&data.graph, info.operator.unwrap());
        let z = head(&model, &data.x.to_dense().cast());
        let score = |z: &Mat<f64>| Filter::apply(&filter, &p, z)[(TARGET.node, TARGET.class)];
        let full = score(&z);
        for &(node, part) in &a.by_node {
            let mut without = z.clone();
            (0..z.cols()).for_each(|c| without[(node as usize, c)] = 0.0);
            let lost = full - score(&without);
            assert!((part.score - lost).abs() < 1e-9 * scale(&a), "{}: node {node}", info.name);
        }
    }
    assert_eq!(models, 6);
}

/// The score of the target with the features of every node multiplied by `factor`, and those of one node by
/// `factor + extra`.
fn score_along_path(
    info: &ModelInfo,
    trained: &TrainedModel,
    data: &Dataset,
    factor: f64,
    (node, extra): (usize, f64),
) -> f64 {
    let mut x: Mat<f64> = data.x.to_dense().cast();
    let cols = x.cols();
    for (i, value) in x.as_mut_slice().iter_mut().enumerate() {
        *value *= if i / cols == node { factor + extra } else { factor };
    }
    let p = info.operator.map(|kind| operator(&data.graph, kind));
    let mut net = Net::dense(x, p, data.n_classes()).with_graph(&data.graph);
    let logits = (info.build)(&mut net, trained.hp());
    let plan = Plan::<f64>::compile_frozen(&net, logits);
    let weight = |name: &str| trained.weights().iter().find(|(other, _)| other == name).unwrap();
    let params = plan.param_vector(|param| weight(&param.name).1.cast::<f64>().into_vec());
    let mut work = plan.workspace(ThreadTeam::new(1));
    plan.scores(&mut work, &params)[TARGET.node * data.n_classes() + TARGET.class]
}

#[test]
fn integrated_gradients_agree_with_finite_differences() {
    let problem = Problem::random(14, 3);
    let data = dataset(&problem);
    let step = 1e-6;
    for info in MODELS.iter().filter(|info| info.name != "linkx" && is_attributable(info)) {
        let trained = model(&Setting::small(info), &data);
        let first = attribution(&trained, &data, TARGET);
        if first.method == AttributionMethod::Exact {
            continue;
        }
        let operations = 9.5 * first.operations / first.points as f64;
        let limits = AttributionLimits { operations, ..Default::default() };
        let a = trained.attribution(&data, TARGET, &limits).unwrap();
        let points = a.points;
        assert!(points == 3 || points == 9, "{}: {points} points", info.name);
        for &(node, part) in a.by_node.iter().step_by(4) {
            let slope = |j: usize| {
                let factor = (2 * j + 1) as f64 / (2 * points) as f64;
                let at = |extra: f64| {
                    score_along_path(info, &trained, &data, factor, (node as usize, extra))
                };
                (at(step) - at(-step)) / (2.0 * step)
            };
            let expected = (0..points).map(slope).sum::<f64>() / points as f64;
            let error = (part.score - expected).abs();
            assert!(error < 1e-6 * scale(&a), "{}: node {node}: {part:?} {expected}", info.name);
        }
    }
}

#[test]
fn nodes_beyond_reach_contribute_nothing() {
    // A path of 14 nodes.
    let edges: Vec<(u32, u32)> = (0..13).map(|i| (i, i + 1)).collect();
    let problem = Problem { edges, ..Problem::random(14, 3) };
    let data = dataset(&problem);
    let settings = [("gcn", "layers", "2", 2), ("appnp", "K", "3", 3), ("h2gcn", "rounds", "1", 2)];
    for (name, key, value, reach) in settings {
        let mut setting = Setting::small(model::find(name).unwrap());
        setting.hp.set(key, value).unwrap();
        let model = model(&setting, &data);
        let a = attribution(&model, &data, TARGET);
        let nodes: Vec<u32> = a.by_node.iter().map(|(node, _)| *node).collect();
        let expected: Vec<u32> =
            (0..14u32).filter(|u| u.abs_diff(TARGET.node as u32) as usize <= reach).collect();
        assert_eq!((a.reach, nodes), (Some(reach), expected), "{name}");
        assert!(a.by_node.iter().all(|(_, part)| part.score != 0.0), "{name}: {:?}", a.by_node);
        let far = with_features(&data, |node, value| {
            *value = if node.abs_diff(TARGET.node) > reach { *value + 1.0 } else { *value }
        });
        assert_eq!(attribution(&model, &far, TARGET).by_node, a.by_node, "{name}");
    }
    assert_eq!(distances(&data.graph, 3)[13], Some(10));
}

#[test]
fn adjacency_rows_of_linkx_are_contributions_of_neighbours() {
    let problem = Problem::random(24, 11);
    let data = dataset(&problem);
    let model = model(&Setting::small(model::find("linkx").unwrap()), &data);
    let a = attribution(&model, &data, TARGET);
    let mut expected = data.graph.neighbours(TARGET.node).to_vec();
    expected.push(TARGET.node as u32);
    expected.sort_unstable();
    assert_eq!(a.by_node.iter().map(|(node, _)| *node).collect::<Vec<_>>(), expected);
    assert_eq!(a.reach, Some(1));
    assert!(a.by_adjacency.score != 0.0);
}

#[test]
fn informative_features_rank_first() {
    // Two classes on a ring of cliques; feature 4 has the sign of the class, the other nine are noise.
    let n = 120;
    let mut stream = Stream::new(1, "planted");
    let class = |i: usize| (i / 6 % 2) as u32;
    let clique = |i: u32| (i - i % 6..i).map(move |j| (i, j));
    let edges: Vec<(u32, u32)> = (0..n as u32).flat_map(clique).collect();
    let graph = Graph::from_edges("planted", n, &edges).unwrap();
    let value = |i: usize, stream: &mut Stream| {
        let sign = if class(i / 10) == 0 { -1.0 } else { 1.0 };
        let noise = stream.symmetric(1.0) as f32;
        if i % 10 == 4 { sign + 0.5 * noise } else { noise }
    };
    let values = (0..10 * n).map(|i| value(i, &mut stream)).collect();
    let x = Features::Dense(Mat::from_vec(n, 10, values));
    let y = (0..n).map(|i| Some(class(i))).collect();
    let data = Dataset::new("planted", graph, x, y, vec!["a".into(), "b".into()]);
    for name in ["mlp", "gcn", "appnp", "clenshaw-gcn"] {
        let trainer = Trainer::new(name).unwrap().set("max_epochs", 60).unwrap();
        let run = trainer.fit(data.clone()).unwrap();
        let mut first = 0;
        for node in (0..n).step_by(20) {
            let class = class(node) as usize;
            let target = AttributionTarget { node, class, other: 1 - class };
            let a = attribution(run.model(), &data, target);
            let size = |j: &usize| a.by_feature[*j].margin.abs();
            let strongest = (0..10).max_by(|i, j| size(i).total_cmp(&size(j))).unwrap();
            first += usize::from(strongest == 4);
        }
        assert!(first >= 5, "{name}: feature 4 is first for {first} of 6 nodes");
    }
}

#[test]
fn models_without_attributions_are_refused() {
    let data = dataset(&Problem::random(24, 11));
    let model = model(&Setting::small(model::find("uni-filter").unwrap()), &data);
    let result = model.attribution(&data, TARGET, &AttributionLimits::default());
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("explaining uni-filter: the basis of uni-filter is"), "{error}");
}

#[test]
fn limits_are_errors_that_state_what_is_needed() {
    let data = dataset(&Problem::random(24, 11));
    let model = model(&Setting::small(model::find("gcn").unwrap()), &data);
    let error = |limits: AttributionLimits| {
        model.attribution(&data, TARGET, &limits).unwrap_err().to_string()
    };
    let memory = error(AttributionLimits { bytes: 1000, ..Default::default() });
    assert!(memory.starts_with("node 3: its explanation needs 0.00 GB of memory"), "{memory}");
    assert!(memory.contains("within reach of the model (2 hops)"), "{memory}");
    let work = error(AttributionLimits { operations: 10.0, ..Default::default() });
    assert!(work.contains("operations; the limit is 1.0e1"), "{work}");
}

#[test]
fn attributions_do_not_depend_on_threads() {
    let data = dataset(&Problem::random(260, 2));
    let model = model(&Setting::small(model::find("gcnii").unwrap()), &data);
    let with = |threads: usize| {
        let limits = AttributionLimits { threads, ..Default::default() };
        model.attribution(&data, TARGET, &limits).unwrap()
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.by_node, three.by_node);
    assert_eq!(one.by_feature, three.by_feature);
}
