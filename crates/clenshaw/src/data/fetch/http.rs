//! HTTP downloads with retries; range requests resume partial files.

use super::failure::{FetchError, SourceError};
use super::partial_file::PartialFile;
use super::transfer::Transfer;
use super::{FetchOptions, Proxies};
use crate::error::Error;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use ureq::http::{Response, StatusCode, header};
use ureq::{Agent, Body, Proxy};

const MAX_REDIRECTS: u32 = 5;
/// How often the cancel flag is polled during a delay.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// An HTTP client that reuses its connections.
pub(super) struct HttpClient<'a> {
    agent: Agent,
    pub(super) options: &'a FetchOptions<'a>,
}

impl<'a> HttpClient<'a> {
    pub(super) fn new(options: &'a FetchOptions<'a>) -> Self {
        let retry = options.retry;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(MAX_REDIRECTS)
            .timeout_resolve(Some(retry.connect_timeout))
            .timeout_connect(Some(retry.connect_timeout))
            .timeout_per_read(Some(retry.read_timeout))
            .timeout_per_write(Some(retry.read_timeout))
            .user_agent(concat!("clenshaw/", env!("CARGO_PKG_VERSION")));
        Self { agent: config.build().into(), options }
    }

    /// Downloads the missing part of a partial file; one that is too long is cleared first.
    pub(super) fn resume(
        &self,
        transfer: &Transfer<'_>,
        url: &str,
        into: &mut PartialFile,
    ) -> Result<(), FetchError> {
        if into.bytes() > transfer.limit() {
            into.clear()?;
        }
        self.with_retries(transfer, || match into.bytes() {
            bytes if transfer.size == Some(bytes) => Ok(()),
            _ => self.request(transfer, url, into),
        })
    }

    /// Clears the partial file and downloads the whole file; each retry starts from the beginning.
    pub(super) fn download(
        &self,
        transfer: &Transfer<'_>,
        url: &str,
        into: &mut PartialFile,
    ) -> Result<(), FetchError> {
        self.with_retries(transfer, || {
            into.clear()?;
            self.request(transfer, url, into)
        })
    }

    /// Calls `attempt` until it succeeds or fails with an error that is not transient, at most
    /// [`RetryPolicy::attempts`](super::RetryPolicy::attempts) times, with exponential backoff.
    fn with_retries(
        &self,
        transfer: &Transfer<'_>,
        mut attempt: impl FnMut() -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        let retry = self.options.retry;
        let mut delay = retry.first_delay;
        for _ in 1..retry.attempts {
            match attempt() {
                Err(FetchError::Source(error)) if error.is_transient() => {
                    transfer.report_failure(&error.to_string(), Some(delay));
                    self.sleep(delay)?;
                    delay *= 2;
                }
                outcome => return outcome,
            }
        }
        attempt()
    }

