//! Trains a linear ClenshawGCN on a graph and plots the learned filter.
//!
//! ```text
//! cargo run --release -p clenshaw --example learned_filter -- csbm:homophily=0.9
//! ```

use clenshaw::data::{self, SplitKind};
use clenshaw::model;
use clenshaw::report::terminal_plot;
use clenshaw::train::{Fit, Setup, test_scores};
use std::sync::Arc;

fn main() -> clenshaw::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("csbm".into());
    let graph = data::load(&name)?;
    let info = model::find("clenshaw-gcn")?;
    let mut hp = info.defaults();
    // Without weights and activations the layers are exactly Clenshaw's summation.
    hp.set_value("use_weight", false)?;
    hp.set_value("use_act", false)?;

    let split = SplitKind::Balanced.draw(&graph, 0)?;
    let setup = Arc::new(Setup::new(graph, info, hp)?);
    let mut fit = Fit::new(setup.clone(), &split, 0, 2)?;
    fit.run_to_end()?;

    let outcome = fit.outcome();
    let scores = test_scores(&outcome.probabilities, setup.dataset(), &split)?;
    println!("{} epochs, test accuracy {:.3}", outcome.history.len(), scores.accuracy);
    let filter = setup.filter(&outcome.weights).expect("ClenshawGCN has a filter");
    print!("{}", terminal_plot(&format!("h(mu) learned on {name}"), &filter.sample(200), 76, 10));
    Ok(())
}
