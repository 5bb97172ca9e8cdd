//! Tuning a model on a graph: a study whose objective is the validation accuracy.
//!
//! ```text
//! value of a trial = mean over splits i = 0..n of the validation accuracy of the epoch that is kept
//! ```
//!
//! Split, weights and dropout of split `i` come from the seed `seed + i`, the same in every trial: trials
//! differ by their settings and by nothing else, and a value is a function of the settings and the
//! study's seed. What trial `k` tries is drawn from the study's seed and `k`. So neither the number of
//! workers nor that of threads changes what a configuration is worth. With several workers the TPE
//! sampler knows fewer results when it chooses, so it may choose others; random and grid do not mind.
//!
//! Only labels of training and validation nodes are read; a split may be drawn by class, of course.
//!
//! No configuration is trained twice: `propose.rs` draws until it finds a new one, and a study whose
//! space is used up ends early. One that comes from outside, as a waiting trial, and is known already
//! ends at once with the known value and the attribute `duplicate_of`.
//!
//! Pruned and failed trials do not count as completed. A trial whose training diverges fails, and its
//! attribute `failed` says why. One that is interrupted fails too, and its settings wait to be taken up
//! by whoever goes on with the study.
//!
//! While trials run a thread gives signs of life and looks for trials of the dead, whose settings wait
//! again. A database that does not answer is waited for, for an hour or until somebody stops us.

mod space;
mod study;
mod propose;
mod judge;
mod evaluate;
mod steady;
mod desk;
mod outcome;

pub use judge::{Judge, sampler};
pub use outcome::{End, Tuned, best_first};

use super::Request;
use crate::data::{Dataset, Split, Store};
use crate::error::{Error, Result};
use clenshaw_tune::{Direction, Distribution, Params, Sampler, Storage, Tpe, Trial};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// High accuracies are good.
const DIRECTION: Direction = Direction::Maximise;

/// All that decides a study.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// Graph, model, split and the settings that are not tuned. Its runs are the splits of a trial and
    /// its seed is the study's.
    pub request: Request,
    /// The study's name.
    pub study: String,
    /// How many trials are to be completed.
    pub trials: usize,
    /// What the next trial tries.
    pub sampler: Sampler,
    /// Which trials end early; the numbers follow from splits, epochs and the study's name.
    pub judge: Judge,
    /// What is tuned.
    pub space: BTreeMap<String, Distribution>,
    /// How to go on, for the note in the dashboard; may be empty.
    pub command: String,
}

/// How to carry a study out.
pub struct TuneOptions<'a> {
    /// Threads at most; they never change a result.
    pub threads: usize,
    /// Trials at the same time.
    pub jobs: usize,
    /// After this time no trial goes on.
    pub timeout: Option<Duration>,
    /// Where files are looked for.
    pub store: &'a Store,
    /// Sees what happens; called from several threads.
    pub watch: &'a (dyn Fn(TuneEvent<'_>) + Sync),
    /// Set it to stop early; what is finished is kept.
    pub cancel: &'a AtomicBool,
}

/// What happens in a study.
pub enum TuneEvent<'a> {
    /// The graph is there, and so are the trials of earlier times.
    Loaded {
        /// The graph.
        dataset: &'a Dataset,
        /// The study so far.
        trials: &'a [Trial],
    },
    /// A trial begins.
    Started {
        /// Its number.
        number: u64,
    },
    /// A trial tells how it is doing.
    Reported {
        /// Its number.
        number: u64,
        /// Splits done; epochs done, if there is but one split.
        step: u64,
        /// The mean validation accuracy so far.
        value: f64,
    },
    /// A trial is over.
    Ended {
        /// Its number.
        number: u64,
        /// The study now.
        trials: &'a [Trial],
    },
    /// The database does not answer; the study waits for it.
    Away {
        /// What came of asking it.
        problem: &'a str,
    },
}

impl TuneRequest {
    /// A hundred trials of the model's declared space, by TPE and the median rule; five splits each.
    ///
    /// ```
    /// use clenshaw::experiment::{Request, TuneRequest};
    /// let mut study = TuneRequest::new(Request::new("csbm", "clenshaw-gcn")?, "my study");
    /// study.fix("dropout", "0.5")?;
    /// study.apply_space("my.toml", "[space]\nK = { low = 8, high = 32, step = 4 }")?;
    /// assert!(study.space.contains_key("K") && !study.space.contains_key("dropout"));
    /// # Ok::<(), clenshaw::Error>(())
    /// ```
    pub fn new(mut request: Request, study: impl Into<String>) -> Self {
        request.runs = 5;
        let hypers = request.model.hyper_params();
        let space = hypers.filter_map(|h| Some((h.name.to_owned(), space::declared(h)?))).collect();
        Self {
            request,
            study: study.into(),
            trials: 100,
            sampler: Sampler::Tpe(Tpe::default()),
            judge: Judge::Median,
            space,
            command: String::new(),
        }
    }

