//! Connections to databases, and the differences between their SQL dialects.
//!
//! All statements are written once, for SQLite and PostgreSQL. Parameters are `$1`, `$2`, ... and must first occur
//! in this order, because SQLite numbers them by occurrence. The differences are in [`Dialect`].

use crate::error::Error;

/// The value of a column or parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SqlValue {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

/// An error of a statement.
#[derive(Debug)]
pub(super) enum SqlError {
    /// The connection is lost or cannot be opened; it is unknown whether a write was committed.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "only servers disconnect"))]
    Disconnected(String),
    /// The transaction conflicts with another one; nothing was changed, and it may be repeated.
    Busy(String),
    /// The database rejects the statement or has invalid contents; repeating the call would not help.
    Rejected(String),
    /// An error that is returned to the caller unchanged.
    Invalid(Error),
}

impl From<Error> for SqlError {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

/// The result of a statement.
pub(super) type SqlResult<T> = Result<T, SqlError>;

/// The SQL in which databases differ.
pub(super) struct Dialect {
    /// Begins a transaction that reads one snapshot.
    pub begin_read: &'static str,
    /// Begins a transaction that writes.
    pub begin_write: &'static str,
    /// The end of a `SELECT` that locks its rows until the transaction ends; empty if `begin_write` locks the
    /// database.
    pub lock_rows: &'static str,
    /// Like `lock_rows`, but skips rows that are locked by other transactions.
    pub lock_rows_skip_locked: &'static str,
    /// Prevents other transactions from creating the tables; empty if `begin_write` prevents it.
    pub lock_schema: &'static str,
    /// Returns a row if table `$1` exists.
    pub has_table: &'static str,
    /// Returns a row if type `$1` exists; empty if there are no `enums`.
    pub has_type: &'static str,
    /// The current time in UTC, in the format of trial times.
    pub now: &'static str,
    /// The current time in the format of heartbeats.
    pub heartbeat_now: &'static str,
    /// The seconds since the column `heartbeat`, by the clock of the database.
    pub heartbeat_age: &'static str,
    /// Pairs of a placeholder in the schema and its column type.
    pub types: &'static [(&'static str, &'static str)],
    /// The enum types to create: pairs of a name and the quoted values.
    pub enums: &'static [(&'static str, &'static str)],
}

/// A connection to a database.
pub(super) trait Connection: Send {
    /// The SQL dialect.
    fn dialect(&self) -> &'static Dialect;

    /// Executes statements without parameters.
    fn execute_batch(&mut self, sql: &str) -> SqlResult<()>;

    /// Executes a statement and returns its rows.
    fn query(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<Vec<SqlRow>>;

    /// Executes a statement and returns its first row.
    fn query_first(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<Option<SqlRow>> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// Executes a statement and ignores its rows.
    fn execute(&mut self, sql: &str, params: &[SqlValue]) -> SqlResult<()> {
        self.query(sql, params).map(drop)
    }
}

/// A row of a query.
#[derive(Debug)]
pub(super) struct SqlRow(pub Vec<SqlValue>);

impl SqlRow {
    /// Reads a column with an id or count. This and the following methods fail if the value has another type.
    pub fn u64(&self, column: usize) -> SqlResult<u64> {
        match self.0[column] {
            SqlValue::Int(value) => {
                u64::try_from(value).map_err(|_| self.mismatch(column, "a non-negative integer"))
            }
            _ => Err(self.mismatch(column, "an integer")),
        }
    }

    /// Reads a text column.
    pub fn text(&self, column: usize) -> SqlResult<&str> {
        self.optional_text(column)?.ok_or_else(|| self.mismatch(column, "text"))
    }

    /// Reads a text column that may be NULL.
    pub fn optional_text(&self, column: usize) -> SqlResult<Option<&str>> {
        match &self.0[column] {
            SqlValue::Text(text) => Ok(Some(text)),
            SqlValue::Null => Ok(None),
            _ => Err(self.mismatch(column, "text")),
        }
    }

    /// Reads a numeric column that may be NULL.
    pub fn optional_f64(&self, column: usize) -> SqlResult<Option<f64>> {
        match self.0[column] {
            SqlValue::Real(value) => Ok(Some(value)),
            SqlValue::Int(value) => Ok(Some(value as f64)),
            SqlValue::Null => Ok(None),
            SqlValue::Text(_) => Err(self.mismatch(column, "a number")),
        }
    }

    fn mismatch(&self, column: usize, expected: &str) -> SqlError {
        SqlError::Rejected(format!("a column contains {:?}; expected {expected}", self.0[column]))
    }
}

impl From<u64> for SqlValue {
    fn from(value: u64) -> Self {
        // No column contains a larger value, so no row matches.
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
