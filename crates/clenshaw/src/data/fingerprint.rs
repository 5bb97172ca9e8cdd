//! Fingerprints: sha256 over numbers, so that a receipt can say which data a run saw.

use sha2::{Digest, Sha256};

/// A digest in the making.
///
/// Every list is preceded by its length, so that two different sequences of lists never look alike.
pub(super) struct Fingerprint(Sha256);

impl Fingerprint {
    /// Starts with the name of what is digested.
    pub(super) fn of(what: &str) -> Self {
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

    /// 64 lower-case hexadecimal digits.
    pub(super) fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Two lower-case digits a byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha256() {
        // FIPS 180-4's example.
        let digest = hex(&Sha256::digest(b"abc"));
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn moving_a_number_to_the_next_list_changes_the_digest() {
        let digest = |a: &[u32], b: &[u32]| {
            Fingerprint::of("test").list(a.iter().copied()).list(b.iter().copied()).hex()
        };
        assert_ne!(digest(&[1, 2], &[3]), digest(&[1], &[2, 3]));
    }
}
