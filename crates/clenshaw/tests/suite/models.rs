//! Contract tests that every model in `MODELS` must pass.

use crate::common::problem::{
    Form, Problem, Setting, every_combination, every_setting, optimiser_keys, perturbed_params,
    tuned_values,
};
use crate::common::{assert_close, largest};
use clenshaw::hyper::{HyperParam, TuningSpace, Value, ValueRange};
use clenshaw::model::{self, MODELS, ModelFamily};
use clenshaw::rng::Stream;
use clenshaw::tensor::{
    Init, Mat, Pattern, Plan, RUNNING, Real, Sparse, Tape, Targets, ThreadTeam,
};
use std::collections::BTreeSet;

/// Enough nodes for several chunks, so that several threads take part.
const MANY: usize = 260;

fn every_default() -> impl Iterator<Item = Setting> {
    MODELS.iter().map(|info| Setting::defaults(info))
}

fn assert_unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(seen.insert(name), "{what} `{name}` is declared twice");
    }
}

/// Whether `name` starts with a letter and consists of alphanumeric words separated by `separator`.
fn is_word_list(separator: char, name: &str) -> bool {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.split(separator).all(plain)
}

#[test]
fn names_are_unique_and_well_formed() {
    assert_unique("model", MODELS.iter().map(|info| info.name));
    assert_unique("title", MODELS.iter().map(|info| info.title));
    for info in MODELS {
        let name = info.name;
        let lower = name.chars().all(|c| !c.is_ascii_uppercase());
        assert!(is_word_list('-', name) && lower, "`{name}` is not kebab-case");
        assert_eq!(model::find(name).unwrap().title, info.title);
        for text in [info.title, info.paper, info.equation] {
            assert!(!text.trim().is_empty(), "{name}: an empty title, paper or equation");
        }
    }
}

#[test]
fn hyper_parameters_are_unique_and_documented() {
    for info in MODELS {
        assert_unique(
            &format!("{}: hyper-parameter", info.name),
            info.hyper_params().map(|h| h.name),
        );
        for hyper in info.hyper_params() {
            let what = format!("{}: `{}`", info.name, hyper.name);
            assert!(is_word_list('_', hyper.name), "{what} is not snake_case");
            assert!(!hyper.meaning.trim().is_empty(), "{what} has no meaning");
        }
    }
}

#[test]
fn defaults_and_tuned_values_are_in_range() {
    for info in MODELS {
        for hyper in info.hyper_params() {
            for value in tuned_values(hyper).into_iter().chain([hyper.default]) {
                hyper.check(value).unwrap_or_else(|e| panic!("{}: {e}", info.name));
                let read = hyper.parse(&value.to_string()).unwrap();
                assert_eq!(read, value, "{}: `{}` printed and parsed", info.name, hyper.name);
            }
            assert_tunable(info.name, hyper);
        }
    }
}

/// Asserts that the tuning space fits the kind of the range and that its steps end at `high`.
fn assert_tunable(model: &str, hyper: &HyperParam) {
    let whole = |v: &f64| v.fract() == 0.0;
    let fits = match (hyper.space, hyper.range) {
        (TuningSpace::Fixed, _) | (TuningSpace::All, ValueRange::Flag | ValueRange::OneOf(_)) => {
            true
        }
        (TuningSpace::Among(values), ValueRange::Int(..)) => {
            !values.is_empty() && values.iter().all(whole)
        }
        (TuningSpace::Among(values), ValueRange::Real(..)) => !values.is_empty(),
        (TuningSpace::Steps { low, high, step }, range) => {
            let n_steps = (high - low) / step;
            let ends = step > 0.0 && high > low && (n_steps - n_steps.round()).abs() < 1e-9;
            let kind = match range {
                ValueRange::Int(..) => [low, high, step].iter().all(whole),
                ValueRange::Real(..) => true,
                ValueRange::Flag | ValueRange::OneOf(_) => false,
            };
            ends && kind
        }
        _ => false,
    };
    assert!(fits, "{model}: `{}` is {} and tuned over {}", hyper.name, hyper.range, hyper.space);
}

#[test]
fn every_parameter_belongs_to_an_optimiser_group() {
    let problem = Problem::random(12, 1);
    for info in MODELS {
        assert_unique(&format!("{}: group", info.name), info.groups.iter().map(|g| g.name));
        for key in optimiser_keys(info) {
            let hyper = info.hyper_params().find(|hyper| hyper.name == key);
            let hyper = hyper.unwrap_or_else(|| panic!("{}: no `{key}`", info.name));
            assert!(matches!(hyper.default, Value::Real(_)), "{}: `{key}`", info.name);
        }
        let declared: BTreeSet<&str> = info.groups.iter().map(|group| group.name).collect();
        let mut used_by_any = BTreeSet::new();
        for setting in Setting::variants(info) {
            let plan = setting.compile::<f32>(&problem, Form::Dense);
            let groups = plan.params().iter().map(|param| param.group);
            let used: BTreeSet<&str> = groups.filter(|group| *group != RUNNING).collect();
            assert!(used.is_subset(&declared), "{}: {used:?} in {declared:?}", setting.what);
            used_by_any.extend(used);
        }
        assert_eq!(used_by_any, declared, "{}: groups", info.name);
    }
}

