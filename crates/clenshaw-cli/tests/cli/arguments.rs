//! Wrong words and bad input: exit code 2, one line that says what came and what would work.

use crate::common::{Sandbox, text};
use clenshaw::experiment::preset_graphs;
use clenshaw::model::{self, MODELS};

/// Refused with code 2 and exactly this on stderr, and nothing left behind.
fn refused(words: &str, message: &str) {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.refused(words), (2, format!("error: {message}\n")), "{words}");
    assert!(sandbox.is_empty(), "`{words}` left files behind");
}

#[test]
fn unknown_names_are_answered_with_known_ones() {
    let models: Vec<&str> = MODELS.iter().map(|info| info.name).collect();
    let message = format!(
        "unknown model `clenshaw`; did you mean `clenshaw-gcn`? known: {}",
        models.join(", ")
    );
    refused("train cora --model clenshaw", &message);
    refused("models clenshaw", &message);

    let graphs: Vec<&str> = clenshaw::data::DATASETS.iter().map(|info| info.name).collect();
    let message =
        format!("unknown graph `coar`; did you mean `cora`? known: {}", graphs.join(", "));
    refused("train coar", &message);

    let keys: Vec<&str> =
        model::find("gcn").unwrap().hyper_params().map(|hyper| hyper.name).collect();
    let message = format!("unknown key `hiden`; did you mean `hidden`? known: {}", keys.join(", "));
    refused("train cora --model gcn --set hiden=8", &message);

    refused(
        "train cora --split balance",
        "unknown split `balance`; did you mean `balanced`? \
         known: balanced, stratified, ratio:a/b/c, file:PATH, public, geom:N, linkx:N, fixed:N, own, all",
    );
    refused(
        "train cora --preset papers",
        "unknown preset `papers`; did you mean `paper`? known: paper",
    );
}

#[test]
fn bad_values_say_what_would_work() {
    let cases = [
        ("--set lambda=-1", "`lambda` is -1, outside 0..=10"),
        ("--set lambda=NaN", "`lambda` is NaN, outside 0..=10"),
        ("--set K=eight", "`K` is `eight`; expected a whole number"),
        (
            "--set stop=never",
            "`stop` is `never`; \
             expected one of patience, mean, late-mean, accuracy, accuracy-ties, none",
        ),
        ("--set use_act=maybe", "`use_act` is `maybe`; expected `true` or `false`"),
        ("--set lambda", "`--set` is `lambda`; expected `key=value`"),
        (
            "--split ratio:1/2",
            "`split` is `ratio:1/2`; expected three positive numbers as in `ratio:60/20/20`",
        ),
        ("--runs 0", "`runs` is 0, outside 1..=100000"),
        ("--runs ten", "invalid value `ten` for `--runs <N>`: expected a whole number"),
        ("--seed -1", "invalid value `-1` for `--seed <S>`: expected a whole number"),
        (
            "--threads 0",
            "invalid value `0` for `--threads <T>`: expected a whole number in 1..=1024",
        ),
    ];
    for (words, message) in cases {
        refused(&format!("train csbm:nodes=200 {words}"), message);
    }
}

#[test]
fn graphs_and_splits_that_cannot_be_made_are_refused() {
    refused("train csbm:nodes", "`graph` is `nodes`; expected `key=value`");
    refused("train csbm:homophily=2", "`homophily` is 2, outside 0..=1");
    refused(
        "train csbm:nodes=10,classes=5,degree=2 --split stratified",
        "cannot make the split `stratified`: \
         class 0 (`0`) has 2 labelled nodes; each part needs one",
    );
    let published = preset_graphs(model::find("gcnii").unwrap()).join(", ");
    let expected = format!("expected one with a published setting of gcnii: {published}");
    refused("train csbm --model gcnii --preset paper", &format!("`graph` is `csbm`; {expected}"));
}

#[test]
fn configs_are_read_with_care() {
    refused(
        "train cora --config nowhere.toml",
        "nowhere.toml: cannot be read: No such file or directory (os error 2)",
    );
    let sandbox = Sandbox::new();
    let cases = [
        ("runs = \"two\"", "my.toml: `runs` is \"two\"; expected a whole number"),
        (
            "modle = \"gcn\"",
            "my.toml: unknown key `modle`; did you mean `model`? \
             known: graph, model, split, runs, seed, hyper",
        ),
        ("runs = 2", "my.toml: no `graph`; name one before --config"),
        ("graph = \"cora\"\n[hyper]\nK = 0", "my.toml: `K` is 0, outside 1..=256"),
    ];
    for (config, message) in cases {
        sandbox.write("my.toml", config);
        let expected = (2, format!("error: {message}\n"));
        assert_eq!(sandbox.refused("train --config my.toml"), expected, "{config}");
    }
}

#[test]
fn a_folder_is_never_taken_from_another_run() {
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=100 --set max_epochs=2 --out here");
    assert_eq!(
        sandbox.refused("train csbm:nodes=100 --set max_epochs=3 --out here"),
        (
            2,
            "error: here: holds a run with other settings\n\
             hint: choose another folder with --out, or remove it\n"
                .into()
        )
    );
}

#[test]
fn predict_wants_a_run_folder() {
    refused(
        "predict nowhere",
        "nowhere: no run.toml in it; expected a run folder, as `train` names it",
    );
}

#[test]
fn what_to_type_next_is_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.stdout("train csbm:nodes=100 --set max_epochs=2 --out here");
    std::fs::remove_dir_all(sandbox.path("here/runs/0")).unwrap();
    assert_eq!(
        sandbox.refused("predict here"),
        (
            2,
            "error: here: no finished run\n\
             hint: finish one with `clenshaw train --config here/run.toml --out here --resume`\n"
                .into()
        )
    );
    let mut command = sandbox.command("train texas --data nowhere");
    command.env_remove("CLENSHAW_DATA").env("XDG_CACHE_HOME", sandbox.path("cache"));
    let error = text(&command.output().unwrap().stderr);
    let absent = "error: texas: its files are not here; looked for nowhere/texas, ";
    let hint = "\nhint: get them with `clenshaw data get texas`, \
                or say where they are with --data or CLENSHAW_DATA\n";
    assert!(error.starts_with(absent) && error.ends_with(hint), "{error}");
}

#[test]
fn usage_errors_are_one_line_and_a_hint() {
    refused(
        "train cora --modle gcn",
        "unexpected argument `--modle` found\nhint: a similar argument exists: `--model`",
    );
    refused(
        "train",
        "the following required arguments were not provided: <GRAPH>\n\
         hint: usage is clenshaw train <GRAPH>",
    );
    refused(
        "trian cora",
        "unrecognized subcommand `trian`\nhint: a similar subcommand exists: `train`",
    );
    refused(
        "completions",
        "the following required arguments were not provided: <SHELL>\n\
         hint: usage is clenshaw completions <SHELL>",
    );
}

#[test]
fn no_words_at_all_show_the_help_and_fail() {
    let sandbox = Sandbox::new();
    for words in ["", "data"] {
        let (code, stderr) = sandbox.refused(words);
        assert_eq!(code, 2);
        assert_eq!(stderr, sandbox.stdout(&format!("{words} --help")));
    }
}
