//! A user's own tables: every guess about them is printed, and problems are reported.

use crate::common::{Random, Sandbox, text};
use serde_json::Value;
use std::fmt::Write;

const TOWNS: [&str; 3] = ["York", "Bath", "Ely"];
const CLASSES: [&str; 3] = ["red", "green", "blue"];
const QUICK: &str = "--set max_epochs=150 --quiet";

/// One node of a generated table.
struct Person {
    class: usize,
    age: usize,
    income: usize,
    town: usize,
}

/// People whose age, income and town depend on their class.
fn people(n: usize, seed: u64) -> Vec<Person> {
    let random = &mut Random(seed);
    (0..n)
        .map(|_| {
            let class = random.below(3);
            Person {
                class,
                age: 20 + 12 * class + random.below(18),
                income: 60_000 - 12_000 * class + random.below(20_000),
                town: if random.below(4) == 0 { random.below(3) } else { class },
            }
        })
        .collect()
}

/// An edge table in which four in five edges join people of the same class.
fn edges(people: &[Person], seed: u64) -> String {
    let random = &mut Random(seed);
    let mut edges = String::from("source,target\n");
    for i in 0..people.len() {
        for _ in 0..3 {
            let same = random.below(5) > 0;
            let j = loop {
                let j = random.below(people.len());
                if j != i && (people[j].class == people[i].class) == same {
                    break j;
                }
            };
            writeln!(edges, "p{i},p{j}").unwrap();
        }
    }
    edges
}

/// Writes a graph with this header and these rows in the node table.
fn write(
    sandbox: &Sandbox,
    name: &str,
    people: &[Person],
    header: &str,
    row: impl Fn(usize, &Person) -> String,
) {
    sandbox.write(&format!("{name}/edges.csv"), &edges(people, 3));
    let rows: String = people.iter().enumerate().map(|(i, p)| row(i, p) + "\n").collect();
    sandbox.write(&format!("{name}/nodes.csv"), &format!("{header}\n{rows}"));
}

/// Writes a graph with the columns id, age, income, town, label; every fourth label is empty.
fn write_plain(sandbox: &Sandbox, name: &str, people: &[Person]) {
    write(sandbox, name, people, "id,age,income,town,label", |i, p| {
        let label = if i % 4 == 0 { "" } else { CLASSES[p.class] };
        format!("p{i},{},{},{},{label}", p.age, p.income, TOWNS[p.town])
    });
}

/// The share of nodes in `predictions` whose prediction is the class of the person.
fn accuracy(predictions: &str, people: &[Person]) -> f64 {
    let correct = predictions.lines().skip(1).filter(|line| {
        let mut cells = line.split(',');
        let node: usize = cells.next().unwrap()[1..].parse().unwrap();
        cells.next().unwrap() == CLASSES[people[node].class]
    });
    correct.count() as f64 / (predictions.lines().count() - 1) as f64
}

#[test]
fn columns_on_different_scales_are_standardised_by_default() {
    let sandbox = Sandbox::new();
    let people = people(200, 1);
    write_plain(&sandbox, "people", &people);
    let page = sandbox.stdout(&format!("train people {QUICK}"));
    for line in [
        "people: 200 nodes,",
        "\n  id: id\n  label: label\n  numbers: age, income\n  categories: town (3 values)\n",
        "\nclenshaw-gcn, scaling standard, split stratified: 90 train, 30 val, 30 test, seed 0\n",
    ] {
        assert!(page.contains(line), "{line} in\n{page}");
    }
    // One run has no interval.
    assert!(page.contains(" over 1 run; majority class "), "{page}");
    let unlabelled = sandbox.stdout("predict latest --only unlabelled");
    assert_eq!(unlabelled.lines().count(), 1 + 50);
    let share = accuracy(&unlabelled, &people);
    assert!(share > 0.85, "{share}");
}

