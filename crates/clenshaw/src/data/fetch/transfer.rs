//! Transfers one file from one source into its partial file.

use super::failure::{FetchError, SourceError};
use super::manifest::FileSource;
use super::partial_file::{FileDigest, PartialFile, archive_path};
use super::{Client, FetchEvent, FetchOptions, ManifestFile};
use crate::data::archive::Archive;
use crate::error::Error;
use crate::files;
use std::fs;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The largest accepted file in bytes, if its size is not known.
const MAX_UNKNOWN_SIZE: u64 = 1 << 30;

/// The file, the source and the expected size of a transfer, for progress reports and size limits.
pub(super) struct Transfer<'a> {
    /// Path inside the data folder, or the name of an archive.
    pub(super) file: &'a str,
    /// The URL or path of the source.
    pub(super) source: &'a str,
    /// Expected size in bytes, if known.
    pub(super) size: Option<u64>,
    pub(super) options: &'a FetchOptions<'a>,
}

/// The fetching of a listed file from one of its sources.
pub(super) struct Download<'a> {
    pub(super) listed: &'a ManifestFile,
    pub(super) source: &'a FileSource,
    pub(super) client: &'a Client<'a>,
    pub(super) transfer: Transfer<'a>,
}

impl Download<'_> {
    /// Fills the partial file and verifies it.
    ///
    /// Retries once from the beginning if a resumed file is invalid, because the bytes of the
    /// earlier attempt may be wrong.
    pub(super) fn run(&self, partial: &mut PartialFile) -> Result<FileDigest, FetchError> {
        let resumed = partial.bytes() > 0 || self.existing_archive().is_some();
        match self.fill_and_verify(partial) {
            Err(FetchError::Source(error)) if error.is_invalid_content() && resumed => {
                self.transfer.report_failure(&error.to_string(), Some(Duration::ZERO));
                self.fill_and_verify(partial)
            }
            outcome => outcome,
        }
    }

    /// Fills and verifies the partial file; invalid content is deleted, and so is the archive it is from.
    fn fill_and_verify(&self, partial: &mut PartialFile) -> Result<FileDigest, FetchError> {
        let verified = self.fill(partial).and_then(|()| {
            let found = partial.digest()?;
            self.listed.check(&found)?;
            Ok(found)
        });
        if let Err(FetchError::Source(error)) = &verified
            && error.is_invalid_content()
        {
            partial.clear()?;
            if let Some(archive) = self.existing_archive() {
                fs::remove_file(&archive).map_err(Error::io(archive))?;
            }
        }
        verified
    }

    /// Downloads, copies or extracts the file into the partial file.
    fn fill(&self, partial: &mut PartialFile) -> Result<(), FetchError> {
        let (transfer, client) = (&self.transfer, self.client);
        let (file, source) = (transfer.file, transfer.source);
        (transfer.options.on_event)(FetchEvent::Requested { file, source });
        match self.source {
            FileSource::Url(url) if self.listed.sha256.is_some() => {
                client.resume(transfer, url, partial)
            }
            FileSource::Url(url) => client.download(transfer, url, partial),
            FileSource::Path(path) => copy(transfer, path, partial),
            FileSource::ZipMember { archive, member } => {
                let path = archive_path(transfer.options.into, file, archive);
                fetch_archive(archive, &path, client)?;
                extract(transfer, &path, member, partial)
            }
        }
    }

    /// The path of the archive, if it has been downloaded earlier or for another member.
    fn existing_archive(&self) -> Option<PathBuf> {
        let FileSource::ZipMember { archive, .. } = self.source else { return None };
        let path = archive_path(self.transfer.options.into, self.transfer.file, archive);
        path.exists().then_some(path)
    }
}

/// Downloads an archive, unless it exists; it is not verified, because only its members have checksums.
fn fetch_archive(url: &str, path: &Path, client: &Client<'_>) -> Result<(), FetchError> {
    if path.exists() {
        return Ok(());
    }
    let mut partial = PartialFile::open(path)?;
    let file = url.rsplit('/').next().unwrap_or(url);
    let transfer = Transfer { file, source: url, size: None, options: client.options };
    client.resume(&transfer, url, &mut partial)?;
    Ok(partial.move_to_destination()?)
}

/// Clears the partial file and copies the file at `path` into it.
fn copy(transfer: &Transfer<'_>, path: &Path, partial: &mut PartialFile) -> Result<(), FetchError> {
    partial.clear()?;
    let file = files::open(path).map_err(|error| match error.is_not_found() {
        true => SourceError::NotFound,
        false => SourceError::Other(error.to_string()),
    })?;
    transfer
        .append_all(file, transfer.size, partial, |error, _| SourceError::Other(error.to_string()))
}

/// Clears the partial file and extracts the first member with this file name, in any folder of the archive.
fn extract(
    transfer: &Transfer<'_>,
    archive: &Path,
    member: &str,
    partial: &mut PartialFile,
) -> Result<(), FetchError> {
    partial.clear()?;
    let file = BufReader::new(files::open(archive)?);
    let mut archive = Archive::open(file).map_err(SourceError::Archive)?;
    let members = archive.members();
    let index = members.iter().position(|(name, _)| name.rsplit('/').next() == Some(member));
    let index = index.ok_or_else(|| SourceError::Archive(format!("no member `{member}`")))?;
    let content = archive.member(index).map_err(SourceError::Archive)?;
    let damaged = |error: io::Error, _| SourceError::Archive(error.to_string());
    transfer.append_all(content, transfer.size, partial, damaged)
}

impl Transfer<'_> {
    /// Appends everything that `from` returns and reports progress, with the expected size `total`. Fails if
    /// reading or writing fails, if the fetch is cancelled, or if [`Self::limit`] is exceeded.
    ///
    /// `source_error` converts a read error, given the number of bytes received so far.
    pub(super) fn append_all(
        &self,
        mut from: impl Read,
        total: Option<u64>,
        into: &mut PartialFile,
        source_error: impl Fn(io::Error, u64) -> SourceError,
    ) -> Result<(), FetchError> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            let n = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(|error| source_error(error, into.bytes()))?,
            };
            if into.bytes() + n as u64 > self.limit() {
                return Err(SourceError::TooLong { limit: self.limit() }.into());
            }
            into.append(&buffer[..n])?;
            let received = into.bytes();
            (self.options.on_event)(FetchEvent::Received { file: self.file, received, total });
        }
    }

    /// Returns the largest accepted number of bytes.
    pub(super) fn limit(&self) -> u64 {
        self.size.unwrap_or(MAX_UNKNOWN_SIZE)
    }

    /// Reports that the source failed, with the delay before it is retried; `None` if it is not.
    pub(super) fn report_failure(&self, problem: &str, retry_in: Option<Duration>) {
        let (file, source) = (self.file, self.source);
        (self.options.on_event)(FetchEvent::Failed { file, source, problem, retry_in });
    }
}
