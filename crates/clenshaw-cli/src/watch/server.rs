//! A small HTTP server for the page: one thread per connection. The number of connections, the size of a
//! request and the time to receive it are limited.
//!
//! No file is served: every response is made from the state in memory, and paths of requests are only
//! compared with fixed words and parsed for the id of a run.

use super::http::{self, AccessCheck, Route, Status};
use super::state::{SharedState, StopTarget};
use super::stream::Subscription;
use clenshaw::report::live_page;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of connections at a time, of which each open page uses one; further ones are refused.
const MAX_CONNECTIONS: usize = 32;
/// The time to receive a request.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for one write; a client that does not read for longer is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// After this time without an event, a comment keeps the event stream open.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Everything that connections share.
pub struct Server {
    access: AccessCheck,
    state: Arc<SharedState>,
    read_only: bool,
    /// The number of open connections, including those that are being refused.
    connections: AtomicUsize,
}

/// A connection, which is subtracted from the count when it is dropped.
struct CountedConnection<'a>(&'a AtomicUsize);

impl Drop for CountedConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Server {
    /// With `read_only`, requests to stop are refused.
    pub fn new(access: AccessCheck, state: Arc<SharedState>, read_only: bool) -> Arc<Self> {
        Arc::new(Self { access, state, read_only, connections: AtomicUsize::new(0) })
    }

    /// Accepts connections until the program ends.
    pub fn serve(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Usually too many open files: wait until some are closed.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let server = Arc::clone(self);
            let is_full = self.connections.fetch_add(1, Ordering::AcqRel) >= MAX_CONNECTIONS;
            let spawned = std::thread::Builder::new().name("connection".into()).spawn(move || {
                let _counted = CountedConnection(&server.connections);
                // The client may close the connection at any time.
                let _ = server.answer(stream, is_full);
            });
            if spawned.is_err() {
                self.connections.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Reads one request and responds to it; with `is_full`, refuses the connection.
    fn answer(&self, mut stream: TcpStream, is_full: bool) -> std::io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        if is_full {
            return refuse(&mut stream, http::BUSY);
        }
        let route = match read_request(&mut stream)? {
            Some(request) => self.access.check(&request),
            None => Err(http::TOO_LARGE),
        };
        match route {
            Ok(Route::Page) => {
                let nonce = super::token::random_hex();
                let page = live_page(&nonce);
                let head =
                    http::head(http::OK, "text/html; charset=utf-8", Some(page.len()), &nonce);
                send(&mut stream, &head, page.as_bytes())
            }
            Ok(Route::Events { run }) => self.stream_events(&mut stream, run),
            Ok(Route::Stop { .. }) if self.read_only => refuse(&mut stream, http::FORBIDDEN),
            Ok(Route::Stop { run }) => self.stop(&mut stream, run),
            Err(status) => refuse(&mut stream, status),
        }
    }

    /// Requests the process that trains a run, or the workers of the study, to stop, and responds with the result.
    fn stop(&self, stream: &mut TcpStream, run: usize) -> std::io::Result<()> {
        let target = self.state.lock().stop_target(run);
        match target.and_then(StopTarget::request) {
            Ok(()) => respond(stream, http::OK, "stop requested"),
            Err(error) => respond(stream, http::CONFLICT, &error.to_string()),
        }
    }

    /// Sends the state and then every change, until the client closes the connection.
    fn stream_events(&self, stream: &mut TcpStream, run: Option<usize>) -> std::io::Result<()> {
        stream.write_all(http::head(http::OK, "text/event-stream", None, "").as_bytes())?;
        stream.write_all(b"retry: 1000\n\n")?;
        let mut subscription = Subscription::new(run, self.read_only);
        let mut last_write = Instant::now();
        loop {
            let events = subscription.events(&mut self.state.lock());
            for (name, data) in &events {
                stream.write_all(format!("event: {name}\ndata: ").as_bytes())?;
                stream.write_all(data.as_bytes())?;
                stream.write_all(b"\n\n")?;
            }
            if events.is_empty() && last_write.elapsed() >= KEEP_ALIVE {
                stream.write_all(b": still here\n\n")?;
            } else if events.is_empty() {
                if is_closed(stream)? {
                    return Ok(());
                }
                self.state.wait_for_change(KEEP_ALIVE);
                continue;
            }
            last_write = Instant::now();
        }
    }
}

/// Reads a request up to the empty line after its headers, and what arrives with them; `None` if it is too large.
/// Fails if it does not arrive in time.
fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + READ_TIMEOUT;
    let (mut request, mut block) = (vec![], [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut block)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => request.extend_from_slice(&block[..n]),
        }
        if request.len() > http::MAX_REQUEST {
            return Ok(None);
        }
    }
    Ok(Some(request))
}

/// Whether the client has closed the connection, which makes room for another one.
fn is_closed(stream: &TcpStream) -> std::io::Result<bool> {
    stream.set_nonblocking(true)?;
    let received = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    Ok(matches!(received, Ok(0)))
}

/// Refuses a request; the response contains nothing except the status.
fn refuse(stream: &mut TcpStream, status: Status) -> std::io::Result<()> {
    respond(stream, status, status.1)
}

/// Responds with plain text.
fn respond(stream: &mut TcpStream, status: Status, text: &str) -> std::io::Result<()> {
    let head = http::head(status, "text/plain; charset=utf-8", Some(text.len()), "");
    send(stream, &head, text.as_bytes())
}

/// Writes a response, and reads what is left of the request: closing a connection with unread bytes would
/// discard the response.
fn send(stream: &mut TcpStream, head: &str, body: &[u8]) -> std::io::Result<()> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut block = [0; 4096];
    for _ in 0..64 {
        if stream.read(&mut block).map_or(true, |n| n == 0) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