#[test]
fn other_graphs_are_matched_by_column_name() {
    let sandbox = Sandbox::new();
    write_plain(&sandbox, "people", &people(200, 1));
    sandbox.stdout(&format!("train people {QUICK} --out run"));
    let others = people(120, 2);
    write(&sandbox, "others", &others, "town,shoe,income,id,age", |i, p| {
        let town = if i == 7 { "Hull" } else { TOWNS[p.town] };
        let age = if i == 8 { String::new() } else { p.age.to_string() };
        format!("{town},{},{},p{i},{age}", i % 5, p.income)
    });
    let output = sandbox.run("predict run others");
    let share = accuracy(&text(&output.stdout), &others);
    assert!(share > 0.85, "{share}");
    assert_eq!(
        text(&output.stderr),
        "warning: others/nodes.csv: columns that are not in the model are ignored: shoe\n\
         warning: others/nodes.csv: column `age`: 1 missing cell is filled with 41\n\
         warning: others/nodes.csv: column `town`: 1 cell has a value that the training table does \
         not have, such as `Hull`; encoded as zeros\n"
    );
    // Other class names do not become classes.
    write(&sandbox, "renamed", &others, "id,age,income,town,label", |i, p| {
        format!("p{i},{},{},{},{}", p.age, p.income, TOWNS[p.town], ["x", "y", "z"][p.class])
    });
    let renamed = sandbox.run("predict run renamed");
    assert!(text(&renamed.stdout).starts_with("node,prediction,blue,green,red,part\n"));
    assert!(accuracy(&text(&renamed.stdout), &others) > 0.85);
    assert!(text(&renamed.stderr).contains("120 labels are not classes of the model"));
    // The model file alone is enough.
    let alone = sandbox.stdout("predict run/runs/0/model.safetensors others");
    assert_eq!(alone, text(&output.stdout));
    let (code, error) = sandbox.failure("predict run/runs/0/model.safetensors others --seed 5");
    assert_eq!(code, 2);
    assert!(error.contains("`--seed` is `5`; expected no seed with a model file"), "{error}");
    let test = "predict run/runs/0/model.safetensors others --only test";
    let (code, error) = sandbox.failure(test);
    assert_eq!(code, 2);
    assert!(error.contains("`--only` is `test`; expected unlabelled with a model file"), "{error}");
    let (code, error) = sandbox.failure("predict run others --only test");
    assert_eq!(code, 2);
    assert!(
        error.contains("`--only` is `test`; expected unlabelled with another graph"),
        "{error}"
    );
    assert_eq!(sandbox.stdout("predict run --only test").lines().count(), 1 + 30);
    let document = sandbox.json("predict run others --json");
    let node = &document["nodes"][3];
    assert_eq!((&node["node"], node["part"].as_str()), (&Value::from("p3"), Some("")));
    let total: f64 =
        CLASSES.iter().map(|class| node["probabilities"][class].as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-5, "{total}");
}

#[test]
fn splits_and_masks_of_the_table_are_the_default() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    let part = |i: usize| ["train", "train", "train", "val", "test"][i % 5];
    write(&sandbox, "column", &people, "id,age,label,split", |i, p| {
        format!("p{i},{},{},{}", p.age, CLASSES[p.class], part(i))
    });
    write(&sandbox, "masks", &people, "id,age,label,train_mask,val_mask,test_mask", |i, p| {
        let mask = |name| if part(i) == name { "True" } else { "False" };
        let masks = [mask("train"), mask("val"), mask("test")].join(",");
        format!("p{i},{},{},{masks}", p.age, CLASSES[p.class])
    });
    for graph in ["column", "masks"] {
        let page = sandbox.stdout(&format!("train {graph} --set max_epochs=2 --quiet"));
        assert!(page.contains(", split own: 36 train, 12 val, 12 test\n"), "{page}");
        assert!(page.contains("\n  numbers: age\n"), "{page}");
    }
}

