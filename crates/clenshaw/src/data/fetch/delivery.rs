//! One file from one source, into its partial file.

use super::http::Client;
use super::partial::{Digest, Partial, archive_path};
use super::sources::Place;
use super::trouble::{Failure, Trouble};
use super::{Listed, Options, Progress, unzip};
use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// More than this is not believed of a file whose size is not known.
const LARGEST: u64 = 1 << 30;

/// What is being brought, and what to tell about it.
pub(super) struct Job<'a> {
    pub(super) file: &'a str,
    pub(super) source: &'a str,
    pub(super) bytes: Option<u64>,
    pub(super) options: &'a Options<'a>,
}

/// A file, one of its sources, and the means.
pub(super) struct Delivery<'a> {
    pub(super) listed: &'a Listed,
    pub(super) place: &'a Place,
    pub(super) client: &'a Client<'a>,
    pub(super) job: Job<'a>,
}

impl Delivery<'_> {
    /// Fills the partial file and checks it.
    ///
    /// If an earlier attempt had begun it and the whole is bad, the beginning may be to blame: once
    /// more.
    pub(super) fn run(&self, partial: &mut Partial) -> Result<Digest, Failure> {
        let begun = partial.bytes() > 0 || self.archive_left().is_some();
        match self.fill_and_check(partial) {
            Err(Failure::There(trouble)) if trouble.spoils() && begun => {
                self.job.failed(&trouble.to_string(), Some(Duration::ZERO));
                self.fill_and_check(partial)
            }
            outcome => outcome,
        }
    }

    /// Leaves nothing behind that is known to be bad.
    fn fill_and_check(&self, partial: &mut Partial) -> Result<Digest, Failure> {
        let checked = self.fill(partial).and_then(|()| {
            let found = partial.digest()?;
            self.listed.check(&found)?;
            Ok(found)
        });
        if let Err(Failure::There(trouble)) = &checked
            && trouble.spoils()
        {
            partial.restart()?;
            if let Some(archive) = self.archive_left() {
                fs::remove_file(&archive).map_err(Error::io(archive))?;
            }
        }
        checked
    }

    fn fill(&self, partial: &mut Partial) -> Result<(), Failure> {
        let (job, client) = (&self.job, self.client);
        (job.options.watch)(Progress::Asked { file: job.file, source: job.source });
        match self.place {
            Place::Url(url) if self.listed.sha256.is_some() => client.resume(job, url, partial),
            Place::Url(url) => client.download(job, url, partial),
            Place::Folder(path) => copy(job, path, partial),
            Place::Member { archive, member } => {
                let path = archive_path(job.options.into, job.file, archive);
                fetch_archive(archive, &path, client)?;
                unzip::extract(job, &path, member, partial)
            }
        }
    }

    /// The archive that an earlier attempt, or another member, left.
    fn archive_left(&self) -> Option<PathBuf> {
        let Place::Member { archive, .. } = self.place else { return None };
        let path = archive_path(self.job.options.into, self.job.file, archive);
        path.exists().then_some(path)
    }
}

/// An archive has no checksum of its own, but its members have.
fn fetch_archive(url: &str, path: &Path, client: &Client<'_>) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let mut partial = Partial::open(path)?;
    let name = url.rsplit('/').next().unwrap_or(url);
    let job = Job { file: name, source: url, bytes: None, options: client.options };
    client.resume(&job, url, &mut partial)?;
    Ok(partial.accept()?)
}

fn copy(job: &Job<'_>, path: &Path, partial: &mut Partial) -> Result<(), Failure> {
    partial.restart()?;
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Trouble::Missing,
        _ => Trouble::Refused(error.to_string()),
    })?;
    job.pour(file, job.bytes, partial, |error, _| Trouble::Refused(error.to_string()))
}

impl Job<'_> {
    /// Appends what comes until it ends; `of` is the size that was announced.
    pub(super) fn pour(
        &self,
        mut from: impl Read,
        of: Option<u64>,
        into: &mut Partial,
        trouble: impl Fn(io::Error, u64) -> Trouble,
    ) -> Result<(), Failure> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            let n = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(|error| trouble(error, into.bytes()))?,
            };
            if into.bytes() + n as u64 > self.most() {
                return Err(Trouble::TooLong { most: self.most() }.into());
            }
            into.append(&buffer[..n])?;
            (self.options.watch)(Progress::Bytes { file: self.file, have: into.bytes(), of });
        }
    }

    /// No more than this is taken.
    pub(super) fn most(&self) -> u64 {
        self.bytes.unwrap_or(LARGEST)
    }

    /// Tells that the source failed, and whether it is asked again.
    pub(super) fn failed(&self, problem: &str, again_in: Option<Duration>) {
        let (file, source) = (self.file, self.source);
        (self.options.watch)(Progress::Failed { file, source, problem, again_in });
    }
}
