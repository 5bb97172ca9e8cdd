//! Reads the bytes of a pickle.

use crate::error::{Error, Result};

pub(super) struct PickleInput<'p, 'a> {
    pub(super) place: &'p str,
    pub(super) bytes: &'a [u8],
    /// Position of the next byte.
    pub(super) at: usize,
    /// Position of the current opcode.
    pub(super) opcode_at: usize,
}

impl<'a> PickleInput<'_, 'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| {
            self.bad(format!("expected {count} bytes, {} left: the file is truncated", rest.len()))
        })?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.word().map(|[byte]| byte)
    }

    pub(super) fn word<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("`take` returns `N` bytes"))
    }

    /// Reads a little-endian length of `width` bytes.
    pub(super) fn length(&mut self, width: usize) -> Result<usize> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().rfold(0, |number, &byte| number << 8 | usize::from(byte)))
    }

    /// Reads bytes preceded by their length, which has `width` bytes.
    pub(super) fn length_prefixed(&mut self, width: usize) -> Result<&'a [u8]> {
        let length = self.length(width)?;
        self.take(length)
    }

    /// Reads a line without its line feed.
    pub(super) fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n');
        let end = end.ok_or_else(|| self.bad("unterminated line".into()))?;
        self.at += end + 1;
        Ok(&rest[..end])
    }

    pub(super) fn number<T: std::str::FromStr>(&self, digits: &[u8]) -> Result<T> {
        let text = std::str::from_utf8(digits).ok();
        text.and_then(|text| text.trim().parse().ok())
            .ok_or_else(|| self.bad("the number is invalid or too large".into()))
    }

    /// Returns the file and the position of the current opcode.
    pub(super) fn location(&self) -> String {
        format!("{}: byte {}", self.place, self.opcode_at)
    }

    pub(super) fn bad(&self, problem: String) -> Error {
        Error::Data { place: self.location(), problem }
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
}