#[test]
fn label_column_is_never_guessed_and_missing_labels_are_reported() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    write(&sandbox, "it", &people, "id,age,colour", |i, p| {
        let label = ["nan", "?", "NA", ""].get(i).copied().unwrap_or(CLASSES[p.class]);
        format!("p{i},{},{label}", p.age)
    });
    assert_eq!(
        sandbox.failure("train it"),
        (
            2,
            "error: it/nodes.csv: no label column; expected one named `label` or `class`, or `target` or \
             `y` without decimal numbers; columns: id, age, colour\nhint: choose the column with the classes: --label COLUMN\n"
                .into()
        )
    );
    let page = sandbox.stdout("train it --label colour --set max_epochs=2 --quiet");
    assert!(page.starts_with("it: 60 nodes, "), "{page}");
    for label in ["nan", "?", "NA"] {
        let warning = format!(
            "warning: it/nodes.csv: 1 node has the label `{label}`, which counts as missing"
        );
        assert!(page.contains(&warning), "{page}");
    }
    assert!(page.contains(" 3 classes, "), "{page}");
    // The options can be stored in a file next to the data.
    sandbox.write("it/schema.toml", "label = \"colour\"\nignore = [\"age\"]\n");
    let page = sandbox.stdout("train it --set max_epochs=2 --quiet");
    assert!(page.contains("ignored: age (ignored by the user)"), "{page}");
}

#[test]
fn rare_classes_are_reported() {
    let sandbox = Sandbox::new();
    let people = people(100, 1);
    write(&sandbox, "rare", &people, "id,age,label", |i, p| {
        let label = match i {
            0 => "once",
            1 | 2 => "twice",
            _ => "often",
        };
        format!("p{i},{},{label}", p.age)
    });
    let page = sandbox.stdout("train rare --set max_epochs=2 --quiet");
    let warning = "warning: class `once` has no test node in the split `stratified`: \
                   test scores do not cover it\n";
    assert!(page.contains(warning), "{page}");
}

#[test]
fn missing_numbers_are_filled_and_useless_columns_ignored_with_a_reason() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    let header = "id;height;born;customer_id;note;age;label";
    sandbox.write("it/edges.csv", &edges(&people, 3));
    let rows: String = people
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let age = if i % 9 == 0 { "NA".into() } else { p.age.to_string() };
            let (class, born) = (CLASSES[p.class], format!("19{:02}-05-17", 50 + i % 40));
            format!(
                "p{i};1,{};{born};{};said hello {i} times;{age};{class}\n",
                50 + p.age,
                900 + 7 * i
            )
        })
        .collect();
    sandbox.write("it/nodes.csv", &format!("{header}\n{rows}"));
    let document = sandbox.json("data check it --json");
    let columns = document["schema"]["columns"].as_array().unwrap();
    let column = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
    assert_eq!(column("height")["format"], "decimal-comma");
    assert_eq!(column("born")["format"], "date");
    assert_eq!(column("customer_id")["reason"], "whole numbers that identify the row");
    assert_eq!(column("note")["reason"], "too many different values: 60");
    assert_eq!(
        (&column("age")["indicator"], &column("age")["role"]),
        (&Value::Bool(true), &"number".into())
    );
    assert_eq!(document["description"]["features"], 4);
    let page = sandbox.stdout("data check it");
    let line = page.lines().find(|line| line.starts_with("age ")).unwrap();
    assert!(line.contains("number") && line.contains("7 missing, filled with "), "{line}");
}

#[test]
fn graphs_without_features_can_be_trained() {
    let sandbox = Sandbox::new();
    let people = people(150, 1);
    write(&sandbox, "bare", &people, "id,label", |i, p| format!("p{i},{}", CLASSES[p.class]));
    let page = sandbox.stdout(&format!("train bare {QUICK} --out run"));
    assert!(page.contains("no feature columns: the nodes are one-hot encoded"), "{page}");
    let accuracy: f64 = page.split("test accuracy ").nth(1).unwrap()[..5].parse().unwrap();
    assert!(accuracy > 55.0, "{page}");
    assert_eq!(sandbox.stdout("predict run").lines().count(), 151);
    let (code, message) = sandbox.failure("predict run bare/edges.csv");
    assert_eq!(code, 2);
    assert!(message.contains("it can only predict the nodes of its own graph"), "{message}");
}

