//! Opens a page in the user's browser.

use crate::output;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts the program that opens a page; if it cannot be started, prints a note, which is not an error.
pub fn open(page: &Path) {
    if let Err(error) = command(page).spawn() {
        output::message(&format!(
            "note: the page cannot be opened here ({error}); open it yourself"
        ));
    }
}

/// Whether the command was started by a user who can see a page that it opens: there is a display, stderr is a
/// terminal, and this is not a CI job.
pub fn is_desktop_session() -> bool {
    let is_set = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    let is_desktop = cfg!(any(target_os = "macos", windows));
    let has_display = is_desktop || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_display && std::io::stderr().is_terminal() && !is_set("CI")
}

/// The command that opens a file with the program that the desktop uses for it.
fn command(page: &Path) -> Command {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    let mut command = match () {
        () if cfg!(target_os = "macos") => Command::new("open"),
        () if cfg!(windows) => {
            let mut command = Command::new("cmd");
            // The first quoted argument of `start` is a title.
            command.args(["/C", "start", ""]);
            command
        }
        () => Command::new("xdg-open"),
    };
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
