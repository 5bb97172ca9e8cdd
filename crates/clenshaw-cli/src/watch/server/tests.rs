//! The server over real sockets: what it answers, and what it refuses.

use super::*;
use crate::watch::state::WatchState;
use clenshaw::data::Store;
use clenshaw::experiment::{Request, RunEvent, RunOptions, TrainingJob, run};
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

const TOKEN: &str = "00112233445566778899aabbccddeeff";

/// Starts a server that follows these folders; returns its port.
fn start(folders: &[&Path], read_only: bool) -> (u16, Arc<SharedState>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (jobs, queue) = mpsc::channel();
    let state = SharedState::new(WatchState::new("runs".into(), jobs));
    let folders: Vec<_> = folders.iter().map(|path| path.to_path_buf()).collect();
    assert!(state.lock().follow(folders).is_empty());
    let access = AccessCheck { port, token: TOKEN.into() };
    let server = Server::new(access, Arc::clone(&state), read_only);
    std::thread::spawn(move || server.serve(&listener));
    let details = Arc::clone(&state);
    std::thread::spawn(move || {
        crate::watch::details::compute(&queue, &details, &Store::new(None));
    });
    (port, state)
}

/// Sends bytes and returns the whole response.
fn exchange(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may refuse a large request before it has read all of it.
    let _ = stream.write_all(request);
    let mut response = vec![];
    let _ = stream.read_to_end(&mut response);
    String::from_utf8(response).unwrap()
}

fn request(port: u16, method: &str, path: &str, headers: &str) -> String {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n");
    exchange(port, head.as_bytes())
}

fn status(response: &str) -> u16 {
    let code = response.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.unwrap_or_else(|| panic!("not a response: {response:?}")).parse().unwrap()
}

/// Trains a run of five epochs in this folder.
fn finished_run(folder: &Path) {
    let mut request = Request::new("csbm:nodes=60", "clenshaw-gcn").unwrap();
    request.set("max_epochs", "5").unwrap();
    let job = TrainingJob { request, folder: Some(folder.to_owned()) };
    let options = RunOptions {
        threads: 1,
        store: &Store::new(None),
        resume: false,
        on_event: &|_, _| {},
        cancel: &AtomicBool::new(false),
    };
    run(&job, &options).unwrap();
}

#[test]
fn page_has_strict_headers_and_a_new_nonce_every_time() {
    let (port, _) = start(&[], false);
    let pages = [(); 2].map(|()| request(port, "GET", &format!("/{TOKEN}/"), ""));
    let mut nonces = vec![];
    for page in &pages {
        assert_eq!(status(page), 200);
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        let policy = head.split("Content-Security-Policy: ").nth(1).unwrap();
        let policy = policy.split("\r\n").next().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.ends_with("frame-ancestors 'none'"));
        for header in [
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: no-referrer",
            "X-Frame-Options: DENY",
        ] {
            assert!(head.contains(header), "{header}");
        }
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert!(body.contains(&format!("<script nonce=\"{nonce}\">")));
        nonces.push(nonce);
    }
    assert_ne!(nonces[0], nonces[1]);
}

#[test]
fn requests_without_access_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    finished_run(&run);
    let (port, _) = start(&[&run], false);
    let own = format!("/{TOKEN}");
    let evil = "Origin: http://evil.example\r\n";
    let cases = [
        ("GET", "/".into(), "", 404),
        ("GET", "/ffffffffffffffffffffffffffffffff/".into(), "", 404),
        ("GET", format!("/{}/", &TOKEN[..31]), "", 404),
        ("GET", format!("/{TOKEN}0/"), "", 404),
        ("POST", "/stop/1000000".into(), "", 404),
        ("POST", "/ffffffffffffffffffffffffffffffff/stop/1000000".into(), "", 404),
        ("GET", format!("{own}/../../../../etc/passwd"), "", 404),
        ("GET", format!("{own}/..%2f..%2fetc%2fpasswd"), "", 404),
        ("GET", format!("{own}/{}/run.toml", run.display()), "", 404),
        ("GET", format!("{own}/runs/0/record.json"), "", 404),
        ("GET", format!("{own}/"), evil, 403),
        ("GET", format!("{own}/events"), evil, 403),
        ("POST", format!("{own}/stop/1000000"), evil, 403),
        ("POST", format!("{own}/stop/1000000"), "Origin: null\r\n", 403),
        ("PUT", format!("{own}/stop/1000000"), "", 405),
        ("GET", format!("{own}/stop/1000000"), "", 405),
        ("POST", format!("{own}/"), "", 405),
        ("POST", format!("{own}/stop/1000000"), "Content-Length: 3\r\n", 400),
        // No process is training this run, and the other one does not exist.
        ("POST", format!("{own}/stop/1000000"), "", 409),
        ("POST", format!("{own}/stop/7"), "", 409),
    ];
    for (method, path, headers, expected) in cases {
        let response = request(port, method, &path, headers);
        assert_eq!(status(&response), expected, "{method} {path} {headers}");
        assert!(!response.contains("root:") && !response.contains("max_epochs"), "{response}");
        let is_hint = expected != 409 && response.contains(TOKEN);
        assert!(!is_hint, "{response}");
    }
    // Another host name, as after DNS rebinding.
    for host in ["evil.example", "evil.example:80", "127.0.0.1:1"] {
        let head = format!("GET {own}/ HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(&exchange(port, head.as_bytes())), 403, "{host}");
    }
    assert!(!run.join("stop").exists());
}

