//! `clenshaw models`: the models and their hyper-parameters.

use crate::RunSubcommand;
use crate::options::JsonOption;
use clap::Parser;
use clenshaw::Result;
use clenshaw::data;
use clenshaw::experiment::{
    PAPER, SettingsOrigin, further_presets, preset_graphs, preset_origin, preset_settings,
    preset_source,
};
use clenshaw::hyper::{HyperParam, TuningSpace, ValueRange};
use clenshaw::model::{self, MODELS, ModelFamily, ModelInfo};
use clenshaw::report::{Table, wrap_text};
use serde_json::{Value as Json, json};

/// List the models, or show one with its equation, hyper-parameters and presets
#[derive(Parser)]
#[command(name = "models", after_help = EXAMPLES)]
pub struct Models {
    /// Model to show [default: list all models]
    name: Option<String>,
    #[command(flatten)]
    json: JsonOption,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw models
  clenshaw models clenshaw-gcn
  clenshaw models --json";

/// Maximum width of a model's page, in characters.
const PAGE_WIDTH: usize = 100;
/// Maximum width of the column `tuned over`.
const SPACE_WIDTH: usize = 20;
/// Maximum width of the column `range`.
const RANGE_WIDTH: usize = 16;

impl RunSubcommand for Models {
    fn run(self) -> Result<()> {
        match self.name.as_deref().map(model::find).transpose()? {
            None => self.json.print(&MODELS.iter().map(|i| model_json(i)).collect::<Json>(), list),
            Some(info) => self.json.print(&model_json(info), || page(info)),
        }
    }
}

/// The table of all models.
fn list() -> String {
    let mut table = Table::new(["name", "title", "family", "paper"]);
    for info in MODELS {
        table.add_row([info.name, info.title, family(info.family), info.paper]);
    }
    table.to_text()
}

/// The text about one model.
fn page(info: &ModelInfo) -> String {
    let equations: String = info.equation.split("; ").map(|line| format!("  {line}\n")).collect();
    let (name, title, family, paper) = (info.name, info.title, family(info.family), info.paper);
    let names = further_presets(info);
    let names = [PAPER].into_iter().chain(names.iter().map(String::as_str));
    let presets: Vec<String> = names.map(|name| presets(name, info)).collect();
    let (keys, presets) = (keys(info).to_text(), presets.join("\n\n"));
    format!("{title} ({name}), family {family}\n{paper}\n\n{equations}\n{keys}\n{presets}\n")
}

/// Lists the settings of a preset for each graph, with their origin if they were tuned or borrowed, and marks graphs
/// that are not in the registry of data sets. The entry `default` applies to all other graphs.
fn presets(name: &str, info: &ModelInfo) -> String {
    let graphs = preset_graphs(name, info);
    if graphs.is_empty() {
        return format!("--preset {name}: no published settings");
    }
    let indent = graphs.iter().map(String::len).max().unwrap_or(0) + 4;
    let source = preset_source(name, info);
    let source = format!("--preset {name}; unless noted otherwise, from {source}:");
    let mut lines = wrap_text(&source, PAGE_WIDTH);
    for graph in graphs {
        let settings = preset_settings(name, info, &graph);
        let assignments: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let origin = match preset_origin(name, info, &graph) {
            SettingsOrigin::Tuned(command) => Some(format!("found by {command}")),
            SettingsOrigin::Borrowed(whose) => {
                Some(format!("borrowed from other published settings: {whose}"))
            }
            SettingsOrigin::Published
            | SettingsOrigin::AuthorDefaults
            | SettingsOrigin::LibraryDefaults => None,
        };
        let wrap = |text: &str| wrap_text(text, PAGE_WIDTH - indent);
        let remarks = origin.into_iter().chain(unknown_graph(&graph));
        let remarks: Vec<String> = remarks.flat_map(|text| wrap(&text)).collect();
        for (i, line) in wrap(&assignments.join(" ")).into_iter().chain(remarks).enumerate() {
            let label = if i == 0 { format!("  {graph}") } else { String::new() };
            lines.push(format!("{label:indent$}{line}"));
        }
    }
    lines.join("\n")
}

/// A remark on the preset of a graph that is not in the registry of data sets; `None` for other graphs.
fn unknown_graph(graph: &str) -> Option<String> {
    let is_known = graph == "default" || data::find(graph).is_ok();
    let remark = format!("not a built-in graph; used for your own graph if it is called `{graph}`");
    (!is_known).then_some(remark)
}

/// Lists the hyper-parameters; long entries are wrapped into further rows.
fn keys(info: &ModelInfo) -> Table {
    let mut table = Table::new(["key", "default", "range", "tuned over", "meaning"]);
    let first = |hyper: &HyperParam| [hyper.name.to_owned(), hyper.default.to_string()];
    let widest = |c: usize| info.hyper_params().map(|h| first(h)[c].len()).max().unwrap_or(0);
    let taken = (0..2).map(|c| widest(c).max(table.header[c].len()) + 2).sum::<usize>();
    for hyper in info.hyper_params() {
        let mut first = first(hyper);
        let columns = [
            wrap_text(&hyper.range.to_string(), RANGE_WIDTH),
            wrap_text(&hyper.space.to_string(), SPACE_WIDTH),
            wrap_text(hyper.meaning, PAGE_WIDTH - taken - RANGE_WIDTH - SPACE_WIDTH - 4),
        ];
        for i in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let rest = columns.each_ref().map(|lines| lines.get(i).cloned().unwrap_or_default());
            table.add_row(std::mem::take(&mut first).into_iter().chain(rest));
        }
    }
    table
}

fn family(family: ModelFamily) -> &'static str {
    match family {
        ModelFamily::Baseline => "baseline",
        ModelFamily::Residual => "residual",
        ModelFamily::Spectral => "spectral",
        ModelFamily::Clenshaw => "clenshaw",
    }
}

/// A model as JSON.
fn model_json(info: &ModelInfo) -> Json {
    json!({
        "name": info.name,
        "title": info.title,
        "paper": info.paper,
        "family": info.family,
        "equation": info.equation,
        "hyper": info.hyper_params().map(hyper_json).collect::<Json>(),
        "presets": preset_graphs(PAPER, info),
    })
}

/// A hyper-parameter as JSON. Numbers between two bounds are `{low, high}`, a search space with steps is
/// `{low, high, step}`, and listed values are `{among}`. The space is null if the hyper-parameter is not tuned.
pub fn hyper_json(hyper: &HyperParam) -> Json {
    let is_integer = matches!(hyper.range, ValueRange::Int(..));
    let number = |v: f64| if is_integer { json!(v as i64) } else { json!(v) };
    let range = match hyper.range {
        ValueRange::Int(low, high) => json!({"low": low, "high": high}),
        ValueRange::Real(low, high) => json!({"low": low, "high": high}),
        ValueRange::Flag => json!({"among": [false, true]}),
        ValueRange::OneOf(words) => json!({"among": words}),
    };
    let space = match hyper.space {
        TuningSpace::Fixed => Json::Null,
        TuningSpace::Steps { low, high, step } => {
            json!({"low": number(low), "high": number(high), "step": number(step)})
        }
        TuningSpace::Among(values) => {
            json!({"among": values.iter().map(|&v| number(v)).collect::<Json>()})
        }
        TuningSpace::All => range.clone(),
    };
    json!({
        "name": hyper.name,
        "default": hyper.default,
        "range": range,
        "space": space,
        "meaning": hyper.meaning,
    })
}
