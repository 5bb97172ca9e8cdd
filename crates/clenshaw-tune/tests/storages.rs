//! The same promises kept by every storage, and what each has beyond them.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "storages/contract.rs"]
mod contract;
#[cfg(feature = "postgres")]
#[path = "databases/server.rs"]
mod server;

use clenshaw_tune::{Journal, Storage};
use contract::CONTRACT;

#[test]
fn journals_keep_their_promises() {
    for promise in CONTRACT {
        let folder = tempfile::tempdir().unwrap();
        promise(&|| Box::new(Journal::open(folder.path().join("study.log")).unwrap()));
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "only the journal is left"
        );
    }
}

/// SQLite's file, and what both databases do alike.
#[cfg(feature = "sqlite")]
mod sqlite {
    use super::*;
    use clenshaw_tune::Error;
    use clenshaw_tune::{Address, Direction, Ending, Habits, Relational, State};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// A file in a folder of its own.
    struct Desk(tempfile::TempDir);

    impl Desk {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("study.db")
        }

        fn open(&self) -> Relational {
            open(&self.path(), Habits::default()).unwrap()
        }

        /// Carries out statements, past all that is tested.
        fn execute(&self, sql: &str) {
            rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
        }
    }

    fn open(path: &Path, habits: Habits) -> clenshaw_tune::Result<Relational> {
        let address = Address::parse(&format!("sqlite:///{}", path.display())).unwrap();
        Relational::open_with(address, habits)
    }

    #[test]
    fn databases_keep_their_promises() {
        for promise in CONTRACT {
            let desk = Desk::new();
            promise(&|| Box::new(desk.open()));
            assert_eq!(std::fs::read_dir(desk.0.path()).unwrap().count(), 1, "one file is left");
        }
    }

    #[test]
    fn a_repeated_end_is_no_error() {
        let desk = Desk::new();
        let storage = desk.open();
        let study = storage.study("s", Direction::Minimise).unwrap();
        for ending in [Ending::Complete(0.1), Ending::Pruned(None), Ending::Fail] {
            let trial = storage.create_trial(study).unwrap().id;
            let state = storage.finish(trial, ending).unwrap();
            assert_eq!(storage.finish(trial, ending).unwrap(), state);
        }
        let trials = storage.trials(study).unwrap();
        assert_eq!(trials[0].value, Some(0.1));
        assert!(storage.finish(trials[0].id, Ending::Complete(0.2)).is_err());
    }

    #[test]
    fn a_trial_whose_heart_stopped_is_failed() {
        let desk = Desk::new();
        let storage = desk.open();
        let study = storage.study("s", Direction::Minimise).unwrap();
        let [silent, alive, dead, done] = [(); 4].map(|()| storage.create_trial(study).unwrap().id);
        for trial in [alive, dead, done] {
            storage.beat(trial).unwrap();
        }
        storage.finish(done, Ending::Complete(1.0)).unwrap();
        // The dead and the finished were heard long ago, the living just within the time allowed.
        desk.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-121 seconds')
             WHERE trial_id IN ({dead}, {done});
             UPDATE trial_heartbeats SET heartbeat = datetime('now', '-100 seconds') || '.000000'
             WHERE trial_id = {alive}"
        ));
        assert_eq!(storage.reap_dead(study).unwrap(), [dead]);
        let state = |id| storage.trials(study).unwrap().iter().find(|t| t.id == id).unwrap().state;
        assert_eq!([silent, alive, dead, done].map(state), {
            use State::{Complete, Fail, Running};
            [Running, Running, Fail, Complete]
        });
        // A beat brings nobody back.
        storage.beat(dead).unwrap();
        assert_eq!(state(dead), State::Fail);
    }

    #[test]
    fn deleted_studies_leave_nothing_behind() {
        let desk = Desk::new();
        let storage = desk.open();
        let study = storage.study("s", Direction::Minimise).unwrap();
        let trial = storage.create_trial(study).unwrap().id;
        storage.finish(trial, Ending::Complete(1.0)).unwrap();
        assert_eq!(storage.trials(study).unwrap()[0].value, Some(1.0));
        // As Optuna deletes; SQLite then gives the same ids once more.
        desk.execute(
            "DELETE FROM trial_values; DELETE FROM trial_system_attributes; DELETE FROM trials;
             DELETE FROM study_directions; DELETE FROM studies",
        );
        assert!(storage.trials(study).is_err());
        assert_eq!(storage.study("other", Direction::Minimise).unwrap(), study);
        let again = storage.create_trial(study).unwrap().id;
        storage.finish(again, Ending::Complete(2.0)).unwrap();
        assert_eq!((again, storage.trials(study).unwrap()[0].value), (trial, Some(2.0)));
    }

    #[test]
    fn another_schema_is_refused() {
        let said = |sql: &str| {
            let desk = Desk::new();
            drop(desk.open());
            desk.execute(sql);
            open(&desk.path(), Habits::default()).map(drop).unwrap_err().to_string()
        };
        for (sql, version) in [
            ("UPDATE alembic_version SET version_num = 'v3.0.0.d'", "v3.0.0.d"),
            ("UPDATE alembic_version SET version_num = 'v6.0.0.a'", "v6.0.0.a"),
            ("DELETE FROM alembic_version; UPDATE version_info SET schema_version = 9", "number 9"),
        ] {
            let error = said(sql);
            let expected = format!("its schema is version `{version}`, not `v3.2.0.a`");
            assert!(error.contains(&expected), "{error}");
            assert!(error.contains("optuna storage upgrade"), "{error}");
        }
    }

    #[test]
    fn names_have_an_end() {
        let desk = Desk::new();
        let storage = desk.open();
        assert!(storage.study(&"\u{e4}".repeat(512), Direction::Minimise).is_ok());
        let error = storage.study(&"a".repeat(513), Direction::Minimise).unwrap_err().to_string();
        assert!(error.ends_with("expected a name of at most 512 characters"), "{error}");
        let study = storage.study("s", Direction::Minimise).unwrap();
        let trial = storage.create_trial(study).unwrap().id;
        let error = storage.report(trial, 1 << 31, 1.0).unwrap_err().to_string();
        assert_eq!(error, "`step` is 2147483648, outside 0..=2147483647");
    }

    #[test]
    fn files_that_do_not_do_are_named() {
        let desk = Desk::new();
        std::fs::write(
            desk.path(),
            "certainly not a database, but a text of some length\n".repeat(9),
        )
        .unwrap();
        let error = open(&desk.path(), Habits::default()).map(drop).unwrap_err();
        assert!(
            error.to_string().ends_with("is not an SQLite database; name another file"),
            "{error}"
        );
        assert!(error.is_input());
        let nowhere = desk.0.path().join("no/study.db");
        let error = open(&nowhere, Habits::default()).map(drop).unwrap_err().to_string();
        assert!(
            error.contains("no/study.db: cannot be opened; the file and its folder"),
            "{error}"
        );
        let folder = open(desk.0.path(), Habits::default()).map(drop).unwrap_err();
        assert!(folder.is_input(), "{folder}");
    }

    #[test]
    fn a_locked_file_is_waited_for_and_then_said() {
        let desk = Desk::new();
        let hasty = Habits { give_up: Duration::from_millis(200), ..Habits::default() };
        let storage = open(&desk.path(), hasty).unwrap();
        let study = storage.study("s", Direction::Minimise).unwrap();
        let other = rusqlite::Connection::open(desk.path()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = storage.create_trial(study).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }));
        assert!(error.to_string().contains("study.db: other workers held its lock"), "{error}");
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(storage.create_trial(study).unwrap().number, 0);
    }

    /// A file that may only be read, and what is said when it is written.
    #[test]
    fn a_file_that_may_only_be_read() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        if let Some(path) = std::env::var_os("CLENSHAW_READER") {
            let storage = open(Path::new(&path), Habits::default()).unwrap();
            let study = storage.study("s", Direction::Minimise).unwrap();
            let said = storage.create_trial(study).unwrap_err().to_string();
            assert!(
                said.ends_with("is read-only; the file and its folder must be writable"),
                "{said}"
            );
            return;
        }
        let desk = Desk::new();
        desk.open().study("s", Direction::Minimise).unwrap();
        // Those who may do everything ask somebody who may not.
        let program = desk.0.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let allow = |mode| {
            std::fs::set_permissions(desk.0.path(), PermissionsExt::from_mode(mode)).unwrap();
        };
        allow(0o555);
        let mut reader = std::process::Command::new(&program);
        reader.args(["--exact", "sqlite::a_file_that_may_only_be_read"]);
        reader.env("CLENSHAW_READER", desk.path());
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            reader.uid(65_534).gid(65_534);
        }
        let output = reader.current_dir("/").output().unwrap();
        allow(0o755);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// PostgreSQL's server; `cargo xtask test` has one.
