//! `clenshaw reproduce` for experiments of many cells: pages, files, and going on where it stopped.

use crate::common::{Sandbox, has_data, text};
use serde_json::{Value, json};

#[test]
fn wrong_words_are_answered() {
    let cases = [
        (
            "theorems --only graph=texsa",
            "unknown graph `texsa`; did you mean `texas`? known: texas,",
        ),
        ("theorems --runs 2", "`runs` is `2`; expected none here: theorems are checked once"),
        (
            "filters --only filter=notch",
            "unknown filter `notch`; known: low, high, band, reject, comb",
        ),
        ("filters --only model=mlp", "unknown model `mlp`; known: monomial, bernstein, chebyshev,"),
        ("filters --runs 0", "`runs` is 0, outside 1..=1000"),
    ];
    for (words, message) in cases {
        let sandbox = Sandbox::new();
        let (code, refused) = sandbox.refused(&format!("reproduce {words} --out here"));
        assert!(refused.starts_with(&format!("error: {message}")), "{words}: {refused}");
        assert_eq!(code, 2, "{words}");
        assert!(sandbox.is_empty(), "`{words}` left files behind");
    }
}

#[test]
fn a_theorem_is_checked_and_kept() {
    if !has_data() {
        return;
    }
    let sandbox = Sandbox::new();
    let words = "reproduce theorems --only graph=texas,cornell --out o --quiet --json";
    let found = sandbox.json(words);
    for graph in found["records"].as_array().unwrap() {
        let check = &graph["record"]["check"];
        assert_eq!((&check["nodes"], &check["reference"]), (&json!(183), &json!("eigenvectors")));
        for errors in check["errors"].as_array().unwrap() {
            for name in ["theorem_1", "theorem_2", "corollary"] {
                assert!(errors[name].as_f64().unwrap() < 1e-11, "{graph}");
            }
        }
    }
    let page = text(&sandbox.read("o/theorems.md"));
    assert!(page.contains("| texas   |   183 | eigenvectors |"), "{page}");
    assert!(page.contains("Made by `clenshaw reproduce theorems --only graph=texas,cornell`"));

    // A record is believed, unless it is about something else.
    let path = "o/records/check-texas.json";
    let mut kept: Value = serde_json::from_slice(&sandbox.read(path)).unwrap();
    kept["record"]["check"]["nodes"] = json!(184);
    sandbox.write(path, &kept.to_string());
    assert_eq!(sandbox.json(words)["records"][0]["record"]["check"]["nodes"], 184);
    kept["settings"]["question"]["seed"] = json!(1);
    sandbox.write(path, &kept.to_string());
    assert_eq!(sandbox.json(words)["records"][0]["record"]["check"]["nodes"], 183);
}

#[test]
fn a_budget_ends_it_and_the_same_words_go_on() {
    let sandbox = Sandbox::new();
    let words = "reproduce filters --only filter=low,model=monomial --runs 1 --quiet --out o";
    let (code, message) = sandbox.refused(&format!("{words} --budget 0s"));
    let expected = "the time is over; run again to go on\nerror: interrupted\n";
    assert_eq!((code, message.as_str()), (1, expected));
    assert!(!sandbox.path("o/filters.md").exists());
    assert!(sandbox.stdout(words).contains("monomial"));
    assert!(sandbox.path("o/records/monomial-low-0.json").exists());
}

#[test]
fn what_is_not_here_is_said() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("reproduce theorems --only graph=texas --quiet");
    command.env_remove("CLENSHAW_DATA").env("HOME", sandbox.path("home"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("Not here, so not measured: texas; get with"), "{page}");
    assert!(page.ends_with("written to runs/reproduce\n"), "{page}");
}

#[test]
fn a_filter_is_learned_and_drawn() {
    let sandbox = Sandbox::new();
    let words = "reproduce filters --only filter=band,model=optimal,bernstein --runs 1 --quiet";
    let page = sandbox.stdout(&format!("{words} --out o"));
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let found: Value = serde_json::from_slice(&sandbox.read("o/filters.json")).unwrap();
    let sum = |model: &str| {
        let records = found["records"].as_array().unwrap().iter();
        let record = records.into_iter().find(|record| record["model"] == model).unwrap();
        record["record"]["sum_of_squares"].as_f64().unwrap()
    };
    let (best, own, bernstein) = (sum("optimum"), sum("optimal"), sum("bernstein"));
    assert!((1.0 - 1e-9) * best < own && own < 1.01 * best, "{own} instead of {best}");
    assert!(bernstein > best, "{bernstein} below {best}");
    let svg = text(&sandbox.read("o/figures/filters-band.svg"));
    assert!(svg.contains(">to be learned<") && svg.contains(">h(μ)<"));
    assert_eq!(sandbox.read("o/figures/filters-band.png")[..4], *b"\x89PNG");

    let records = || std::fs::read_dir(sandbox.path("o/records")).unwrap().count();
    let before = records();
    assert_eq!(sandbox.stdout(&format!("{words} --out o")), page, "from the records alone");
    assert_eq!(records(), before);
}
