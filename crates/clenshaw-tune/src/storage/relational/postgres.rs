//! PostgreSQL: a server that workers on many machines share.
//!
//! Connections are not encrypted: whoever needs that goes through a tunnel.

use super::connection::{Cell, Connection, Dialect, Fault, Row, Told};
use bytes::BytesMut;
use postgres::config::{Config, Host, SslMode};
use postgres::error::SqlState;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, NoTls};
use std::error::Error as _;
use std::time::Duration;

static DIALECT: Dialect = Dialect {
    begin_read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    begin_write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    lock: " FOR UPDATE",
    lock_free: " FOR UPDATE SKIP LOCKED",
    // A number of our own choice: the letters of `clenshaw`.
    lock_schema: "SELECT pg_advisory_xact_lock(7164212632296644983)",
    has_table: "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass($1)",
    has_type: "SELECT 1 FROM pg_catalog.pg_type WHERE oid = to_regtype($1)",
    now: "(clock_timestamp() AT TIME ZONE 'UTC')",
    // In the session's time zone, which is the server's, for Optuna's are.
    beat: "LOCALTIMESTAMP",
    age: "CAST(EXTRACT(EPOCH FROM LOCALTIMESTAMP - heartbeat) AS FLOAT)",
    types: &[
        ("SERIAL", "SERIAL"),
        ("TIME", "TIMESTAMP WITHOUT TIME ZONE"),
        ("REAL", "FLOAT(53)"),
        ("DIRECTION", "studydirection"),
        ("STATE", "trialstate"),
        ("VALUE_TYPE", "trialvaluetype"),
        ("REPORT_TYPE", "trialintermediatevaluetype"),
    ],
    lists: &[
        ("studydirection", "'NOT_SET', 'MINIMIZE', 'MAXIMIZE'"),
        ("trialstate", "'RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING'"),
        ("trialvaluetype", "'FINITE', 'INF_POS', 'INF_NEG'"),
        ("trialintermediatevaluetype", "'FINITE', 'INF_POS', 'INF_NEG', 'NAN'"),
    ],
};

/// How long to wait for an answer to a call.
const CALL: Duration = Duration::from_secs(10);

/// A session of a server.
pub(super) struct Server(Client);

/// What a URL asks for, if we can do it; the problem says nothing secret.
pub(super) fn config(url: &str) -> Result<Config, String> {
    let mut config: Config = url.parse().map_err(|error| reason(&error))?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err("TLS is not supported; leave `sslmode` out, or go through a tunnel".into());
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host("localhost");
    }
    if config.get_password().is_none()
        && let Ok(password) = std::env::var("PGPASSWORD")
    {
        config.password(password);
    }
    config.connect_timeout(CALL).tcp_user_timeout(2 * CALL).keepalives_idle(2 * CALL);
    Ok(config)
}

/// `host db.example.org, port 5432`.
fn place(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => format!("host {name}"),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => format!("socket in {}", folder.display()),
        None => config.get_hostaddrs().first().map_or(String::new(), |at| format!("host {at}")),
    };
    format!("{host}, port {}", config.get_ports().first().copied().unwrap_or(5432))
}

/// Opens a session; those who hold a row longer than this are not waited for.
pub(super) fn connect(config: &Config, patience: Duration) -> Told<Box<dyn Connection>> {
    let client = config.connect(NoTls).map_err(|error| match fault(&error) {
        Fault::Lost(why) => Fault::Lost(format!(
            "cannot be reached: {why}; is the server running on {}?",
            place(config)
        )),
        Fault::Refused(why) if why.contains("no encryption") => Fault::Refused(format!(
            "{why}; TLS is not supported: let the server accept plain connections, or go through a \
             tunnel"
        )),
        other => other,
    })?;
    let mut server = Server(client);
    let patience = patience.as_millis().max(1);
    server.batch(&format!("SET datestyle = 'ISO'; SET lock_timeout = {patience}"))?;
    Ok(Box::new(server))
}

impl Connection for Server {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn batch(&mut self, sql: &str) -> Told<()> {
        self.0.batch_execute(sql).map_err(|error| fault(&error))
    }

    fn rows(&mut self, sql: &str, values: &[Cell]) -> Told<Vec<Row>> {
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.0.query(sql, &values).map_err(|error| fault(&error))?;
        let read = |row: &postgres::Row| {
            let cells = (0..row.len()).map(|column| row.try_get::<_, Cell>(column));
            cells.collect::<Result<_, _>>().map(Row)
        };
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| fault(&error))
    }
}

/// As text, which the server turns into whatever its column is: a number, a date, a word of a list.
impl ToSql for Cell {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let text = match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int(whole) => whole.to_string(),
            Self::Real(real) => real.to_string(),
            Self::Text(text) => text.clone(),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(
        kind: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            _ => Self::Text(std::str::from_utf8(raw)?.to_owned()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// What the error means to us, by the server's code, if it is the server's.
fn fault(error: &postgres::Error) -> Fault {
    let why = reason(error);
    let Some(code) = error.code() else {
        let caused = |cause: &(dyn std::error::Error + 'static)| cause.is::<std::io::Error>();
        let by_system = error.source().is_some_and(caused);
        // Words of our own that do not fit have neither a code nor the system as their cause.
        let ours = !by_system && !error.is_closed() && error.source().is_some();
        return if ours { Fault::Refused(why) } else { Fault::Lost(why) };
    };
    match code {
        code if code.code().starts_with("08") => Fault::Lost(why),
        &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN
        | &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::IDLE_SESSION_TIMEOUT
        | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | &SqlState::TOO_MANY_CONNECTIONS => Fault::Lost(why),
        // The last: somebody made the same row or table at the same moment.
        &SqlState::T_R_SERIALIZATION_FAILURE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::LOCK_NOT_AVAILABLE
        | &SqlState::UNIQUE_VIOLATION => Fault::Busy(why),
        _ => Fault::Refused(why),
    }
}

/// The innermost words: the outer ones say only that something went wrong.
fn reason(error: &postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
