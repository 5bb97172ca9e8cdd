//! Text files, optionally compressed.
//!
//! Gzip and Zstandard are detected by their first bytes, regardless of the file name.
//! Decompressed text may be at most [`MAX_RATIO`] times the compressed size plus 1 MiB, so that a small
//! file cannot exhaust memory. It may also be at most [`MAX_LEAD`] longer than [`MAX_RATIO`] times the
//! compressed bytes read so far, so that a large decompression bomb is rejected early.

use crate::error::{Error, Result};
use crate::files;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest ratio of decompressed to compressed size, apart from [`SLACK`]; tables of zeros and ones
/// reach 100.
const MAX_RATIO: u64 = 200;
/// Number of decompressed bytes that are allowed in addition to [`MAX_RATIO`] times the compressed size.
const SLACK: u64 = 1 << 20;
/// Number of bytes by which text may exceed [`MAX_RATIO`] times the compressed bytes read so far; the part
/// of a file that compresses best may come first.
const MAX_LEAD: u64 = 64 << 20;

/// File extensions of compressed files.
pub(super) const COMPRESSED_EXTENSIONS: [&str; 2] = ["gz", "zst"];

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard file.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Returns the path of a file in a folder, or of its compressed version if only that exists; the plain
/// path if neither does.
pub(super) fn find_file(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    let packed =
        COMPRESSED_EXTENSIONS.iter().map(|extension| folder.join(format!("{name}.{extension}")));
    let mut existing = [plain.clone()].into_iter().chain(packed).filter(|path| path.exists());
    existing.next().unwrap_or(plain)
}

/// Returns the file extension, ignoring a final `.gz` or `.zst`.
pub(super) fn extension(path: &Path) -> Option<&str> {
    match path.extension()?.to_str()? {
        packed if COMPRESSED_EXTENSIONS.contains(&packed) => {
            Path::new(path.file_stem()?).extension()?.to_str()
        }
        plain => Some(plain),
    }
}

/// The path without the extension of a compressed file: `g.gml` for `g.gml.gz`.
pub(super) fn without_compression(path: &Path) -> PathBuf {
    match path.extension().and_then(OsStr::to_str) {
        Some(packed) if COMPRESSED_EXTENSIONS.contains(&packed) => path.with_extension(""),
        _ => path.to_owned(),
    }
}

/// Reads the whole text of a file, decompressing it if needed.
///
/// # Errors
/// If the file cannot be read, decompresses to too many bytes or is not UTF-8; [`Error::OutOfMemory`] if the file
/// as stored is larger than the memory that is available.
pub(super) fn read(path: &Path) -> Result<String> {
    let file = files::open(path)?;
    let size = file.metadata().map_err(io_error(path))?.len();
    files::check_size(path, size)?;
    read_all(path, decompress(BufReader::new(file), size).map_err(io_error(path))?)
}

/// Reads the whole text from the bytes of a file, decompressing them if needed; `path` only names the
/// file in errors.
pub fn read_bytes(path: &Path, bytes: &[u8]) -> Result<String> {
    read_all(path, decompress_bytes(path, bytes)?)
}

/// Reads the whole text from decompressed bytes; `path` only names the file in errors.
pub(super) fn read_all(path: &Path, mut input: impl Read) -> Result<String> {
    let mut bytes = vec![];
    input.read_to_end(&mut bytes).map_err(io_error(path))?;
    utf8(&path.display().to_string(), bytes)
}

/// Opens a file for reading its decompressed text.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = files::open(path)?;
    let size = file.metadata().map_err(io_error(path))?.len();
    decompress(BufReader::new(file), size).map_err(io_error(path))
}

/// Returns a reader for the decompressed text of a file's bytes; `path` only names the file in errors.
pub(super) fn decompress_bytes<'a>(
    path: &Path,
    bytes: &'a [u8],
) -> Result<Box<dyn Read + Send + 'a>> {
    decompress(bytes, bytes.len() as u64).map_err(io_error(path))
}

/// Returns a reader of the decompressed text, or of the unchanged text if it is not compressed. `size` is
/// the number of compressed bytes.
fn decompress<'a>(
    mut compressed: impl BufRead + Send + 'a,
    size: u64,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let start = compressed.fill_buf()?;
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    if !is_gzip && !is_zstd {
        return Ok(Box::new(compressed));
    }
    let (limit, consumed) = (max_decompressed(size), Arc::new(AtomicU64::new(0)));
    let compressed = CountingReader { input: compressed, consumed: consumed.clone() };
    Ok(match is_gzip {
        true => {
            let input = MultiGzDecoder::new(compressed);
            Box::new(BoundedReader { input, limit, consumed, produced: 0 })
        }
        false => {
            let input = ZstdReader { compressed, decoder: FrameDecoder::new(), in_frame: false };
            Box::new(BoundedReader { input, limit, consumed, produced: 0 })
        }
    })
}

