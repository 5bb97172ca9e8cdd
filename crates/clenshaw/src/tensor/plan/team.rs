//! Threads that share the chunks of a stage.

use rayon::prelude::*;

/// One thread or several; which of them runs a chunk never changes a result.
pub struct Team {
    pool: Option<rayon::ThreadPool>,
}

impl Team {
    /// A team of `threads`; one thread means the caller alone.
    pub fn new(threads: usize) -> Self {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = (threads > 1).then(|| build().expect("the system has threads to give"));
        Self { pool }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Calls `work(chunk, thread)` for every chunk, each once, in any order.
    pub(super) fn run(&self, n_chunks: usize, work: impl Fn(usize, usize) + Sync) {
        match &self.pool {
            Some(pool) if n_chunks > 1 => pool.install(|| {
                (0..n_chunks).into_par_iter().with_max_len(1).for_each(|chunk| {
                    work(chunk, rayon::current_thread_index().expect("runs inside the pool"));
                });
            }),
            _ => (0..n_chunks).for_each(|chunk| work(chunk, 0)),
        }
    }
}
