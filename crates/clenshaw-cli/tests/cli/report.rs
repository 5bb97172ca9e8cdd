//! `clenshaw report`: the data of its pages, and the pages in a real browser.
//!
//! `cargo xtask test` installs Chromium and sets `CLENSHAW_CHROMIUM`; screenshots are in the folder
//! `screenshots` of the target folder.

use crate::common::browser::Browser;
use crate::common::{Sandbox, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

const TRAIN: &str = "train csbm:nodes=240,homophily=0.1,signal=2 --set K=4 --set max_epochs=120 \
                     --set stop=none --runs 2 --out run";

/// The data embedded in a page.
pub fn data(sandbox: &Sandbox, page: &str) -> Value {
    let page = text(&sandbox.read(page));
    let start = page.find(r#"id="report-data">"#).unwrap() + r#"id="report-data">"#.len();
    let length = page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..start + length]).unwrap()
}

fn sum(values: &Value) -> f64 {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).sum()
}

#[test]
fn page_agrees_with_the_run_folder() {
    let sandbox = Sandbox::new();
    sandbox.stdout(TRAIN);
    let output = sandbox.run("report run --seed 1");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let data = data(&sandbox, "run/report.html");
    let run = &data["runs"][0];
    let record: Value = serde_json::from_slice(&sandbox.read("run/runs/1/record.json")).unwrap();
    assert_eq!(run["scores"]["accuracy"], record["test_accuracy"]);
    assert_eq!(run["best_epoch"], record["best_epoch"]);
    let summary: Value = serde_json::from_slice(&sandbox.read("run/summary.json")).unwrap();
    assert_eq!(run["summary"]["mean"], summary["test_accuracy"]["mean"]);
    assert_eq!(run["epochs"]["train_loss"].as_array().unwrap().len(), 120);

    // Diagonal over all entries of the confusion matrix is the accuracy.
    let confusion = run["confusion"].as_array().unwrap();
    let total: f64 = confusion.iter().map(sum).sum();
    let correct: f64 = (0..confusion.len()).map(|c| confusion[c][c].as_f64().unwrap()).sum();
    assert!((correct / total - record["test_accuracy"].as_f64().unwrap()).abs() < 1e-12);
    for groups in ["by_degree", "by_homophily"] {
        let groups = run[groups].as_array().unwrap().iter();
        let weighted =
            |group: &Value| group["n"].as_f64().unwrap() * group["accuracy"].as_f64().unwrap();
        assert!((groups.map(weighted).sum::<f64>() - correct).abs() < 1e-9);
    }

    let filter = &run["filter"];
    assert_eq!(filter["history"]["epochs"].as_array().unwrap().len(), 60);
    assert!((sum(&filter["density"]["shares"]) - 1.0).abs() < 1e-9);
    let labels: Vec<f64> = filter["energy"]["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    // Neighbours differ on this graph, so the labels have more energy at high frequencies, mu < 0.
    let high: f64 = labels[..5].iter().sum();
    assert!(high > 0.7, "{labels:?}");
    assert_eq!(data["graph"]["nodes"], 240);
}

#[test]
fn several_runs_are_compared_and_must_share_a_graph() {
    let sandbox = Sandbox::new();
    let train = "train csbm:nodes=120 --set max_epochs=20 --runs 3";
    sandbox.stdout(&format!("{train} --model gcn --out a"));
    sandbox.stdout(&format!("{train} --model mlp --out b"));
    sandbox.stdout("train csbm:nodes=60 --model mlp --set max_epochs=5 --out c");
    assert!(sandbox.run("report a b --out page.html").status.success());
    let comparison = &data(&sandbox, "page.html")["comparison"];
    assert_eq!(comparison["rows"].as_array().unwrap().len(), 2);
    let [a, b] = [0, 1].map(|row| comparison["rows"][row]["mean"].as_f64().unwrap());
    let pair = &comparison["pairs"][0];
    assert!((pair["difference"].as_f64().unwrap() - (a - b)).abs() < 1e-12);
    let (code, error) = sandbox.failure("report a c --out page.html");
    assert_eq!(code, 2);
    assert!(error.contains("pass the run folders of one graph"), "{error}");
}

/// Saves a screenshot where people can look at it.
pub fn screenshot(browser: &mut Browser, name: &str) {
    let target = Path::new(env!("CARGO_BIN_EXE_clenshaw")).parent().unwrap();
    let folder: PathBuf = target.join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    browser.screenshot(&folder.join(name));
}

pub const NO_PROBLEMS: [String; 0] = [];

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn page_works_in_a_browser() {
    let sandbox = Sandbox::new();
    sandbox.stdout(TRAIN);
    assert!(sandbox.run("report run --out page.html").status.success());
    let mut browser = Browser::start(1200, 900);
    browser.open(&sandbox.path("page.html"));
    assert_eq!(browser.problems(), NO_PROBLEMS);
    let charts = [
        "response-chart",
        "coefficient-chart",
        "energy-labels",
        "energy-predictions",
        "loss-chart",
        "accuracy-chart",
        "confusion-chart",
        "calibration-chart",
    ];
    for chart in charts {
        let marks = format!(
            "document.querySelectorAll('#{chart} path, #{chart} rect, #{chart} circle, #{chart} polyline').length"
        );
        assert!(browser.evaluate(&marks).as_u64().unwrap() > 1, "{chart}");
    }

    // The sentence says where the labels' energy is and what the filter keeps.
    let sentence = browser.text("document.getElementById('filter-sentence').textContent");
    assert!(sentence.contains("high"), "{sentence}");

    // The slider shows the filter of another epoch.
    let shapes = "document.getElementById('response-chart').innerHTML";
    let before = browser.text(shapes);
    browser.evaluate(
        "{ const slider = document.getElementById('epoch-slider'); slider.value = 0; \
         slider.dispatchEvent(new Event('input', { bubbles: true })); }",
    );
    assert_ne!(browser.text(shapes), before);

    // A node of the table is shown in the panel, and a column sorts the table.
    browser.evaluate("document.querySelector('table button.link').click()");
    let node = browser.text("document.querySelector('table button.link').textContent");
    assert_eq!(browser.text("document.getElementById('node-heading').textContent"), node);
    let degree =
        "[...document.querySelectorAll('th')].find(th => th.textContent.startsWith('degree'))";
    browser.evaluate(&format!("{degree}.querySelector('button').click()"));
    assert!(!browser.text(&format!("{degree}.getAttribute('aria-sort')")).is_empty());

    // The search changes the rows of the table.
    let rows =
        "[...document.querySelectorAll('table tbody tr')].map(row => row.textContent).join()";
    let before = browser.text(rows);
    // The table is searched shortly after the last key, so wait until it changes.
    browser.evaluate(
        "new Promise(resolve => { \
         new MutationObserver(() => resolve(true)).observe(document.querySelector('main'), \
         { childList: true, subtree: true }); \
         const search = document.querySelector('input[type=search]'); \
         search.value = 'no such node'; \
         search.dispatchEvent(new Event('input', { bubbles: true })); })",
    );
    let found = browser.text(rows);
    assert_ne!(found, before);
    screenshot(&mut browser, "report.png");
    assert_eq!(browser.problems(), NO_PROBLEMS);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn page_fits_a_phone_and_shows_names_as_text() {
    let sandbox = Sandbox::new();
    let evil = "<img src=x onerror=alert(1)>";
    let mut nodes = String::from("id,age,label\n");
    let mut edges = String::from("source,target\n");
    for i in 0..60 {
        let label = if i % 2 == 0 { "</script><b>bold</b>" } else { evil };
        nodes += &format!("\"{evil}{i}\",{},\"{label}\"\n", i % 7 + i % 2 * 5);
        edges += &format!("\"{evil}{i}\",\"{evil}{}\"\n", (i + 2) % 60);
    }
    sandbox.write("g/nodes.csv", &nodes);
    sandbox.write("g/edges.csv", &edges);
    sandbox.stdout("train g --set max_epochs=10 --out run");
    assert!(sandbox.run("report run --out page.html").status.success());
    let mut browser = Browser::start(375, 800);
    browser.open(&sandbox.path("page.html"));
    assert_eq!(browser.problems(), NO_PROBLEMS);
    assert_eq!(browser.evaluate("document.querySelectorAll('main img, main b').length"), 0);
    assert!(browser.text("document.body.textContent").contains(evil));
    let widths = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]");
    assert!(widths[0].as_u64() <= widths[1].as_u64(), "{widths}");
    screenshot(&mut browser, "report-phone.png");
}
