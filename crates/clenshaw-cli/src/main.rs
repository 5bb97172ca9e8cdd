//! The `clenshaw` program, and the only crate that prints.
//!
//! Each subcommand is one module and one line of [`SUBCOMMANDS`]; help, completions and man pages are
//! generated from that list.

mod output;
mod usage;
mod hint;
mod progress;
mod interrupt;
mod options;
mod filter_plot;
mod demo;
mod train;
mod compare;
mod tune;
mod predict;
mod explain;
mod run_folder;
mod runs;
mod filter;
mod report;
mod models;
mod data;
mod reproduce;
mod bench;
mod completions;
mod man;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use clenshaw::{Error, Result};
use std::io::ErrorKind;
use std::process::ExitCode;

/// All subcommands, in the order of the help.
static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand::of::<demo::Demo>(),
    Subcommand::of::<train::Train>(),
    Subcommand::of::<compare::Compare>(),
    Subcommand::of::<tune::Tune>(),
    Subcommand::of::<predict::Predict>(),
    Subcommand::of::<explain::Explain>(),
    Subcommand::of::<filter::Filter>(),
    Subcommand::of::<report::Report>(),
    Subcommand::of::<runs::Runs>(),
    Subcommand::of::<models::Models>(),
    Subcommand::of::<data::Data>(),
    Subcommand::of::<reproduce::Reproduce>(),
    Subcommand::of::<bench::Bench>(),
    Subcommand::of::<completions::Completions>(),
    Subcommand::of::<man::Man>(),
];

const AFTER_HELP: &str = "\
Results are written to stdout, progress and errors to stderr.
Exit codes: 0 success, 1 failure while running, 2 invalid arguments or input.

Examples:
  clenshaw demo                                   Train five models on two graphs
  clenshaw train my-graph/                        Train on your own edges.csv and nodes.csv
  clenshaw predict latest --only unlabelled       Classify the nodes without a label
  clenshaw explain latest 17                      Show what a prediction is based on
  clenshaw train cora --preset --runs 10          Use published settings on ten splits
  clenshaw models clenshaw-gcn                    Show a model's equation and hyper-parameters";

/// The maximum width of help lines.
const HELP_WIDTH: usize = 100;

/// A subcommand with its parsed arguments.
trait RunSubcommand: CommandFactory + FromArgMatches {
    /// Runs the subcommand; results go to stdout, everything else to stderr.
    fn run(self) -> Result<()>;
}

/// An entry of [`SUBCOMMANDS`].
struct Subcommand {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<()>,
}

impl Subcommand {
    const fn of<V: RunSubcommand>() -> Self {
        fn run<V: RunSubcommand>(matches: &ArgMatches) -> Result<()> {
            V::from_arg_matches(matches).expect("clap has checked the arguments").run()
        }
        Self { command: V::command, run: run::<V> }
    }
}

/// The definition of the command line, from which help, completions and man pages are generated.
fn command() -> Command {
    Command::new("clenshaw")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Node classification on graphs: train, tune and compare graph neural networks")
        .after_help(AFTER_HELP)
        .max_term_width(HELP_WIDTH)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(SUBCOMMANDS.iter().map(|subcommand| (subcommand.command)()))
}

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage::report(&error),
    };
    let (name, arguments) = matches.subcommand().expect("clap requires a subcommand");
    let subcommand =
        SUBCOMMANDS.iter().find(|subcommand| (subcommand.command)().get_name() == name);
    match (subcommand.expect("clap accepts listed subcommands only").run)(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// Prints an error with its hint; returns 2 for invalid arguments or input, 1 for other failures. A
/// closed pipe is not reported and counts as success.
fn report(error: &Error) -> ExitCode {
    // Another program closed the pipe, as in `clenshaw models | head -1`.
    if matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    output::message(&format!("error: {error}"));
    if let Some(hint) = hint::hint(error) {
        output::message(&format!("hint: {hint}"));
    }
    ExitCode::from(if error.is_input() { 2 } else { 1 })
}