#[test]
fn weights_loops_and_repeated_edges_are_reported() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    write(&sandbox, "it", &people, "id,age,label", |i, p| {
        format!("p{i},{},{}", p.age, CLASSES[p.class])
    });
    let plain = "source,target\np0,p1\np1,p0\np2,p2\np2,p3\n";
    sandbox.write("it/edges.csv", plain);
    let sha = |sandbox: &Sandbox| sandbox.json("data show it --json")["sha256"].clone();
    let unweighted = sha(&sandbox);
    let page = sandbox.stdout("data check it");
    assert!(page.contains("note: self-loops removed: 1\n"), "{page}");
    let merged = "note: repeated edges, in either direction, merged: 1\n";
    assert!(page.contains(merged), "{page}");
    sandbox.write("it/edges.csv", "source,target,weight\np0,p1,2\np2,p3,0.5\n");
    let page = sandbox.stdout("data check it");
    let note = "note: the edges have weights (column `weight`); most models use them\n";
    assert!(page.contains(note), "{page}");
    assert_ne!(sha(&sandbox), unweighted);
    sandbox.write("it/edges.csv", "source,target,weight\np0,p1,1\np2,p3,1\n");
    assert_eq!(sha(&sandbox), unweighted);
    sandbox.write("it/edges.csv", "source,target,weight\np0,p1,-1\n");
    let (_, message) = sandbox.failure("data check it");
    assert_eq!(
        message,
        "error: it/edges.csv:2: the weight is `-1`; expected a finite, non-negative number\n"
    );
}

#[test]
fn weight_column_can_be_chosen_or_ignored() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    write(&sandbox, "it", &people, "id,age,label", |i, p| {
        format!("p{i},{},{}", p.age, CLASSES[p.class])
    });
    let sha =
        |options: &str| sandbox.json(&format!("data show it --json {options}"))["sha256"].clone();
    sandbox.write("it/edges.csv", "source;target;weight;cost\np0;p1;2;0,5\np2;p3;1;3\n");
    let page = sandbox.stdout("data check it --weight cost");
    for note in [
        "note: it/edges.csv: separated by semicolons\n",
        "note: it/edges.csv: columns not used: `weight`\n",
        "note: it/edges.csv: weights with a decimal comma, such as 0,5\n",
        "note: the edges have weights (column `cost`); most models use them\n",
    ] {
        assert!(page.contains(note), "{note} in\n{page}");
    }
    assert!(sandbox.stdout("data check it").contains("(column `weight`)"));
    let [by_name, chosen, unused] = ["", "--weight cost", "--weight none"].map(sha);
    assert!(by_name != chosen && chosen != unused && by_name != unused);
    sandbox.write("it/schema.toml", "weight = \"cost\"\n");
    assert_eq!(sha(""), chosen);
    let page = sandbox.stdout("train it --set max_epochs=2 --quiet --out run");
    assert!(page.contains("\n  options read from it/schema.toml\n"), "{page}");
    // Without a header, columns have numbers.
    sandbox.write("it/schema.toml", "");
    sandbox.write("it/edges.csv", "p0 p1 0.5\np2 p3 3\n");
    let page = sandbox.stdout("data check it");
    assert!(page.contains("note: it/edges.csv: separated by spaces, no header\n"), "{page}");
    let warning = "warning: it/edges.csv: columns not used: 3; if one of them contains the weights, \
                   choose it as the weight column\n";
    assert!(page.contains(warning), "{page}");
    assert_eq!((sha(""), sha("--weight 3")), (unused, chosen));
    let (code, message) = sandbox.failure("data check it --weight cost");
    assert_eq!(
        (code, &*message),
        (2, "error: it/edges.csv: unknown column `cost`; known: 1, 2, 3\n")
    );
}

