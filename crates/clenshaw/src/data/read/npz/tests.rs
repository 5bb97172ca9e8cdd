//! The reader against small files made here, whole and damaged.

use super::super::array::Order;
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

/// One member as an archive lists it.
struct Packed {
    name: String,
    method: u16,
    crc: u32,
    unpacked: u32,
    data: Vec<u8>,
}

impl Packed {
    fn new(name: &str, method: u16, bytes: &[u8]) -> Self {
        let data = if method == DEFLATED { deflated(bytes) } else { bytes.to_vec() };
        let (crc, unpacked) = (crc(bytes), bytes.len() as u32);
        Self { name: format!("{name}.npy"), method, crc, unpacked, data }
    }

    /// What local header and directory have in common: version, flags, method, time, sizes.
    fn facts(&self) -> Vec<u8> {
        let mut out = vec![20, 0, 0, 0];
        out.extend(self.method.to_le_bytes());
        out.extend([0; 4]);
        for number in [self.crc, self.data.len() as u32, self.unpacked, self.name.len() as u32] {
            out.extend(number.to_le_bytes());
        }
        out
    }
}

fn archive(members: &[Packed]) -> Vec<u8> {
    let (mut out, mut directory) = (vec![], vec![]);
    for member in members {
        directory.extend([DIRECTORY_ENTRY, &[20, 0], &member.facts(), &[0; 10]].concat());
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(member.name.as_bytes());
        out.extend([LOCAL_HEADER, &member.facts(), member.name.as_bytes()].concat());
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
    archive(&members.map(|(i, (name, npy))| Packed::new(name, method(i), npy)).collect::<Vec<_>>())
}

fn bytes_array(entries: &[u8]) -> Vec<u8> {
    file("|u1", Order::C, &[entries.len()], entries)
}

fn refused(bytes: &[u8]) -> String {
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
fn what_numpy_wrote_is_read() {
    let npz = read_bytes("it", NUMPY).unwrap();
    assert_eq!(npz.names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(npz.array("a").unwrap().to_u32().unwrap(), [0, 1, 2]);
    assert_eq!(npz.array("b").unwrap().to_text().unwrap(), ["csr"]);
    assert!(npz.contains("b") && !npz.contains("c"));
    assert_eq!(npz.array("c").unwrap_err().to_string(), "it: no array `c`; it has: a, b");
}

#[test]
fn stored_and_deflated_members_are_read() {
    let bytes = npz(&[("a", bytes_array(&[1, 2])), ("b", bytes_array(&[3]))]);
    let npz = read_bytes("it", &bytes).unwrap();
    assert_eq!(npz.array("a").unwrap().to_u32().unwrap(), [1, 2]);
    assert_eq!(npz.array("b").unwrap().to_u32().unwrap(), [3]);
    // A comment may follow the end.
    let mut commented = bytes.clone();
    let length = commented.len() - 2;
    commented[length] = 3;
    commented.extend(b"hi!");
    assert!(read_bytes("it", &commented).unwrap().array("b").is_ok());
}

#[test]
fn errors_inside_an_array_name_it() {
    let bytes = npz(&[("a", file("<f8", Order::C, &[1_000_000_000_000_000_000], &[0; 8]))]);
    assert_eq!(
        refused(&bytes),
        "it: a: 8 bytes for entries of type `<f8` in the shape (1000000000000000000,); \
         they do not fit"
    );
}

#[test]
fn two_members_of_one_name_are_refused() {
    let bytes = npz(&[("a", bytes_array(&[1])), ("a", bytes_array(&[2]))]);
    assert_eq!(refused(&bytes), "it: two members are called `a`");
}

#[test]
fn a_bomb_that_admits_it_is_not_unpacked() {
    let bomb = Packed { unpacked: u32::MAX, ..Packed::new("a", DEFLATED, &[0; 1000]) };
    let bytes = archive(&[bomb]);
    let most = limit(bytes.len());
    assert_eq!(
        refused(&bytes),
        format!("it: it unpacks to 4294967295 bytes; expected at most {most}")
    );
    // Members count together.
    let zeros = vec![0; 20 << 20];
    let bytes = archive(&["a", "b"].map(|name| Packed::new(name, DEFLATED, &zeros)));
    assert!(refused(&bytes).starts_with("it: it unpacks to 41943040 bytes"));
}

#[test]
fn a_bomb_that_lies_stops_at_its_claim() {
    let bomb = Packed { unpacked: 100, ..Packed::new("a", DEFLATED, &vec![0; 50 << 20]) };
    assert_eq!(refused(&archive(&[bomb])), "it: member `a` is not as long as the directory says");
}

#[test]
fn damage_to_a_member_is_noticed() {
    let good = bytes_array(&[1, 2, 3]);
    let cut = Packed::new("a", DEFLATED, &good);
    let cut = Packed { data: cut.data[..10].to_vec(), ..cut };
    assert!(refused(&archive(&[cut])).starts_with("it: member `a` is"));
    let other = Packed { crc: 7, ..Packed::new("a", STORED, &good) };
    assert_eq!(refused(&archive(&[other])), "it: member `a` is damaged: its checksum does not fit");
    let bzip2 = Packed { method: 12, ..Packed::new("a", STORED, &good) };
    assert_eq!(refused(&archive(&[bzip2])), "it: member `a` is neither stored nor deflated");
}

#[test]
fn other_files_are_named() {
    let message = "it: not a zip archive, or cut off: it has no end of directory";
    assert_eq!(refused(b""), message);
    assert_eq!(refused(&[0; 100]), message);
    assert_eq!(refused(&NUMPY[..NUMPY.len() - 1]), message);
}

proptest! {
    #[test]
    fn damage_does_not_panic(
        wounds in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let good = npz(&[("a", bytes_array(&[1, 2, 3])), ("b", bytes_array(&[4]))]);
        prop_assert!(read_bytes("it", &good[..cut.index(good.len())]).is_err());
        let mut bytes = good.clone();
        for (at, byte) in wounds {
            bytes[at.index(good.len())] = byte;
        }
        if let Ok(npz) = read_bytes("it", &bytes) {
            let names: Vec<&str> = npz.names().collect();
            names.into_iter().for_each(|name| drop(npz.array(name)));
        }
    }
}