#[test]
fn scores_are_finite() {
    let problem = Problem::random(12, 2);
    for setting in every_setting().chain(every_default()) {
        for form in [Form::Dense, Form::Sparse] {
            let plan = setting.compile::<f32>(&problem, form);
            for params in
                [plan.initial_params(&Stream::new(7, "weights")), perturbed_params(&plan, 7)]
            {
                let mut work = plan.workspace(ThreadTeam::new(1));
                let scores = plan.scores(&mut work, &params);
                assert_eq!(scores.len(), problem.n_nodes() * problem.n_classes);
                let bad = scores.iter().position(|score| !score.is_finite());
                assert_eq!(bad, None, "{} ({form:?}): a score is not finite", setting.what);
                assert!(
                    scores.iter().any(|score| *score != 0.0),
                    "{}: all scores are 0",
                    setting.what
                );
            }
        }
    }
}

#[test]
fn sparse_and_dense_features_give_the_same_scores_and_gradients() {
    let problem = Problem::random(MANY, 3);
    for setting in every_setting() {
        let dense = scores_and_gradients(&setting, &problem, Form::Dense);
        let sparse = scores_and_gradients(&setting, &problem, Form::Sparse);
        for (what, d, s) in [("scores", dense.0, sparse.0), ("gradients", dense.1, sparse.1)] {
            assert_close(&format!("{}: {what}", setting.what), &s, &d, largest(&d), 1e-11);
        }
    }
}

#[test]
fn renumbered_nodes_give_renumbered_scores() {
    let problem = Problem::random(MANY, 4);
    let mut new_number: Vec<u32> = (0..MANY as u32).collect();
    Stream::new(4, "renumbering").shuffle(&mut new_number);
    let renumbered = problem.renumbered(&new_number);
    for setting in every_setting() {
        let (scores, _) = scores_and_gradients(&setting, &problem, Form::Dense);
        let plan = setting.compile::<f64>(&renumbered, Form::Dense);
        let params = renumbered_params(&plan, &perturbed_params(&plan, 11), &new_number);
        let moved = plan.scores(&mut plan.workspace(ThreadTeam::new(1)), &params).to_vec();
        let moved = Mat::from_vec(MANY, problem.n_classes, moved);
        let back: Vec<f64> =
            new_number.iter().flat_map(|&j| moved.row(j as usize)).copied().collect();
        assert_close(&setting.what, &back, &scores, largest(&scores), 1e-11);
    }
}

/// The same parameters, with the rows of per-node parameters moved with their nodes.
fn renumbered_params(plan: &Plan<f64>, params: &[f64], new_number: &[u32]) -> Vec<f64> {
    let (mut moved, n) = (params.to_vec(), new_number.len());
    let per_node = plan.params().iter().zip(plan.ranges()).filter(|(p, _)| p.rows == n);
    for (param, range) in per_node {
        for (i, &j) in new_number.iter().enumerate() {
            let (from, to) = (i * param.cols, j as usize * param.cols);
            let row = &params[range.clone()][from..from + param.cols];
            moved[range.clone()][to..to + param.cols].copy_from_slice(row);
        }
    }
    moved
}

#[test]
fn only_parameters_with_a_row_per_node_depend_on_the_number_of_nodes() {
    for setting in every_default() {
        let count = |n| {
            let plan = setting.compile::<f32>(&Problem::random(n, 5), Form::Sparse);
            let others = plan.params().iter().filter(|param| param.rows != n);
            others.map(|param| param.rows * param.cols).sum::<usize>()
        };
        assert_eq!(count(47), count(53), "{}", setting.what);
    }
}

#[test]
fn same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let problem = Problem::random(MANY, 6);
    for setting in every_default().chain(every_combination()).map(|s| s.with_dropout(0.4)) {
        for form in [Form::Dense, Form::Sparse] {
            let single = computed_bytes(&setting, &problem, form, 1);
            for threads in [1, 2, 3] {
                let again = computed_bytes(&setting, &problem, form, threads);
                assert_eq!(single.len(), again.len(), "{}", setting.what);
                let differs = single.iter().zip(&again).position(|(a, b)| a != b);
                let what = format!("{} ({form:?}), {threads} threads", setting.what);
                assert_eq!(differs, None, "{what}: first byte that differs");
            }
        }
    }
}

