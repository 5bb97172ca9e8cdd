//! Checks of the dependencies with cargo-deny, as configured in `deny.toml`.

use crate::cargo::cargo;
use std::process::Stdio;

/// Licences, duplicate versions and registries. Needs no network if all crates are downloaded.
pub const CHECK: [&str; 5] = ["deny", "check", "licenses", "bans", "sources"];
/// Known vulnerabilities, in the database that [`update_advisories`] has downloaded.
pub const CHECK_ADVISORIES: [&str; 4] = ["deny", "check", "--disable-fetch", "advisories"];

/// Whether cargo-deny is installed.
pub fn is_installed() -> bool {
    succeeds(&["deny", "--version"])
}

/// Downloads the database of known vulnerabilities.
pub fn update_advisories() -> Result<(), &'static str> {
    match succeeds(&["deny", "fetch", "db"]) {
        true => Ok(()),
        false => Err("the database of advisories cannot be downloaded"),
    }
}

fn succeeds(arguments: &[&str]) -> bool {
    let mut command = cargo(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
