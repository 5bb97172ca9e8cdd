//! `clenshaw verify`, and the choice of processor instructions.

use crate::common::{Sandbox, text};
use serde_json::Value;
use std::fs;
use std::process::Output;

const TRAIN: &str = "train csbm:nodes=300 --set max_epochs=15 --set K=4 --runs 2 --quiet --out";
const FILES: [&str; 4] = ["epochs.jsonl", "filters.jsonl", "model.safetensors", "predictions.csv"];

/// Runs a command with `CLENSHAW_CPU`.
fn run_on(sandbox: &Sandbox, instructions: &str, arguments: &str) -> Output {
    sandbox.command(arguments).env("CLENSHAW_CPU", instructions).output().unwrap()
}

/// Whether the processor has these instructions; if not, prints that the test is skipped.
fn has(instructions: &str) -> bool {
    let has = clenshaw::tensor::available_instruction_sets().contains(&instructions);
    if !has {
        println!("skipped: the processor has no {instructions}");
    }
    has
}

/// The results of both runs of a folder.
fn results(sandbox: &Sandbox, folder: &str) -> Vec<Vec<u8>> {
    let files = ["0", "1"].into_iter().flat_map(|seed| FILES.map(|file| (seed, file)));
    files.map(|(seed, file)| sandbox.read(format!("{folder}/runs/{seed}/{file}"))).collect()
}

fn json_file(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&sandbox.read(name)).unwrap()
}

#[test]
fn avx2_and_avx512_give_the_same_bits() {
    if !has("avx512") {
        return;
    }
    let sandbox = Sandbox::new();
    for model in ["clenshaw-gcn", "gcn-jk", "linkx", "jacobi-conv", "air-gnn"] {
        for path in ["avx2", "avx512"] {
            let arguments = format!("{TRAIN} {model}-{path} --model {model}");
            let arguments = if model == "clenshaw-gcn" {
                arguments
            } else {
                arguments.replace("--set K=4 ", "")
            };
            let output = run_on(&sandbox, path, &arguments);
            assert!(output.status.success(), "{}", text(&output.stderr));
            let record = json_file(&sandbox, &format!("{model}-{path}/runs/0/record.json"));
            assert_eq!(record["instructions"], path);
            let receipt = json_file(&sandbox, &format!("{model}-{path}/receipt.json"));
            assert_eq!(receipt["instructions"], path);
        }
        let [narrow, wide] =
            ["avx2", "avx512"].map(|path| results(&sandbox, &format!("{model}-{path}")));
        assert!(narrow == wide, "{model}");
    }
}

#[test]
fn portable_path_does_not_depend_on_threads_and_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} option --portable --threads 1"));
    let output = run_on(&sandbox, "portable", &format!("{TRAIN} variable --threads 3"));
    assert!(output.status.success());
    assert!(results(&sandbox, "option") == results(&sandbox, "variable"));
    for folder in ["option", "variable"] {
        let record = json_file(&sandbox, &format!("{folder}/runs/1/record.json"));
        assert_eq!(record["instructions"], "portable");
        assert_eq!(json_file(&sandbox, &format!("{folder}/data.json"))["bit_class"], "portable");
    }
}

#[test]
fn unknown_instructions_are_rejected() {
    let sandbox = Sandbox::new();
    let output = run_on(&sandbox, "sse9", "models");
    let available = clenshaw::tensor::available_instruction_sets().join(", ");
    let expected = format!(
        "error: `CLENSHAW_CPU` is `sse9`; expected portable, avx2 or avx512; \
         this processor has {available}\n"
    );
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), expected));
}

#[test]
fn runs_of_one_folder_have_one_bit_class() {
    if !has("avx2") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} fast"));
    let (code, message) = sandbox.failure(&format!("{TRAIN} fast --portable"));
    let expected = "error: fast: contains runs with vector instructions (avx2 or avx512)\n\
                    hint: rerun without --portable and without CLENSHAW_CPU=portable, \
                    delete the earlier results with --fresh, or choose another folder with --out\n";
    assert_eq!((code, message.as_str()), (2, expected));
    sandbox.stdout(&format!("{TRAIN} fast --portable --fresh"));
    let (code, message) = sandbox.failure(&format!("{TRAIN} fast"));
    assert_eq!(code, 2);
    assert!(message.contains("contains runs with portable instructions"), "{message}");
    assert!(message.contains("rerun with --portable"), "{message}");
}

