//! `clenshaw report`: the data of its pages, and the pages in a real browser.
//!
//! `cargo xtask test` installs Chromium and sets `CLENSHAW_CHROMIUM`; screenshots are in the folder
//! `screenshots` of the target folder.

use crate::common::browser::Browser;
use crate::common::{HTML_NAME, Sandbox, text};
use serde_json::{Value, json};
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
    assert_eq!(
        (&filter["history"]["epochs"][0], &filter["history"]["epochs"][59]),
        (&0.into(), &120.into())
    );
    // Before training, only the first coefficient is not zero, and its basis polynomial is 1.
    let lines = text(&sandbox.read("run/runs/1/filters.jsonl"));
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first, serde_json::json!({"epoch": 0, "coefficients": [1.0, 0.0, 0.0, 0.0, 0.0]}));
    assert_eq!(lines.lines().count(), 121);
    assert!(filter["initial"].as_array().unwrap().iter().all(|h| *h == 1.0));
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

    // The command on the page trains the same runs again.
    let command = run["command"].as_str().unwrap().strip_prefix("clenshaw ").unwrap();
    let again = sandbox.json(&format!("{command} --out again --json --quiet"));
    assert_eq!(again["test_accuracy"], summary["test_accuracy"]);
}

/// The numbers of an attribute of all elements of an SVG that contain `part`.
fn numbers(svg: &str, part: &str, attribute: &str) -> Vec<f64> {
    let key = format!(" {attribute}=\"");
    let value = |line: &str| {
        let start = line.find(&key)? + key.len();
        line[start..].split('"').next()?.parse().ok()
    };
    svg.lines().filter(|line| line.contains(part)).filter_map(value).collect()
}

/// Filters that do not fit together caused a panic.
#[test]
fn damaged_filters_cause_no_panic() {
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=100 --model gpr-gnn --set max_epochs=3 --quiet --out here");
    let record: Value = serde_json::from_slice(&sandbox.read("here/runs/0/record.json")).unwrap();
    let with_filter = |filter: Value| {
        let record = Value::Object(
            record
                .as_object()
                .unwrap()
                .clone()
                .into_iter()
                .chain([("filter".into(), filter)])
                .collect(),
        );
        sandbox.write("here/runs/0/record.json", &record.to_string());
        sandbox.run("report here --out page.html")
    };
    let short = json!({ "basis": { "three-term": [] }, "coefficients": [0.5] });
    let output = with_filter(json!({ "shared": short }));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = with_filter(json!({ "gain": [[0.0, 1.0]] }));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("at least two points"), "{}", text(&output.stderr));
}

#[test]
fn figures_show_the_numbers_of_the_page() {
    let sandbox = Sandbox::new();
    sandbox.stdout(TRAIN);
    let output = sandbox.run("report run --out page.html --figures paper --png");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "page: page.html\n10 figures: paper\n");
    let names = [
        "response",
        "coefficients",
        "energy",
        "loss",
        "validation-accuracy",
        "confusion",
        "calibration",
        "accuracy-by-degree",
        "accuracy-by-homophily",
        "drawing",
    ];
    for name in names {
        let svg = text(&sandbox.read(format!("paper/{name}.svg")));
        assert!(svg.starts_with("<svg xmlns") && !svg.contains("NaN"), "{name}: {svg}");
        assert!(sandbox.read(format!("paper/{name}.png")).starts_with(b"\x89PNG"), "{name}");
    }
    let svg = |name: &str| text(&sandbox.read(format!("paper/{name}.svg")));
    let run = &data(&sandbox, "page.html")["runs"][0];
    // Bars are as high as their values, on a common scale.
    let values: Vec<f64> = run["filter"]["coefficients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_f64().unwrap().abs())
        .collect();
    let heights = numbers(&svg("coefficients"), "<rect", "height");
    let heights = &heights[1..]; // The first one is the background.
    assert_eq!(heights.len(), values.len());
    let scale = heights.iter().sum::<f64>() / values.iter().sum::<f64>();
    for (height, value) in heights.iter().zip(&values) {
        assert!((height - scale * value).abs() < 0.2, "{heights:?} {values:?}");
    }
    for row in run["confusion"].as_array().unwrap() {
        for count in row.as_array().unwrap().iter().filter(|count| **count != 0) {
            assert!(svg("confusion").contains(&format!(">{count}</text>")));
        }
    }
    let drawing = svg("drawing");
    let nodes = run["drawing"]["nodes"].as_array().unwrap().len();
    let edges = run["drawing"]["edges"].as_array().unwrap().len();
    assert_eq!(drawing.matches("<line").count(), edges);
    let squares = drawing.matches("<rect").count() - 1 - 3; // the background and three classes
    assert_eq!(drawing.matches("<circle").count() + squares, nodes);
    assert!(svg("loss").contains(&format!("kept: epoch {}<", run["best_epoch"])));
    let (code, error) = sandbox.failure("report run --png");
    assert_eq!(code, 2);
    assert!(error.contains("--figures"), "{error}");
}

