//! The file of a journal: lines are only ever added, and what a reader has read stays true.
//!
//! A worker that dies while it writes may leave half a line. Readers do not look at a line before its
//! end has come; the next of our writers, who has the lock and so knows that nobody will finish the
//! line, cuts it off. Optuna's writers would glue their own line to it, which then nobody can read.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// A file and how far it was read.
pub(super) struct JournalFile {
    path: PathBuf,
    offset: u64,
    lines: u64,
}

/// What is done with a line; what is wrong with it, if it cannot be done.
type Said = std::result::Result<(), String>;

impl JournalFile {
    /// The file at a path; it need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, lines: 0 }
    }

    /// Hands over the lines that are new since the last time.
    pub fn read(&mut self, mut each: impl FnMut(&str) -> Said) -> Result<()> {
        // A line that was cut off and replaced while we read looks bad once, but not twice.
        self.read_once(&mut each).or_else(|_| self.read_once(&mut each))
    }

    fn read_once(&mut self, each: &mut dyn FnMut(&str) -> Said) -> Result<()> {
        let bytes = self.bytes()?;
        let whole = |line: &&[u8]| line.ends_with(b"\n");
        for line in bytes.split_inclusive(|byte| *byte == b'\n').take_while(whole) {
            let text = std::str::from_utf8(line).map_err(|e| e.to_string());
            text.and_then(&mut *each).map_err(|problem| Error::Data {
                place: format!("{}: line {}", self.path.display(), self.lines + 1),
                problem,
            })?;
            self.offset += line.len() as u64;
            self.lines += 1;
        }
        Ok(())
    }

    /// What follows the place, up to the present end.
    fn bytes(&self) -> Result<Vec<u8>> {
        let path = &self.path;
        let mut file = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound && self.offset == 0 => return Ok(Vec::new()),
            opened => opened.map_err(Error::io(path))?,
        };
        let length = file.metadata().map_err(Error::io(path))?.len();
        let new = length.checked_sub(self.offset).ok_or_else(|| Error::Data {
            place: path.display().to_string(),
            problem: format!(
                "has {length} bytes, but had {} before; was it replaced?",
                self.offset
            ),
        })?;
        let mut bytes = Vec::with_capacity(new as usize);
        file.seek(SeekFrom::Start(self.offset)).map_err(Error::io(path))?;
        file.take(new).read_to_end(&mut bytes).map_err(Error::io(path))?;
        Ok(bytes)
    }

    /// Adds lines, all or none. The caller has the lock, and has just read.
    pub fn append(&self, lines: &str) -> Result<()> {
        append(&self.path, self.offset, lines).map_err(Error::io(&self.path))
    }
}

/// Adds text where the last whole line ends, in one write, and waits until the disk has it.
fn append(path: &std::path::Path, end: u64, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // A full disk may have taken half of it.
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
    fn half_a_line_waits_and_is_cut_off_by_the_next_writer() {
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
    fn a_bad_line_is_named_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.log");
        fs::write(&path, "good\nbad\ngood\n").unwrap();
        let mut file = JournalFile::new(path.clone());
        let check = |line: &str| if line == "good\n" { Ok(()) } else { Err("is bad".to_owned()) };
        for _ in 0..2 {
            let error = file.read(check).unwrap_err().to_string();
            assert!(error.ends_with("study.log: line 2: is bad"), "{error}");
        }
        fs::write(&path, b"good\n\xff\n").unwrap();
        assert!(file.read(check).unwrap_err().to_string().contains("line 2"));
        fs::write(&path, "").unwrap();
        let error = file.read(check).unwrap_err().to_string();
        assert!(error.ends_with("has 0 bytes, but had 5 before; was it replaced?"), "{error}");
    }
}
