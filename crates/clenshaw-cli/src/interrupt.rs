//! Ctrl-C: the first asks the runs to stop where they can be resumed, the second ends the program.

use crate::progress::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What runs say that `--resume` goes on with.
pub const RESUME: &str =
    "finishing up; run again with --resume to go on (Ctrl-C once more stops at once)";

/// What experiments say that the same words go on with.
pub const AGAIN: &str = "finishing up; run again to go on (Ctrl-C once more stops at once)";

/// A flag that the first Ctrl-C (or SIGTERM) sets, with a message on stderr.
pub fn flag(progress: &Progress, message: &'static str) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let (set, progress) = (Arc::clone(&flag), progress.clone());
    let handler = move || match set.swap(true, Ordering::Relaxed) {
        false => progress.say(message),
        true => std::process::exit(1),
    };
    ctrlc::set_handler(handler).expect("a program sets its handler once");
    flag
}
