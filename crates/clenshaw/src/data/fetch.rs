//! Downloads public data sets and verifies their checksums.
//!
//! ```text
//! valid file present  ->  kept
//! otherwise, for each source:  .NAME.partial  ->  checksum matches  ->  renamed to NAME
//! ```
//!
//! An existing file is replaced, by a rename, only after its replacement has been verified.
//! An interrupted download is resumed the next time if the checksum of the file or, for an archive, of its
//! members is known. A file without a known checksum is kept if it exists.
//! HTTP requires the feature `download`; copying and verifying work without it.
//!
//! ```
//! use clenshaw::data::fetch::{FetchOptions, fetch, manifest};
//! use std::{path::Path, sync::atomic::AtomicBool};
//!
//! let cancel = AtomicBool::new(false);
//! let options = FetchOptions { offline: true, ..FetchOptions::new(Path::new("no/such/folder"), &cancel) };
//! let error = fetch(manifest("minesweeper")?, &options).unwrap_err().to_string();
//! assert_eq!(error, "no/such/folder: missing or invalid files: minesweeper/minesweeper.npz: file not found");
//! # Ok::<(), clenshaw::Error>(())
//! ```

mod manifest;
mod failure;
mod partial_file;
mod transfer;
#[cfg(feature = "download")]
mod http;
#[cfg(not(feature = "download"))]
mod offline;
mod proxies;

pub use manifest::{Manifest, ManifestFile, manifest, manifests};
pub use proxies::Proxies;

use crate::error::{Error, Result};
use failure::{FetchError, SourceError};
#[cfg(feature = "download")]
use http::HttpClient as Client;
use manifest::SourceBase;
#[cfg(not(feature = "download"))]
use offline::OfflineClient as Client;
use partial_file::{FileDigest, PartialFile, create_folder, digest};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transfer::{Download, Transfer};

/// The source, the destination and the settings of a fetch.
pub struct FetchOptions<'a> {
    /// The data folder to write to; each data set has a folder in it.
    pub into: &'a Path,
    /// A URL or folder with the layout of the data folder, used instead of the published sources; `None` for
    /// the published sources.
    pub from: Option<&'a str>,
    /// Only verify the files, without network access; missing and invalid files are an error.
    pub offline: bool,
    /// Timeouts and retries.
    pub retry: RetryPolicy,
    /// Proxies for HTTP and HTTPS.
    pub proxies: Proxies,
    /// Called for every progress event.
    pub on_event: &'a dyn Fn(FetchEvent<'_>),
    /// Set this flag to stop downloads with [`Error::Interrupted`]; partial downloads are kept.
    pub cancel: &'a AtomicBool,
}

impl<'a> FetchOptions<'a> {
    /// Creates options to fetch from the published sources, without proxies or a progress callback.
    pub fn new(into: &'a Path, cancel: &'a AtomicBool) -> Self {
        Self {
            into,
            from: None,
            offline: false,
            retry: RetryPolicy::default(),
            proxies: Proxies::default(),
            on_event: &|_| {},
            cancel,
        }
    }
}

/// Timeouts and retries of downloads.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Timeout for resolving the host, and for connecting.
    pub connect_timeout: Duration,
    /// Timeout for receiving or sending the next bytes.
    pub read_timeout: Duration,
    /// Maximum number of attempts per source; at least one is made. As many again may follow if a resumed file
    /// turns out to be invalid.
    pub attempts: usize,
    /// Delay before the second attempt; doubled after each attempt.
    pub first_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect_timeout: seconds(15),
            read_timeout: seconds(20),
            attempts: 4,
            first_delay: seconds(1),
        }
    }
}

/// Progress of a fetch; `file` is a path inside the data folder, or the name of an archive.
#[derive(Debug)]
pub enum FetchEvent<'a> {
    /// A file is about to be fetched from a source.
    Requested {
        /// The file.
        file: &'a str,
        /// The URL or path of the source.
        source: &'a str,
    },
    /// Bytes have been received.
    Received {
        /// The file.
        file: &'a str,
        /// Number of bytes received so far.
        received: u64,
        /// Expected number of bytes, if known.
        total: Option<u64>,
    },
    /// An attempt failed and another one follows. If none follows, the error of the fetch contains the problem.
    Failed {
        /// The file.
        file: &'a str,
        /// The URL or path of the source.
        source: &'a str,
        /// The problem.
        problem: &'a str,
        /// Delay before the next attempt; `None` if the next source is tried instead.
        retry_in: Option<Duration>,
    },
    /// A file is present, and has the right checksum if it is known.
    Done(&'a LocalFile),
}

/// The result of fetching a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchReport {
    /// Folder name inside the data folder.
    pub folder: String,
    /// All files of the data set.
    pub files: Vec<LocalFile>,
    /// Warnings about files without a known checksum.
    pub warnings: Vec<String>,
}

/// A file of the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalFile {
    /// Path inside the data folder.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Whether the manifest has a checksum for this file. If so, it has been verified.
    pub checked: bool,
    /// How the file was obtained.
    pub state: FileState,
}

/// How a file of the data folder was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// It was already present and valid.
    Kept,
    /// It was missing and has been fetched.
    Fetched,
    /// It was invalid and has been replaced.
    Replaced,
}

/// Fetches the missing and invalid files of a data set, or only verifies that there are none if
/// [`FetchOptions::offline`] is set. After an error, the files already fetched are kept.
///
/// # Errors
/// If a file can neither be kept nor fetched from one of its sources, if [`FetchOptions::from`] is invalid, or if
/// the fetch is cancelled.
pub fn fetch(manifest: &Manifest, options: &FetchOptions<'_>) -> Result<FetchReport> {
    if options.offline {
        return verify(manifest, options);
    }
    let base = SourceBase::parse(options.from)?;
    let client = Client::new(options);
    let files = manifest.files.iter().map(|listed| keep_or_fetch(listed, &base, &client));
    let files: Result<Vec<LocalFile>> = files.collect();
    partial_file::clean_up(manifest, options.into, files.is_ok());
    Ok(report(manifest, files?))
}

