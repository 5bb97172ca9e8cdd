//! Stands in for `http.rs` in a build without the feature `download`.

use super::Options;
use super::delivery::Job;
use super::partial::Partial;
use super::trouble::{Failure, Trouble};

/// Knows what is wanted, but cannot ask for it.
pub(super) struct Client<'a> {
    pub(super) options: &'a Options<'a>,
}

impl<'a> Client<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> Self {
        Self { options }
    }

    pub(super) fn resume(&self, _: &Job<'_>, _: &str, _: &mut Partial) -> Result<(), Failure> {
        Err(refusal())
    }

    pub(super) fn download(&self, _: &Job<'_>, _: &str, _: &mut Partial) -> Result<(), Failure> {
        Err(refusal())
    }
}

fn refusal() -> Failure {
    Trouble::Refused("this build lacks the feature `download`".into()).into()
}