    /// Sets a hyper-parameter and does not tune it.
    pub fn fix(&mut self, key: &str, value: &str) -> Result<()> {
        self.request.hyper.set(key, value)?;
        self.space.remove(key);
        Ok(())
    }

    /// Takes what a file says about the space; `place` names it in errors.
    pub fn apply_space(&mut self, place: &str, text: &str) -> Result<()> {
        let hypers: Vec<_> = self.request.model.hyper_params().collect();
        for (key, wish) in space::read(place, text, &hypers)? {
            match wish {
                space::Wish::Fixed(value) => self.fix(&key, &value)?,
                space::Wish::Tuned(distribution) => {
                    self.space.insert(key, distribution);
                }
            }
        }
        Ok(())
    }

    /// The settings of a trial: what it was given, and what is fixed.
    pub fn settings(&self, params: &Params) -> Result<Request> {
        let mut request = self.request.clone();
        for (name, (distribution, internal)) in params {
            request.hyper.set(name, &space::written(distribution, *internal))?;
        }
        Ok(request)
    }

    fn check(&self) -> Result<()> {
        if self.space.is_empty() {
            let problem = "nothing is left to tune".to_owned();
            return Err(Error::Data { place: self.request.model.name.into(), problem });
        }
        for (key, value) in [("trials", self.trials), ("splits", self.request.runs)] {
            if !(1..=100_000).contains(&value) {
                let (key, value) = (key.to_owned(), value.to_string());
                return Err(Error::OutOfRange { key, value, allowed: "1..=100000".into() });
            }
        }
        self.request.check()
    }
}

/// Tries settings until the study has as many completed trials as were asked for.
///
/// A study that exists is gone on with; it is refused if it is about anything else than was asked for.
/// One that is cancelled keeps what is finished.
///
/// # Errors
/// The last error, if twenty trainings in a row diverge.
///
/// ```
/// use clenshaw::data::Store;
/// use clenshaw::experiment::{Request, TuneOptions, TuneRequest, tune};
/// use clenshaw_tune::Journal;
/// use std::sync::atomic::AtomicBool;
///
/// # let folder = tempfile::tempdir().unwrap();
/// let mut request = Request::new("csbm:nodes=100", "gcn")?;
/// request.set("max_epochs", "5")?;
/// let mut study = TuneRequest::new(request, "csbm-gcn");
/// (study.trials, study.request.runs) = (3, 2);
/// let options = TuneOptions {
///     threads: 2,
///     jobs: 1,
///     timeout: None,
///     store: &Store::new(None),
///     watch: &|_| {},
///     cancel: &AtomicBool::new(false),
/// };
/// let storage = Journal::open(folder.path().join("csbm-gcn.journal"))?;
/// let tuned = tune(&study, &storage, &options)?;
/// assert_eq!(tuned.trials.len(), 3);
/// let best = tuned.best.expect("three trials are complete");
/// println!("{} of trial {}", best.0.value.unwrap(), best.0.number);
/// # Ok::<(), clenshaw::Error>(())
/// ```
pub fn tune(
    asked: &TuneRequest,
    storage: &dyn Storage,
    options: &TuneOptions<'_>,
) -> Result<Tuned> {
    asked.check()?;
    let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let dataset = asked.request.load(options.store)?;
    let Request { split, runs, seed, .. } = &asked.request;
    let seeds = (0..*runs as u64).map(|i| seed + i);
    let splits: Vec<Split> = seeds.map(|seed| split.draw(&dataset, seed)).collect::<Result<_>>()?;
    let study = study::open(asked, storage)?;
    (options.watch)(TuneEvent::Loaded { dataset: &dataset, trials: &storage.trials(study)? });
    let bench = evaluate::Bench {
        asked,
        pruner: asked.pruner(),
        storage: &steady::Steady { storage, options },
        study,
        dataset: &dataset,
        splits: &splits,
        options,
    };
    let end = desk::work(&bench, deadline)?;
    Tuned::new(asked, &dataset, bench.storage.trials(study)?, end)
}
