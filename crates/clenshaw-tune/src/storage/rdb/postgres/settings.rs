//! The settings of a connection: the URL, and some of the environment variables and files that libpq reads.

use super::password_file::{self, FoundPassword};
use super::tls::{RootCertificates, TlsMode};
use percent_encoding::percent_decode_str;
use postgres::config::{Config, Host, SslMode};
use std::path::PathBuf;
use std::time::Duration;

/// The default time to wait for a connection. By default, an open connection is considered lost if sent data is
/// not acknowledged for twice this time.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How to connect to a server.
pub(in crate::storage::rdb) struct ConnectionSettings {
    pub(super) config: Config,
    pub(super) mode: TlsMode,
    pub(super) roots: RootCertificates,
    /// Why an existing password file was not read.
    pub(super) password_problem: Option<String>,
}

/// The parameters of a URL that this module interprets instead of the driver.
#[derive(Default)]
struct OwnParameters {
    sslmode: Option<String>,
    sslrootcert: Option<String>,
    passfile: Option<String>,
}

impl ConnectionSettings {
    /// Parses a URL; the host defaults to `localhost`, and the password to `$PGPASSWORD` or that of the
    /// password file. Returns a message without the password if the URL is invalid.
    pub(in crate::storage::rdb) fn new(url: &str) -> Result<Self, String> {
        let (url, own) = split_parameters(url)?;
        let mut config: Config = url.parse().map_err(|error| super::innermost_message(&error))?;
        let root_file = std::env::home_dir().map(|home| home.join(".postgresql/root.crt"));
        let (mode, roots) = tls_settings(&own, root_file)?;
        complete_hosts(&mut config);
        config.ssl_mode(driver_mode(mode, &config));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(RESPONSE_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(2 * RESPONSE_TIMEOUT);
        }
        config.keepalives_idle(2 * RESPONSE_TIMEOUT);
        let password_problem = complete_password(&mut config, own.passfile);
        Ok(Self { config, mode, roots, password_problem })
    }

    /// Describes the first server, such as `host db.example.org, port 5432`.
    pub(super) fn describe_server(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => format!("host {name}"),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => format!("socket in {}", folder.display()),
            None => String::new(),
        };
        format!("{host}, port {}", port(&self.config))
    }
}

/// Separates the parameters that are not passed to the driver from the rest of a URL.
fn split_parameters(url: &str) -> Result<(String, OwnParameters), String> {
    let mut own = OwnParameters::default();
    let Some((base, parameters)) = url.split_once('?') else { return Ok((url.to_owned(), own)) };
    let mut others = Vec::new();
    for parameter in parameters.split('&') {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let field = match key {
            "sslmode" => &mut own.sslmode,
            "sslrootcert" => &mut own.sslrootcert,
            "passfile" => &mut own.passfile,
            _ => {
                others.push(parameter);
                continue;
            }
        };
        let value = percent_decode_str(value).decode_utf8();
        *field = Some(value.map_err(|_| format!("`{key}` is not UTF-8 text"))?.into_owned());
    }
    Ok((format!("{base}?{}", others.join("&")), own))
}

/// The mode and the root certificates. `sslrootcert=system` trusts so many authorities that the name of the
/// host has to be verified, too.
fn tls_settings(
    own: &OwnParameters,
    default_roots: Option<PathBuf>,
) -> Result<(TlsMode, RootCertificates), String> {
    let or_variable =
        |value: &Option<String>, name| value.clone().or_else(|| std::env::var(name).ok());
    let mode =
        or_variable(&own.sslmode, "PGSSLMODE").map(|name| TlsMode::parse(&name)).transpose()?;
    let sslrootcert = or_variable(&own.sslrootcert, "PGSSLROOTCERT");
    let roots = RootCertificates::new(sslrootcert.as_deref(), default_roots);
    match (mode, &roots) {
        (None | Some(TlsMode::VerifyFull), RootCertificates::Public) => {
            Ok((TlsMode::VerifyFull, roots))
        }
        (_, RootCertificates::Public) => {
            Err("`sslrootcert=system` needs `sslmode=verify-full`".into())
        }
        (mode, _) => Ok((mode.unwrap_or(TlsMode::Prefer), roots)),
    }
}

