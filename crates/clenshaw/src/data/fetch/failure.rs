//! Fetch errors: source errors, after which the next source is tried, and local errors.

use crate::error::Error;
use std::time::Duration;

/// Why fetching a file from a source failed.
#[derive(Debug)]
pub(super) enum FetchError {
    /// A local error, such as a full disk or an interruption; other sources are not tried.
    Local(Error),
    /// An error of the source; the next source is tried.
    Source(SourceError),
}

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        Self::Local(error)
    }
}

impl From<SourceError> for FetchError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// What is wrong with a source or with the bytes that it returned.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "download"), allow(dead_code, reason = "some occur only with HTTP"))]
pub(super) enum SourceError {
    #[error("file not found")]
    NotFound,
    #[error("sha256 is {found}, expected {expected}")]
    Checksum { found: String, expected: String },
    #[error("content length is {announced} bytes, expected {expected}")]
    ContentLength { announced: u64, expected: u64 },
    #[error("more than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("damaged archive: {0}")]
    Archive(String),
    #[error("connection closed after {received}{} bytes", .total.map_or(String::new(), |total| format!(" of {total}")))]
    Truncated { received: u64, total: Option<u64> },
    #[error("no data received for {} s", .after.as_secs_f64())]
    TimedOut { after: Duration },
    #[error("cannot connect: {0}")]
    Connection(String),
    #[error("HTTP status {code} {reason}")]
    Status { code: u16, reason: &'static str },
    #[error("the returned range does not start at the requested byte {requested}")]
    Range { requested: u64 },
    #[error("more than {limit} redirects")]
    Redirects { limit: u32 },
    #[error("{0}")]
    Other(String),
}

#[cfg_attr(not(feature = "download"), allow(dead_code, reason = "only downloads are retried"))]
impl SourceError {
    /// Whether the same request may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Truncated { .. }
            | Self::TimedOut { .. }
            | Self::Connection(_)
            | Self::Range { .. } => true,
            Self::Status { code, .. } => matches!(code, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }

    /// Whether the received bytes are wrong and must be discarded.
    pub(super) fn is_invalid_content(&self) -> bool {
        matches!(self, Self::Checksum { .. } | Self::TooLong { .. } | Self::Archive(_))
    }
}
