//! Threads for everything except training. They are started by each call and joined before it returns.
//!
//! There is no thread pool that outlives a call, so a process may fork between two calls.
//! Training uses a [`ThreadTeam`](crate::tensor::ThreadTeam) instead.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

/// The number of threads that this process can run in parallel.
pub(crate) fn available_threads() -> usize {
    #[cfg(test)]
    if let Some(threads) = THREADS.get() {
        return threads;
    }
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
thread_local! {
    static THREADS: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

/// Calls `run`, during which [`available_threads`] returns `threads` on this thread.
#[cfg(test)]
pub(crate) fn with_threads<R>(threads: usize, run: impl FnOnce() -> R) -> R {
    THREADS.set(Some(threads));
    let result = run();
    THREADS.set(None);
    result
}

/// Runs `a` and `b` at the same time, or one after the other if there is only one thread.
pub(crate) fn join<A: Send, B>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    if available_threads() < 2 {
        return (a(), b());
    }
    thread::scope(|scope| {
        let a = scope.spawn(a);
        let b = b();
        (a.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), b)
    })
}

/// Applies `f` to every item on up to `n_threads` threads; the results are in the order of the items.
pub(crate) fn map<I: Send, R: Send>(
    n_threads: usize,
    items: impl IntoIterator<Item = I>,
    f: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let items: Vec<I> = items.into_iter().collect();
    let n_threads = n_threads.min(items.len());
    if n_threads < 2 {
        return items.into_iter().map(f).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let work = || {
        let next = || queue.lock().expect("`next` of a vector does not panic").next();
        Vec::from_iter(std::iter::from_fn(next).map(|(i, item)| (i, f(item))))
    };
    let mut results = thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for other in others {
            let result = other.join();
            results.extend(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    results.sort_unstable_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_for_any_number_of_threads() {
        for n_threads in [0, 1, 2, 7] {
            for n in [0, 1, 2, 100] {
                let squares = map(n_threads, 0..n, |i| i * i);
                assert_eq!(squares, Vec::from_iter((0..n).map(|i| i * i)), "{n_threads} threads");
            }
        }
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_propagates_to_the_caller() {
        map(3, 0..10, |i| assert!(i != 7, "seven"));
    }
}