#[test]
fn verify_trains_again_and_compares_all_bits() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} here"));
    let before = results(&sandbox, "here");
    let page = sandbox.stdout("verify here --quiet --threads 2");
    for what in ["data", "split", "epochs", "filters", "weights", "predictions", "scores"] {
        let lines = page.lines().filter(|line| line.contains(what) && line.ends_with("ok"));
        assert_eq!(lines.count(), 2, "{what}:\n{page}");
    }
    assert!(page.contains("compared bit for bit"), "{page}");
    assert!(page.ends_with("verified: training again gives the stored results\n"), "{page}");
    assert!(results(&sandbox, "here") == before);

    let one = sandbox.json("verify here --seed 1 --json --quiet");
    assert_eq!(one["reproduced"], true);
    assert_eq!(one["comparison"]["kind"], "exact");
    let checks = one["checks"].as_array().unwrap();
    assert!(checks.len() == 7 && checks.iter().all(|check| check["seed"] == 1), "{one}");
}

/// Changes one byte of a file of a run.
fn change(sandbox: &Sandbox, file: &str) {
    let path = sandbox.path(format!("here/runs/0/{file}"));
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 3;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn verify_detects_altered_results() {
    for (file, what) in [
        ("predictions.csv", "predictions"),
        ("model.safetensors", "weights"),
        ("epochs.jsonl", "epochs"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.stdout(&format!("{TRAIN} here"));
        change(&sandbox, file);
        let output = sandbox.run("verify here --quiet");
        let (page, message) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{page}{message}");
        let differing: Vec<&str> = page.lines().filter(|line| line.ends_with("DIFFERS")).collect();
        assert!(differing.len() == 1 && differing[0].contains(what), "{page}");
        assert!(page.ends_with("not verified: 1 difference\n"), "{page}");
        assert_eq!(message, "error: here: training again does not give the stored results\n");
        let other = sandbox.json("verify here --seed 1 --json --quiet");
        assert_eq!(other["reproduced"], true);
    }
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} here"));
    let record = text(&sandbox.read("here/runs/0/record.json"));
    let accuracy = record.lines().find(|line| line.contains("\"macro_f1\"")).unwrap();
    sandbox.write("here/runs/0/record.json", &record.replace(accuracy, "  \"macro_f1\": 0.99,"));
    let document = sandbox.run("verify here --seed 0 --json --quiet");
    assert_eq!(document.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(document["checks"][6]["what"], "scores");
    assert_eq!(document["checks"][6]["agrees"], false);
}

/// A portable run is verified bit for bit on any processor; otherwise results are compared approximately.
#[test]
fn verify_uses_the_recorded_path() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} here --portable"));
    let exact = sandbox.json("verify here --json --quiet");
    assert_eq!(
        (&exact["comparison"]["kind"], &exact["instructions"]),
        (&Value::from("exact"), &Value::from("portable"))
    );
    assert_eq!(exact["reproduced"], true);
    if !has("avx2") {
        return;
    }
    let output = run_on(&sandbox, "avx2", "verify here --quiet");
    let page = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{page}");
    assert!(page.contains("because the run was trained with portable, now avx2"), "{page}");
    assert!(page.contains("% of 300 nodes in the same class"), "{page}");
}

#[test]
fn verify_needs_a_finished_run() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TRAIN} here"));
    let (code, message) = sandbox.failure("verify here --seed 9 --quiet");
    assert_eq!((code, message.as_str()), (2, "error: here: no finished run with seed 9\n"));
    let (code, _) = sandbox.failure("verify nothing --quiet");
    assert_eq!(code, 2);
}
