//! `clenshaw filter`: plot a run's learned filter over the spectrum of its graph.

use crate::options::{DataOption, whole};
use crate::{RunSubcommand, filter_plot, output, run_folder};
use clap::Parser;
use clenshaw::experiment;
use clenshaw::filter::Response;
use clenshaw::graph::Normalisation;
use clenshaw::report::{LineChart, LineSeries, svg_to_png};
use clenshaw::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;

/// Plot a run's learned filter over the spectrum of its graph
#[derive(Parser)]
#[command(name = "filter", after_help = AFTER_HELP)]
pub struct Filter {
    /// Run folder, as written by `clenshaw train`, `compare` or `demo`: a path, a name in `runs` or a unique
    /// prefix of one, or `latest` for the newest
    run: PathBuf,
    /// Use the run with this seed [default: the run with the lowest validation loss]
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Write the curve as CSV with the columns mu and h
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the chart as SVG, with the distribution of the graph's eigenvalues
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the same chart as PNG
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    #[command(flatten)]
    data: DataOption,
}

const AFTER_HELP: &str = "\
h(mu) is the factor by which the learned filter multiplies an eigenvector of the graph with
eigenvalue mu. Activations and, in ClenshawGCN and its variants, the weights between layers are not
part of the filter; if there are several channels, their mean is shown. In eigenvectors with mu near
1, neighbouring nodes have similar values; towards the left end of the plot, the values of
neighbours differ more and more. A filter that is large near 1 averages neighbours; one that is
large at the left computes differences between them.

With --csv, --svg or --png, only the files are written, and nothing is plotted in the terminal.

Examples:
  clenshaw filter latest
  clenshaw filter cora-clenshaw-gcn --svg filter.svg";

impl RunSubcommand for Filter {
    fn run(self) -> Result<()> {
        let folder = run_folder::find(&self.run)?;
        let store = self.data.store();
        let run = experiment::read_run(&folder, self.seed)?;
        let filter = run.record.filter.as_ref().ok_or_else(|| Error::Data {
            place: folder.display().to_string(),
            problem: format!("the model {} has no filter", run.request.model.name),
        })?;
        let dataset = run.request.load(&store)?;
        if let Some(warning) = run.change_warning(&dataset) {
            output::message(&format!(
                "warning: {warning}; the spectrum is that of the changed graph, the filter that of the old one"
            ));
        }
        let title = format!("{} on {}", run.request.model.title, dataset.name);
        let kind = run.request.model.operator.unwrap_or(Normalisation::Looped);
        let (_, points) = filter_plot::points(filter, &dataset, kind);
        let chart = || {
            let series =
                LineSeries { name: format!("seed {}", run.record.seed), points: points.clone() };
            let histogram = Some(filter_plot::eigenvalues(&dataset, kind));
            LineChart { histogram, ..LineChart::responses(&title, vec![series]) }.to_svg()
        };
        if let Some(path) = &self.csv {
            output::save(path, csv(&points))?;
        }
        if let Some(path) = &self.svg {
            output::save(path, chart())?;
        }
        if let Some(path) = &self.png {
            output::save(path, svg_to_png(&chart())?)?;
        }
        if [&self.csv, &self.svg, &self.png].into_iter().any(Option::is_some) {
            return Ok(());
        }
        let plot = filter_plot::in_terminal(&title, filter, &dataset, kind);
        output::print(&page(&plot, run.record.seed, filter))
    }
}

/// The plot, the coefficients if the filter is a single polynomial, and the seed.
fn page(plot: &str, seed: u64, filter: &Response) -> String {
    let coefficients = match filter {
        Response::Shared(filter) => {
            let list: Vec<String> = filter.coefficients.iter().map(|c| format!("{c:.3}")).collect();
            format!("coefficients: {}\n", list.join(" "))
        }
        _ => String::new(),
    };
    format!("{plot}\n{coefficients}seed {seed}\n")
}

/// The curve as CSV.
fn csv(points: &[(f64, f64)]) -> String {
    let mut csv = String::from("mu,h\n");
    for (mu, h) in points {
        writeln!(csv, "{mu},{h}").expect("writing to a string cannot fail");
    }
    csv
}
