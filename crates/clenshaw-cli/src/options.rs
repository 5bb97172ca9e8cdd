//! Options shared by several subcommands.

use crate::output;
use crate::progress::Progress;
use clap::Args;
use clenshaw::Error;
use clenshaw::data::Store;
use serde::Serialize;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The values of `--split`, for the help of the subcommands that have it.
pub const SPLITS: &str = "\
Splits:
  balanced           the same number of training nodes from each class, 60% of all nodes in total,
                     or the whole class if it is smaller; then 20% validation nodes
  stratified         60/20/20 within each class
  ratio:A/B/C        random, in these proportions
  file:PATH          lines `node,part`, where part is train, val or test
  public, geom:N, linkx:N, fixed:N, own
                     a split that comes with the graph
  all                all splits that come with the graph, one per run";

/// The `--threads` option.
#[derive(Args)]
pub struct ThreadsOption {
    /// Maximum number of threads; does not affect numerical results [default: number of processors]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

impl ThreadsOption {
    /// Returns the given number, or else the number of processors.
    pub fn count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.unwrap_or_else(available)
    }
}

/// The `--data` option.
#[derive(Args)]
pub struct DataOption {
    /// Folder with data files, searched before $CLENSHAW_DATA and the cache folder
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataOption {
    /// Returns the folders to search.
    pub fn store(&self) -> Store {
        Store::new(self.data.clone())
    }
}

/// Returns the folder that `data get` and `data import` write to.
pub fn data_home(store: &Store) -> clenshaw::Result<&Path> {
    store.primary_folder().ok_or_else(|| Error::Data {
        place: "data folder".into(),
        problem: "there is no default; set one with --data or CLENSHAW_DATA".into(),
    })
}

/// The `--json` option.
#[derive(Args)]
pub struct JsonOption {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl JsonOption {
    /// Whether JSON was requested.
    pub fn is_set(&self) -> bool {
        self.json
    }

    /// Prints the document as JSON if that was requested, the text otherwise.
    pub fn print(
        &self,
        document: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> clenshaw::Result<()> {
        output::print(&if self.json { output::json(document) } else { text() })
    }
}

/// The `--quiet` option.
#[derive(Args)]
pub struct QuietOption {
    /// Do not show progress
    #[arg(long)]
    quiet: bool,
}

impl QuietOption {
    /// Returns the progress display on stderr, or a silent one.
    pub fn progress(&self) -> Progress {
        if self.quiet { Progress::silent() } else { Progress::on_stderr() }
    }
}

fn threads(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.ok_or("expected a whole number from 1 to 1024")
}

/// Parses a count or a seed; the subcommand checks its range.
pub fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

/// Parses the `KEY=VALUE` of `--set`.
pub fn setting(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// Parses `90`, `90s`, `30m` or `2h`.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("expected a duration such as 90s, 30m or 2h")
}

/// Reads a file named on the command line; a failure is an input error.
pub fn read_argument_file(path: &Path) -> clenshaw::Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::Data {
        place: path.display().to_string(),
        problem: format!("cannot be read: {error}"),
    })
}
