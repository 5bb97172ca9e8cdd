//! `.NAME.partial`: what has come so far, beside where it belongs.

use super::Set;
use super::sources::Place;
use crate::data::fingerprint::hex;
use crate::error::{Error, Result};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Size and checksum of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// The digest of a file, if it is there.
pub(super) fn digest(path: &Path) -> Result<Option<Digest>> {
    let mut file = match File::open(path) {
        Err(error) if is_absent(error.kind()) => return Ok(None),
        file => file.map_err(Error::io(path))?,
    };
    let (mut sum, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(Error::io(path))? {
            0 => return Ok(Some(Digest { bytes, sha256: hex(&sum.finalize()) })),
            n => {
                sum.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A download in progress; when dropped it stays for the next time, unless nothing has come.
pub(super) struct Partial {
    path: PathBuf,
    destination: PathBuf,
    file: File,
    bytes: u64,
}

impl Partial {
    /// Goes on with what an earlier attempt left.
    pub(super) fn open(destination: &Path) -> Result<Self> {
        let path = beside(destination);
        let file = File::options().read(true).append(true).create(true).open(&path);
        let file = file.map_err(Error::io(&path))?;
        // A file system without locks is no reason to stop.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let problem = io::Error::new(ErrorKind::WouldBlock, "another process is fetching it");
            return Err(Error::io(path)(problem));
        }
        let bytes = file.metadata().map_err(Error::io(&path))?.len();
        Ok(Self { path, destination: destination.into(), file, bytes })
    }

    /// How much has come.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets what has come.
    pub(super) fn restart(&mut self) -> Result<()> {
        if self.bytes > 0 {
            self.file.set_len(0).map_err(Error::io(&self.path))?;
            self.bytes = 0;
        }
        Ok(())
    }

    /// Adds what comes next.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What is on disk.
    pub(super) fn digest(&self) -> Result<Digest> {
        digest(&self.path)?.ok_or_else(|| Error::io(&self.path)(ErrorKind::NotFound.into()))
    }

    /// Puts it where it belongs.
    pub(super) fn accept(self) -> Result<()> {
        let synced = self.file.sync_all();
        let renamed = synced.and_then(|()| fs::rename(&self.path, &self.destination));
        renamed.map_err(Error::io(&self.destination))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.bytes == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// `.NAME.partial`.
fn beside(destination: &Path) -> PathBuf {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    destination.with_file_name(format!(".{}.partial", name.trim_start_matches('.')))
}

/// Makes a folder and those above it; a file in the way is named.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    if let Some(file) = folder.ancestors().find(|path| path.is_file()) {
        let problem = "a file stands where a folder is needed";
        return Err(Error::io(file)(io::Error::new(ErrorKind::NotADirectory, problem)));
    }
    fs::create_dir_all(folder).map_err(Error::io(folder))
}

/// Where an archive lies until all its members are out.
pub(super) fn archive_path(into: &Path, file: &str, url: &str) -> PathBuf {
    let name = url.rsplit('/').next().unwrap_or(url);
    into.join(file).with_file_name(format!(".{name}"))
}

/// Removes archives that have served, and folders in which nothing has arrived.
pub(super) fn tidy(set: &Set, into: &Path, complete: bool) {
    for listed in &set.files {
        for place in listed.urls.iter().map(|url| Place::of(url)) {
            if let (true, Place::Member { archive, .. }) = (complete, place) {
                let _ = fs::remove_file(archive_path(into, &listed.path, &archive));
            }
        }
        // Only empty folders can be removed this way.
        let folders = Path::new(&listed.path).ancestors().skip(1);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            let _ = fs::remove_dir(into.join(folder));
        }
    }
}
