//! A PostgreSQL database for one test: a server of its own, with its own folder, port and password.
//!
//! `cargo xtask test` names the folder of PostgreSQL's programs in `CLENSHAW_POSTGRES`. With
//! `DATABASE_URL` a schema of that database serves instead, but for tests that stop the server.
#![allow(dead_code, reason = "no test needs all of it")]

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// What must be written otherwise in a URL is in it.
const PASSWORD: (&str, &str) = ("s3cret/@word", "s3cret%2F%40word");

/// A database that goes away with it.
pub enum Database {
    /// On a server of its own.
    Own(Server),
    /// A schema of somebody else's.
    Lent { server: String, schema: String },
}

impl Database {
    /// An empty one.
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Ok(server) = std::env::var("DATABASE_URL") else { return Self::Own(Server::new()) };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("clenshaw_{}_{count}", std::process::id());
        execute(&server, &format!("CREATE SCHEMA {schema}"));
        Self::Lent { server, schema }
    }

    /// Where it is, password included.
    pub fn url(&self) -> String {
        match self {
            Self::Own(server) => server.url(),
            Self::Lent { server, schema } => {
                let mark = if server.contains('?') { '&' } else { '?' };
                format!("{server}{mark}options=-csearch_path%3D{schema}")
            }
        }
    }

    /// Carries out statements, past all that is tested.
    pub fn execute(&self, sql: &str) {
        execute(&self.url(), sql);
    }

    /// The rows of an answer whose columns are texts.
    pub fn texts(&self, sql: &str) -> Vec<Vec<String>> {
        let mut client = postgres::Client::connect(&self.url(), postgres::NoTls).unwrap();
        let rows = client.query(sql, &[]).unwrap();
        rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Self::Lent { server, schema } = self {
            execute(server, &format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}

fn execute(url: &str, sql: &str) {
    postgres::Client::connect(url, postgres::NoTls).unwrap().batch_execute(sql).unwrap();
}

/// A server that is stopped when it is dropped.
pub struct Server {
    folder: TempDir,
    port: u16,
    programs: PathBuf,
    /// Whoever may do everything must be somebody else: the server insists.
    user: Option<(u32, u32)>,
}

impl Server {
    /// A running server with an empty database.
    pub fn new() -> Self {
        let programs = std::env::var_os("CLENSHAW_POSTGRES").map(PathBuf::from);
        let programs = programs.expect(
            "CLENSHAW_POSTGRES names no folder with PostgreSQL's programs; run `cargo xtask test`",
        );
        let folder = tempfile::tempdir().unwrap();
        let user = somebody();
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

    /// Where it is, password included.
    pub fn url(&self) -> String {
        format!("postgresql://tester:{}@127.0.0.1:{}/postgres", PASSWORD.1, self.port)
    }

    /// Starts it, if it was stopped.
    pub fn start(&self) {
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off \
             -c timezone=Asia/Tokyo",
            self.port,
            self.folder.path().display()
        );
        self.run("pg_ctl", &["start", "-w", "-l", "log", "-o", &settings]);
    }

    /// Stops it as a crash would: nobody is let go in peace.
    pub fn stop(&self) {
        self.run("pg_ctl", &["stop", "-w", "-m", "immediate"]);
    }

    /// Lets nobody in who does not encrypt.
    pub fn demand_encryption(&self) {
        let rules = self.folder.path().join("data/pg_hba.conf");
        std::fs::write(rules, "hostssl all all all scram-sha-256\n").unwrap();
        self.run("pg_ctl", &["reload"]);
    }

    fn run(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(words).env("PGDATA", self.folder.path().join("data"));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        assert!(command.status().unwrap().success(), "{program} {words:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.folder.path().join("data/postmaster.pid").exists() {
            self.stop();
        }
    }
}

/// User and group `postgres`, if we are the one who may do everything.
fn somebody() -> Option<(u32, u32)> {
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    let users = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    root.then(|| {
        let line = line.expect("PostgreSQL does not run as root; make a user `postgres`");
        let field = |i: usize| line.split(':').nth(i).unwrap().parse().unwrap();
        (field(2), field(3))
    })
}
