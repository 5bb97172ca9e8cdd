//! Presets: the settings of a model on a graph, published ones where they exist. A model with presets has a
//! TOML file with one table per graph.
//!
//! These tables are the preset `paper`: settings from the model's own paper, from later comparisons or from
//! tuning. A table that contains tables is a further preset, with its own source:
//!
//! ```toml
//! source = "..."
//! [cora]                      # --preset paper
//! hidden = 64
//! [luo2024]
//! source = "..."
//! [luo2024.cora]              # --preset luo2024
//! hidden = 512
//! ```

use super::config::settings;
use crate::error::{Error, Result};
use crate::model::{MODELS, ModelInfo};
use std::fmt::{Display, Formatter};
use toml::{Table, Value};

/// The key of the command that tuned the settings of a preset, if they were not published.
const TUNED: &str = "tuned";
/// The key that states for which other model, graph or split the settings of a preset were published.
const BORROWED: &str = "borrowed";

/// The name of the preset whose tables are at the top level of a model's file.
pub const PAPER: &str = "paper";

/// The name of the table that applies to all graphs without a table of their own.
const DEFAULT: &str = "default";

/// The origin of a model's settings on a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsOrigin {
    /// Published for this graph.
    Published,
    /// The authors' defaults for all graphs.
    AuthorDefaults,
    /// Published for another model, graph or split, which the text names, as in `Actor's`.
    Borrowed(String),
    /// Found by tuning with this command.
    Tuned(String),
    /// The defaults of this library.
    LibraryDefaults,
}

impl Display for SettingsOrigin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Published => "published",
            Self::AuthorDefaults => "authors' defaults",
            Self::Borrowed(_) => "borrowed",
            Self::Tuned(_) => "tuned",
            Self::LibraryDefaults => "our defaults",
        })
    }
}

/// The names of the presets of all models, [`PAPER`] first.
pub fn preset_names() -> Vec<String> {
    let mut names = vec![PAPER.to_owned()];
    let further = MODELS.iter().flat_map(|info| further_presets(info));
    further.for_each(|name| {
        if !names.contains(&name) {
            names.push(name)
        }
    });
    names
}

/// The names of a model's presets other than [`PAPER`].
pub fn further_presets(info: &ModelInfo) -> Vec<String> {
    let file = parse_file(info);
    file.iter().filter(|(_, value)| is_preset(value)).map(|(name, _)| name.clone()).collect()
}

/// Whether an entry of a preset file is a further preset: a table that contains a table.
fn is_preset(value: &Value) -> bool {
    value.as_table().is_some_and(|table| table.values().any(Value::is_table))
}

/// The origin of the settings of a model on a graph with this preset: [`SettingsOrigin::LibraryDefaults`] if the
/// model has no such preset for the graph. `graph` is a name in the registry.
pub fn preset_origin(name: &str, info: &ModelInfo, graph: &str) -> SettingsOrigin {
    let table = preset_tables(name, info);
    let Some(preset) = preset_table(&table, graph) else {
        return SettingsOrigin::LibraryDefaults;
    };
    let text = |key: &str| preset.get(key).and_then(Value::as_str).map(str::to_owned);
    let for_graph = graph != DEFAULT && table.contains_key(graph);
    let own = if for_graph { SettingsOrigin::Published } else { SettingsOrigin::AuthorDefaults };
    let tuned = text(TUNED).map(SettingsOrigin::Tuned);
    tuned.or(text(BORROWED).map(SettingsOrigin::Borrowed)).unwrap_or(own)
}

/// The hyper-parameters and the split of a preset, without the keys that describe their origin.
fn entries(table: &Table) -> Vec<(String, String)> {
    settings(table).into_iter().filter(|(key, _)| key != TUNED && key != BORROWED).collect()
}

