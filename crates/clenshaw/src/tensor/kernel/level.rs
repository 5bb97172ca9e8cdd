//! Which instruction set the kernels use.
//!
//! By default it is the best one of the processor. The instruction sets form two classes of results:
//! `avx2` and `avx512` compute every number by the same fused operations in the same order and return the
//! same bits; `portable` rounds products before it adds them, and returns other bits.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU8, Ordering};

/// The instruction sets that kernels are compiled for, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimdLevel {
    Portable,
    Avx2,
    Avx512,
}

/// All levels and their names.
const NAMES: [(&str, SimdLevel); 3] =
    [("portable", SimdLevel::Portable), ("avx2", SimdLevel::Avx2), ("avx512", SimdLevel::Avx512)];

/// One more than the index in [`NAMES`] of the level chosen by [`select_instruction_set`]; 0 if none was. It
/// is never above the level of the processor.
static SELECTED: AtomicU8 = AtomicU8::new(0);

/// The instruction set that the kernels use: `avx512`, `avx2` or `portable`.
///
/// The last bits of results depend on its [`bit_class`].
pub fn instruction_set() -> &'static str {
    NAMES.iter().find(|(_, known)| *known == level()).map_or("", |(name, _)| name)
}

/// The instruction sets of this processor, in ascending order; `portable` is always one of them.
pub fn available_instruction_sets() -> Vec<&'static str> {
    NAMES.iter().filter(|(_, level)| *level <= detect()).map(|(name, _)| *name).collect()
}

/// The class of results of an instruction set: `vector` for `avx2` and `avx512`, whose results have the same
/// bits, and the name itself otherwise.
pub fn bit_class(instruction_set: &str) -> &str {
    match instruction_set {
        "avx2" | "avx512" => "vector",
        other => other,
    }
}

/// Makes all kernels of this process use one instruction set. To be called before anything is computed: a run
/// during which the instruction set changes cannot be repeated.
///
/// # Errors
/// If the name is unknown or the processor lacks the instruction set.
///
/// ```no_run
/// use clenshaw::tensor::{instruction_set, select_instruction_set};
/// select_instruction_set("portable")?;
/// assert_eq!(instruction_set(), "portable");
/// let error = select_instruction_set("sse").unwrap_err().to_string();
/// assert!(error.contains("expected portable, avx2 or avx512"));
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn select_instruction_set(name: &str) -> Result<()> {
    let index = NAMES.iter().position(|(known, level)| *known == name && *level <= detect());
    let index = index.ok_or_else(|| Error::BadValue {
        key: "CLENSHAW_CPU".into(),
        value: name.into(),
        expected: format!(
            "portable, avx2 or avx512; this processor has {}",
            available_instruction_sets().join(", ")
        ),
    })?;
    SELECTED.store(index as u8 + 1, Ordering::Relaxed);
    Ok(())
}

/// The instruction set that kernels use on this thread; tests can limit it further.
#[inline]
pub(super) fn level() -> SimdLevel {
    let level = match SELECTED.load(Ordering::Relaxed) {
        0 => detect(),
        number => NAMES[usize::from(number) - 1].1,
    };
    #[cfg(test)]
    return level.min(super::testing::limit());
    #[cfg(not(test))]
    level
}

/// The best instruction set of this processor.
#[inline]
fn detect() -> SimdLevel {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq");
        return if wide { SimdLevel::Avx512 } else { SimdLevel::Avx2 };
    }
    SimdLevel::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_missing_instruction_sets_are_rejected() {
        let available = available_instruction_sets();
        assert_eq!(available[0], "portable");
        for name in ["avx", "AVX2", ""] {
            let error = select_instruction_set(name).unwrap_err();
            let expected = format!(
                "`CLENSHAW_CPU` is `{name}`; expected portable, avx2 or avx512; this processor has {}",
                available.join(", ")
            );
            assert!(error.is_input() && error.to_string() == expected, "{error}");
        }
        for (name, _) in NAMES.iter().filter(|(name, _)| !available.contains(name)) {
            assert!(select_instruction_set(name).is_err(), "{name}");
        }
    }
}