/// Keeps the file if it is valid; fetches it otherwise.
fn keep_or_fetch(
    listed: &ManifestFile,
    base: &SourceBase<'_>,
    client: &Client<'_>,
) -> Result<LocalFile> {
    let options = client.options;
    let path = options.into.join(&listed.path);
    match digest(&path)? {
        Some(found) if listed.check(&found).is_ok() => {
            Ok(finish(listed, found, FileState::Kept, options))
        }
        existing => {
            let found = fetch_from_any(listed, &path, base, client)?;
            let state = if existing.is_some() { FileState::Replaced } else { FileState::Fetched };
            Ok(finish(listed, found, state, options))
        }
    }
}

/// Tries each source until one succeeds, and moves the verified file to `path`.
fn fetch_from_any(
    listed: &ManifestFile,
    path: &Path,
    base: &SourceBase<'_>,
    client: &Client<'_>,
) -> Result<FileDigest> {
    let options = client.options;
    create_folder(path.parent().unwrap_or(options.into))?;
    let mut partial = PartialFile::open(path)?;
    let mut failures = Vec::new();
    let mut sources = base.sources(listed).into_iter().peekable();
    while let Some(source) = sources.next() {
        if options.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let name = source.to_string();
        let transfer = Transfer { file: &listed.path, source: &name, size: listed.bytes, options };
        let download = Download { listed, source: &source, client, transfer };
        match download.run(&mut partial) {
            Ok(found) => return partial.move_to_destination().map(|()| found),
            Err(FetchError::Local(error)) => return Err(error),
            Err(FetchError::Source(error)) => {
                if sources.peek().is_some() {
                    download.transfer.report_failure(&error.to_string(), None);
                }
                failures.push(format!("{name}: {error}"));
            }
        }
    }
    let advice = "this file is unchanged if it exists; try again, or use another source";
    Err(Error::io(path)(std::io::Error::other(format!("{}; {advice}", failures.join("; ")))))
}

/// Reports a valid file as done and returns its description.
fn finish(
    listed: &ManifestFile,
    found: FileDigest,
    state: FileState,
    options: &FetchOptions<'_>,
) -> LocalFile {
    let FileDigest { bytes, sha256 } = found;
    let checked = listed.sha256.is_some();
    let file = LocalFile { path: listed.path.clone(), bytes, sha256, checked, state };
    (options.on_event)(FetchEvent::Done(&file));
    file
}

/// Returns a warning for each file of a data set whose checksum is known and differs; missing and unreadable
/// files are ignored. `folder` is the folder of the data set in the data folder.
pub(super) fn changed_files(manifest: &Manifest, folder: &Path) -> Vec<String> {
    let root = folder.parent().unwrap_or(folder);
    let is_changed = |file: &&ManifestFile| {
        let found = digest(&root.join(&file.path));
        found.ok().flatten().is_some_and(|found| file.check(&found).is_err())
    };
    let warning = |file: &ManifestFile| {
        format!("{} differs from the published file: its sha256 does not match", file.path)
    };
    manifest.files.iter().filter(is_changed).map(warning).collect()
}

/// Whether all files of a data set exist; their contents are not verified. `folder` is the folder of the data
/// set in the data folder.
pub fn is_complete(manifest: &Manifest, folder: &Path) -> bool {
    let root = folder.parent().unwrap_or(folder);
    manifest.files.iter().all(|file| root.join(&file.path).is_file())
}

/// Verifies the files without network access; the error lists those that are missing, invalid or unreadable.
fn verify(manifest: &Manifest, options: &FetchOptions<'_>) -> Result<FetchReport> {
    let (mut valid, mut invalid) = (Vec::new(), Vec::new());
    for listed in &manifest.files {
        let checked = match digest(&options.into.join(&listed.path)) {
            Ok(Some(found)) => listed.check(&found).map(|()| found).map_err(|e| e.to_string()),
            Ok(None) => Err(SourceError::NotFound.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match checked {
            Ok(found) => valid.push(finish(listed, found, FileState::Kept, options)),
            Err(problem) => invalid.push(format!("{}: {problem}", listed.path)),
        }
    }
    if invalid.is_empty() {
        return Ok(report(manifest, valid));
    }
    let problem = format!("missing or invalid files: {}", invalid.join("; "));
    Err(Error::io(options.into)(std::io::Error::other(problem)))
}

/// Builds the report, with a warning if checksums are unknown.
fn report(manifest: &Manifest, files: Vec<LocalFile>) -> FetchReport {
    let (n, unknown) = (files.len(), files.iter().filter(|file| !file.checked).count());
    let warning = format!(
        "{}: no checksum is known for {unknown} of {n} files; compare their sha256 with a copy you trust",
        manifest.folder
    );
    let warnings = if unknown > 0 { vec![warning] } else { vec![] };
    FetchReport { folder: manifest.folder.clone(), files, warnings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_file_does_not_stop_verification() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let options = FetchOptions { offline: true, ..FetchOptions::new(folder.path(), &cancel) };
        let texas = manifest("texas").unwrap();
        std::fs::create_dir_all(folder.path().join(&texas.files[0].path)).unwrap();
        let error = fetch(texas, &options).unwrap_err().to_string();
        assert!(error.contains("is a folder; expected a regular file"), "{error}");
        assert!(error.contains(&format!("{}: file not found", texas.files[1].path)), "{error}");
    }
}