/// Adds the host if there is none; an address also serves as the host whose certificate is verified.
fn complete_hosts(config: &mut Config) {
    if !config.get_hosts().is_empty() {
        return;
    }
    let addresses = config.get_hostaddrs().to_vec();
    if addresses.is_empty() {
        config.host("localhost");
    }
    for address in addresses {
        config.host(&address.to_string());
    }
}

/// The mode for the driver. As in libpq, connections through a Unix socket are not encrypted.
fn driver_mode(mode: TlsMode, config: &Config) -> SslMode {
    let is_tcp = |host: &Host| matches!(host, Host::Tcp(_));
    let has_tcp = !config.get_hostaddrs().is_empty() || config.get_hosts().iter().any(is_tcp);
    match mode {
        _ if !has_tcp => SslMode::Disable,
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    }
}

fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(5432)
}

/// Adds the password of `$PGPASSWORD` or the password file if the URL has none. Returns why an existing
/// file was not read; `None` if it was read or not needed.
fn complete_password(config: &mut Config, passfile: Option<String>) -> Option<String> {
    if config.get_password().is_some() {
        return None;
    }
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
        return None;
    }
    let path = password_file::path(passfile)?;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.as_str(),
        _ => "localhost",
    };
    let user =
        config.get_user().map_or_else(|| std::env::var("USER").unwrap_or_default(), Into::into);
    let database = config.get_dbname().unwrap_or(&user);
    let key = [host, &port(config).to_string(), database, &user];
    let FoundPassword { password, problem } = password_file::find(&path, key);
    if let Some(password) = password {
        config.password(password);
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> ConnectionSettings {
        ConnectionSettings::new(url).unwrap()
    }

    fn error(url: &str) -> String {
        ConnectionSettings::new(url).map(drop).unwrap_err()
    }

    #[test]
    fn modes_are_those_of_libpq() {
        for (mode, expected) in [
            ("disable", SslMode::Disable),
            ("prefer", SslMode::Prefer),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::Require),
            ("verify-full", SslMode::Require),
        ] {
            let settings = settings(&format!("postgresql://h/d?sslmode={mode}&connect_timeout=3"));
            assert_eq!(settings.config.get_ssl_mode(), expected);
        }
        assert_eq!(settings("postgresql://h/d").mode, TlsMode::Prefer);
        assert!(
            error("postgresql://h?sslmode=full").contains("`sslmode` is `full`; expected disable")
        );
        assert!(error("postgresql://h?sslmod=full").contains("sslmod"));
    }

    #[test]
    fn timeouts_of_the_url_replace_the_defaults() {
        let config = settings("postgresql://h/d?connect_timeout=3&tcp_user_timeout=7").config;
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_secs(7)));
        let config = settings("postgresql://h/d").config;
        assert_eq!(config.get_connect_timeout(), Some(&RESPONSE_TIMEOUT));
    }

    #[test]
    fn sockets_are_not_encrypted() {
        let settings = settings("postgresql:///d?host=/run/postgresql&sslmode=require");
        assert_eq!(settings.config.get_ssl_mode(), SslMode::Disable);
    }

    #[test]
    fn addresses_are_host_names() {
        let settings = settings("postgresql:///d?hostaddr=127.0.0.1");
        assert_eq!(settings.config.get_hosts(), [Host::Tcp("127.0.0.1".into())]);
    }

    #[test]
    fn root_certificates_are_a_file_or_public() {
        let file = settings("postgresql://h/d?sslrootcert=/a%20b/ca.pem").roots;
        assert_eq!(file, RootCertificates::File("/a b/ca.pem".into()));
        let public = settings("postgresql://h/d?sslrootcert=system");
        assert_eq!((public.mode, public.roots), (TlsMode::VerifyFull, RootCertificates::Public));
        let weak = error("postgresql://h/d?sslrootcert=system&sslmode=require");
        assert!(weak.contains("needs `sslmode=verify-full`"), "{weak}");
    }
}
