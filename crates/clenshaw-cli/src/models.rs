//! `clenshaw models`: what can be trained, and what can be set.

use crate::{Run, output};
use clap::Parser;
use clenshaw::Result;
use clenshaw::experiment::{Origin, preset_graphs, preset_origin, preset_settings, preset_source};
use clenshaw::hyper::{HyperParam, TuningSpace, ValueRange};
use clenshaw::model::{self, MODELS, ModelFamily, ModelInfo};
use clenshaw::report::{Table, wrapped};
use serde_json::{Value as Json, json};

/// List the models, or show one with its equation and hyper-parameters
#[derive(Parser)]
#[command(name = "models", after_help = EXAMPLES)]
pub struct Models {
    /// The model to show; all are listed without it
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  clenshaw models
  clenshaw models clenshaw-gcn
  clenshaw models --json";

/// No line of a model's page is longer.
const WIDTH: usize = 100;
/// The width of the column of tuned values.
const TUNED: usize = 20;
/// The same for ranges.
const RANGE: usize = 16;

impl Run for Models {
    fn run(self) -> Result<()> {
        let chosen = self.name.as_deref().map(model::find).transpose()?;
        match (chosen, self.json) {
            (None, false) => output::print(&list()),
            (None, true) => output::print_json(&MODELS.iter().map(|i| object(i)).collect::<Json>()),
            (Some(info), false) => output::print(&page(info)),
            (Some(info), true) => output::print_json(&object(info)),
        }
    }
}

fn list() -> String {
    let mut table = Table::new(["name", "title", "family", "paper"]);
    for info in MODELS {
        table.row([info.name, info.title, family(info.family), info.paper]);
    }
    table.to_text()
}

fn page(info: &ModelInfo) -> String {
    let equations: String = info.equation.split("; ").map(|line| format!("  {line}\n")).collect();
    let (name, title, family, paper) = (info.name, info.title, family(info.family), info.paper);
    let (keys, presets) = (keys(info).to_text(), presets(info));
    format!("{title} ({name}), family {family}\n{paper}\n\n{equations}\n{keys}\n{presets}\n")
}

/// What `--preset paper` sets, graph by graph; `default` is for all graphs that have no line of their own.
fn presets(info: &ModelInfo) -> String {
    let graphs = preset_graphs(info);
    if graphs.is_empty() {
        return "--preset paper: nothing is published".into();
    }
    let indent = graphs.iter().map(String::len).max().unwrap_or(0) + 4;
    let source = format!("--preset paper, from {}:", preset_source(info));
    let mut lines = wrapped(&source, WIDTH);
    for graph in graphs {
        let settings = preset_settings(info, &graph);
        let words: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let origin = match preset_origin(info, &graph) {
            Origin::Tuned(command) => Some(format!("found by {command}")),
            Origin::Borrowed(whose) => Some(format!("borrowed: {whose}")),
            Origin::Published | Origin::Defaults | Origin::Ours => None,
        };
        let wrap = |text: &str| wrapped(text, WIDTH - indent);
        let origin = origin.iter().flat_map(|text| wrap(text));
        for (i, line) in wrap(&words.join(" ")).into_iter().chain(origin).enumerate() {
            let label = if i == 0 { format!("  {graph}") } else { String::new() };
            lines.push(format!("{label:indent$}{line}"));
        }
    }
    lines.join("\n")
}

/// What can be set; long entries go on in rows of their own, so that the page fits.
fn keys(info: &ModelInfo) -> Table {
    let mut table = Table::new(["key", "default", "range", "tuned over", "meaning"]);
    let first = |hyper: &HyperParam| [hyper.name.to_owned(), hyper.default.to_string()];
    let widest = |c: usize| info.hyper_params().map(|h| first(h)[c].len()).max().unwrap_or(0);
    let taken = (0..2).map(|c| widest(c).max(table.header[c].len()) + 2).sum::<usize>();
    for hyper in info.hyper_params() {
        let mut first = first(hyper);
        let columns = [
            wrapped(&hyper.range.to_string(), RANGE),
            wrapped(&hyper.space.to_string(), TUNED),
            wrapped(hyper.meaning, WIDTH - taken - RANGE - TUNED - 4),
        ];
        for i in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let rest = columns.each_ref().map(|lines| lines.get(i).cloned().unwrap_or_default());
            table.row(std::mem::take(&mut first).into_iter().chain(rest));
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

fn object(info: &ModelInfo) -> Json {
    json!({
        "name": info.name,
        "title": info.title,
        "paper": info.paper,
        "family": info.family,
        "equation": info.equation,
        "hyper": info.hyper_params().map(hyper).collect::<Json>(),
        "presets": preset_graphs(info),
    })
}

/// A hyper-parameter; both range and space are `{low, high}` or `{among}`, a space of null is fixed.
pub fn hyper(hyper: &HyperParam) -> Json {
    let whole = matches!(hyper.range, ValueRange::Int(..));
    let number = |v: f64| if whole { json!(v as i64) } else { json!(v) };
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
        TuningSpace::Any => range.clone(),
    };
    json!({
        "name": hyper.name,
        "default": hyper.default,
        "range": range,
        "space": space,
        "meaning": hyper.meaning,
    })
}
