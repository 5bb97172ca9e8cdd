//! The listing verbs agree with the registries.

mod common;

use clenshaw::data::DATASETS;
use clenshaw::experiment::preset_graphs;
use clenshaw::model::MODELS;
use common::{Desk, text};
use serde_json::{Value, json};
use std::process::Stdio;

#[test]
fn models_as_json_are_the_registry() {
    let desk = Desk::new();
    let listed = desk.json("models --json");
    assert_eq!(listed.as_array().unwrap().len(), MODELS.len());
    for (object, info) in listed.as_array().unwrap().iter().zip(MODELS) {
        for (key, value) in [
            ("name", json!(info.name)),
            ("title", json!(info.title)),
            ("paper", json!(info.paper)),
            ("family", json!(info.family)),
            ("equation", json!(info.equation)),
            ("presets", json!(preset_graphs(info))),
        ] {
            assert_eq!(object[key], value, "{} {key}", info.name);
        }
        let defaults = object["hyper"].as_array().unwrap().iter();
        let defaults = defaults.map(|h| (h["name"].as_str().unwrap().into(), h["default"].clone()));
        let defaults: serde_json::Map<String, Value> = defaults.collect();
        assert_eq!(Value::Object(defaults), json!(info.defaults()), "{}", info.name);
        assert_eq!(*object, desk.json(&format!("models {} --json", info.name)));
    }
}

#[test]
fn ranges_and_spaces_are_numbers_or_lists() {
    let page = Desk::new().json("models gcnii --json");
    let key = |name| {
        let hyper = page["hyper"].as_array().unwrap().iter().find(|h| h["name"] == name);
        (hyper.unwrap()["range"].clone(), hyper.unwrap()["space"].clone())
    };
    assert_eq!(key("L"), (json!({"low": 1, "high": 256}), json!({"among": [2, 8, 16, 32, 64]})));
    assert_eq!(
        key("dropout"),
        (json!({"low": 0.0, "high": 0.99}), json!({"low": 0.0, "high": 0.7, "step": 0.1}))
    );
    let both = json!({"among": [false, true]});
    assert_eq!(key("star"), (both.clone(), both));
    let rules = ["patience", "mean", "late-mean", "accuracy", "accuracy-ties", "none"];
    assert_eq!(key("stop"), (json!({"among": rules}), Value::Null));
}

#[test]
fn a_model_shows_every_key_it_has() {
    let desk = Desk::new();
    let list = desk.stdout("models");
    for info in MODELS {
        assert!(list.lines().any(|line| line.starts_with(info.name) && line.ends_with(info.paper)));
        let page = desk.stdout(&format!("models {}", info.name));
        for hyper in info.hypers() {
            let row = page.lines().find(|line| line.split(' ').next() == Some(hyper.name));
            let row = row.unwrap_or_else(|| panic!("{}: no `{}`", info.name, hyper.name));
            assert!(row.contains(&hyper.default.to_string()), "{row}");
            assert!(row.contains(&hyper.range.to_string()), "{row}");
        }
    }
}

#[test]
fn data_as_json_are_the_registry() {
    let listed = Desk::new().json("data list --json --data nowhere");
    assert_eq!(listed.as_array().unwrap().len(), DATASETS.len());
    for (object, info) in listed.as_array().unwrap().iter().zip(DATASETS) {
        for (key, value) in [
            ("name", json!(info.name)),
            ("kind", json!(info.kind())),
            ("title", json!(info.title)),
            ("source", json!(info.source)),
        ] {
            assert_eq!(object[key], value, "{} {key}", info.name);
        }
        assert!(info.kind() == "files" || object["here"] == json!(true), "{}", info.name);
    }
}

#[test]
fn a_graph_is_described_in_numbers() {
    let cora = Desk::new().json("data show cora --json");
    for (key, value) in [
        ("nodes", json!(2708)),
        ("edges", json!(5278)),
        ("features", json!(1433)),
        ("classes", json!(7)),
        ("class_sizes", json!([351, 217, 418, 818, 426, 298, 180])),
        ("warnings", json!([])),
        ("isolated", json!(0)),
        ("components", json!(78)),
    ] {
        assert_eq!(cora[key], value, "{key}");
    }
    let near = |key: &str, value: f64| (cora[key].as_f64().unwrap() - value).abs() < 5e-4;
    assert!(near("edge_homophily", 0.810) && near("node_homophily", 0.825));
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let desk = Desk::new();
    for words in ["models", "data list", "completions bash", "--help"] {
        let mut command = desk.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(0), String::new()),
            "{words}"
        );
    }
}

#[test]
fn completions_and_man_pages_know_every_verb() {
    let desk = Desk::new();
    let verbs = ["demo", "train", "predict", "models", "data", "completions", "man"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = desk.stdout(&format!("completions {shell}"));
        for word in verbs.iter().chain(&["--preset", "--resume"]) {
            let word = word.trim_start_matches('-');
            assert!(script.contains(word), "{shell}: no `{word}`");
        }
    }
    desk.stdout("man --out pages");
    for verb in verbs {
        let page = text(&desk.read(format!("pages/clenshaw-{verb}.1")));
        assert!(page.contains(".SH SYNOPSIS"), "{verb}");
    }
    assert_eq!(text(&desk.read("pages/clenshaw.1")), desk.stdout("man"));
}
