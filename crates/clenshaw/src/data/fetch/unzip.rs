//! Extracts one member of a zip archive, in a single pass and with constant memory.
//!
//! ```text
//! archive = members directory
//! member  = "PK\3\4" version:2 flags:2 method:2 time:4 crc:4 packed:4 unpacked:4 n:2 m:2
//!           name:n extra:m data, and after streamed data ["PK\7\8"] crc:4 packed:4 unpacked:4
//! ```
//!
//! The SHA-256 of the member is verified later, so the directory and the CRCs are not read.

use super::failure::{FetchError, SourceError};
use super::partial_file::PartialFile;
use super::transfer::Transfer;
use crate::error::Error;
use flate2::bufread::DeflateDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

const HEADER: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The local header before a member's data.
struct ZipEntryHeader {
    name: String,
    encrypted: bool,
    /// The size follows the data.
    streamed: bool,
    method: u16,
    packed: u64,
}

/// Extracts the member with this name from any folder of the archive.
pub(super) fn extract(
    transfer: &Transfer<'_>,
    archive: &Path,
    member: &str,
    into: &mut PartialFile,
) -> Result<(), FetchError> {
    into.clear()?;
    let mut reader = BufReader::new(File::open(archive).map_err(Error::io(archive))?);
    let data = find(&mut reader, member, transfer.limit())?;
    transfer.append_all(data, transfer.size, into, |error, _| damaged(error))
}

/// Returns the length of the member with this name, up to `limit`.
#[cfg(fuzzing)]
pub fn length(mut archive: &[u8], member: &str, limit: u64) -> std::result::Result<u64, String> {
    let data = find(&mut archive, member, limit).map_err(|error| error.to_string())?;
    io::copy(&mut data.take(limit), &mut io::sink()).map_err(|error| damaged(error).to_string())
}

/// Returns the content of the member with this name; skips at most `limit` bytes of other members.
fn find<'a>(
    reader: &'a mut impl BufRead,
    member: &str,
    limit: u64,
) -> Result<Box<dyn Read + 'a>, SourceError> {
    while let Some(header) = read_header(reader).map_err(damaged)? {
        if header.name.rsplit('/').next() == Some(member) {
            return header.data(reader);
        }
        // A longer member is not skipped entirely, so that no valid header follows.
        io::copy(&mut header.data(reader)?.take(limit), &mut io::sink()).map_err(damaged)?;
        if header.streamed {
            skip_descriptor(reader).map_err(damaged)?;
        }
    }
    Err(SourceError::Archive(format!("no member `{member}`")))
}

fn damaged(error: io::Error) -> SourceError {
    SourceError::Archive(match error.kind() {
        ErrorKind::UnexpectedEof => "truncated".into(),
        _ => error.to_string(),
    })
}

/// Skips the CRC and sizes after streamed data, with or without a signature.
fn skip_descriptor(reader: &mut impl BufRead) -> io::Result<()> {
    let mut first = [0; 4];
    reader.read_exact(&mut first)?;
    let rest: &mut [u8] = if first == DESCRIPTOR { &mut [0; 12] } else { &mut [0; 8] };
    reader.read_exact(rest)
}

/// Reads the next member's header; `None` at the start of the directory.
fn read_header(reader: &mut impl Read) -> io::Result<Option<ZipEntryHeader>> {
    let mut bytes = [0; 30];
    reader.read_exact(&mut bytes)?;
    if !bytes.starts_with(HEADER) {
        return match bytes.starts_with(b"PK") {
            true => Ok(None),
            false => Err(io::Error::new(ErrorKind::InvalidData, "not a zip archive")),
        };
    }
    let u16 = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let mut name = vec![0; u16(26).into()];
    reader.read_exact(&mut name)?;
    io::copy(&mut reader.take(u16(28).into()), &mut io::sink())?;
    Ok(Some(ZipEntryHeader {
        name: String::from_utf8_lossy(&name).into_owned(),
        encrypted: u16(6) & 1 != 0,
        streamed: u16(6) & 8 != 0,
        method: u16(8),
        packed: u64::from(u16(18)) | u64::from(u16(20)) << 16,
    }))
}