#[test]
fn unusual_table_formats_are_stated() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    sandbox.write("it/edges.csv", &edges(&people, 3).replace("source,target\n", ""));
    let row = |(i, p): (usize, &Person)| {
        format!("p{i}\t\"{},5\"\t{}\t20{:02}-01-31\n", p.age, CLASSES[p.class], i % 30)
    };
    let rows: String = people.iter().enumerate().map(row).collect();
    sandbox.write("it/nodes.tsv", &format!("id\theight\tcolour\tborn\n{rows}"));
    let page = sandbox.stdout("train it --label colour --set max_epochs=2 --quiet");
    let expected = "\n  numbers: height (decimal comma), born (date)\n  \
                    it/nodes.tsv: separated by tabs\n  it/edges.csv: no header\n";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn options_apply_with_the_split_of_the_table() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    write(&sandbox, "it", &people, "id,age,colour,class,split", |i, p| {
        let part = ["train", "train", "train", "val", "test"][i % 5];
        format!("p{i},{},{},{},{part}", p.age, CLASSES[p.class], i % 2)
    });
    let page = sandbox.stdout("train it --label colour --set max_epochs=2 --quiet");
    assert!(page.contains(", split own: 36 train, 12 val, 12 test\n"), "{page}");
    assert!(page.contains("\n  label: colour\n"), "{page}");
    let warning = "warning: it/nodes.csv: `class` is used as a feature; ignore it if it contains the \
                   classes\n";
    assert!(page.contains(warning), "{page}");
}

#[test]
fn options_without_tables_are_reported() {
    let sandbox = Sandbox::new();
    let page = sandbox.stdout("data check csbm:nodes=60 --label colour");
    let warning =
        "warning: the column options have no effect: this graph is not read from a node table\n";
    assert!(page.contains(warning), "{page}");
    // A public graph has precedence over a folder of the same name.
    write_plain(&sandbox, "cora", &people(60, 1));
    let page = sandbox.stdout("data check cora");
    let note = "note: `cora` refers to the built-in data set; to use your folder with this name, write \
                `./cora`\n";
    assert!(page.contains(note), "{page}");
    assert!(sandbox.stdout("data check ./cora").contains("\nnodes     60\n"));
    let absolute = sandbox.path("cora").display().to_string();
    for path in ["./cora", &absolute] {
        let page = sandbox.stdout(&format!("train {path} --set max_epochs=2 --fresh --quiet"));
        assert!(page.starts_with("./cora: 60 nodes, "), "{path}: {page}");
    }
}

#[test]
fn split_files_use_node_names() {
    let sandbox = Sandbox::new();
    let people = people(60, 1);
    write(&sandbox, "it", &people, "id,age,label", |i, p| {
        // Numeric names in reverse order.
        format!("p{},{},{}", 59 - i, p.age, CLASSES[p.class])
    });
    sandbox.write("split.csv", "node,part\np0,train\np1,train\np2,train\np3,val\np4,test\n");
    sandbox.stdout("train it --split file:split.csv --set max_epochs=2 --quiet --out run");
    let predictions = text(&sandbox.read("run/runs/0/predictions.csv"));
    let last: Vec<&str> = predictions.lines().rev().take(5).collect();
    let expected = [
        ("p0,", ",train"),
        ("p1,", ",train"),
        ("p2,", ",train"),
        ("p3,", ",val"),
        ("p4,", ",test"),
    ];
    for (line, (start, end)) in last.iter().zip(expected) {
        assert!(line.starts_with(start) && line.ends_with(end), "{line}");
    }
    sandbox.write("split.csv", "0,train\n");
    let (_, message) = sandbox.failure("train it --split file:split.csv");
    assert!(message.contains("node `0` is not in the graph"), "{message}");
}

#[test]
fn options_override_the_table_of_a_configuration_file() {
    let sandbox = Sandbox::new();
    write(&sandbox, "it", &people(60, 1), "id,age,colour,town", |i, p| {
        format!("p{i},{},{},{}", p.age, CLASSES[p.class], TOWNS[p.town])
    });
    sandbox.write("it.toml", "graph = \"it\"\n[table]\nlabel = \"colour\"\n");
    for (options, label) in [("", "colour"), ("--label town --out town", "town")] {
        let folder = if options.is_empty() { "--out colour" } else { "" };
        sandbox.stdout(&format!("train --config it.toml {options} {folder} --set max_epochs=2 -q"));
        let stored = std::fs::read_to_string(sandbox.path(format!("{label}/run.toml"))).unwrap();
        assert!(stored.contains(&format!("label = \"{label}\"")), "{stored}");
    }
}

