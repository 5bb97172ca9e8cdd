//! Pages, word for word. After a change:
//! `UPDATE_SNAPSHOTS=1 cargo test -p clenshaw-cli --test pages`

mod common;

use clenshaw::model::MODELS;
use common::{Desk, reviewed};

#[test]
fn pages_are_what_was_reviewed() {
    for words in ["models clenshaw-gcn", "data show cora"] {
        reviewed(&words.replace(' ', "-"), &Desk::new().stdout(words));
    }
}

#[test]
fn the_page_of_every_model_fits_into_a_hundred_columns() {
    for info in MODELS {
        let page = Desk::new().stdout(&format!("models {}", info.name));
        for line in page.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", info.name);
        }
    }
}
