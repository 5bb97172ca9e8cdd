//! Prints clap's errors in the program's own format: one `error:` line and at most one `hint:` line.

use crate::output;
use clap::error::ErrorKind;
use std::process::ExitCode;

/// Prints the requested help or version to stdout and returns 0. Otherwise prints the usage error, or the help if
/// the arguments are missing, to stderr and returns 2.
pub fn report(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed pipe is not an error.
            let _ = output::print(&text);
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => output::message(text.trim_end()),
        _ => output::message(&shorten(&text)),
    }
    ExitCode::from(2)
}

/// Returns the first paragraph on one line, then clap's first tip or else the usage as a hint, if there is one;
/// single quotation marks become backticks.
fn shorten(text: &str) -> String {
    let text = text.replace('\'', "`");
    let first = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let first: Vec<&str> = first.collect();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let hint = match (tip, usage) {
        (Some(tip), _) => format!("\nhint: {tip}"),
        (None, Some(usage)) => format!("\nhint: usage: {usage}"),
        (None, None) => String::new(),
    };
    first.join(" ") + &hint
}
