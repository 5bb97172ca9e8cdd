//! Warnings and notes about unusual tables of users' own graphs.

use crate::common::{Sandbox, text};

/// Rows of 40 nodes with a class per parity.
fn rows(row: impl Fn(usize) -> String) -> String {
    (0..40).map(|i| row(i) + "\n").collect()
}

fn write_ring(sandbox: &Sandbox, folder: &str, nodes: &str) {
    let edges = rows(|i| format!("n{i},n{}", (i + 2) % 40));
    sandbox.write(&format!("{folder}/edges.csv"), &format!("source,target\n{edges}"));
    sandbox.write(&format!("{folder}/nodes.csv"), nodes);
}

#[test]
fn other_notations_of_numbers_are_read_and_text_is_reported() {
    let sandbox = Sandbox::new();
    let class = |i: usize| ["tea", "coffee"][i % 2];
    // Two missing cells: the column has an indicator of missing cells.
    let age =
        |i: usize| if i < 2 { String::new() } else { format!("{}.5", 20 + i % 2 * 30 + i % 5) };
    let header = "id;age;member;label\n";
    let table = |age: &dyn Fn(usize) -> String, member: &dyn Fn(usize) -> String| {
        header.to_owned() + &rows(|i| format!("n{i};{};{};{}", age(i), member(i), class(i)))
    };
    let flag = |i: usize| i.is_multiple_of(3).to_string();
    write_ring(&sandbox, "points", &table(&age, &flag));
    write_ring(
        &sandbox,
        "commas",
        &table(&|i| age(i).replace('.', ","), &|i| usize::from(i.is_multiple_of(3)).to_string()),
    );
    write_ring(&sandbox, "text", &table(&|_| "unknown".into(), &flag));
    sandbox.stdout("train points --set max_epochs=20 --out run");
    let points = sandbox.stdout("predict run points");
    assert_eq!(
        sandbox
            .stdout("predict run commas")
            .replace(",train", ",")
            .replace(",val", ",")
            .replace(",test", ","),
        points.replace(",train", ",").replace(",val", ",").replace(",test", ",")
    );
    let warning = text(&sandbox.run("predict run text").stderr);
    assert!(
        warning.contains("column `age`: 40 cells are not numbers, such as `unknown`"),
        "{warning}"
    );
}

#[test]
fn columns_that_give_the_label_away_are_reported() {
    let sandbox = Sandbox::new();
    let row = |i: usize| {
        format!("n{i},{},{},{}", i % 7, ["red", "blue"][i % 2], ["tea", "coffee"][i % 2])
    };
    write_ring(&sandbox, "g", &format!("id,age,team,label\n{}", rows(row)));
    let page = sandbox.stdout("train g --set max_epochs=2");
    assert!(page.contains("column `team` determines every known label"), "{page}");
    let (code, error) = sandbox.failure("train g --ignore label");
    assert_eq!(code, 2);
    assert!(error.contains("no label column; expected one named `label`"), "{error}");
}

#[test]
fn commas_that_may_separate_thousands_are_reported() {
    let sandbox = Sandbox::new();
    let row = |i: usize| format!("n{i};{},{:03};{}", i + 1, i * 7, ["tea", "coffee"][i % 2]);
    write_ring(&sandbox, "g", &format!("id;income;label\n{}", rows(row)));
    let page = sandbox.stdout("data check g");
    assert!(page.contains("commas are read as decimal points, so `1,234` is 1.234"), "{page}");
    let row = |i: usize| format!("n{i};{},{}e1;{}", i + 1, i % 10, ["tea", "coffee"][i % 2]);
    write_ring(&sandbox, "h", &format!("id;income;label\n{}", rows(row)));
    let page = sandbox.stdout("data check h");
    assert!(!page.contains("commas are read as decimal points"), "{page}");
}

