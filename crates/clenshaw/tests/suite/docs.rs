//! Checks of the documentation: `docs/models.md` matches the registry, and links lead to files.

use clenshaw::experiment::{PAPER, SettingsOrigin, further_presets, preset_graphs, preset_origin};
use clenshaw::graph::Normalisation;
use clenshaw::model::{MODELS, ModelFamily, ModelInfo};
use clenshaw::report::Table;
use std::path::{Path, PathBuf};

const INTRODUCTION: &str = "\
# Models

All models, in the order of `clenshaw models`.
This page is generated from the registry: `UPDATE_SNAPSHOTS=1 cargo test --workspace --test suite docs`.

`P` is the normalised adjacency matrix without self-loops, `P~` the one with self-loops; [notation.md](notation.md) explains all letters.
`clenshaw models NAME` shows a model's hyper-parameters with ranges, defaults and the values that the tuner tries.

The column `presets` lists the graphs for which a model has settings; `default` applies to all other graphs.
Settings are published by the authors, except those after `tuned`, which come from our own studies, and those after `borrowed`, which were published for another model, graph or split.
A name in code font is that of a further preset, as in `--preset luo2024`.
`clenshaw models NAME` shows the source of each preset, and the command of each study.

";

fn page() -> String {
    let mut table =
        Table::new(["name", "title", "family", "operator", "filter", "presets", "paper"]);
    for info in MODELS {
        let filter = if info.filter.is_some() { "yes" } else { "-" };
        let presets = presets(info);
        let row =
            [info.name, info.title, family(info), operator(info), filter, &presets, info.paper];
        table.add_row(row);
    }
    let equations: String = MODELS.iter().map(|info| equation(info)).collect();
    format!("{INTRODUCTION}{}\n## Equations\n{equations}", table.to_markdown())
}

/// Names of the graphs with published, tuned and borrowed settings.
fn presets(info: &ModelInfo) -> String {
    let (mut published, mut tuned, mut borrowed) = (vec![], vec![], vec![]);
    for graph in preset_graphs(PAPER, info) {
        match preset_origin(PAPER, info, &graph) {
            SettingsOrigin::Tuned(_) => tuned.push(graph),
            SettingsOrigin::Borrowed(_) => borrowed.push(graph),
            SettingsOrigin::Published
            | SettingsOrigin::AuthorDefaults
            | SettingsOrigin::LibraryDefaults => published.push(graph),
        }
    }
    let kinds = [("", published), ("tuned: ", tuned), ("borrowed: ", borrowed)];
    let kinds = kinds.into_iter().filter(|(_, graphs)| !graphs.is_empty());
    let kinds = kinds.map(|(kind, graphs)| kind.to_owned() + &graphs.join(", "));
    let further = further_presets(info).into_iter().map(|name| {
        let graphs = preset_graphs(&name, info).join(", ");
        format!("`{name}`: {graphs}")
    });
    kinds.chain(further).collect::<Vec<_>>().join("; ")
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
fn models_page_matches_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert!(
        stored == page(),
        "docs/models.md is out of date; run this test with UPDATE_SNAPSHOTS=1"
    );
}

#[test]
fn relative_links_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "",
        "docs",
        "docs/results",
        "crates/clenshaw",
        "crates/clenshaw-cli",
        "crates/clenshaw-tune",
    ];
    for page in folders.iter().flat_map(|folder| markdown_files(&root.join(folder))) {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let target = page.with_file_name(link);
            assert!(target.exists(), "{}: dead link `{link}`", page.display());
        }
    }
}

/// The README of the repository is a doc test; that of the crate has the same example.
#[test]
fn both_readmes_have_the_same_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [ours, root] = ["README.md", "../../README.md"].map(|path| {
        let text = std::fs::read_to_string(folder.join(path)).unwrap();
        text.split("```").find(|block| block.starts_with("rust,")).map(str::to_owned)
    });
    assert!(ours.is_some());
    assert_eq!(ours, root);
}

fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ext| ext == "md")).collect()
}

/// Targets of Markdown links and HTML images that are neither URLs nor anchors, without their anchor.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let markdown = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let html = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let targets = markdown.chain(html).filter(|link| !link.contains("://"));
    targets.filter_map(|link| link.split('#').next()).filter(|link| !link.is_empty())
}
