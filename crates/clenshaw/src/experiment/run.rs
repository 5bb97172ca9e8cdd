//! Carrying out orders: many small runs side by side, large ones one after the other.

use super::folder::{Folder, Receipt};
use super::job::{Graphs, Job};
use super::{Record, Request, Summary};
use crate::data::{Dataset, Store};
use crate::error::{Error, Result};
use crate::train::Epoch;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Runs go side by side, one thread each, while each needs less than its share of this.
const SIDE_BY_SIDE_BYTES: usize = 1 << 30;

/// What is asked for, and where it is kept.
#[derive(Clone, Debug)]
pub struct Order {
    /// What is asked for.
    pub request: Request,
    /// The run folder, if anything is to be kept.
    pub out: Option<PathBuf>,
}

/// How to carry orders out; none of it changes a result.
pub struct Options<'a> {
    /// Threads at most.
    pub threads: usize,
    /// Where files are looked for.
    pub store: &'a Store,
    /// Keep the finished runs of the folders and go on with the others.
    pub resume: bool,
    /// Sees what happens to which order, counted from zero; called from several threads.
    pub watch: &'a (dyn Fn(usize, Event<'_>) + Sync),
    /// Set it to stop early; what is finished is kept.
    pub cancel: &'a AtomicBool,
}

/// What happens; runs are counted from zero.
pub enum Event<'a> {
    /// The graph is there.
    Loaded {
        /// The graph.
        dataset: &'a Dataset,
    },
    /// A run begins, or goes on.
    Started {
        /// Which run.
        run: usize,
        /// Its seed.
        seed: u64,
        /// Epochs at most.
        max_epochs: usize,
        /// Epochs it had done before it was interrupted.
        epochs_done: usize,
    },
    /// An epoch is over.
    Epoch {
        /// Which run.
        run: usize,
        /// What it brought.
        epoch: &'a Epoch,
    },
    /// A run is over.
    Finished {
        /// Which run.
        run: usize,
        /// What it was worth.
        record: &'a Record,
    },
}

/// Trains every run of an order and sums them up.
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{Options, Order, Request, run};
/// use std::sync::atomic::AtomicBool;
///
/// let mut request = Request::new("csbm:nodes=100", "gcn")?;
/// request.set("max_epochs", "5")?;
/// request.runs = 2;
/// let cancel = AtomicBool::new(false);
/// let options = Options {
///     threads: 2,
///     store: &Store::new(None),
///     resume: false,
///     watch: &|_, _| {},
///     cancel: &cancel,
/// };
/// let summary = run(&Order { request, out: None }, &options)?;
/// assert_eq!(summary.runs.len(), 2);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn run(order: &Order, options: &Options<'_>) -> Result<Summary> {
    let mut results = run_all(std::slice::from_ref(order), options);
    results.pop().expect("one order, one result")
}

