//! Optuna's tables in a relational database: SQLite for one machine, PostgreSQL for many.
//!
//! Every call is one transaction. A call that changes something locks the rows it decides by, so what
//! was decided still holds when it is written; a call that reads sees one moment.
//!
//! A connection that is lost is opened again, with growing pauses, and the call is repeated. Where the
//! answer to a change was lost it may have been made already, so every change can be repeated: a trial
//! is made under a ticket by which it is found again, and a trial that has ended as it was to end is
//! left alone.
//!
//! Dates have no time zone: ours and those of Optuna 5 are UTC, those of Optuna 4 local, and nothing
//! tells them apart. Heartbeats are by the database's own clock.

mod connection;
mod schema;
mod read;
mod write;
mod storage;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(all(test, feature = "sqlite"))]
mod tests;

use super::address::{Address, Kind};
use super::worker::Worker;
use crate::Trial;
use crate::error::{Error, Result};
use connection::{Connection, Fault, Told};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Pauses before a lost connection is opened again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long to wait for a database and for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Signs of life of a running trial are this far apart; Optuna's are 60 s. A trial without one for
    /// twice as long is held for dead.
    pub beat: Duration,
    /// After this time without an answer, or without a lock, a call fails.
    pub give_up: Duration,
}

impl Default for Habits {
    fn default() -> Self {
        Self { beat: Duration::from_secs(60), give_up: Duration::from_secs(60) }
    }
}

/// A database with Optuna's tables.
pub struct Relational {
    address: Address,
    habits: Habits,
    me: Option<Worker>,
    session: Mutex<Session>,
    /// The finished trials of each study, by id: they do not change, so they are read once.
    known: Mutex<BTreeMap<u64, BTreeMap<u64, Trial>>>,
}

/// Our connection, if we have one.
#[derive(Default)]
struct Session {
    connection: Option<Box<dyn Connection>>,
    /// When a lost connection was opened again.
    returned: Option<Instant>,
}

/// Whether a transaction changes anything.
#[derive(Clone, Copy)]
enum Purpose {
    Look,
    Change,
}

/// Whether a call may have been carried out already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Again,
}

impl Relational {
    /// Opens a database; its tables are made if there are none.
    pub fn open(address: Address) -> Result<Self> {
        Self::open_with(address, Habits::default())
    }

    /// Opens a database, with other habits than Optuna's.
    pub fn open_with(address: Address, habits: Habits) -> Result<Self> {
        let (me, session, known) = (Worker::me(), Mutex::default(), Mutex::default());
        let database = Self { address, habits, me, session, known };
        let mut session = Session::default();
        session.connect(&database).map_err(|fault| database.error(fault))?;
        *database.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
        if !database.act(Purpose::Look, |to, _| schema::is_ready(to))? {
            database.act(Purpose::Change, |to, _| schema::make(to))?;
        }
        Ok(database)
    }

    /// Where it is, without the password.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Carries out a transaction; once more, if the connection is lost or others are in the way.
    fn act<T>(
        &self,
        purpose: Purpose,
        body: impl Fn(&mut dyn Connection, Attempt) -> Told<T>,
    ) -> Result<T> {
        // Whoever panicked left at worst a transaction open, which the next one's begin reports.
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, mut pause, mut attempt) = (Instant::now(), SHORTEST_PAUSE, Attempt::First);
        loop {
            let fault = match session.attempt(self, purpose, &|to| body(to, attempt)) {
                Ok(told) => return Ok(told),
                Err(fault) => fault,
            };
            let passes = matches!(fault, Fault::Lost(_) | Fault::Busy(_));
            if !passes || began.elapsed() + pause > self.habits.give_up {
                return Err(self.error(fault));
            }
            attempt = Attempt::Again;
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    fn error(&self, fault: Fault) -> Error {
        let place = self.address.to_string();
        match fault {
            Fault::Wrong(error) => error,
            Fault::Refused(problem) => Error::Data { place, problem },
            Fault::Lost(problem) | Fault::Busy(problem) => Error::Unavailable { place, problem },
        }
    }

    /// An error about what is in the database.
    fn wrong(&self, problem: String) -> Fault {
        Fault::Wrong(Error::Data { place: self.address.to_string(), problem })
    }

    fn connect(&self) -> Told<Box<dyn Connection>> {
        match self.address.kind() {
            #[cfg(feature = "sqlite")]
            Kind::Sqlite(path) => sqlite::connect(path, self.habits.give_up),
            #[cfg(feature = "postgres")]
            Kind::Postgresql => {
                let config = postgres::config(self.address.secret());
                let config = config.map_err(|problem| self.wrong(problem))?;
                postgres::connect(&config, self.habits.give_up)
            }
            #[cfg(not(all(feature = "postgres", feature = "sqlite")))]
            _ => Err(self.address.unsupported().into()),
        }
    }
}

impl Session {
    fn connect(&mut self, database: &Relational) -> Told<()> {
        self.connection = Some(database.connect()?);
        Ok(())
    }

    /// One transaction, on a connection that is opened if there is none.
    fn attempt<T>(
        &mut self,
        database: &Relational,
        purpose: Purpose,
        body: &dyn Fn(&mut dyn Connection) -> Told<T>,
    ) -> Told<T> {
        if self.connection.is_none() {
            self.connect(database)?;
            self.returned = Some(Instant::now());
        }
        let connection = self.connection.as_mut().expect("it was opened");
        let told = transact(connection.as_mut(), purpose, body);
        if matches!(told, Err(Fault::Lost(_))) {
            self.connection = None;
        }
        told
    }
}

/// Begins, does and keeps; what fails leaves nothing behind.
fn transact<T>(
    to: &mut dyn Connection,
    purpose: Purpose,
    body: &dyn Fn(&mut dyn Connection) -> Told<T>,
) -> Told<T> {
    let begin = match purpose {
        Purpose::Look => to.dialect().begin_read,
        Purpose::Change => to.dialect().begin_write,
    };
    to.batch(begin)?;
    let told = body(to).and_then(|told| to.batch("COMMIT").map(|()| told));
    if told.is_err() {
        // Of two errors the first is the one to tell, but one about the connection is about more.
        if let Err(lost @ Fault::Lost(_)) = to.batch("ROLLBACK") {
            return Err(lost);
        }
    }
    told
}
