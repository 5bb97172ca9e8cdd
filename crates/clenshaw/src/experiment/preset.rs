//! Published settings, a TOML file per model, a table per graph.

use super::config::settings;
use crate::error::{Error, Result};
use crate::model::ModelInfo;
use std::fmt::{Display, Formatter};
use toml::{Table, Value};

/// The keys of a preset that say where settings come from that were not published for the graph.
const TUNED: &str = "tuned";
const BORROWED: &str = "borrowed";

/// The table for graphs that have none.
const DEFAULT: &str = "default";

/// Where settings come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Published for the graph.
    Published,
    /// What the authors take where they say nothing else.
    Defaults,
    /// Published for something else, which this names.
    Borrowed(String),
    /// Found by a study of ours, whose command this is.
    Tuned(String),
    /// Our defaults.
    Ours,
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Published => "published",
            Self::Defaults => "authors' defaults",
            Self::Borrowed(_) => "borrowed",
            Self::Tuned(_) => "tuned",
            Self::Ours => "our defaults",
        })
    }
}

/// Where the settings of a model on a graph come from.
pub fn preset_origin(info: &ModelInfo, graph: &str) -> Origin {
    let table = table(info);
    let Some(preset) = row(&table, graph) else { return Origin::Ours };
    let said = |key: &str| preset.get(key).and_then(Value::as_str).map(str::to_owned);
    let for_graph = graph != DEFAULT && table.contains_key(graph);
    let own = if for_graph { Origin::Published } else { Origin::Defaults };
    said(TUNED).map(Origin::Tuned).or(said(BORROWED).map(Origin::Borrowed)).unwrap_or(own)
}

/// The settings of a preset, without what is said about them.
fn entries(table: &Table) -> Vec<(String, String)> {
    settings(table).into_iter().filter(|(key, _)| key != TUNED && key != BORROWED).collect()
}

/// The settings published for a model on a graph, split included; the graph by its registry name.
pub(super) fn preset(name: &str, info: &ModelInfo, graph: &str) -> Result<Vec<(String, String)>> {
    if name != "paper" {
        return Err(Error::unknown("preset", name, ["paper"]));
    }
    let table = table(info);
    match row(&table, graph) {
        Some(preset) => Ok(entries(preset)),
        None => Err(Error::BadValue {
            key: "graph".into(),
            value: graph.into(),
            expected: format!(
                "one with a published setting of {}: {}",
                info.name,
                graphs(&table).join(", ")
            ),
        }),
    }
}

/// The graphs for which a model has published settings; `default` stands for all.
pub fn preset_graphs(info: &ModelInfo) -> Vec<String> {
    graphs(&table(info))
}

/// Where a model's published settings come from.
pub fn preset_source(info: &ModelInfo) -> String {
    table(info).get("source").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What a preset sets on a graph of [`preset_graphs`], in the order of its file; nothing elsewhere.
pub fn preset_settings(info: &ModelInfo, graph: &str) -> Vec<(String, String)> {
    match table(info).get(graph) {
        Some(Value::Table(preset)) => entries(preset),
        _ => vec![],
    }
}

/// What a preset has for a graph, its own or the default.
fn row<'t>(table: &'t Table, graph: &str) -> Option<&'t Table> {
    table.get(graph).or_else(|| table.get(DEFAULT)).and_then(Value::as_table)
}

fn graphs(table: &Table) -> Vec<String> {
    let entries = table.iter().filter(|(_, value)| value.is_table());
    entries.map(|(graph, _)| graph.clone()).collect()
}

fn table(info: &ModelInfo) -> Table {
    info.presets.parse().expect("a test reads every preset")
}

#[cfg(test)]
mod tests {
    use super::{Origin, preset_origin};
    use crate::experiment::Request;
    use crate::model::{MODELS, find};

    #[test]
    fn every_preset_is_accepted_by_its_model() {
        for info in MODELS {
            for graph in super::preset_graphs(info) {
                let mut request = Request::new("csbm", info.name).unwrap();
                request.graph = graph.clone();
                request
                    .apply_preset("paper")
                    .unwrap_or_else(|e| panic!("{} {graph}: {e}", info.name));
            }
        }
    }

    #[test]
    fn every_preset_names_its_source() {
        for info in MODELS.iter().filter(|info| !info.presets.is_empty()) {
            assert!(!super::preset_source(info).is_empty(), "{}", info.name);
        }
    }

    #[test]
    fn a_tuned_preset_is_what_its_study_is_about() {
        for info in MODELS {
            for graph in super::preset_graphs(info) {
                let Origin::Tuned(study) = preset_origin(info, &graph) else { continue };
                let words = format!("clenshaw tune {graph} --model {} ", info.name);
                assert!(study.starts_with(&words), "{} {graph}: {study}", info.name);
            }
        }
    }

    #[test]
    fn every_setting_has_an_origin() {
        let origin = |model: &str, graph: &str| preset_origin(find(model).unwrap(), graph);
        assert_eq!(origin("clenshaw-gcn", "cora"), Origin::Published);
        assert_eq!(origin("horner-gcn", "cora"), Origin::Borrowed("ClenshawGCN's".into()));
        assert_eq!(origin("favard-gnn", "minesweeper"), Origin::Borrowed("Actor's".into()));
        assert_eq!(origin("linkx", "cora"), Origin::Defaults);
        assert_eq!(origin("gcnii", "photo"), Origin::Ours);
        assert_eq!(origin("mixhop", "cora").to_string(), "tuned");
    }

    #[test]
    fn the_papers_numbers_for_cora() {
        let mut request = Request::new("cora", "clenshaw-gcn").unwrap();
        request.apply_preset("paper").unwrap();
        let hp = &request.hyper;
        assert_eq!((hp.int("K"), hp.real("lambda"), hp.real("dropout")), (8, 1.5, 0.7));
        assert_eq!((hp.real("lr_alpha"), hp.real("momentum")), (0.03, 0.8));
    }

    #[test]
    fn a_graph_without_a_preset_is_named() {
        let mut request = Request::new("csbm", "gcnii").unwrap();
        let error = request.apply_preset("paper").unwrap_err().to_string();
        assert!(error.starts_with(
            "`graph` is `csbm`; expected one with a published setting of gcnii: cora"
        ));
    }
}