/// Returns the largest allowed decompressed size of a file of `size` bytes.
pub(super) fn max_decompressed(size: u64) -> u64 {
    size.saturating_mul(MAX_RATIO).saturating_add(SLACK)
}

/// Converts bytes to text; the error includes the number of the first line that is not UTF-8.
fn utf8(place: &str, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(valid);
        let line = 1 + before.filter(|&&byte| byte == b'\n').count();
        line_error(place, line, NOT_UTF8)
    })
}

pub(super) const NOT_UTF8: &str = "not valid UTF-8";
const TOO_LARGE: &str =
    "decompresses to more than 200 times its size; if this is intended, decompress it first";

/// Creates an error on a line of the file `place`; lines are counted from 1.
pub(crate) fn line_error(place: &str, line: usize, problem: impl Into<String>) -> Error {
    Error::Data { place: format!("{place}:{line}"), problem: problem.into() }
}

/// Returns a function that converts I/O errors; those caused by the content become [`Error::Data`].
pub(super) fn io_error(path: &Path) -> impl Fn(io::Error) -> Error + use<> {
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

/// A reader that counts the bytes read from it.
struct CountingReader<R> {
    input: R,
    consumed: Arc<AtomicU64>,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.consumed.fetch_add(count as u64, Ordering::Relaxed);
        self.input.consume(count);
    }
}

/// A reader of decompressed data that fails when it has produced more than `limit` bytes, or too many for the
/// compressed bytes consumed so far.
struct BoundedReader<R> {
    input: R,
    limit: u64,
    consumed: Arc<AtomicU64>,
    produced: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => io::Error::other(format!("damaged compressed data: {error}")),
        };
        let count = self.input.read(buffer).map_err(damaged)?;
        self.produced += count as u64;
        let consumed = self.consumed.load(Ordering::Relaxed);
        let limit = consumed.saturating_mul(MAX_RATIO).saturating_add(MAX_LEAD).min(self.limit);
        match self.produced > limit {
            true => Err(io::Error::other(TOO_LARGE)),
            false => Ok(count),
        }
    }
}

/// Decompresses a sequence of Zstandard frames and verifies their checksums.
struct ZstdReader<R> {
    compressed: R,
    decoder: FrameDecoder,
    /// Whether a frame has been started and not finished.
    in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    /// Starts decoding a frame, or skips a skippable one.
    fn start_frame(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.compressed) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut (&mut self.compressed).take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    /// Verifies the checksum of a frame, if it has one.
    fn finish_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let stored = self.decoder.get_checksum_from_data();
        match stored.is_none() || stored == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(io::Error::other("wrong checksum")),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                if self.compressed.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.start_frame()?;
                continue;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.decoder.is_finished() {
                self.finish_frame()?;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(&mut self.compressed, one).map_err(io::Error::other)?;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
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

    fn decompressed(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        decompress(packed, packed.len() as u64)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn reads_plain_text_and_all_compressed_frames() {
        let text = b"0,1\n1,2\n".repeat(50_000);
        assert_eq!(decompressed(&text).unwrap(), text);
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [
            [gzip(&text), gzip(b"2,3\n")].concat(),
            [zstd(&text), skippable, zstd(b"2,3\n")].concat(),
        ];
        for packed in frames {
            assert_eq!(decompressed(&packed).unwrap(), [&text[..], b"2,3\n"].concat());
        }
    }

    #[test]
    fn rejects_decompression_bombs() {
        let zeros = vec![b'0'; 30 << 20];
        for bomb in [gzip(&zeros), zstd(&zeros)] {
            assert_eq!(decompressed(&bomb).unwrap_err().to_string(), TOO_LARGE);
        }
    }

    /// 2 GiB in 2 MiB: 200 times the size are 400 MiB, but the reader fails after about 80 MiB.
    #[test]
    fn rejects_large_bombs_early() {
        let bomb = gzip(&vec![b'0'; 4 << 20]).repeat(512);
        let mut reader = decompress(&bomb[..], bomb.len() as u64).unwrap();
        let (mut total, mut buffer) = (0, vec![0; 1 << 16]);
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(count) => total += count,
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), TOO_LARGE);
        assert!((64 << 20..100 << 20).contains(&total), "{total} bytes of {}", bomb.len());
    }

    #[test]
    fn rejects_truncated_and_changed_files() {
        let text = b"0,1\n1,2\n2,3\n3,4\n";
        for packed in [gzip(text), zstd(text)] {
            for length in 5..packed.len() {
                assert!(decompressed(&packed[..length]).is_err(), "{length} of {}", packed.len());
            }
            // The last bytes are a checksum or the length of the text.
            for at in packed.len() - 4..packed.len() {
                let mut changed = packed.clone();
                changed[at] ^= 4;
                assert!(decompressed(&changed).is_err(), "byte {at} of {}", packed.len());
            }
        }
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_line() {
        let error = utf8("a.csv", b"0,1\n1,\xff\n".to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "a.csv:2: not valid UTF-8");
    }
}
