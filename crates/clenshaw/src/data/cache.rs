//! Parsed graphs, kept so that the next load maps a file instead of parsing texts again.
//!
//! ```text
//! <cache>/parsed/<hash of what was read>.graph      one a path; replaced when a source has changed
//! ```
//!
//! An entry is used only if its stamp fits: the version of the readers, and of every source file the
//! path, size and time of change.
//! A damaged or foreign entry is written anew, and a folder that cannot be written is no error.
//! Whether there is a cache is the [`Store`](super::Store)'s business; without one nothing is kept.

use super::fingerprint::Fingerprint;
use super::{Dataset, graph_file};
use crate::error::Result;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Raised when a reader gives another result for the same files.
const READERS: u64 = 1;
/// The oldest entries go when there are more than this.
const MOST_ENTRIES: usize = 64;

/// What is read, and from where.
pub(super) struct Origin<'a> {
    /// What somebody typed.
    pub name: &'a str,
    /// The file or folder it stands for.
    pub place: &'a Path,
    /// Everything the result may depend on, whether it is there or not.
    pub sources: &'a [PathBuf],
}

/// What `read` gives, from the cache if it is there.
pub(super) fn through(
    cache: Option<&Path>,
    origin: &Origin<'_>,
    read: impl FnOnce() -> Result<Dataset>,
) -> Result<Dataset> {
    let sources = origin.sources;
    let (Some(folder), Some(stamp)) = (cache, stamp(sources)) else { return read() };
    let entry = folder.join(entry_name(origin));
    if let Some(dataset) = graph_file::open_stamped(&entry, &stamp) {
        return Ok(dataset);
    }
    let dataset = read()?;
    // Sources that changed while they were read may have been read in part.
    if dataset.problem().is_none() && self::stamp(sources).as_ref() == Some(&stamp) {
        // It is only a cache: if it cannot be written, the next load parses again.
        let _ = keep(&dataset, &stamp, &entry);
    }
    Ok(dataset)
}

fn keep(dataset: &Dataset, stamp: &str, entry: &Path) -> Result<()> {
    if let Some(folder) = entry.parent() {
        let _ = fs::create_dir_all(folder);
        drop_oldest(folder, entry);
    }
    graph_file::save_stamped(dataset, stamp, entry).map(drop)
}

/// Makes room for one more entry.
fn drop_oldest(folder: &Path, entry: &Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let others = paths.filter(|path| is_entry(path) && path != entry);
    let mut others: Vec<(SystemTime, PathBuf)> = others
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    others.sort();
    let too_many = (others.len() + 1).saturating_sub(MOST_ENTRIES);
    for (_, path) in &others[..too_many] {
        let _ = fs::remove_file(path);
    }
}

/// `0123456789abcdef.graph`: nothing else in the folder is ever removed.
fn is_entry(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_hash = stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && path.extension().is_some_and(|extension| extension == "graph")
}

fn entry_name(origin: &Origin<'_>) -> String {
    let digest = Fingerprint::of("clenshaw parsed").list(origin.name.bytes());
    digest.list(bytes_of(origin.place)).hex()[..16].to_owned() + ".graph"
}

/// What tells that the sources are still the same; `None` where the system does not say.
fn stamp(sources: &[PathBuf]) -> Option<String> {
    let version = env!("CARGO_PKG_VERSION");
    let start = Fingerprint::of("clenshaw sources").number(READERS).list(version.bytes());
    let digest = sources.iter().try_fold(start, |digest, source| {
        let digest = digest.list(bytes_of(source));
        match fs::metadata(source) {
            Ok(file) => Some(digest.number(file.len()).list(times(&file)?)),
            Err(_) => Some(digest.number(u64::MAX)),
        }
    })?;
    Some(digest.hex())
}

/// When the content changed; where it is known also when name, owner or times were changed.
fn times(file: &Metadata) -> Option<Vec<u64>> {
    let since = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut times = vec![u64::try_from(since.as_nanos()).ok()?];
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        times.extend([file.ctime().cast_unsigned(), file.ctime_nsec().cast_unsigned()]);
    }
    Some(times)
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.as_os_str().as_encoded_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::Cell;

    /// A folder with a source, and a cache beside it.
    struct Desk {
        folder: tempfile::TempDir,
        parsed: Cell<usize>,
    }

    impl Desk {
        fn new() -> Self {
            let desk = Self { folder: tempfile::tempdir().unwrap(), parsed: Cell::new(0) };
            desk.write("one");
            desk
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, text: &str) {
            fs::write(self.path("source"), text).unwrap();
        }

        /// Loads, and tells how often it was parsed so far.
        fn load(&self) -> usize {
            let sources = &[self.path("source"), self.path("absent")];
            let origin = Origin { name: "it", place: self.folder.path(), sources };
            let read = || {
                self.parsed.set(self.parsed.get() + 1);
                crate::data::load("csbm:nodes=60")
            };
            let dataset = through(Some(&self.path("cache")), &origin, read).unwrap();
            assert_eq!(dataset, crate::data::load("csbm:nodes=60").unwrap());
            self.parsed.get()
        }

        fn entries(&self) -> Vec<PathBuf> {
            let files = fs::read_dir(self.path("cache")).unwrap();
            files.map(|file| file.unwrap().path()).collect()
        }
    }

    #[test]
    fn it_is_parsed_once_until_a_source_changes() {
        let desk = Desk::new();
        assert_eq!([desk.load(), desk.load()], [1, 1]);
        desk.write("three");
        assert_eq!([desk.load(), desk.load()], [2, 2]);
        // The same size, at another time.
        desk.write("seven");
        let file = fs::File::options().write(true).open(desk.path("source")).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert_eq!([desk.load(), desk.load()], [3, 3]);
        fs::write(desk.path("absent"), "here").unwrap();
        assert_eq!([desk.load(), desk.load()], [4, 4]);
        assert_eq!(desk.entries().len(), 1, "the old entry was replaced");
    }

    #[test]
    fn a_bad_entry_is_written_anew() {
        let desk = Desk::new();
        desk.load();
        let entry = &desk.entries()[0];
        for damaged in [&b"foreign"[..], &fs::read(entry).unwrap()[..200]] {
            let before = desk.load();
            // Never in place: an entry may be mapped.
            fs::remove_file(entry).unwrap();
            fs::write(entry, damaged).unwrap();
            assert_eq!([desk.load(), desk.load()], [before + 1, before + 1]);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let desk = Desk::new();
        fs::write(desk.path("cache"), "a file").unwrap();
        assert_eq!([desk.load(), desk.load()], [1, 2]);
    }

    #[test]
    fn what_fails_is_not_kept() {
        let desk = Desk::new();
        let failed = || Err(Error::Interrupted);
        let origin = Origin { name: "it", place: desk.folder.path(), sources: &[] };
        assert!(through(Some(&desk.path("cache")), &origin, failed).is_err());
        assert!(!desk.path("cache").exists());
    }

    #[test]
    fn the_oldest_entries_go_and_nothing_else() {
        let desk = Desk::new();
        fs::create_dir(desk.path("cache")).unwrap();
        for i in 0..MOST_ENTRIES as u64 {
            let file = fs::File::create(desk.path(&format!("cache/{i:016x}.graph"))).unwrap();
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(i)).unwrap();
        }
        fs::write(desk.path("cache/mine.graph"), "").unwrap();
        desk.load();
        assert_eq!(desk.entries().len(), MOST_ENTRIES + 1);
        assert!(desk.path("cache/mine.graph").exists());
        assert!(!desk.path("cache/0000000000000000.graph").exists());
        assert!(desk.path("cache/0000000000000001.graph").exists());
    }
}
