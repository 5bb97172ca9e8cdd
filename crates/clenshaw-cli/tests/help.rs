//! The help, word for word. After a change:
//! `UPDATE_SNAPSHOTS=1 cargo test -p clenshaw-cli --test help`

mod common;

use common::{Desk, reviewed};

const PAGES: [&str; 14] = [
    "",
    "demo",
    "train",
    "tune",
    "predict",
    "models",
    "data",
    "data list",
    "data get",
    "data import",
    "data check",
    "reproduce",
    "completions",
    "man",
];

#[test]
fn the_help_is_what_was_reviewed() {
    for page in PAGES {
        let name = format!("clenshaw {page}").trim_end().replace(' ', "-");
        let help = Desk::new().stdout(&format!("{page} --help"));
        reviewed(&name, &help);
        assert!(help.contains("Examples:\n  clenshaw "), "{name} has no example");
    }
}
