//! A contest is read, planned, trained for three epochs, and drawn.

use super::*;
use crate::data::Store;
use crate::experiment::{Options, run_all};
use crate::report::Scores;
use serde_json::{Value as Json, json};
use std::sync::atomic::AtomicBool;

const TEXT: &str = r#"
    title = "T"
    source = "S"
    spread = "std"
    models = ["mlp", "gcn"]
    [[column]]
    name = "small"
    graph = "csbm:nodes=60"
    paper = { gcn = [90, 5.0], mlp = "(M)" }
    [[column]]
    name = "texas"
    split = "stratified"
"#;

fn contest() -> Contest {
    Contest::from_toml("t.toml", TEXT).unwrap()
}

/// Cells of three epochs each.
fn short(contest: &Contest, only: &str, runs: usize, folder: &Path) -> Vec<Planned> {
    let only = if only.is_empty() { Only::default() } else { only.parse().unwrap() };
    let mut planned = contest.plan(&only, Some(runs), folder).unwrap();
    for cell in &mut planned {
        cell.order.request.set("max_epochs", "3").unwrap();
        cell.known = Receipt::of(&cell.order).unwrap();
    }
    planned
}

fn trained(contest: &Contest, planned: &[Planned], folder: &Path) -> Scores {
    let options = Options {
        threads: 1,
        store: &Store::only(folder),
        resume: true,
        watch: &|_, _| {},
        cancel: &AtomicBool::new(false),
    };
    contest.table(planned, &run_all(&contest.orders(planned), &options)).unwrap()
}

#[test]
fn cells_are_measured_once_and_those_that_are_not_here_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let measure = || {
        let planned = short(&contest(), "", 2, folder.path());
        trained(&contest(), &planned, folder.path())
    };
    let table = measure();
    let models: Vec<_> = table.cells.iter().map(|c| (&c.column[..], &c.model[..])).collect();
    let expected = [("small", "mlp"), ("small", "gcn"), ("texas", "mlp"), ("texas", "gcn")];
    assert_eq!(models, expected);
    assert_eq!(table.cells[0].paper, Some(Printed::Word("(M)".into())));
    assert_eq!(table.cells[1].paper, Some(Printed::Score(90.0, 5.0)));
    assert_eq!(table.cells[1].ours.unwrap().epochs, 3.0);
    assert_eq!(table.cells[3].missing.as_deref(), Some("not run, no data"));
    let occasion = table.notes.last().expect("a note on day and machine");
    assert!(occasion.starts_with("Measured 20"), "{occasion}");
    assert!(occasion.ends_with("(threads: 1)."), "{occasion}");
    let again = measure();
    let seconds = |table: &Scores| table.cells[1].ours.unwrap().seconds;
    assert_eq!(seconds(&again), seconds(&table), "the second time nothing is trained");
    let mut planned = short(&contest(), "", 2, folder.path());
    planned.reverse();
    let receipts = contest().receipts(&planned).unwrap().to_jsonl();
    let lines: Vec<Json> = receipts.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(
        (lines.len(), &lines[0]["model"], &lines[1]["model"]),
        (2, &json!("gcn"), &json!("mlp"))
    );
    assert_eq!(lines[0]["runs"][1]["seed"], 1);
    let accuracy = |i: usize| lines[0]["runs"][i]["test_accuracy"].as_f64().unwrap();
    let mean = 0.5 * (accuracy(0) + accuracy(1));
    assert!((mean - table.cells[1].ours.unwrap().score.mean).abs() < 1e-12);
}

#[test]
fn a_folder_is_believed_only_if_it_is_whole_and_of_the_same_settings_and_data() {
    let folder = tempfile::tempdir().unwrap();
    let known = || {
        let mut planned = short(&contest(), "graph=small,model=gcn", 2, folder.path());
        Receipts(vec![]).answer(&mut planned, &Store::only(folder.path()));
        planned[0].known.is_some()
    };
    let planned = short(&contest(), "graph=small,model=gcn", 2, folder.path());
    trained(&contest(), &planned, folder.path());
    assert!(known());
    let of_other_length =
        contest().plan(&"graph=small,model=gcn".parse().unwrap(), Some(2), folder.path());
    assert!(of_other_length.unwrap()[0].known.is_none(), "it was to train for longer");

    let run = planned[0].order.out.clone().unwrap();
    let receipt = std::fs::read_to_string(run.join("receipt.json")).unwrap();
    let digests: Vec<&str> = receipt.split('"').filter(|word| word.len() == 64).collect();
    let record = run.join("runs/1/record.json");
    let text = std::fs::read_to_string(&record).unwrap();
    for (file, whole, digest) in
        [("receipt.json", &receipt, digests[0]), ("runs/1/record.json", &text, digests[2])]
    {
        std::fs::write(run.join(file), whole.replace(digest, &"0".repeat(64))).unwrap();
        assert!(!known(), "{file} is about other data");
        std::fs::write(run.join(file), whole).unwrap();
    }
    assert!(known());
    std::fs::remove_file(record).unwrap();
    assert!(!known(), "one of two runs is gone");
}

