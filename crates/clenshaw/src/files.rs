//! Atomic file writes: readers never see a partially written file.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the concatenated `pieces` to a temporary file, syncs it and renames it to `path`, so that
/// readers see either the old or the new contents, even after a power failure. On failure, the temporary
/// file is removed.
pub fn write_atomically<'a>(path: &Path, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<()> {
    let temporary = temporary_path(path);
    let write = || {
        let mut file = File::create(&temporary)?;
        pieces.into_iter().try_for_each(|piece| file.write_all(piece))?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    let result = write();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result.map_err(Error::io(path))
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
}
