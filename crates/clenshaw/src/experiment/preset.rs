//! Presets: the settings of a model on a graph, published ones where they exist. A model with presets has a
//! TOML file with one table per graph.

use super::config::settings;
use crate::error::{Error, Result};
use crate::model::ModelInfo;
use std::fmt::{Display, Formatter};
use toml::{Table, Value};

/// The key for the command that tuned the settings of a preset, if they were not published.
const TUNED: &str = "tuned";
/// The key of a preset that states for which other model, graph or split its settings were published.
const BORROWED: &str = "borrowed";

/// The name of the table that applies to all graphs without a table.
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

/// The origin of the settings that the preset `paper` gives a model on a graph.
pub fn preset_origin(info: &ModelInfo, graph: &str) -> SettingsOrigin {
    let table = parse_file(info);
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

/// The settings of a model's preset for a graph, including the split. The only `name` is `paper`; `graph` is
/// a name in the registry. Fails if the name is unknown or the model has no preset that applies to the graph.
pub fn preset(name: &str, info: &ModelInfo, graph: &str) -> Result<Vec<(String, String)>> {
    if name != "paper" {
        return Err(Error::unknown("preset", name, ["paper"]));
    }
    let table = parse_file(info);
    match preset_table(&table, graph) {
        Some(preset) => Ok(entries(preset)),
        None => Err(Error::BadValue {
            key: "graph".into(),
            value: graph.into(),
            expected: format!(
                "a graph with a preset of {}: {}",
                info.name,
                graphs(&table).join(", ")
            ),
        }),
    }
}

/// The graphs for which a model has a preset; `default` stands for all others.
pub fn preset_graphs(info: &ModelInfo) -> Vec<String> {
    graphs(&parse_file(info))
}

/// The publication that a model's presets are taken from; empty if it has none.
pub fn preset_source(info: &ModelInfo) -> String {
    parse_file(info).get("source").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The settings of a model's preset for a graph of [`preset_graphs`], in file order; empty for others.
pub fn preset_settings(info: &ModelInfo, graph: &str) -> Vec<(String, String)> {
    match parse_file(info).get(graph) {
        Some(Value::Table(preset)) => entries(preset),
        _ => vec![],
    }
}

/// The table of a graph, or else the default one; `None` if there is neither.
fn preset_table<'t>(table: &'t Table, graph: &str) -> Option<&'t Table> {
    table.get(graph).or_else(|| table.get(DEFAULT)).and_then(Value::as_table)
}

fn graphs(table: &Table) -> Vec<String> {
    let entries = table.iter().filter(|(_, value)| value.is_table());
    entries.map(|(graph, _)| graph.clone()).collect()
}

/// Parses the preset file of a model; the result is empty if the model has none.
fn parse_file(info: &ModelInfo) -> Table {
    info.presets.parse().expect("every preset is parsed in a test")
}

#[cfg(test)]
mod tests {
    use super::{SettingsOrigin, preset_origin};
    use crate::experiment::Request;
    use crate::model::{MODELS, find};

    #[test]
    fn every_preset_is_accepted_by_its_model_and_names_its_source() {
        for info in MODELS.iter().filter(|info| !info.presets.is_empty()) {
            assert!(!super::preset_source(info).is_empty(), "{}", info.name);
            for graph in super::preset_graphs(info) {
                let mut request = Request::new("csbm", info.name).unwrap();
                request.graph = graph.clone();
                request
                    .apply_preset("paper")
                    .unwrap_or_else(|e| panic!("{} {graph}: {e}", info.name));
                if let SettingsOrigin::Tuned(study) = preset_origin(info, &graph) {
                    let command = format!("clenshaw tune {graph} --model {} ", info.name);
                    assert!(study.starts_with(&command), "{} {graph}: {study}", info.name);
                }
            }
        }
    }

    #[test]
    fn origin_is_that_of_the_graph_or_of_the_default_table() {
        let origin = |model: &str, graph: &str| preset_origin(find(model).unwrap(), graph);
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
}
