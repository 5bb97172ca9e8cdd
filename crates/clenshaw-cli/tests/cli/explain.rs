//! `clenshaw explain`, and explanations in report pages.

use crate::common::browser::Browser;
use crate::common::{Sandbox, text};
use serde_json::Value;

const EVIL: &str = "<img src=x onerror=alert(1)>";

/// Writes a graph of 60 nodes in two classes of cliques; `age` has the class, `noise` has not.
fn write_graph(sandbox: &Sandbox, prefix: &str) {
    let mut nodes = String::from("id,age,noise,label\n");
    let mut edges = String::from("source,target\n");
    for i in 0..60 {
        let class = i / 5 % 2;
        // Every seventh node has the age of the other class, and some have no label.
        let age = if i % 7 == 3 { 1 - class } else { class } * 10 + i % 3;
        let label = ["young", "old"][class];
        let label = if i % 11 == 5 { "" } else { label };
        nodes += &format!("\"{prefix}{i}\",{age},{},{label}\n", i * 7 % 13);
        for j in i - i % 5..i {
            edges += &format!("\"{prefix}{i}\",\"{prefix}{j}\"\n");
        }
        edges += &format!("\"{prefix}{i}\",\"{prefix}{}\"\n", (i + 5) % 60);
    }
    sandbox.write("g/nodes.csv", &nodes);
    sandbox.write("g/edges.csv", &edges);
}

/// The sum of a quantity over a list, or of a single object.
fn sum(values: &Value, key: &str) -> f64 {
    match values {
        Value::Array(values) => values.iter().map(|value| value[key].as_f64().unwrap()).sum(),
        value => value[key].as_f64().unwrap(),
    }
}

/// Asserts that the parts of an explanation add up to its totals.
fn assert_adds_up(explanation: &Value) {
    for key in ["score", "margin"] {
        let total = sum(&explanation["total"], key);
        let rest = sum(&explanation["without_nodes"], key) + sum(&explanation["gap"], key);
        let by_hop = sum(&explanation["hops"], key);
        let by_node = sum(&explanation["nodes"], key) + sum(&explanation["other_nodes"], key);
        assert!((by_hop + rest - total).abs() < 1e-9, "{key}: {explanation}");
        assert!((by_node - by_hop).abs() < 1e-9, "{key}: {explanation}");
        let features = &explanation["features"];
        let parts = ["strongest", "others", "by_adjacency", "without_features", "gap"]
            .map(|part| sum(&features[part], key));
        assert!((parts.iter().sum::<f64>() - total).abs() < 1e-9, "{key}: {explanation}");
    }
}

#[test]
fn a_node_of_a_users_graph_is_explained_by_name() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, "person ");
    sandbox.stdout("train g --model appnp --set K=3 --set max_epochs=60 --out exact");
    sandbox.stdout("train g --model gcn --set max_epochs=60 --out gradients");
    let predictions = sandbox.stdout("predict exact");
    for (run, method) in [("exact", "exact"), ("gradients", "integrated-gradients")] {
        let output =
            sandbox.command(&format!("explain {run}")).args(["person 18", "--json"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_adds_up(&explanation);
        assert_eq!(explanation["method"], method);
        assert_eq!(explanation["node"], "person 18");
        assert_eq!(explanation["label"], "old");
        // Four nodes of its clique, and the same places of the cliques before and after.
        assert_eq!(explanation["degree"], 6);
        let [predicted, other] =
            [0, 1].map(|class| explanation["classes"][class]["score"].as_f64().unwrap());
        assert!((sum(&explanation["total"], "margin") - (predicted - other)).abs() < 1e-9);
        assert_eq!(explanation["features"]["strongest"][0]["feature"], "age");
        let reach = explanation["reach"].as_u64().unwrap();
        assert_eq!(reach, if run == "exact" { 3 } else { 2 });
        assert_eq!(explanation["hops"].as_array().unwrap().len() as u64, reach + 1);
        if run == "exact" {
            assert!(sum(&explanation["gap"], "margin").abs() < 1e-9);
            let terms = sum(&explanation["terms"]["terms"], "margin");
            assert!((terms - sum(&explanation["total"], "margin")).abs() < 1e-9);
            let row = predictions.lines().find(|line| line.starts_with("person 18,")).unwrap();
            assert!(row.contains(explanation["classes"][0]["class"].as_str().unwrap()), "{row}");
        }
    }
    let page = sandbox
        .command("explain exact")
        .args(["person 18", "--svg", "a.svg", "--png", "a.png"])
        .output();
    let page = text(&page.unwrap().stdout);
    for part in ["person 18", "By distance (exact)", "the node itself", "3 hops", "age", "By term"]
    {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert!(text(&sandbox.read("a.svg")).contains("person 18"));
    assert_eq!(sandbox.read("a.png")[..4], *b"\x89PNG");
}

#[test]
fn class_names_are_printed_without_control_characters() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, "person-");
    let nodes = text(&sandbox.read("g/nodes.csv"));
    let long = "o".repeat(60);
    sandbox.write(
        "g/nodes.csv",
        &nodes.replace(",young", ",y\u{1b}[31mng").replace(",old", &format!(",{long}")),
    );
    sandbox.stdout("train g --model mlp --set max_epochs=5 --out run");
    let page = sandbox.stdout("explain run person-18");
    assert!(page.contains("y?[31mng") && page.contains(&"o".repeat(40)), "{page}");
    assert!(!page.contains('\u{1b}') && !page.contains(&long), "{page}");
}