/// The settings of a model's preset for a graph, including the split if the preset has one; `graph` is a name in
/// the registry. Fails if the name of the preset is unknown, or the model has no such preset for the graph.
pub fn preset(name: &str, info: &ModelInfo, graph: &str) -> Result<Vec<(String, String)>> {
    let names = preset_names();
    if !names.iter().any(|known| known == name) {
        return Err(Error::unknown("preset", name, names.iter().map(String::as_str)));
    }
    let table = preset_tables(name, info);
    match (preset_table(&table, graph), graphs(&table).join(", ")) {
        (Some(preset), _) => Ok(entries(preset)),
        (None, known) if known.is_empty() => Err(Error::BadValue {
            key: "preset".into(),
            value: name.into(),
            expected: match presets_of(info).join(", ") {
                own if own.is_empty() => format!("no preset: {} has none", info.name),
                own => format!("a preset of {}: {own}", info.name),
            },
        }),
        (None, known) => Err(Error::BadValue {
            key: "graph".into(),
            value: graph.into(),
            expected: format!(
                "a graph with a preset{} of {}: {known}",
                if name == PAPER { String::new() } else { format!(" `{name}`") },
                info.name,
            ),
        }),
    }
}

/// The names of all presets of a model.
fn presets_of(info: &ModelInfo) -> Vec<String> {
    let paper = (!preset_graphs(PAPER, info).is_empty()).then(|| PAPER.to_owned());
    paper.into_iter().chain(further_presets(info)).collect()
}

/// The graphs for which a model has this preset; `default`, if listed, stands for all others.
pub fn preset_graphs(name: &str, info: &ModelInfo) -> Vec<String> {
    graphs(&preset_tables(name, info))
}

/// The source of a model's preset, usually a publication; empty if the model does not have the preset.
pub fn preset_source(name: &str, info: &ModelInfo) -> String {
    let table = preset_tables(name, info);
    table.get("source").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The settings of a model's preset for a graph of [`preset_graphs`], in file order; empty for others.
pub fn preset_settings(name: &str, info: &ModelInfo, graph: &str) -> Vec<(String, String)> {
    match preset_tables(name, info).get(graph) {
        Some(Value::Table(preset)) => entries(preset),
        _ => vec![],
    }
}

/// The table of a graph, or else the default one; `None` if there is neither.
fn preset_table<'t>(table: &'t Table, graph: &str) -> Option<&'t Table> {
    table.get(graph).or_else(|| table.get(DEFAULT)).and_then(Value::as_table)
}

/// The names of the graphs in the tables of a preset.
fn graphs(table: &Table) -> Vec<String> {
    let entries = table.iter().filter(|(_, value)| value.is_table());
    entries.map(|(graph, _)| graph.clone()).collect()
}

/// The source and the tables of a preset; empty if the model does not have it.
fn preset_tables(name: &str, info: &ModelInfo) -> Table {
    let mut file = parse_file(info);
    if name == PAPER {
        file.retain(|_, value| !is_preset(value));
        return file;
    }
    match file.remove(name) {
        Some(Value::Table(table)) => table,
        _ => Table::new(),
    }
}

/// Parses the preset file of a model; the result is empty if the model has none.
fn parse_file(info: &ModelInfo) -> Table {
    info.presets.parse().expect("every preset is parsed in a test")
}

#[cfg(test)]
mod tests {
    use super::{PAPER, SettingsOrigin, further_presets, preset_origin};
    use crate::experiment::Request;
    use crate::model::{MODELS, ModelInfo, find};

    #[test]
    fn every_preset_is_accepted_by_its_model_and_names_its_source() {
        for info in MODELS.iter().filter(|info| !info.presets.is_empty()) {
            for name in further_presets(info).into_iter().chain([PAPER.to_owned()]) {
                let graphs = super::preset_graphs(&name, info);
                let has_source = !super::preset_source(&name, info).is_empty();
                assert_eq!(has_source, !graphs.is_empty(), "{} {name}", info.name);
                for graph in graphs {
                    assert_accepted(info, &name, &graph);
                }
            }
        }
    }