    /// Sleeps, or returns early with an error if cancelled.
    fn sleep(&self, delay: Duration) -> Result<(), FetchError> {
        let start = Instant::now();
        while start.elapsed() < delay {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Interrupted.into());
            }
            std::thread::sleep(POLL_INTERVAL.min(delay - start.elapsed().min(delay)));
        }
        Ok(())
    }

    /// Sends one request for the bytes after those of the partial file, and appends them. If the server ignores
    /// the range, the file is cleared first.
    fn request(
        &self,
        transfer: &Transfer<'_>,
        url: &str,
        into: &mut PartialFile,
    ) -> Result<(), FetchError> {
        let start = into.bytes();
        let response = self.get(url, start)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if first_byte(&response) == Some(start) => {}
            StatusCode::PARTIAL_CONTENT => {
                into.clear()?;
                return Err(SourceError::Range { requested: start }.into());
            }
            StatusCode::OK => into.clear()?,
            // The partial file seems complete; known checksums, of the file or of the members used from it, are
            // verified afterwards.
            StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => return Ok(()),
            status => {
                let reason = status.canonical_reason().unwrap_or("");
                return Err(SourceError::Status { code: status.as_u16(), reason }.into());
            }
        }
        let total = content_length(&response)?.map(|rest| into.bytes().saturating_add(rest));
        check_size(transfer, total)?;
        let source_error = |error, received| self.body_error(error, received, total);
        let total = total.or(transfer.size);
        transfer.append_all(response.into_body().into_reader(), total, into, source_error)?;
        match total.filter(|total| into.bytes() < *total) {
            Some(_) => Err(SourceError::Truncated { received: into.bytes(), total }.into()),
            None => Ok(()),
        }
    }

    /// Requests the content of a URL from byte `start`.
    fn get(&self, url: &str, start: u64) -> Result<Response<Body>, SourceError> {
        let secure = url.to_ascii_lowercase().starts_with("https:");
        // Redirects from HTTPS to HTTP are rejected.
        let request = self.agent.get(url).config().https_only(secure);
        let request = request.proxy(proxy(&self.options.proxies, secure)?).build();
        let request = match start {
            0 => request,
            start => request.header(header::RANGE, format!("bytes={start}-")),
        };
        request.call().map_err(|error| self.request_error(error))
    }

    /// Converts an error that occurred before a response was received.
    fn request_error(&self, error: ureq::Error) -> SourceError {
        let retry = self.options.retry;
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                let seconds = retry.connect_timeout.as_secs_f64();
                SourceError::Connection(format!("timed out after {seconds} s"))
            }
            ureq::Error::Timeout(_) => SourceError::TimedOut { after: retry.read_timeout },
            ureq::Error::TooManyRedirects => SourceError::Redirects { limit: MAX_REDIRECTS },
            // Invalid certificates are reported as invalid data.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                SourceError::Other(error.to_string())
            }
            ureq::Error::Io(error) => SourceError::Connection(error.to_string()),
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
                SourceError::Connection(error.to_string())
            }
            other => SourceError::Other(other.to_string()),
        }
    }

    /// Converts an error that occurred while the body was read.
    fn body_error(&self, error: io::Error, received: u64, total: Option<u64>) -> SourceError {
        match ureq::Error::from(error) {
            ureq::Error::Timeout(_) => {
                SourceError::TimedOut { after: self.options.retry.read_timeout }
            }
            _ => SourceError::Truncated { received, total },
        }
    }
}

/// Returns an error if the announced size differs from the expected size or exceeds the limit.
fn check_size(transfer: &Transfer<'_>, total: Option<u64>) -> Result<(), SourceError> {
    match (total, transfer.size) {
        (Some(announced), Some(expected)) if announced != expected => {
            Err(SourceError::ContentLength { announced, expected })
        }
        (Some(announced), None) if announced > transfer.limit() => {
            Err(SourceError::TooLong { limit: transfer.limit() })
        }
        _ => Ok(()),
    }
}

/// The `Content-Length` of a response, if it has one; an error if it is not a number.
fn content_length(response: &Response<Body>) -> Result<Option<u64>, SourceError> {
    let Some(length) = response.headers().get(header::CONTENT_LENGTH) else { return Ok(None) };
    let number = length.to_str().ok().and_then(|length| length.trim().parse().ok());
    number.map(Some).ok_or_else(|| SourceError::Other("Content-Length is not a number".into()))
}

/// The start of the returned range: `7` for `Content-Range: bytes 7-41/42`; `None` if the header is missing
/// or invalid.
fn first_byte(response: &Response<Body>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

/// The proxy for HTTPS (`secure`) or HTTP, if any, with the hosts that bypass it; an error if its URL is
/// invalid.
fn proxy(proxies: &Proxies, secure: bool) -> Result<Option<Proxy>, SourceError> {
    let Some(text) = (if secure { &proxies.https } else { &proxies.http }) else { return Ok(None) };
    // The message does not contain the URL, which may include a password.
    let scheme = if secure { "HTTPS" } else { "HTTP" };
    let invalid = |_| SourceError::Other(format!("the proxy for {scheme} is not a valid URL"));
    let parsed = Proxy::new(text).map_err(invalid)?;
    let mut builder = Proxy::builder(parsed.protocol()).host(parsed.host()).port(parsed.port());
    if let Some(name) = parsed.username() {
        builder = builder.username(name);
    }
    if let Some(password) = parsed.password() {
        builder = builder.password(password);
    }
    for host in &proxies.no_proxy {
        builder = builder.no_proxy(host);
        if !host.starts_with(['.', '*']) {
            builder = builder.no_proxy(&format!(".{host}"));
        }
    }
    builder.build().map(Some).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_keeps_a_user_name_with_or_without_a_password() {
        for (url, expected) in [
            ("http://example.org:3128", [None, None]),
            ("http://token@example.org:3128", [Some("token"), None]),
            ("http://ann:secret@example.org:3128", [Some("ann"), Some("secret")]),
        ] {
            let proxies = Proxies { http: Some(url.into()), ..Proxies::default() };
            let proxy = proxy(&proxies, false).unwrap().unwrap();
            assert_eq!([proxy.username(), proxy.password()], expected, "{url}");
        }
    }
}
