//! ClenshawGCN's filter before and after a training with its preset.

use crate::data::Dataset;
use crate::error::Result;
use crate::experiment::reproduce::errand::Errand;
use crate::experiment::{Options, Order, Request, run};
use crate::filter::Response;
use crate::report::{Backdrop, Figure, Series};
use crate::train::Setup;
use serde::{Deserialize, Serialize};

/// What a training made of the filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// The filter that training starts with.
    pub before: Option<Response>,
    /// The filter of the best epoch.
    pub after: Option<Response>,
    /// Epochs trained.
    pub epochs: usize,
    /// The epoch whose weights were kept.
    pub best_epoch: usize,
    /// Its validation accuracy.
    pub val_accuracy: f64,
    /// The accuracy of its weights on the test nodes.
    pub test_accuracy: f64,
    /// Time taken.
    pub seconds: f64,
}

/// The preset's whole training on one split.
pub fn request(graph: &str, seed: u64) -> Result<Request> {
    let mut request = Request::new(graph, "clenshaw-gcn")?;
    request.apply_preset("paper")?;
    request.seed = seed;
    Ok(request)
}

/// Trains, or goes on with an interrupted training.
pub fn train(request: &Request, dataset: &Dataset, errand: &Errand<'_>) -> Result<Trained> {
    let setup = Setup::new(dataset, request.model, request.hyper.clone());
    let before = setup.filter(&setup.initial(request.seed));
    let out = errand.folder.join("runs").join(request.folder_name());
    let order = Order { request: request.clone(), out: Some(out) };
    let options = Options {
        threads: 1,
        store: errand.store,
        resume: true,
        watch: &|_, _| {},
        cancel: errand.cancel,
    };
    let run = run(&order, &options)?.runs.into_iter().next().expect("a request of one run");
    Ok(Trained {
        before,
        after: run.filter,
        epochs: run.epochs,
        best_epoch: run.best_epoch,
        val_accuracy: run.val_accuracy,
        test_accuracy: run.test_accuracy,
        seconds: run.seconds,
    })
}

impl Trained {
    /// Both responses, with the graph's eigenvalues behind them.
    pub fn figure(&self, graph: &str, density: Option<&[f64]>) -> Figure {
        let series = [("before training", &self.before), ("after training", &self.after)];
        let series = series.iter().filter_map(|(name, response)| {
            let points = response.as_ref()?.sample(201);
            Some(Series { name: (*name).into(), points })
        });
        let title = format!("ClenshawGCN's filter on {graph}");
        let mut figure = Figure::responses(&title, series.collect());
        figure.backdrop = density.map(|density| {
            let edge = |i: usize| 2.0 * i as f64 / density.len() as f64 - 1.0;
            let columns = density.iter().enumerate().map(|(i, &h)| (edge(i), edge(i + 1), h));
            Backdrop { name: "eigenvalues".into(), columns: columns.collect() }
        });
        figure
    }
}
