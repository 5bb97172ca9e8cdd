//! `clenshaw data`: the graphs there are to learn from.

use crate::{Run, models, output};
use clap::{Parser, Subcommand};
use clenshaw::Result;
use clenshaw::data::{self, DATASETS, Dataset, DatasetInfo};
use clenshaw::report::Table;
use serde_json::{Value as Json, json};

/// See which graphs there are
#[derive(Parser)]
#[command(name = "data", after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Data {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the graphs known by name, with their sizes and sources
    #[command(after_help = EXAMPLES)]
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

const EXAMPLES: &str = "\
Examples:
  clenshaw data list
  clenshaw data list --json
  clenshaw train csbm:nodes=500,homophily=0.3     a generated graph takes settings after a colon";

impl Run for Data {
    fn run(self) -> Result<()> {
        let Action::List { json } = self.action;
        // Everything listed so far is embedded or generated, so loading it takes milliseconds.
        let loaded = DATASETS.iter().map(|info| Ok((*info, data::load(info.name)?)));
        let loaded: Vec<(&DatasetInfo, Dataset)> = loaded.collect::<Result<_>>()?;
        match json {
            true => output::print_json(&loaded.iter().map(object).collect::<Json>()),
            false => output::print(&table(&loaded)),
        }
    }
}

fn table(loaded: &[(&DatasetInfo, Dataset)]) -> String {
    let mut table = Table::new(["name", "kind", "nodes", "edges", "title", "source"]);
    for (info, dataset) in loaded {
        let (nodes, edges) = (dataset.graph.n_nodes(), dataset.graph.n_edges());
        let (nodes, edges) = (nodes.to_string(), edges.to_string());
        table.row([info.name, info.kind(), &nodes, &edges, info.title, info.source]);
    }
    table.to_text()
}

fn object((info, dataset): &(&DatasetInfo, Dataset)) -> Json {
    json!({
        "name": info.name,
        "kind": info.kind(),
        "title": info.title,
        "nodes": dataset.graph.n_nodes(),
        "edges": dataset.graph.n_edges(),
        "features": dataset.x.n_cols(),
        "classes": dataset.n_classes(),
        "paper": info.paper,
        "source": info.source,
        "warnings": dataset.warnings,
        "hyper": info.hyper().iter().map(models::hyper).collect::<Json>(),
    })
}
