//! What goes wrong: there, where another source may help, or here, where none will.

use crate::error::Error;
use std::time::Duration;

/// Why a source did not deliver.
#[derive(Debug)]
pub(super) enum Failure {
    /// The disk, or the user's wish to stop.
    Here(Error),
    /// The source.
    There(Trouble),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::There(trouble)
    }
}

/// What a source did wrong.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "download"), allow(dead_code, reason = "only servers do these"))]
pub(super) enum Trouble {
    #[error("no such file")]
    Missing,
    #[error("sha256 is {found}, expected {expected}")]
    Digest { found: String, expected: String },
    #[error("announces {announced} bytes, expected {expected}")]
    Length { announced: u64, expected: u64 },
    #[error("sends more than {most} bytes")]
    TooLong { most: u64 },
    #[error("damaged archive: {0}")]
    Archive(String),
    #[error("cut off after {have}{} bytes", .of.map_or(String::new(), |of| format!(" of {of}")))]
    CutOff { have: u64, of: Option<u64> },
    #[error("silent for {} s", .after.as_secs_f64())]
    Stalled { after: Duration },
    #[error("no connection: {0}")]
    Connection(String),
    #[error("answers {code} {reason}")]
    Status { code: u16, reason: &'static str },
    #[error("sends another part than byte {asked} and what follows")]
    Range { asked: u64 },
    #[error("redirects more than {most} times")]
    Redirects { most: u32 },
    #[error("{0}")]
    Refused(String),
}

#[cfg_attr(not(feature = "download"), allow(dead_code, reason = "only servers are asked twice"))]
impl Trouble {
    /// Worth asking the same source again after a while.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::CutOff { .. }
            | Self::Stalled { .. }
            | Self::Connection(_)
            | Self::Range { .. } => true,
            Self::Status { code, .. } => matches!(code, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }

    /// What has come is worth nothing.
    pub(super) fn spoils(&self) -> bool {
        matches!(self, Self::Digest { .. } | Self::TooLong { .. } | Self::Archive(_))
    }
}
