//! Database URLs in the format that Optuna uses.
//!
//! ```text
//! sqlite:///studies.db                                 a file, relative to the working directory
//! sqlite:////home/me/studies.db                        a file with an absolute path
//! postgresql://user:password@host:5432/database        a server
//! ```
//!
//! The name of a Python driver, as in `postgresql+psycopg2`, is ignored. Passwords are redacted when a URL is
//! displayed.

use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// The URL of a database, without the name of a Python driver. Its `Display` and `Debug` forms contain no
/// password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// The URL including the password.
    url: String,
    /// The file of an SQLite database; `None` for a PostgreSQL server.
    file: Option<PathBuf>,
}

/// The accepted forms, for error messages.
const EXPECTED: &str = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE";

impl DatabaseUrl {
    /// Parses a URL. Most of a PostgreSQL URL is checked only when the database is opened.
    ///
    /// # Errors
    /// If the database is neither SQLite nor PostgreSQL, if it is in memory, or if the URL is malformed.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid(url, EXPECTED))?;
        let database = scheme.split('+').next().unwrap_or(scheme);
        let file = match database {
            "sqlite" => Some(sqlite_file(url, rest)?),
            "postgresql" | "postgres" => check_credentials(url, rest).map(|()| None)?,
            _ => return Err(invalid(url, EXPECTED)),
        };
        Ok(Self { url: format!("{database}://{rest}"), file })
    }

    /// The error to return if the crate was built without support for this database.
    #[cfg(not(all(feature = "postgres", feature = "sqlite")))]
    pub(super) fn unsupported(&self) -> Error {
        let feature = if self.file().is_some() { "sqlite" } else { "postgres" };
        let problem = format!("this database requires the cargo feature `{feature}`");
        Error::Data { location: self.to_string(), problem }
    }

    /// The URL including the password, for the driver only.
    #[cfg(feature = "postgres")]
    pub(super) fn with_password(&self) -> &str {
        &self.url
    }

    /// Whether the URL contains a password.
    pub fn contains_password(&self) -> bool {
        self.to_string() != self.url
    }

    /// The file of an SQLite database; `None` for a server.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file {
            Some(_) => f.write_str(&self.url),
            None => f.write_str(&redact_password(&self.url)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// The error for an invalid URL, without its password.
fn invalid(url: &str, expected: &str) -> Error {
    let (key, value) = ("study".into(), redact_password(url));
    Error::BadValue { key, value, expected: expected.into() }
}

/// The path of an SQLite URL: the part after `:///`. Fails for a database in memory, for parameters, and if `://` is
/// not followed by a third slash.
fn sqlite_file(url: &str, rest: &str) -> Result<PathBuf> {
    match rest.strip_prefix('/') {
        Some("" | ":memory:") => Err(invalid(url, "a file; in-memory databases cannot be shared")),
        Some(path) if path.contains('?') => {
            Err(invalid(url, "sqlite:///FILE without parameters after `?`"))
        }
        Some(path) => Ok(path.into()),
        None => Err(invalid(url, "sqlite:///FILE, or sqlite:////FILE for an absolute path")),
    }
}

/// Rejects `@`, `/`, `?` and `#` before the last `@`, and therefore every `@` in the parameters. The driver reads
/// the host after the first `@` and prints it in errors, so a part of the password could be printed.
fn check_credentials(url: &str, rest: &str) -> Result<()> {
    let credentials = rest.rsplit_once('@').map_or("", |(credentials, _)| credentials);
    match credentials.contains(['@', '/', '?', '#']) {
        true => Err(invalid(
            url,
            "`@`, `/`, `?` and `#` in the user name and password, and `@` in parameters, encoded as %40, \
             %2F, %3F and %23",
        )),
        false => Ok(()),
    }
}

/// Replaces the password of a URL, and the values of query parameters whose names contain `password`, with `***`.
/// If an `@` follows a `?`, the end of the password is ambiguous: all text after the first `:` or `?` that follows
/// `://` is then replaced. Text that is not a URL is returned unchanged.
pub fn redact_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    if rest.split_once('?').is_some_and(|(_, parameters)| parameters.contains('@')) {
        let start = rest.find([':', '?']).expect("the text contains a `?`");
        return format!("{scheme}://{}***", &rest[..=start]);
    }
    let (user, rest) = match rest.rsplit_once('@') {
        None => match user_and_rest_without_host(rest) {
            Some((user, rest)) => (format!("{user}:***"), rest),
            None => (String::new(), rest),
        },
        Some((credentials, rest)) => match credentials.split_once(':') {
            None => (format!("{credentials}@"), rest),
            Some((user, _)) => (format!("{user}:***@"), rest),
        },
    };
    let Some((host, parameters)) = rest.split_once('?') else {
        return format!("{scheme}://{user}{rest}");
    };
    let redact = |parameter: &str| match parameter.split_once('=') {
        Some((key, _)) if key.to_lowercase().contains("password") => format!("{key}=***"),
        _ => parameter.to_owned(),
    };
    let parameters: Vec<String> = parameters.split('&').map(redact).collect();
    format!("{scheme}://{user}{host}?{}", parameters.join("&"))
}

