//! Valid, inconsistent and damaged archives.

use super::super::array::MemoryOrder;
use super::super::npy::tests::file;
use super::*;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use proptest::prelude::*;
use std::io::Write;

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A member of a test archive.
struct TestMember {
    name: String,
    method: u16,
    crc: u32,
    unpacked: u32,
    data: Vec<u8>,
}

impl TestMember {
    fn new(name: &str, method: u16, bytes: &[u8]) -> Self {
        let data = if method == DEFLATED { deflated(bytes) } else { bytes.to_vec() };
        let (crc, unpacked) = (crc(bytes), bytes.len() as u32);
        Self { name: format!("{name}.npy"), method, crc, unpacked, data }
    }

    /// The common fields of local header and directory: version, flags, method, time, sizes.
    fn common_fields(&self) -> Vec<u8> {
        let mut out = vec![20, 0, 0, 0];
        out.extend(self.method.to_le_bytes());
        out.extend([0; 4]);
        for number in [self.crc, self.data.len() as u32, self.unpacked, self.name.len() as u32] {
            out.extend(number.to_le_bytes());
        }
        out
    }
}

fn archive(members: &[TestMember]) -> Vec<u8> {
    let (mut out, mut directory) = (vec![], vec![]);
    for member in members {
        directory.extend([DIRECTORY_ENTRY, &[20, 0], &member.common_fields(), &[0; 10]].concat());
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(member.name.as_bytes());
        out.extend([LOCAL_HEADER, &member.common_fields(), member.name.as_bytes()].concat());
        out.extend(&member.data);
    }
    let at = out.len() as u32;
    out.extend(&directory);
    let count = (members.len() as u16).to_le_bytes();
    out.extend([END, &[0; 4], &count, &count].concat());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// An archive of arrays, alternately deflated and stored.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let method = |i| if i % 2 == 0 { DEFLATED } else { STORED };
    let members = arrays.iter().enumerate();
    archive(
        &members.map(|(i, (name, npy))| TestMember::new(name, method(i), npy)).collect::<Vec<_>>(),
    )
}

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
fn rejects_duplicate_members() {
    let bytes = npz(&[("a", bytes_array(&[1])), ("a", bytes_array(&[2]))]);
    assert_eq!(read_error(&bytes), "it: duplicate member `a`");
}

#[test]
fn rejects_bomb_with_listed_size() {
    let bomb = TestMember { unpacked: u32::MAX, ..TestMember::new("a", DEFLATED, &[0; 1000]) };
    let bytes = archive(&[bomb]);
    let limit = limit(bytes.len());
    assert_eq!(
        read_error(&bytes),
        format!("it: decompresses to 4294967295 bytes; expected at most {limit}")
    );
    // The limit applies to all members together.
    let zeros = vec![0; 20 << 20];
    let bytes = archive(&["a", "b"].map(|name| TestMember::new(name, DEFLATED, &zeros)));
    assert!(read_error(&bytes).starts_with("it: decompresses to 41943040 bytes"));
}

#[test]
fn decompression_stops_at_the_listed_size() {
    let bomb = TestMember { unpacked: 100, ..TestMember::new("a", DEFLATED, &vec![0; 50 << 20]) };
    assert_eq!(
        read_error(&archive(&[bomb])),
        "it: member `a` does not have the size listed in the directory"
    );
}

#[test]
fn rejects_damaged_members() {
    let good = bytes_array(&[1, 2, 3]);
    let cut = TestMember::new("a", DEFLATED, &good);
    let cut = TestMember { data: cut.data[..10].to_vec(), ..cut };
    assert!(read_error(&archive(&[cut])).starts_with("it: member `a` is"));
    let other = TestMember { crc: 7, ..TestMember::new("a", STORED, &good) };
    assert_eq!(read_error(&archive(&[other])), "it: member `a` is damaged: wrong checksum");
    let bzip2 = TestMember { method: 12, ..TestMember::new("a", STORED, &good) };
    assert_eq!(read_error(&archive(&[bzip2])), "it: member `a` is neither stored nor deflated");
}

#[test]
fn rejects_other_file_formats() {
    let message = "it: not a zip archive, or truncated: no end of central directory";
    assert_eq!(read_error(b""), message);
    assert_eq!(read_error(&[0; 100]), message);
    assert_eq!(read_error(&NUMPY[..NUMPY.len() - 1]), message);
}

proptest! {
    #[test]
    fn damaged_bytes_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let good = npz(&[("a", bytes_array(&[1, 2, 3])), ("b", bytes_array(&[4]))]);
        prop_assert!(read_bytes("it", &good[..cut.index(good.len())]).is_err());
        let mut bytes = good.clone();
        for (at, byte) in changes {
            bytes[at.index(good.len())] = byte;
        }
        if let Ok(npz) = read_bytes("it", &bytes) {
            let names: Vec<&str> = npz.names().collect();
            names.into_iter().for_each(|name| drop(npz.array(name)));
        }
    }
}
