//! `clenshaw`: the words people type, and the only place that prints.
//!
//! A verb is one file and one line of [`VERBS`]; help, completions and man pages follow from it.

mod output;
mod usage;
mod hint;
mod progress;
mod interrupt;
mod options;
mod picture;
mod demo;
mod train;
mod compare;
mod tune;
mod study;
mod tuned;
mod board;
mod predict;
mod models;
mod data;
mod get;
mod import;
mod check;
mod reproduce;
mod bench;
mod completions;
mod man;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use clenshaw::{Error, Result};
use std::io::ErrorKind;
use std::process::ExitCode;

/// Every verb, in the order of the help.
static VERBS: &[Verb] = &[
    Verb::of::<demo::Demo>(),
    Verb::of::<train::Train>(),
    Verb::of::<compare::Compare>(),
    Verb::of::<tune::Tune>(),
    Verb::of::<predict::Predict>(),
    Verb::of::<models::Models>(),
    Verb::of::<data::Data>(),
    Verb::of::<reproduce::Reproduce>(),
    Verb::of::<bench::Bench>(),
    Verb::of::<completions::Completions>(),
    Verb::of::<man::Man>(),
];

const EXAMPLES: &str = "\
Examples:
  clenshaw demo                                    five models on two graphs, in under a minute
  clenshaw train cora --preset paper --runs 10     the paper's settings, ten splits
  clenshaw models clenshaw-gcn                     its equation, and what can be set
  clenshaw data list                               what it can be trained on";

/// A verb whose words clap has read.
trait Run: CommandFactory + FromArgMatches {
    /// Does it; results go to stdout, everything else to stderr.
    fn run(self) -> Result<()>;
}

/// A verb as the list knows it.
struct Verb {
    command: fn() -> Command,
    run: fn(&ArgMatches) -> Result<()>,
}

impl Verb {
    const fn of<V: Run>() -> Self {
        fn run<V: Run>(matches: &ArgMatches) -> Result<()> {
            V::from_arg_matches(matches).expect("clap has checked the words").run()
        }
        Self { command: V::command, run: run::<V> }
    }
}

/// The whole program's definition, from which help, completions and man pages are made.
fn command() -> Command {
    Command::new("clenshaw")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Spectral graph learning: ClenshawGCN and its neighbours, without a framework")
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(VERBS.iter().map(|verb| (verb.command)()))
}

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage::answer(&error),
    };
    let (name, words) = matches.subcommand().expect("clap requires a verb");
    let verb = VERBS.iter().find(|verb| (verb.command)().get_name() == name);
    match (verb.expect("clap knows no other verbs").run)(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// 2 for wrong words and bad input, 1 for what failed while running.
fn fail(error: &Error) -> ExitCode {
    // Whoever read our stdout has seen enough: `clenshaw models | head -1`.
    if matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    output::tell(&format!("error: {error}"));
    if let Some(hint) = hint::hint(error) {
        output::tell(&format!("hint: {hint}"));
    }
    ExitCode::from(if error.is_input() { 2 } else { 1 })
}