#[test]
fn shared_sums_give_the_same_bytes_for_any_number_of_threads() {
    let problem = Problem::grouped(800, 6);
    for name in ["clenshaw-gcn", "gcn", "gcnii", "h2gcn"] {
        let setting = Setting::defaults(model::find(name).unwrap()).with_dropout(0.4);
        let single = computed_bytes(&setting, &problem, Form::Sparse, 1);
        for threads in [2, 3] {
            let again = computed_bytes(&setting, &problem, Form::Sparse, threads);
            assert!(single == again, "{name}, {threads} threads");
        }
    }
}

#[test]
fn gradients_do_not_depend_on_the_workspace_history() {
    let problem = Problem::random(MANY, 6);
    for setting in every_default().map(|setting| setting.with_dropout(0.4)) {
        let plan = setting.compile::<f32>(&problem, Form::Sparse);
        let mut work = plan.workspace(ThreadTeam::new(1));
        let dropout = Stream::new(0, "dropout");
        for seed in [1, 2, 1] {
            let params = perturbed_params(&plan, seed);
            plan.gradient(&mut work, &params, &problem.targets(), &dropout);
            let fresh = gradient(&plan, &params, &problem, 0);
            assert!(work.gradients() == fresh, "{}: gradients depend on history", setting.what);
        }
    }
}

#[test]
fn seeds_change_weights_and_dropout() {
    let problem = Problem::random(30, 7);
    for setting in every_default().map(|setting| setting.with_dropout(0.5)) {
        let plan = setting.compile::<f32>(&problem, Form::Sparse);
        let initial = |seed| plan.initial_params(&Stream::new(seed, "weights"));
        assert_eq!(initial(1), initial(1), "{}", setting.what);
        assert_ne!(initial(1), initial(2), "{}: weights of two seeds", setting.what);

        let drops = setting.info.hyper_params().any(|hyper| hyper.name.starts_with("dropout"));
        for (rate, expected) in [(0.5, drops), (0.0, false)] {
            let plan = setting.clone().with_dropout(rate).compile::<f32>(&problem, Form::Sparse);
            let params = perturbed_params(&plan, 1);
            let [first, second] = [1, 2].map(|seed| gradient(&plan, &params, &problem, seed));
            assert_eq!(first != second, expected, "{}: dropout of two seeds", setting.what);
        }
    }
}

#[test]
fn parameters_have_distinct_initial_values() {
    let problem = Problem::random(12, 7);
    for setting in every_default() {
        let plan = setting.compile::<f64>(&problem, Form::Sparse);
        let initial = plan.initial_params(&Stream::new(7, "weights"));
        let params = plan.params().iter().zip(plan.ranges());
        let first_values = params.filter_map(|(param, range)| match param.init {
            Init::Uniform(bound) => Some((&param.name, (initial[range.start] / bound).to_bits())),
            _ => None,
        });
        let first_values: Vec<_> = first_values.collect();
        let distinct: BTreeSet<u64> = first_values.iter().map(|(_, value)| *value).collect();
        assert_eq!(distinct.len(), first_values.len(), "{}: {first_values:?}", setting.what);
    }
}

#[test]
fn dropout_masks_of_different_blocks_differ() {
    // One feature of ones: the loss of a single node shows whether its entry was dropped.
    let n = 256;
    let ones = Pattern::new(1, (0..=n).collect(), vec![0; n]);
    let ones = Sparse::new(ones, vec![1.0; n]);
    for form in [Form::Dense, Form::Sparse] {
        let mut t = Tape::new();
        let x = match form {
            Form::Dense => t.features(ones.to_dense()).into(),
            Form::Sparse => t.sparse_features(ones.clone()),
        };
        let x = t.dropout(x, 0.5);
        let w = t.param("w", 1, 2, Init::Values(vec![1.0, 0.0]), "dense");
        let y = t.linear(x, w, None);
        let plan = Plan::<f64>::compile(&t, y);
        let mut work = plan.workspace(ThreadTeam::new(1));
        let mut is_dropped = |i: u32| {
            let only_i = Targets::cross_entropy(n, &[i], |_| 0);
            let dropout = Stream::new(8, "dropout");
            plan.gradient(&mut work, &[1.0, 0.0], &only_i, &dropout) == 2f64.ln()
        };
        let mask: Vec<bool> = (0..n as u32).map(&mut is_dropped).collect();
        let share = mask.iter().filter(|dropped| **dropped).count() as f64 / n as f64;
        assert!((share - 0.5).abs() < 0.1, "{form:?}: {share} dropped");
        let words: BTreeSet<&[bool]> = mask.chunks(64).collect();
        assert_eq!(words.len(), n / 64, "{form:?}: the same mask for two blocks of nodes");
    }
}

