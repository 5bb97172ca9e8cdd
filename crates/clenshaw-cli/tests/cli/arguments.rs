//! Invalid arguments and input: exit code 2 and one line that states what was given and what was expected.

use crate::common::{Sandbox, text};
use clenshaw::experiment::{PAPER, preset_graphs};
use clenshaw::model::{self, MODELS};

/// Asserts exit code 2, exactly this message on stderr, and no files.
fn assert_rejected(arguments: &str, message: &str) {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.failure(arguments), (2, format!("error: {message}\n")), "{arguments}");
    assert!(sandbox.is_empty(), "`{arguments}` left files behind");
}

#[test]
fn unknown_names_get_suggestions() {
    let models: Vec<&str> = MODELS.iter().map(|info| info.name).collect();
    let message = format!(
        "unknown model `clenshaw`; did you mean `clenshaw-gcn`? known: {}",
        models.join(", ")
    );
    assert_rejected("train cora --model clenshaw", &message);
    assert_rejected("models clenshaw", &message);

    let graphs: Vec<&str> = clenshaw::data::DATASETS.iter().map(|info| info.name).collect();
    let message =
        format!("unknown graph `coar`; did you mean `cora`? known: {}", graphs.join(", "));
    assert_rejected("train coar", &message);

    assert_rejected(
        "data show my-graph",
        &format!(
            "unknown graph `my-graph`; known: {}\n\
             hint: to use your own files, pass the path of an existing folder or file",
            graphs.join(", ")
        ),
    );
    assert_rejected("data show my-graph/", "my-graph/: No such file or directory (os error 2)");

    let keys: Vec<&str> =
        model::find("gcn").unwrap().hyper_params().map(|hyper| hyper.name).collect();
    let message = format!("unknown key `hiden`; did you mean `hidden`? known: {}", keys.join(", "));
    assert_rejected("train cora --model gcn --set hiden=8", &message);

    assert_rejected(
        "train cora --split balance",
        "unknown split `balance`; did you mean `balanced`? \
         known: balanced, stratified, ratio:a/b/c, all-labels, file:PATH, public, geom:N, linkx:N, fixed:N, own, all",
    );
    assert_rejected(
        "train cora --preset papers",
        "unknown preset `papers`; did you mean `paper`? known: paper, luo2024",
    );
}

#[test]
fn invalid_values_are_rejected_with_the_expected_ones() {
    let cases = [
        ("--set lambda=-1", "`lambda` is -1, outside 0 to 10"),
        ("--set lambda=NaN", "`lambda` is NaN, outside 0 to 10"),
        ("--set K=eight", "`K` is `eight`; expected a whole number"),
        (
            "--set stop=never",
            "`stop` is `never`; \
             expected one of patience, mean, late-mean, accuracy, accuracy-ties, none, roc-auc",
        ),
        ("--set use_act=maybe", "`use_act` is `maybe`; expected `true` or `false`"),
        ("--set lambda", "invalid value `lambda` for `--set <KEY=VALUE>`: expected KEY=VALUE"),
        (
            "--split ratio:1/2",
            "`split` is `ratio:1/2`; expected three numbers as in `ratio:60/20/20`, the first one positive",
        ),
        ("--runs 0", "`runs` is 0, outside 1 to 100000"),
        ("--runs ten", "invalid value `ten` for `--runs <N>`: expected a whole number"),
        ("--seed -1", "invalid value `-1` for `--seed <SEED>`: expected a whole number"),
        (
            "--threads 0",
            "invalid value `0` for `--threads <N>`: expected a whole number from 1 to 1024",
        ),
    ];
    for (arguments, message) in cases {
        assert_rejected(&format!("train csbm:nodes=200 {arguments}"), message);
    }
}

