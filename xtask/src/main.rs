//! The project's chores, as `cargo xtask CHORE`.

mod cargo;
mod python;
mod postgres;
mod test;
mod optuna;
mod acceptance;
mod cora;
mod fuzz;
mod peers;
mod instructions;

use std::process::ExitCode;

/// What a chore returns; the message is all a person needs.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// One thing `cargo xtask` can do.
struct Chore {
    name: &'static str,
    what: &'static str,
    /// Does it, with the words that follow the name.
    run: fn(&[String]) -> Outcome,
}

const CHORES: &[Chore] = &[
    Chore { name: "test", what: "every test there is", run: test::run },
    Chore {
        name: "acceptance",
        what: "the release program on Cora: accuracy and determinism",
        run: acceptance::run,
    },
    Chore {
        name: "optuna",
        what: "studies shared with the real Optuna, in files and databases",
        run: optuna::run,
    },
    Chore {
        name: "cora",
        what: "rebuild the embedded Cora; --check only compares",
        run: cora::run,
    },
    Chore {
        name: "fuzz",
        what: "every reader against bytes that mean harm; takes long",
        run: fuzz::run,
    },
    Chore {
        name: "bench-peers",
        what: "training steps of ours beside PyTorch's, PyG's and DGL's; --graphs A,B, \
               --only step|layers, --rounds N, --threads N, --large, --no-dgl",
        run: peers::run,
    },
    Chore {
        name: "instructions",
        what: "three training steps against their kept counts; --update keeps new ones",
        run: instructions::run,
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = words.first().and_then(|name| CHORES.iter().find(|chore| chore.name == name));
    let Some(chore) = chosen else {
        eprintln!("usage: cargo xtask CHORE");
        CHORES.iter().for_each(|chore| eprintln!("  {:<13} {}", chore.name, chore.what));
        return ExitCode::from(2);
    };
    match (chore.run)(&words[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", chore.name);
            ExitCode::FAILURE
        }
    }
}
