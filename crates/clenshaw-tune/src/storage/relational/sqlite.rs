//! SQLite: a database in one file.
//!
//! A transaction that changes something locks the whole file from its beginning, so the rows it reads
//! cannot change under it. Others wait for it, for as long as the caller's patience lasts.

use super::connection::{Cell, Connection, Dialect, Fault, Row, Told};
use rusqlite::ffi;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ErrorCode, ToSql, params_from_iter};
use std::path::Path;
use std::time::Duration;

static DIALECT: Dialect = Dialect {
    begin_read: "BEGIN",
    begin_write: "BEGIN IMMEDIATE",
    lock: "",
    lock_free: "",
    lock_schema: "",
    has_table: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1",
    has_type: "",
    // Optuna reads what stands behind the point as microseconds.
    now: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    // Optuna's `CURRENT_TIMESTAMP` with parts of seconds.
    beat: "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    age: "(julianday('now') - julianday(heartbeat)) * 86400.0",
    types: &[
        ("SERIAL", "INTEGER"),
        ("TIME", "DATETIME"),
        ("REAL", "FLOAT"),
        ("DIRECTION", "VARCHAR(8)"),
        ("STATE", "VARCHAR(8)"),
        ("VALUE_TYPE", "VARCHAR(7)"),
        ("REPORT_TYPE", "VARCHAR(7)"),
    ],
    lists: &[],
};

/// A file.
pub(super) struct Sqlite(rusqlite::Connection);

/// Opens a file, which is made if it is not there; others are waited for this long.
pub(super) fn connect(path: &Path, patience: Duration) -> Told<Box<dyn Connection>> {
    let connection = rusqlite::Connection::open(path).map_err(fault)?;
    connection.busy_timeout(patience).map_err(fault)?;
    Ok(Box::new(Sqlite(connection)))
}

impl Connection for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn batch(&mut self, sql: &str) -> Told<()> {
        self.0.execute_batch(sql).map_err(fault)
    }

    fn rows(&mut self, sql: &str, values: &[Cell]) -> Told<Vec<Row>> {
        let mut statement = self.0.prepare_cached(sql).map_err(fault)?;
        let width = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            let cells = (0..width).map(|column| row.get_ref(column).map(cell));
            cells.collect::<rusqlite::Result<_>>().map(Row)
        };
        let rows = statement.query_map(params_from_iter(values), read).map_err(fault)?;
        rows.collect::<rusqlite::Result<_>>().map_err(fault)
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(whole) => ToSqlOutput::Owned(Value::Integer(*whole)),
            Self::Real(real) => ToSqlOutput::Owned(Value::Real(*real)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(whole) => Cell::Int(whole),
        ValueRef::Real(real) => Cell::Real(real),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Cell::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// What a person can do about it stands after the semicolon.
fn fault(error: rusqlite::Error) -> Fault {
    let code = error.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Fault::Busy(
            "other workers held its lock whenever we tried; use fewer workers, or a PostgreSQL \
             server"
                .into(),
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            Fault::Refused("is read-only; the file and its folder must be writable".into())
        }
        ErrorCode::CannotOpen => Fault::Refused(
            "cannot be opened; the file and its folder must exist and be writable".into(),
        ),
        ErrorCode::NotADatabase => {
            Fault::Refused("is not an SQLite database; name another file".into())
        }
        _ => Fault::Refused(error.to_string()),
    }
}
