//! The help, word for word. After a change:
//! `UPDATE_SNAPSHOTS=1 cargo test -p clenshaw-cli --test help`

mod common;

use common::Desk;
use std::path::Path;

const PAGES: [&str; 10] = [
    "",
    "demo",
    "train",
    "predict",
    "models",
    "data",
    "data list",
    "data get",
    "completions",
    "man",
];

#[test]
fn the_help_is_what_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    for page in PAGES {
        let name = format!("clenshaw {page}").trim_end().replace(' ', "-") + ".txt";
        let help = Desk::new().stdout(&format!("{page} --help"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(folder.join(&name), &help).unwrap();
        }
        let reviewed = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(help == reviewed, "{name} differs; the help is now:\n{help}");
        assert!(help.contains("Examples:\n  clenshaw "), "{name} has no example");
    }
}
