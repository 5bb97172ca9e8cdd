//! SQLite: a database in one file.
//!
//! A transaction that writes locks the whole file when it begins, so that the rows it reads cannot change.
//! Other transactions that write wait until it ends, or fail after their timeout.

use super::connection::{Connection, Dialect, SqlError, SqlResult, SqlRow, SqlValue};
use rusqlite::ffi;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, ToSql, params_from_iter};
use std::path::Path;
use std::time::Duration;

static DIALECT: Dialect = Dialect {
    begin_read: "BEGIN",
    begin_write: "BEGIN IMMEDIATE",
    lock_rows: "",
    lock_rows_skip_locked: "",
    lock_schema: "",
    has_table: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1",
    has_type: "",
    // Optuna reads the digits after the point as microseconds.
    now: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    // Optuna uses `CURRENT_TIMESTAMP`, which has the same format without fractional seconds.
    heartbeat_now: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    heartbeat_age: "(julianday('now') - julianday(heartbeat)) * 86400.0",
    types: &[
        ("SERIAL", "INTEGER"),
        ("TIME", "DATETIME"),
        ("REAL", "FLOAT"),
        ("DIRECTION", "VARCHAR(8)"),
        ("STATE", "VARCHAR(8)"),
        ("VALUE_TYPE", "VARCHAR(7)"),
        ("INTERMEDIATE_VALUE_TYPE", "VARCHAR(7)"),
    ],
    enums: &[],
};

/// A connection to a file.
pub(super) struct SqliteConnection(rusqlite::Connection);

/// Opens a file, which is created if it does not exist.
pub(super) fn connect(path: &Path, timeout: Duration) -> SqlResult<Box<dyn Connection>> {
    let connection = rusqlite::Connection::open(path).map_err(convert_error)?;
    connection.busy_timeout(timeout).map_err(convert_error)?;
    Ok(Box::new(SqliteConnection(connection)))
}

impl Connection for SqliteConnection {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn execute_batch(&mut self, sql: &str) -> SqlResult<()> {
        self.0.execute_batch(sql).map_err(convert_error)
    }

    fn query(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<Vec<SqlRow>> {
        let mut statement = self.0.prepare_cached(sql).map_err(convert_error)?;
        let width = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            let values = (0..width).map(|column| row.get_ref(column).map(convert_value));
            values.collect::<rusqlite::Result<_>>().map(SqlRow)
        };
        let rows = statement.query_map(params_from_iter(params), read).map_err(convert_error)?;
        rows.collect::<rusqlite::Result<_>>().map_err(convert_error)
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Real(value) => ToSqlOutput::Owned(Value::Real(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn convert_value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Int(value),
        ValueRef::Real(value) => SqlValue::Real(value),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            SqlValue::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn convert_error(error: rusqlite::Error) -> SqlError {
    let code = error.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => SqlError::Busy(
            "is locked by other workers; use fewer workers, or a PostgreSQL server".into(),
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            SqlError::Rejected("is read-only; the file and its folder must be writable".into())
        }
        ErrorCode::CannotOpen => SqlError::Rejected(
            "cannot be opened; the file and its folder must exist and be writable".into(),
        ),
        ErrorCode::NotADatabase => {
            SqlError::Rejected("is not an SQLite database; use another file".into())
        }
        _ => SqlError::Rejected(error.to_string()),
    }
}