#[test]
fn scores_are_computed_without_dropout() {
    let problem = Problem::random(30, 9);
    for setting in every_default() {
        let (plain, _) = scores_and_gradients(&setting, &problem, Form::Sparse);
        let (dropped, _) =
            scores_and_gradients(&setting.clone().with_dropout(0.5), &problem, Form::Sparse);
        assert_eq!(plain, dropped, "{}", setting.what);
    }
}

#[test]
fn gradients_keep_the_scores_of_an_evaluation_unless_something_is_dropped() {
    let mut reordered = Problem::grouped(300, 9);
    let mut nodes: Vec<u32> = (0..300).collect();
    Stream::new(1, "node order").shuffle(&mut nodes);
    reordered.order = Some(nodes);
    let (mut keeping, mut dropping) = (0, 0);
    for setting in every_setting() {
        for (problem, form) in
            [(&Problem::grouped(MANY, 9), Form::Sparse), (&reordered, Form::Dense)]
        {
            let plan = setting.compile::<f32>(problem, form);
            // Batch statistics differ from their running averages.
            let has_statistics = plan.params().iter().any(|param| param.group == RUNNING);
            assert_eq!(plan.gradient_keeps_scores(), !has_statistics, "{}", setting.what);
            let dropped = setting.clone().with_dropout(0.4).compile::<f32>(problem, form);
            dropping += usize::from(!dropped.gradient_keeps_scores());
            if has_statistics {
                continue;
            }
            let mut work = plan.workspace(ThreadTeam::new(2));
            let (params, dropout) = (perturbed_params(&plan, 5), Stream::new(0, "dropout"));
            plan.gradient(&mut work, &params, &problem.targets(), &dropout);
            let kept = plan.scores_of_gradient(&work).to_vec();
            let bits = |scores: &[f32]| Vec::from_iter(scores.iter().map(|v| v.to_bits()));
            let expected = bits(plan.scores(&mut work, &params));
            assert!(bits(&kept) == expected, "{} ({form:?})", setting.what);
            keeping += 1;
        }
    }
    assert!(keeping > 100 && dropping > 100, "{keeping} and {dropping} plans");
}

#[test]
fn filters_of_spectral_models_have_finite_responses() {
    let problem = Problem::random(12, 10);
    for setting in every_setting() {
        let Some(filter) = setting.info.filter else {
            // UniFilter has another polynomial for every feature.
            let is_filter = setting.info.name != "uni-filter"
                && [ModelFamily::Spectral, ModelFamily::Clenshaw].contains(&setting.info.family);
            assert!(!is_filter, "{} has no filter", setting.what);
            continue;
        };
        let plan = setting.compile::<f64>(&problem, Form::Dense);
        let weights = perturbed_params(&plan, 1);
        let filter = filter(&crate::common::lookup(&plan, &weights), &setting.hp);
        let response = filter.sample(21);
        assert!(response.iter().all(|(_, h)| h.is_finite()), "{}: {response:?}", setting.what);
    }
}

/// Scores and gradients at perturbed parameters in f64.
fn scores_and_gradients(setting: &Setting, problem: &Problem, form: Form) -> (Vec<f64>, Vec<f64>) {
    let plan = setting.compile::<f64>(problem, form);
    let params = perturbed_params(&plan, 11);
    let mut work = plan.workspace(ThreadTeam::new(1));
    let scores = plan.scores(&mut work, &params).to_vec();
    (scores, gradient(&plan, &params, problem, 0))
}

fn gradient<T: Real>(plan: &Plan<T>, params: &[T], problem: &Problem, seed: u64) -> Vec<T> {
    let mut work = plan.workspace(ThreadTeam::new(1));
    plan.gradient(&mut work, params, &problem.targets(), &Stream::new(seed, "dropout"));
    work.gradients().to_vec()
}

/// The bytes of the initial parameters and, for these and for perturbed ones, of loss, gradient and
/// scores, all computed in one workspace.
fn computed_bytes(setting: &Setting, problem: &Problem, form: Form, threads: usize) -> Vec<u8> {
    let plan = setting.compile::<f32>(problem, form);
    let mut work = plan.workspace(ThreadTeam::new(threads));
    let (targets, dropout) = (problem.targets(), Stream::new(12, "dropout"));
    let initial = plan.initial_params(&Stream::new(12, "weights"));
    let mut numbers = initial.to_vec();
    for params in [initial, perturbed_params(&plan, 12)] {
        numbers.push(plan.gradient(&mut work, &params, &targets, &dropout));
        numbers.extend(work.gradients());
        numbers.extend(plan.scores(&mut work, &params));
    }
    numbers.iter().flat_map(|v| v.to_le_bytes()).collect()
}
