//! The append-only file of a journal.
//!
//! A worker that dies while writing may leave a truncated line. Readers ignore an incomplete last line. The
//! next writer from this crate removes it: the writer holds the lock, so no other worker can still complete
//! the line. Optuna's writers would append their entry to it, which makes the file unreadable.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// A file, and the position up to which it has been read.
pub(super) struct JournalFile {
    path: PathBuf,
    /// The number of bytes of the lines read.
    offset: u64,
    /// The number of lines read.
    n_lines: u64,
}

/// The result of processing a line; the error is a message.
type LineResult = std::result::Result<(), String>;

impl JournalFile {
    /// The file at a path; it need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, n_lines: 0 }
    }

    /// Calls `apply` with each complete new line, including its newline. After an error, the rest of the file
    /// is read a second time; if that fails as well, the error is returned, and the next call starts at the
    /// same line.
    pub fn read(&mut self, mut apply: impl FnMut(&str) -> LineResult) -> Result<()> {
        // If a writer replaces a truncated line during the read, the bytes may be a mixture of both; reading
        // again gives the new line.
        self.read_once(&mut apply).or_else(|_| self.read_once(&mut apply))
    }

    /// As [`read`](Self::read), without reading a second time.
    fn read_once(&mut self, apply: &mut dyn FnMut(&str) -> LineResult) -> Result<()> {
        let bytes = self.new_bytes()?;
        let is_complete = |line: &&[u8]| line.ends_with(b"\n");
        for line in bytes.split_inclusive(|byte| *byte == b'\n').take_while(is_complete) {
            let text = std::str::from_utf8(line).map_err(|e| e.to_string());
            text.and_then(&mut *apply).map_err(|problem| Error::Data {
                location: format!("{}: line {}", self.path.display(), self.n_lines + 1),
                problem,
            })?;
            self.offset += line.len() as u64;
            self.n_lines += 1;
        }
        Ok(())
    }

    /// Reads the bytes after the current position. A missing file is empty, unless part of it has been read.
    /// Fails if the file is shorter than the current position.
    fn new_bytes(&self) -> Result<Vec<u8>> {
        let path = &self.path;
        let mut file = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound && self.offset == 0 => return Ok(Vec::new()),
            opened => opened.map_err(Error::io(path))?,
        };
        let length = file.metadata().map_err(Error::io(path))?.len();
        let n_new = length.checked_sub(self.offset).ok_or_else(|| Error::Data {
            location: path.display().to_string(),
            problem: format!(
                "has {length} bytes, but {} bytes have already been read; was it replaced?",
                self.offset
            ),
        })?;
        let mut bytes = Vec::with_capacity(n_new as usize);
        file.seek(SeekFrom::Start(self.offset)).map_err(Error::io(path))?;
        file.take(n_new).read_to_end(&mut bytes).map_err(Error::io(path))?;
        Ok(bytes)
    }

    /// Appends lines; if writing fails, the part that was written is removed. The caller must hold the lock and
    /// must have read the file since acquiring it; anything after the last line read is removed.
    pub fn append(&self, lines: &str) -> Result<()> {
        append(&self.path, self.offset, lines).map_err(Error::io(&self.path))
    }
}

/// Truncates the file to `end`, the end of the last complete line, appends text and syncs the file. Truncates
/// it again if writing fails.
fn append(path: &std::path::Path, end: u64, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // If the disk is full, only part of the text may have been written.
        file.set_len(end)?;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn lines(file: &mut JournalFile) -> Vec<String> {
        let mut lines = Vec::new();
        let keep = |line: &str| {
            lines.push(line.trim_end().to_owned());
            Ok(())
        };
        file.read(keep).unwrap();
        lines
    }

    #[test]
    fn truncated_line_is_ignored_and_removed_by_next_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.log");
        let mut file = JournalFile::new(path.clone());
        assert!(lines(&mut file).is_empty());
        file.append("one\n").unwrap();
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(lines(&mut file), ["one", "two"]);
        fs::write(&path, "one\ntwo\nthree\nfo").unwrap();
        assert_eq!(lines(&mut file), ["three"]);
        file.append("five\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\nfive\n");
        assert_eq!(lines(&mut file), ["five"]);
    }

    #[test]
    fn invalid_line_is_reported_on_every_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.log");
        fs::write(&path, "good\nbad\ngood\n").unwrap();
        let mut file = JournalFile::new(path.clone());
        let check =
            |line: &str| if line == "good\n" { Ok(()) } else { Err("is invalid".to_owned()) };
        for _ in 0..2 {
            let error = file.read(check).unwrap_err().to_string();
            assert!(error.ends_with("study.log: line 2: is invalid"), "{error}");
        }
        fs::write(&path, b"good\n\xff\n").unwrap();
        assert!(file.read(check).unwrap_err().to_string().contains("line 2"));
        fs::write(&path, "").unwrap();
        let error = file.read(check).unwrap_err().to_string();
        let expected = "has 0 bytes, but 5 bytes have already been read; was it replaced?";
        assert!(error.ends_with(expected), "{error}");
    }
}
