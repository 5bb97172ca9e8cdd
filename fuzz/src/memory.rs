//! An allocator that ends the program when a reader asks for too much.
//!
//! LibFuzzer itself looks at the memory in use once a second, and not at all at what was asked for
//! and never touched.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More than any reader needs for the few kilobytes of an input: MATLAB files may ask for 64 MiB and
/// a multiple of their size, edge lists for graphs of a million nodes.
const MOST: usize = 160 << 20;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static GUARD: Guard = Guard;

struct Guard;

fn take(size: usize) {
    let before = IN_USE.fetch_add(size, Relaxed);
    if before + size > MOST {
        // Counting must not stop the report.
        IN_USE.store(0, Relaxed);
        eprintln!("{size} bytes asked for, {before} in use; expected at most {MOST} together");
        std::process::abort();
    }
}

fn give_back(size: usize) {
    let _ = IN_USE.fetch_update(Relaxed, Relaxed, |in_use| Some(in_use.saturating_sub(size)));
}

// SAFETY: all is left to the system; sizes are counted besides.
unsafe impl GlobalAlloc for Guard {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give_back(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}
