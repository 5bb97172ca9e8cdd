//! Optuna's tables in a relational database: SQLite for one machine, PostgreSQL for several.
//!
//! Calls read or write in one transaction; `open_study`, `fail_stale_trials` and `requeue_stale_trials` first
//! check in a read-only transaction whether there is anything to write. A call
//! that writes locks the rows that it checks, so that nothing changes between check and write; a call that
//! reads uses one snapshot.
//!
//! If the connection is lost, it is reopened after increasing pauses and the call is repeated. After a lost
//! connection it is unknown whether a write was committed, so writes are idempotent: a trial is created with a
//! request id by which a repeated call finds it, finishing a trial again with the same result does nothing,
//! and a stale trial is failed and requeued in one transaction.
//!
//! Times have no time zone: this crate and Optuna 5 store UTC, Optuna 4 stores local time, and the
//! database does not distinguish them. Heartbeats use the clock of the database.

mod connection;
#[cfg(feature = "postgres")]
mod postgres;
mod read;
mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod storage;
#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tests;
mod write;

use super::database_url::DatabaseUrl;
use super::worker::WorkerProcess;
use crate::Trial;
use crate::error::{Error, Result};
use connection::{Connection, SqlError, SqlResult};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first pause before a call is repeated; each further pause is twice as long.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The heartbeat interval and the timeout of a database storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// The time between two heartbeats of a running trial; 60 seconds by default. A trial is stale if its
    /// last heartbeat is older than twice this time. (Optuna's heartbeats are off by default.)
    pub heartbeat_interval: Duration,
    /// The time to wait for a lock, or to retry after a lost connection, before a call fails; 60 seconds by
    /// default.
    pub timeout: Duration,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self { heartbeat_interval: Duration::from_secs(60), timeout: Duration::from_secs(60) }
    }
}

/// A storage in a database: Optuna's `RDBStorage`. Requires the feature `sqlite` or `postgres`. Names have at
/// most 512 characters.
pub struct RdbStorage {
    url: DatabaseUrl,
    options: DatabaseOptions,
    /// The current process; `None` if it cannot be identified.
    process: Option<WorkerProcess>,
    session: Mutex<Session>,
    /// The finished trials that have been read, by study id and trial id. They do not change, so their details
    /// are read once.
    finished: Mutex<BTreeMap<u64, BTreeMap<u64, Trial>>>,
}

/// The connection to the database, and when it was last reopened.
#[derive(Default)]
struct Session {
    /// `None` after the connection was lost, and during a transaction.
    connection: Option<Box<dyn Connection>>,
    /// When the connection was last reopened; `None` if it never was.
    reopened: Option<Instant>,
}

/// Whether a transaction writes.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// Whether the call may have been committed before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Retry,
}

impl RdbStorage {
    /// Opens a database. Missing tables are created.
    ///
    /// # Errors
    /// If the database cannot be reached or opened, if its tables have an unsupported version, or if the
    /// crate was built without support for it.
    pub fn open(url: DatabaseUrl) -> Result<Self> {
        Self::open_with(url, DatabaseOptions::default())
    }

    /// Like [`Self::open`], with custom options.
    pub fn open_with(url: DatabaseUrl, options: DatabaseOptions) -> Result<Self> {
        let storage = Self::connected(url, options)?;
        if !storage.has_tables()? {
            storage.transaction(Access::Write, |db, _| schema::create(db))?;
        }
        Ok(storage)
    }

    /// Like [`Self::open`], but creates neither tables nor the file of an SQLite database: if one is missing,
    /// an error is returned.
    pub fn open_existing(url: DatabaseUrl) -> Result<Self> {
        if let Some(file) = url.file() {
            std::fs::metadata(file).map_err(Error::io(file))?;
        }
        let storage = Self::connected(url, DatabaseOptions::default())?;
        match storage.has_tables()? {
            true => Ok(storage),
            false => Err(storage.error(SqlError::Rejected(
                "contains no studies; expected a database of `clenshaw tune` or Optuna".into(),
            ))),
        }
    }

