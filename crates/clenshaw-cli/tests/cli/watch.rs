//! `clenshaw watch`: pages that follow real training processes and studies in a real browser.

use crate::common::browser::Browser;
use crate::common::{HTML_NAME, Sandbox, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Some seconds of training.
const TRAIN: &str = "train csbm:nodes=1000,homophily=0.2 --set K=6 --set max_epochs=600 --set stop=none \
                     --threads 1 --out runs/a";
/// Training that does not end by itself.
const ENDLESS: &str = "train csbm:nodes=300 --set K=4 --set max_epochs=100000 --set stop=none --threads 1 \
                       --out runs/a";

/// A running `clenshaw watch`.
struct Watch {
    process: Child,
    address: String,
}

impl Watch {
    fn start(sandbox: &Sandbox, arguments: &str) -> Self {
        let mut command = sandbox.command(&format!("watch {arguments}"));
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("watch: ").unwrap().to_owned();
        Self { process, address }
    }

    fn host(&self) -> &str {
        self.address.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// The stream of events up to the first one with this name.
    fn first_events(&self, last: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let path = self.address.split_once(self.host()).unwrap().1;
        let head = format!("GET {path}events HTTP/1.1\r\nHost: {}\r\n\r\n", self.host());
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let mut events = String::new();
        while !events.ends_with(&format!("event: {last}\n")) {
            events += &(lines.next().unwrap() + "\n");
        }
        events + &lines.next().unwrap()
    }

    /// Sends a request and returns the first line of the response.
    fn request(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host());
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A training process that is killed if the test fails.
struct Training(Option<Child>);

impl Training {
    fn start(sandbox: &Sandbox, arguments: &str) -> Self {
        let mut command = sandbox.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self(Some(child))
    }

    /// Waits for the end of the process.
    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The epochs in a progress file.
fn epochs(file: &Path) -> Vec<u64> {
    let lines = std::fs::read_to_string(file).unwrap_or_default();
    let parsed = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter_map(|line| line["epoch"]["epoch"].as_u64()).collect()
}

#[cfg(unix)]
fn signal(process: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn arguments_are_checked() {
    let sandbox = Sandbox::new();
    let (code, error) = sandbox.failure("watch missing");
    assert_eq!(code, 2);
    assert!(error.contains("no such run folder"), "{error}");
    let (code, error) = sandbox.failure("watch missing.journal");
    assert_eq!(code, 2);
    assert!(error.contains("no such file; expected a study"), "{error}");
    let (code, error) = sandbox.failure("watch --name x");
    assert_eq!(code, 2);
    assert!(error.contains("`--name` is `x`; expected no name unless a study is given"), "{error}");
    assert_eq!(sandbox.failure("watch --port 99999").0, 2);
    let other = Watch::start(&sandbox, "");
    let port = other.host().split(':').nth(1).unwrap();
    let (code, error) = sandbox.failure(&format!("watch --port {port}"));
    assert!(
        error.contains(&format!("127.0.0.1:{port}")) && error.contains("use"),
        "{code} {error}"
    );
    assert!(sandbox.is_empty(), "watching creates nothing");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_it_and_the_address_has_a_secret() {
    let sandbox = Sandbox::new();
    let mut watch = Watch::start(&sandbox, "");
    let token = watch.address.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
    assert_eq!(token.len(), 32);
    assert_eq!(watch.request("GET", "/"), "HTTP/1.1 404 Not Found");
    assert_eq!(watch.request("GET", &format!("/{token}/")), "HTTP/1.1 200 OK");
    let other = Watch::start(&sandbox, "");
    assert_eq!(other.request("GET", &format!("/{token}/")), "HTTP/1.1 404 Not Found");
    signal(&watch.process, "-INT");
    assert_eq!(watch.process.wait().unwrap().code(), Some(0));
}

/// A process that is killed leaves a progress file, perhaps with a partial line; the next one replaces it,
/// without repeated epochs.
#[test]
#[cfg(unix)]
fn progress_file_survives_a_kill() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("runs/a/runs/0.progress.jsonl");
    for _ in 0..2 {
        let before = epochs(&file).len();
        let training = Training::start(&sandbox, ENDLESS);
        wait_until("more epochs are written", || epochs(&file).len() > before + 3);
        signal(training.0.as_ref().unwrap(), "-KILL");
        training.output();
        let written = epochs(&file);
        assert_eq!(written, (1..=written.len() as u64).collect::<Vec<u64>>());
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.truncate(bytes.len() - 5);
        std::fs::write(&file, bytes).unwrap();
    }
    let watch = Watch::start(&sandbox, "runs/a");
    let events = watch.first_events("run");
    assert!(events.contains(r#""state":"interrupted""#), "{events}");
}

const NO_PROBLEMS: [String; 0] = [];

fn screenshot(browser: &mut Browser, name: &str) {
    let target = Path::new(env!("CARGO_BIN_EXE_clenshaw")).parent().unwrap();
    let folder = target.join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    browser.screenshot(&folder.join(name));
}

/// The number of epochs that the page has received.
const RECEIVED: &str = "(live.shown?.run.epochs.train_loss.length ?? 0)";
/// The text of the state of the first run in the list.
const STATE: &str = "(document.querySelector('.run-state')?.textContent ?? '')";

#[test]
#[cfg(unix)]
#[ignore = "needs Chromium: cargo xtask test"]
fn page_follows_a_run_to_its_end() {
    let sandbox = Sandbox::new();
    let watch = Watch::start(&sandbox, "");
    let mut browser = Browser::start(1200, 900);
    browser.open_address(&watch.address);
    browser.wait_for("document.getElementById('live').textContent.includes('no runs yet')");
    // Paused when the filter has been written three times, so that a fast machine does not finish too early.
    let training = Training::start(&sandbox, TRAIN);
    let file = sandbox.path("runs/a/runs/0.progress.jsonl");
    let n_filters = || std::fs::read_to_string(&file).unwrap_or_default().matches("coeff").count();
    wait_until("three filters are written", || n_filters() >= 3);
    signal(training.0.as_ref().unwrap(), "-STOP");
    let n = epochs(&file).len();
    browser.wait_for(&format!("{STATE} === 'running' && {RECEIVED} >= {n}"));
    browser.wait_for(
        "document.querySelector('#result .badge')?.textContent.startsWith('running, epoch')",
    );
    browser.wait_for("live.shown.graph && live.shown.run.filter.density && !live.isRunStale");
    browser.wait_for("document.getElementById('epoch-slider')");
    // The curve grows, and what a user has set up stays: focus, slider, zoom and scroll position.
    browser.evaluate(
        "{ const slider = document.getElementById('epoch-slider'); slider.value = 1; \
         slider.dispatchEvent(new Event('input', { bubbles: true })); slider.focus(); \
         scrollTo(0, 500); setZoom(document.getElementById('loss-chart').closest('figure'), [1, 5]); }",
    );
    let epoch = browser.text("document.querySelector('.epoch-name').textContent");
    signal(training.0.as_ref().unwrap(), "-CONT");
    browser.wait_for(&format!("{RECEIVED} > {n} && !live.isRunStale && !live.shown.report"));
    let kept = "[document.activeElement.id, document.getElementById('epoch-slider').value, \
                document.querySelector('.epoch-name').textContent, String(zooms.size)]";
    assert_eq!(browser.evaluate(kept), serde_json::json!(["epoch-slider", "1", epoch, "1"]));
    // The browser moves the page by as much as what is above it has grown, such as a line of text.
    let scrolled = browser.evaluate("scrollY").as_f64().unwrap();
    assert!((scrolled - 500.0).abs() < 100.0, "{scrolled}");
    screenshot(&mut browser, "watch-running.png");

    let output = training.output();
    assert!(output.status.success(), "{}", text(&output.stderr));
    browser.wait_for(&format!("{STATE} === 'finished'"));
    browser.wait_for("document.getElementById('confusion-chart')");
    let score = browser.text("document.querySelector('#result .score').textContent");
    let record: Value = serde_json::from_slice(&sandbox.read("runs/a/runs/0/record.json")).unwrap();
    let accuracy = 100.0 * record["test_accuracy"].as_f64().unwrap();
    assert_eq!(score, format!("{accuracy:.1}%"));
    assert_eq!(browser.evaluate("live.shown.report.runs[0].epochs.train_loss.length"), 600);
    assert_eq!(browser.evaluate("!document.getElementById('stop-button')"), true);
    screenshot(&mut browser, "watch-finished.png");
    assert_eq!(browser.problems(), NO_PROBLEMS);

    // The same address without the token shows nothing.
    browser.open_address(&format!("http://{}/", watch.host()));
    assert_eq!(browser.text("document.body.textContent"), "Not Found");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn stop_button_ends_a_run_that_can_be_resumed() {
    let sandbox = Sandbox::new();
    let training = Training::start(&sandbox, ENDLESS);
    wait_until("the run starts", || sandbox.path("runs/a/runs/0.progress.jsonl").exists());
    let (watch, read_only) = (Watch::start(&sandbox, "a"), Watch::start(&sandbox, "--read-only"));
    let mut browser = Browser::start(1000, 800);
    browser.open_address(&read_only.address);
    browser.wait_for(&format!("{STATE} === 'running'"));
    assert_eq!(browser.evaluate("!document.getElementById('stop-button')"), true);
    browser.open_address(&watch.address);
    browser.wait_for("document.getElementById('stop-button')");
    browser.evaluate("document.getElementById('stop-button').click()");
    browser.evaluate("document.getElementById('stop-cancel').click()");
    assert_eq!(browser.evaluate("!document.querySelector('dialog')"), true);
    browser.wait_for(&format!("{STATE} === 'running'"));
    browser.evaluate("document.getElementById('stop-button').click()");
    screenshot(&mut browser, "watch-stop.png");
    browser.evaluate("document.getElementById('stop-confirm').click()");
    let output = training.output();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stopping, as requested by `clenshaw watch`; rerun"), "{stderr}");
    browser.wait_for(&format!("{STATE} === 'interrupted'"));
    browser.wait_for("!document.getElementById('stop-button')");
    assert_eq!(browser.problems(), NO_PROBLEMS);

    // The same command resumes, and the old request does not stop it.
    let trained = epochs(&sandbox.path("runs/a/runs/0.progress.jsonl")).len();
    let resumed = format!("resumed after {trained} epochs");
    let output = sandbox.interrupt(ENDLESS, |line| line.contains(&resumed));
    assert_eq!(output.status.code(), Some(1));
    browser.wait_for(&format!("{STATE} === 'interrupted' && {RECEIVED} > {trained}"));
}

const TUNE: &str = "tune csbm:nodes=200 --splits 2 --set max_epochs=20 --set hidden=8 --study s.journal \
                    --sampler random --pruner none";

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn page_follows_a_study_and_stops_it() {
    let sandbox = Sandbox::new();
    sandbox.stdout(&format!("{TUNE} --trials 1"));
    let watch = Watch::start(&sandbox, "s.journal");
    let mut browser = Browser::start(1200, 900);
    browser.open_address(&watch.address);
    browser.wait_for("live.trials.size === 1 && document.getElementById('history-chart')");
    let rows = "document.querySelectorAll('#trials tbody tr').length";
    browser.wait_for(&format!("{rows} === 1"));
    sandbox.stdout(&format!("{TUNE} --trials 3"));
    browser.wait_for(&format!("{rows} === 3"));
    browser.wait_for(
        "document.querySelectorAll('#parallel-chart path, #parallel-chart polyline').length > 2",
    );
    browser.wait_for("!document.getElementById('stop-button')");
    screenshot(&mut browser, "watch-study.png");

    let endless = format!("{} --trials 100000", TUNE.replace("sampler random", "sampler tpe"));
    let training = Training::start(&sandbox, &endless);
    browser.wait_for("document.getElementById('stop-button')");
    browser.evaluate("document.getElementById('stop-button').click()");
    browser.evaluate("document.getElementById('stop-confirm').click()");
    let output = training.output();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stopping, as requested by `clenshaw watch`"), "{stderr}");
    browser.wait_for("![...live.trials.values()].some((trial) => trial.state === 'running')");
    assert_eq!(browser.problems(), NO_PROBLEMS);
    // The request does not concern the next worker.
    // The page may lag behind the journal, which has all trials of the ended worker.
    let complete = "[...live.trials.values()].filter((trial) => trial.state === 'complete').length";
    let done = complete_trials(&text(&sandbox.read("s.journal")));
    sandbox.stdout(&format!("{TUNE} --trials {}", done + 1));
    assert_eq!(complete_trials(&text(&sandbox.read("s.journal"))), done + 1);
    browser.wait_for(&format!("{complete} === {}", done + 1));
}

/// The number of complete trials in a journal: entries that set a state (6) to complete (1).
fn complete_trials(journal: &str) -> usize {
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["op_code"] == 6 && entry["state"] == 1).count()
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn names_are_shown_as_text() {
    let sandbox = Sandbox::new();
    sandbox.write_graph_with_html_names("<b>graph");
    let train = "train <b>graph --set max_epochs=10 --out runs/<b>run";
    sandbox.stdout(train);
    let watch = Watch::start(&sandbox, "");
    let mut browser = Browser::start(375, 800);
    browser.open_address(&watch.address);
    browser.wait_for("document.getElementById('confusion-chart')");
    assert_eq!(browser.problems(), NO_PROBLEMS);
    assert_eq!(browser.evaluate("document.querySelectorAll('img, b').length"), 0);
    let page = browser.text("document.body.textContent");
    assert!(page.contains(HTML_NAME) && page.contains("<b>run"), "{page}");
    let widths = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]");
    assert!(widths[0].as_u64() <= widths[1].as_u64(), "{widths}");
    screenshot(&mut browser, "watch-phone.png");
}