    fn assert_accepted(info: &'static ModelInfo, name: &str, graph: &str) {
        let what = format!("{} {name} {graph}", info.name);
        let mut request = Request::new("csbm", info.name).unwrap();
        request.graph = graph.to_owned();
        request.apply_preset(name).unwrap_or_else(|e| panic!("{what}: {e}"));
        if let SettingsOrigin::Tuned(study) = preset_origin(name, info, graph) {
            let command = format!("clenshaw tune {graph} --model {} ", info.name);
            assert!(study.starts_with(&command), "{what}: {study}");
        }
    }

    #[test]
    fn further_presets_have_their_own_settings_and_errors() {
        let gcn = find("gcn").unwrap();
        assert_eq!(further_presets(gcn), ["luo2024"]);
        assert_eq!(super::preset_names(), ["paper", "luo2024"]);
        assert!(!super::preset_graphs(PAPER, gcn).contains(&"luo2024".into()));
        let mut request = Request::new("csbm", "gcn").unwrap();
        request.graph = "chameleon-filtered".into();
        request.apply_preset("luo2024").unwrap();
        let hp = &request.hyper;
        assert_eq!((hp.int("layers"), hp.int("hidden"), hp.int("max_epochs")), (5, 512, 200));
        assert_eq!((hp.real("lr"), hp.real("wd"), hp.real("dropout")), (0.005, 1e-3, 0.2));
        request.graph = "texas".into();
        let error = request.apply_preset("luo2024").unwrap_err().to_string();
        assert!(error.contains("expected a graph with a preset `luo2024` of gcn: "), "{error}");
        assert!(request.apply_preset("luo").unwrap_err().to_string().contains("`luo2024`"));
    }

    #[test]
    fn origin_is_that_of_the_graph_or_of_the_default_table() {
        let origin = |model: &str, graph: &str| preset_origin(PAPER, find(model).unwrap(), graph);
        assert_eq!(origin("clenshaw-gcn", "cora"), SettingsOrigin::Published);
        assert_eq!(origin("horner-gcn", "cora"), SettingsOrigin::Borrowed("ClenshawGCN's".into()));
        assert_eq!(origin("favard-gnn", "minesweeper"), SettingsOrigin::Borrowed("Actor's".into()));
        assert_eq!(origin("linkx", "cora"), SettingsOrigin::AuthorDefaults);
        assert_eq!(origin("gcnii", "photo"), SettingsOrigin::LibraryDefaults);
        assert_eq!(origin("mixhop", "cora").to_string(), "tuned");
    }

    #[test]
    fn preset_of_clenshaw_gcn_for_cora() {
        let mut request = Request::new("cora", "clenshaw-gcn").unwrap();
        request.apply_preset("paper").unwrap();
        let hp = &request.hyper;
        assert_eq!((hp.int("K"), hp.real("lambda"), hp.real("dropout")), (8, 1.5, 0.7));
        assert_eq!((hp.real("lr_alpha"), hp.real("momentum")), (0.03, 0.8));
    }

    #[test]
    fn rejects_graph_without_preset() {
        let mut request = Request::new("csbm", "gcnii").unwrap();
        let error = request.apply_preset("paper").unwrap_err().to_string();
        assert!(
            error.starts_with("`graph` is `csbm`; expected a graph with a preset of gcnii: cora")
        );
    }

    #[test]
    fn error_for_a_model_without_the_preset_lists_its_presets() {
        let error = |model: &str, name: &str| {
            super::preset(name, find(model).unwrap(), "cora").unwrap_err().to_string()
        };
        assert_eq!(error("gat", PAPER), "`preset` is `paper`; expected a preset of gat: luo2024");
        assert_eq!(
            error("gcnii", "luo2024"),
            "`preset` is `luo2024`; expected a preset of gcnii: paper"
        );
        assert_eq!(
            error("gat-sep", PAPER),
            "`preset` is `paper`; expected no preset: gat-sep has none"
        );
    }
}