#[test]
fn a_part_of_the_runs_is_called_a_part() {
    let folder = tempfile::tempdir().unwrap();
    let planned = short(&contest(), "graph=small,model=gcn", 2, folder.path());
    trained(&contest(), &planned, folder.path());
    let run = planned[0].order.out.as_ref().unwrap();
    std::fs::remove_dir_all(run.join("runs/1")).unwrap();
    let planned = short(&contest(), "graph=small,model=gcn", 2, folder.path());
    let table = contest().table(&planned, &[Err(Error::Interrupted)]).unwrap();
    let cell = &table.cells[0];
    assert_eq!((cell.runs, cell.planned, cell.complete().is_some()), (1, 2, false));
    assert!(contest().receipts(&planned).unwrap().0.is_empty());
}

#[test]
fn a_graph_stands_for_its_columns_unless_one_has_its_name() {
    let text =
        TEXT.replace("csbm:nodes=60", "texas") + "[[column]]\nname = \"deep\"\ngraph = \"cora\"\n";
    let contest = Contest::from_toml("t.toml", &text).unwrap();
    let columns = |only: &str| -> Vec<String> {
        let planned =
            contest.plan(&format!("{only},model=gcn").parse().unwrap(), None, Path::new("r"));
        planned.unwrap().into_iter().map(|cell| cell.column).collect()
    };
    assert_eq!(columns("graph=cora"), ["deep"]);
    assert_eq!(columns("graph=texas"), ["texas"], "and not `small`, which is also on it");
    assert_eq!(columns("graph=small,cora"), ["small", "deep"]);
    let error = Contest::from_toml("t.toml", &text.replace("deep", "deep, 2")).unwrap_err();
    assert!(error.to_string().contains("expected a name without `,` and `=`"), "{error}");
}

#[test]
fn every_contest_has_its_file_and_can_be_planned() {
    use crate::experiment::{EXPERIMENTS, Kind};
    let mut cells = vec![];
    for info in EXPERIMENTS {
        if let Kind::Contest(text) = info.kind {
            let contest = Contest::from_toml(&info.place(), text).unwrap();
            let planned = contest.plan(&Only::default(), None, Path::new("runs")).unwrap();
            cells.push((info.name, planned.len()));
        }
    }
    let expected =
        [("table2", 63), ("table3", 56), ("ablation", 10), ("depth", 40), ("honest", 112)];
    assert_eq!(cells, expected);
}

#[test]
fn depth_is_drawn_for_every_model_on_every_graph() {
    let column = |depth: usize| {
        format!("[[column]]\nname = \"at {depth}\"\ngraph = \"csbm:nodes=60\"\ndepth = {depth}\n")
    };
    let head = &TEXT[..TEXT.find("[[column]]").unwrap()].replace("\"mlp\"", "\"gcnii\"");
    let text = format!("{head}{}{}", column(2), column(4));
    let contest = Contest::from_toml("t.toml", &text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let planned = short(&contest, "", 1, folder.path());
    let table = trained(&contest, &planned, folder.path());
    let figures = contest.over_depth(&table);
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["csbm:nodes=60-accuracy", "csbm:nodes=60-energy"]);
    let line = &figures[1].1.series[1];
    assert_eq!((line.name.as_str(), line.points[0].0, line.points[1].0), ("gcn", 2.0, 4.0));
    assert_eq!(line.points[0].1, table.cells[1].ours.unwrap().energy.unwrap());
    assert!((0.0..2.0).contains(&line.points[1].1), "{:?}", line.points);
}

