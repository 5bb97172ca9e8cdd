//! `--threads`, the same for every verb that computes.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use std::num::NonZero;

/// How many threads may work; the number never changes a result.
#[derive(Args)]
pub struct Threads {
    /// Threads at most; results do not depend on it [default: all processors]
    #[arg(long, value_name = "T", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    threads: Option<usize>,
}

impl Threads {
    /// What was asked for, else all processors.
    pub fn count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.unwrap_or_else(available)
    }
}
