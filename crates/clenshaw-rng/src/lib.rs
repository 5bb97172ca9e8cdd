//! Counter-based random numbers: each is a function of a seed, a purpose and an index.
//!
//! ```text
//! bits(i) = mix(key + (i + 1) gamma)          SplitMix64 (Steele, Lea & Flood 2014)
//! key     = seed folded with the purpose's name
//! ```
//!
//! The numbers do not depend on the order in which they are drawn, so results do not depend on the number
//! of threads. Each purpose has its own stream, so that drawing more numbers for one does not change
//! another.
//!
//! ```
//! use clenshaw_rng::Stream;
//! let stream = Stream::new(7, "weights").named("layer 1");
//! assert_eq!(stream.bits(3), stream.clone().bits(3));
//! assert!((0.0..1.0).contains(&stream.clone().unit()));
//! ```

/// The odd constant nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers, accessed by index ([`Stream::bits`]) or drawn one after another.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    cursor: u64,
}

impl Stream {
    /// Creates the stream of a seed and a purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self { key: fold(seed, purpose), cursor: 0 }
    }

    /// Derives an independent stream for a named part of the purpose.
    pub fn named(&self, part: &str) -> Self {
        Self { key: fold(self.key, part), cursor: 0 }
    }

    /// Derives an independent stream for a numbered part of the purpose.
    pub fn numbered(&self, part: u64) -> Self {
        Self { key: mix(self.key ^ mix(part.wrapping_add(GAMMA))), cursor: 0 }
    }

    /// The `i`-th 64-bit word of the stream, regardless of what has been drawn before.
    #[inline(always)]
    pub fn bits(&self, i: u64) -> u64 {
        mix(self.key.wrapping_add(i.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// Draws the next 64-bit word.
    pub fn next_bits(&mut self) -> u64 {
        let word = self.bits(self.cursor);
        self.cursor += 1;
        word
    }

    /// Draws a number uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a number uniform in [-bound, bound).
    pub fn symmetric(&mut self, bound: f64) -> f64 {
        (2.0 * self.unit() - 1.0) * bound
    }

    /// Draws an integer below `n` uniformly, without bias (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "Stream::below: n is 0");
        let n = n as u64;
        loop {
            let wide = u128::from(self.next_bits()) * u128::from(n);
            if (wide as u64) >= n.wrapping_neg() % n {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Draws a standard normal number (Box-Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Permutes a slice uniformly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Bernoulli bits, 64 at a time: each bit of `word(stream, i)` is 1 with probability `keep_probability()`.
///
/// The probability is rounded to 16 binary digits, 0.b1 b2 ... b16. For each digit from the last to the
/// first, `acc <- b ? acc | r : acc & r` with a new random word r, so that bits are 1 with this
/// probability after the first digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli {
    /// The probability times 2^16.
    digits: u32,
    /// The number of binary digits up to the last 1; each takes one random word per result.
    draws: u32,
}

impl Bernoulli {
    /// Creates bits that are 1 with probability `1 - drop`, rounded to a positive multiple of 2^-16.
    ///
    /// # Panics
    /// If `drop` is outside [0, 1).
    pub fn from_drop_rate(drop: f64) -> Self {
        assert!((0.0..1.0).contains(&drop), "drop rate {drop} is outside [0, 1)");
        let digits = (((1.0 - drop) * 65536.0).round() as u32).max(1);
        let draws = 16 - digits.trailing_zeros().min(16);
        Self { digits, draws }
    }

    /// The rounded probability of a 1.
    pub fn keep_probability(self) -> f64 {
        f64::from(self.digits) / 65536.0
    }

    /// Maps a uniform 16-bit number to a bit that is 1 with probability [`Bernoulli::keep_probability`].
    #[inline(always)]
    pub fn keeps(self, bits: u16) -> bool {
        u32::from(bits) < self.digits
    }

    /// The `i`-th word of 64 independent bits.
    #[inline(always)]
    pub fn word(self, stream: &Stream, i: u64) -> u64 {
        self.words(stream, [i])[0]
    }

    /// [`Bernoulli::word`] for several indices, faster than one call per index.
    #[inline(always)]
    pub fn words<const N: usize>(self, stream: &Stream, numbers: [u64; N]) -> [u64; N] {
        if self.draws == 0 {
            return [u64::MAX; N];
        }
        let mut words = [0; N];
        for d in 16 - self.draws..16 {
            // The bits that this digit sets in every word.
            let ones = if (self.digits >> d) & 1 == 1 { u64::MAX } else { 0 };
            for k in 0..N {
                let r = stream.bits(numbers[k].wrapping_mul(16).wrapping_add(u64::from(d)));
                words[k] = (words[k] & r) | (ones & (words[k] | r));
            }
        }
        words
    }
}

/// SplitMix64's finaliser: a bijection of 64-bit words whose output bits each depend on all input bits.
#[inline(always)]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Mixes a name into a seed or key.
fn fold(seed: u64, name: &str) -> u64 {
    name.bytes().fold(mix(seed.wrapping_add(GAMMA)), |key, byte| {
        mix(key ^ u64::from(byte).wrapping_add(GAMMA))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_match_splitmix64() {
        // The first outputs of the reference generator seeded with 0.
        let stream = Stream { key: 0, cursor: 0 };
        assert_eq!(stream.bits(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(stream.bits(1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(stream.bits(2), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn streams_of_different_purposes_differ() {
        let (mut a, mut b) = (Stream::new(1, "split"), Stream::new(1, "weights"));
        assert!((0..100).all(|_| a.next_bits() != b.next_bits()));
    }

    #[test]
    fn below_is_uniform() {
        let mut stream = Stream::new(7, "test");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6)] += 1;
        }
        // Chi-squared with 5 degrees of freedom exceeds 20.5 once in a thousand seeds.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 20.5, "{counts:?}");
    }

    #[test]
    fn normals_have_mean_zero_and_variance_one() {
        let mut stream = Stream::new(3, "test");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn bernoulli_bits_have_the_given_frequency() {
        let stream = Stream::new(5, "dropout");
        for drop in [0.0, 0.1, 0.25, 0.5, 0.6, 0.9] {
            let bernoulli = Bernoulli::from_drop_rate(drop);
            let ones: u32 = (0..4000).map(|i| bernoulli.word(&stream, i).count_ones()).sum();
            let rate = f64::from(ones) / 256_000.0;
            assert!((rate - (1.0 - drop)).abs() < 0.005, "drop {drop}: kept {rate}");
            let kept = (0..=u16::MAX).filter(|bits| bernoulli.keeps(*bits)).count();
            assert_eq!(kept as f64 / 65536.0, bernoulli.keep_probability());
            assert!((bernoulli.keep_probability() - (1.0 - drop)).abs() <= 0.5 / 65536.0);
        }
    }

    #[test]
    fn neighbouring_bernoulli_bits_are_independent() {
        let (stream, bernoulli) = (Stream::new(6, "dropout"), Bernoulli::from_drop_rate(0.5));
        let agree: u32 = (0..4000)
            .map(|i| bernoulli.word(&stream, i))
            .map(|w| (!(w ^ (w >> 1)) & (u64::MAX >> 1)).count_ones())
            .sum();
        let share = f64::from(agree) / (4000.0 * 63.0);
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }
}
