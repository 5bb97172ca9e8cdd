//! `clenshaw data get`: download public graphs and verify their checksums.

use crate::options::{DataOption, JsonOption, data_home};
use crate::progress::Progress;
use crate::{interrupt, output};
use clap::Args;
use clenshaw::data::fetch::{self, Options, Patience, Proxies, Report, Set, State};
use clenshaw::data::{self, DATASETS, DatasetInfo};
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
    /// Do not download; only verify the files that are present
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    json: JsonOption,
}

pub const AFTER_HELP: &str = "\
Files are written to the folder --data, else $CLENSHAW_DATA, else the cache folder. Files that match
their checksum are kept, and interrupted downloads are resumed. A mirror has one folder per graph, as
in GRAPH/FILE. Proxies are read from HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

Examples:
  clenshaw data get texas chameleon
  clenshaw data get pubmed --from /mnt/graphs
  clenshaw data get --all --offline              Verify all files";

impl Get {
    /// Downloads the graphs one after the other; the others continue if one fails.
    pub fn run(self) -> Result<()> {
        let sets = self.sets()?;
        let store = self.data.store();
        let into = data_home(&store)?;
        let progress = Progress::on_stderr();
        let bar = progress.bytes();
        let options = Options {
            into,
            from: self.from.as_deref(),
            offline: self.offline,
            patience: Patience::default(),
            proxies: Proxies::from_env(),
            watch: &|event| show(&progress, &bar, &event),
            cancel: &interrupt::flag(&progress, interrupt::Resume::Rerun),
        };
        let (reports, error) = fetch_all(&sets, &options);
        bar.finish_and_clear();
        if !reports.is_empty() {
            self.json.print(&reports, || page(&reports, into))?;
        }
        error.map_or(Ok(()), Err)
    }

    fn sets(&self) -> Result<Vec<&'static Set>> {
        if self.all {
            let published = DATASETS.iter().filter_map(|info| info.files());
            return published.map(|files| fetch::find(files.folder)).collect();
        }
        let infos = self.names.iter().map(|name| data::find(name));
        infos.map(|info| set_of(info?)).collect()
    }
}

fn set_of(info: &DatasetInfo) -> Result<&'static Set> {
    let files = info.files().ok_or_else(|| Error::Data {
        place: info.name.into(),
        problem: "this graph is generated; there is nothing to download".into(),
    })?;
    fetch::find(files.folder)
}

/// Returns the reports of what was fetched and the last error; prints earlier errors.
fn fetch_all(sets: &[&Set], options: &Options<'_>) -> (Vec<Report>, Option<Error>) {
    let (mut reports, mut failed) = (Vec::new(), None);
    for set in sets {
        let error = match fetch::fetch(set, options) {
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

fn show(progress: &Progress, bar: &ProgressBar, event: &fetch::Progress<'_>) {
    match event {
        fetch::Progress::Asked { file, source } => {
            bar.set_message((*file).to_owned());
            progress.line(&format!("{file}: fetching {source}"));
        }
        fetch::Progress::Bytes { file, have, of } => {
            bar.set_message((*file).to_owned());
            bar.set_length(of.unwrap_or(*have));
            bar.set_position(*have);
        }
        fetch::Progress::Failed { file, source, problem, again_in } => {
            let then = match again_in {
                Some(pause) if pause.is_zero() => "; restarting".into(),
                Some(pause) => format!("; retrying in {} s", pause.as_secs_f64()),
                None => "; trying the next source".into(),
            };
            progress.message(&format!("{file}: {source}: {problem}{then}"));
        }
        fetch::Progress::Done(_) => {}
    }
}

fn page(reports: &[Report], into: &Path) -> String {
    let mut table = Table::new(["file", "bytes", "state", "checksum"]);
    for held in reports.iter().flat_map(|report| &report.files) {
        let checksum = match held.checked {
            true => "ok".into(),
            false => format!("unknown, sha256 {}", held.sha256),
        };
        table.row([&held.path, &held.bytes.to_string(), state_name(held.state), &checksum]);
    }
    let warnings = output::warnings(reports.iter().flat_map(|report| &report.warnings));
    format!("{}\n{warnings}data folder: {}\n", table.to_text(), into.display())
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Kept => "kept",
        State::Fetched => "fetched",
        State::Replaced => "replaced",
    }
}
