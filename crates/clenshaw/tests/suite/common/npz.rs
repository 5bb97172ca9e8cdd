//! A reader for the fixtures: `.npz` of little-endian arrays in C order.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// An array: its shape and its numbers, or its text.
#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
    pub text: String,
}

/// All arrays of a file by name.
pub fn read(path: &Path) -> BTreeMap<String, Array> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut zip = zip::ZipArchive::new(file).expect("a zip archive");
    let mut arrays = BTreeMap::new();
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).expect("a member");
        let name = entry.name().unwrap().trim_end_matches(".npy").to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a readable member");
        arrays.insert(name, parse(&bytes));
    }
    arrays
}

fn parse(bytes: &[u8]) -> Array {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00", "npy version 1.0");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    let field = |key: &str| header.split(&format!("'{key}': ")).nth(1).unwrap();
    assert!(field("fortran_order").starts_with("False"), "C order");
    let shape = field("shape").split(['(', ')']).nth(1).unwrap().split(',');
    let shape: Vec<usize> = shape.filter_map(|n| n.trim().parse().ok()).collect();
    let kind = field("descr").split('\'').nth(1).unwrap();
    let data = &bytes[end..];
    let eights = || data.chunks_exact(8).map(|c| <[u8; 8]>::try_from(c).unwrap());
    let mut text = String::new();
    let values = match kind {
        "<f8" => eights().map(f64::from_le_bytes).collect(),
        "<i8" => eights().map(|b| i64::from_le_bytes(b) as f64).collect(),
        "|u1" | "|b1" => data.iter().map(|b| f64::from(*b)).collect(),
        _ if kind.starts_with("<U") => {
            let letters = data.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap()));
            text = letters.filter_map(char::from_u32).filter(|c| *c != '\0').collect();
            vec![]
        }
        other => panic!("array type {other}"),
    };
    Array { shape, values, text }
}
