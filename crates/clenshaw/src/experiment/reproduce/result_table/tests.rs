//! A small result table is parsed, planned, trained for three epochs, and drawn.

use super::*;
use crate::data::Store;
use crate::experiment::{RunOptions, run_all};
use crate::report::ScoreTable;
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

fn example() -> ResultTable {
    ResultTable::from_toml("t.toml", TEXT).unwrap()
}

/// The selected cells, with three epochs each and the receipts of their folders.
fn plan_short(
    result_table: &ResultTable,
    selection: &str,
    runs: usize,
    folder: &Path,
) -> Vec<PlannedCell> {
    let selection =
        if selection.is_empty() { Selection::default() } else { selection.parse().unwrap() };
    let mut planned = result_table.plan(&selection, Some(runs), folder).unwrap();
    for cell in &mut planned {
        cell.job.request.set("max_epochs", "3").unwrap();
        cell.receipt = CellReceipt::of_job(&cell.job).unwrap();
    }
    planned
}

/// Trains the cells without a receipt and returns the table of all cells.
fn train(result_table: &ResultTable, planned: &[PlannedCell], folder: &Path) -> ScoreTable {
    let options = RunOptions {
        threads: 1,
        store: &Store::only(folder),
        resume: true,
        on_event: &|_, _| {},
        cancel: &AtomicBool::new(false),
    };
    result_table.score_table(planned, &run_all(&result_table.jobs(planned), &options)).unwrap()
}