#[cfg(feature = "postgres")]
mod postgresql {
    use super::*;
    use clenshaw_tune::Error;
    use clenshaw_tune::{Address, Direction, Ending, Habits, Relational, State};
    use server::{Database, Server};
    use std::time::Duration;

    fn open(url: &str) -> clenshaw_tune::Result<Relational> {
        Relational::open(Address::parse(url).unwrap())
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn servers_keep_their_promises() {
        for promise in CONTRACT {
            let database = Database::new();
            promise(&|| Box::new(open(&database.url()).unwrap()));
        }
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn a_trial_whose_heart_stopped_is_failed() {
        let database = Database::new();
        let storage = open(&database.url()).unwrap();
        let study = storage.study("s", Direction::Minimise).unwrap();
        let [silent, alive, dead] = [(); 3].map(|()| storage.create_trial(study).unwrap().id);
        for trial in [alive, dead] {
            storage.beat(trial).unwrap();
        }
        database.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = heartbeat - interval '121 seconds'
             WHERE trial_id = {dead};
             UPDATE trial_heartbeats SET heartbeat = heartbeat - interval '100 seconds'
             WHERE trial_id = {alive}"
        ));
        assert_eq!(storage.reap_dead(study).unwrap(), [dead]);
        let state = |id| storage.trials(study).unwrap().iter().find(|t| t.id == id).unwrap().state;
        assert_eq!([silent, alive, dead].map(state), [State::Running, State::Running, State::Fail]);
    }

