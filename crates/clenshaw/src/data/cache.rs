//! A cache of parsed graphs: the next load memory-maps a graph file instead of parsing text again.
//!
//! ```text
//! <cache>/parsed/<hash of name and path>.graph      replaced when a source file changes
//! ```
//!
//! An entry is used only if its stamp matches: a digest of the versions of this crate and its readers
//! and of the path, size and modification time of every source file.
//! Other entries are replaced. Loading succeeds even if the cache cannot be read or written.

use super::fingerprint::Fingerprint;
use super::{Dataset, graph_file};
use crate::error::Result;
use crate::files;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Increase this when a reader returns a different result for the same files, or the order of nodes changes.
const READER_VERSION: u64 = 5;
/// Maximum number of entries; the oldest are removed before another one is written.
const MAX_ENTRIES: usize = 64;

/// The source of a cache entry, which determines its file name and stamp.
pub(super) struct CacheSource<'a> {
    /// Distinguishes entries of the same path: the data set's name, or the path and options.
    pub name: &'a str,
    /// The file or folder that is read.
    pub path: &'a Path,
    /// All files that the result depends on, existing or not.
    pub files: &'a [PathBuf],
}

/// Returns the data set that an earlier call stored in the folder `cache`, if the source files have not changed;
/// otherwise calls `read` and tries to store the result.
///
/// The result is not stored if a file changed during the call or if [`Dataset::checked`] would return an error.
pub(super) fn load_or_read(
    cache: Option<&Path>,
    source: &CacheSource<'_>,
    read: impl FnOnce() -> Result<Dataset>,
) -> Result<Dataset> {
    let (Some(folder), Some(stamp)) = (cache, stamp(source.files)) else { return read() };
    let entry = folder.join(entry_name(source));
    if let Some(dataset) = graph_file::open_stamped(&entry, &stamp) {
        return Ok(dataset);
    }
    let dataset = read()?;
    // Files that changed while they were read may have been read only partially.
    if dataset.problem().is_none() && self::stamp(source.files).as_ref() == Some(&stamp) {
        // If the entry cannot be written, the next load parses again.
        let _ = write(&dataset, &stamp, &entry);
    }
    Ok(dataset)
}

/// Writes an entry, after removing excess entries and the partial files of killed processes.
fn write(dataset: &Dataset, stamp: &str, entry: &Path) -> Result<()> {
    if let Some(folder) = entry.parent() {
        let _ = fs::create_dir_all(folder);
        remove_oldest(folder, entry);
        files::remove_partials(folder, |process| !files::is_running(process));
    }
    graph_file::save_stamped(dataset, stamp, entry).map(drop)
}

/// Removes the oldest entries, so that there are at most [`MAX_ENTRIES`] once `entry` is written.
fn remove_oldest(folder: &Path, entry: &Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let others = paths.filter(|path| is_entry(path) && path != entry);
    let mut others: Vec<(SystemTime, PathBuf)> = others
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    others.sort();
    let excess = (others.len() + 1).saturating_sub(MAX_ENTRIES);
    for (_, path) in &others[..excess] {
        let _ = fs::remove_file(path);
    }
}

/// Whether a file is named like `0123456789abcdef.graph`, as all entries are.
fn is_entry(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_hash = stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && path.extension().is_some_and(|extension| extension == "graph")
}

/// The file name of an entry.
fn entry_name(source: &CacheSource<'_>) -> String {
    let digest = Fingerprint::new("clenshaw parsed").list(source.name.bytes());
    digest.list(path_bytes(source.path)).hex()[..16].to_owned() + ".graph"
}

/// The stamp of these files, existing or not; `None` if [`times`] is `None` for one of them.
fn stamp(files: &[PathBuf]) -> Option<String> {
    let version = env!("CARGO_PKG_VERSION");
    let start = Fingerprint::new("clenshaw sources").number(READER_VERSION).list(version.bytes());
    let digest = files.iter().try_fold(start, |digest, path| {
        let digest = digest.list(path_bytes(path));
        match fs::metadata(path) {
            Ok(file) => Some(digest.number(file.len()).list(times(&file)?)),
            Err(_) => Some(digest.number(u64::MAX)),
        }
    })?;
    Some(digest.hex())
}

/// The modification time and, on Unix, the time of the last change of the inode, since 1970; `None` if the
/// modification time is unknown or out of range.
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

