//! `.npz` files: NumPy arrays in a zip archive, stored or deflated.
//!
//! ```text
//! archive   = members directory end
//! member    = "PK\3\4", 26 bytes that end in the lengths of name and extra, name, extra, data
//! directory = for each member "PK\1\2", 42 bytes (method, crc, sizes, offset, ...), name, extra, comment
//! end       = "PK\5\6", 18 bytes (members, size and offset of the directory), comment
//! ```
//!
//! The sizes in the directory are compared with the size of the file before anything is decompressed,
//! and decompression stops at the listed size, so that a zip bomb uses at most the memory that
//! [`limit`] allows. Zip64, encryption and other compression methods are rejected; NumPy uses none of
//! them below 4 GiB.

use super::array::NumpyArray;
use super::npy;
use crate::error::{Error, Result};
use flate2::{Crc, read::DeflateDecoder};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;

/// An archive of arrays, which are decompressed on access.
#[derive(Debug)]
pub struct Npz<'a> {
    place: String,
    bytes: &'a [u8],
    members: Vec<NpzMember>,
}

/// A member as listed in the directory.
#[derive(Debug)]
struct NpzMember {
    /// Array name, without `.npy`.
    name: String,
    encrypted: bool,
    method: u16,
    crc: u32,
    packed: usize,
    unpacked: usize,
    /// Position of the local header.
    at: usize,
}

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;

/// Returns the largest total decompressed size: 256 times the archive plus 16 MiB.
///
/// The features of Squirrel, 99% zeros, decompress to 62 times their size.
pub fn limit(archive: usize) -> usize {
    archive.saturating_mul(256).saturating_add(16 << 20)
}

/// Reads the directory; errors refer to the archive as `place`.
pub fn read_bytes<'a>(place: &str, bytes: &'a [u8]) -> Result<Npz<'a>> {
    let mut npz = Npz { place: place.into(), bytes, members: vec![] };
    let (mut at, n_members) = npz.directory()?;
    let mut names = HashSet::new();
    for _ in 0..n_members {
        let (member, next) = npz.member(at)?;
        if !names.insert(member.name.clone()) {
            return Err(npz.bad(format!("duplicate member `{}`", member.name)));
        }
        npz.members.push(member);
        at = next;
    }
    let total = npz.members.iter().fold(0usize, |sum, m| sum.saturating_add(m.unpacked));
    let limit = limit(bytes.len());
    if total > limit {
        return Err(npz.bad(format!("decompresses to {total} bytes; expected at most {limit}")));
    }
    Ok(npz)
}

