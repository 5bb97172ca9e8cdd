//! `clenshaw data check`: can it be trained on, and what is odd about it?

use crate::options::DataFolder;
use crate::output;
use clap::Args;
use clenshaw::Result;
use clenshaw::data::check::{self, Checkup, Severity};

/// The words after `check`.
#[derive(Args)]
pub struct Check {
    /// A graph's name, or a path to your own files
    graph: String,
    #[command(flatten)]
    data: DataFolder,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub const EXAMPLES: &str = "\
Everything is read anew, and the files of public graphs are compared with their known checksums.
It ends with 0 if the graph can be trained on; else with 2 and the file, the line and what was expected.

Examples:
  clenshaw data check my-graph/
  clenshaw data check mine --json
  clenshaw data check texas";

impl Check {
    /// Reads everything and tells what was found.
    pub fn run(self) -> Result<()> {
        let checkup = check::check(&self.data.store(), &self.graph)?;
        match self.json {
            true => output::print_json(&checkup),
            false => output::print(&page(&checkup)),
        }
    }
}

fn page(checkup: &Checkup) -> String {
    let d = &checkup.description;
    let mut lines = vec![
        d.name.clone(),
        d.source.clone(),
        String::new(),
        format!("format    {}", checkup.format),
    ];
    lines.extend(checkup.files.as_ref().map(|files| {
        let (good, listed, unknown) = (files.good, files.listed, files.unknown);
        format!("files     {good} of {listed} have the published checksum, {unknown} have none")
    }));
    lines.extend([
        format!("nodes     {}", d.nodes),
        format!("edges     {}", d.edges),
        format!("features  {}", d.features),
        format!("classes   {}", d.classes),
        format!("splits    {}", d.splits.len()),
        format!("sha256    {}", d.sha256),
    ]);
    let word = |severity| match severity {
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let findings = checkup.findings.iter();
    lines.extend(findings.map(|finding| format!("{}: {}", word(finding.severity), finding.text)));
    lines.push("it can be trained on".into());
    lines.join("\n") + "\n"
}
