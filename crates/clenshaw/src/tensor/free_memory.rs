//! Returns freed memory to the system.
//!
//! Every run allocates and frees buffers of other sizes, on several threads. glibc keeps the freed memory in
//! one heap per thread, in pieces that the next run cannot always use, so that a process that trains
//! hundreds of models would keep growing.

/// Returns the unused pages of all heaps to the system, which takes less than a millisecond for a few
/// megabytes. Does nothing without glibc.
pub fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            /// `malloc_trim(3)`: `pad` bytes are kept at the top of the main heap.
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}