    fn has_tables(&self) -> Result<bool> {
        self.transaction(Access::Read, |db, _| schema::exists(db))
    }

    /// A storage with an open connection, whose tables may be missing.
    fn connected(url: DatabaseUrl, options: DatabaseOptions) -> Result<Self> {
        let process = WorkerProcess::current();
        let (session, finished) = (Mutex::default(), Mutex::default());
        let storage = Self { url, options, process, session, finished };
        let connection = storage.connect().map_err(|error| storage.error(error))?;
        storage.lock_session().connection = Some(connection);
        Ok(storage)
    }

    /// Runs a transaction, and repeats it until the timeout while the connection is lost or rows are locked.
    fn transaction<T>(
        &self,
        access: Access,
        body: impl Fn(&mut dyn Connection, Attempt) -> SqlResult<T>,
    ) -> Result<T> {
        let mut session = self.lock_session();
        let (began, mut pause, mut attempt) = (Instant::now(), MIN_PAUSE, Attempt::First);
        loop {
            let error = match session.run(self, access, &|db| body(db, attempt)) {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let is_temporary = matches!(error, SqlError::Disconnected(_) | SqlError::Busy(_));
            if !is_temporary || began.elapsed() + pause > self.options.timeout {
                return Err(self.error(error));
            }
            attempt = Attempt::Retry;
            std::thread::sleep(pause);
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }

    fn lock_session(&self) -> MutexGuard<'_, Session> {
        // After a panic within a transaction, the session has no connection and opens a new one.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: SqlError) -> Error {
        let location = self.url.to_string();
        match error {
            SqlError::Invalid(error) => error,
            SqlError::Rejected(problem) => Error::Data { location, problem },
            SqlError::Disconnected(problem) | SqlError::Busy(problem) => {
                Error::Unavailable { location, problem }
            }
        }
    }

    /// An error about the contents of the database, or a request that does not match them.
    fn invalid(&self, problem: String) -> SqlError {
        SqlError::Invalid(Error::Data { location: self.url.to_string(), problem })
    }

    fn connect(&self) -> SqlResult<Box<dyn Connection>> {
        match self.url.file() {
            #[cfg(feature = "sqlite")]
            Some(path) => sqlite::connect(path, self.options.timeout),
            #[cfg(feature = "postgres")]
            None => {
                let settings = postgres::ConnectionSettings::new(self.url.with_password());
                let settings = settings.map_err(|problem| self.invalid(problem))?;
                postgres::connect(&settings, self.options.timeout)
            }
            #[cfg(not(all(feature = "postgres", feature = "sqlite")))]
            _ => Err(self.url.unsupported().into()),
        }
    }
}

impl Session {
    /// Runs one transaction; if there is no connection, one is opened first. The connection is closed if it
    /// is lost or if `body` panics, which ends the transaction.
    fn run<T>(
        &mut self,
        storage: &RdbStorage,
        access: Access,
        body: &dyn Fn(&mut dyn Connection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connection = storage.connect()?;
                self.reopened = Some(Instant::now());
                connection
            }
        };
        let result = transact(connection.as_mut(), access, body);
        if !matches!(result, Err(SqlError::Disconnected(_))) {
            self.connection = Some(connection);
        }
        result
    }
}

/// Runs a function within a transaction, which is rolled back on error.
fn transact<T>(
    db: &mut dyn Connection,
    access: Access,
    body: &dyn Fn(&mut dyn Connection) -> SqlResult<T>,
) -> SqlResult<T> {
    let begin = match access {
        Access::Read => db.dialect().begin_read,
        Access::Write => db.dialect().begin_write,
    };
    db.execute_batch(begin)?;
    let result = body(db).and_then(|result| db.execute_batch("COMMIT").map(|()| result));
    if result.is_err() {
        // The first error is returned, unless the connection turns out to be lost.
        if let Err(lost @ SqlError::Disconnected(_)) = db.execute_batch("ROLLBACK") {
            return Err(lost);
        }
    }
    result
}
