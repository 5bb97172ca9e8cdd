//! Threads that share the chunks of a stage.
//!
//! A step has dozens of stages of a few dozen microseconds each, so idle threads spin between stages
//! before they sleep. Chunks are assigned dynamically. The caller works on chunks as well; it waits for
//! chunks in progress, but never for a thread to start.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle, yield_now};

/// The number of times an idle thread polls for work before it sleeps: about a hundred microseconds.
const POLLS_BEFORE_SLEEP: u32 = 4000;
/// The number of times the caller polls for the last chunks before it yields to other threads.
const POLLS_BEFORE_YIELD: u32 = 1000;

/// The threads that execute a plan and update parameters, including the caller's.
///
/// Results do not depend on their number. The team starts all of them except the caller's, and they end when it
/// is dropped; there is no global pool.
pub struct ThreadTeam {
    shared: Arc<TeamState>,
    workers: Vec<JoinHandle<()>>,
}

/// The work of a job: a function of the index of a chunk and the index of the thread.
type ChunkFn<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// The state that the threads of a team share.
struct TeamState {
    /// The number of the job in the high half, and in the low half the number of its chunks that no thread
    /// has taken yet.
    ticket: AtomicU64,
    /// The job and its number of chunks; written only while no chunk is available or in progress.
    job: UnsafeCell<Option<(*const ChunkFn<'static>, usize)>>,
    /// The number of finished chunks of the job.
    done: AtomicUsize,
    /// Whether a chunk of the job panicked.
    failed: AtomicBool,
    /// Whether the threads should end. This is the mutex of `wake`.
    should_end: Mutex<bool>,
    /// Signals sleeping threads.
    wake: Condvar,
    /// The number of sleeping threads.
    asleep: AtomicUsize,
}

// SAFETY: `job` is written by the team's owner only, and read only by threads that have taken one of
// its chunks.
unsafe impl Sync for TeamState {}
// SAFETY: as above; the work itself is `Sync`.
unsafe impl Send for TeamState {}

impl ThreadTeam {
    /// A team of `threads` threads; 0 and 1 mean the caller alone.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(TeamState {
            ticket: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            done: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            should_end: Mutex::new(false),
            wake: Condvar::new(),
            asleep: AtomicUsize::new(0),
        });
        let worker = |thread: usize| {
            let shared = Arc::clone(&shared);
            let name = format!("clenshaw-{thread}");
            let spawned = Builder::new().name(name).spawn(move || shared.run_worker(thread));
            spawned.expect("thread team: cannot start a thread")
        };
        let workers = (1..threads).map(worker).collect();
        Self { shared, workers }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Calls `work(chunk, thread)` once for every chunk, in any order; the caller's thread is number 0.
    ///
    /// # Panics
    /// If a chunk panics.
    pub(crate) fn run(&mut self, n_chunks: usize, work: impl Fn(usize, usize) + Sync) {
        if self.workers.is_empty() || n_chunks < 2 {
            return (0..n_chunks).for_each(|chunk| work(chunk, 0));
        }
        self.shared.post(n_chunks, &work);
        while self.shared.run_next_chunk(0) {}
        self.shared.wait_for_chunks(n_chunks);
        assert!(!self.shared.failed.swap(false, Relaxed), "thread team: a chunk panicked");
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        *self.shared.should_end.lock().expect("no thread panics while it holds the lock") = true;
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl TeamState {
    /// Makes the chunks of a job available and wakes sleeping threads.
    fn post(&self, n_chunks: usize, work: &ChunkFn<'_>) {
        let n = u32::try_from(n_chunks).expect("thread team: fewer than 2^32 chunks");
        // SAFETY: extends a lifetime; `ThreadTeam::run` returns only after the last use of the work.
        let work =
            unsafe { std::mem::transmute::<*const ChunkFn<'_>, *const ChunkFn<'static>>(work) };
        // SAFETY: all chunks of the previous job are done, so no thread reads the cell.
        unsafe { *self.job.get() = Some((work, n_chunks)) };
        self.done.store(0, Relaxed);
        let number = (self.ticket.load(Relaxed) >> 32) + 1;
        self.ticket.store(number << 32 | u64::from(n), SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            let _guard = self.should_end.lock().expect("no thread panics while it holds the lock");
            self.wake.notify_all();
        }
    }

    /// Takes and runs the next chunk; returns whether there was one. Records a panic in `failed`.
    fn run_next_chunk(&self, thread: usize) -> bool {
        let take = |ticket: u64| (ticket as u32 > 0).then(|| ticket - 1);
        let Ok(ticket) = self.ticket.fetch_update(AcqRel, Acquire, take) else { return false };
        // SAFETY: this thread has taken a chunk that is not done, so the job is not replaced.
        let (work, n_chunks) =
            unsafe { (*self.job.get()).expect("a chunk belongs to a posted job") };
        let chunk = n_chunks - ticket as u32 as usize;
        // SAFETY: as above, for the pointer's target.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*work)(chunk, thread) }));
        if outcome.is_err() {
            self.failed.store(true, Relaxed);
        }
        self.done.fetch_add(1, Release);
        true
    }

    /// Waits until all chunks are done.
    fn wait_for_chunks(&self, n_chunks: usize) {
        let mut polls = 0;
        while self.done.load(Acquire) < n_chunks {
            polls += 1;
            if polls < POLLS_BEFORE_YIELD { spin_loop() } else { yield_now() }
        }
    }

    /// The loop of a worker thread.
    fn run_worker(&self, thread: usize) {
        loop {
            let mut polls = 0;
            while polls < POLLS_BEFORE_SLEEP {
                if self.run_next_chunk(thread) {
                    polls = 0;
                }
                polls += 1;
                spin_loop();
            }
            if self.sleep() {
                return;
            }
        }
    }

    /// Sleeps until there is work or the thread should end; returns whether it should end.
    fn sleep(&self) -> bool {
        let mut should_end =
            self.should_end.lock().expect("no thread panics while it holds the lock");
        self.asleep.fetch_add(1, SeqCst);
        while !*should_end && self.ticket.load(SeqCst) as u32 == 0 {
            should_end =
                self.wake.wait(should_end).expect("no thread panics while it holds the lock");
        }
        self.asleep.fetch_sub(1, SeqCst);
        *should_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_chunk_runs_once_for_any_number_of_threads() {
        for threads in 1..5 {
            let mut team = ThreadTeam::new(threads);
            for n_chunks in (0..40).chain([1000]).cycle().take(400) {
                let counts: Vec<AtomicUsize> = (0..n_chunks).map(|_| 0.into()).collect();
                team.run(n_chunks, |chunk, thread| {
                    assert!(thread < threads);
                    counts[chunk].fetch_add(1, Relaxed);
                });
                assert!(counts.iter().all(|count| count.load(Relaxed) == 1), "{n_chunks}");
            }
        }
    }

    #[test]
    fn sleeping_threads_wake_for_new_work() {
        let mut team = ThreadTeam::new(3);
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(5));
            let sum = AtomicUsize::new(0);
            team.run(100, |chunk, _| {
                sum.fetch_add(chunk, Relaxed);
            });
            assert_eq!(sum.into_inner(), 4950);
        }
    }

    #[test]
    fn a_panic_propagates_to_the_caller_and_the_team_stays_usable() {
        let mut team = ThreadTeam::new(2);
        let panics = |chunk: usize, _: usize| assert!(chunk != 7, "seven");
        let outcome = catch_unwind(AssertUnwindSafe(|| team.run(20, panics)));
        assert!(outcome.is_err());
        let done = AtomicUsize::new(0);
        team.run(20, |_, _| {
            done.fetch_add(1, Relaxed);
        });
        assert_eq!(done.into_inner(), 20);
    }
}
