//! A connection to a database, and what databases call differently.
//!
//! All our SQL is written once, for both: values stand as `$1`, `$2`, first met in this order, for
//! SQLite numbers such names as it meets them. What differs is in [`Dialect`].

use crate::error::Error;

/// What stands in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

/// Why a statement was not carried out.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone; whether a change was kept is not known. Files are never lost.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "only servers are lost"))]
    Lost(String),
    /// Others are in the way; nothing was changed.
    Busy(String),
    /// The database will not, now or later.
    Refused(String),
    /// What was asked for is wrong.
    Wrong(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

/// What a statement gave.
pub(super) type Told<T> = Result<T, Fault>;

/// The words in which databases differ.
pub(super) struct Dialect {
    /// Begins a transaction that sees one moment.
    pub begin_read: &'static str,
    /// Begins a transaction that changes something.
    pub begin_write: &'static str,
    /// Ends a `SELECT` whose rows nobody else may change until the transaction ends.
    pub lock: &'static str,
    /// Ends a `SELECT` of such rows, but for those that somebody else has.
    pub lock_free: &'static str,
    /// Keeps others from making the same tables.
    pub lock_schema: &'static str,
    /// Whether there is a table, `$1`.
    pub has_table: &'static str,
    /// Whether there is a type, `$1`.
    pub has_type: &'static str,
    /// Now in UTC, as the dates of trials are kept.
    pub now: &'static str,
    /// Now, as heartbeats are kept.
    pub beat: &'static str,
    /// The seconds since a row's `heartbeat`, by the database's clock.
    pub age: &'static str,
    /// The types of columns by the names that the schema has for them.
    pub types: &'static [(&'static str, &'static str)],
    /// Types that are lists of words, where there are such: name and words.
    pub lists: &'static [(&'static str, &'static str)],
}

/// A connection that is in a transaction or can begin one.
pub(super) trait Connection: Send {
    /// How this database puts things.
    fn dialect(&self) -> &'static Dialect;

    /// Carries out statements without values.
    fn batch(&mut self, sql: &str) -> Told<()>;

    /// Carries out a statement; the rows it gives.
    fn rows(&mut self, sql: &str, values: &[Cell]) -> Told<Vec<Row>>;

    /// Carries out a statement; the first row it gives.
    fn first(&mut self, sql: &str, values: &[Cell]) -> Told<Option<Row>> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }
}

/// A row of an answer.
#[derive(Debug)]
pub(super) struct Row(pub Vec<Cell>);

impl Row {
    /// A number that counts or names something.
    pub fn whole(&self, column: usize) -> Told<u64> {
        match self.0[column] {
            Cell::Int(whole) => u64::try_from(whole).map_err(|_| self.odd(column, "a count")),
            _ => Err(self.odd(column, "a whole number")),
        }
    }

    /// A text.
    pub fn text(&self, column: usize) -> Told<&str> {
        self.maybe_text(column)?.ok_or_else(|| self.odd(column, "a text"))
    }

    /// A text or nothing.
    pub fn maybe_text(&self, column: usize) -> Told<Option<&str>> {
        match &self.0[column] {
            Cell::Text(text) => Ok(Some(text)),
            Cell::Null => Ok(None),
            _ => Err(self.odd(column, "a text")),
        }
    }

    /// A number or nothing.
    pub fn maybe_real(&self, column: usize) -> Told<Option<f64>> {
        match self.0[column] {
            Cell::Real(real) => Ok(Some(real)),
            Cell::Int(whole) => Ok(Some(whole as f64)),
            Cell::Null => Ok(None),
            Cell::Text(_) => Err(self.odd(column, "a number")),
        }
    }

    fn odd(&self, column: usize, expected: &str) -> Fault {
        Fault::Refused(format!("{:?} stands where {expected} should", self.0[column]))
    }
}

impl From<u64> for Cell {
    fn from(whole: u64) -> Self {
        // Above what any column holds, so that nothing is found under it.
        Self::Int(i64::try_from(whole).unwrap_or(i64::MAX))
    }
}

impl From<Option<f64>> for Cell {
    fn from(real: Option<f64>) -> Self {
        real.map_or(Self::Null, Self::Real)
    }
}

impl From<f64> for Cell {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
