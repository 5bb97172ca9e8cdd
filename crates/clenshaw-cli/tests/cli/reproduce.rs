//! `clenshaw reproduce`: the words, the pages, and the results that are kept in `docs/results`.

use crate::common::{Sandbox, has_data, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// The program on a machine without data files.
fn without_data(sandbox: &Sandbox, words: &str) -> String {
    let output = output_without_data(sandbox, words);
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The same, with work left over.
fn unfinished_without_data(sandbox: &Sandbox, words: &str) -> String {
    let output = output_without_data(sandbox, words);
    let expected = "the time is over; run again to go on\nerror: interrupted\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), expected));
    text(&output.stdout)
}

fn output_without_data(sandbox: &Sandbox, words: &str) -> Output {
    let mut command = sandbox.command(words);
    command.env_remove("CLENSHAW_DATA").env("XDG_CACHE_HOME", sandbox.path("cache"));
    command.env("HOME", sandbox.path("home")).output().expect("the program runs")
}

#[test]
fn wrong_words_are_answered() {
    let cases = [
        (
            "tabel1",
            "unknown experiment `tabel1`; did you mean `table1`? known: table1, table2, table3, \
             ablation, theorems, filters, depth, honest",
        ),
        ("table1 --runs 3", "`runs` is `3`; expected none with table1: graphs are counted once"),
        ("table1 --budget 2m", "`budget` is `120s`; expected none with table1: nothing is trained"),
        (
            "theorems --receipts r",
            "`receipts` is `r`; expected none with theorems: it has no receipts",
        ),
        ("table1 --only texas", "`only` is `texas`; expected `key=value,value`"),
        ("table1 --only model=gcn", "unknown key `model`; known: graph"),
        (
            "table1 --only graph=texas,actor",
            "unknown graph `actor`; known: cora, pubmed, citeseer, squirrel, chameleon, texas, \
             cornell, twitch-gamers",
        ),
    ];
    for (words, message) in cases {
        let sandbox = Sandbox::new();
        let refused = sandbox.refused(&format!("reproduce {words} --out here"));
        assert_eq!(refused, (2, format!("error: {message}\n")), "{words}");
        assert!(sandbox.is_empty(), "`{words}` left files behind");
    }
}

#[test]
fn a_page_says_what_is_not_here() {
    let sandbox = Sandbox::new();
    let page = without_data(&sandbox, "reproduce table1 --only graph=cora,texas");
    let expected = "\
Table 1: statistics of the graphs, the paper's number beside ours
Guo & Wei, KDD 2023, arXiv:2210.16508, Table 1

graph  nodes    ours  edges    ours  classes  ours  features     H   ours
─────  ─────  ──────  ─────  ──────  ───────  ────  ────────  ────  ─────  ────────
cora    2709  2708 a   5429  5278 b        7     7      1433  0.83  0.825
texas    183     -      309     -          5     -         -  0.11      -  not here
";
    assert!(page.starts_with(expected), "{page}");
    let end = "Not here, so not measured: texas; get with `clenshaw data get texas`.\n";
    assert!(page.ends_with(end), "{page}");
}

#[test]
fn every_page_fits_into_a_hundred_columns() {
    let sandbox = Sandbox::new();
    for page in [without_data(&sandbox, "reproduce table1"), sandbox.stdout("reproduce table1")] {
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    }
}

#[test]
fn json_has_every_cell_and_leaves_empty_what_was_not_measured() {
    let sandbox = Sandbox::new();
    let printed = without_data(&sandbox, "reproduce table1 --only graph=cora,texas --json --out o");
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["experiment"], "table1");
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let [cora, texas] = [0, 1].map(|i| &document["rows"][i]);
    let edges = &cora["cells"][1];
    assert_eq!(
        [&edges["column"], &edges["paper"], &edges["ours"], &edges["agrees"]],
        [&json!("edges"), &json!(5429), &json!(5278), &json!(false)]
    );
    assert!(edges["explanation"].as_str().unwrap().contains("2 x 5,429"));
    assert_eq!(cora["sha256"].as_str().unwrap().len(), 64);
    assert_eq!((&texas["is_measured"], &texas["sha256"]), (&json!(false), &Value::Null));
    for cell in texas["cells"].as_array().unwrap() {
        assert_eq!((&cell["ours"], &cell["agrees"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(text(&sandbox.read("o/table1.json")), printed);
    let markdown = text(&sandbox.read("o/table1.md"));
    assert!(markdown.contains("Made by `clenshaw reproduce table1 --only graph=cora,texas`"));
    assert!(markdown.contains(cora["sha256"].as_str().unwrap()));
}

#[test]
fn a_broken_file_is_an_error() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("d/texas")).unwrap();
    sandbox.write("d/texas/out1_node_feature_label.txt", "broken");
    sandbox.write("d/texas/out1_graph_edges.txt", "broken");
    let (code, error) = sandbox.refused("reproduce table1 --only graph=texas --data d");
    assert_eq!(code, 2);
    assert!(error.contains("out1_node_feature_label.txt:1: no nodes after the header"), "{error}");
}

/// After a change: `clenshaw reproduce table1 --out docs/results`.
#[test]
fn the_kept_results_are_those_of_the_program() {
    if !has_data() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.stdout("reproduce table1 --out .");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/table1.md");
    let kept = std::fs::read_to_string(kept).unwrap();
    let now = text(&sandbox.read("table1.md"));
    // Whoever has Twitch-Gamers sees more than was measured when the results were kept.
    let measured = |page: &str| -> Vec<String> {
        page.lines().filter(|line| !line.contains("twitch")).map(String::from).collect()
    };
    assert_eq!(measured(&now), measured(&kept));
}

#[test]
fn a_contest_is_stopped_and_gone_on_with() {
    let sandbox = Sandbox::new();
    let command = "reproduce table3 --only graph=cora,texas,model=gpr-gnn --runs 1 --quiet";
    let words = command;
    let page = unfinished_without_data(&sandbox, &format!("{words} --budget 0s"));
    assert!(page.contains("88.54 ± 0.67  not run"), "{page}");
    assert!(page.contains("92.91 ± 1.32  not run"), "{page}");
    assert!(page.contains("Unfinished cells: 2; the same command goes on."), "{page}");

    let page = without_data(&sandbox, words);
    assert!(page.contains("92.91 ± 1.32  not run, no data"), "{page}");
    assert!(!page.contains("the same command goes on"), "{page}");
    let read =
        |file: &str| std::fs::read_to_string(sandbox.path("runs/reproduce").join(file)).unwrap();
    let table: Value = serde_json::from_str(&read("table3.json")).unwrap();
    let cell = &table["cells"][1];
    assert_eq!((&cell["model"], &cell["paper"]), (&json!("gpr-gnn"), &json!([88.54, 0.67])));
    let accuracy = cell["ours"]["mean"].as_f64().unwrap();
    assert!((0.84..0.93).contains(&accuracy), "{accuracy}");
    assert!(read("table3.md").contains(&format!("| {:.2} ± 0.00 |", 100.0 * accuracy)));

    let receipts: Vec<Value> = read("table3.receipts.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0]["runs"][0]["test_accuracy"].as_f64(), Some(accuracy));
    assert_eq!(receipts[0]["hyper"]["alpha"], 0.1);
    assert_eq!(without_data(&sandbox, words), page, "what is finished is not done again");

    // What was trained elsewhere is not trained here.
    let carried = format!("{words} --budget 0s --receipts runs/reproduce --out elsewhere");
    let carried = unfinished_without_data(&sandbox, &carried);
    let words = |page: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with("cora ")).unwrap_or_default();
        line.split_whitespace().map(String::from).collect()
    };
    assert_eq!(words(&carried), words(&page));
    assert_eq!(words(&page)[1..3], ["gpr-gnn", "88.54"], "{page}");
    assert_eq!(
        text(&sandbox.read("elsewhere/table3.receipts.jsonl")),
        read("table3.receipts.jsonl")
    );

    // Who does another part keeps this one, and asking again does not train it again.
    let before = read("table3.receipts.jsonl");
    let other = "reproduce table3 --only graph=texas,model=appnp --quiet";
    without_data(&sandbox, other);
    assert_eq!(read("table3.receipts.jsonl"), before);
    std::fs::remove_dir_all(sandbox.path("runs/reproduce/runs")).unwrap();
    assert_eq!(without_data(&sandbox, command), page);
}

#[test]
fn receipts_that_are_not_there_or_broken_are_named() {
    let sandbox = Sandbox::new();
    let refused = || sandbox.refused("reproduce table3 --receipts kept --budget 0s --quiet");
    let (code, error) = refused();
    assert!(code == 2 && error.starts_with("error: kept: cannot be read: No such file"), "{error}");
    std::fs::create_dir(sandbox.path("kept")).unwrap();
    sandbox.write("kept/table3.receipts.jsonl", "{\"graph\": \"cora\"}\n");
    let expected = "error: kept/table3.receipts.jsonl:1: not a receipt: missing field `model`";
    let (code, error) = refused();
    assert!(code == 2 && error.starts_with(expected), "{error}");
}

#[test]
fn a_page_shows_its_figures() {
    let sandbox = Sandbox::new();
    for (name, figures) in [("ablation", 1), ("depth", 4)] {
        let words = format!("reproduce {name} --budget 0s --quiet --out o");
        assert_eq!(sandbox.command(&words).output().unwrap().status.code(), Some(1));
        let page = text(&sandbox.read(format!("o/{name}.md")));
        let shown: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_suffix(".svg)")?.split("](").last())
            .collect();
        assert_eq!(shown.len(), figures, "{page}");
        for figure in shown {
            assert!(sandbox.path(format!("o/{figure}.svg")).exists(), "{figure}");
            assert!(sandbox.path(format!("o/{figure}.png")).exists(), "{figure}");
        }
        assert!(page.contains("; the same command goes on.\n"), "{page}");
    }
}