#[test]
fn oversized_and_malformed_requests_are_refused() {
    let (port, _) = start(&[], false);
    let long = format!("X: {}\r\n", "a".repeat(http::MAX_REQUEST));
    assert_eq!(status(&request(port, "GET", &format!("/{TOKEN}/"), &long)), 431);
    let endless = vec![b'a'; 100_000];
    assert_eq!(status(&exchange(port, &endless)), 431);
    assert_eq!(status(&exchange(port, b"hello\r\n\r\n")), 400);
    assert_eq!(status(&exchange(port, b"\xff\xfe\r\n\r\n")), 400);
    let with_body = request(port, "POST", &format!("/{TOKEN}/"), "Content-Length: 4\r\n\r\nstop");
    assert_eq!(status(&with_body), 400);
    assert_eq!(status(&request(port, "GET", &format!("/{TOKEN}/"), "")), 200, "still serving");
}

#[test]
fn slow_and_numerous_clients_do_not_block_others() {
    let (port, _) = start(&[], false);
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut idle: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| connect()).collect();
    // The server counts a connection when it accepts it, so some requests may still be answered.
    let page = format!("/{TOKEN}/");
    while status(&request(port, "GET", &page, "")) != 503 {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Idle connections are closed after a while, without a response.
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut response = vec![];
        stream.read_to_end(&mut response).unwrap();
        assert!(response.is_empty());
    }
    while status(&request(port, "GET", &page, "")) != 200 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn read_only_server_refuses_to_stop_anything() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    finished_run(&run);
    let (port, _) = start(&[&run], true);
    let stop = format!("/{TOKEN}/stop/1000000");
    assert_eq!(status(&request(port, "POST", &stop, "")), 403);
    assert_eq!(status(&request(port, "GET", &format!("/{TOKEN}/"), "")), 200);
}

/// The events of a stream, as name and data, up to the first one whose name `is_last` accepts.
fn events(
    port: u16,
    path: &str,
    is_last: impl Fn(&str) -> bool,
) -> Vec<(String, serde_json::Value)> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let (mut found, mut name) = (vec![], String::new());
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            found.push((name.clone(), serde_json::from_str(data).unwrap()));
            if is_last(&name) {
                break;
            }
        }
    }
    found
}

/// Trains 40 epochs, with pauses so that the progress is written after epochs 10, 20 and 30, and collects the
/// events of an open page after each.
#[test]
fn later_events_contain_only_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut request = Request::new("csbm:nodes=60", "clenshaw-gcn").unwrap();
    request.set("max_epochs", "40").unwrap();
    request.set("stop", "none").unwrap();
    let job = TrainingJob { request, folder: Some(path.clone()) };
    let (jobs, _queue) = mpsc::channel();
    let state = SharedState::new(WatchState::new("runs".into(), jobs));
    let page = std::sync::Mutex::new((Subscription::new(None, false), vec![]));
    let on_event = |_, event: RunEvent<'_>| {
        let RunEvent::Epoch { epoch, .. } = event else { return };
        match epoch.epoch % 10 {
            0 => std::thread::sleep(Duration::from_millis(260)),
            1 if epoch.epoch > 1 => {
                let mut state = state.lock();
                assert!(state.follow(vec![path.clone()]).is_empty());
                state.update_folders().unwrap();
                let (subscription, received) = &mut *page.lock().unwrap();
                received.push(subscription.events(&mut state));
                assert!(subscription.events(&mut state).is_empty(), "nothing is new");
            }
            _ => {}
        }
    };
    let options = RunOptions {
        threads: 1,
        store: &Store::new(None),
        resume: false,
        on_event: &on_event,
        cancel: &AtomicBool::new(false),
    };
    run(&job, &options).unwrap();
    let received = page.into_inner().unwrap().1;
    let names: Vec<Vec<&str>> =
        received.iter().map(|events| events.iter().map(|(name, _)| *name).collect()).collect();
    assert_eq!(
        names,
        [vec!["state", "items", "run"], vec!["items", "epochs"], vec!["items", "epochs"]]
    );
    let parse =
        |i: usize| serde_json::from_str::<serde_json::Value>(&received[i].last().unwrap().1);
    let n_epochs =
        |value: &serde_json::Value| value["epochs"]["train_loss"].as_array().unwrap().len();
    assert_eq!(n_epochs(&parse(0).unwrap()["run"]), 10);
    for (i, from) in [(1, 10), (2, 20)] {
        let update = &parse(i).unwrap()["update"];
        assert_eq!((update["from"].as_u64(), n_epochs(update)), (Some(from), 10));
        // On a slow machine, the filter may also be written in between.
        let filters = update["filters"]["epochs"].as_array().unwrap();
        assert!(filters.iter().all(|epoch| epoch.as_u64() > Some(from)), "{filters:?}");
        assert_eq!(filters.last().unwrap().as_u64(), Some(from + 10));
        assert_eq!(update["filters"]["responses"][0].as_array().unwrap().len(), 201);
    }
}

#[test]
fn every_stream_starts_with_the_whole_state() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    finished_run(&run);
    let (port, _) = start(&[&run], false);
    for path in ["events", "events?run=1000000"] {
        let events = events(port, &format!("/{TOKEN}/{path}"), |name| name == "report");
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["state", "items", "run"]);
        let item = &events[1].1["changed"][0];
        assert_eq!((&item["state"], &item["epoch"]), (&"finished".into(), &5.into()));
        let report = &events.last().unwrap().1["report"];
        assert_eq!(report["runs"][0]["epochs"]["train_loss"].as_array().unwrap().len(), 5);
        assert_eq!(report["graph"]["nodes"], 60);
    }
}
