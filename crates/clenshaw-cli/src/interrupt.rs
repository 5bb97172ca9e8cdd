//! Handles Ctrl-C: it stops the command cleanly or, if the command is already stopping, exits immediately.

use crate::progress::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The message when `clenshaw watch` has requested a stop.
pub const STOP_REQUESTED: &str =
    "stopping, as requested by `clenshaw watch`; rerun the same command to resume";

/// How interrupted work is resumed.
#[derive(Clone, Copy)]
pub enum Resume {
    /// It cannot be resumed.
    Never,
    /// By running the same command again.
    Rerun,
}

impl Resume {
    /// The message after the first Ctrl-C.
    fn message(self) -> &'static str {
        match self {
            Self::Never => "stopping (press Ctrl-C again to quit immediately)",
            Self::Rerun => {
                "stopping; rerun the same command to resume (press Ctrl-C again to quit immediately)"
            }
        }
    }
}

/// Returns a flag. Ctrl-C (or a signal such as SIGTERM) sets it and prints a message; if it is already set, Ctrl-C
/// exits with code 1. Panics if called twice.
pub fn flag(progress: &Progress, resume: Resume) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let (set, progress) = (Arc::clone(&flag), progress.clone());
    let handler = move || match set.swap(true, Ordering::Relaxed) {
        false => progress.message(resume.message()),
        true => std::process::exit(1),
    };
    ctrlc::set_handler(handler).expect("the handler is set once per program");
    flag
}