#[test]
fn changed_graphs_are_reported_by_predict_and_filter() {
    let sandbox = Sandbox::new();
    let row = |shift: usize| {
        move |i: usize| format!("n{i},{},{}", i % 7 + shift, ["tea", "coffee"][i % 2])
    };
    write_ring(&sandbox, "g", &format!("id,age,label\n{}", rows(row(0))));
    sandbox.stdout("train g --set max_epochs=2 --out run");
    let commands = ["predict run", "filter run"];
    for command in commands {
        assert!(!text(&sandbox.run(command).stderr).contains("has changed"), "{command}");
    }
    write_ring(&sandbox, "g", &format!("id,age,label\n{}", rows(row(1))));
    for command in commands {
        let output = sandbox.run(command);
        let error = text(&output.stderr);
        assert!(output.status.success(), "{command}: {error}");
        assert!(
            error.contains("`g` has changed since the model was trained"),
            "{command}: {error}"
        );
    }
}

#[test]
fn labels_that_name_nodes_are_explained() {
    let sandbox = Sandbox::new();
    let row = |i: usize| format!("n{i},{},person {i},{}", i % 7, ["tea", "coffee"][i % 2]);
    write_ring(&sandbox, "g", &format!("id,age,name,drink\n{}", rows(row)));
    let (code, error) = sandbox.failure("train g --label name");
    assert_eq!(code, 2);
    assert!(error.contains("no node is left for val: 40 train, 0 val, 0 test; "), "{error}");
    assert!(error.contains("40 of 40 classes have fewer than 3 labelled nodes; if the"), "{error}");
    assert!(error.contains("choose another column with --label"), "{error}");
}

#[test]
fn minus_one_and_one_are_two_classes() {
    let sandbox = Sandbox::new();
    let row = |others: [&'static str; 2]| {
        move |i: usize| format!("n{i},{},{}", i % 7, others[usize::from(i.is_multiple_of(3))])
    };
    write_ring(&sandbox, "signs", &format!("id,age,label\n{}", rows(row(["-1", "1"]))));
    let page = sandbox.stdout("data check signs");
    assert!(page.contains("26 nodes have the label `-1`, which is treated as a class"), "{page}");
    write_ring(&sandbox, "one", &format!("id,age,label\n{}", rows(row(["-1", "0"]))));
    let (code, error) = sandbox.failure("train one");
    assert_eq!(code, 2);
    assert!(
        error.contains("all labelled nodes have the same class; expected at least two classes; "),
        "{error}"
    );
    assert!(error.contains("26 nodes have the label `-1`, which counts as missing"), "{error}");
}

#[test]
fn unusual_tables_are_reported() {
    let sandbox = Sandbox::new();
    let row = |i: usize| format!("n{i},{},{},{}", i % 7, i % 5, ["tea", "coffee"][i % 2]);
    write_ring(&sandbox, "case", &format!("id,age,Age,label\n{}", rows(row)));
    let page = sandbox.stdout("data check case");
    assert!(page.contains("columns `age` and `Age` differ only in case"), "{page}");

    let row = |i: usize| format!("n{i},{},{}", i % 7, ["tea", "coffee"][i % 2]);
    write_ring(&sandbox, "twice", &format!("id,age,label\n{}", rows(row)));
    let both = rows(|i| format!("n{i},n{j}\nn{j},n{i}", j = (i + 2) % 40));
    sandbox.write("twice/edges.csv", &format!("source,target\n{both}"));
    let page = sandbox.stdout("data check twice");
    assert!(
        page.contains(
            "half of the listed edges repeat others, in either direction, and were merged"
        ),
        "{page}"
    );

    let weighted = rows(|i| format!("n{i},n{},1,2", (i + 2) % 40));
    sandbox.write("twice/edges.csv", &format!("source,target,weight,weight\n{weighted}"));
    let (code, error) = sandbox.failure("data check twice");
    assert_eq!(code, 2);
    assert!(error.contains("edges.csv") && error.contains("`weight`"), "{error}");
}