#[cfg(unix)]
#[test]
fn page_is_opened_on_request() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=60 --model mlp --set max_epochs=2 --out run");
    sandbox.write(
        "bin/xdg-open",
        "#!/bin/sh\nprintf %s \"$1\" > opened.part\nmv opened.part opened\n",
    );
    let program = sandbox.path("bin/xdg-open");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let report = |path: String| {
        let mut command = sandbox.command("report run --out page.html --open");
        command.env("PATH", path).output().unwrap()
    };
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    assert!(report(path).status.success());
    let start = std::time::Instant::now();
    while !sandbox.path("opened").exists() {
        assert!(start.elapsed().as_secs() < 60, "the page was not opened");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let opened = text(&sandbox.read("opened"));
    let expected = sandbox.path("page.html").canonicalize().unwrap();
    assert_eq!(Path::new(&opened).canonicalize().unwrap(), expected);
    // Without such a program, the page is written all the same.
    let output = report(sandbox.path("none").display().to_string());
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("note: the page cannot be opened here"));
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
    assert_eq!(pair["runs"], 3);

    // Runs of one model are told apart by their settings; only runs on the same splits are paired.
    sandbox.stdout(&format!("{train} --model gcn --set dropout=0.1 --out d"));
    sandbox.stdout(&format!("{train} --model gcn --split stratified --out e"));
    let output = sandbox.run("report a d e --out page.html --figures paper");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let comparison = &data(&sandbox, "page.html")["comparison"];
    let names = comparison["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str());
    let names: Vec<&str> = names.map(Option::unwrap).collect();
    let expected = [
        "gcn (dropout=0.5, split=balanced)",
        "gcn (dropout=0.1, split=balanced)",
        "gcn (dropout=0.5, split=stratified)",
    ];
    assert_eq!(names, expected);
    assert_eq!(comparison["pairs"].as_array().unwrap().len(), 1);
    let files = std::fs::read_dir(sandbox.path("paper")).unwrap();
    let files: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    for figure in ["comparison.svg", "accuracy-time.svg", "curves.svg"] {
        assert!(files.contains(&figure.to_owned()), "{files:?}");
    }
    let losses =
        files.iter().filter(|file| file.starts_with("gcn-seed-") && file.ends_with("-loss.svg"));
    assert_eq!(losses.count(), 3, "{files:?}");
    let (code, error) = sandbox.failure("report a c --out page.html");
    assert_eq!(code, 2);
    assert!(error.contains("all runs on a page must be on the same graph"), "{error}");
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
#[ignore = "needs Chromium and axe-core: cargo xtask test"]
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
    assert_eq!(browser.accessibility_problems(), NO_PROBLEMS);
    assert_eq!(browser.problems(), NO_PROBLEMS);
}

