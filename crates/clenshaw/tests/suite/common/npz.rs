//! A reader for the fixtures: `.npz` files of numbers and text.

use clenshaw::data::read::npz;
use std::collections::BTreeMap;
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
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let npz = npz::read_bytes(&path.display().to_string(), &bytes).unwrap();
    let array = |name: &str| {
        let array = npz.array(name).unwrap();
        let text = array.to_text().unwrap_or_default().concat();
        let values = if text.is_empty() { array.to_f64().unwrap() } else { vec![] };
        (name.to_owned(), Array { shape: array.shape().to_vec(), values, text })
    };
    npz.names().map(array).collect()
}
