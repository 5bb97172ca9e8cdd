//! Parses and checks requests from a browser on this machine.
//!
//! Only what the page needs is accepted: GET and POST without a body. The server is reachable by every
//! program and every web page on this machine, so a request must contain the secret token of the address;
//! `Host` must be this server, which prevents DNS rebinding; and a request whose
//! `Origin` header names another origin is refused.

use std::fmt::Write;

/// The maximum size of a request with all its headers, in bytes.
pub const MAX_REQUEST: usize = 8192;

/// The code and the reason of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u16, pub &'static str);

pub const OK: Status = Status(200, "OK");
pub const BAD_REQUEST: Status = Status(400, "Bad Request");
pub const FORBIDDEN: Status = Status(403, "Forbidden");
pub const NOT_FOUND: Status = Status(404, "Not Found");
pub const NOT_ALLOWED: Status = Status(405, "Method Not Allowed");
pub const CONFLICT: Status = Status(409, "Conflict");
pub const TOO_LARGE: Status = Status(431, "Request Header Fields Too Large");
pub const BUSY: Status = Status(503, "Service Unavailable");

/// What a valid request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The page.
    Page,
    /// The stream of events, with the details of this run.
    Events {
        /// The id of the run; `None` for the one that the server chooses.
        run: Option<usize>,
    },
    /// A request to stop the process that trains this run, or the workers of the study.
    Stop {
        /// The id of the run; ignored for a study.
        run: usize,
    },
}

/// The port of the server and the secret token of its address, against which requests are checked.
pub struct AccessCheck {
    pub port: u16,
    pub token: String,
}

/// The parts of a request that matter.
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    host: Option<&'a str>,
    origin: Option<&'a str>,
    /// Whether the request has a body, or a header that this server does not support: `Upgrade` or `Expect`.
    is_unsupported: bool,
}

impl AccessCheck {
    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Parses a request, up to the empty line after its headers, and checks its host, origin and token. The
    /// error is the status of the response.
    pub fn check(&self, request: &[u8]) -> Result<Route, Status> {
        let request = parse(request).ok_or(BAD_REQUEST)?;
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let is_own_host = request.host.is_some_and(|host| hosts.iter().any(|own| own == host));
        let is_own_origin = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| hosts.iter().any(|own| own == host))
        };
        if !is_own_host || !request.origin.is_none_or(is_own_origin) {
            return Err(FORBIDDEN);
        }
        let path = request.target.strip_prefix('/').ok_or(BAD_REQUEST)?;
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !equals_in_constant_time(token.as_bytes(), self.token.as_bytes()) || path == token {
            return Err(NOT_FOUND);
        }
        if request.is_unsupported {
            return Err(BAD_REQUEST);
        }
        route(request.method, rest)
    }
}

/// Returns what a request for this path, without the token, is for; the error is the status of the response.
fn route(method: &str, path: &str) -> Result<Route, Status> {
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<usize>().map_err(|_| NOT_FOUND),
        false => Err(NOT_FOUND),
    };
    let (route, expected) = match (path, path.strip_prefix("events?run=")) {
        ("", _) => (Route::Page, "GET"),
        ("events", _) => (Route::Events { run: None }, "GET"),
        (_, Some(run)) => (Route::Events { run: Some(number(run)?) }, "GET"),
        _ => {
            let run = path.strip_prefix("stop/").ok_or(NOT_FOUND)?;
            (Route::Stop { run: number(run)? }, "POST")
        }
    };
    if method == expected { Ok(route) } else { Err(NOT_ALLOWED) }
}

/// Parses a request. `None` if it is malformed: not printable ASCII, not HTTP/1.0 or 1.1, a header that is
/// not `name: value`, or a repeated `Host` or `Origin`.
fn parse(bytes: &[u8]) -> Option<Request<'_>> {
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\r' | b'\n' | b'\t');
    let text = std::str::from_utf8(bytes).ok().filter(|_| bytes.iter().all(is_text))?;
    let mut lines = text.strip_suffix("\r\n\r\n")?.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    let mut request = Request { method, target, host: None, origin: None, is_unsupported: false };
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) || value.contains(['\r', '\n']) {
            return None;
        }
        let value = value.trim();
        let field = match name.to_ascii_lowercase().as_str() {
            "host" => &mut request.host,
            "origin" => &mut request.origin,
            "content-length" => {
                request.is_unsupported |= value != "0";
                continue;
            }
            "transfer-encoding" | "upgrade" | "expect" => {
                request.is_unsupported = true;
                continue;
            }
            _ => continue,
        };
        if field.replace(value).is_some() {
            return None;
        }
    }
    Some(request)
}

/// Compares bytes in a time that does not depend on how many of them agree. The length is not a secret.
fn equals_in_constant_time(given: &[u8], secret: &[u8]) -> bool {
    let pairs = given.iter().zip(secret);
    let difference = pairs.fold(0, |difference, (a, b)| std::hint::black_box(difference | (a ^ b)));
    given.len() == secret.len() && difference == 0
}

