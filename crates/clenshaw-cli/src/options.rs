//! Options that several verbs share.

use clap::Args;
use clenshaw::Error;
use clenshaw::data::Store;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// How many threads may work; the number never changes a result.
#[derive(Args)]
pub struct Threads {
    /// Threads at most; results do not depend on it [default: all processors]
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

impl Threads {
    /// What was asked for, else all processors.
    pub fn count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.unwrap_or_else(available)
    }
}

/// Where files are looked for first.
#[derive(Args)]
pub struct DataFolder {
    /// Look for data files here first [default: $CLENSHAW_DATA, then the cache folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataFolder {
    /// The folders that are searched.
    pub fn store(&self) -> Store {
        Store::new(self.data.clone())
    }
}

fn threads(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=1024).contains(count));
    count.ok_or("expected a whole number in 1..=1024")
}

/// A number that counts something; its limits are checked where they are known.
pub fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

/// `key=value` as `--set` takes it.
pub fn setting(text: &str) -> clenshaw::Result<(&str, &str)> {
    let parts = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    parts.ok_or_else(|| Error::BadValue {
        key: "--set".into(),
        value: text.into(),
        expected: "`key=value`".into(),
    })
}

/// `90`, `90s`, `30m` or `2h`.
pub fn duration(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = match text.char_indices().last() {
        Some((end, 's')) => (&text[..end], 1.0),
        Some((end, 'm')) => (&text[..end], 60.0),
        Some((end, 'h')) => (&text[..end], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or("expected a time as in 90s, 30m or 2h")
}

/// The text of a file that somebody named: if it cannot be read, the words were wrong.
pub fn named_file(path: &Path) -> clenshaw::Result<String> {
    std::fs::read_to_string(path).map_err(|error| Error::Data {
        place: path.display().to_string(),
        problem: format!("cannot be read: {error}"),
    })
}
