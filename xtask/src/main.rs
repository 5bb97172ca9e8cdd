//! The project's chores, as `cargo xtask CHORE`.

mod cora;

use std::process::ExitCode;

/// What a chore returns; the message is all a person needs.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Every chore: its name, what it does, and the function that does it with the words that follow.
const CHORES: &[(&str, &str, fn(&[String]) -> Outcome)] =
    &[("cora", "rebuild the embedded Cora; --check only compares", cora::run)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = words.first().and_then(|name| CHORES.iter().find(|chore| chore.0 == name));
    let Some((name, _, run)) = chosen else {
        eprintln!("usage: cargo xtask CHORE");
        CHORES.iter().for_each(|(name, what, _)| eprintln!("  {name:<8} {what}"));
        return ExitCode::from(2);
    };
    match run(&words[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}
