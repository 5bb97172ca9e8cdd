//! The lock of a journal: a symbolic link beside it, compatible with Optuna's `JournalFileSymlinkLock`. On
//! systems other than Unix it is an empty file.
//!
//! Creating a link fails if it exists, even on network file systems. A worker that dies while holding the
//! lock leaves it behind, so a lock is broken if neither the link nor the journal it points to has changed
//! for 30 seconds (by default).

use crate::error::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io, thread};

/// Timeouts of a journal's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOptions {
    /// The time without a change after which a waiting worker breaks the lock as stale; 30 seconds by default, as
    /// in Optuna.
    pub stale_after: Duration,
    /// The time to wait for the lock before a call fails; 10 minutes by default.
    pub timeout: Duration,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self { stale_after: Duration::from_secs(30), timeout: Duration::from_secs(600) }
    }
}

/// The pause after the first failed attempt to lock; each further pause is twice as long.
const MIN_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The lock of a journal; a [`LockGuard`] holds it.
pub(super) struct JournalLock {
    journal: PathBuf,
    link: PathBuf,
    /// The unique name to which the link is moved before it is removed.
    removal_path: PathBuf,
    options: LockOptions,
}

/// An acquired lock, released on drop.
pub(super) struct LockGuard<'a> {
    lock: &'a JournalLock,
    /// The creation time of the link, compared on drop, so that another worker's link is not removed.
    created_at: Option<SystemTime>,
}

/// The creation time of the link and the modification time of the journal it points to; `None` for a link or
/// journal that does not exist. If the lock is a file, the times of the file and of this lock's journal.
type LinkTimes = (Option<SystemTime>, Option<SystemTime>);

impl JournalLock {
    /// The lock of a journal. Panics if the path is relative, because the link would then point to another
    /// file when resolved from its folder.
    pub fn new(journal: &Path, worker_id: &str, options: LockOptions) -> Self {
        assert!(journal.is_absolute(), "JournalLock: `{}` is relative", journal.display());
        let with_suffix = |suffix: &str| {
            let mut name = journal.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let link = with_suffix(".lock");
        let removal_path = with_suffix(&format!(".lock{worker_id}.rename"));
        Self { journal: journal.to_owned(), link, removal_path, options }
    }

    /// Waits for the lock, and breaks it if it is stale. Fails after the timeout, or if the link cannot be
    /// created.
    pub fn acquire(&self) -> Result<LockGuard<'_>> {
        let (began, mut pause) = (Instant::now(), MIN_PAUSE);
        let mut last_change = (self.link_times(), began);
        loop {
            match create_link(&self.journal, &self.link) {
                Ok(()) => {
                    return Ok(LockGuard { lock: self, created_at: creation_time(&self.link) });
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(self.link_error(e)),
            }
            let times = self.link_times();
            if times != last_change.0 {
                last_change = (times, Instant::now());
            } else if times.0.is_some() && last_change.1.elapsed() > self.options.stale_after {
                self.remove(times.0);
                (last_change, pause) = ((self.link_times(), Instant::now()), MIN_PAUSE);
                continue;
            }
            if began.elapsed() > self.options.timeout {
                let seconds = self.options.timeout.as_secs();
                return Err(Error::LockTimeout { path: self.link.clone(), seconds });
            }
            thread::sleep(pause);
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }

    fn link_times(&self) -> LinkTimes {
        // On systems other than Unix the lock is a file, which does not point to the journal.
        let is_file = fs::symlink_metadata(&self.link).is_ok_and(|link| link.is_file());
        let journal = fs::metadata(if is_file { &self.journal } else { &self.link });
        (creation_time(&self.link), journal.and_then(|journal| journal.modified()).ok())
    }

    /// Removes the link if it was created at this time. It is moved aside first, so that only one of
    /// several workers removes it. As in Optuna, a link that another worker creates between the check and the
    /// move is removed as well.
    fn remove(&self, created_at: Option<SystemTime>) {
        if creation_time(&self.link) == created_at
            && fs::rename(&self.link, &self.removal_path).is_ok()
        {
            // A link that was moved aside locks nothing, so a failure to remove it is harmless.
            let _ = fs::remove_file(&self.removal_path);
        }
    }

    /// The error for a link that cannot be created.
    fn link_error(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::Data {
                location: self.journal.display().to_string(),
                problem: format!("cannot be locked: {source}; its folder must be writable"),
            },
            _ => Error::Io { path: self.journal.clone(), source },
        }
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        self.lock.remove(self.created_at);
    }
}

/// The time at which the link itself was created; `None` if it does not exist.
fn creation_time(link: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(link).and_then(|link| link.modified()).ok()
}

#[cfg(unix)]
fn create_link(journal: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(journal, link)
}

/// Optuna's `JournalFileOpenLock`, an empty file of the same name: links require privileges on Windows.
#[cfg(not(unix))]
fn create_link(_journal: &Path, link: &Path) -> io::Result<()> {
    fs::File::create_new(link).map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn lock(folder: &Path, stale_after: u64, timeout: u64) -> JournalLock {
        let (stale_after, timeout) =
            (Duration::from_millis(stale_after), Duration::from_millis(timeout));
        JournalLock::new(&folder.join("study.log"), "w", LockOptions { stale_after, timeout })
    }

    #[test]
    fn link_points_to_journal_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 1000, 1000);
        let held = lock.acquire().unwrap();
        assert_eq!(fs::read_link(folder.path().join("study.log.lock")).unwrap(), lock.journal);
        drop(held);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn breaks_stale_lock_with_dangling_link() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("study.log.lock")).unwrap();
        let began = Instant::now();
        lock(folder.path(), 50, 60_000).acquire().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(50));
    }

    #[test]
    fn lock_is_not_broken_while_journal_changes() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 200, 600);
        let held = lock.acquire().unwrap();
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| lock.acquire().map(drop).unwrap_err());
            while !waiting.is_finished() {
                fs::write(&lock.journal, "alive").unwrap();
                thread::sleep(Duration::from_millis(20));
            }
            waiting.join().unwrap()
        });
        assert!(error.to_string().contains("study.log.lock: other workers have held"), "{error}");
        assert!(matches!(error, Error::LockTimeout { .. }));
        drop(held);
        lock.acquire().unwrap();
    }

    /// As on Windows, and as with Optuna's `JournalFileOpenLock`.
    #[test]
    fn lock_that_is_a_file_is_not_broken_while_journal_changes() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 200, 600);
        fs::File::create_new(&lock.link).unwrap();
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| lock.acquire().map(drop).unwrap_err());
            while !waiting.is_finished() {
                fs::write(&lock.journal, "alive").unwrap();
                thread::sleep(Duration::from_millis(20));
            }
            waiting.join().unwrap()
        });
        assert!(matches!(error, Error::LockTimeout { .. }), "{error}");
        // Without changes, it is broken.
        lock.acquire().unwrap();
    }

    #[test]
    fn broken_lock_is_not_released_by_first_holder() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 30, 60_000);
        let slow = lock.acquire().unwrap();
        let quick = lock.acquire().unwrap();
        drop(slow);
        assert!(
            creation_time(&lock.link).is_some(),
            "the second holder's lock was released by the first"
        );
        drop(quick);
    }

    #[test]
    fn missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = lock(&folder.path().join("none"), 10, 10).acquire().map(drop).unwrap_err();
        assert!(error.to_string().contains("none/study.log"), "{error}");
    }
}
