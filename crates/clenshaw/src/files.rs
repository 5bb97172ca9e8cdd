//! Reading regular files, and atomic writes: readers never see a partially written file.
//!
//! Pipes and devices are refused: opening a named pipe waits for a writer, and a device may have no end.
//!
//! A temporary file is named `.NAME.PID-NUMBER.partial` after the process that writes it, so that the files
//! of killed processes can be recognised and removed.

use crate::error::{Error, Result};
use crate::memory;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a regular file for reading.
///
/// # Errors
/// [`Error::Data`] for a folder, a pipe or a device, which is not opened.
pub fn open(path: &Path) -> Result<File> {
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    match describe_kind(&metadata) {
        Some(kind) => Err(Error::Data {
            place: path.display().to_string(),
            problem: format!("is {kind}; expected a regular file"),
        }),
        None => File::open(path).map_err(Error::io(path)),
    }
}

/// Checks that a file of this size can be in memory.
///
/// # Errors
/// [`Error::OutOfMemory`] if it cannot.
pub(crate) fn check_size(path: &Path, size: u64) -> Result<()> {
    let what = || format!("reading {}", path.display());
    memory::require(size, what, "reduce the file, or use a machine with more memory")
}

/// Reads a regular file; see [`open`].
///
/// # Errors
/// As [`open`], and [`Error::OutOfMemory`] if the file is larger than the memory that is available.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    check_size(path, size)?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

/// Reads a regular text file; see [`open`]. Also fails if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| Error::Data {
        place: path.display().to_string(),
        problem: "not valid UTF-8".into(),
    })
}

/// Whether a path still refers to an open file.
#[cfg(unix)]
pub(crate) fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    fs::metadata(path)
        .is_ok_and(|at_path| file.metadata().is_ok_and(|open| identity(open) == identity(at_path)))
}

/// Whether a path exists; elsewhere, a file cannot be deleted while it is open.
#[cfg(not(unix))]
pub(crate) fn is_same_file(_: &File, path: &Path) -> bool {
    path.exists()
}

/// What a path refers to if it is not a regular file.
fn describe_kind(metadata: &fs::Metadata) -> Option<&'static str> {
    if metadata.is_file() {
        return None;
    }
    if metadata.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    Some("a device")
}

/// Writes the concatenated `pieces` to a temporary file, syncs it and renames it to `path`, so that
/// readers see either the old or the new contents, even after a power failure. On failure, the temporary
/// file is removed, and so are those that killed processes left behind while they wrote the same path.
pub fn write_atomically<'a>(path: &Path, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
    write_and_publish(path, pieces, |temporary| fs::rename(temporary, path))
}

/// Writes a file as [`write_atomically`] does, but never replaces one: of several processes that write the
/// same path, one succeeds.
///
/// # Errors
/// [`Error::Io`] of the kind `AlreadyExists` if the path exists.
pub fn write_new_atomically<'a>(
    path: &Path,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<()> {
    write_and_publish(path, pieces, |temporary| match fs::hard_link(temporary, path) {
        Ok(()) => fs::remove_file(temporary),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links: an empty file reserves the name.
        Err(_) => File::create_new(path).and_then(|_| fs::rename(temporary, path)),
    })
}

/// Writes and syncs a temporary file, then calls `publish` with its path; if anything fails, removes the
/// temporary file.
fn write_and_publish<'a>(
    path: &Path,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    publish: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<()> {
    remove_abandoned(path);
    let (temporary, mut file) =
        create_temporary(|| temporary_path(path)).map_err(Error::io(path))?;
    let write = || {
        pieces.into_iter().try_for_each(|piece| file.write_all(piece))?;
        file.sync_all()?;
        publish(&temporary)
    };
    let result = write();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(Error::io(path))
}

/// A file that is written piece by piece under a temporary name. It is removed unless it is published.
pub(crate) struct PendingFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    is_published: bool,
}

impl PendingFile {
    /// Starts a file that is to become `path`. Removes the temporary files that killed processes left behind while
    /// they wrote the same path.
    pub fn create(path: &Path) -> Result<Self> {
        remove_abandoned(path);
        let (temporary, file) =
            create_temporary(|| temporary_path(path)).map_err(Error::io(path))?;
        Ok(Self { file, temporary, path: path.into(), is_published: false })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))
    }

    /// Syncs the file and renames it to its path.
    pub fn publish(mut self) -> Result<()> {
        let synced = self.file.sync_all().and_then(|()| fs::rename(&self.temporary, &self.path));
        synced.map_err(Error::io(&self.path))?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Reads bytes at an offset; other reads of the same file, also by other threads, do not interfere.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Reads bytes at an offset; other reads of the same file, also by other threads, do not interfere.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => {
                bytes = &mut bytes[n..];
                offset += n as u64;
            }
        }
    }
    Ok(())
}

/// Removes the temporary files that killed processes left behind while they wrote `path`.
fn remove_abandoned(path: &Path) {
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        let name = name.to_string_lossy();
        remove_temporary_files(folder, |file, process| file == name && !is_running(process));
    }
}

