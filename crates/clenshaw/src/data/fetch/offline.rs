//! Replaces `http.rs` in a build without the feature `download`.

use super::FetchOptions;
use super::failure::{FetchError, SourceError};
use super::partial_file::PartialFile;
use super::transfer::Transfer;

/// A client whose downloads always fail.
pub(super) struct OfflineClient<'a> {
    pub(super) options: &'a FetchOptions<'a>,
}

impl<'a> OfflineClient<'a> {
    pub(super) fn new(options: &'a FetchOptions<'a>) -> Self {
        Self { options }
    }

    pub(super) fn resume(
        &self,
        _: &Transfer<'_>,
        _: &str,
        _: &mut PartialFile,
    ) -> Result<(), FetchError> {
        Err(unsupported())
    }

    pub(super) fn download(
        &self,
        _: &Transfer<'_>,
        _: &str,
        _: &mut PartialFile,
    ) -> Result<(), FetchError> {
        Err(unsupported())
    }
}

/// The error of every download.
fn unsupported() -> FetchError {
    SourceError::Other("this build cannot download; enable the feature `download`".into()).into()
}
