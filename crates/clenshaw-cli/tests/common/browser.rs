//! A headless Chromium, controlled by the Chrome DevTools Protocol over a pipe.
//!
//! Messages are JSON objects that end with a NUL byte. With `--remote-debugging-pipe`, Chromium reads them
//! from file descriptor 3 and writes them to 4; a shell connects these to the pipes of this process.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const REDIRECT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;
/// No sandbox, because tests may run as root; no requests by Chromium itself.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A browser with one page.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    /// The address of the page.
    address: String,
    last_id: u64,
    /// The events received so far.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the program that `CLENSHAW_CHROMIUM` names, with a window of this size.
    pub fn start(width: u32, height: u32) -> Self {
        let program = std::env::var("CLENSHAW_CHROMIUM");
        let program = program.expect("CLENSHAW_CHROMIUM is set by `cargo xtask test`");
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", REDIRECT, &program])
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (session, last_id, events) = (None, 0, vec![]);
        let mut browser = Self {
            process,
            input,
            output,
            session,
            address: String::new(),
            last_id,
            events,
            _profile: profile,
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let parameters = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", parameters);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser
    }

    /// Calls a method and returns its result; panics if it fails.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let message = self.receive();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = vec![];
        self.output.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "Chromium has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.open_address(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it is loaded.
    pub fn open_address(&mut self, address: &str) {
        self.events.clear();
        address.clone_into(&mut self.address);
        self.call("Page.navigate", json!({"url": address}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// The value of a JavaScript expression; panics if it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true; panics after two minutes, with a description of the page.
    pub fn wait_for(&mut self, condition: &str) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while self.evaluate(&format!("Boolean({condition})")) != true {
            if Instant::now() > deadline {
                let page = self.text("document.body.innerText");
                panic!("never true: {condition}\n{page}\n{:?}", self.problems());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The text of an expression's value.
    pub fn text(&mut self, expression: &str) -> String {
        self.evaluate(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Exceptions, console errors, and requests other than for the page itself or below its address.
    pub fn problems(&mut self) -> Vec<String> {
        // Events that were sent before this call are received during it.
        self.evaluate("1");
        let is_problem = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Network.requestWillBeSent") => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                let is_below = self.address.starts_with("http:") && url.starts_with(&self.address);
                event["params"]["type"] != "Document" && !url.starts_with("data:") && !is_below
            }
            _ => false,
        };
        self.events.iter().filter(is_problem).map(|event| event["params"].to_string()).collect()
    }

    /// Emulates a preference for `light` or `dark` colours.
    pub fn set_colours(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The serious and critical violations that axe-core finds, in light and in dark colours.
    pub fn accessibility_problems(&mut self) -> Vec<String> {
        let file = std::env::var("CLENSHAW_AXE");
        let file = file.expect("CLENSHAW_AXE is set by `cargo xtask test`");
        let axe = std::fs::read_to_string(file).unwrap();
        self.evaluate(&format!("{axe}; 1"));
        let mut problems = vec![];
        for scheme in ["light", "dark"] {
            self.set_colours(scheme);
            let found = self.evaluate(
                "axe.run(document, { resultTypes: ['violations'] }).then(result => result.violations \
                 .filter(violation => ['serious', 'critical'].includes(violation.impact)) \
                 .map(violation => `${violation.id}: \
                 ${violation.nodes.map(node => node.target.join(' ')).join(', ')}`))",
            );
            let found = found.as_array().expect("axe-core returns a list").iter();
            problems.extend(found.map(|problem| format!("{scheme}: {problem}")));
        }
        self.set_colours("light");
        problems
    }

    /// Writes a picture of the whole page.
    pub fn screenshot(&mut self, file: &Path) {
        let parameters = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", parameters);
        let encoded = picture["data"].as_str().unwrap();
        std::fs::write(file, decode_base64(encoded)).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> =
        text.bytes().filter(|&byte| byte != b'=').map(|byte| u32::from(digit(byte))).collect();
    let mut bytes = vec![];
    for group in digits.chunks(4) {
        let word = group.iter().fold(0, |word, digit| word << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    bytes
}
