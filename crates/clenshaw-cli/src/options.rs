//! Options shared by several subcommands.

use crate::output;
use crate::progress::Progress;
use clap::Args;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clenshaw::data::read::Interpretation;
use clenshaw::data::schema::Fill;
use clenshaw::data::{self, Dataset, Store, TableOptions};
use clenshaw::experiment::PAPER;
use clenshaw::model::MODELS;
use clenshaw::{Error, files};
use serde::Serialize;
use std::ffi::OsStr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The values of `--split`, for the help of the subcommands that have it.
pub const SPLITS: &str = "\
Splits:
  own                the `split` column, or the mask columns, of your node table
  stratified         60/20/20 within each class
  balanced           0.6 n / C training nodes from each of the C classes (the whole class if it is
                     smaller), 20% of the n labelled nodes for validation, the rest for testing
  ratio:A/B/C        random, in these proportions; B and C may be 0
  all-labels         all labelled nodes for training, none for testing
  file:PATH          a file with lines `node,part`, where part is train, val or test
  public, geom:N, linkx:N, fixed:N
                     one of the splits that come with the graph; `clenshaw data show GRAPH`
                     lists them
  all                all splits that come with the graph, one per run";

/// The split without `--split`, for the help of the subcommands that have this option, except `auto`.
pub const DEFAULT_SPLIT: &str = "\
Your own graph uses the split that comes with it (`all` if there are several), or else `stratified`;
public and generated graphs use `balanced`, as in the ClenshawGCN paper.";

/// Options that state the meaning of the columns of node and edge tables.
#[derive(Args, Clone)]
#[command(next_help_heading = "Columns of your tables")]
pub struct TableArguments {
    /// Column with the classes [default: label or class, or else target or y unless its values are decimal
    /// numbers]
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Column with the node names [default: id, node, name or node_id, or else the first column if its
    /// values are all distinct and are text or whole numbers]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Use only these columns as features
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    features: Vec<String>,
    /// Do not use these columns
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Treat the numbers in these columns as categories
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    category: Vec<String>,
    /// How to fill missing numbers [default: median]
    #[arg(long, value_name = "RULE", value_enum)]
    fill: Option<FillRule>,
    /// Column of the edge table with the weights, or `none` to ignore weights [default: weight or
    /// edge_weight]
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
}

/// The values of `--fill`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum FillRule {
    /// The median of the column
    Median,
    /// The mean of the column
    Mean,
    /// Zero
    Zero,
}

impl TableArguments {
    /// Loads a graph with these options.
    pub fn load(&self, store: &Store, graph: &str) -> clenshaw::Result<Dataset> {
        data::load_as(store, graph, Interpretation::Inferred(&self.options()))
    }

    /// Converts these arguments to the options of the library.
    pub fn options(&self) -> TableOptions {
        TableOptions {
            id: self.id.clone(),
            label: self.label.clone(),
            features: self.features.clone(),
            ignore: self.ignore.clone(),
            category: self.category.clone(),
            fill: self.fill.map(|rule| match rule {
                FillRule::Median => Fill::Median,
                FillRule::Mean => Fill::Mean,
                FillRule::Zero => Fill::Zero,
            }),
            weight: self.weight.clone(),
            split: None,
        }
    }
}

/// Options that decide whether earlier results are kept.
#[derive(Args)]
pub struct ResumeOptions {
    /// Delete earlier results of the same command and start again
    #[arg(long)]
    fresh: bool,
    /// Has no effect; accepted for compatibility. Earlier results are kept and unfinished runs resumed
    #[arg(long, hide = true, conflicts_with = "fresh")]
    resume: bool,
}

impl ResumeOptions {
    /// Returns whether earlier results are kept.
    pub fn resume(&self) -> bool {
        !self.fresh
    }
}

/// Parser of an argument that is one of a fixed list of names. Completions show the list, and so does help unless
/// the argument hides it. Any name is accepted: the library rejects unknown ones, and suggests a similar one.
#[derive(Clone)]
pub struct ListedName(pub fn() -> Vec<&'static str>);

impl TypedValueParser for ListedName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// Parser of the name of a model.
pub const MODEL_NAME: ListedName = ListedName(|| MODELS.iter().map(|info| info.name).collect());

/// Parser of the name of a preset.
pub const PRESET: ListedName = ListedName(|| vec![PAPER, "luo2024"]);

/// The `--threads` option.
#[derive(Args)]
pub struct ThreadsOption {
    /// Maximum number of threads; does not affect results, except through timing (time limits, parallel
    /// trials) [default: number of processors]
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
    /// Returns the data folders to search, and the cache of parsed graphs.
    pub fn store(&self) -> Store {
        Store::new(self.data.clone())
    }
}

/// Returns the folder for downloaded and imported graphs. Fails if none is set and the system has no cache folder.
pub fn data_home(store: &Store) -> clenshaw::Result<&Path> {
    store.primary_folder().ok_or_else(|| Error::Data {
        place: "data folder".into(),
        problem: "there is no default; set one with --data or CLENSHAW_DATA".into(),
    })
}

/// The `--json` option.
#[derive(Args, Default)]
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
    #[arg(short, long)]
    quiet: bool,
}

impl QuietOption {
    /// Returns the progress display on stderr or, with `--quiet`, one that shows only messages.
    pub fn progress(&self) -> Progress {
        if self.quiet { Progress::silent() } else { Progress::on_stderr() }
    }
}

/// Parses a number of threads, from 1 to 1024.
fn threads(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.ok_or("expected a whole number from 1 to 1024")
}

/// Parses a count or a seed that fits into `N`; any narrower range is checked later.
pub fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

/// Parses the `KEY=VALUE` of `--set`; spaces around the key and the value are removed.
pub fn setting(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// Parses a number of bytes such as `4G`, `1.5GB`, `500M` or `500000000`.
pub fn bytes(text: &str) -> Result<u64, &'static str> {
    let text = text.to_ascii_uppercase();
    let text = text.strip_suffix('B').unwrap_or(&text);
    let (number, unit) = match text.char_indices().last() {
        Some((end, 'K')) => (&text[..end], 1e3),
        Some((end, 'M')) => (&text[..end], 1e6),
        Some((end, 'G')) => (&text[..end], 1e9),
        Some((end, 'T')) => (&text[..end], 1e12),
        _ => (text, 1.0),
    };
    let bytes = number.parse::<f64>().ok().map(|number| number * unit);
    let bytes = bytes.filter(|bytes| (1e6..1e18).contains(bytes)).map(|bytes| bytes as u64);
    bytes.ok_or("expected a size of at least 1M, such as 4G or 500M")
}

/// Parses a duration such as `90` (seconds), `90s`, `30m` or `1.5h`.
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

/// Reads a text file named on the command line; if the system cannot read it, that is an input error.
pub fn read_argument_file(path: &Path) -> clenshaw::Result<String> {
    files::read_text(path).map_err(|error| match error {
        Error::Io { source, .. } => Error::Data {
            place: path.display().to_string(),
            problem: format!("cannot be read: {source}"),
        },
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::PRESET;

    #[test]
    fn all_presets_are_listed() {
        assert_eq!((PRESET.0)(), clenshaw::experiment::preset_names());
    }
}
