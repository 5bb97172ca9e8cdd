//! Fetching public data sets: whatever the net does, a file is either good or not there.
//!
//! ```text
//! there and good?  ->  kept
//! else each source in turn:  .NAME.partial  ->  sha256 fits?  ->  renamed to NAME
//! ```
//!
//! What is there is replaced by a rename alone, after the check, so a bad download costs nothing.
//! A partial file stays for the next time; only a wrong checksum deletes it.
//! It is resumed only if a known checksum will tell whether both halves fit.
//! The feature `download` brings HTTP and TLS; without it, copying and verifying still work.
//!
//! ```
//! use clenshaw::data::fetch::{Options, fetch, find};
//! use std::{path::Path, sync::atomic::AtomicBool};
//!
//! let cancel = AtomicBool::new(false);
//! let options = Options { offline: true, ..Options::new(Path::new("no/such/folder"), &cancel) };
//! let error = fetch(find("minesweeper")?, &options).unwrap_err().to_string();
//! assert_eq!(error, "no/such/folder: not there or not good: minesweeper/minesweeper.npz: no such file");
//! # Ok::<(), clenshaw::Error>(())
//! ```

mod sources;
mod trouble;
mod partial;
mod delivery;
mod unzip;
#[cfg_attr(not(feature = "download"), path = "fetch/no_http.rs")]
mod http;
mod proxies;

pub use proxies::Proxies;
pub use sources::{Listed, Set, find, sets};
#[cfg(fuzzing)]
pub use unzip::length as member_length;

use crate::error::{Error, Result};
use delivery::{Delivery, Job};
use http::Client;
use partial::{Digest, Partial, digest, make_folder};
use serde::Serialize;
use sources::Base;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trouble::{Failure, Trouble};

/// From where, to where, and who watches.
pub struct Options<'a> {
    /// The data folder; each data set has a folder below it.
    pub into: &'a Path,
    /// A URL or folder of the same layout, instead of the published sources.
    pub from: Option<&'a str>,
    /// Only check what is there.
    pub offline: bool,
    /// How long to wait, and how often.
    pub patience: Patience,
    /// Through whom to go.
    pub proxies: Proxies,
    /// Sees what happens.
    pub watch: &'a dyn Fn(Progress<'_>),
    /// Set it to stop; what has come is kept.
    pub cancel: &'a AtomicBool,
}

impl<'a> Options<'a> {
    /// From the published sources, through no proxy, unwatched.
    pub fn new(into: &'a Path, cancel: &'a AtomicBool) -> Self {
        Self {
            into,
            from: None,
            offline: false,
            patience: Patience::default(),
            proxies: Proxies::default(),
            watch: &|_| {},
            cancel,
        }
    }
}

/// How long to wait for a server, and how often to ask.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes.
    pub stall: Duration,
    /// How often a source is tried before the next one is.
    pub tries: usize,
    /// Before the second try; doubled before each further one.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(15), stall: seconds(20), tries: 4, pause: seconds(1) }
    }
}

/// What happens to a file; `file` is its path below the data folder, or the name of an archive.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A source is asked.
    Asked {
        /// Which file.
        file: &'a str,
        /// Where.
        source: &'a str,
    },
    /// Bytes have come.
    Bytes {
        /// Which file.
        file: &'a str,
        /// How many are there now.
        have: u64,
        /// How many there will be, if that is known.
        of: Option<u64>,
    },
    /// A source failed.
    Failed {
        /// Which file.
        file: &'a str,
        /// Where.
        source: &'a str,
        /// How.
        problem: &'a str,
        /// When it is asked again; if never, it is the next one's turn.
        again_in: Option<Duration>,
    },
    /// A file is there and good.
    Done(&'a Held),
}

/// A data set that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Its folder below the data folder.
    pub folder: String,
    /// Its files.
    pub files: Vec<Held>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Below the data folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// What was found, in hexadecimal.
    pub sha256: String,
    /// Whether a known checksum says that it is good.
    pub checked: bool,
    /// How it came to be there.
    pub state: State,
}

