//! Trains a linear ClenshawGCN on a graph and draws the filter it learned.
//!
//! ```text
//! cargo run --release -p clenshaw --example learned_filter -- csbm:homophily=0.9
//! ```

use clenshaw::data::{self, SplitKind};
use clenshaw::model;
use clenshaw::report::terminal_plot;
use clenshaw::train::{Fit, Setup, test_scores};

fn main() -> clenshaw::Result<()> {
    let name = std::env::args().nth(1).unwrap_or("csbm".into());
    let graph = data::load(&name)?;
    let info = model::find("clenshaw-gcn")?;
    let mut hp = info.defaults();
    // Without weights and activations the layers are Clenshaw's summation and nothing else.
    hp.set("use_weight", "false")?;
    hp.set("use_act", "false")?;

    let setup = Setup::new(&graph, info, hp);
    let split = SplitKind::Balanced.draw(&graph, 0)?;
    let mut fit = Fit::new(&setup, &graph, &split, 0, 2);
    fit.run(|_, _| true)?;

    let outcome = fit.outcome();
    let scores = test_scores(&outcome.probabilities, &graph, &split);
    println!("{} epochs, test accuracy {:.3}", outcome.history.len(), scores.accuracy);
    let filter = setup.filter(&outcome.weights).expect("ClenshawGCN has a filter");
    print!("{}", terminal_plot(&format!("h(mu) learned on {name}"), &filter.sample(200), 76, 10));
    Ok(())
}