/// Carries out many orders, each with a result of its own: one that fails does not stop the others.
///
/// Runs of all orders share the threads. An order is begun when a thread is free for it, in the order
/// of the list, and let go with its last run.
pub fn run_all(orders: &[Order], options: &Options<'_>) -> Vec<Result<Summary>> {
    let (threads, n_runs) = (options.threads.max(1), orders.iter().map(|o| o.request.runs).sum());
    let workers = threads.min(n_runs).max(1);
    let desk = Desk::new(orders, options, SIDE_BY_SIDE_BYTES / workers);
    std::thread::scope(|scope| {
        let work = || desk.work(threads / workers);
        (1..workers).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    desk.let_large_ones_in();
    desk.work(threads);
    desk.results()
}

/// The records that an order's folder holds already; none, if there is no folder.
pub(super) fn finished_runs(order: &Order) -> Result<Vec<Record>> {
    let Some(folder) = existing(order)? else { return Ok(vec![]) };
    order.request.seeds().filter_map(|seed| folder.record(seed).transpose()).collect()
}

/// The receipt of an order and its records, if all runs are done.
pub(super) fn finished(order: &Order) -> Result<Option<(Receipt, Vec<Record>)>> {
    let Some(folder) = existing(order)? else { return Ok(None) };
    let (receipt, records) = (folder.receipt()?, finished_runs(order)?);
    Ok(receipt.filter(|_| records.len() == order.request.runs).map(|receipt| (receipt, records)))
}

/// The folder of an order, unless it is of other settings.
fn existing(order: &Order) -> Result<Option<Folder>> {
    let folder = order.out.as_deref().filter(|path| path.join("run.toml").exists());
    let found = folder.map(Folder::existing).transpose()?;
    let same = |request: &Request| request.to_toml() == order.request.to_toml();
    Ok(found.filter(|(_, request)| same(request)).map(|(folder, _)| folder))
}

/// What the workers share.
struct Desk<'a> {
    orders: &'a [Order],
    options: &'a Options<'a>,
    graphs: Graphs,
    /// Orders that need more memory than this wait for the others.
    largest: usize,
    state: Mutex<State<'a>>,
    /// Somebody has begun an order.
    begun: Condvar,
}

struct State<'a> {
    /// Orders not yet begun.
    waiting: VecDeque<usize>,
    /// Workers that load a graph or compile a model.
    beginning: usize,
    /// Orders too large to run beside others.
    large: Vec<usize>,
    /// Whether these have their turn now.
    large_have_their_turn: bool,
    /// Orders with runs that nobody has taken yet, and the next such run.
    open: Vec<(Arc<Job<'a>>, usize)>,
    results: Vec<Option<Result<Summary>>>,
}

impl<'a> Desk<'a> {
    fn new(orders: &'a [Order], options: &'a Options<'a>, largest: usize) -> Self {
        let state = State {
            waiting: (0..orders.len()).collect(),
            beginning: 0,
            large: vec![],
            large_have_their_turn: false,
            open: vec![],
            results: orders.iter().map(|_| None).collect(),
        };
        let (graphs, state, begun) = (Graphs::default(), Mutex::new(state), Condvar::new());
        Self { orders, options, graphs, largest, state, begun }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().expect("nobody panics while holding it")
    }

    fn let_large_ones_in(&self) {
        let mut state = self.state();
        state.large_have_their_turn = true;
        state.waiting = std::mem::take(&mut state.large).into();
    }

    /// Takes runs until there are none left.
    fn work(&self, threads: usize) {
        while let Some((job, run)) = self.next_run() {
            job.train_run(run, threads);
            if let Some(result) = job.result_if_last() {
                self.state().results[job.order] = Some(result);
            }
        }
    }

    /// A run that nobody has taken: of an open order, else of the next one waiting.
    fn next_run(&self) -> Option<(Arc<Job<'a>>, usize)> {
        let mut state = self.state();
        while !self.options.cancel.load(Ordering::Relaxed) {
            if let Some((job, next)) = state.open.first_mut() {
                let taken = (Arc::clone(job), *next);
                *next += 1;
                if *next == job.n_runs() {
                    state.open.remove(0);
                }
                return Some(taken);
            }
            state = match state.waiting.pop_front() {
                Some(order) => self.begin(order, state),
                None if state.beginning == 0 => break,
                None => self.begun.wait(state).expect("nobody panics while holding it"),
            };
        }
        None
    }

    /// Loads the graph and compiles the model, while other workers go on.
    fn begin<'d>(
        &'d self,
        order: usize,
        mut state: MutexGuard<'d, State<'a>>,
    ) -> MutexGuard<'d, State<'a>> {
        state.beginning += 1;
        drop(state);
        let _guard = IfItPanics(self);
        let job = Job::new(order, &self.orders[order], self.options, &self.graphs);
        let mut state = self.state();
        state.beginning -= 1;
        match job {
            Err(error) => state.results[order] = Some(Err(error)),
            Ok(job) if job.bytes() > self.largest && !state.large_have_their_turn => {
                state.large.push(order);
            }
            Ok(job) => state.open.push((Arc::new(job), 0)),
        }
        self.begun.notify_all();
        state
    }

    fn results(self) -> Vec<Result<Summary>> {
        let state = self.state.into_inner().expect("all workers are done");
        let results = state.results.into_iter();
        results.map(|result| result.unwrap_or(Err(Error::Interrupted))).collect()
    }
}

/// Nobody waits for a worker that panicked while it began an order.
struct IfItPanics<'d, 'a>(&'d Desk<'a>);

impl Drop for IfItPanics<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().beginning -= 1;
            self.0.begun.notify_all();
        }
    }
}
