//! `clenshaw data get`: download public graphs and verify their checksums.

use crate::options::{DataOption, JsonOption, data_home};
use crate::progress::Progress;
use crate::{interrupt, output};
use clap::Args;
use clenshaw::data::fetch::{
    self, FetchEvent, FetchOptions, FetchReport, FileState, Manifest, Proxies, RetryPolicy,
};
use clenshaw::data::{self, DATASETS};
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use indicatif::ProgressBar;
use std::path::Path;

/// The arguments of `data get`.
#[derive(Args)]
pub struct Get {
    /// Graphs to download: names from `clenshaw data list`
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// Download all public graphs
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Mirror to use instead of the published sources: a URL, or a folder to copy from
    #[arg(long, value_name = "URL|DIR")]
    from: Option<String>,
    #[command(flatten)]
    data: DataOption,
    /// Do not download; verify the files, and fail if one is missing or invalid
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    json: JsonOption,
}

/// The help of `--data`; like `import` and unlike other subcommands, `get` writes to this folder.
pub const DATA_HELP: &str =
    "Folder to write to [default: $CLENSHAW_DATA, or else the cache folder]";

pub const AFTER_HELP: &str = "\
Files that match their checksum, or whose checksum is not known, are kept. An interrupted download
is resumed if a checksum is known. A mirror must have the same folders and files as the data folder,
such as texas/out1_graph_edges.txt or, for actor, film/splits/. Proxy settings are read from
HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

Examples:
  clenshaw data get texas chameleon
  clenshaw data get pubmed --from /mnt/graphs
  clenshaw data get --all --offline              Verify all files";

impl Get {
    /// Downloads or, with `--offline`, verifies the graphs one after the other, and prints a report on those that
    /// are complete.
    pub fn run(self) -> Result<()> {
        let manifests = self.manifests()?;
        let store = self.data.store();
        let into = data_home(&store)?;
        let progress = Progress::on_stderr();
        let bar = progress.bytes();
        let options = FetchOptions {
            into,
            from: self.from.as_deref(),
            offline: self.offline,
            retry: RetryPolicy::default(),
            proxies: Proxies::from_env(),
            on_event: &|event| show(&progress, &bar, &event),
            cancel: &interrupt::flag(&progress, interrupt::Resume::Rerun),
        };
        let (reports, error) = fetch_all(&manifests, &options);
        bar.finish_and_clear();
        if !reports.is_empty() {
            self.json.print(&reports, || page(&reports, into))?;
        }
        error.map_or(Ok(()), Err)
    }

    /// The files of the chosen graphs, with their checksums. Fails if a name is not that of a public graph.
    fn manifests(&self) -> Result<Vec<&'static Manifest>> {
        if self.all {
            let published = DATASETS.iter().filter_map(|info| info.files());
            return published.map(|files| fetch::manifest(files.folder)).collect();
        }
        self.names.iter().map(|name| manifest_of(name)).collect()
    }
}

/// The files of a graph and their checksums; fails if the name is unknown or the graph is generated.
fn manifest_of(name: &str) -> Result<&'static Manifest> {
    let published = DATASETS.iter().filter(|info| info.files().is_some()).map(|info| info.name);
    let info = data::find(name).map_err(|_| Error::unknown("graph", name, published))?;
    let files = info.files().ok_or_else(|| Error::Data {
        place: info.name.into(),
        problem: "this graph is generated; there is nothing to download".into(),
    })?;
    fetch::manifest(files.folder)
}

/// Fetches all graphs. Continues after a failed download, but stops at invalid input or an interrupt.
/// Returns the reports of the fetched graphs and the last error; earlier errors are printed.
fn fetch_all(
    manifests: &[&Manifest],
    options: &FetchOptions<'_>,
) -> (Vec<FetchReport>, Option<Error>) {
    let (mut reports, mut failed) = (Vec::new(), None);
    for manifest in manifests {
        let error = match fetch::fetch(manifest, options) {
            Ok(report) => {
                reports.push(report);
                continue;
            }
            Err(error) => error,
        };
        let stop = error.is_input() || matches!(error, Error::Interrupted);
        if let Some(earlier) = failed.replace(error) {
            output::message(&format!("error: {earlier}"));
        }
        if stop {
            break;
        }
    }
    (reports, failed)
}

/// Shows a download event: progress on the bar or, without a terminal, the start of each download as a line; a
/// failed attempt as a line.
fn show(progress: &Progress, bar: &ProgressBar, event: &FetchEvent<'_>) {
    match event {
        FetchEvent::Requested { file, source } => {
            bar.set_message((*file).to_owned());
            progress.line(&format!("{file}: fetching {source}"));
        }
        FetchEvent::Received { file, received, total } => {
            bar.set_message((*file).to_owned());
            bar.set_length(total.unwrap_or(*received));
            bar.set_position(*received);
        }
        FetchEvent::Failed { file, source, problem, retry_in } => {
            let then = match retry_in {
                Some(pause) if pause.is_zero() => "; restarting".into(),
                Some(pause) => format!("; retrying in {} s", pause.as_secs_f64()),
                None => "; trying the next source".into(),
            };
            progress.message(&format!("{file}: {source}: {problem}{then}"));
        }
        FetchEvent::Done(_) => {}
    }
}

/// The text of `data get`: one row per file, warnings and the data folder.
fn page(reports: &[FetchReport], into: &Path) -> String {
    let mut table = Table::new(["file", "bytes", "state", "checksum"]);
    for file in reports.iter().flat_map(|report| &report.files) {
        let checksum = match file.checked {
            true => "ok".into(),
            false => format!("unknown, sha256 {}", file.sha256),
        };
        table.add_row([&file.path, &file.bytes.to_string(), state_name(file.state), &checksum]);
    }
    let warnings = output::warnings(reports.iter().flat_map(|report| &report.warnings));
    format!("{}\n{warnings}data folder: {}\n", table.to_text(), into.display())
}

fn state_name(state: FileState) -> &'static str {
    match state {
        FileState::Kept => "kept",
        FileState::Fetched => "fetched",
        FileState::Replaced => "replaced",
    }
}