/// Creates the first file of `paths` that does not exist: processes of two containers or machines that share a
/// folder may have the same number.
fn create_temporary(mut paths: impl FnMut() -> PathBuf) -> io::Result<(PathBuf, File)> {
    loop {
        let path = paths();
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (path, file)),
        }
    }
}

/// Removes the temporary files in a folder whose process satisfies `is_dead`; failures are ignored.
pub(crate) fn remove_partials(folder: &Path, is_dead: impl Fn(u32) -> bool) {
    remove_temporary_files(folder, |_, process| is_dead(process));
}

/// Removes the temporary files in a folder for which `select` is true, given the name of the file that was to be
/// written and the process that wrote it.
fn remove_temporary_files(folder: &Path, select: impl Fn(&str, u32) -> bool) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let origin = temporary_origin(name.to_str().unwrap_or_default());
        if origin.is_some_and(|(file, process)| select(file, process)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The file that a temporary file with this name was to become, and the process that wrote it; `None` for other
/// names.
fn temporary_origin(name: &str) -> Option<(&str, u32)> {
    let (file, writer) = name.strip_prefix('.')?.strip_suffix(".partial")?.rsplit_once('.')?;
    let (process, number) = writer.split_once('-')?;
    number.parse::<u64>().ok()?;
    Some((file, process.parse().ok()?))
}

/// Whether a process with this number exists on this machine; `true` where that is unknown.
pub(crate) fn is_running(process: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(process.to_string()).exists()
}

/// A hidden path in the folder of `path` that no other thread or process uses.
fn temporary_path(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{number}.partial", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_contents_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_atomically(&path, [&b"old"[..]]).unwrap();
        write_atomically(&path, [&b"new "[..], b"text"]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new text");
        assert!(write_atomically(&folder.path().join("no/folder"), [&b"x"[..]]).is_err());
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write_atomically(&folder.path().join("taken"), [&b"x"[..]]).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_pending_file_appears_when_it_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.terms");
        let mut pending = PendingFile::create(&path).unwrap();
        pending.write(b"abc").unwrap();
        pending.write(b"def").unwrap();
        assert!(!path.exists());
        pending.publish().unwrap();
        let mut middle = [0; 3];
        read_at(&File::open(&path).unwrap(), &mut middle, 2).unwrap();
        assert_eq!(&middle, b"cde");
        assert!(read_at(&File::open(&path).unwrap(), &mut middle, 4).is_err());
        drop(PendingFile::create(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.graph");
        write_new_atomically(&path, [&b"first"[..]]).unwrap();
        let error = write_new_atomically(&path, [&b"second"[..]]).unwrap_err();
        assert!(
            matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn temporary_file_of_another_writer_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join(".a.json.1-0.partial");
        fs::write(&taken, "by a process 1 in another container").unwrap();
        let mut number = 0..;
        let paths =
            || folder.path().join(format!(".a.json.1-{}.partial", number.next().unwrap_or(0)));
        let (path, mut file) = create_temporary(paths).unwrap();
        file.write_all(b"ours").unwrap();
        assert_eq!(path, folder.path().join(".a.json.1-1.partial"));
        assert_eq!(fs::read(&taken).unwrap(), b"by a process 1 in another container");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        let cases = [
            (&pipe, "a pipe"),
            (&link, "a pipe"),
            (&folder.path().to_owned(), "a folder"),
            (&PathBuf::from("/dev/zero"), "a device"),
        ];
        for (path, kind) in cases {
            let expected = format!("{}: is {kind}; expected a regular file", path.display());
            for error in [open(path).unwrap_err(), read_text(path).unwrap_err()] {
                assert!(error.is_input() && error.to_string() == expected, "{error}");
            }
        }
        assert!(read(&folder.path().join("missing")).unwrap_err().is_not_found());
        fs::write(folder.path().join("text"), "a\u{e9}").unwrap();
        assert_eq!(read_text(&folder.path().join("text")).unwrap(), "a\u{e9}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn writing_removes_what_killed_writers_of_the_same_file_left() {
        let folder = tempfile::tempdir().unwrap();
        // Larger than any process number of Linux.
        let partial = |name: &str| folder.path().join(format!(".{name}.99999999-0.partial"));
        for name in ["a.graph", "b.graph"] {
            fs::write(partial(name), "unfinished").unwrap();
        }
        write_new_atomically(&folder.path().join("a.graph"), [&b"new"[..]]).unwrap();
        assert!(!partial("a.graph").exists() && partial("b.graph").exists());
        write_atomically(&folder.path().join("b.graph"), [&b"new"[..]]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_temporary_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (dead, alive) = (child.id(), std::process::id());
        let kept = [
            format!(".a.json.{alive}-0.partial"),
            ".a.json.partial".into(),
            format!("a.json.{dead}-0.partial"),
            format!(".a.json.{dead}-x.partial"),
        ];
        let removed = [format!(".a.json.{dead}-0.partial"), format!(".b.{dead}-17.partial")];
        for name in kept.iter().chain(&removed) {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_partials(folder.path(), |process| !is_running(process));
        let exists = |name: &String| folder.path().join(name).exists();
        assert!(kept.iter().all(exists) && !removed.iter().any(exists));
    }
}
