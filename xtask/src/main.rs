//! Development tasks, run as `cargo xtask TASK`.

mod cargo;
mod python;
mod optuna;
mod package;
mod test;
mod cora;
mod deny;
mod fuzz;
mod soak;
mod peers;
mod portfolio;

use std::process::ExitCode;

/// The result of a task; the error message is printed.
type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A subcommand of `cargo xtask`.
struct Task {
    name: &'static str,
    help: &'static str,
    /// Runs the task with the arguments that follow its name.
    run: fn(&[String]) -> Result,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        help: "run all checks and tests; --long adds the long ones",
        run: test::run,
    },
    Task {
        name: "optuna",
        help: "run only the tests that need Optuna or PostgreSQL; takes a filter",
        run: optuna::run,
    },
    Task {
        name: "instructions",
        help: "count the instructions of three training steps and compare; --update stores them",
        run: instructions,
    },
    Task {
        name: "bench-peers",
        help: "compare training steps and training runs with PyTorch, PyG and DGL; --graphs A,B, \
               --only step|layers|training, --rounds N, --training-rounds N, --threads N, --large, \
               --no-dgl, --baseline PROGRAM, --others A,B, --name NAME",
        run: peers::run,
    },
    Task {
        name: "portfolio",
        help: "choose the portfolio of `clenshaw auto` from receipts; --measure trains what is missing; \
               --graphs A,B, --candidates N, --max-seconds S, --program PROGRAM",
        run: portfolio::run,
    },
    Task {
        name: "wheel",
        help: "build the Python wheel; other arguments are passed to maturin",
        run: package::wheel,
    },
    Task {
        name: "python",
        help: "run only the tests of the Python package; arguments are passed to pytest",
        run: test::python,
    },
    Task {
        name: "fuzz",
        help: "fuzz the file readers, or only the named targets; --inputs N, --seconds S",
        run: fuzz::run,
    },
    Task {
        name: "soak",
        help: "kill commands at random moments, fill disks, share studies; --kills N, --seed S",
        run: soak::run,
    },
    Task {
        name: "cora",
        help: "rebuild the embedded Cora from its source; --check only compares",
        run: cora::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments.first().and_then(|name| TASKS.iter().find(|task| task.name == name));
    let Some(task) = task else {
        eprintln!("usage: cargo xtask TASK");
        TASKS.iter().for_each(|task| eprintln!("  {:<13} {}", task.name, task.help));
        return ExitCode::from(2);
    };
    match (task.run)(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", task.name);
            ExitCode::FAILURE
        }
    }
}

/// Whether the arguments are this flag; an error if they are neither the flag nor empty.
fn has_flag(arguments: &[String], flag: &str) -> Result<bool> {
    match arguments {
        [] => Ok(false),
        [argument] if argument == flag => Ok(true),
        _ => Err(format!("unexpected `{}`; expected `{flag}`", arguments.join(" ")).into()),
    }
}

/// Runs `crates/clenshaw/benches/instructions.rs` in the optimised build, which counts and compares.
fn instructions(arguments: &[String]) -> Result {
    let mut command = cargo::cargo(&test::INSTRUCTIONS);
    cargo::run_command(command.arg("--").args(arguments))
}
