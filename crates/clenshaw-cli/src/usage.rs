//! What clap says about wrong words, in our form: one `error:` line and at most one `hint:`.

use crate::output;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Prints help where it was asked for, else what was wrong.
pub fn answer(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed pipe is nothing to complain about here.
            let _ = output::print(&text);
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => output::tell(text.trim_end()),
        _ => output::tell(&short(&text)),
    }
    ExitCode::from(2)
}

/// The first paragraph on one line, then clap's first tip or else the usage.
fn short(text: &str) -> String {
    let text = text.replace('\'', "`");
    let first = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let first: Vec<&str> = first.collect();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let hint = match (tip, usage) {
        (Some(tip), _) => format!("\nhint: {tip}"),
        (None, Some(usage)) => format!("\nhint: usage is {usage}"),
        (None, None) => String::new(),
    };
    first.join(" ") + &hint
}
