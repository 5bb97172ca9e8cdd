//! Fixtures: `.npz` files with stored results of other programs.

use clenshaw::data::read::npz;
use clenshaw::tensor::{Real, Targets};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An array: its shape, and its numbers or its text; the other one is empty.
#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
    pub text: String,
}

/// The paths of the fixtures in a folder, sorted; panics if there are none.
pub fn fixtures(folder: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(folder).expect("the fixtures' folder");
    let mut files: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "npz"));
    files.sort();
    assert!(!files.is_empty(), "no fixtures in {}", folder.display());
    files
}

/// The loss function of a fixture: the mean over its training nodes.
pub fn targets<T: Real>(arrays: &BTreeMap<String, Array>) -> Targets<T> {
    let (y, mask) = (&arrays["y"].values, &arrays["train_mask"].values);
    let train: Vec<u32> = (0..y.len() as u32).filter(|&i| mask[i as usize] == 1.0).collect();
    Targets::cross_entropy(y.len(), &train, |i| y[i as usize] as u32)
}

/// All arrays of a file by name.
pub fn read(path: &Path) -> BTreeMap<String, Array> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = npz::read_bytes(&path.display().to_string(), &bytes).unwrap();
    let array = |name: &str| {
        let array = file.array(name).unwrap();
        let shape = array.shape().to_vec();
        match array.to_text() {
            Ok(text) => Array { shape, values: vec![], text: text.concat() },
            Err(_) => Array { shape, values: array.to_f64().unwrap(), text: String::new() },
        }
    };
    file.names().map(|name| (name.to_owned(), array(name))).collect()
}