/// Returns `user` and `/rest` of `user:password/rest`, the text after `://` in a URL without a host; `None` if there
/// is no colon, or if the text after it may be a port.
fn user_and_rest_without_host(rest: &str) -> Option<(&str, &str)> {
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    // The address of an IPv6 host contains colons.
    let (user, port) = authority.split_once(':').filter(|_| !authority.starts_with('['))?;
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let are_ports = port.split(',').all(|part| is_port(part.rsplit(':').next().unwrap_or(part)));
    (!are_ports).then_some((user, &rest[authority.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn displayed(url: &str) -> String {
        DatabaseUrl::parse(url).unwrap().to_string()
    }

    #[test]
    fn parses_relative_and_absolute_files() {
        let file = |url: &str| DatabaseUrl::parse(url).unwrap().file().unwrap().to_owned();
        assert_eq!(file("sqlite:///a/b.db"), PathBuf::from("a/b.db"));
        assert_eq!(file("sqlite:////a/b.db"), PathBuf::from("/a/b.db"));
        assert_eq!(file("sqlite+pysqlite:///b.db"), PathBuf::from("b.db"));
        assert_eq!(displayed("sqlite+pysqlite:////b.db"), "sqlite:////b.db");
        let colon = "sqlite:////a:b@c.db";
        assert_eq!(displayed(colon), colon, "files have no passwords");
        assert!(!DatabaseUrl::parse(colon).unwrap().contains_password());
    }

    #[test]
    fn display_and_debug_redact_passwords() {
        for (url, expected) in [
            ("postgresql://me:s3cret@host:5433/db", "postgresql://me:***@host:5433/db"),
            ("postgresql+psycopg2://me:p%40ss@host/db", "postgresql://me:***@host/db"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            (
                "postgresql://host/db?password=s3cret&port=1",
                "postgresql://host/db?password=***&port=1",
            ),
            ("postgresql://host?sslpassword=s3cret", "postgresql://host?sslpassword=***"),
            ("postgresql://me:s3cret/db?a=b", "postgresql://me:***/db?a=b"),
            ("postgresql://a:1,b:2/db", "postgresql://a:1,b:2/db"),
            ("postgresql://[::1]:5432/db", "postgresql://[::1]:5432/db"),
        ] {
            assert_eq!(displayed(url), expected);
            let contains_password = DatabaseUrl::parse(url).unwrap().contains_password();
            assert_eq!(contains_password, expected.contains("***"));
            assert_eq!(
                format!("{:?}", DatabaseUrl::parse(url).unwrap()),
                format!("DatabaseUrl({expected})")
            );
        }
        assert_eq!(redact_password("no url: me:s@x"), "no url: me:s@x");
    }

    #[test]
    fn errors_redact_passwords() {
        for (url, expected) in [
            ("mysql://me:s3cret@host/db", "`mysql://me:***@host/db`; expected sqlite:///FILE or"),
            (
                "postgresql://me:s3@cret@host/db",
                "in the user name and password, and `@` in parameters, encoded as %40, %2F",
            ),
            ("postgresql://me:s3/cret@host/db", "`postgresql://me:***@host/db`"),
            ("sqlite://a.db", "expected sqlite:///FILE, or sqlite:////FILE"),
            ("sqlite://", "expected sqlite:///FILE, or"),
            ("postgresql://host/db?password=s3@cret", "`postgresql://host/db?***`"),
            ("postgresql://host:5432/db?password=s3@cret", "`postgresql://host:***`"),
            ("postgresql://me:s3cret@host/db?password=s3@cret", "`postgresql://me:***`"),
            ("postgresql://me:s3?cr@cret@host/db", "`postgresql://me:***`"),
            ("sqlite:///", "a file; in-memory databases cannot be shared"),
            ("sqlite:///:memory:", "a file; in-memory databases"),
            ("sqlite:///a.db?timeout=3", "without parameters after `?`"),
            ("study.log", "expected sqlite:///FILE"),
        ] {
            let error = DatabaseUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("cret"), "{error}");
        }
    }
}
