//! `clenshaw data get`: copies from a folder and downloads from a local server.

#[path = "../../../clenshaw/tests/suite/fetch/server.rs"]
mod server;

use crate::common::{Sandbox, text};
use serde_json::json;
use server::{Reply, Server};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Content that is accepted as Tolokers, because no checksum is known for it.
const TOLOKERS: &str = "not really tolokers";
const DIGEST: &str = "52816647ed316dd3163ec7822bd301e29cbc53f19d55f426950268ca4a3c6c81";
const WARNING: &str = "tolokers: no checksum is known for 1 of 1 files; \
                       compare their sha256 with a copy you trust";

/// A sandbox with a folder `mirror` that contains a file for Tolokers.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("mirror/tolokers/tolokers.npz", TOLOKERS);
    sandbox
}

#[test]
fn files_are_copied_once_and_then_kept() {
    let sandbox = sandbox();
    let page = |state: &str| {
        let width = state.len().max(5);
        let rules = [21, 5, width, 80].map(|n| "─".repeat(n)).join("  ");
        format!(
            "file                   bytes  {:width$}  checksum\n{rules}\n\
             tolokers/tolokers.npz     19  {state:width$}  unknown, sha256 {DIGEST}\n\n\
             warning: {WARNING}\ndata folder: here\n",
            "state"
        )
    };
    assert_eq!(sandbox.stdout("data get tolokers --from mirror --data here"), page("fetched"));
    assert_eq!(sandbox.read("here/tolokers/tolokers.npz"), TOLOKERS.as_bytes());
    assert_eq!(sandbox.stdout("data get tolokers --offline --data here"), page("kept"));
}

#[test]
fn json_lists_files_with_checksums() {
    let server = Server::start([Reply::Serve(TOLOKERS.into())]);
    let arguments = format!("data get tolokers --json --data here --from {}", server.url("/x"));
    let file = json!({
        "path": "tolokers/tolokers.npz",
        "bytes": 19,
        "sha256": DIGEST,
        "checked": false,
        "state": "fetched",
    });
    let expected = json!([{ "folder": "tolokers", "files": [file], "warnings": [WARNING] }]);
    assert_eq!(Sandbox::new().json(&arguments), expected);
    assert_eq!(server.requests(), ["/x/tolokers/tolokers.npz"]);
}

#[test]
fn other_graphs_are_fetched_if_one_fails() {
    let sandbox = sandbox();
    sandbox.write("mirror/minesweeper/minesweeper.npz", "not minesweeper");
    let output = sandbox.run("data get minesweeper questions tolokers --from mirror --data here");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("\ntolokers/tolokers.npz"));
    let advice = "this file is unchanged if it exists; try again, or use another source";
    let lines = [
        "minesweeper/minesweeper.npz: fetching mirror/minesweeper/minesweeper.npz",
        "questions/questions.npz: fetching mirror/questions/questions.npz",
        &format!(
            "error: here/minesweeper/minesweeper.npz: mirror/minesweeper/minesweeper.npz: sha256 is \
             58d45c6c4ac492174608bee7aed438ac62fecdc0c25263fb9f3263a9fd0f2e83, expected \
             e664c8dacf1e8ac466c2c09ed4b237bd2c5541f47a6eae9c6092cb87f16412b3; {advice}"
        ),
        "tolokers/tolokers.npz: fetching mirror/tolokers/tolokers.npz",
        &format!(
            "error: here/questions/questions.npz: mirror/questions/questions.npz: file not found; \
             {advice}"
        ),
        "",
    ];
    assert_eq!(text(&output.stderr), lines.join("\n"));
    assert!(!sandbox.path("here/minesweeper").exists());
}

#[test]
fn invalid_arguments_are_rejected_without_side_effects() {
    let graphs = clenshaw::data::DATASETS.iter().filter(|info| info.files().is_some());
    let known = graphs.map(|info| info.name).collect::<Vec<&str>>().join(", ");
    let cases = [
        ("tolokrs", format!("unknown graph `tolokrs`; did you mean `tolokers`? known: {known}")),
        // Without the hint to pass a path.
        ("my-graph", format!("unknown graph `my-graph`; known: {known}")),
        ("csbm", "csbm: this graph is generated; there is nothing to download".into()),
        (
            "tolokers --from ftp://x",
            "`from` is `ftp://x`; expected a folder, or a URL that begins with http:// or https://"
                .into(),
        ),
    ];
    for (arguments, message) in cases {
        let sandbox = Sandbox::new();
        let failure = sandbox.failure(&format!("data get {arguments} --data here"));
        assert_eq!(failure, (2, format!("error: {message}\n")));
        assert!(sandbox.is_empty(), "{arguments}");
    }
    let (code, _) = Sandbox::new().failure("data get");
    assert_eq!(code, 2);
    let failure = Sandbox::new().failure("data get tolokers --offline --data here");
    let message = "error: here: missing or invalid files: tolokers/tolokers.npz: file not found\n";
    assert_eq!(failure, (1, message.into()));
}

#[cfg(unix)]
#[test]
fn interrupt_keeps_the_partial_download() {
    let server = Server::start([Reply::Drip]);
    let sandbox = Sandbox::new();
    let arguments = format!("data get tolokers --data here --from {}", server.url(""));
    let mut command = sandbox.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let partial = sandbox.path("here/tolokers/.tolokers.npz.partial");
    let start = Instant::now();
    while std::fs::metadata(&partial).map_or(0, |file| file.len()) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing was received");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("\nerror: interrupted\n"));
    assert!(std::fs::read(&partial).unwrap().starts_with(b"drip"));
}
