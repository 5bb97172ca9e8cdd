//! The beginning of a safetensors file: the length of a JSON text, and the text.
//!
//! ```text
//! u64 length, {"__metadata__":{"checksum":"0123456789abcdef", ..}, "labels":{..}, ..}, blanks, data
//! ```
//!
//! One definition serves both ways, and its order is that of the file.

use crate::data::Metric;
use crate::tensor::LittleEndian;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::Hasher as _;
use twox_hash::xxhash3_64::Hasher;

/// What `format` says.
pub const FORMAT: &str = "clenshaw graph 1";
/// Bytes of the header's length.
pub const PREFIX: usize = 8;
/// How every header begins, so that the checksum has a fixed place.
pub const OPENING: &str = r#"{"__metadata__":{"checksum":""#;
/// Where the checksum stands.
pub const CHECKSUM_AT: usize = PREFIX + OPENING.len();
/// A checksum that is not known yet.
pub const NO_CHECKSUM: &str = "0000000000000000";

#[derive(Serialize, Deserialize)]
pub struct Header {
    #[serde(rename = "__metadata__")]
    pub metadata: Metadata,
    #[serde(flatten)]
    pub tensors: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
pub struct Metadata {
    pub checksum: String,
    pub format: String,
    pub name: String,
    pub source: String,
    pub metric: Metric,
    /// Of sparse features, a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    #[serde(with = "list")]
    pub classes: Vec<String>,
    #[serde(with = "list")]
    pub splits: Vec<String>,
    #[serde(with = "list")]
    pub warnings: Vec<String>,
    /// By which the cache knows what it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

/// Where a tensor stands among the data.
#[derive(Serialize, Deserialize)]
pub struct Entry {
    pub dtype: String,
    pub shape: Vec<usize>,
    pub data_offsets: [usize; 2],
}

/// Metadata are texts only, so a list is a JSON text in a JSON text.
mod list {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub fn serialize<S: Serializer>(texts: &[String], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(texts).map_err(ser::Error::custom)?)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}

/// A number as safetensors calls it.
pub trait Stored: LittleEndian {
    const DTYPE: &str;
}

impl Stored for u8 {
    const DTYPE: &str = "U8";
}
impl Stored for i32 {
    const DTYPE: &str = "I32";
}
impl Stored for u32 {
    const DTYPE: &str = "U32";
}
impl Stored for f32 {
    const DTYPE: &str = "F32";
}
impl Stored for usize {
    const DTYPE: &str = "U64";
}

/// The checksum of a file that comes in pieces, the first of which is the header without a checksum.
pub fn checksum<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Hasher::new();
    pieces.into_iter().for_each(|piece| hasher.write(piece));
    format!("{:016x}", hasher.finish())
}
