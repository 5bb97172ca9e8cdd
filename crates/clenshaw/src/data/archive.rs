//! Zip archives with stored or deflated members.
//!
//! The checksum of a member is verified while it is read, and reading never returns more bytes than its listed
//! size.

use std::io::{Read, Seek};
use zip::CompressionMethod;
use zip::read::{ZipArchive, ZipReadOptions};

/// A zip archive; errors do not contain its name.
#[derive(Clone, Debug)]
pub(super) struct Archive<R>(ZipArchive<R>);

impl<R: Read + Seek> Archive<R> {
    /// Reads the list of members; an error if this is not a zip archive or two members have the same name.
    pub(super) fn open(reader: R) -> Result<Self, String> {
        let archive = ZipArchive::new(reader)
            .map_err(|error| format!("not a zip archive, or truncated: {error}"))?;
        if archive.has_duplicate_names() {
            return Err("two members have the same name".into());
        }
        Ok(Self(archive))
    }

    /// Returns the name and the listed decompressed size in bytes of each member.
    pub(super) fn members(&self) -> Vec<(String, u64)> {
        let entries = (0..self.0.len()).filter_map(|i| self.0.by_index_data(i).ok());
        entries
            .map(|entry| (String::from_utf8_lossy(entry.name_raw()).into_owned(), entry.size()))
            .collect()
    }

    /// Returns a reader of the decompressed content of the member at this index of [`Self::members`]; an
    /// error if the member is encrypted or its compression is not supported.
    pub(super) fn member(&mut self, index: usize) -> Result<impl Read, String> {
        let entry = self.0.by_index_data(index).map_err(|error| error.to_string())?;
        match entry.compression() {
            _ if entry.encrypted() => return Err("encrypted".into()),
            CompressionMethod::Stored | CompressionMethod::Deflated => {}
            other => return Err(format!("compression is {other}; expected stored or deflated")),
        }
        // A fuzzer cannot find valid checksums.
        let options = ZipReadOptions::new().ignore_crc32(cfg!(fuzzing));
        self.0.by_index_with_options(index, options).map_err(|error| error.to_string())
    }
}
