//! Runs the built program in a temporary folder.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses only part of this module, and tests may unwrap"
)]

pub mod browser;

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A name that runs a script if a page inserts it as HTML.
pub const HTML_NAME: &str = "<img src=x onerror=alert(1)>";

/// A temporary folder that is the working directory of the program.
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

    /// Writes a file, and creates its folder.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes tables of 60 nodes of two classes whose names are HTML.
    pub fn write_graph_with_html_names(&self, folder: &str) {
        let mut nodes = String::from("id,age,label\n");
        let mut edges = String::from("source,target\n");
        for i in 0..60 {
            let label = if i % 2 == 0 { "</script><b>bold</b>" } else { HTML_NAME };
            nodes += &format!("\"{HTML_NAME}{i}\",{},\"{label}\"\n", i % 7 + i % 2 * 5);
            edges += &format!("\"{HTML_NAME}{i}\",\"{HTML_NAME}{}\"\n", (i + 2) % 60);
        }
        self.write(&format!("{folder}/nodes.csv"), &nodes);
        self.write(&format!("{folder}/edges.csv"), &edges);
    }

    pub fn is_empty(&self) -> bool {
        std::fs::read_dir(self.folder.path()).unwrap().next().is_none()
    }

    /// The program with arguments separated by spaces, without access to the user's cache folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clenshaw"));
        command.current_dir(self.folder.path()).args(arguments.split_whitespace());
        command.env("CLENSHAW_CACHE", "off").env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed and returns its stdout.
    pub fn stdout(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command and sends SIGINT when `at` accepts a line of its stderr. The stderr of the returned
    /// output starts after that line.
    #[cfg(unix)]
    pub fn interrupt(&self, arguments: &str, at: impl Fn(&str) -> bool) -> Output {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| at(&line)), "{arguments}: ended without a matching line");
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let stderr = lines.map(|line| line + "\n").collect::<String>().into_bytes();
        Output { stderr, ..child.wait_with_output().unwrap() }
    }

    /// Runs a command that must succeed and parses its stdout as JSON.
    pub fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.stdout(arguments)).unwrap()
    }

    /// Runs a command that must not print to stdout; returns its exit code and stderr.
    pub fn failure(&self, arguments: &str) -> (i32, String) {
        let output = self.run(arguments);
        assert_eq!(text(&output.stdout), "", "{arguments}");
        (output.status.code().unwrap(), text(&output.stderr))
    }
}

/// A pseudo-random generator with the constants of Knuth's MMIX.
pub struct Random(pub u64);

impl Random {
    /// Returns a number in `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Whether `CLENSHAW_DATA` is set; otherwise prints that the test is skipped, or panics in CI.
pub fn has_data() -> bool {
    match std::env::var_os("CLENSHAW_DATA") {
        Some(_) => true,
        None if std::env::var_os("CI").is_some() => panic!("CI needs CLENSHAW_DATA"),
        None => {
            println!("skipped: CLENSHAW_DATA is not set");
            false
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts that a text equals its snapshot; if `UPDATE_SNAPSHOTS` is set, writes the snapshot first.
pub fn assert_snapshot(name: &str, now: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let file = folder.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let snapshot = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == snapshot, "{name} differs; it is now:\n{now}");
}

/// Removes the lines with measured times and memory from an indented JSON document.
pub fn without_times(document: &str) -> String {
    let measured = ["\"seconds\":", "\"peak_memory_bytes\":", "\"forecast_memory_bytes\":"];
    let is_measured = |line: &str| measured.iter().any(|key| line.trim_start().starts_with(key));
    let lines = document.lines().filter(|line| !is_measured(line));
    lines.map(|line| line.to_owned() + "\n").collect()
}
