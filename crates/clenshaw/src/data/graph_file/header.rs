//! The header of a safetensors file: JSON, preceded by its length.
//!
//! ```text
//! u64 length, {"__metadata__":{"checksum":"0123456789abcdef", ..}, "labels":{..}, ..}, spaces, data
//! ```
//!
//! The crate `safetensors` parses it; it is written here, because the checksum must come first.
//! The fields are declared in the order in which they are written.

use crate::data::Metric;
use crate::tensor::LittleEndian;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::Hasher as _;
use twox_hash::xxhash3_64::Hasher;

/// The required value of the metadata entry `format`.
pub const FORMAT: &str = "clenshaw graph 1";
/// Number of bytes in which the length of the header is stored.
pub const LENGTH_BYTES: usize = 8;
/// The start of every header, up to the checksum, which therefore has a fixed position.
pub const OPENING: &str = r#"{"__metadata__":{"checksum":""#;
/// Position of the checksum in the file.
pub const CHECKSUM_AT: usize = LENGTH_BYTES + OPENING.len();
/// The placeholder for the checksum while the checksum is computed.
pub const NO_CHECKSUM: &str = "0000000000000000";

/// The header to write: the metadata, then the type, shape and position of each tensor by name.
#[derive(Serialize)]
pub struct GraphHeader {
    #[serde(rename = "__metadata__")]
    pub metadata: GraphMetadata,
    #[serde(flatten)]
    pub tensors: BTreeMap<String, TensorInfo>,
}

/// The metadata of a graph file; see [`graph_file`](crate::data::graph_file).
#[derive(Serialize, Deserialize)]
pub struct GraphMetadata {
    pub checksum: String,
    pub format: String,
    pub name: String,
    pub source: String,
    pub metric: Metric,
    /// Number of columns of sparse features, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    #[serde(with = "list")]
    pub classes: Vec<String>,
    #[serde(with = "list")]
    pub splits: Vec<String>,
    #[serde(with = "list")]
    pub warnings: Vec<String>,
    #[serde(with = "list", default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The schema of the node table, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Identifies the source files of a cache entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// Stores lists as JSON strings, because metadata values must be strings.
mod list {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub fn serialize<S: Serializer>(texts: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(texts).map_err(ser::Error::custom)?)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<String>, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A number type that can be stored in a tensor, with data type `DTYPE`.
pub trait TensorElement: LittleEndian {
    const DTYPE: Dtype;
}

impl TensorElement for u8 {
    const DTYPE: Dtype = Dtype::U8;
}
impl TensorElement for i32 {
    const DTYPE: Dtype = Dtype::I32;
}
impl TensorElement for u32 {
    const DTYPE: Dtype = Dtype::U32;
}
impl TensorElement for f32 {
    const DTYPE: Dtype = Dtype::F32;
}
impl TensorElement for usize {
    const DTYPE: Dtype = Dtype::U64;
}

/// Computes the checksum of a file given in consecutive pieces, which must contain [`NO_CHECKSUM`] in place
/// of the checksum.
pub fn checksum<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Hasher::new();
    pieces.into_iter().for_each(|piece| hasher.write(piece));
    format!("{:016x}", hasher.finish())
}
