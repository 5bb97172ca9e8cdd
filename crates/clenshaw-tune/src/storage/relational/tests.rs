//! Answers that are lost; `tests/storages.rs` has what all storages promise.

use super::connection::{Cell, Connection, Dialect, Fault, Row, Told};
use super::{Address, Relational};
use crate::{Choice, Direction, Distribution, Ending, Notes, State, Storage, Trial};
use serde_json::json;

/// A connection that is lost when it has kept a change, before anybody hears of it.
struct Forgetful(Box<dyn Connection>);

impl Connection for Forgetful {
    fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    fn batch(&mut self, sql: &str) -> Told<()> {
        self.0.batch(sql)?;
        match sql {
            "COMMIT" => Err(Fault::Lost("the answer was lost".into())),
            _ => Ok(()),
        }
    }

    fn rows(&mut self, sql: &str, values: &[Cell]) -> Told<Vec<Row>> {
        self.0.rows(sql, values)
    }
}

/// A database whose next answer is lost.
fn forgetful(database: &Relational) -> &Relational {
    let mut session = database.session.lock().expect("nobody panicked");
    let connection = session.connection.take().expect("it is open");
    session.connection = Some(Box::new(Forgetful(connection)));
    drop(session);
    database
}

#[test]
fn a_change_whose_answer_is_lost_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:///{}", folder.path().join("study.db").display());
    let database = Relational::open(Address::parse(&url).unwrap()).unwrap();
    let study = forgetful(&database).study("s", Direction::Minimise).unwrap();
    let first = forgetful(&database).create_trial(study).unwrap();
    let fixed = [("x".to_owned(), Choice::Real(0.5))].into();
    let second = forgetful(&database).enqueue(study, &fixed).unwrap();
    database.enqueue(study, &fixed).unwrap();
    let claimed = forgetful(&database).claim_waiting(study).unwrap().unwrap();
    assert_eq!((claimed.id, claimed.state), (second.id, State::Running));
    let x = Distribution::Float { low: 0.0, high: 1.0, log: false, step: None };
    let params = [("x".to_owned(), (x, 0.5))].into();
    forgetful(&database).set_params(first.id, &params).unwrap();
    forgetful(&database).report(first.id, 1, 0.25).unwrap();
    let note = [("a".to_owned(), json!(1))].into();
    forgetful(&database).set_trial_attrs(first.id, Notes::User, &note).unwrap();
    forgetful(&database).set_study_attrs(study, Notes::User, &note).unwrap();
    let ended = forgetful(&database).finish(first.id, Ending::Complete(0.75)).unwrap();
    assert_eq!(ended, State::Complete);

    let trials = forgetful(&database).trials(study).unwrap();
    let states: Vec<State> = trials.iter().map(|trial: &Trial| trial.state).collect();
    assert_eq!(states, [State::Complete, State::Running, State::Waiting]);
    assert_eq!((&trials[0].params, trials[0].value), (&params, Some(0.75)));
    assert_eq!((&trials[0].reports, &trials[0].user_attrs), (&[(1, 0.25)].into(), &note));
    assert_eq!(database.studies().unwrap().len(), 1);
}
