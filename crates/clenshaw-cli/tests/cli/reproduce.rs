//! `clenshaw reproduce`: arguments, pages, receipts, and the results in `docs/results`.

use crate::common::{Sandbox, has_data, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// Runs the program without data files; it must succeed.
fn without_data(sandbox: &Sandbox, arguments: &str) -> String {
    let output = output_without_data(sandbox, arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs the program without data files; its budget must be exhausted.
fn unfinished_without_data(sandbox: &Sandbox, arguments: &str) -> String {
    let output = output_without_data(sandbox, arguments);
    let expected = "time budget exhausted; rerun the same command to resume\nerror: interrupted\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), expected));
    text(&output.stdout)
}

fn output_without_data(sandbox: &Sandbox, arguments: &str) -> Output {
    let mut command = sandbox.command(arguments);
    command.env_remove("CLENSHAW_DATA").env("XDG_CACHE_HOME", sandbox.path("cache"));
    command.env("HOME", sandbox.path("home")).output().expect("the program runs")
}

#[test]
fn invalid_arguments_are_rejected() {
    let cases = [
        (
            "tabel1",
            "unknown experiment `tabel1`; did you mean `table1`? known: table1, table2, table3, \
             ablation, theorems, filters, depth, leak-free, auto",
        ),
        ("table1 --runs 3", "--runs: cannot be used with table1: each graph is measured once"),
        ("table1 --budget 2m", "--budget: cannot be used with table1: no model is trained"),
        (
            "theorems --receipts r",
            "--receipts: cannot be used with theorems: this experiment has no receipts",
        ),
        ("table1 --only texas", "`only` is `texas`; expected `key=value,value`"),
        ("table1 --only model=gcn", "unknown key `model`; known: graph"),
        (
            "table1 --only graph=texas,actor",
            "unknown graph `actor`; known: cora, pubmed, citeseer, squirrel, chameleon, texas, \
             cornell, twitch-gamers",
        ),
    ];
    for (arguments, message) in cases {
        let sandbox = Sandbox::new();
        let failure = sandbox.failure(&format!("reproduce {arguments} --out here"));
        assert_eq!(failure, (2, format!("error: {message}\n")), "{arguments}");
        assert!(sandbox.is_empty(), "`{arguments}` left files behind");
    }
}

#[test]
fn every_experiment_rejects_zero_runs() {
    for info in clenshaw::experiment::EXPERIMENTS {
        let sandbox = Sandbox::new();
        let (code, message) = sandbox.failure(&format!("reproduce {} --runs 0 --out o", info.name));
        assert_eq!(code, 2, "{}: {message}", info.name);
        assert!(message.contains("runs"), "{}: {message}", info.name);
        assert!(sandbox.is_empty(), "{} left files behind", info.name);
    }
}

#[test]
fn page_lists_graphs_with_missing_files() {
    let sandbox = Sandbox::new();
    let page = without_data(&sandbox, "reproduce table1 --only graph=cora,texas");
    let expected = "\
Table 1: statistics of the graphs, the paper's and ours
Guo & Wei, KDD 2023, arXiv:2210.16508, Table 1

graph  nodes    ours  edges    ours  classes  ours  features     H   ours
─────  ─────  ──────  ─────  ──────  ───────  ────  ────────  ────  ─────  ───────
cora    2709  2708 a   5429  5278 b        7     7      1433  0.83  0.825
texas    183     -      309     -          5     -         -  0.11      -  no data
";
    assert!(page.starts_with(expected), "{page}");
    let end = "Not measured, files missing: texas; download with `clenshaw data get texas`.\n";
    assert!(page.ends_with(end), "{page}");
}

#[test]
fn pages_fit_into_100_columns() {
    let sandbox = Sandbox::new();
    for page in [without_data(&sandbox, "reproduce table1"), sandbox.stdout("reproduce table1")] {
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    }
}

#[test]
fn json_has_null_for_unmeasured_cells() {
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
    assert!(markdown.contains("Generated by `clenshaw reproduce table1 --only graph=cora,texas`"));
    assert!(markdown.contains(cora["sha256"].as_str().unwrap()));
}

#[test]
fn broken_data_file_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("d/texas/out1_node_feature_label.txt", "broken");
    sandbox.write("d/texas/out1_graph_edges.txt", "broken");
    let (code, error) = sandbox.failure("reproduce table1 --only graph=texas --data d");
    assert_eq!(code, 2);
    assert!(error.contains("out1_node_feature_label.txt:1: the table has no rows"), "{error}");
}

/// To update the page: `clenshaw reproduce table1 --out docs/results`.
#[test]
fn stored_table1_matches_the_program() {
    if !has_data() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.stdout("reproduce table1 --out .");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/table1.md");
    let kept = std::fs::read_to_string(kept).unwrap();
    let now = text(&sandbox.read("table1.md"));
    // Twitch-Gamers was not available when the page was stored.
    let measured = |page: &str| -> Vec<String> {
        page.lines().filter(|line| !line.contains("twitch")).map(String::from).collect()
    };
    assert_eq!(measured(&now), measured(&kept));
}

#[test]
fn processes_that_share_a_table_keep_each_others_receipts() {
    let sandbox = Sandbox::new();
    let start = |model: &str| {
        let arguments =
            format!("reproduce table3 --only graph=cora,model={model} --runs 1 --quiet");
        let mut command = sandbox.command(&arguments);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let processes = ["gpr-gnn", "appnp"].map(start);
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let receipts = text(&sandbox.read("runs/reproduce/table3.receipts.jsonl"));
    assert_eq!(receipts.lines().count(), 2, "{receipts}");
}

#[test]
fn result_table_is_resumed_and_reuses_receipts() {
    let sandbox = Sandbox::new();
    let arguments = "reproduce table3 --only graph=cora,texas,model=gpr-gnn --runs 1 --quiet";
    let page = unfinished_without_data(&sandbox, &format!("{arguments} --budget 0s"));
    assert!(page.contains("88.54 ± 0.67  not run"), "{page}");
    assert!(page.contains("92.91 ± 1.32  not run"), "{page}");
    assert!(page.contains("Unfinished cells: 2; rerun the same command to resume."), "{page}");

    let page = without_data(&sandbox, arguments);
    assert!(page.contains("92.91 ± 1.32  not run, no data"), "{page}");
    assert!(!page.contains("Unfinished cells"), "{page}");
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
    assert_eq!(without_data(&sandbox, arguments), page, "finished cells are not trained again");

    // Cells with a receipt in another folder are not trained again.
    let reused = format!("{arguments} --budget 0s --receipts runs/reproduce --out elsewhere");
    let reused = unfinished_without_data(&sandbox, &reused);
    let row = |page: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with("cora ")).unwrap_or_default();
        line.split_whitespace().map(String::from).collect()
    };
    assert_eq!(row(&reused), row(&page));
    assert_eq!(row(&page)[1..3], ["gpr-gnn", "88.54"], "{page}");
    assert_eq!(
        text(&sandbox.read("elsewhere/table3.receipts.jsonl")),
        read("table3.receipts.jsonl")
    );

    // Running another part of the table keeps these receipts, and cells with a receipt need no run folder.
    let before = read("table3.receipts.jsonl");
    let other = "reproduce table3 --only graph=texas,model=appnp --quiet";
    without_data(&sandbox, other);
    assert_eq!(read("table3.receipts.jsonl"), before);
    std::fs::remove_dir_all(sandbox.path("runs/reproduce/runs")).unwrap();
    assert_eq!(without_data(&sandbox, arguments), page);
}

#[test]
fn former_name_is_accepted_with_a_notice() {
    let sandbox = Sandbox::new();
    let arguments = "reproduce honest --only graph=cora,model=mlp --budget 0s --quiet";
    let output = output_without_data(&sandbox, arguments);
    let notice = "note: experiment `honest` is now called `leak-free`\n";
    assert!(text(&output.stderr).starts_with(notice), "{}", text(&output.stderr));
    assert!(sandbox.path("runs/reproduce/leak-free.md").exists());
}

#[test]
fn missing_or_broken_receipts_are_rejected() {
    let sandbox = Sandbox::new();
    let failure = || sandbox.failure("reproduce table3 --receipts kept --budget 0s --quiet");
    let (code, error) = failure();
    assert!(code == 2 && error.starts_with("error: kept: cannot be read: No such file"), "{error}");
    sandbox.write("kept/table3.receipts.jsonl", "{\"graph\": \"cora\"}\n");
    let expected = "error: kept/table3.receipts.jsonl:1: not a receipt: missing field `model`";
    let (code, error) = failure();
    assert!(code == 2 && error.starts_with(expected), "{error}");
}

#[test]
fn page_shows_all_figures() {
    let sandbox = Sandbox::new();
    for (name, figures) in [("ablation", 1), ("depth", 4)] {
        let arguments = format!("reproduce {name} --budget 0s --quiet --out o");
        assert_eq!(sandbox.command(&arguments).output().unwrap().status.code(), Some(1));
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
        assert!(page.contains("; rerun the same command to resume.\n"), "{page}");
    }
}
