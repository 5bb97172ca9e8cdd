//! A plan that recomputes values in the backward pass gives the same bits with less memory.

use crate::common::problem::{Form, Problem, Setting, every_setting, perturbed_params};
use clenshaw::model;
use clenshaw::rng::Stream;
use clenshaw::tensor::{GatherPrecision, Plan, Real, ThreadTeam};

/// The bits of loss and gradient of two steps in one workspace, and of the scores after them.
fn bits<T: Real>(plan: &Plan<T>, problem: &Problem, threads: usize) -> Vec<u64> {
    let mut work = plan.workspace(ThreadTeam::new(threads));
    let mut all = vec![];
    for seed in [3, 4] {
        let params = perturbed_params(plan, seed);
        let dropout = Stream::new(seed, "dropout");
        all.push(plan.gradient(&mut work, &params, &problem.targets(), &dropout));
        all.extend(work.gradients());
        all.extend(plan.scores(&mut work, &params));
    }
    all.into_iter().map(|number| number.to_f64().to_bits()).collect()
}

/// A model of this depth, 16 wide, with dropout.
fn deep(name: &str, size: &str, depth: &str) -> Setting {
    let mut setting = Setting::defaults(model::find(name).unwrap()).with_dropout(0.3);
    for (key, value) in [(size, depth), ("hidden", "16")] {
        setting.hp.set(key, value).unwrap();
    }
    setting
}

#[test]
fn recomputation_changes_no_bit_of_any_model() {
    let problem = Problem::grouped(600, 2);
    for setting in every_setting().map(|setting| setting.with_dropout(0.4)) {
        let plain: Plan<f32> = setting.compile(&problem, Form::Sparse);
        let expected = bits(&plain, &problem, 2);
        let full = plain.allocated_bytes(2);
        for limit in [0, full * 3 / 4] {
            let mut plan: Plan<f32> = setting.compile(&problem, Form::Sparse);
            plan.recompute_to_fit(limit, 2);
            assert!(plan.allocated_bytes(2) <= full, "{}", setting.what);
            for threads in [1, 2] {
                let actual = bits(&plan, &problem, threads);
                assert!(actual == expected, "{} with {threads} threads", setting.what);
            }
        }
    }
}

#[test]
fn deep_models_need_less_memory_and_more_work() {
    let problem = Problem::random(3000, 2);
    // The memory that remains is the smallest of those tried; the bounds leave little room.
    let cases = [
        ("gcn", "layers", "24", 0.5),
        ("gcnii", "L", "24", 0.55),
        ("clenshaw-gcn", "K", "24", 0.7),
        ("horner-gcn", "K", "24", 0.6),
    ];
    for (name, size, depth, bound) in cases {
        let setting = deep(name, size, depth);
        let mut plan: Plan<f32> = setting.compile(&problem, Form::Sparse);
        let (full, expected) = (plan.workspace_bytes(), bits(&plan, &problem, 2));
        assert!(plan.recomputed_fraction() == 0.0);
        plan.recompute_to_fit(0, 1);
        let share = plan.workspace_bytes() as f64 / full as f64;
        assert!(share < bound, "{name}: {share} of the memory");
        let more = plan.recomputed_fraction();
        assert!(0.1 < more && more < 0.7, "{name}: {more} of the work in addition");
        assert!(bits(&plan, &problem, 2) == expected, "{name}");
    }
}

/// The smallest workspace relative to that without recomputation, and the additional work, as in docs/scale.md.
fn least_memory(name: &str, size: &str, depth: &str, problem: &Problem) -> String {
    let mut setting = Setting::defaults(model::find(name).unwrap()).with_dropout(0.5);
    for (key, value) in [(size, depth), ("hidden", "64")] {
        setting.hp.set(key, value).unwrap();
    }
    let mut plan: Plan<f32> = setting.compile(problem, Form::Dense);
    let full = plan.workspace_bytes() as f64;
    plan.recompute_to_fit(0, 1);
    let share = plan.workspace_bytes() as f64 / full;
    format!("{share:.2} (+{:.0}%)", 100.0 * plan.recomputed_fraction())
}

#[test]
fn the_documented_savings_are_those_of_the_plans() {
    let problem = Problem::random(20_000, 1);
    let rows = [
        ("GCN", "gcn", "layers"),
        ("GCNII", "gcnii", "L"),
        ("ClenshawGCN", "clenshaw-gcn", "K"),
        ("HornerGCN", "horner-gcn", "K"),
        ("OptBasisGNN", "opt-basis-gnn", "K"),
        ("GAT", "gat", "layers"),
    ];
    let row = |(title, name, size): &(&str, &str, &str)| {
        let cells = ["8", "16", "64"].map(|depth| least_memory(name, size, depth, &problem));
        format!("| {title} | {} |\n", cells.join(" | "))
    };
    let table: String = rows.iter().map(row).collect();
    let page = std::fs::read_to_string("../../docs/scale.md").unwrap();
    assert!(page.contains(&table), "docs/scale.md does not contain\n{table}");
}

#[test]
fn no_more_is_recomputed_than_the_limit_requires() {
    let problem = Problem::random(3000, 2);
    let setting = deep("gcn", "layers", "24");
    let compile = |limit: usize| {
        let mut plan: Plan<f32> = setting.compile(&problem, Form::Sparse);
        plan.recompute_to_fit(limit, 1);
        plan
    };
    let full = compile(usize::MAX).allocated_bytes(1);
    assert!(compile(full).recomputed_fraction() == 0.0);
    let (some, most) = (compile(full * 3 / 4), compile(full / 2));
    assert!(some.allocated_bytes(1) <= full * 3 / 4 && most.allocated_bytes(1) <= full / 2);
    let (some, most) = (some.recomputed_fraction(), most.recomputed_fraction());
    assert!(0.0 < some && some < most, "{some} and {most}");
}

#[test]
fn bf16_copies_are_recomputed_too() {
    let problem = Problem::random(3000, 5);
    let compile = || -> Plan<f32> {
        let setting = deep("clenshaw-gcn", "K", "24");
        setting.compile_with(&problem, Form::Dense, GatherPrecision::Bf16)
    };
    let (plain, mut plan) = (compile(), compile());
    plan.recompute_to_fit(0, 1);
    let share = plan.workspace_bytes() as f64 / plain.workspace_bytes() as f64;
    assert!(share < 0.75, "{share} of the memory");
    assert!(bits(&plan, &problem, 2) == bits(&plain, &problem, 1));
}
