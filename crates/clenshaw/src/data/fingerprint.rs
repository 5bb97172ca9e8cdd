//! SHA-256 fingerprints of lists of numbers, which identify data sets, splits and cache entries.

use sha2::{Digest, Sha256};

/// An incremental SHA-256 digest of numbers and lists of numbers.
///
/// Every list is prefixed with its length, so the boundaries between lists matter.
pub(super) struct Fingerprint(Sha256);

impl Fingerprint {
    /// Starts a digest; `what` distinguishes digests of different kinds of data.
    pub(super) fn new(what: &str) -> Self {
        Self(Sha256::new()).list(what.bytes())
    }

    /// Adds one number.
    pub(super) fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_le_bytes());
        self
    }

    /// Adds a list of numbers.
    pub(super) fn list<I>(self, numbers: I) -> Self
    where
        I: IntoIterator<Item: Into<u64>, IntoIter: ExactSizeIterator>,
    {
        let numbers = numbers.into_iter();
        let started = self.number(numbers.len() as u64);
        numbers.fold(started, |digest, number| digest.number(number.into()))
    }

    /// Returns the digest as 64 lower-case hexadecimal digits.
    pub(super) fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Formats bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_list_boundaries() {
        let digest = |a: &[u32], b: &[u32]| {
            Fingerprint::new("test").list(a.iter().copied()).list(b.iter().copied()).hex()
        };
        assert_ne!(digest(&[1, 2], &[3]), digest(&[1], &[2, 3]));
    }
}
