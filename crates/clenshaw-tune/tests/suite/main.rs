//! Integration tests, in one binary.
//!
//! Tests marked `#[ignore]` need Optuna or PostgreSQL, or take long: `cargo xtask optuna` and
//! `cargo xtask test --long` run them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

#[cfg(feature = "postgres")]
mod certificates;
mod contract;
mod journal;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod optuna;
#[cfg(feature = "postgres")]
mod postgres_server;
#[cfg(feature = "postgres")]
mod postgresql;
#[cfg(feature = "postgres")]
mod postgresql_tls;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod python;
#[cfg(feature = "sqlite")]
mod sqlite;

/// Runs one test of this binary again as an unprivileged user, with `variable` set to `value`.
fn run_unprivileged(test: &str, variable: &str, value: &std::path::Path) -> std::process::Output {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    // The target folder may not be readable for other users.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(folder.path(), 0o755);
    let mut command = std::process::Command::new(&program);
    command.args(["--exact", test]).env(variable, value).current_dir("/");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    command.output().unwrap()
}

fn set_mode(path: &std::path::Path, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(path, permissions).unwrap();
}
