//! The real program, run in a folder of its own.
#![allow(dead_code, clippy::unwrap_used, reason = "no test needs all of it, and tests may unwrap")]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// An empty folder in which the program is run.
pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn is_empty(&self) -> bool {
        std::fs::read_dir(self.folder.path()).unwrap().next().is_none()
    }

    /// The program with its words separated by blanks.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clenshaw"));
        command.current_dir(self.folder.path()).args(words.split_whitespace());
        // The user's own folders are none of our business.
        command.env("CLENSHAW_CACHE", "off").env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints to stdout, which must succeed.
    pub fn stdout(&self, words: &str) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What a command leaves behind that is interrupted at a line of stderr; its stderr begins after it.
    #[cfg(unix)]
    pub fn interrupted(&self, words: &str, at: impl Fn(&str) -> bool) -> Output {
        let mut command = self.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| at(&line)), "{words} ended first");
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let stderr = lines.map(|line| line + "\n").collect::<String>().into_bytes();
        Output { stderr, ..child.wait_with_output().unwrap() }
    }

    /// The one JSON document on stdout.
    pub fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.stdout(words)).unwrap()
    }

    /// Exit code and stderr of a command that prints no result.
    pub fn refused(&self, words: &str) -> (i32, String) {
        let output = self.run(words);
        assert_eq!(text(&output.stdout), "", "{words}");
        (output.status.code().unwrap(), text(&output.stderr))
    }
}

/// Whether the public files are here; without them a test says that it was skipped.
pub fn has_data() -> bool {
    match std::env::var_os("CLENSHAW_DATA") {
        Some(_) => true,
        None if std::env::var_os("CI").is_some() => panic!("CI needs CLENSHAW_DATA"),
        None => {
            println!("skipped: no data");
            false
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Compares a text with the snapshot of that name, or with `UPDATE_SNAPSHOTS` writes it.
pub fn assert_snapshot(name: &str, now: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let file = folder.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == reviewed, "{name} differs; it is now:\n{now}");
}

/// All but the lines that tell the time.
pub fn timeless(document: &str) -> String {
    let lines = document.lines().filter(|line| !line.trim_start().starts_with("\"seconds\":"));
    lines.map(|line| line.to_owned() + "\n").collect()
}
