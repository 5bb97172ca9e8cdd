//! An allocator that aborts when a reader allocates too much.
//!
//! LibFuzzer itself only checks the resident memory, once a second, so it misses memory that is allocated
//! but never used.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The longest input, see `xtask/src/fuzz.rs`.
const MAX_LENGTH: usize = 4096;
/// The most bytes that may be in use: 64 MB plus ten times the longest input.
const LIMIT: usize = 64_000_000 + 10 * MAX_LENGTH;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: LimitedAllocator = LimitedAllocator;

struct LimitedAllocator;

fn count_allocation(size: usize) {
    let before = IN_USE.fetch_add(size, Relaxed);
    if before + size > LIMIT {
        // Printing the message allocates, which must not abort again.
        IN_USE.store(0, Relaxed);
        eprintln!("allocation of {size} bytes with {before} in use; expected at most {LIMIT} in total");
        std::process::abort();
    }
}

fn count_deallocation(size: usize) {
    let _ = IN_USE.fetch_update(Relaxed, Relaxed, |in_use| Some(in_use.saturating_sub(size)));
}

// SAFETY: all calls are forwarded to the system allocator; sizes are only counted.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count_deallocation(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocation(size);
        count_deallocation(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(memory, layout, size) }
    }
}
