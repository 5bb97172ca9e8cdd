//! Returns freed memory to the system.
//!
//! Every run allocates and frees buffers of different sizes, on several threads. glibc keeps the freed memory in
//! one heap per thread. Two functions are needed to return it:
//!
//! - In all heaps, `malloc_trim` returns the free pages between blocks in use, but it returns the free memory at
//!   the end only in the heap of the main thread.
//! - The end of another thread's heap is returned when it is longer than a threshold, which glibc raises to
//!   twice the largest block that was freed, up to 64 MiB. `mallopt` sets a fixed, low threshold.

/// Returns free pages of all heaps to the system by `malloc_trim`. Does nothing without glibc.
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

/// The threshold of [`limit_free_memory`] in bytes, which is also glibc's initial one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_THRESHOLD: std::ffi::c_int = 128 << 10;

/// Limits the free memory at the end of every heap to 128 KiB. Blocks of at least this size are then allocated
/// outside of heaps, unless they fit into free memory of a heap, and are returned as soon as they are freed.
/// Applies to the whole process: call it when a program starts. The library itself does not call it, because
/// its users' code may allocate large blocks often. Does nothing without glibc.
pub fn limit_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            /// `mallopt(3)`: sets an option of the allocator.
            safe fn mallopt(option: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
        }
        const M_TRIM_THRESHOLD: std::ffi::c_int = -1;
        const M_MMAP_THRESHOLD: std::ffi::c_int = -3;
        mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
        mallopt(M_MMAP_THRESHOLD, TRIM_THRESHOLD);
    }
}