#[test]
fn impossible_graphs_splits_and_presets_are_rejected() {
    assert_rejected("train csbm:nodes", "`graph` is `nodes`; expected `key=value`");
    assert_rejected("train csbm:homophily=2", "`homophily` is 2, outside 0 to 1");
    assert_rejected(
        "train csbm:nodes=10,classes=5,degree=2 --split stratified",
        "cannot make the split `stratified`: \
         no node is left for val: 5 train, 0 val, 5 test; 5 of 5 classes have fewer than 3 labelled nodes",
    );
    let published = preset_graphs(PAPER, model::find("gcnii").unwrap()).join(", ");
    let expected = format!("expected a graph with a preset of gcnii: {published}");
    assert_rejected(
        "train csbm --model gcnii --preset paper",
        &format!("`graph` is `csbm`; {expected}"),
    );
}

#[test]
fn invalid_config_files_are_rejected() {
    assert_rejected(
        "train cora --config nowhere.toml",
        "nowhere.toml: cannot be read: No such file or directory (os error 2)",
    );
    let sandbox = Sandbox::new();
    let cases = [
        ("runs = \"two\"", "my.toml: `runs` is \"two\"; expected a whole number"),
        (
            "modle = \"gcn\"",
            "my.toml: unknown key `modle`; did you mean `model`? \
             known: graph, model, split, runs, seed, table, hyper",
        ),
        ("runs = 2", "my.toml: no `graph`; add one or pass GRAPH on the command line"),
        ("graph = \"cora\"\n[hyper]\nK = 0", "my.toml: `K` is 0, outside 1 to 256"),
    ];
    for (config, message) in cases {
        sandbox.write("my.toml", config);
        let expected = (2, format!("error: {message}\n"));
        assert_eq!(sandbox.failure("train --config my.toml"), expected, "{config}");
    }
}

#[test]
fn run_folder_with_different_settings_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=100 --set max_epochs=2 --out here");
    assert_eq!(
        sandbox.failure("train csbm:nodes=100 --set max_epochs=3 --out here"),
        (
            2,
            "error: here: contains a run with different settings\n\
             hint: choose another folder with --out, or delete this one\n"
                .into()
        )
    );
}

#[test]
fn predict_requires_a_run_folder() {
    assert_rejected(
        "predict nowhere",
        "nowhere: no such run folder; expected a path, a name in `runs` or `latest`",
    );
}

#[test]
fn errors_are_followed_by_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=100 --set max_epochs=2 --out here");
    std::fs::remove_dir_all(sandbox.path("here/runs/0")).unwrap();
    assert_eq!(
        sandbox.failure("predict here"),
        (
            2,
            "error: here: no finished run\n\
             hint: finish one with `clenshaw train --config here/run.toml --out here`\n"
                .into()
        )
    );
    let mut command = sandbox.command("train texas --data nowhere");
    command.env_remove("CLENSHAW_DATA").env("XDG_CACHE_HOME", sandbox.path("cache"));
    let error = text(&command.output().unwrap().stderr);
    let absent = "error: texas: files not found; looked in nowhere/texas, ";
    let hint = "\nhint: download them with `clenshaw data get texas`, \
                or set their folder with --data or CLENSHAW_DATA\n";
    assert!(error.starts_with(absent) && error.ends_with(hint), "{error}");
}

#[test]
fn usage_errors_have_one_line_and_a_hint() {
    assert_rejected(
        "train cora --modle gcn",
        "unexpected argument `--modle` found\nhint: a similar argument exists: `--model`",
    );
    assert_rejected(
        "train",
        "the following required arguments were not provided: <GRAPH>\n\
         hint: usage: clenshaw train <GRAPH>",
    );
    assert_rejected(
        "trian cora",
        "unrecognized subcommand `trian`\nhint: a similar subcommand exists: `train`",
    );
    assert_rejected(
        "completions",
        "the following required arguments were not provided: <SHELL>\n\
         hint: usage: clenshaw completions <SHELL>",
    );
}

#[test]
fn missing_command_prints_help_and_fails() {
    let sandbox = Sandbox::new();
    for arguments in ["", "data"] {
        let (code, stderr) = sandbox.failure(arguments);
        assert_eq!(code, 2);
        assert_eq!(stderr, sandbox.stdout(&format!("{arguments} --help")));
    }
}
