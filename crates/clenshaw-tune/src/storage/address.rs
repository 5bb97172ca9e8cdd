//! Where a database is, as people write it for Optuna.
//!
//! ```text
//! sqlite:///studies.db                                 a file, from the working folder
//! sqlite:////home/me/studies.db                        a file, from the root
//! postgresql://user:password@host:5432/database        a server
//! ```
//!
//! A driver's name, as in `postgresql+psycopg2`, is passed over. A password is never shown.

use crate::error::{Error, Result};
use std::fmt;
use std::path::PathBuf;

/// The address of a database. What it shows is without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    kind: Kind,
    /// The whole URL, secrets included.
    url: String,
}

/// Which database it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file of SQLite's.
    Sqlite(PathBuf),
    /// A server.
    Postgresql,
}

const EXPECTED: &str = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE";

impl Address {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong(url, EXPECTED))?;
        let database = scheme.split('+').next().unwrap_or(scheme);
        let kind = match database {
            "sqlite" => Kind::Sqlite(file(url, rest)?),
            "postgresql" | "postgres" => {
                check_secret(url, rest)?;
                Kind::Postgresql
            }
            _ => return Err(wrong(url, EXPECTED)),
        };
        Ok(Self { kind, url: format!("{database}://{rest}") })
    }

    /// That this build does not know this kind of database.
    #[cfg(not(all(feature = "postgres", feature = "sqlite")))]
    pub(super) fn unsupported(&self) -> Error {
        let feature = if self.file().is_some() { "sqlite" } else { "postgres" };
        let problem =
            format!("this build has no such databases; build with the feature `{feature}`");
        Error::Data { place: self.to_string(), problem }
    }

    /// Which database it is.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The URL with its secrets, for the driver alone.
    #[cfg(feature = "postgres")]
    pub(super) fn secret(&self) -> &str {
        &self.url
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.kind {
            Kind::Sqlite(path) => Some(path),
            Kind::Postgresql => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.url))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

fn wrong(url: &str, expected: &str) -> Error {
    let (key, value) = ("study".into(), without_password(url));
    Error::BadValue { key, value, expected: expected.into() }
}

/// The path after `sqlite://`: what follows the third slash.
fn file(url: &str, rest: &str) -> Result<PathBuf> {
    match rest.strip_prefix('/') {
        Some("" | ":memory:") => Err(wrong(url, "a file: what is in memory alone is not kept")),
        Some(path) if path.contains('?') => {
            Err(wrong(url, "sqlite:///FILE without settings after `?`"))
        }
        Some(path) => Ok(path.into()),
        None => Err(wrong(url, "three slashes before a file, sqlite:///FILE, four from the root")),
    }
}

/// Refuses a password that ends too early, for its rest would be taken for the host and be shown.
fn check_secret(url: &str, rest: &str) -> Result<()> {
    let secret = rest.rsplit_once('@').map_or("", |(secret, _)| secret);
    match secret.contains(['@', '/', '?', '#']) {
        true => Err(wrong(url, "`@`, `/`, `?` and `#` of a password as %40, %2F, %3F and %23")),
        false => Ok(()),
    }
}

/// A text that may be a URL, with `***` for its password; other texts as they are.
pub fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (before, after) = rest
        .rsplit_once('@')
        .map_or(("", rest), |(secret, after)| (secret.split(':').next().unwrap_or(secret), after));
    let hidden = rest.rsplit_once('@').is_some_and(|(secret, _)| secret.contains(':'));
    let user = match (rest.contains('@'), hidden) {
        (false, _) => String::new(),
        (true, false) => format!("{before}@"),
        (true, true) => format!("{before}:***@"),
    };
    let Some((place, settings)) = after.split_once('?') else {
        return format!("{scheme}://{user}{after}");
    };
    let hide = |setting: &str| match setting.split_once('=') {
        Some((key, _)) if key.to_lowercase().contains("pass") => format!("{key}=***"),
        _ => setting.to_owned(),
    };
    let settings: Vec<String> = settings.split('&').map(hide).collect();
    format!("{scheme}://{user}{place}?{}", settings.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        Address::parse(url).unwrap().to_string()
    }

    #[test]
    fn files_are_relative_or_not() {
        let file = |url: &str| Address::parse(url).unwrap().file().unwrap().to_owned();
        assert_eq!(file("sqlite:///a/b.db"), PathBuf::from("a/b.db"));
        assert_eq!(file("sqlite:////a/b.db"), PathBuf::from("/a/b.db"));
        assert_eq!(file("sqlite+pysqlite:///b.db"), PathBuf::from("b.db"));
        assert_eq!(shown("sqlite+pysqlite:////b.db"), "sqlite:////b.db");
    }

    #[test]
    fn no_password_is_shown() {
        for (url, expected) in [
            ("postgresql://me:s3cret@host:5433/db", "postgresql://me:***@host:5433/db"),
            ("postgresql+psycopg2://me:p%40ss@host/db", "postgresql://me:***@host/db"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            (
                "postgresql://host/db?password=s3cret&port=1",
                "postgresql://host/db?password=***&port=1",
            ),
            ("postgresql://host?sslpassword=s3cret", "postgresql://host?sslpassword=***"),
        ] {
            assert_eq!(shown(url), expected);
            assert_eq!(
                format!("{:?}", Address::parse(url).unwrap()),
                format!("Address({expected})")
            );
        }
        assert_eq!(without_password("no url: me:s@x"), "no url: me:s@x");
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (url, expected) in [
            ("mysql://me:s3cret@host/db", "`mysql://me:***@host/db`; expected sqlite:///FILE or"),
            ("postgresql://me:s3@cret@host/db", "`@`, `/`, `?` and `#` of a password as %40"),
            ("postgresql://me:s3/cret@host/db", "`postgresql://me:***@host/db`"),
            ("sqlite://a.db", "three slashes before a file"),
            ("sqlite://", "three slashes"),
            ("sqlite:///", "a file: what is in memory alone is not kept"),
            ("sqlite:///:memory:", "a file: what is in memory"),
            ("sqlite:///a.db?timeout=3", "without settings after `?`"),
            ("study.log", "expected sqlite:///FILE"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("cret"), "{error}");
        }
    }
}
