//! The `clenshaw` program. Of the crates in `crates/`, only this one prints.
//!
//! Each subcommand is one module and one line of [`SUBCOMMANDS`]; help, completions and man pages are
//! generated from that list.

mod output;
mod usage;
mod hint;
mod progress;
mod interrupt;
mod open_page;
mod options;
mod filter_plot;
mod demo;
mod train;
mod compare;
mod tune;
mod auto;
mod predict;
mod explain;
mod run_folder;
mod runs;
mod verify;
mod filter;
mod report;
mod watch;
mod models;
mod data;
mod reproduce;
mod bench;
mod completions;
mod man;

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};
use clenshaw::{Error, Result, tensor};
use std::io::ErrorKind;
use std::process::ExitCode;

/// All subcommands, in the order of the help.
static SUBCOMMANDS: &[Subcommand] = &[
    Subcommand::of::<demo::Demo>().with_portable(),
    Subcommand::of::<auto::Auto>().with_portable().with_memory(TRAINING_MEMORY_LIMIT),
    Subcommand::of::<train::Train>().with_portable().with_memory(TRAINING_MEMORY_LIMIT),
    Subcommand::of::<compare::Compare>().with_portable().with_memory(TRAINING_MEMORY_LIMIT),
    Subcommand::of::<tune::Tune>().with_portable().with_memory(TRAINING_MEMORY_LIMIT),
    Subcommand::of::<predict::Predict>().with_portable().with_memory(MEMORY_LIMIT),
    Subcommand::of::<explain::Explain>().with_portable(),
    Subcommand::of::<filter::Filter>(),
    Subcommand::of::<report::Report>(),
    Subcommand::of::<watch::Watch>(),
    Subcommand::of::<runs::Runs>(),
    Subcommand::of::<verify::Verify>().with_portable(),
    Subcommand::of::<models::Models>(),
    Subcommand::of::<data::Data>(),
    Subcommand::of::<reproduce::Reproduce>().with_portable().with_memory(TRAINING_MEMORY_LIMIT),
    Subcommand::of::<bench::Bench>().with_portable(),
    Subcommand::of::<completions::Completions>(),
    Subcommand::of::<man::Man>(),
];

const AFTER_HELP: &str = "\
Results are written to stdout, progress and errors to stderr.
Exit codes: 0 success, 1 failure while running, 2 invalid arguments or input.
Set CLENSHAW_CPU to portable, avx2 or avx512 to select the instruction set.

Examples:
  clenshaw demo                                   Train five models on two graphs
  clenshaw auto my-graph/ --budget 10m            Find the best model for your own graph
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
    /// Whether it has the option [`PORTABLE`].
    has_portable: bool,
    /// The help of its option [`MEMORY`]; `None` if it does not have this option.
    memory_help: Option<&'static str>,
    run: fn(&ArgMatches) -> Result<()>,
}

impl Subcommand {
    /// The entry of a subcommand without the options [`PORTABLE`] and [`MEMORY`].
    const fn of<V: RunSubcommand>() -> Self {
        fn run<V: RunSubcommand>(matches: &ArgMatches) -> Result<()> {
            V::from_arg_matches(matches).expect("clap has checked the arguments").run()
        }
        Self { command: V::command, has_portable: false, memory_help: None, run: run::<V> }
    }

    /// Adds the option [`PORTABLE`].
    const fn with_portable(self) -> Self {
        Self { has_portable: true, ..self }
    }

    /// Adds the option [`MEMORY`] with this help.
    const fn with_memory(self, help: &'static str) -> Self {
        Self { memory_help: Some(help), ..self }
    }

    /// The definition of its command line.
    fn definition(&self) -> Command {
        let command = (self.command)().args(self.memory_help.map(memory_option));
        match self.has_portable {
            true => command.arg(portable_option()),
            false => command,
        }
    }

    /// Applies [`PORTABLE`] or else CLENSHAW_CPU, and [`MEMORY`]. Fails if the value of the variable is unknown, or
    /// if the processor lacks these instructions.
    fn apply_options(&self, arguments: &ArgMatches) -> Result<()> {
        if self.memory_help.is_some() {
            clenshaw::memory::set_limit(arguments.get_one::<u64>(MEMORY).copied());
        }
        match self.has_portable && arguments.get_flag(PORTABLE) {
            true => tensor::select_instruction_set(PORTABLE),
            false => std::env::var_os("CLENSHAW_CPU")
                .map_or(Ok(()), |name| tensor::select_instruction_set(&name.to_string_lossy())),
        }
    }
}

/// The name of the option that disables AVX and FMA instructions.
const PORTABLE: &str = "portable";

fn portable_option() -> Arg {
    Arg::new(PORTABLE).long(PORTABLE).action(ArgAction::SetTrue).help_heading(None::<&str>).help(
        "Do not use AVX or FMA instructions: slower, but gives the same results on every x86-64 \
             processor; overrides CLENSHAW_CPU (portable, avx2 or avx512)",
    )
}

/// The name of the option that limits the memory of the process.
const MEMORY: &str = "memory";

/// The help of [`MEMORY`] in commands that do not train.
const MEMORY_LIMIT: &str =
    "Use at most this much memory, such as 4G or 500M [default: all available memory]";

/// The help of [`MEMORY`] in commands that train.
const TRAINING_MEMORY_LIMIT: &str = "Use at most this much memory, such as 4G or 500M; if training would need more, values are \
     recomputed in the backward pass instead of being kept, which takes longer but does not change \
     results [default: all available memory]";

fn memory_option(help: &'static str) -> Arg {
    Arg::new(MEMORY)
        .long(MEMORY)
        .value_name("SIZE")
        .value_parser(options::bytes)
        .help_heading(None::<&str>)
        .help(help)
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
        .subcommands(SUBCOMMANDS.iter().map(Subcommand::definition))
}

fn main() -> ExitCode {
    clenshaw::tensor::limit_free_memory();
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage::report(&error),
    };
    let (name, arguments) = matches.subcommand().expect("clap requires a subcommand");
    let subcommand =
        SUBCOMMANDS.iter().find(|subcommand| (subcommand.command)().get_name() == name);
    let subcommand = subcommand.expect("clap accepts listed subcommands only");
    match subcommand.apply_options(arguments).and_then(|()| (subcommand.run)(arguments)) {
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