/// The bytes of the absolute path.
fn path_bytes(path: &Path) -> Vec<u8> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.as_os_str().as_encoded_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::Cell;

    /// A folder with one source file and a cache, and how often the file has been parsed.
    struct CacheFixture {
        folder: tempfile::TempDir,
        parsed: Cell<usize>,
    }

    impl CacheFixture {
        fn new() -> Self {
            let fixture = Self { folder: tempfile::tempdir().unwrap(), parsed: Cell::new(0) };
            fixture.write("one");
            fixture
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn write(&self, text: &str) {
            fs::write(self.path("source"), text).unwrap();
        }

        /// Loads the data set and returns how often it has been parsed so far.
        fn load(&self) -> usize {
            let files = &[self.path("source"), self.path("absent")];
            let source = CacheSource { name: "it", path: self.folder.path(), files };
            let read = || {
                self.parsed.set(self.parsed.get() + 1);
                crate::data::load("csbm:nodes=60")
            };
            let dataset = load_or_read(Some(&self.path("cache")), &source, read).unwrap();
            assert_eq!(dataset, crate::data::load("csbm:nodes=60").unwrap());
            self.parsed.get()
        }

        fn entries(&self) -> Vec<PathBuf> {
            let files = fs::read_dir(self.path("cache")).unwrap();
            files.map(|file| file.unwrap().path()).collect()
        }
    }

    #[test]
    fn parses_again_only_when_a_source_file_changes() {
        let fixture = CacheFixture::new();
        assert_eq!([fixture.load(), fixture.load()], [1, 1]);
        fixture.write("three");
        assert_eq!([fixture.load(), fixture.load()], [2, 2]);
        // Same size, different time.
        fixture.write("seven");
        let file = fs::File::options().write(true).open(fixture.path("source")).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert_eq!([fixture.load(), fixture.load()], [3, 3]);
        fs::write(fixture.path("absent"), "here").unwrap();
        assert_eq!([fixture.load(), fixture.load()], [4, 4]);
        assert_eq!(fixture.entries().len(), 1, "the old entry was replaced");
    }

    #[test]
    fn the_order_of_nodes_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("source");
        fs::write(&file, "x").unwrap();
        let source = CacheSource { name: "it", path: folder.path(), files: &[file] };
        let load = |dataset: &Dataset| {
            let read = || Ok(dataset.clone());
            load_or_read(Some(&folder.path().join("cache")), &source, read).unwrap()
        };
        let nodes: Vec<u32> = (0..60).rev().collect();
        let mut dataset = crate::data::load("csbm:nodes=60").unwrap();
        let order = crate::tensor::NodeOrder::new(nodes.clone());
        dataset.graph = dataset.graph.with_node_order(order);
        load(&dataset);
        // The entry is used, not the argument.
        let other = crate::data::load("csbm:nodes=60").unwrap();
        assert_eq!(load(&other).graph.node_order().unwrap().nodes(), nodes);
    }

    #[test]
    fn damaged_entry_is_rewritten() {
        let fixture = CacheFixture::new();
        fixture.load();
        let entry = &fixture.entries()[0];
        for damaged in [&b"foreign"[..], &fs::read(entry).unwrap()[..200]] {
            let before = fixture.load();
            // Not in place: the entry may be mapped.
            fs::remove_file(entry).unwrap();
            fs::write(entry, damaged).unwrap();
            assert_eq!([fixture.load(), fixture.load()], [before + 1, before + 1]);
        }
    }

    #[test]
    fn unwritable_cache_folder_is_not_an_error() {
        let fixture = CacheFixture::new();
        fs::write(fixture.path("cache"), "a file").unwrap();
        assert_eq!([fixture.load(), fixture.load()], [1, 2]);
    }

    #[test]
    fn failed_read_is_not_cached() {
        let fixture = CacheFixture::new();
        let failed = || Err(Error::Interrupted);
        let source = CacheSource { name: "it", path: fixture.folder.path(), files: &[] };
        assert!(load_or_read(Some(&fixture.path("cache")), &source, failed).is_err());
        assert!(!fixture.path("cache").exists());
    }

    #[test]
    fn only_the_oldest_entries_are_removed() {
        let fixture = CacheFixture::new();
        fs::create_dir(fixture.path("cache")).unwrap();
        for i in 0..MAX_ENTRIES as u64 {
            let file = fs::File::create(fixture.path(&format!("cache/{i:016x}.graph"))).unwrap();
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(i)).unwrap();
        }
        fs::write(fixture.path("cache/mine.graph"), "").unwrap();
        fixture.load();
        assert_eq!(fixture.entries().len(), MAX_ENTRIES + 1);
        assert!(fixture.path("cache/mine.graph").exists());
        assert!(!fixture.path("cache/0000000000000000.graph").exists());
        assert!(fixture.path("cache/0000000000000001.graph").exists());
    }
}