#[test]
fn presets_are_chosen_by_model() {
    let text = r#"
        title = "T"
        source = "S"
        spread = "std"
        models = ["mlp", "gcn"]
        presets = { gcn = "luo2024" }
        [[column]]
        name = "squirrel-filtered"
        split = "all"
        runs = 10
    "#;
    let table = ResultTable::from_toml("t.toml", text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let planned = table.plan(&Selection::default(), None, folder.path()).unwrap();
    let hidden: Vec<usize> =
        planned.iter().map(|cell| cell.job.request.hyper.int("hidden")).collect();
    assert_eq!(hidden, [64, 256]);
    assert_eq!(planned[1].settings, SettingsOrigin::Published);
    let unknown = text.replace("gcn = \"luo2024\"", "sage = \"luo2024\"");
    let error = ResultTable::from_toml("t.toml", &unknown).unwrap_err().to_string();
    assert!(error.contains("unknown model `sage`"), "{error}");
    let missing = text.replace("squirrel-filtered", "texas").replace("\"all\"", "\"balanced\"");
    let table = ResultTable::from_toml("t.toml", &missing).unwrap();
    let error = table.plan(&Selection::default(), None, folder.path()).unwrap_err().to_string();
    assert!(error.contains("expected a graph with a preset `luo2024` of gcn"), "{error}");
}

#[test]
fn cells_are_trained_once_and_missing_graphs_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let measure = || {
        let planned = plan_short(&example(), "", 2, folder.path());
        train(&example(), &planned, folder.path())
    };
    let table = measure();
    let models: Vec<_> = table.cells.iter().map(|c| (&c.column[..], &c.model[..])).collect();
    let expected = [("small", "mlp"), ("small", "gcn"), ("texas", "mlp"), ("texas", "gcn")];
    assert_eq!(models, expected);
    assert_eq!(table.cells[0].paper, Some(PaperScore::Text("(M)".into())));
    assert_eq!(table.cells[1].paper, Some(PaperScore::Score(90.0, 5.0)));
    assert_eq!(table.cells[1].ours.unwrap().epochs, 3.0);
    assert_eq!(table.cells[3].missing.as_deref(), Some("not run, no data"));
    let provenance = table.notes.last().expect("a note with the date and the machine");
    assert!(provenance.starts_with("Measured 20"), "{provenance}");
    assert!(provenance.ends_with("(threads: 1)."), "{provenance}");
    let repeated = measure();
    let seconds = |table: &ScoreTable| table.cells[1].ours.unwrap().seconds;
    assert_eq!(seconds(&repeated), seconds(&table), "the second time, nothing is trained");
    let mut planned = plan_short(&example(), "", 2, folder.path());
    planned.reverse();
    let receipts = example().receipts(&planned).unwrap().to_jsonl();
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
fn run_folder_is_reused_only_if_complete_with_same_settings_and_data() {
    let folder = tempfile::tempdir().unwrap();
    let has_receipt = || {
        let mut planned = plan_short(&example(), "graph=small,model=gcn", 2, folder.path());
        Receipts(vec![]).apply_to(&mut planned, &Store::only(folder.path()));
        planned[0].receipt.is_some()
    };
    let planned = plan_short(&example(), "graph=small,model=gcn", 2, folder.path());
    train(&example(), &planned, folder.path());
    assert!(has_receipt());
    let with_more_epochs =
        example().plan(&"graph=small,model=gcn".parse().unwrap(), Some(2), folder.path());
    assert!(with_more_epochs.unwrap()[0].receipt.is_none());

    let run = planned[0].job.folder.clone().unwrap();
    let receipt = std::fs::read_to_string(run.join("receipt.json")).unwrap();
    let digests: Vec<&str> = receipt.split('"').filter(|word| word.len() == 64).collect();
    let record = run.join("runs/1/record.json");
    let text = std::fs::read_to_string(&record).unwrap();
    for (file, whole, digest) in
        [("receipt.json", &receipt, digests[0]), ("runs/1/record.json", &text, digests[2])]
    {
        std::fs::write(run.join(file), whole.replace(digest, &"0".repeat(64))).unwrap();
        assert!(!has_receipt(), "{file} has different data");
        std::fs::write(run.join(file), whole).unwrap();
    }
    assert!(has_receipt());
    std::fs::remove_file(record).unwrap();
    assert!(!has_receipt(), "one of two runs is missing");
}

#[test]
fn partial_cell_reports_its_finished_runs() {
    let folder = tempfile::tempdir().unwrap();
    let planned = plan_short(&example(), "graph=small,model=gcn", 2, folder.path());
    train(&example(), &planned, folder.path());
    let run = planned[0].job.folder.as_ref().unwrap();
    std::fs::remove_dir_all(run.join("runs/1")).unwrap();
    let planned = plan_short(&example(), "graph=small,model=gcn", 2, folder.path());
    let table = example().score_table(&planned, &[Err(Error::Interrupted)]).unwrap();
    let cell = &table.cells[0];
    assert_eq!((cell.runs, cell.planned, cell.complete().is_some()), (1, 2, false));
    assert!(example().receipts(&planned).unwrap().0.is_empty());
}

#[test]
fn graph_selects_its_columns_unless_a_column_has_that_name() {
    let text =
        TEXT.replace("csbm:nodes=60", "texas") + "[[column]]\nname = \"deep\"\ngraph = \"cora\"\n";
    let result_table = ResultTable::from_toml("t.toml", &text).unwrap();
    let columns = |selection: &str| -> Vec<String> {
        let planned = result_table.plan(
            &format!("{selection},model=gcn").parse().unwrap(),
            None,
            Path::new("r"),
        );
        planned.unwrap().into_iter().map(|cell| cell.column).collect()
    };
    assert_eq!(columns("graph=cora"), ["deep"]);
    assert_eq!(columns("graph=texas"), ["texas"], "not `small`, although it has the same graph");
    assert_eq!(columns("graph=small,cora"), ["small", "deep"]);
    let columns_on_cora = "[[column]]\nname = \"other\"\ngraph = \"csbm\"\n\
                           [[column]]\nname = \"deeper\"\ngraph = \"cora\"\n";
    let result_table = ResultTable::from_toml("t.toml", &(text.clone() + columns_on_cora)).unwrap();
    let selection = "graph=nothing".parse().unwrap();
    let error = result_table.plan(&selection, None, Path::new("r")).unwrap_err().to_string();
    let known = "known: small, texas, deep, other, deeper, cora, csbm";
    assert!(error.ends_with(known), "each graph is listed once: {error}");
    let error = ResultTable::from_toml("t.toml", &text.replace("deep", "deep, 2")).unwrap_err();
    assert!(error.to_string().contains("expected a name without `,` or `=`"), "{error}");
}

#[test]
fn every_result_table_can_be_parsed_and_planned() {
    use crate::experiment::{EXPERIMENTS, ExperimentKind};
    let mut cells = vec![];
    for info in EXPERIMENTS {
        if let ExperimentKind::ResultTable(text) = info.kind {
            let result_table = ResultTable::from_toml(&info.file_name(), text).unwrap();
            let planned =
                result_table.plan(&Selection::default(), None, Path::new("runs")).unwrap();
            cells.push((info.name, planned.len()));
        }
    }
    let expected =
        [("table2", 63), ("table3", 56), ("ablation", 10), ("depth", 40), ("leak-free", 112)];
    assert_eq!(cells, expected);
}

#[test]
fn depth_charts_have_a_line_per_model() {
    let column = |depth: usize| {
        format!("[[column]]\nname = \"at {depth}\"\ngraph = \"csbm:nodes=60\"\ndepth = {depth}\n")
    };
    let head = &TEXT[..TEXT.find("[[column]]").unwrap()].replace("\"mlp\"", "\"gcnii\"");
    let text = format!("{head}{}{}", column(2), column(4));
    let result_table = ResultTable::from_toml("t.toml", &text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let planned = plan_short(&result_table, "", 1, folder.path());
    let table = train(&result_table, &planned, folder.path());
    let figures = result_table.depth_charts(&table);
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["csbm:nodes=60-accuracy", "csbm:nodes=60-energy"]);
    let line = &figures[1].1.series[1];
    assert_eq!((line.name.as_str(), line.points[0].0, line.points[1].0), ("gcn", 2.0, 4.0));
    assert_eq!(line.points[0].1, table.cells[1].ours.unwrap().energy.unwrap());
    assert!((0.0..2.0).contains(&line.points[1].1), "{:?}", line.points);
}

#[test]
fn column_sets_graph_split_runs_and_depth() {
    let text = TEXT
        .replace("[\"mlp\", \"gcn\"]", "[\"gcnii\", \"clenshaw-gcn\"]")
        .replace("csbm:nodes=60", "cora")
        .replace("paper = { gcn = [90, 5.0], mlp = \"(M)\" }", "runs = 5\ndepth = 16");
    let result_table =
        ResultTable::from_toml("t.toml", &format!("runs = {{ gcnii = 12 }}{text}")).unwrap();
    let plan = |selection: &str, runs| {
        result_table.plan(&selection.parse().unwrap(), runs, Path::new("runs")).unwrap()
    };
    let cells = plan("graph=small", None);
    let request = |i: usize| &cells[i].job.request;
    assert_eq!((request(0).hyper.int("L"), request(0).hyper.real("alpha")), (16, 0.2));
    assert_eq!((request(1).hyper.int("K"), request(1).hyper.real("dropout")), (16, 0.7));
    assert_eq!((request(0).runs, request(0).split.to_string()), (5, "balanced".into()));
    let runs =
        |runs| plan("model=gcnii,clenshaw-gcn", runs).into_iter().map(|p| p.job.request.runs);
    assert_eq!(runs(None).collect::<Vec<_>>(), [5, 5, 12, 20]);
    assert_eq!(runs(Some(10)).collect::<Vec<_>>(), [5, 5, 10, 10]);
    let texas = &plan("graph=texas,model=gcnii", Some(10))[0].job.request;
    assert_eq!((texas.runs, texas.split.to_string()), (10, "stratified".into()));
}

#[test]
fn rejects_invalid_files() {
    let parse_error = |from: &str, to: &str| {
        ResultTable::from_toml("t.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
    };
    let unknown = parse_error("\"std\"", "\"sd\"");
    assert!(unknown.ends_with("unknown variant `sd`, expected `std` or `ci95`"), "{unknown}");
    assert_eq!(
        parse_error("[90, 5.0]", "90"),
        "t.toml: `small.gcn` is `90`; expected two numbers as in [69.44, 0.92], or a string"
    );
    assert_eq!(
        parse_error("{ gcn", "{ gcm"),
        "t.toml: unknown model `gcm`; did you mean `gcn`? known: mlp, gcn"
    );
    assert!(
        parse_error("title", "claims = [[\"gcn\", \"gcnii\"]]\ntitle")
            .starts_with("t.toml: unknown model `gcnii`")
    );
    assert!(parse_error("split =", "spilt =").contains("unknown field `spilt`"));
    assert!(parse_error("stratified", "random").starts_with("t.toml: "));
}

#[test]
fn receipts_give_the_same_table_without_training() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |runs: &str| plan_short(&example(), "graph=small", 2, &folder.path().join(runs));
    let first = plan("first");
    let table = train(&example(), &first, folder.path());
    let receipts = example().receipts(&first).unwrap();
    let text = receipts.to_jsonl();
    let with_receipts = |text: &str, mut planned: Vec<PlannedCell>| {
        std::fs::write(folder.path().join("t.receipts.jsonl"), text).unwrap();
        let receipts = Receipts::read_folder(folder.path())?;
        receipts.apply_to(&mut planned, &Store::only(folder.path()));
        Ok::<_, Error>(planned)
    };
    let second = with_receipts(&text, plan("second")).unwrap();
    assert_eq!(example().jobs(&second).len(), 0);
    let repeated = example().score_table(&second, &[]).unwrap();
    assert_eq!(json!(repeated), json!(table));
    assert_eq!(example().receipts(&second).unwrap().to_jsonl(), text);

    // Merging the receipts of one cell keeps those of the others.
    let part = Receipts(vec![receipts.0[1].clone()]);
    let both = part.merge(receipts).to_jsonl();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(both.lines().collect::<Vec<_>>(), [lines[1], lines[0]]);

    // Receipts with different settings, seeds or data do not match.
    let mut other = plan("third");
    other[0].job.request.set("hidden", "5").unwrap();
    other[1].job.request.seed = 1;
    assert_eq!(example().jobs(&with_receipts(&text, other).unwrap()).len(), 2);
    let digest = text.split('"').find(|word| word.len() == 64).unwrap();
    let elsewhere = text.replace(digest, &"0".repeat(64));
    assert_eq!(example().jobs(&with_receipts(&elsewhere, plan("third")).unwrap()).len(), 2);

    let broken = with_receipts("{}\n", plan("third")).unwrap_err().to_string();
    assert!(broken.contains("t.receipts.jsonl:1: not a receipt: missing field"), "{broken}");
}
