//! `docs/models.md` says what the registry says; `UPDATE_SNAPSHOTS=1` writes it anew.
#![allow(clippy::unwrap_used)]

use clenshaw::experiment::{Origin, preset_graphs, preset_origin};
use clenshaw::graph::Normalisation;
use clenshaw::model::{MODELS, ModelFamily, ModelInfo};
use clenshaw::report::Table;
use std::path::Path;

const ABOUT: &str = "\
# Models

One row a model, in the order of `clenshaw models`; this page is made from the registry.
`P` is the normalised adjacency without loops, `P~` the one with them; letters are explained in [notation.md](notation.md).
`clenshaw models NAME` shows what can be set, with ranges, defaults and the values a tuner tries.
Presets are settings for single graphs or, as `default`, for all others; `clenshaw models NAME` says who published them. Those after `tuned` were found by a study of ours, whose command it prints; those after `borrowed` were published for something else, which it names.

";

fn page() -> String {
    let mut table =
        Table::new(["name", "title", "family", "operator", "filter", "presets", "paper"]);
    for info in MODELS {
        let filter = if info.filter.is_some() { "yes" } else { "-" };
        let presets = presets(info);
        let row =
            [info.name, info.title, family(info), operator(info), filter, &presets, info.paper];
        table.row(row);
    }
    let equations: String = MODELS.iter().map(|info| equation(info)).collect();
    format!("{ABOUT}{}\n## Equations\n{equations}", table.to_markdown())
}

/// Graphs with published settings, then those with others.
fn presets(info: &ModelInfo) -> String {
    let (mut published, mut tuned, mut borrowed) = (vec![], vec![], vec![]);
    for graph in preset_graphs(info) {
        match preset_origin(info, &graph) {
            Origin::Tuned(_) => tuned.push(graph),
            Origin::Borrowed(_) => borrowed.push(graph),
            Origin::Published | Origin::Defaults | Origin::Ours => published.push(graph),
        }
    }
    let kinds = [("", published), ("tuned: ", tuned), ("borrowed: ", borrowed)];
    let kinds = kinds.into_iter().filter(|(_, graphs)| !graphs.is_empty());
    kinds.map(|(kind, graphs)| kind.to_owned() + &graphs.join(", ")).collect::<Vec<_>>().join("; ")
}

fn equation(info: &ModelInfo) -> String {
    let lines = info.equation.replace("; ", "\n");
    format!("\n{} (`{}`)\n\n```text\n{lines}\n```\n", info.title, info.name)
}

fn family(info: &ModelInfo) -> &'static str {
    match info.family {
        ModelFamily::Baseline => "baseline",
        ModelFamily::Residual => "residual",
        ModelFamily::Spectral => "spectral",
        ModelFamily::Clenshaw => "clenshaw",
    }
}

fn operator(info: &ModelInfo) -> &'static str {
    match info.operator {
        None => "-",
        Some(Normalisation::Plain) => "P",
        Some(Normalisation::Looped) => "P~",
        Some(Normalisation::TwoHop) => "two hops",
    }
}

#[test]
fn the_table_of_models_is_that_of_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == page(), "docs/models.md is out of step: UPDATE_SNAPSHOTS=1 writes it anew");
}
