//! Safetensors files with named matrices and a metadata string.

use crate::error::{Error, Result};
use crate::tensor::Mat;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
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
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, m)| m.as_slice().iter().flat_map(|v| v.to_le_bytes()).collect())
        .collect();
    let views = tensors.iter().zip(&bytes).map(|((name, m), bytes)| {
        let view = TensorView::new(Dtype::F32, vec![m.rows(), m.cols()], bytes);
        (name, view.expect("the bytes have the size of the shape"))
    });
    let metadata = HashMap::from([(KEY.to_owned(), metadata.to_owned())]);
    safetensors::serialize(views, Some(metadata)).expect("names are unique and sizes match")
}

/// Reads the bytes of [`write_weights`]; `place` names the file in errors.
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