#[test]
fn explanations_name_the_classes_of_the_model_if_the_labels_have_changed() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, "person-");
    sandbox.stdout("train g --model mlp --set max_epochs=5 --out run");
    let before = sandbox.json("explain run person-17 --json");
    let nodes = text(&sandbox.read("g/nodes.csv"));
    // The classes were `old` and `young`; now the first one is `adult`.
    sandbox.write("g/nodes.csv", &nodes.replace(",young", ",adult"));
    let after = sandbox.json("explain run person-17 --json");
    assert_eq!(after["classes"], before["classes"]);
    assert!(before["classes"].to_string().contains("young"), "{before}");
    assert!(
        after["notes"].to_string().contains("has changed since the model was trained"),
        "{after}"
    );
}

#[test]
fn unknown_nodes_are_errors_that_name_similar_ones() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, "person-");
    sandbox.stdout("train g --model mlp --set max_epochs=5 --out run");
    let (code, error) = sandbox.failure("explain run persn-17");
    assert_eq!(code, 2);
    assert!(error.contains("node `persn-17`: no node has this name"), "{error}");
    assert!(error.contains("`person-17`"), "{error}");
    sandbox.stdout("train csbm:nodes=80 --model mlp --set max_epochs=5 --out numbered");
    let (code, error) = sandbox.failure("explain numbered 80");
    assert_eq!(code, 2);
    assert!(error.contains("a number from 0 to 79 is expected"), "{error}");
    assert_adds_up(&sandbox.json("explain numbered 79 --json"));
    let (code, error) = sandbox.failure("explain numbered 3 --memory 0.000001");
    assert_eq!(code, 2);
    assert!(error.contains("the limit is 0.00 GB"), "{error}");
}

/// The data embedded in a page.
fn page_data(sandbox: &Sandbox, page: &str) -> Value {
    let page = text(&sandbox.read(page));
    let start = page.find(r#"id="report-data">"#).unwrap() + r#"id="report-data">"#.len();
    let length = page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..start + length]).unwrap()
}

#[test]
fn pages_contain_explanations_of_mistakes() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, "person-");
    sandbox.stdout("train g --model gcn --set max_epochs=20 --out run");
    assert!(sandbox.run("report run --out page.html").status.success());
    let data = page_data(&sandbox, "page.html");
    let explanations = &data["runs"][0]["explanations"];
    let nodes = explanations["nodes"].as_object().unwrap();
    assert!(!nodes.is_empty());
    for (index, explanation) in nodes {
        assert_adds_up(explanation);
        let typed = sandbox.json(&format!("explain run person-{index} --json"));
        assert_eq!(typed["total"], explanation["total"]);
        assert_eq!(typed["hops"], explanation["hops"]);
    }
    let note = explanations["note"].as_str().unwrap();
    assert!(note.contains(&format!("explains {} of 60 nodes", nodes.len())), "{note}");
    assert!(note.contains("clenshaw explain RUN NODE"), "{note}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn clicking_a_node_shows_its_explanation() {
    let sandbox = Sandbox::new();
    write_graph(&sandbox, EVIL);
    sandbox.stdout("train g --model gcn --set max_epochs=20 --out run");
    assert!(sandbox.run("report run --out page.html").status.success());
    let data = page_data(&sandbox, "page.html");
    let run = &data["runs"][0];
    let explained = run["explanations"]["nodes"].as_object().unwrap();
    let mut browser = Browser::start(1200, 900);
    browser.open(&sandbox.path("page.html"));
    // All nodes in one table, whose search finds the explained one.
    let (index, explanation) = explained.iter().next().unwrap();
    let click = |index: &str| {
        format!(
            "{{ const run = JSON.parse(document.getElementById('report-data').textContent).runs[0]; \
             const drawn = run.drawing.nodes.indexOf({index}); \
             const canvas = document.getElementById('graph-canvas'); \
             canvas.scrollIntoView(); \
             const box = canvas.getBoundingClientRect(); \
             const x = box.left + 14 + run.drawing.x[drawn] * (box.width - 28); \
             const y = box.top + 14 + run.drawing.y[drawn] * (box.height - 28); \
             canvas.dispatchEvent(new MouseEvent('click', {{ clientX: x, clientY: y, bubbles: true }})); }}"
        )
    };
    browser.evaluate(&click(index));
    let panel = browser.text("document.getElementById('node-panel').textContent");
    assert!(panel.contains(explanation["node"].as_str().unwrap()), "{panel}");
    let margin = |part: &Value| {
        let margin = part["margin"].as_f64().unwrap();
        let sign = if margin > 0.0 { "+" } else { "−" };
        format!("{sign}{:.3}", margin.abs())
    };
    for hop in explanation["hops"].as_array().unwrap() {
        assert!(panel.contains(&margin(hop)), "no {hop} in {panel}");
    }
    for heading in ["By distance", "By node", "By feature", "Nearest training nodes"] {
        assert!(panel.contains(heading), "no `{heading}` in {panel}");
    }
    // Names are text.
    assert_eq!(browser.evaluate("document.querySelectorAll('main img').length"), 0);
    assert!(panel.contains(EVIL));
    // A node without a stored explanation says what to type.
    let other = (0..60).find(|node: &usize| !explained.contains_key(&node.to_string())).unwrap();
    browser.evaluate(&click(&other.to_string()));
    let panel = browser.text("document.getElementById('node-panel').textContent");
    assert!(panel.contains("type: clenshaw explain RUN NODE"), "{panel}");
    let none: [String; 0] = [];
    assert_eq!(browser.problems(), none);
}
