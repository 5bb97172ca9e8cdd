//! Encrypted connections to PostgreSQL, and passwords that are not part of a URL.

use crate::certificates::{Authority, ServerCertificate, Validity, self_signed};
use crate::postgres_server::Server;
use clenshaw_tune::{DatabaseUrl, Error, RdbStorage};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A server at `localhost`, and a folder with files of root certificates.
struct TlsServer {
    server: Server,
    folder: TempDir,
}

impl TlsServer {
    fn new() -> Self {
        Self { server: Server::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn url(&self, host: &str, parameters: &str) -> String {
        format!("{}?{parameters}", self.server.url().replace("127.0.0.1", host))
    }

    fn open(&self, host: &str, parameters: &str) -> Result<RdbStorage, Error> {
        RdbStorage::open(DatabaseUrl::parse(&self.url(host, parameters)).unwrap())
    }

    /// Whether a connection with these parameters is encrypted.
    fn is_encrypted(&self, host: &str, parameters: &str) -> bool {
        let _storage = self.open(host, parameters).unwrap_or_else(|e| panic!("{parameters}: {e}"));
        let mut client = postgres::Client::connect(&self.server.url(), postgres::NoTls).unwrap();
        let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                   WHERE ssl AND backend_type = 'client backend'";
        client.query_one(sql, &[]).unwrap().get::<_, i64>(0) > 0
    }

    /// The message of a refused connection: an error of the input, without the password.
    fn refusal(&self, host: &str, parameters: &str) -> String {
        let error = self.open(host, parameters).map(drop).unwrap_err();
        let message = error.to_string();
        assert!(error.is_input() && !message.contains("s3cret"), "{parameters}: {error:?}");
        message
    }

    fn enable_tls(&self, certificate: &ServerCertificate) {
        self.server.enable_tls(&certificate.certificate, &certificate.key);
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn roots(mode: &str, path: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", path.display())
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn modes_encrypt_and_verify() {
    let server = TlsServer::new();
    let (authority, other) = (Authority::new(), Authority::new());
    server.enable_tls(&authority.sign("localhost", Validity::Valid));
    let right = server.write("right.pem", &authority.certificate());
    let wrong = server.write("wrong.pem", &other.certificate());
    let both = [other.certificate(), authority.certificate()].concat();
    let both = server.write("both.pem", &both);

    assert!(!server.is_encrypted("localhost", "sslmode=disable"));
    for parameters in ["", "sslmode=prefer", "sslmode=require"] {
        assert!(server.is_encrypted("localhost", parameters), "{parameters}");
    }
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        assert!(server.is_encrypted("localhost", &roots(mode, &right)), "{mode}");
    }
    assert!(server.is_encrypted("localhost", &roots("verify-full", &both)));
    assert!(server.is_encrypted("127.0.0.1", &roots("verify-ca", &right)));

    for mode in ["require", "verify-ca", "verify-full"] {
        let message = server.refusal("localhost", &roots(mode, &wrong));
        let expected = format!("is not signed by an authority in `{}`", wrong.display());
        assert!(message.contains(&expected), "{mode}: {message}");
    }
    assert!(!server.is_encrypted("localhost", &roots("prefer", &wrong)), "as in libpq");
    let public = server.refusal("localhost", "sslrootcert=system");
    assert!(public.contains("not signed by an authority in the list of public"), "{public}");
    let host = server.refusal("127.0.0.1", &roots("verify-full", &right));
    assert!(host.contains("localhost") && host.contains("not for host `127.0.0.1`"), "{host}");
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn certificates_that_verification_refuses_or_accepts() {
    let server = TlsServer::new();
    let authority = Authority::new();
    let file = server.write("authority.pem", &authority.certificate());
    server.enable_tls(&authority.sign("localhost", Validity::Expired));
    let expired = server.refusal("localhost", &roots("verify-ca", &file));
    assert!(expired.contains("expired"), "{expired}");
    assert!(server.is_encrypted("localhost", "sslmode=require"));

    let certificate = self_signed("localhost");
    server.enable_tls(&certificate);
    let file = server.write("server.pem", &certificate.certificate);
    assert!(server.is_encrypted("localhost", &roots("verify-full", &file)));
    let host = server.refusal("127.0.0.1", &roots("verify-full", &file));
    assert!(host.contains("not for host `127.0.0.1`"), "{host}");
    let other = server.write("other.pem", &self_signed("localhost").certificate);
    let refused = server.refusal("localhost", &roots("verify-full", &other));
    assert!(refused.contains("certificate of the server is refused"), "{refused}");
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn server_without_tls_is_refused_unless_tls_is_optional() {
    let server = TlsServer::new();
    let file = server.write("authority.pem", &Authority::new().certificate());
    for parameters in ["sslmode=require".to_owned(), roots("verify-full", &file)] {
        let message = server.refusal("localhost", &parameters);
        assert!(message.contains("server does not support TLS; `sslmode=prefer`"), "{message}");
    }
    for parameters in ["", "sslmode=prefer", "sslmode=disable"] {
        assert!(!server.is_encrypted("localhost", parameters), "{parameters}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn server_that_accepts_one_kind_of_connection() {
    let server = TlsServer::new();
    server.enable_tls(&Authority::new().sign("localhost", Validity::Valid));
    server.server.accept_only("hostssl");
    server.open("localhost", "").unwrap();
    let message = server.refusal("localhost", "sslmode=disable");
    assert!(message.ends_with("`sslmode=require` encrypts the connection"), "{message}");

    server.server.accept_only("hostnossl");
    server.open("localhost", "sslmode=prefer").unwrap();
    let message = server.refusal("localhost", "sslmode=require");
    assert!(message.contains("SSL encryption"), "{message}");
}

#[test]
fn unusable_root_certificates_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, missing) = (folder.path().join("empty.pem"), folder.path().join("missing.pem"));
    std::fs::write(&empty, "no certificate").unwrap();
    for (path, expected) in [
        (empty.as_path(), "contains no certificate"),
        (&missing, "No such file"),
        (folder.path(), "expected a regular file"),
    ] {
        let url = format!("postgresql://me:s3cret@127.0.0.1:1/d?{}", roots("verify-full", path));
        let error = RdbStorage::open(DatabaseUrl::parse(&url).unwrap()).map(drop).unwrap_err();
        let message = error.to_string();
        assert!(error.is_input() && message.contains(expected), "{message}");
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask optuna"]
fn passwords_are_read_from_a_file() {
    let server = TlsServer::new();
    let (user, rest) = server
        .server
        .url()
        .split_once(":s3cret")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let url = format!("{user}@{}", rest.split_once('@').unwrap().1);
    let port = url.rsplit_once(':').unwrap().1.trim_end_matches("/postgres");
    let file = server.write("pgpass", &format!("127.0.0.1:{port}:postgres:tester:s3cret/@word\n"));
    let open = |mode: u32| {
        crate::set_mode(&file, mode);
        RdbStorage::open(DatabaseUrl::parse(&format!("{url}?passfile={}", file.display())).unwrap())
    };
    open(0o600).unwrap();
    let message = open(0o644).map(drop).unwrap_err().to_string();
    assert!(message.contains("password missing; the password file"), "{message}");
    assert!(message.contains("`chmod 600`") && !message.contains("s3cret"), "{message}");
    let missing = format!("{url}?passfile=/missing");
    let message = RdbStorage::open(DatabaseUrl::parse(&missing).unwrap()).map(drop).unwrap_err();
    assert!(message.to_string().contains("set it in ~/.pgpass or PGPASSWORD"), "{message}");
}