impl ZipEntryHeader {
    /// Returns the member's content.
    fn data<'a>(&self, reader: &'a mut impl BufRead) -> Result<Box<dyn Read + 'a>, SourceError> {
        match self.method {
            _ if self.encrypted => {
                Err(SourceError::Archive(format!("`{}` is encrypted", self.name)))
            }
            STORED if !self.streamed => Ok(Box::new(reader.take(self.packed))),
            DEFLATED if self.streamed => Ok(Box::new(DeflateDecoder::new(reader))),
            DEFLATED => Ok(Box::new(DeflateDecoder::new(reader.take(self.packed)))),
            STORED => Err(SourceError::Archive(format!(
                "`{}` is stored without a size in its header",
                self.name
            ))),
            _ => Err(SourceError::Archive(format!(
                "`{}` uses compression method {}; expected stored or deflated",
                self.name, self.method
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FetchOptions;
    use super::*;
    use flate2::{Compression, read::DeflateEncoder};
    use std::sync::atomic::AtomicBool;

    /// Builds a member; with `flags` 8 its sizes follow the data.
    fn member(name: &str, method: u16, flags: u16, content: &[u8]) -> Vec<u8> {
        let mut data = content.to_vec();
        if method == DEFLATED {
            data.clear();
            DeflateEncoder::new(content, Compression::fast()).read_to_end(&mut data).unwrap();
        }
        let length = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        let sizes = [[0; 4], length(data.len()), length(content.len())].concat();
        let before = if flags & 8 != 0 { vec![0; 12] } else { sizes.clone() };
        let after = if flags & 8 != 0 { [&DESCRIPTOR[..], &sizes].concat() } else { vec![] };
        let start = [HEADER, &[20, 0], &flags.to_le_bytes(), &method.to_le_bytes(), &[0; 4]];
        let lengths = [name.len() as u8, 0, 3, 0];
        [&start.concat(), &before[..], &lengths, name.as_bytes(), b"xyz", &data, &after].concat()
    }

    fn extracted(archive: &[u8], name: &str, size: Option<u64>) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let (zip, out) = (folder.path().join("a.zip"), folder.path().join("out"));
        std::fs::write(&zip, archive).unwrap();
        let cancel = AtomicBool::new(false);
        let options = FetchOptions::new(folder.path(), &cancel);
        let transfer = Transfer { file: "out", source: "a.zip", size, options: &options };
        let mut partial = PartialFile::open(&out).unwrap();
        match extract(&transfer, &zip, name, &mut partial) {
            Ok(()) => partial.move_to_destination().map_err(|error| error.to_string()),
            Err(FetchError::Source(error)) => Err(error.to_string()),
            Err(FetchError::Local(error)) => Err(error.to_string()),
        }?;
        Ok(std::fs::read(out).unwrap())
    }

    #[test]
    fn extracts_stored_deflated_and_streamed_members() {
        let (long, end) = (vec![b'l'; 300_000], b"PK\x01\x02 and the directory, of any content");
        let archive = [
            &member("folder/", STORED, 0, b"")[..],
            &member("folder/streamed", DEFLATED, 8, b"one"),
            &member("deflated", DEFLATED, 0, &long),
            &member("stored", STORED, 0, b"three"),
            end,
        ]
        .concat();
        assert_eq!(extracted(&archive, "streamed", Some(3)), Ok(b"one".to_vec()));
        assert_eq!(extracted(&archive, "deflated", Some(300_000)), Ok(long));
        assert_eq!(extracted(&archive, "stored", None), Ok(b"three".to_vec()));
        let extract_error = |name| extracted(&archive, name, None).unwrap_err();
        assert_eq!(extract_error("other"), "damaged archive: no member `other`");
    }

    #[test]
    fn rejects_damaged_archives_and_zip_bombs() {
        let extract_error = |archive: &[u8]| extracted(archive, "a", Some(1000)).unwrap_err();
        let bomb = member("a", DEFLATED, 0, &vec![0; 10_000_000]);
        assert_eq!(extract_error(&bomb), "more than 1000 bytes");
        let short = |bytes: Vec<u8>| bytes[..bytes.len() - 2].to_vec();
        let long: Vec<u8> = (0..900u32).flat_map(|i| (i * i).to_le_bytes()).take(900).collect();
        assert_eq!(
            extract_error(&short(member("a", DEFLATED, 0, &long))),
            "damaged archive: truncated"
        );
        assert_eq!(extract_error(b"PK\x03\x04"), "damaged archive: truncated");
        assert_eq!(extract_error(&[b'<'; 99]), "damaged archive: not a zip archive");
        assert_eq!(
            extract_error(&member("a", STORED, 1, b"x")),
            "damaged archive: `a` is encrypted"
        );
        assert_eq!(
            extract_error(&member("a", 12, 0, b"x")),
            "damaged archive: `a` uses compression method 12; expected stored or deflated"
        );
        assert_eq!(
            extract_error(&member("a", STORED, 8, b"x")),
            "damaged archive: `a` is stored without a size in its header"
        );
    }
}