#[test]
#[ignore = "needs Chromium and axe-core: cargo xtask test"]
fn comparison_works_in_a_browser() {
    let sandbox = Sandbox::new();
    let train = "train csbm:nodes=150,homophily=0.1,signal=2 --set max_epochs=30 --runs 6";
    for model in ["gcn", "mlp", "appnp"] {
        sandbox.stdout(&format!("{train} --model {model} --out runs/compare/{model}"));
    }
    assert!(sandbox.run("report runs/compare --out page.html").status.success());
    let comparison = data(&sandbox, "page.html")["comparison"].clone();
    let mut browser = Browser::start(1200, 900);
    browser.open(&sandbox.path("page.html"));
    assert_eq!(browser.problems(), NO_PROBLEMS);
    let cells = |browser: &mut Browser, label: &str| {
        browser.evaluate(&format!(
            "[...document.querySelectorAll('[aria-label=\"{label}, table\"] tbody tr')]\
             .map(row => [...row.cells].map(cell => cell.textContent))"
        ))
    };
    let rows = cells(&mut browser, "Results");
    assert_eq!(rows.as_array().unwrap().len(), 3);
    for row in comparison["rows"].as_array().unwrap() {
        let shown = rows.as_array().unwrap().iter().find(|shown| shown[0] == row["name"]).unwrap();
        let number = |key: &str| 100.0 * row[key].as_f64().unwrap();
        assert_eq!(shown[1], format!("{:.2}%", number("mean")));
        assert_eq!(shown[2], format!("{:.2}", number("std")));
        assert_eq!(shown[3], format!("{:.2}", number("ci95")));
    }
    let pairs = cells(&mut browser, "Paired tests");
    assert_eq!(pairs.as_array().unwrap().len(), 3);
    for pair in comparison["pairs"].as_array().unwrap() {
        let is_pair = |shown: &&Value| shown[0] == pair["a"] && shown[1] == pair["b"];
        let shown = pairs.as_array().unwrap().iter().find(is_pair).unwrap();
        let difference = 100.0 * pair["difference"].as_f64().unwrap();
        let sign = if difference < 0.0 {
            "−"
        } else if difference > 0.0 {
            "+"
        } else {
            ""
        };
        assert_eq!(shown[3], format!("{sign}{:.2}", difference.abs()));
        assert!(
            (pair["p"].as_f64().unwrap() < 0.05) == shown[6].as_str().unwrap().ends_with("better")
        );
    }
    // Three models against time; one of them has a filter, and all have learning curves.
    for (chart, shapes, n) in [
        ("interval-chart", "circle.point", 3),
        ("time-chart", "circle.point", 3),
        ("overlay-filters", "path.line", 1),
        ("overlay-curves", "path.line", 3),
    ] {
        let count = format!("document.querySelectorAll('#{chart} {shapes}').length");
        assert_eq!(browser.evaluate(&count), n, "{chart}");
    }
    // The details of a low-pass model say why it fails here.
    browser.evaluate(
        "{ const picker = document.getElementById('run-picker'); \
         picker.selectedIndex = [...picker.options].findIndex(option => option.text.startsWith('appnp')); \
         picker.dispatchEvent(new Event('change')); }",
    );
    let sentence = browser.text("document.getElementById('filter-sentence').textContent");
    for part in [
        "passes low frequencies (neighbours agree)",
        "of the labels' energy is at high frequencies (neighbours differ)",
        "keeps little of the labels' energy",
        "of the edges join nodes of one class, so averaging a node with its neighbours mixes the classes",
    ] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    assert_eq!(browser.accessibility_problems(), NO_PROBLEMS);
    screenshot(&mut browser, "comparison.png");
    assert_eq!(browser.problems(), NO_PROBLEMS);
}

mod long {
    use super::*;

    /// The scripts and styles take at most 400 KB; the data of a node takes a few dozen bytes.
    #[test]
    #[ignore = "long: cargo xtask test --long"]
    fn page_of_a_large_graph_opens() {
        let sandbox = Sandbox::new();
        sandbox
            .stdout("train csbm:nodes=100000 --model gpr-gnn --set max_epochs=3 --out run --quiet");
        assert!(sandbox.run("report run --out page.html").status.success());
        let size = sandbox.read("page.html").len();
        println!("the page of 100,000 nodes has {size} bytes");
        assert!(size < 400_000 + 100 * 100_000, "{size}");
        let mut browser = Browser::start(1200, 900);
        let start = std::time::Instant::now();
        browser.open(&sandbox.path("page.html"));
        let rows = browser.evaluate("document.querySelectorAll('#mistakes tbody tr').length");
        let seconds = start.elapsed().as_secs_f64();
        println!("it opened in {seconds:.1} s");
        assert_eq!(rows, 15);
        let nodes = browser.text("document.querySelector('.subtitle').textContent");
        assert!(nodes.contains("100,000 nodes"), "{nodes}");
        assert_eq!(browser.problems(), NO_PROBLEMS);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn page_fits_a_phone_and_shows_names_as_text() {
    let sandbox = Sandbox::new();
    sandbox.write_graph_with_html_names("g");
    sandbox.stdout("train g --set max_epochs=10 --out run");
    assert!(sandbox.run("report run --out page.html").status.success());
    let mut browser = Browser::start(375, 800);
    browser.open(&sandbox.path("page.html"));
    assert_eq!(browser.problems(), NO_PROBLEMS);
    assert_eq!(browser.evaluate("document.querySelectorAll('main img, main b').length"), 0);
    assert!(browser.text("document.body.textContent").contains(HTML_NAME));
    let widths = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]");
    assert!(widths[0].as_u64() <= widths[1].as_u64(), "{widths}");
    screenshot(&mut browser, "report-phone.png");
}
