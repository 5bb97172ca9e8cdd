//! Threads that share the chunks of a stage.
//!
//! A step has dozens of stages of a few dozen microseconds each, so threads stay awake between them.
//! Whoever is there takes the next chunk; the caller takes chunks, too, and never waits for a thread
//! that has not started: only for chunks that somebody has begun.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{Builder, JoinHandle, yield_now};

/// How often a thread looks for work before it goes to sleep: about a hundred microseconds.
const LOOKS: u32 = 4000;
/// How often the caller looks whether the last chunks are done before it lets others run.
const PATIENCE: u32 = 1000;

/// One thread or several; which of them runs a chunk never changes a result.
pub struct ThreadTeam {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

struct Shared {
    /// The number of the job, and in the low half how many of its chunks nobody has taken yet.
    ticket: AtomicU64,
    /// The job, and its number of chunks; written while no chunk is taken or to be taken.
    job: UnsafeCell<Option<(*const Work<'static>, usize)>>,
    done: AtomicUsize,
    failed: AtomicBool,
    /// Whether the team is to end; guards the sleepers.
    over: Mutex<bool>,
    wake: Condvar,
    asleep: AtomicUsize,
}

// SAFETY: `job` is written by the one caller only, and read only by those who hold a chunk of it.
unsafe impl Sync for Shared {}
// SAFETY: as above; the work itself is `Sync`.
unsafe impl Send for Shared {}

impl ThreadTeam {
    /// A team of `threads`; one thread means the caller alone.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            ticket: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            done: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            over: Mutex::new(false),
            wake: Condvar::new(),
            asleep: AtomicUsize::new(0),
        });
        let worker = |thread: usize| {
            let shared = Arc::clone(&shared);
            let name = format!("clenshaw-{thread}");
            let spawned = Builder::new().name(name).spawn(move || shared.serve(thread));
            spawned.expect("the system has threads to give")
        };
        let workers = (1..threads).map(worker).collect();
        Self { shared, workers }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// Calls `work(chunk, thread)` for every chunk, each once, in any order.
    pub(crate) fn run(&mut self, n_chunks: usize, work: impl Fn(usize, usize) + Sync) {
        if self.workers.is_empty() || n_chunks < 2 {
            return (0..n_chunks).for_each(|chunk| work(chunk, 0));
        }
        self.shared.post(n_chunks, &work);
        while self.shared.take_chunk(0) {}
        self.shared.finish(n_chunks);
        assert!(!self.shared.failed.swap(false, Relaxed), "team: a thread panicked");
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        *self.shared.over.lock().expect("no thread panics while it holds the lock") = true;
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn post(&self, n_chunks: usize, work: &Work<'_>) {
        let n = u32::try_from(n_chunks).expect("a stage has few chunks");
        // SAFETY: a lifetime is forgotten; `ThreadTeam::run` returns only when nobody uses the work.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        // SAFETY: all chunks of the job before are done, so nobody reads the cell.
        unsafe { *self.job.get() = Some((work, n_chunks)) };
        self.done.store(0, Relaxed);
        let number = (self.ticket.load(Relaxed) >> 32) + 1;
        self.ticket.store(number << 32 | u64::from(n), SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            let _guard = self.over.lock().expect("no thread panics while it holds the lock");
            self.wake.notify_all();
        }
    }

    /// Runs a chunk, if there is one left.
    fn take_chunk(&self, thread: usize) -> bool {
        let take = |ticket: u64| (ticket as u32 > 0).then(|| ticket - 1);
        let Ok(ticket) = self.ticket.fetch_update(AcqRel, Acquire, take) else { return false };
        // SAFETY: the chunk is ours and not done, so the job stands until we say so.
        let (work, n_chunks) =
            unsafe { (*self.job.get()).expect("a chunk belongs to a job that was posted") };
        let chunk = n_chunks - ticket as u32 as usize;
        // SAFETY: as above, for what the pointer refers to.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*work)(chunk, thread) }));
        if outcome.is_err() {
            self.failed.store(true, Relaxed);
        }
        self.done.fetch_add(1, Release);
        true
    }

    /// Waits for the chunks that others have begun.
    fn finish(&self, n_chunks: usize) {
        let mut looks = 0;
        while self.done.load(Acquire) < n_chunks {
            looks += 1;
            if looks < PATIENCE { spin_loop() } else { yield_now() }
        }
    }

    /// A worker's life.
    fn serve(&self, thread: usize) {
        loop {
            let mut looks = 0;
            while looks < LOOKS {
                if self.take_chunk(thread) {
                    looks = 0;
                }
                looks += 1;
                spin_loop();
            }
            if self.sleep() {
                return;
            }
        }
    }

    /// Sleeps until there is work; returns whether the team is over.
    fn sleep(&self) -> bool {
        let mut over = self.over.lock().expect("no thread panics while it holds the lock");
        self.asleep.fetch_add(1, SeqCst);
        while !*over && self.ticket.load(SeqCst) as u32 == 0 {
            over = self.wake.wait(over).expect("no thread panics while it holds the lock");
        }
        self.asleep.fetch_sub(1, SeqCst);
        *over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_chunk_runs_once_whatever_the_threads() {
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
    fn sleepers_wake_for_new_work() {
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
    fn a_panic_of_a_thread_reaches_the_caller_and_the_team_lives_on() {
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
