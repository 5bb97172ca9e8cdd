//! The lock of a journal: a symbolic link beside it, which Optuna's workers respect and so do we.
//!
//! Making a link fails if there is one, even over a network; that is all the exclusion there is. A
//! worker that dies with the lock leaves it behind, so a lock is broken when neither it nor the journal,
//! seen through it, has changed for half a minute.

use crate::error::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io, thread};

/// How long to wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// After this time without a change the holder of a lock is held for dead; Optuna's is 30 s.
    pub stale: Duration,
    /// After this time without the lock a call fails.
    pub give_up: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { stale: Duration::from_secs(30), give_up: Duration::from_secs(600) }
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Lock {
    journal: PathBuf,
    link: PathBuf,
    /// Where the link goes before it is removed, a name nobody else uses.
    aside: PathBuf,
    patience: Patience,
}

/// The lock in our hands; dropping it lets it go.
pub(super) struct Held<'a> {
    lock: &'a Lock,
    made: Option<SystemTime>,
}

/// When the link was made, and when the journal behind it was written.
type Sight = (Option<SystemTime>, Option<SystemTime>);

impl Lock {
    /// The lock of a journal, whose path must be absolute, or the link would dangle elsewhere.
    pub fn new(journal: &Path, worker: &str, patience: Patience) -> Self {
        assert!(journal.is_absolute(), "lock: `{}` is relative", journal.display());
        let beside = |end: &str| {
            let mut name = journal.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let (link, aside) = (beside(".lock"), beside(&format!(".lock{worker}.rename")));
        Self { journal: journal.to_owned(), link, aside, patience }
    }

    /// Waits until the lock is ours.
    pub fn acquire(&self) -> Result<Held<'_>> {
        let (began, mut pause) = (Instant::now(), SHORTEST_PAUSE);
        let mut seen = (self.look(), began);
        loop {
            match make_link(&self.journal, &self.link) {
                Ok(()) => return Ok(Held { lock: self, made: made(&self.link) }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(self.refused(e)),
            }
            let sight = self.look();
            if sight != seen.0 {
                seen = (sight, Instant::now());
            } else if sight.0.is_some() && seen.1.elapsed() > self.patience.stale {
                self.remove(sight.0);
                (seen, pause) = ((self.look(), Instant::now()), SHORTEST_PAUSE);
                continue;
            }
            if began.elapsed() > self.patience.give_up {
                return Err(self.busy());
            }
            thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    fn look(&self) -> Sight {
        let written = fs::metadata(&self.link).and_then(|link| link.modified());
        (made(&self.link), written.ok())
    }

    /// Removes the link that was made then, not one that somebody made since: moving it aside first
    /// leaves one winner where several try.
    fn remove(&self, then: Option<SystemTime>) {
        if made(&self.link) == then && fs::rename(&self.link, &self.aside).is_ok() {
            // What stands aside locks nothing, so it does little harm if it stays.
            let _ = fs::remove_file(&self.aside);
        }
    }

    fn refused(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::Data {
                place: self.journal.display().to_string(),
                problem: format!("cannot be locked: {source}; its folder must be writable"),
            },
            _ => Error::Io { path: self.journal.clone(), source },
        }
    }

    fn busy(&self) -> Error {
        let seconds = self.patience.give_up.as_secs();
        Error::Data {
            place: self.link.display().to_string(),
            problem: format!(
                "other workers held this lock whenever we tried, for {seconds} s; use fewer workers, \
                 or remove it if none is alive"
            ),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.remove(self.made);
    }
}

fn made(link: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(link).and_then(|link| link.modified()).ok()
}

#[cfg(unix)]
fn make_link(journal: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(journal, link)
}

/// Optuna's other kind of lock, an empty file of the same name: links need privileges here.
#[cfg(not(unix))]
fn make_link(_journal: &Path, link: &Path) -> io::Result<()> {
    fs::File::create_new(link).map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn lock(folder: &Path, stale: u64, give_up: u64) -> Lock {
        let (stale, give_up) = (Duration::from_millis(stale), Duration::from_millis(give_up));
        Lock::new(&folder.join("study.log"), "w", Patience { stale, give_up })
    }

    #[test]
    fn it_points_at_the_journal_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 1000, 1000);
        let held = lock.acquire().unwrap();
        assert_eq!(fs::read_link(folder.path().join("study.log.lock")).unwrap(), lock.journal);
        drop(held);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_stale_one_is_broken_even_if_it_dangles() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("study.log.lock")).unwrap();
        let began = Instant::now();
        lock(folder.path(), 50, 60_000).acquire().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(50));
    }

    #[test]
    fn one_whose_journal_grows_is_waited_for() {
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
        assert!(error.to_string().contains("study.log.lock: other workers held"), "{error}");
        drop(held);
        lock.acquire().unwrap();
    }

    #[test]
    fn a_lock_that_was_broken_is_not_released_twice() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path(), 30, 60_000);
        let slow = lock.acquire().unwrap();
        let quick = lock.acquire().unwrap();
        drop(slow);
        assert!(made(&lock.link).is_some(), "the second holder's lock was released by the first");
        drop(quick);
    }

    #[test]
    fn a_missing_folder_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = lock(&folder.path().join("none"), 10, 10).acquire().map(drop).unwrap_err();
        assert!(error.to_string().contains("none/study.log"), "{error}");
    }
}