#[test]
fn compare_names_the_majority_class_of_a_folder_with_a_slash() {
    let sandbox = Sandbox::new();
    write_plain(&sandbox, "it", &people(60, 1));
    let page = sandbox.stdout("compare it/ --models mlp --runs 1 --set max_epochs=2 --quiet");
    assert!(page.contains("majority class: it"), "{page}");
}

#[test]
fn all_labels_can_be_used_for_training() {
    let sandbox = Sandbox::new();
    write_plain(&sandbox, "people", &people(60, 1));
    let page = sandbox.stdout("train people --split all-labels --set max_epochs=20 --quiet");
    assert!(page.contains("split all-labels: 45 train, 0 val, 0 test\n"), "{page}");
    assert!(page.contains("\nno test nodes, so there is no estimate of the accuracy\n"), "{page}");
    // `predict` can read a record without scores.
    assert_eq!(sandbox.stdout("predict latest").lines().count(), 61);
}

#[test]
fn learned_filter_is_shown() {
    let sandbox = Sandbox::new();
    write_plain(&sandbox, "people", &people(100, 1));
    sandbox.stdout(&format!("train people {QUICK}"));
    let page = sandbox.stdout("filter latest");
    assert!(page.trim_start().starts_with("ClenshawGCN on people; mu from "), "{page}");
    assert!(page.contains("\ncoefficients: "), "{page}");
    sandbox.stdout("filter people-clenshaw --csv h.csv --svg h.svg --png h.png");
    let csv = text(&sandbox.read("h.csv"));
    let (mu, h) = csv.lines().last().unwrap().split_once(',').unwrap();
    assert_eq!(mu, "1");
    assert!(h.parse::<f64>().unwrap().is_finite());
    assert!(text(&sandbox.read("h.svg")).contains("<polyline"));
    assert_eq!(sandbox.read("h.png")[..4], *b"\x89PNG");
    sandbox.stdout("train people --model mlp --set max_epochs=2 --quiet --out mlp");
    let (code, message) = sandbox.failure("filter mlp");
    assert_eq!((code, message), (2, "error: mlp: the model mlp has no filter\n".into()));
}

#[test]
fn all_paths_to_a_graph_give_the_same_run_folder() {
    let sandbox = Sandbox::new();
    write_plain(&sandbox, "my graphs/.hidden-people", &people(60, 1));
    let folder = |argument: &str| {
        let mut command = sandbox.command("train --set max_epochs=2 --quiet");
        let output = command.arg(argument).output().unwrap();
        let page = text(&output.stdout);
        page.lines().last().unwrap().strip_prefix("run folder: runs/").unwrap().to_owned()
    };
    let name = folder("my graphs/.hidden-people");
    assert!(name.starts_with("hidden-people-clenshaw-gcn-"), "{name}");
    assert_eq!(folder("my graphs/.hidden-people/"), name);
    assert_eq!(folder("./my graphs/../my graphs/.hidden-people"), name);
    let list = sandbox.stdout("runs");
    let row = list.lines().find(|line| line.starts_with(&name)).unwrap();
    assert!(row.contains("clenshaw-gcn") && row.contains("1 of 1 finished"), "{row}");
    assert!(sandbox.stdout("runs show hidden").contains("[hyper]"));
    sandbox.stdout("runs rm hidden");
    assert_eq!(sandbox.stdout("runs"), "no runs in runs\n");
    assert_eq!(sandbox.failure("runs list nope"), (2, "error: nope: no such folder\n".into()));
    let (code, message) = sandbox.failure("predict latest");
    assert_eq!((code, message), (2, "error: latest: there are no runs in `runs` yet\n".into()));
}
