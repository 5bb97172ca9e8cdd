//! PostgreSQL: a server for workers on several machines.
//!
//! Encryption is described in [`tls`], passwords in [`password_file`].

mod password_file;
mod settings;
mod tls;

use super::connection::{Connection, Dialect, SqlError, SqlResult, SqlRow, SqlValue};
use bytes::BytesMut;
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, NoTls};
pub(super) use settings::ConnectionSettings;
use std::error::Error as _;
use std::time::Duration;
use tls::TlsMode;
use tokio_postgres_rustls::MakeRustlsConnect;

static DIALECT: Dialect = Dialect {
    begin_read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    begin_write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    lock_rows: " FOR UPDATE",
    lock_rows_skip_locked: " FOR UPDATE SKIP LOCKED",
    // An arbitrary number: the ASCII codes of `clenshaw`.
    lock_schema: "SELECT pg_advisory_xact_lock(7164212632296644983)",
    has_table: "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass($1)",
    has_type: "SELECT 1 FROM pg_catalog.pg_type WHERE oid = to_regtype($1)",
    now: "(clock_timestamp() AT TIME ZONE 'UTC')",
    // In the time zone of the session, which is the server's, as in Optuna.
    heartbeat_now: "LOCALTIMESTAMP",
    heartbeat_age: "CAST(EXTRACT(EPOCH FROM LOCALTIMESTAMP - heartbeat) AS FLOAT)",
    types: &[
        ("SERIAL", "SERIAL"),
        ("TIME", "TIMESTAMP WITHOUT TIME ZONE"),
        ("REAL", "FLOAT(53)"),
        ("DIRECTION", "studydirection"),
        ("STATE", "trialstate"),
        ("VALUE_TYPE", "trialvaluetype"),
        ("INTERMEDIATE_VALUE_TYPE", "trialintermediatevaluetype"),
    ],
    enums: &[
        ("studydirection", "'NOT_SET', 'MINIMIZE', 'MAXIMIZE'"),
        ("trialstate", "'RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING'"),
        ("trialvaluetype", "'FINITE', 'INF_POS', 'INF_NEG'"),
        ("trialintermediatevaluetype", "'FINITE', 'INF_POS', 'INF_NEG', 'NAN'"),
    ],
};

/// A connection to a server.
pub(super) struct PostgresConnection(Client);

/// Connects to a server. Statements fail if they wait longer than the timeout for a lock.
pub(super) fn connect(
    settings: &ConnectionSettings,
    timeout: Duration,
) -> SqlResult<Box<dyn Connection>> {
    let client = open_client(settings)?.map_err(|error| explain_error(&error, settings))?;
    let mut connection = PostgresConnection(client);
    let timeout = timeout.as_millis().max(1);
    connection.execute_batch(&format!("SET datestyle = 'ISO'; SET lock_timeout = {timeout}"))?;
    Ok(Box::new(connection))
}

/// Opens a connection. As in libpq, `sslmode=prefer` tries again without encryption if TLS fails or if the
/// server does not accept encrypted connections.
fn open_client(settings: &ConnectionSettings) -> SqlResult<Result<Client, postgres::Error>> {
    let mut config = settings.config.clone();
    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(config.connect(NoTls));
    }
    let tls = tls::client_config(settings.mode, &settings.roots).map_err(SqlError::Rejected)?;
    let encrypted = config.connect(MakeRustlsConnect::new(tls));
    let is_refused = |error: &postgres::Error| {
        tls_error(error).is_some()
            || error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
    };
    if settings.mode == TlsMode::Prefer && encrypted.as_ref().is_err_and(is_refused) {
        let plain = config.ssl_mode(SslMode::Disable).connect(NoTls);
        return Ok(if plain.is_ok() { plain } else { encrypted });
    }
    Ok(encrypted)
}

/// The TLS error that caused this error, if any.
fn tls_error(error: &postgres::Error) -> Option<&rustls::Error> {
    let io_error = error.source()?.downcast_ref::<std::io::Error>()?;
    io_error.get_ref()?.downcast_ref()
}

