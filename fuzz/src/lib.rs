//! The fuzz targets call the readers through `clenshaw::data::read::fuzz`.

mod memory;

/// Defines the fuzz target of a reader.
#[macro_export]
macro_rules! target {
    ($reader:ident) => {
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            clenshaw::data::read::fuzz::is_valid(stringify!($reader), bytes);
        });
    };
}