#[test]
fn a_column_decides_graph_split_runs_and_depth() {
    let text = TEXT
        .replace("[\"mlp\", \"gcn\"]", "[\"gcnii\", \"clenshaw-gcn\"]")
        .replace("csbm:nodes=60", "cora")
        .replace("paper = { gcn = [90, 5.0], mlp = \"(M)\" }", "runs = 5\ndepth = 16");
    let contest = Contest::from_toml("t.toml", &format!("runs = {{ gcnii = 12 }}{text}")).unwrap();
    let plan =
        |only: &str, runs| contest.plan(&only.parse().unwrap(), runs, Path::new("runs")).unwrap();
    let cells = plan("graph=small", None);
    let request = |i: usize| &cells[i].order.request;
    assert_eq!((request(0).hyper.int("L"), request(0).hyper.real("alpha")), (16, 0.2));
    assert_eq!((request(1).hyper.int("K"), request(1).hyper.real("dropout")), (16, 0.7));
    assert_eq!((request(0).runs, request(0).split.to_string()), (5, "balanced".into()));
    let runs =
        |runs| plan("model=gcnii,clenshaw-gcn", runs).into_iter().map(|p| p.order.request.runs);
    assert_eq!(runs(None).collect::<Vec<_>>(), [5, 5, 12, 20]);
    assert_eq!(runs(Some(10)).collect::<Vec<_>>(), [5, 5, 10, 10]);
    let texas = &plan("graph=texas,model=gcnii", Some(10))[0].order.request;
    assert_eq!((texas.runs, texas.split.to_string()), (10, "stratified".into()));
}

#[test]
fn mistakes_are_named() {
    let refused = |from: &str, to: &str| {
        Contest::from_toml("t.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
    };
    assert_eq!(refused("\"std\"", "\"sd\""), "t.toml: `spread` is `sd`; expected std or ci95");
    assert_eq!(
        refused("[90, 5.0]", "90"),
        "t.toml: `small.gcn` is `90`; expected two numbers as in [69.44, 0.92], or a word"
    );
    assert_eq!(
        refused("{ gcn", "{ gcm"),
        "t.toml: unknown model `gcm`; did you mean `gcn`? known: mlp, gcn"
    );
    assert!(
        refused("title", "claims = [[\"gcn\", \"gcnii\"]]\ntitle")
            .starts_with("t.toml: unknown model `gcnii`")
    );
    assert!(refused("split =", "spilt =").contains("unknown field `spilt`"));
    assert!(refused("stratified", "random").starts_with("t.toml: "));
}

#[test]
fn receipts_make_the_same_table_without_training() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |runs: &str| short(&contest(), "graph=small", 2, &folder.path().join(runs));
    let first = plan("first");
    let table = trained(&contest(), &first, folder.path());
    let receipts = contest().receipts(&first).unwrap();
    let text = receipts.to_jsonl();
    let answered = |text: &str, mut planned: Vec<Planned>| {
        std::fs::write(folder.path().join("t.receipts.jsonl"), text).unwrap();
        let receipts = Receipts::read(folder.path())?;
        receipts.answer(&mut planned, &Store::only(folder.path()));
        Ok::<_, Error>(planned)
    };
    let second = answered(&text, plan("second")).unwrap();
    assert_eq!(contest().orders(&second).len(), 0);
    let again = contest().table(&second, &[]).unwrap();
    assert_eq!(json!(again), json!(table));
    assert_eq!(contest().receipts(&second).unwrap().to_jsonl(), text);

    // A part of the table is done again: the other part stays.
    let part = Receipts(vec![receipts.0[1].clone()]);
    let both = part.and(receipts).to_jsonl();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(both.lines().collect::<Vec<_>>(), [lines[1], lines[0]]);

    // Another question is not answered, be it in a setting, in the seeds or in the data.
    let mut other = plan("third");
    other[0].order.request.set("hidden", "5").unwrap();
    other[1].order.request.seed = 1;
    assert_eq!(contest().orders(&answered(&text, other).unwrap()).len(), 2);
    let digest = text.split('"').find(|word| word.len() == 64).unwrap();
    let elsewhere = text.replace(digest, &"0".repeat(64));
    assert_eq!(contest().orders(&answered(&elsewhere, plan("third")).unwrap()).len(), 2);

    let broken = answered("{}\n", plan("third")).unwrap_err().to_string();
    assert!(broken.contains("t.receipts.jsonl:1: not a receipt: missing field"), "{broken}");
}
