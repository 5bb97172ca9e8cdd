//! PostgreSQL databases for tests: each test starts a server in a temporary folder.
//!
//! `cargo xtask optuna` passes the folder of PostgreSQL's programs in `CLENSHAW_POSTGRES`. If
//! `DATABASE_URL` is set, tests use a schema of that database, except those that stop the server.
#![allow(dead_code, reason = "the tests of the program use a part of it")]

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// A password with reserved characters, and its form in a URL.
const PASSWORD: (&str, &str) = ("s3cret/@word", "s3cret%2F%40word");

/// An empty database, removed on drop.
pub enum Database {
    /// On a server started by this process.
    Own(Server),
    /// A schema of the database in `DATABASE_URL`.
    Schema { server: String, schema: String },
}

impl Database {
    /// Creates an empty database.
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Ok(server) = std::env::var("DATABASE_URL") else { return Self::Own(Server::new()) };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("clenshaw_{}_{count}", std::process::id());
        execute(&server, &format!("CREATE SCHEMA {schema}"));
        Self::Schema { server, schema }
    }

    /// The URL, including the password.
    pub fn url(&self) -> String {
        match self {
            Self::Own(server) => server.url(),
            Self::Schema { server, schema } => {
                let mark = if server.contains('?') { '&' } else { '?' };
                format!("{server}{mark}options=-csearch_path%3D{schema}")
            }
        }
    }

    /// Executes SQL directly.
    pub fn execute(&self, sql: &str) {
        execute(&self.url(), sql);
    }

    /// The rows of a query whose columns are texts.
    pub fn query_texts(&self, sql: &str) -> Vec<Vec<String>> {
        let mut client = postgres::Client::connect(&self.url(), postgres::NoTls).unwrap();
        let rows = client.query(sql, &[]).unwrap();
        rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Self::Schema { server, schema } = self {
            execute(server, &format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}

fn execute(url: &str, sql: &str) {
    postgres::Client::connect(url, postgres::NoTls).unwrap().batch_execute(sql).unwrap();
}

/// A server, stopped on drop.
pub struct Server {
    folder: TempDir,
    port: u16,
    programs: PathBuf,
    /// The user and group of the server, which refuses to run as root.
    user: Option<(u32, u32)>,
}

impl Server {
    /// Starts a server with an empty database.
    pub fn new() -> Self {
        let programs = std::env::var_os("CLENSHAW_POSTGRES").map(PathBuf::from);
        let programs = programs.expect("CLENSHAW_POSTGRES is not set; run `cargo xtask optuna`");
        let folder = tempfile::tempdir().unwrap();
        let user = unprivileged_user();
        std::fs::write(folder.path().join("password"), PASSWORD.0).unwrap();
        if let Some((user, group)) = user {
            for path in [folder.path(), &folder.path().join("password")] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Self { folder, port, programs, user };
        server
            .run("initdb", &["-A", "scram-sha-256", "-U", "tester", "--pwfile", "password", "-N"]);
        server.start();
        server
    }

    /// The URL, including the password.
    pub fn url(&self) -> String {
        format!("postgresql://tester:{}@127.0.0.1:{}/postgres", PASSWORD.1, self.port)
    }

    /// Starts the server.
    pub fn start(&self) {
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off \
             -c timezone=Asia/Tokyo",
            self.port,
            self.folder.path().display()
        );
        self.run("pg_ctl", &["start", "-w", "-l", "log", "-o", &settings]);
    }

    /// Stops the server immediately, as in a crash.
    pub fn stop(&self) {
        self.run("pg_ctl", &["stop", "-w", "-m", "immediate"]);
    }

    /// Restarts the server with TLS, a certificate and its private key in PEM format.
    pub fn enable_tls(&self, certificate: &str, key: &str) {
        self.write_data("server.crt", certificate);
        self.write_data("server.key", key);
        self.write_data("postgresql.auto.conf", "ssl = on\n");
        self.restart();
    }

    /// Restarts the server so that it accepts connections of one type only: `hostssl` or `hostnossl`.
    pub fn accept_only(&self, connection_type: &str) {
        self.write_data("pg_hba.conf", &format!("{connection_type} all all all scram-sha-256\n"));
        self.restart();
    }

    fn restart(&self) {
        self.stop();
        self.start();
    }

    /// Writes a file of the server's data folder that only the server can read.
    fn write_data(&self, name: &str, text: &str) {
        let path = self.folder.path().join("data").join(name);
        std::fs::write(&path, text).unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, permissions).unwrap();
        if let Some((user, group)) = self.user {
            std::os::unix::fs::chown(&path, Some(user), Some(group)).unwrap();
        }
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments).env("PGDATA", self.folder.path().join("data"));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        assert!(command.status().unwrap().success(), "{program} {arguments:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.folder.path().join("data/postmaster.pid").exists() {
            self.stop();
        }
    }
}

/// User and group `postgres` if this process runs as root.
fn unprivileged_user() -> Option<(u32, u32)> {
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    root.then(|| {
        let line = line.expect("PostgreSQL does not run as root; create a user `postgres`");
        let field = |i: usize| line.split(':').nth(i).unwrap().parse().unwrap();
        (field(2), field(3))
    })
}