/// How a file came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was there.
    Kept,
    /// It was not there.
    Fetched,
    /// What was there was not good.
    Replaced,
}

/// Makes sure that all files of a data set are there and good.
pub fn fetch(set: &Set, options: &Options<'_>) -> Result<Report> {
    if options.offline {
        return verify(set, options);
    }
    let base = Base::of(options.from)?;
    let client = Client::new(options);
    let held = set.files.iter().map(|listed| obtain(listed, &base, &client));
    let held: Result<Vec<Held>> = held.collect();
    partial::tidy(set, options.into, held.is_ok());
    Ok(report(set, held?))
}

/// Keeps a good file, or gets it.
fn obtain(listed: &Listed, base: &Base<'_>, client: &Client<'_>) -> Result<Held> {
    let options = client.options;
    let path = options.into.join(&listed.path);
    match digest(&path)? {
        Some(found) if listed.check(&found).is_ok() => {
            Ok(done(listed, found, State::Kept, options))
        }
        before => {
            let found = ask_around(listed, &path, base, client)?;
            let state = if before.is_some() { State::Replaced } else { State::Fetched };
            Ok(done(listed, found, state, options))
        }
    }
}

/// Asks each source in turn until one delivers.
fn ask_around(
    listed: &Listed,
    path: &Path,
    base: &Base<'_>,
    client: &Client<'_>,
) -> Result<Digest> {
    let options = client.options;
    make_folder(path.parent().unwrap_or(options.into))?;
    let mut partial = Partial::open(path)?;
    let mut failed = Vec::new();
    let mut places = base.places(listed).into_iter().peekable();
    while let Some(place) = places.next() {
        if options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let source = place.to_string();
        let job = Job { file: &listed.path, source: &source, bytes: listed.bytes, options };
        let delivery = Delivery { listed, place: &place, client, job };
        match delivery.run(&mut partial) {
            Ok(found) => return partial.accept().map(|()| found),
            Err(Failure::Here(error)) => return Err(error),
            Err(Failure::There(trouble)) => {
                if places.peek().is_some() {
                    delivery.job.failed(&trouble.to_string(), None);
                }
                failed.push(format!("{source}: {trouble}"));
            }
        }
    }
    let advice = "nothing that was there is changed; try again, or name another source";
    Err(Error::io(path)(std::io::Error::other(format!("{}; {advice}", failed.join("; ")))))
}

fn done(listed: &Listed, found: Digest, state: State, options: &Options<'_>) -> Held {
    let Digest { bytes, sha256 } = found;
    let checked = listed.sha256.is_some();
    let held = Held { path: listed.path.clone(), bytes, sha256, checked, state };
    (options.watch)(Progress::Done(&held));
    held
}

/// Checks what is there, without asking anybody.
fn verify(set: &Set, options: &Options<'_>) -> Result<Report> {
    let (mut held, mut bad) = (Vec::new(), Vec::new());
    for listed in &set.files {
        let found = digest(&options.into.join(&listed.path))?;
        let checked = found.ok_or(Trouble::Missing).and_then(|found| {
            listed.check(&found)?;
            Ok(found)
        });
        match checked {
            Ok(found) => held.push(done(listed, found, State::Kept, options)),
            Err(trouble) => bad.push(format!("{}: {trouble}", listed.path)),
        }
    }
    if bad.is_empty() {
        return Ok(report(set, held));
    }
    let problem = format!("not there or not good: {}", bad.join("; "));
    Err(Error::io(options.into)(std::io::Error::other(problem)))
}

fn report(set: &Set, files: Vec<Held>) -> Report {
    let (n, unknown) = (files.len(), files.iter().filter(|held| !held.checked).count());
    let warning = format!(
        "{}: no checksum is known for {unknown} of {n} files; compare their sha256 with a copy you trust",
        set.folder
    );
    let warnings = if unknown > 0 { vec![warning] } else { vec![] };
    Report { folder: set.folder.clone(), files, warnings }
}