/// The status line and the headers of a response; the body follows. Without a length, the body ends when the
/// connection is closed. `nonce` marks the page's own script and style; if it is empty, no
/// script and no style is allowed.
pub fn head(status: Status, content_type: &str, length: Option<usize>, nonce: &str) -> String {
    let Status(code, text) = status;
    let own = match nonce.is_empty() {
        true => "'none'".to_owned(),
        false => format!("'nonce-{nonce}'"),
    };
    let mut head = format!(
        "HTTP/1.1 {code} {text}\r\n\
         Content-Type: {content_type}\r\n\
         Connection: close\r\n\
         Cache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; script-src {own}; style-src {own}; \
         img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\n"
    );
    if let Some(length) = length {
        write!(head, "Content-Length: {length}\r\n").expect("writing to a string cannot fail");
    }
    head + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn check(request: &str) -> Result<Route, Status> {
        let access = AccessCheck { port: 8000, token: TOKEN.into() };
        access.check(request.replace('\n', "\r\n").as_bytes())
    }

    fn get(target: &str) -> Result<Route, Status> {
        check(&format!("GET {target} HTTP/1.1\nHost: 127.0.0.1:8000\n\n"))
    }

    #[test]
    fn routes() {
        assert_eq!(get(&format!("/{TOKEN}/")), Ok(Route::Page));
        assert_eq!(get(&format!("/{TOKEN}/events")), Ok(Route::Events { run: None }));
        assert_eq!(get(&format!("/{TOKEN}/events?run=12")), Ok(Route::Events { run: Some(12) }));
        let post = format!("POST /{TOKEN}/stop/3 HTTP/1.1\nhost: localhost:8000\n");
        let own = format!("{post}Origin: http://localhost:8000\nContent-Length: 0\n\n");
        assert_eq!(check(&own), Ok(Route::Stop { run: 3 }));
        assert_eq!(check(&format!("{post}Content-Length: 5\n\n")), Err(BAD_REQUEST));
        assert_eq!(check(&format!("{post}Transfer-Encoding: chunked\n\n")), Err(BAD_REQUEST));
        assert_eq!(get(&format!("/{TOKEN}/stop/3")), Err(NOT_ALLOWED));
        assert_eq!(check(&own.replace("POST", "DELETE")), Err(NOT_ALLOWED));
        assert_eq!(check(&own.replace("stop/3", "")), Err(NOT_ALLOWED));
    }

    #[test]
    fn other_paths_are_not_found() {
        let paths = [
            "/",
            "",
            "//",
            "/events",
            "/stop/0",
            "/favicon.ico",
            "/../../etc/passwd",
            "/0123456789abcdef",
            "/0123456789abcde/",
            "/0123456789abcdef0/",
            "/0123456789ABCDEF/",
            "/0123456789abcdef/../",
            "/0123456789abcdef/run.toml",
            "/0123456789abcdef//",
            "/0123456789abcdef/%2e%2e/",
            "/0123456789abcdef/events?run=",
            "/0123456789abcdef/events?run=+1",
            "/0123456789abcdef/events?run=99999999999999999999",
            "/0123456789abcdef/events?other=1",
            "/0123456789abcdef/stop/../runs",
            "http://127.0.0.1:8000/0123456789abcdef/",
        ];
        for path in paths {
            let found = get(path);
            assert!(matches!(found, Err(NOT_FOUND | BAD_REQUEST)), "{path}: {found:?}");
        }
    }

    #[test]
    fn other_hosts_and_origins_are_refused_before_the_token_is_read() {
        for token in [TOKEN, "wrong"] {
            for host in [
                "evil.example",
                "evil.example:8000",
                "127.0.0.1",
                "127.0.0.1:8001",
                "",
                "[::1]:8000",
            ] {
                let request = format!("GET /{token}/ HTTP/1.1\nHost: {host}\n\n");
                assert_eq!(check(&request), Err(FORBIDDEN), "{host}");
            }
            assert_eq!(check(&format!("GET /{token}/ HTTP/1.1\n\n")), Err(FORBIDDEN));
            for origin in
                ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9"]
            {
                let request = format!(
                    "POST /{token}/stop/0 HTTP/1.1\nHost: 127.0.0.1:8000\nOrigin: {origin}\n\n"
                );
                assert_eq!(check(&request), Err(FORBIDDEN), "{origin}");
            }
        }
    }

    #[test]
    fn malformed_requests_are_rejected() {
        let target = format!("GET /{TOKEN}/ HTTP/1.1\nHost: 127.0.0.1:8000");
        for request in [
            String::new(),
            "\n\n".into(),
            target.clone(),
            format!("{target}\n"),
            format!("{target}\nHost: 127.0.0.1:8000\n\n"),
            format!("{target}\nOrigin: http://127.0.0.1:8000\nOrigin: http://evil\n\n"),
            format!("{target}\nno colon\n\n"),
            format!("{target}\nbad name: x\n\n"),
            format!("{target}\n: x\n\n"),
            format!("{target}\nname: \u{7}\n\n"),
            format!("{target}\nname: é\n\n"),
            format!("{}\n\n", target.replace("HTTP/1.1", "HTTP/2")),
            format!("{}\n\n", target.replace("HTTP/1.1", "HTTP/1.1 x")),
            format!("{}\n\n", target.replace(" HTTP/1.1", "")),
        ] {
            assert_eq!(check(&request), Err(BAD_REQUEST), "{request:?}");
        }
    }

    #[test]
    fn tokens_are_compared_completely() {
        assert!(equals_in_constant_time(b"abc", b"abc"));
        for other in [&b""[..], b"ab", b"abd", b"xbc", b"ab\0", b"abcd"] {
            assert!(!equals_in_constant_time(other, b"abc"), "{other:?}");
        }
    }
}
