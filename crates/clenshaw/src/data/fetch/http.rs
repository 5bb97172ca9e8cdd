//! Asking a server, again if need be, for what is still missing.

use super::delivery::Job;
use super::partial::Partial;
use super::trouble::{Failure, Trouble};
use super::{Options, Proxies};
use crate::error::Error;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body, Proxy};

const MOST_REDIRECTS: u32 = 5;
/// A pause looks this often whether the user wants to stop.
const NAP: Duration = Duration::from_millis(50);

/// Connections that are used again for the next file.
pub(super) struct Client<'a> {
    agent: Agent,
    pub(super) options: &'a Options<'a>,
}

impl<'a> Client<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> Self {
        let patience = options.patience;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(MOST_REDIRECTS)
            .timeout_resolve(Some(patience.connect))
            .timeout_connect(Some(patience.connect))
            .timeout_per_read(Some(patience.stall))
            .timeout_per_write(Some(patience.stall))
            .user_agent(concat!("clenshaw/", env!("CARGO_PKG_VERSION")));
        Self { agent: config.build().into(), options }
    }

    /// Brings what the partial file lacks.
    pub(super) fn resume(
        &self,
        job: &Job<'_>,
        url: &str,
        into: &mut Partial,
    ) -> Result<(), Failure> {
        if into.bytes() > job.most() {
            into.restart()?;
        }
        self.insist(job, || match into.bytes() {
            have if job.bytes == Some(have) => Ok(()),
            _ => self.ask(job, url, into),
        })
    }

    /// Brings all of it.
    pub(super) fn download(
        &self,
        job: &Job<'_>,
        url: &str,
        into: &mut Partial,
    ) -> Result<(), Failure> {
        self.insist(job, || {
            into.restart()?;
            self.ask(job, url, into)
        })
    }

    /// Tries again after troubles that may pass, with longer and longer pauses.
    fn insist(
        &self,
        job: &Job<'_>,
        mut attempt: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let patience = self.options.patience;
        let mut pause = patience.pause;
        for _ in 1..patience.tries {
            match attempt() {
                Err(Failure::There(trouble)) if trouble.may_pass() => {
                    job.failed(&trouble.to_string(), Some(pause));
                    self.rest(pause)?;
                    pause *= 2;
                }
                outcome => return outcome,
            }
        }
        attempt()
    }

    fn rest(&self, pause: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        while start.elapsed() < pause {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            std::thread::sleep(NAP.min(pause - start.elapsed().min(pause)));
        }
        Ok(())
    }

    /// One request for what follows the bytes that are there.
    fn ask(&self, job: &Job<'_>, url: &str, into: &mut Partial) -> Result<(), Failure> {
        let have = into.bytes();
        let response = self.call(url, have)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if first_byte(&response) == Some(have) => {}
            StatusCode::PARTIAL_CONTENT => {
                into.restart()?;
                return Err(Trouble::Range { asked: have }.into());
            }
            StatusCode::OK => into.restart()?,
            // There is no more; the checksum tells whether that is so.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => return Ok(()),
            status => {
                let reason = status.canonical_reason().unwrap_or("");
                return Err(Trouble::Status { code: status.as_u16(), reason }.into());
            }
        }
        let of = announced(&response)?.map(|rest| into.bytes().saturating_add(rest));
        believe(job, of)?;
        let trouble = |error, have| self.broken(error, have, of);
        job.pour(response.into_body().into_reader(), of.or(job.bytes), into, trouble)?;
        match of.or(job.bytes).filter(|of| into.bytes() < *of) {
            Some(of) => Err(Trouble::CutOff { have: into.bytes(), of: Some(of) }.into()),
            None => Ok(()),
        }
    }

    fn call(&self, url: &str, have: u64) -> Result<Response<Body>, Trouble> {
        let secure = url.to_ascii_lowercase().starts_with("https:");
        // A redirect must not lead from a checked connection to an open one.
        let request = self.agent.get(url).config().https_only(secure);
        let request = request.proxy(proxy(&self.options.proxies, secure)?).build();
        let request = match have {
            0 => request,
            have => request.header(header::RANGE, format!("bytes={have}-")),
        };
        request.call().map_err(|error| self.refused(error))
    }

    /// Why there is no answer.
    fn refused(&self, error: ureq::Error) -> Trouble {
        let patience = self.options.patience;
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                Trouble::Connection(format!("none within {} s", patience.connect.as_secs_f64()))
            }
            ureq::Error::Timeout(_) => Trouble::Stalled { after: patience.stall },
            ureq::Error::TooManyRedirects => Trouble::Redirects { most: MOST_REDIRECTS },
            // Certificates that do not convince come as invalid data.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                Trouble::Refused(error.to_string())
            }
            ureq::Error::Io(error) => Trouble::Connection(error.to_string()),
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
                Trouble::Connection(error.to_string())
            }
            other => Trouble::Refused(other.to_string()),
        }
    }

    /// Why an answer ended before its time.
    fn broken(&self, error: io::Error, have: u64, of: Option<u64>) -> Trouble {
        match ureq::Error::from(error) {
            ureq::Error::Timeout(_) => Trouble::Stalled { after: self.options.patience.stall },
            _ => Trouble::CutOff { have, of },
        }
    }
}

/// Refuses a size that is not the known one, or beyond belief.
fn believe(job: &Job<'_>, of: Option<u64>) -> Result<(), Trouble> {
    match (of, job.bytes) {
        (Some(announced), Some(expected)) if announced != expected => {
            Err(Trouble::Length { announced, expected })
        }
        (Some(announced), None) if announced > job.most() => {
            Err(Trouble::TooLong { most: job.most() })
        }
        _ => Ok(()),
    }
}

/// How many bytes the answer has, if it says so.
fn announced(response: &Response<Body>) -> Result<Option<u64>, Trouble> {
    let Some(length) = response.headers().get(header::CONTENT_LENGTH) else { return Ok(None) };
    let number = length.to_str().ok().and_then(|length| length.trim().parse().ok());
    number.map(Some).ok_or_else(|| Trouble::Refused("announces a length that is no number".into()))
}

/// `7` of `Content-Range: bytes 7-41/42`.
fn first_byte(response: &Response<Body>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

/// The proxy for a scheme, with its exceptions.
fn proxy(proxies: &Proxies, secure: bool) -> Result<Option<Proxy>, Trouble> {
    let Some(text) = (if secure { &proxies.https } else { &proxies.http }) else { return Ok(None) };
    let bad = |_| Trouble::Refused(format!("the proxy `{text}` is not a URL"));
    let parsed = Proxy::new(text).map_err(bad)?;
    let mut builder = Proxy::builder(parsed.protocol()).host(parsed.host()).port(parsed.port());
    if let (Some(name), Some(password)) = (parsed.username(), parsed.password()) {
        builder = builder.username(name).password(password);
    }
    for host in &proxies.except {
        builder = builder.no_proxy(host);
        if !host.starts_with(['.', '*']) {
            builder = builder.no_proxy(&format!(".{host}"));
        }
    }
    builder.build().map(Some).map_err(bad)
}
