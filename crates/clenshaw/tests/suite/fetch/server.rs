//! An HTTP server on loopback that follows a script, one entry per request.
#![allow(dead_code, clippy::unwrap_used, reason = "some tests use only a part; tests may unwrap")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Upper limit of all waiting, reached only if a test hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// The pause between the parts of [`Reply::Drip`].
const DRIP: Duration = Duration::from_millis(5);

/// The response to one request; range requests are supported where not stated otherwise.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This content.
    Serve(Vec<u8>),
    /// The whole content, even for a range request.
    ServeWhole(Vec<u8>),
    /// The part from this byte on, whatever was requested.
    ServePart(Vec<u8>, usize),
    /// Only the first bytes, then the connection is closed.
    CutAfter(usize, Vec<u8>),
    /// Only the first bytes, then nothing more.
    StallAfter(usize, Vec<u8>),
    /// A few bytes at a time, until the client disconnects.
    Drip,
    /// No response.
    NoResponse,
    /// The connection is closed before any response.
    Close,
    Status(u16),
    Redirect(String),
    /// A `Content-Length`, then nothing.
    ContentLength(String),
}

/// A running server, which ends when its script is finished or when it is dropped.
pub struct Server {
    url: String,
    requests: mpsc::Receiver<String>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server that answers with these replies, in order.
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script: Vec<Reply> = script.into_iter().collect();
        let (seen, requests) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            for reply in script {
                let (stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                let Some(request) = Request::read(&stream) else { return };
                seen.send(request.to_string()).unwrap_or(());
                // The client may disconnect at any time.
                let _ = reply.send(&request, stream);
            }
        });
        Self { url, requests, thread: Some(thread) }
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Returns the requests since the last call: `/a`, or `/a bytes=7-` with a range.
    pub fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An empty request ends the script.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        let outcome = self.thread.take().unwrap().join();
        assert!(outcome.is_ok() || std::thread::panicking(), "the server panicked");
    }
}

struct Request {
    path: String,
    range: Option<String>,
}

impl Request {
    /// Returns `None` if the client disconnected.
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next()?.ok()?;
        let path = first.split(' ').nth(1)?.to_owned();
        let mut range = None;
        for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: ") {
                range = Some(value.to_owned());
            }
        }
        Some(Self { path, range })
    }

    /// Returns the first requested byte: 7 for `bytes=7-`.
    fn first_byte(&self) -> Option<usize> {
        self.range.as_ref()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = self.range.as_ref().map_or(String::new(), |range| format!(" {range}"));
        write!(f, "{}{range}", self.path)
    }
}

impl Reply {
    fn send(self, request: &Request, mut stream: TcpStream) -> std::io::Result<()> {
        let ok = |length: usize| head("200 OK", &format!("Content-Length: {length}"));
        match self {
            Self::Serve(content) => match request.first_byte() {
                Some(start) if start < content.len() => stream.write_all(&part(&content, start)),
                Some(_) => stream.write_all(&head("416 Range Not Satisfiable", "")),
                None => stream.write_all(&[ok(content.len()), content].concat()),
            },
            Self::ServeWhole(content) => stream.write_all(&[ok(content.len()), content].concat()),
            Self::ServePart(content, start) => stream.write_all(&part(&content, start)),
            Self::CutAfter(n, content) => {
                stream.write_all(&[&ok(content.len()), &content[..n]].concat())
            }
            Self::StallAfter(n, content) => {
                stream.write_all(&[&ok(content.len()), &content[..n]].concat())?;
                wait_for_disconnect(stream)
            }
            Self::Drip => {
                stream.write_all(&ok(1 << 29))?;
                for _ in 0..LIMIT.as_millis() / DRIP.as_millis() {
                    stream.write_all(b"drip")?;
                    std::thread::sleep(DRIP);
                }
                Ok(())
            }
            Self::NoResponse => wait_for_disconnect(stream),
            Self::Close => Ok(()),
            Self::Status(code) => stream.write_all(&head(&format!("{code} Status"), "")),
            Self::Redirect(url) => stream
                .write_all(&head("302 Found", &format!("Location: {url}\r\nContent-Length: 0"))),
            Self::ContentLength(length) => {
                stream.write_all(&head("200 OK", &format!("Content-Length: {length}")))
            }
        }
    }
}

/// The status line and headers of a response; without a header, it has no body.
fn head(status: &str, header: &str) -> Vec<u8> {
    let header = if header.is_empty() { "Content-Length: 0" } else { header };
    format!("HTTP/1.1 {status}\r\n{header}\r\nConnection: close\r\n\r\n").into_bytes()
}

/// The response with the part of `content` from byte `start` on.
fn part(content: &[u8], start: usize) -> Vec<u8> {
    let (n, last) = (content.len(), content.len() - 1);
    let length = n - start;
    let header = format!("Content-Range: bytes {start}-{last}/{n}\r\nContent-Length: {length}");
    [&head("206 Partial Content", &header), &content[start..]].concat()
}

fn wait_for_disconnect(mut stream: TcpStream) -> std::io::Result<()> {
    stream.read(&mut [0]).map(|_| ())
}
