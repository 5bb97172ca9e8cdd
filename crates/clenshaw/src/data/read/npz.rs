//! `.npz` files: NumPy arrays in a zip archive.
//!
//! An archive whose members have a total listed size above [`max_decompressed_size`] is rejected before
//! anything is decompressed.

use super::array::NumpyArray;
use super::npy;
use crate::data::archive::Archive;
use crate::error::{Error, Result};
use crate::memory;
use std::collections::HashSet;
use std::io::{Cursor, Read};

/// An archive of arrays, which are decompressed when they are accessed.
#[derive(Debug)]
pub struct Npz<'a> {
    place: String,
    archive: Archive<Cursor<&'a [u8]>>,
    /// Name without `.npy` and decompressed size of each member.
    members: Vec<(String, u64)>,
}

/// Returns the largest allowed decompressed size, in total, of an archive of `archive_size` bytes: 256 times
/// that plus 16 MiB.
///
/// The features of Squirrel, 99% zeros, decompress to 62 times their size.
pub fn max_decompressed_size(archive_size: usize) -> u64 {
    (archive_size as u64).saturating_mul(256).saturating_add(16 << 20)
}

/// Reads the list of members; an error if this is not a zip archive, a name occurs twice or the members are
/// too large. Errors refer to the archive as `place`.
pub fn read_bytes<'a>(place: &str, bytes: &'a [u8]) -> Result<Npz<'a>> {
    let bad = |problem| Error::Data { place: place.into(), problem };
    let archive = Archive::open(Cursor::new(bytes)).map_err(bad)?;
    let mut members = archive.members();
    let mut names = HashSet::new();
    for (name, _) in &mut members {
        name.truncate(name.strip_suffix(".npy").unwrap_or(name).len());
        if !names.insert(&*name) {
            return Err(bad(format!("duplicate member `{name}`")));
        }
    }
    let total = members.iter().fold(0u64, |sum, (_, size)| sum.saturating_add(*size));
    let limit = max_decompressed_size(bytes.len());
    if total > limit {
        return Err(bad(format!("decompresses to {total} bytes; expected at most {limit}")));
    }
    Ok(Npz { place: place.into(), archive, members })
}

impl Npz<'_> {
    /// Returns the names of all members, without `.npy`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| &**name)
    }

    /// Whether there is a member with this name, without `.npy`.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Decompresses the array with this name; an error if it does not exist or cannot be read.
    pub fn array(&self, name: &str) -> Result<NumpyArray<'static>> {
        let index = self.names().position(|known| known == name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            self.error(format!("no array `{name}`; the file has: {}", names.join(", ")))
        })?;
        let what = || format!("{}: array `{name}`", self.place);
        memory::require(self.members[index].1, what, "use a machine with more memory")?;
        let bytes = self.unpack(index);
        let bytes = bytes.map_err(|problem| self.error(format!("member `{name}`: {problem}")))?;
        npy::read_vec(&format!("{}: {name}", self.place), bytes)
    }

    /// Decompresses a member; an error if it is damaged or does not have the listed size.
    fn unpack(&self, index: usize) -> std::result::Result<Vec<u8>, String> {
        let size = self.members[index].1;
        let mut archive = self.archive.clone();
        let mut bytes = Vec::with_capacity(size as usize);
        archive.member(index)?.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        match bytes.len() as u64 == size {
            true => Ok(bytes),
            false => Err(format!("{} bytes; expected the listed size {size}", bytes.len())),
        }
    }

    /// An error about the archive.
    fn error(&self, problem: String) -> Error {
        Error::Data { place: self.place.clone(), problem }
    }
}

#[cfg(test)]
pub(super) mod tests;
