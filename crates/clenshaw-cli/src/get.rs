//! `clenshaw data get`: public graphs, fetched once and checked.

use crate::options::DataFolder;
use crate::progress::Progress;
use crate::{interrupt, output};
use clap::Args;
use clenshaw::data::fetch::{self, Options, Patience, Proxies, Report, Set, State};
use clenshaw::data::{self, DATASETS, DatasetInfo};
use clenshaw::report::Table;
use clenshaw::{Error, Result};
use indicatif::ProgressBar;
use std::path::Path;

/// The words after `get`.
#[derive(Args)]
pub struct Get {
    /// Graphs that are published as files
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// Every graph that is published as files
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// A URL or a folder with the same layout, instead of the published sources
    #[arg(long, value_name = "URL|DIR")]
    from: Option<String>,
    #[command(flatten)]
    data: DataFolder,
    /// Ask nobody: only check the files that are here
    #[arg(long)]
    offline: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub const EXAMPLES: &str = "\
Files go to --data, else to $CLENSHAW_DATA, else to the cache folder.
What is there and good is kept; what was cut off goes on where it ended.
HTTPS_PROXY, HTTP_PROXY and NO_PROXY are heeded.

Examples:
  clenshaw data get texas chameleon
  clenshaw data get pubmed --from /mnt/graphs     a folder, or a URL, with the same layout
  clenshaw data get --all --offline               is everything here, and good?";

const ON_INTERRUPT: &str =
    "stopping; run again to go on where it ended (Ctrl-C once more stops at once)";

impl Get {
    /// One graph after the other; one that fails does not keep the others from coming.
    pub fn run(self) -> Result<()> {
        let sets = self.sets()?;
        let store = self.data.store();
        let into = store.home().ok_or_else(|| Error::Data {
            place: "data folder".into(),
            problem: "none is known; name one with --data".into(),
        })?;
        let progress = Progress::on_stderr();
        let bar = progress.bytes();
        let options = Options {
            into,
            from: self.from.as_deref(),
            offline: self.offline,
            patience: Patience::default(),
            proxies: Proxies::from_env(),
            watch: &|event| see(&progress, &bar, &event),
            cancel: &interrupt::flag(&progress, ON_INTERRUPT),
        };
        let (reports, failed) = fetch_all(&sets, &options);
        bar.finish_and_clear();
        match self.json {
            true if !reports.is_empty() => output::print_json(&reports)?,
            false if !reports.is_empty() => output::print(&page(&reports, into))?,
            _ => {}
        }
        failed.map_or(Ok(()), Err)
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
        problem: "it is generated, so there is nothing to get".into(),
    })?;
    fetch::find(files.folder)
}

/// What came, and the last thing that went wrong; what went wrong before that is told.
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
        let hopeless = error.is_input() || matches!(error, Error::Interrupted);
        if let Some(earlier) = failed.replace(error) {
            output::tell(&format!("error: {earlier}"));
        }
        if hopeless {
            break;
        }
    }
    (reports, failed)
}

fn see(progress: &Progress, bar: &ProgressBar, event: &fetch::Progress<'_>) {
    match event {
        fetch::Progress::Asked { file, source } => {
            bar.set_message((*file).to_owned());
            progress.note(&format!("{file}: asking {source}"));
        }
        fetch::Progress::Bytes { file, have, of } => {
            bar.set_message((*file).to_owned());
            bar.set_length(of.unwrap_or(*have));
            bar.set_position(*have);
        }
        fetch::Progress::Failed { file, source, problem, again_in } => {
            let then = match again_in {
                Some(pause) if pause.is_zero() => "; starting again".into(),
                Some(pause) => format!("; again in {} s", pause.as_secs_f64()),
                None => "; asking the next source".into(),
            };
            progress.say(&format!("{file}: {source}: {problem}{then}"));
        }
        fetch::Progress::Done(_) => {}
    }
}

fn page(reports: &[Report], into: &Path) -> String {
    let mut table = Table::new(["file", "bytes", "state", "checksum"]);
    for held in reports.iter().flat_map(|report| &report.files) {
        let checksum = match held.checked {
            true => "good".into(),
            false => format!("unknown, found {}", held.sha256),
        };
        table.row([&held.path, &held.bytes.to_string(), word(held.state), &checksum]);
    }
    let warnings = reports.iter().flat_map(|report| &report.warnings);
    let warnings: String = warnings.map(|warning| format!("warning: {warning}\n")).collect();
    format!("{}\n{warnings}data folder {}\n", table.to_text(), into.display())
}

fn word(state: State) -> &'static str {
    match state {
        State::Kept => "kept",
        State::Fetched => "fetched",
        State::Replaced => "replaced",
    }
}
