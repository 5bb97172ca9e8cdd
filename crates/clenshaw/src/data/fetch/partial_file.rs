//! `.NAME.partial`: an unfinished download next to its destination.

use super::Manifest;
use super::manifest::FileSource;
use crate::data::fingerprint::hex;
use crate::error::{Error, Result};
use crate::files;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Size and SHA-256 of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileDigest {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// Returns the digest of a file, or `None` if it does not exist.
pub(super) fn digest(path: &Path) -> Result<Option<FileDigest>> {
    let mut file = match files::open(path) {
        Err(Error::Io { source, .. }) if is_not_found(source.kind()) => return Ok(None),
        file => file?,
    };
    let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(Error::io(path))? {
            0 => return Ok(Some(FileDigest { bytes, sha256: hex(&hasher.finalize()) })),
            n => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}

fn is_not_found(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// An unfinished download; it stays on disk when dropped, unless it is empty.
pub(super) struct PartialFile {
    path: PathBuf,
    destination: PathBuf,
    file: File,
    bytes: u64,
}

impl PartialFile {
    /// Opens the partial file of an earlier attempt, or creates it; an error if another process has locked
    /// it.
    pub(super) fn open(destination: &Path) -> Result<Self> {
        loop {
            let path = partial_path(destination);
            let file = File::options().read(true).append(true).create(true).open(&path);
            let file = file.map_err(Error::io(&path))?;
            if let Some(partial) = Self::lock(destination, file)? {
                return Ok(partial);
            }
        }
    }

    /// Locks an open partial file; `None` if it is no longer at its path, because another process has finished
    /// or removed it. In that case, nothing may be written to the open file.
    fn lock(destination: &Path, file: File) -> Result<Option<Self>> {
        let path = partial_path(destination);
        // Other errors are ignored, because not all file systems have locks.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let problem =
                io::Error::new(ErrorKind::WouldBlock, "another process is downloading this file");
            return Err(Error::io(path)(problem));
        }
        if !files::is_same_file(&file, &path) {
            return Ok(None);
        }
        let bytes = file.metadata().map_err(Error::io(&path))?.len();
        Ok(Some(Self { path, destination: destination.into(), file, bytes }))
    }

    /// Returns the number of bytes received so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Deletes the received bytes.
    pub(super) fn clear(&mut self) -> Result<()> {
        if self.bytes > 0 {
            self.file.set_len(0).map_err(Error::io(&self.path))?;
            self.bytes = 0;
        }
        Ok(())
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Returns the digest of the content on disk.
    pub(super) fn digest(&self) -> Result<FileDigest> {
        digest(&self.path)?.ok_or_else(|| Error::io(&self.path)(ErrorKind::NotFound.into()))
    }

    /// Syncs the file and renames it to its destination, replacing an existing file.
    pub(super) fn move_to_destination(self) -> Result<()> {
        let synced = self.file.sync_all();
        let renamed = synced.and_then(|()| fs::rename(&self.path, &self.destination));
        renamed.map_err(Error::io(&self.destination))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.bytes == 0 && files::is_same_file(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the path of the partial file, `.NAME.partial` next to `NAME`; a leading dot of `NAME` is not repeated.
fn partial_path(destination: &Path) -> PathBuf {
    let name = destination.file_name().unwrap_or_default().to_string_lossy();
    destination.with_file_name(format!(".{}.partial", name.trim_start_matches('.')))
}

/// Creates a folder and its parents; if one of them is a file, the error contains its path.
pub(super) fn create_folder(folder: &Path) -> Result<()> {
    if let Some(file) = folder.ancestors().find(|path| path.is_file()) {
        let problem = "expected a folder, found a file";
        return Err(Error::io(file)(io::Error::new(ErrorKind::NotADirectory, problem)));
    }
    fs::create_dir_all(folder).map_err(Error::io(folder))
}

/// Returns where the archive at `url` is stored until the fetch is complete: next to `file`, a path inside the
/// data folder `into`.
pub(super) fn archive_path(into: &Path, file: &str, url: &str) -> PathBuf {
    let name = url.rsplit('/').next().unwrap_or(url);
    into.join(file).with_file_name(format!(".{name}"))
}

/// Removes empty folders of the manifest and, if the fetch is `complete`, the downloaded archives.
pub(super) fn clean_up(manifest: &Manifest, into: &Path, complete: bool) {
    for listed in &manifest.files {
        for source in listed.urls.iter().map(|url| FileSource::parse(url)) {
            if let (true, FileSource::ZipMember { archive, .. }) = (complete, source) {
                let _ = fs::remove_file(archive_path(into, &listed.path, &archive));
            }
        }
        // This fails for folders that are not empty.
        let folders = Path::new(&listed.path).ancestors().skip(1);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            let _ = fs::remove_dir(into.join(folder));
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn file_that_another_process_has_finished_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let destination = folder.path().join("edges.npy");
        let mut first = PartialFile::open(&destination).unwrap();
        // A second process opens the partial file just before the first one finishes.
        let opened = File::options().read(true).append(true).open(partial_path(&destination));
        let opened = opened.unwrap();
        first.append(b"complete").unwrap();
        first.move_to_destination().unwrap();
        assert!(PartialFile::lock(&destination, opened).unwrap().is_none());
        // The next attempt starts with an empty file of its own.
        let mut second = PartialFile::open(&destination).unwrap();
        assert_eq!(second.bytes(), 0);
        second.append(b"half").unwrap();
        second.clear().unwrap();
        assert_eq!(fs::read(&destination).unwrap(), b"complete");
    }

    #[test]
    fn locked_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let destination = folder.path().join("edges.npy");
        let first = PartialFile::open(&destination).unwrap();
        let error = PartialFile::open(&destination).map(drop).unwrap_err().to_string();
        assert!(error.ends_with("another process is downloading this file"), "{error}");
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "an empty file is removed");
    }
}