    /// What was made before is there after, and a change that the crash cut is made once.
    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn a_server_that_comes_back_is_gone_on_with() {
        let server = Server::new();
        let storage = open(&server.url()).unwrap();
        let study = storage.study("s", Direction::Minimise).unwrap();
        let trial = storage.create_trial(study).unwrap().id;
        storage.beat(trial).unwrap();
        server.stop();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| storage.finish(trial, Ending::Complete(0.5)));
            server.start();
            assert_eq!(waiting.join().unwrap().unwrap(), State::Complete);
        });
        assert_eq!(storage.finish(trial, Ending::Complete(0.5)).unwrap(), State::Complete);
        assert_eq!(storage.trials(study).unwrap()[0].value, Some(0.5));
        assert_eq!(storage.create_trial(study).unwrap().number, 1);
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn after_an_absence_the_living_have_time_to_speak() {
        let server = Server::new();
        let (ours, theirs) = (open(&server.url()).unwrap(), open(&server.url()).unwrap());
        let study = ours.study("s", Direction::Minimise).unwrap();
        let trial = theirs.create_trial(study).unwrap().id;
        theirs.beat(trial).unwrap();
        let sql = "UPDATE trial_heartbeats SET heartbeat = heartbeat - interval '1 hour'";
        postgres::Client::connect(&server.url(), postgres::NoTls)
            .unwrap()
            .batch_execute(sql)
            .unwrap();
        server.stop();
        server.start();
        assert_eq!(ours.trials(study).unwrap().len(), 1);
        assert!(ours.reap_dead(study).unwrap().is_empty(), "nobody could beat while it was away");
        // Whoever comes anew has no reason to wait.
        assert_eq!(open(&server.url()).unwrap().reap_dead(study).unwrap(), [trial]);
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn a_server_that_is_away_is_named_and_no_secret_with_it() {
        let server = Server::new();
        let url = server.url();
        let wrong = url.replace("s3cret", "s4cret");
        let said = |url: &str| open(url).map(drop).unwrap_err();
        let error = said(&wrong);
        assert!(error.to_string().contains("password authentication failed"), "{error}");
        assert!(error.is_input() && !error.to_string().contains("s4cret"), "{error}");
        let error = said(&format!("{url}?sslmode=require")).to_string();
        assert!(error.contains("TLS is not supported"), "{error}");
        let error = said(&url.replace("/postgres", "/nothing")).to_string();
        assert!(error.contains("database \"nothing\" does not exist"), "{error}");
        server.stop();
        let error = said(&url);
        let port = url.rsplit_once(':').unwrap().1.trim_end_matches("/postgres");
        let expected = format!("is the server running on host 127.0.0.1, port {port}?");
        assert!(error.to_string().ends_with(&expected), "{error}");
        assert!(error.to_string().contains("cannot be reached: "), "{error}");
        assert!(
            matches!(error, Error::Unavailable { .. }) && !error.to_string().contains("cret"),
            "{error}"
        );
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn a_server_that_wants_tls_is_told_apart() {
        let server = Server::new();
        server.demand_encryption();
        // The server takes up its new rules when it gets to it.
        let error = loop {
            match open(&server.url()) {
                Ok(_) => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("TLS is not supported: let the server"), "{error}");
        assert!(error.is_input(), "{error}");
    }

    #[test]
    #[ignore = "needs PostgreSQL: cargo xtask optuna"]
    fn a_server_that_does_not_come_back_is_given_up() {
        let server = Server::new();
        let hasty = Habits { give_up: Duration::from_millis(500), ..Habits::default() };
        let address = Address::parse(&server.url()).unwrap();
        let storage = Relational::open_with(address, hasty).unwrap();
        let study = storage.study("s", Direction::Minimise).unwrap();
        server.stop();
        let error = storage.create_trial(study).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    }
}