/// Converts the error of a failed connection and adds what to check or to change.
fn explain_error(error: &postgres::Error, settings: &ConnectionSettings) -> SqlError {
    if let Some(error) = tls_error(error) {
        return SqlError::Rejected(tls::describe_error(error, &settings.roots));
    }
    match convert_error(error) {
        SqlError::Disconnected(reason) => SqlError::Disconnected(format!(
            "cannot be reached: {reason}; is the server running on {}?",
            settings.describe_server()
        )),
        SqlError::Rejected(reason) if reason.contains("server does not support TLS") => {
            SqlError::Rejected(format!(
                "{reason}; `sslmode=prefer` or `disable` connects without encryption"
            ))
        }
        SqlError::Rejected(reason) if reason.contains("no encryption") => {
            SqlError::Rejected(format!("{reason}; `sslmode=require` encrypts the connection"))
        }
        SqlError::Rejected(reason) if reason.contains("password") => {
            SqlError::Rejected(explain_password(&reason, settings))
        }
        other => other,
    }
}

/// If no password was given, adds why the password file was not used or, if there was no problem with it, where
/// to set a password.
fn explain_password(reason: &str, settings: &ConnectionSettings) -> String {
    if settings.config.get_password().is_some() {
        return reason.to_owned();
    }
    match &settings.password_problem {
        Some(problem) => format!("{reason}; {problem}"),
        None => format!("{reason}; set it in ~/.pgpass or PGPASSWORD"),
    }
}

impl Connection for PostgresConnection {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn execute_batch(&mut self, sql: &str) -> SqlResult<()> {
        self.0.batch_execute(sql).map_err(|error| convert_error(&error))
    }

    fn query(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<Vec<SqlRow>> {
        let params: Vec<&(dyn ToSql + Sync)> =
            params.iter().map(|param| param as &(dyn ToSql + Sync)).collect();
        let rows = self.0.query(sql, &params).map_err(|error| convert_error(&error))?;
        let read = |row: &postgres::Row| {
            let values = (0..row.len()).map(|column| row.try_get::<_, SqlValue>(column));
            values.collect::<Result<_, _>>().map(SqlRow)
        };
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| convert_error(&error))
    }
}

/// Parameters are sent as text, which the server converts to the type of the column.
impl ToSql for SqlValue {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let text = match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
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

impl<'a> FromSql<'a> for SqlValue {
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

/// Classifies an error by the code that the server returned. An error without a code means that the
/// connection is lost, unless it concerns the request itself.
fn convert_error(error: &postgres::Error) -> SqlError {
    let message = innermost_message(error);
    let Some(code) = error.code() else {
        let is_io = |cause: &(dyn std::error::Error + 'static)| cause.is::<std::io::Error>();
        let is_io = error.source().is_some_and(is_io);
        // Errors in the request itself have neither a code nor an I/O error as their cause.
        let is_request = !is_io && !error.is_closed() && error.source().is_some();
        return if is_request {
            SqlError::Rejected(message)
        } else {
            SqlError::Disconnected(message)
        };
    };
    match code {
        code if code.code().starts_with("08") => SqlError::Disconnected(message),
        &SqlState::ADMIN_SHUTDOWN
        | &SqlState::CRASH_SHUTDOWN
        | &SqlState::CANNOT_CONNECT_NOW
        | &SqlState::IDLE_SESSION_TIMEOUT
        | &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        | &SqlState::TOO_MANY_CONNECTIONS => SqlError::Disconnected(message),
        // A unique violation means that another transaction has created the same row or table.
        &SqlState::T_R_SERIALIZATION_FAILURE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::LOCK_NOT_AVAILABLE
        | &SqlState::UNIQUE_VIOLATION => SqlError::Busy(message),
        _ => SqlError::Rejected(message),
    }
}

/// The message of the innermost error, which has the details.
fn innermost_message(error: &postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
