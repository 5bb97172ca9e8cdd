//! Help texts and pages compared with reviewed snapshots. To update them:
//! `UPDATE_SNAPSHOTS=1 cargo test --workspace --test cli snapshots`

use crate::common::{Sandbox, assert_snapshot};
use clenshaw::model::MODELS;

const COMMANDS: [&str; 27] = [
    "",
    "demo",
    "auto",
    "train",
    "compare",
    "tune",
    "predict",
    "explain",
    "filter",
    "report",
    "watch",
    "runs",
    "runs list",
    "runs show",
    "runs rm",
    "verify",
    "models",
    "data",
    "data list",
    "data show",
    "data get",
    "data import",
    "data check",
    "reproduce",
    "bench",
    "completions",
    "man",
];

#[test]
fn help_matches_snapshots_and_has_examples() {
    for command in COMMANDS {
        let name = format!("clenshaw {command}").trim_end().replace(' ', "-");
        let help = Sandbox::new().stdout(&format!("{command} --help"));
        assert_snapshot(&name, &help);
        assert!(help.contains("Examples:\n  clenshaw "), "{name} has no example");
    }
}

#[test]
fn pages_match_snapshots() {
    for command in ["models clenshaw-gcn", "data show cora"] {
        assert_snapshot(&command.replace(' ', "-"), &Sandbox::new().stdout(command));
    }
}

#[test]
fn model_pages_fit_into_100_columns() {
    for info in MODELS {
        let page = Sandbox::new().stdout(&format!("models {}", info.name));
        for line in page.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", info.name);
        }
    }
}
