//! Secrets that other programs and web pages cannot guess.

/// 128 random bits from the operating system, as 32 hexadecimal digits.
pub fn random_hex() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has a random number generator");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let [a, b] = [(); 2].map(|()| random_hex());
        assert!(a != b && a.len() == 32 && a.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