impl<'a> Npz<'a> {
    /// Returns the names of the arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| &*member.name)
    }

    /// Whether there is an array with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the array with this name.
    pub fn array(&self, name: &str) -> Result<NumpyArray<'a>> {
        let member = self.members.iter().find(|member| member.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            self.bad(format!("no array `{name}`; the file has: {}", names.join(", ")))
        })?;
        let place = format!("{}: {name}", self.place);
        match self.unpack(member)? {
            Cow::Borrowed(bytes) => npy::read_bytes(&place, bytes),
            Cow::Owned(bytes) => npy::read_vec(&place, bytes),
        }
    }

    /// Returns the position of the directory and the number of members.
    fn directory(&self) -> Result<(usize, usize)> {
        // The end record is followed only by a comment, whose length it contains.
        let last = self.bytes.len().checked_sub(END_LEN);
        let is_end_record = |&at: &usize| {
            self.bytes[at..].starts_with(END)
                && self
                    .u16(at + 20)
                    .is_ok_and(|n| at + END_LEN + usize::from(n) == self.bytes.len())
        };
        let earliest = last.map_or(0, |last| last.saturating_sub(u16::MAX.into()));
        let end =
            last.and_then(|last| (earliest..=last).rev().find(is_end_record)).ok_or_else(|| {
                self.bad("not a zip archive, or truncated: no end of central directory".into())
            })?;
        let (count, at) = (self.u16(end + 10)?, self.u32(end + 16)?);
        if count == u16::MAX || at == u32::MAX {
            return Err(self.bad("zip64 archive; expected one of less than 4 GiB".into()));
        }
        Ok((at as usize, count.into()))
    }

    /// Returns the member listed at byte `at`, and the position of the next one.
    fn member(&self, at: usize) -> Result<(NpzMember, usize)> {
        self.expect(at, DIRECTORY_ENTRY)?;
        let lengths = [self.u16(at + 28)?, self.u16(at + 30)?, self.u16(at + 32)?];
        let [name_len, extra, comment] = lengths.map(usize::from);
        let name = self.slice(at + 46, name_len)?;
        let name = String::from_utf8_lossy(name.strip_suffix(b".npy").unwrap_or(name)).into_owned();
        let member = NpzMember {
            name,
            encrypted: self.u16(at + 8)? & 1 == 1,
            method: self.u16(at + 10)?,
            crc: self.u32(at + 16)?,
            packed: self.u32(at + 20)? as usize,
            unpacked: self.u32(at + 24)? as usize,
            at: self.u32(at + 42)? as usize,
        };
        Ok((member, at + 46 + name_len + extra + comment))
    }

    fn unpack(&self, member: &NpzMember) -> Result<Cow<'a, [u8]>> {
        let bad = |problem: &str| self.bad(format!("member `{}` {problem}", member.name));
        self.expect(member.at, LOCAL_HEADER)?;
        let name = usize::from(self.u16(member.at + 26)?);
        let extra = usize::from(self.u16(member.at + 28)?);
        let packed = self.slice(member.at + 30 + name + extra, member.packed)?;
        let unpacked = match member.method {
            _ if member.encrypted => return Err(bad("is encrypted")),
            STORED => Cow::Borrowed(packed),
            DEFLATED => {
                let inflated = inflate(packed, member.unpacked);
                Cow::Owned(inflated.ok_or_else(|| bad("is damaged: cannot inflate"))?)
            }
            _ => return Err(bad("is neither stored nor deflated")),
        };
        let mut crc = Crc::new();
        crc.update(&unpacked);
        if unpacked.len() != member.unpacked {
            return Err(bad("does not have the size listed in the directory"));
        }
        // A fuzzer cannot find valid checksums.
        if crc.sum() != member.crc && !cfg!(fuzzing) {
            return Err(bad("is damaged: wrong checksum"));
        }
        Ok(unpacked)
    }

    fn expect(&self, at: usize, signature: &[u8]) -> Result<()> {
        if self.slice(at, signature.len())? != signature {
            return Err(self.bad_at(at, format!("expected `{}`", signature.escape_ascii())));
        }
        Ok(())
    }

    fn slice(&self, at: usize, length: usize) -> Result<&'a [u8]> {
        let slice = self.bytes.get(at..).and_then(|rest| rest.get(..length));
        slice.ok_or_else(|| {
            self.bad_at(at, format!("expected {length} bytes; the file is truncated"))
        })
    }

    fn u16(&self, at: usize) -> Result<u16> {
        Ok(self.slice(at, 2)?.iter().rfold(0, |number, &byte| number << 8 | u16::from(byte)))
    }

    fn u32(&self, at: usize) -> Result<u32> {
        Ok(self.slice(at, 4)?.iter().rfold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    fn bad_at(&self, at: usize, problem: String) -> Error {
        Error::Data { place: format!("{}: byte {at}", self.place), problem }
    }

    fn bad(&self, problem: String) -> Error {
        Error::Data { place: self.place.clone(), problem }
    }
}

/// Decompresses at most one byte more than `claimed`, so that a longer stream is detected.
fn inflate(packed: &[u8], claimed: usize) -> Option<Vec<u8>> {
    // The compression ratio of deflate is at most 1032.
    let mut unpacked = Vec::with_capacity(claimed.min(packed.len().saturating_mul(1032)));
    let stream = DeflateDecoder::new(packed);
    stream.take(claimed as u64 + 1).read_to_end(&mut unpacked).ok()?;
    Some(unpacked)
}

#[cfg(test)]
pub(super) mod tests;
