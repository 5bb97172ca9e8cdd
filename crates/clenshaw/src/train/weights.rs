//! Safetensors files with named matrices and a metadata string.

use crate::error::{Error, Result};
use crate::tensor::Mat;
use safetensors::{Dtype, SafeTensors, View};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;

/// The only metadata key; with one key, the bytes do not depend on the order of a map.
const KEY: &str = "clenshaw";

/// The contents of a weight file.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightFile {
    /// Matrices with their names, ordered by name.
    pub tensors: Vec<(String, Mat<f32>)>,
    /// The metadata that was passed to [`write_weights`].
    pub metadata: String,
}

/// Returns the bytes of a safetensors file with these matrices and this metadata. Names must be unique.
pub fn write_weights(tensors: &[(String, Mat<f32>)], metadata: &str) -> Vec<u8> {
    let matrices = tensors.iter().map(|(name, m)| (name.as_str(), m.rows(), m.as_slice()));
    write_slices(matrices, metadata)
}

/// [`write_weights`] of matrices given as name, number of rows, and numbers row by row. The numbers are copied
/// only once, to the result.
pub(super) fn write_slices<'a>(
    matrices: impl IntoIterator<Item = (&'a str, usize, &'a [f32])>,
    metadata: &str,
) -> Vec<u8> {
    let views = matrices.into_iter().map(|(name, rows, numbers)| {
        (name, MatrixView { shape: [rows, numbers.len().checked_div(rows).unwrap_or(0)], numbers })
    });
    let metadata = HashMap::from([(KEY.to_owned(), metadata.to_owned())]);
    safetensors::serialize(views, Some(metadata)).expect("names are unique and sizes match")
}

/// A matrix, as the serialiser reads it.
struct MatrixView<'a> {
    shape: [usize; 2],
    numbers: &'a [f32],
}

impl View for MatrixView<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match cfg!(target_endian = "little") {
            true => Cow::Borrowed(bytemuck::cast_slice(self.numbers)),
            false => self.numbers.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    fn data_len(&self) -> usize {
        size_of_val(self.numbers)
    }
}

/// The SHA-256 of a metadata string and named matrices, in hexadecimal. Matrices are given as in
/// [`write_slices`]; their order does not matter.
pub(super) fn digest<'a>(
    metadata: &str,
    matrices: impl IntoIterator<Item = (&'a str, usize, &'a [f32])>,
) -> String {
    let mut sha256 = Sha256::new();
    sha256.update(metadata);
    let mut matrices: Vec<(&str, usize, &[f32])> = matrices.into_iter().collect();
    matrices.sort_by(|a, b| a.0.cmp(b.0));
    for (name, rows, numbers) in matrices {
        let cols = numbers.len().checked_div(rows).unwrap_or(0);
        sha256.update(format!("\0{name}\0{rows} {cols}\0"));
        numbers.iter().for_each(|value| sha256.update(value.to_le_bytes()));
    }
    sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the bytes of [`write_weights`]; `place` names the file in errors. Fails if the file is damaged, has no such
/// metadata, or contains anything except matrices of F32.
pub fn read_weights(place: &str, bytes: &[u8]) -> Result<WeightFile> {
    let bad = |problem: String| Error::Data { place: place.into(), problem };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| bad(e.to_string()))?;
    let metadata = header.metadata().as_ref().and_then(|map| map.get(KEY)).cloned();
    let metadata = metadata.ok_or_else(|| bad("not written by clenshaw: no metadata".into()))?;
    let file = SafeTensors::deserialize(bytes).map_err(|e| bad(e.to_string()))?;
    let mut tensors = Vec::new();
    for (name, view) in file.iter() {
        let &[rows, cols] = view.shape() else {
            return Err(bad(format!("`{name}` has shape {:?}; expected a matrix", view.shape())));
        };
        if view.dtype() != Dtype::F32 {
            return Err(bad(format!("`{name}` is {:?}; expected F32", view.dtype())));
        }
        let words = view.data().as_chunks::<4>().0;
        let values = words.iter().map(|b| f32::from_le_bytes(*b)).collect();
        tensors.push((name.to_owned(), Mat::from_vec(rows, cols, values)));
    }
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(WeightFile { tensors, metadata })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_returns_what_was_written() {
        let m = Mat::from_vec(2, 2, vec![1.0, -2.5, f32::MIN_POSITIVE, 4.0]);
        let tensors = vec![("a".to_owned(), m.clone()), ("b".to_owned(), Mat::zeros(1, 3))];
        let bytes = write_weights(&tensors, "{\"model\":\"gcn\"}");
        let read = read_weights("x", &bytes).unwrap();
        assert_eq!(read, WeightFile { tensors, metadata: "{\"model\":\"gcn\"}".into() });
    }

    #[test]
    fn rejects_truncated_file() {
        let bytes = write_weights(&[("a".into(), Mat::zeros(2, 2))], "x");
        assert!(read_weights("x", &bytes[..bytes.len() - 1]).is_err());
        assert!(read_weights("x", b"").is_err());
    }
}
