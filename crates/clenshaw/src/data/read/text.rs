//! Text files, packed or not.
//!
//! Gzip and Zstandard are told by their first bytes, whatever the file is called.
//! Unpacked text may take [`MOST_TIMES`] its packed size and a megabyte, so a small file cannot fill
//! the memory.

use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// How many times its packed size a text may take; tables of zeros and ones reach a hundred.
const MOST_TIMES: u64 = 200;
/// What it may take besides.
const SLACK: u64 = 1 << 20;

/// How the names of packed files end.
pub(super) const PACKED: [&str; 2] = ["gz", "zst"];

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The file of that name in a folder or, failing that, the packed one.
pub(super) fn find(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    let packed = PACKED.iter().map(|ending| folder.join(format!("{name}.{ending}")));
    let mut there = [plain.clone()].into_iter().chain(packed).filter(|path| path.exists());
    there.next().unwrap_or(plain)
}

/// How a file's name ends, but for its packing.
pub(super) fn ending(path: &Path) -> Option<&str> {
    match path.extension()?.to_str()? {
        packed if PACKED.contains(&packed) => Path::new(path.file_stem()?).extension()?.to_str(),
        plain => Some(plain),
    }
}

/// The whole text of a file.
pub(super) fn read(path: &Path) -> Result<String> {
    whole(path, open(path)?)
}

/// The whole text of what a file would hold.
pub fn read_bytes(path: &Path, bytes: &[u8]) -> Result<String> {
    whole(path, unpack_bytes(path, bytes)?)
}

fn whole(path: &Path, mut input: impl Read) -> Result<String> {
    let mut bytes = vec![];
    input.read_to_end(&mut bytes).map_err(trouble(path))?;
    utf8(&path.display().to_string(), bytes)
}

/// The bytes of a file's text, in turn.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(trouble(path))?;
    let size = file.metadata().map_err(trouble(path))?.len();
    unpack(BufReader::new(file), size).map_err(trouble(path))
}

/// The same of what a file would hold.
pub(super) fn unpack_bytes<'a>(path: &Path, bytes: &'a [u8]) -> Result<Box<dyn Read + Send + 'a>> {
    unpack(bytes, bytes.len() as u64).map_err(trouble(path))
}

/// What `packed` unpacks to; text that is not packed stays as it is.
fn unpack<'a>(
    mut packed: impl BufRead + Send + 'a,
    size: u64,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let left = most(size);
    let start = packed.fill_buf()?;
    if start.starts_with(GZIP) {
        Ok(Box::new(Bounded { input: MultiGzDecoder::new(packed), left }))
    } else if start.starts_with(ZSTD) {
        let input = Zstd { packed, decoder: FrameDecoder::new(), inside: false };
        Ok(Box::new(Bounded { input, left }))
    } else {
        Ok(Box::new(packed))
    }
}

/// How much a file of this size may unpack to.
pub(super) fn most(size: u64) -> u64 {
    size.saturating_mul(MOST_TIMES).saturating_add(SLACK)
}

/// A text, or the line where it stops being one.
fn utf8(place: &str, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        let line = 1 + before.filter(|&&byte| byte == b'\n').count();
        at(place, line, NOT_UTF8)
    })
}

pub(super) const NOT_UTF8: &str = "the text is not UTF-8";
pub(super) const TOO_MUCH: &str =
    "it unpacks to more than 200 times its size; if that is right, unpack it first";

/// A problem in a line of a file.
pub(super) fn at(place: &str, line: usize, problem: impl Into<String>) -> Error {
    Error::Data { place: format!("{place}:{line}"), problem: problem.into() }
}

/// Tells damaged data from a system that refuses.
pub(super) fn trouble(path: &Path) -> impl Fn(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |error| match error.kind() {
        ErrorKind::InvalidData
        | ErrorKind::InvalidInput
        | ErrorKind::UnexpectedEof
        | ErrorKind::Other => {
            Error::Data { place: path.display().to_string(), problem: error.to_string() }
        }
        _ => Error::Io { path: path.clone(), source: error },
    }
}

/// A reader that refuses to give more than it may.
struct Bounded<R> {
    input: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => io::Error::other(format!("the packed data is damaged: {error}")),
        };
        let count = self.input.read(buffer).map_err(damaged)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| io::Error::other(TOO_MUCH))?;
        Ok(count)
    }
}

/// Zstandard frames one after the other, each checked against its checksum.
struct Zstd<R> {
    packed: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Zstd<R> {
    fn enter(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.packed) {
            Ok(()) => self.inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut (&mut self.packed).take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        self.inside = false;
        let stored = self.decoder.get_checksum_from_data();
        match stored.is_none() || stored == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(io::Error::other("the checksum does not fit")),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside {
                if self.packed.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.enter()?;
                continue;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.decoder.is_finished() {
                self.leave()?;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut self.packed, one).map_err(io::Error::other)?;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    pub fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(vec![], Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    pub fn zstd(bytes: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        unpack(packed, packed.len() as u64)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn packed_text_is_unpacked_frame_after_frame() {
        let text = b"0,1\n1,2\n".repeat(50_000);
        assert_eq!(unpacked(&text).unwrap(), text);
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [
            [gzip(&text), gzip(b"2,3\n")].concat(),
            [zstd(&text), skippable, zstd(b"2,3\n")].concat(),
        ];
        for packed in frames {
            assert_eq!(unpacked(&packed).unwrap(), [&text[..], b"2,3\n"].concat());
        }
    }

    #[test]
    fn a_bomb_is_defused() {
        let zeros = vec![b'0'; 30 << 20];
        for bomb in [gzip(&zeros), zstd(&zeros)] {
            assert_eq!(
                unpacked(&bomb).unwrap_err().to_string(),
                "it unpacks to more than 200 times its size; if that is right, unpack it first"
            );
        }
    }

    #[test]
    fn a_file_that_is_cut_off_or_changed_is_refused() {
        let text = b"0,1\n1,2\n2,3\n3,4\n";
        for packed in [gzip(text), zstd(text)] {
            for length in 5..packed.len() {
                assert!(unpacked(&packed[..length]).is_err(), "{length} of {}", packed.len());
            }
            // A checksum, or the length of the text.
            for at in packed.len() - 4..packed.len() {
                let mut changed = packed.clone();
                changed[at] ^= 4;
                assert!(unpacked(&changed).is_err(), "byte {at} of {}", packed.len());
            }
        }
    }

    proptest! {
        #[test]
        fn damage_does_not_panic(at: prop::sample::Index, bit in 0..8u8) {
            let text = b"0,1\n1,2\n".repeat(20);
            for mut packed in [gzip(&text), zstd(&text)] {
                let at = at.index(packed.len());
                packed[at] ^= 1 << bit;
                let _ = unpacked(&packed);
                let _ = unpacked(&packed[..at]);
            }
        }
    }

    #[test]
    fn errors_say_which_line_is_not_text() {
        let error = utf8("a.csv", b"0,1\n1,\xff\n".to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "a.csv:2: the text is not UTF-8");
    }
}
