//! `clenshaw bench`: times and operation counts of a training step.

use crate::common::{Sandbox, text};

#[test]
fn bound_of_a_step_is_the_sum_of_its_parts() {
    let sandbox = Sandbox::new();
    let document = sandbox.json("bench csbm:nodes=300 --set K=2 --steps 3 --threads 1 --json");
    assert!(document["machine"]["products_gflops"].as_f64().unwrap() > 0.0);
    let step = &document["steps"][0];
    let number = |key: &str| step[key].as_f64().unwrap();
    assert_eq!(step["model"], "clenshaw-gcn");
    assert!((number("times_bound") - number("ms") / number("bound_ms")).abs() < 1e-9);
    let parts = step["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    let expected = ["dense products", "gather", "sparse features", "gates", "rest", "optimiser"];
    assert_eq!(names, expected);
    let bound: f64 = parts.iter().map(|part| part["bound_ms"].as_f64().unwrap()).sum();
    assert!((bound - number("bound_ms")).abs() < 1e-9);
    assert!(number("node_order_ms") > 0.0 && number("shared_sums_ms") > 0.0);
    // Four gathers of 64 columns: two layers, forward and backward.
    let gathered = parts[1]["gathered_bytes"].as_f64().unwrap();
    assert_eq!(gathered % (4.0 * 64.0 * 4.0), 0.0);
    assert!(sandbox.is_empty());
}

#[test]
fn page_shows_machine_limits_and_bound() {
    let text = Sandbox::new().stdout("bench csbm:nodes=300 --set K=2 --steps 2 --threads 1");
    for word in [
        "GFLOP/s",
        "gather GB/s",
        "x the bound",
        "dense products",
        "optimiser",
        "step",
        "node order",
    ] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
}

#[test]
fn zero_steps_are_rejected() {
    let output = Sandbox::new().command("bench cora --steps 0").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`steps` is 0, outside 1 to 100000"));
}
