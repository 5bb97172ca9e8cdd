//! `clenshaw data check`: verify that a graph can be used for training.

use crate::options::{DataOption, JsonOption, TableArguments};
use crate::output;
use clap::Args;
use clenshaw::Result;
use clenshaw::data::Schema;
use clenshaw::data::check::{self, CheckReport, Severity};
use clenshaw::report::Table;

/// The arguments of `data check`.
#[derive(Args)]
pub struct Check {
    /// Graph: a name from `clenshaw data list`, or a path to your own files
    graph: String,
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    table: TableArguments,
}

pub const AFTER_HELP: &str = "\
Reads all files, bypassing the cache, and compares the files of public graphs with known checksums.
Exits with 0 if the graph can be used for training, and with 2 if its files are missing or invalid;
the error names the file and, where possible, the line and what was expected.

Your own graph can be a folder with edges.csv and nodes.csv:

  edges.csv        nodes.csv
  source,target    id,age,town,label,split
  ann,bob          ann,31,York,tea,train
  bob,cid          bob,27,Bath,coffee,val
                   cid,45,York,,

Tables can be .csv, .tsv, .txt or .parquet files; edges can also be .edgelist (NetworkX), .metis or
.npz (SciPy) files. A graph can also be a single .graphml, .gml, .gexf, .json (node-link), .npz or
.graph file. A Pajek file (.net) contains only edges and is read with the nodes.csv beside it.

The output lists every column, how it is used and why. Numeric, true/false and date columns become
one feature each, categorical columns one feature per value; missing numbers are filled and marked
by a second feature. Nodes with an empty label are the ones to predict. The `split` column is
optional.

Examples:
  clenshaw data check my-graph/
  clenshaw data check my-graph/ --label diagnosis --ignore notes
  clenshaw data check mine --json
  clenshaw data check texas";

impl Check {
    /// Reads the graph and prints what was found.
    pub fn run(self) -> Result<()> {
        let report = check::check(&self.data.store(), &self.graph, &self.table.options())?;
        self.json.print(&report, || page(&report))
    }
}

/// The text of `data check`.
fn page(report: &CheckReport) -> String {
    let d = &report.description;
    let files = report.files.as_ref().map(|files| {
        let (good, listed, unknown) = (files.good, files.listed, files.unknown);
        let unknown = match unknown {
            0 => String::new(),
            n => format!("; no checksum is known for {}", output::count(n, "file")),
        };
        ("files", format!("{good} of {listed} match their checksums{unknown}"))
    });
    let fields = [("format", report.format.to_string())].into_iter().chain(files).chain([
        ("nodes", d.nodes.to_string()),
        ("edges", d.edges.to_string()),
        ("features", d.features.to_string()),
        ("classes", d.classes.to_string()),
        ("splits", output::list(&d.splits)),
        ("sha256", d.sha256.clone()),
    ]);
    let level = |severity| match severity {
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let findings: String = report
        .findings
        .iter()
        .map(|finding| format!("{}: {}\n", level(finding.severity), finding.text))
        .collect();
    let schema = report.schema.as_ref().filter(|schema| !schema.columns.is_empty());
    let columns = schema.map_or(String::new(), |schema| columns(schema).to_text() + "\n");
    let (name, source, fields) = (&d.name, &d.source, output::fields(fields));
    format!(
        "{name}\n{source}\n\n{fields}\n{columns}{findings}ok: the graph can be used for training\n"
    )
}

/// One row per column of the node table.
fn columns(schema: &Schema) -> Table {
    let mut table = Table::new(["column", "use", "features", "why"]);
    for column in &schema.columns {
        let features = match column.n_features() {
            0 => "-".into(),
            n => n.to_string(),
        };
        table.add_row([&column.name, column.kind(), &features, &column.reason]);
    }
    table
}
