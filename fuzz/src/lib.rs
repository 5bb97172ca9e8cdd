//! The macro that defines a fuzz target, and an allocator that limits memory.

mod memory;

/// Defines the fuzz target of a reader, one of those listed in `clenshaw::experiment::fuzz::is_valid`.
#[macro_export]
macro_rules! target {
    ($reader:ident) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            clenshaw::experiment::fuzz::is_valid(stringify!($reader), bytes);
        });
    };
}
