//! Valid, inconsistent and damaged archives.

use super::super::array::MemoryOrder;
use super::super::npy::tests::file;
use super::*;
use std::io::Write;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of arrays, alternately deflated and stored.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let names = arrays.iter().map(|(name, _)| format!("{name}.npy"));
    archive(names.zip(arrays.iter().map(|(_, npy)| npy)))
}

fn archive<'a>(members: impl Iterator<Item = (String, &'a Vec<u8>)>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    for (i, (name, content)) in members.enumerate() {
        let method = [CompressionMethod::Deflated, CompressionMethod::Stored][i % 2];
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Changes the directory entry of the first member.
fn with_field(mut archive: Vec<u8>, offset: usize, field: &[u8]) -> Vec<u8> {
    let entry = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    archive[entry + offset..][..field.len()].copy_from_slice(field);
    archive
}

const METHOD: usize = 10;
const CHECKSUM: usize = 16;
const SIZE: usize = 24;
const NAME: usize = 46;

fn bytes_array(entries: &[u8]) -> Vec<u8> {
    file("|u1", MemoryOrder::C, &[entries.len()], entries)
}

fn read_error(bytes: &[u8]) -> String {
    let outcome = read_bytes("it", bytes).and_then(|npz| npz.array("a").map(drop));
    outcome.unwrap_err().to_string()
}

/// `np.savez_compressed(file, a=np.arange(3, dtype='u1'), b=np.array('csr'))` of NumPy 2.4.
const NUMPY: &[u8] =
    b"PK\x03\x04-\0\0\0\x08\0\0\0!\0H\xeaf\xec\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\x14\0a.npy\
      \x01\0\x10\0\x83\0\0\0\0\0\0\0G\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\
      \x92Z\x9c\\\xa4n\xa5\xa0^Sj\xa8\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\n\x12wK\xcc)\
      N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\xc6:\x9a:\n\xb5\n\x14\0.\x06F&\0PK\x03\x04-\0\0\0\x08\0\
      \0\0!\0Q\xc1\xaev\xff\xff\xff\xff\xff\xff\xff\xff\x05\0\x14\0b.npy\x01\0\x10\0\x8c\0\0\0\0\0\
      \0\0K\0\0\0\0\0\0\0\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z\x9c\\\xa4n\xa5\xa0n\
      \x13j\xac\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\n\x12wK\xcc)N\x05\x8a\x17g$\x16\
      \xa4\x02\xf9\x1a\x9a:\n\xb5\n\x14\x01\xaed\x06\x06\x86b .\x02b\0PK\x01\x02-\x03-\0\0\0\x08\0\
      \0\0!\0H\xeaf\xecG\0\0\0\x83\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\0\0\0a.npyPK\x01\x02-\
      \x03-\0\0\0\x08\0\0\0!\0Q\xc1\xaevK\0\0\0\x8c\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\x80\x01~\0\0\0\
      b.npyPK\x05\x06\0\0\0\0\x02\0\x02\0f\0\0\0\0\x01\0\0\0\0";

#[test]
fn reads_numpy_file() {
    let npz = read_bytes("it", NUMPY).unwrap();
    assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(npz.array("a").unwrap().to_u32().unwrap(), [0, 1, 2]);
    assert_eq!(npz.array("b").unwrap().to_text().unwrap(), ["csr"]);
    assert!(npz.contains("b") && !npz.contains("c"));
    assert_eq!(npz.array("c").unwrap_err().to_string(), "it: no array `c`; the file has: a, b");
}

#[test]
fn reads_stored_and_deflated_members() {
    let bytes = npz(&[("a", bytes_array(&[1, 2])), ("b", bytes_array(&[3]))]);
    let npz = read_bytes("it", &bytes).unwrap();
    assert_eq!(npz.array("a").unwrap().to_u32().unwrap(), [1, 2]);
    assert_eq!(npz.array("b").unwrap().to_u32().unwrap(), [3]);
    // A comment may follow the end record.
    let mut commented = bytes.clone();
    let length = commented.len() - 2;
    commented[length] = 3;
    commented.extend(b"hi!");
    assert!(read_bytes("it", &commented).unwrap().array("b").is_ok());
}

#[test]
fn errors_include_the_array_name() {
    let bytes = npz(&[("a", file("<f8", MemoryOrder::C, &[1_000_000_000_000_000_000], &[0; 8]))]);
    assert_eq!(
        read_error(&bytes),
        "it: a: 8 bytes; expected entries of type `<f8` in the shape (1000000000000000000,)"
    );
}

#[test]
fn rejects_inconsistent_and_damaged_archives() {
    let one = || npz(&[("a", bytes_array(&[1, 2, 3]))]);
    let two = npz(&[("b", bytes_array(&[1])), ("a", bytes_array(&[2]))]);
    let alike = archive([("a".into(), &vec![]), ("a.npy".into(), &vec![])].into_iter());
    let zeros = npz(&[("a", vec![0; 50 << 20])]);
    let bomb = with_field(one(), SIZE, &u32::MAX.to_le_bytes());
    let most = max_decompressed_size(bomb.len());
    let half = vec![0; 20 << 20];
    let both = npz(&[("a", half.clone()), ("b", vec![]), ("c", half)]);
    let most_of_both = max_decompressed_size(both.len());
    for (bytes, expected) in [
        (with_field(two, NAME, b"a"), "two members have the same name".to_owned()),
        (alike, "duplicate member `a`".into()),
        (bomb, format!("decompresses to 4294967295 bytes; expected at most {most}")),
        (both, format!("decompresses to 41943040 bytes; expected at most {most_of_both}")),
        (
            with_field(zeros, SIZE, &100u32.to_le_bytes()),
            "member `a`: File is larger than its declared uncompressed size".into(),
        ),
        (
            with_field(one(), SIZE, &200u32.to_le_bytes()),
            "member `a`: 131 bytes; expected the listed size 200".into(),
        ),
        (with_field(one(), CHECKSUM, &[7; 4]), "member `a`: Invalid checksum".into()),
        (
            with_field(one(), METHOD, &[12, 0]),
            "member `a`: compression is Bzip2; expected stored or deflated".into(),
        ),
        (with_field(one(), METHOD - 2, &[1, 0]), "member `a`: encrypted".into()),
    ] {
        assert_eq!(read_error(&bytes), format!("it: {expected}"));
    }
}

#[test]
fn rejects_other_file_formats() {
    for bytes in [&b""[..], &[0; 100], &NUMPY[..NUMPY.len() - 1]] {
        let error = read_error(bytes);
        assert!(error.starts_with("it: not a zip archive, or truncated: "), "{error}");
    }
}
