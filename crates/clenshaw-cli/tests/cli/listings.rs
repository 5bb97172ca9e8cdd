//! `clenshaw models`, `data list`, `data show`, completions and man pages agree with the registries.

use crate::common::{Sandbox, text};
use clenshaw::data::DATASETS;
use clenshaw::experiment::{PAPER, preset_graphs, preset_settings};
use clenshaw::model::MODELS;
use serde_json::{Value, json};
use std::process::Stdio;

#[test]
fn models_json_matches_the_registry() {
    let sandbox = Sandbox::new();
    let listed = sandbox.json("models --json");
    assert_eq!(listed.as_array().unwrap().len(), MODELS.len());
    for (object, info) in listed.as_array().unwrap().iter().zip(MODELS) {
        for (key, value) in [
            ("name", json!(info.name)),
            ("title", json!(info.title)),
            ("paper", json!(info.paper)),
            ("family", json!(info.family)),
            ("equation", json!(info.equation)),
            ("presets", json!(preset_graphs(PAPER, info))),
        ] {
            assert_eq!(object[key], value, "{} {key}", info.name);
        }
        let defaults = object["hyper"].as_array().unwrap().iter();
        let defaults = defaults.map(|h| (h["name"].as_str().unwrap().into(), h["default"].clone()));
        let defaults: serde_json::Map<String, Value> = defaults.collect();
        let declared = info.hyper_params().map(|hyper| (hyper.name.into(), json!(hyper.default)));
        assert_eq!(defaults, declared.collect(), "{}", info.name);
        assert_eq!(*object, sandbox.json(&format!("models {} --json", info.name)));
    }
}

#[test]
fn model_json_has_ranges_and_search_spaces() {
    let page = Sandbox::new().json("models gcnii --json");
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
    let rules = ["patience", "mean", "late-mean", "accuracy", "accuracy-ties", "none", "roc-auc"];
    assert_eq!(key("stop"), (json!({"among": rules}), Value::Null));
}

#[test]
fn model_page_lists_all_hyper_parameters_and_presets() {
    let sandbox = Sandbox::new();
    let list = sandbox.stdout("models");
    for info in MODELS {
        assert!(list.lines().any(|line| line.starts_with(info.name) && line.ends_with(info.paper)));
        let page = sandbox.stdout(&format!("models {}", info.name));
        for hyper in info.hyper_params() {
            let row = page.lines().find(|line| line.split(' ').next() == Some(hyper.name));
            let row = row.unwrap_or_else(|| panic!("{}: no `{}`", info.name, hyper.name));
            assert!(row.contains(&hyper.default.to_string()), "{row}");
            let range = hyper.range.to_string();
            assert!(row.contains(range.split(' ').next().unwrap()), "{row}");
        }
        for graph in preset_graphs(PAPER, info) {
            let settings = preset_settings(PAPER, info, &graph);
            let (key, value) = settings.first().unwrap();
            let line = format!("  {graph} ");
            let line = page.lines().find(|other| other.starts_with(&line));
            let set = format!("{key}={value}");
            assert!(line.is_some_and(|line| line.contains(&set)), "{}: {graph}", info.name);
        }
    }
}

#[test]
fn data_list_json_matches_the_registry() {
    let listed = Sandbox::new().json("data list --json --data nowhere");
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
        assert!(info.kind() == "files" || object["available"] == json!(true), "{}", info.name);
    }
}

#[test]
fn data_show_json_has_statistics_of_cora() {
    let cora = Sandbox::new().json("data show cora --json");
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
fn closed_stdout_is_not_an_error() {
    let sandbox = Sandbox::new();
    for arguments in ["models", "data list", "completions bash", "--help"] {
        let mut command = sandbox.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(0), String::new()),
            "{arguments}"
        );
    }
}

#[test]
fn completions_and_man_pages_cover_the_subcommands() {
    let sandbox = Sandbox::new();
    let subcommands =
        ["demo", "train", "predict", "models", "data", "reproduce", "completions", "man"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.stdout(&format!("completions {shell}"));
        for word in subcommands.iter().chain(&["--preset", "--fresh"]) {
            let word = word.trim_start_matches('-');
            assert!(script.contains(word), "{shell}: no `{word}`");
        }
    }
    sandbox.stdout("man --out pages");
    for name in subcommands {
        let page = text(&sandbox.read(format!("pages/clenshaw-{name}.1")));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert_eq!(text(&sandbox.read("pages/clenshaw.1")), sandbox.stdout("man"));
}
