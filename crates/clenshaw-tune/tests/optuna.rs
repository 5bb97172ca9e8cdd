//! The real Optuna, versions 4 and 5, and its dashboard at our studies, and we at theirs: in journals, in
//! SQLite's files and on a PostgreSQL server.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "optuna/python.rs"]
mod python;
#[path = "databases/server.rs"]
mod server;

use clenshaw_tune::{
    Choice, Direction, Distribution, Ending, Notes, Params, Place, State, Storage, Trial, dashboard,
};
use python::{VERSIONS, optuna, said, script};
use serde_json::{Value, json};
use server::Database;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// A place for a study, and the means to keep it.
struct Desk {
    folder: tempfile::TempDir,
    server: Option<Database>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Journal,
    Sqlite,
    Postgresql,
}

const KINDS: [Kind; 3] = [Kind::Journal, Kind::Sqlite, Kind::Postgresql];

/// Every version of Optuna at every kind of place.
fn everywhere(test: impl Fn(&'static str, Desk)) {
    for version in VERSIONS {
        KINDS.into_iter().for_each(|kind| test(version, Desk::new(kind)));
    }
}

impl Desk {
    fn new(kind: Kind) -> Self {
        let server = (kind == Kind::Postgresql).then(Database::new);
        Self { folder: tempfile::tempdir().unwrap(), server, kind }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("study")
    }

    /// As both programs are told.
    fn place(&self) -> String {
        let path = self.path();
        match (&self.server, self.kind) {
            (Some(server), _) => server.url().replace("postgresql:", "postgresql+psycopg2:"),
            (None, Kind::Sqlite) => format!("sqlite:///{}", path.display()),
            (None, _) => path.display().to_string(),
        }
    }

    /// The storage and its study, which is to maximise.
    fn open(&self) -> (Box<dyn Storage>, u64) {
        open(&self.place())
    }

    /// Carries out SQL, past both programs.
    fn execute(&self, sql: &str) {
        match &self.server {
            Some(server) => server.execute(sql),
            None => rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap(),
        }
    }
}

fn open(place: &str) -> (Box<dyn Storage>, u64) {
    let storage = place.parse::<Place>().unwrap().open().unwrap();
    let study = storage.study("s", Direction::Maximise).unwrap();
    (storage, study)
}

fn kinds() -> Distribution {
    let word = Choice::Word("word".into());
    let choices = vec![Choice::None, Choice::Flag(true), Choice::Int(3), Choice::Real(0.5), word];
    Distribution::Categorical { choices }
}

/// The space that the script draws from.
fn params() -> Params {
    let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
    let drop = Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.1) };
    let order = Distribution::Int { low: 2, high: 10, log: false, step: 2 };
    [
        ("rate".to_owned(), (rate, 0.0123)),
        ("drop".to_owned(), (drop, 0.5)),
        ("order".to_owned(), (order, 6.0)),
        ("kind".to_owned(), (kinds(), 4.0)),
    ]
    .into()
}

/// A trial of ours, from beginning to end.
fn try_once(storage: &dyn Storage, study: u64, ending: Ending) -> Trial {
    let trial = storage.create_trial(study).unwrap();
    storage.set_params(trial.id, &params()).unwrap();
    storage.report(trial.id, 0, 0.25).unwrap();
    storage.report(trial.id, 10, 1.0).unwrap();
    storage.set_trial_attrs(trial.id, Notes::User, &[("by".into(), json!("us"))].into()).unwrap();
    storage.set_trial_attrs(trial.id, Notes::System, &[("rung".into(), json!(2))].into()).unwrap();
    storage.finish(trial.id, ending).unwrap();
    trial
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_reads_every_field() {
    everywhere(|version, desk| {
        let began = unix_now();
        let (storage, study) = desk.open();
        let storage = storage.as_ref();
        try_once(storage, study, Ending::Complete(0.5));
        try_once(storage, study, Ending::Pruned(Some(1.0)));
        try_once(storage, study, Ending::Complete(f64::NAN));
        storage.enqueue(study, &[("rate".to_owned(), Choice::Real(0.5))].into()).unwrap();
        storage.create_trial(study).unwrap();
        let attrs = [("graph".to_owned(), json!({"name": "cora"}))].into();
        storage.set_study_attrs(study, Notes::User, &attrs).unwrap();
        let metric = dashboard::metric_name("accuracy");
        storage.set_study_attrs(study, Notes::System, &metric).unwrap();

        let read = optuna(version, "show", &desk.place(), &["s"]);
        assert!(read["version"].as_str().unwrap().starts_with(version));
        assert_eq!(read["directions"], json!(["MAXIMIZE"]));
        assert_eq!(
            (&read["user_attrs"]["graph"]["name"], &read["best"]),
            (&json!("cora"), &json!(0))
        );
        assert_eq!(read["metric_names"], json!(["accuracy"]));
        let trials = read["trials"].as_array().unwrap();
        let of = |key: &str| trials.iter().map(|trial| trial[key].clone()).collect::<Vec<_>>();
        assert_eq!(of("state"), ["COMPLETE", "PRUNED", "FAIL", "WAITING", "RUNNING"]);
        assert_eq!(json!(of("value")), json!([0.5, 1.0, null, null, null]));
        let ids: Vec<u64> = storage.trials(study).unwrap().iter().map(|trial| trial.id).collect();
        assert_eq!((json!(of("number")), json!(of("id"))), (json!([0, 1, 2, 3, 4]), json!(ids)));
        assert_eq!(trials[3]["system_attrs"]["fixed_params"], json!({"rate": 0.5}));
        check_fields(&trials[0]);
        let times = ["started", "finished"].map(|key| trials[0][key].as_f64().unwrap());
        assert!(began - 1.0 < times[0] && times[0] <= times[1] && times[1] < unix_now() + 1.0);
    });
}

fn check_fields(trial: &Value) {
    let external = json!({"rate": 0.0123, "drop": 0.5, "order": 6, "kind": "word"});
    assert_eq!(trial["params"], external);
    assert_eq!(trial["reports"], json!({"0": 0.25, "10": 1.0}));
    assert_eq!(trial["user_attrs"], json!({"by": "us"}));
    assert_eq!(trial["system_attrs"]["rung"], 2);
    for (name, (distribution, _)) in params() {
        let text = trial["distributions"][&name].to_string();
        assert_eq!(Distribution::from_json(&text).unwrap(), distribution, "{name}");
    }
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_goes_on_with_our_study_and_we_with_its() {
    everywhere(|version, desk| {
        let (storage, study) = desk.open();
        let storage = storage.as_ref();
        try_once(storage, study, Ending::Complete(0.5));
        storage.enqueue(study, &[("kind".to_owned(), Choice::Flag(true))].into()).unwrap();
        assert_eq!(optuna(version, "go-on", &desk.place(), &["s", "6"])["trials"], 7);
        try_once(storage, study, Ending::Complete(0.25));
        let trials = storage.trials(study).unwrap();
        assert_eq!(trials.len(), 8);
        for trial in &trials[1..7] {
            assert_eq!(trial.state, State::Complete);
            assert!(trial.params.iter().all(|(name, (kind, _))| *kind == params()[name].0));
            let drawn = trial.external();
            let Choice::Real(rate) = drawn["rate"] else { panic!("{drawn:?}") };
            let Choice::Real(drop) = drawn["drop"] else { panic!("{drawn:?}") };
            let Choice::Int(order) = drawn["order"] else { panic!("{drawn:?}") };
            let word = f64::from(u8::from(drawn["kind"] == Choice::Word("word".into())));
            assert_eq!(trial.value, Some(rate + drop + order as f64 + word));
            assert_eq!(trial.reports.len(), 3);
            assert!(trial.user_attrs["by"].as_str().unwrap().starts_with(version));
            assert!(trial.started.is_some() && trial.finished.is_some());
        }
        assert_eq!(trials[1].external()["kind"], Choice::Flag(true));
        let read = optuna(version, "show", &desk.place(), &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 8);
    });
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn what_only_optuna_writes_is_read() {
    everywhere(|version, desk| {
        assert_eq!(optuna(version, "oddities", &desk.place(), &["s"])["trials"], 3);
        let (storage, study) = desk.open();
        assert_eq!(storage.study_attrs(study, Notes::User).unwrap()["who"], "Optuna");
        let system = storage.study_attrs(study, Notes::System).unwrap();
        assert_eq!(system["study:metric_names"], json!(["accuracy"]));
        let error = storage.study("two", Direction::Minimise).unwrap_err().to_string();
        assert!(error.ends_with("study `two` has 2 objectives, not one to minimise"), "{error}");

        let trials = storage.trials(study).unwrap();
        let states: Vec<State> = trials.iter().map(|trial| trial.state).collect();
        assert_eq!(states, [State::Pruned, State::Fail, State::Waiting]);
        assert!(trials[0].reports[&0].is_nan() && trials[0].reports[&1] == f64::INFINITY);
        let (list, _) = &trials[0].params["x"];
        assert_eq!(trials[1].user_attrs["odd"][0], "-Infinity");
        // A list with NaN goes both ways.
        let ours = storage.create_trial(study).unwrap();
        storage.set_params(ours.id, &[("x".to_owned(), (list.clone(), 0.0))].into()).unwrap();
        storage.finish(ours.id, Ending::Complete(1.0)).unwrap();
        let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
        let claimed = storage.claim_waiting(study).unwrap().unwrap();
        assert_eq!((claimed.number, claimed.fixed("rate", &rate)), (2, Some(0.25)));
        assert_eq!(storage.finish(claimed.id, Ending::Complete(0.5)).unwrap(), State::Complete);
    });
}

/// How many trials each of the workers makes.
const EACH: usize = 15;

/// Not a test but the worker; without the variable there is nothing to do.
#[test]
fn worker() {
    let Ok(place) = std::env::var("CLENSHAW_WORKER") else { return };
    let (storage, study) = open(&place);
    for _ in 0..EACH {
        try_once(storage.as_ref(), study, Ending::Complete(0.5));
    }
}

/// A process of ours that works.
fn start(place: &str) -> Child {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "worker"]).env("CLENSHAW_WORKER", place);
    again.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn four_workers_lose_no_trial() {
    everywhere(|version, desk| {
        let place = desk.place();
        let (storage, study) = desk.open();
        let words = ["go-on", &place, "s", "15"];
        let theirs = [(); 2].map(|()| script(version, "study.py", &words));
        let ours = [(); 2].map(|()| start(&place));
        for mut worker in ours {
            assert!(worker.wait().unwrap().success());
        }
        theirs.into_iter().map(said).for_each(drop);
        let trials = storage.trials(study).unwrap();
        assert_eq!(trials.len(), 4 * EACH, "{:?}", desk.kind);
        assert!(trials.iter().all(|trial| trial.state == State::Complete));
        let numbers: BTreeSet<u64> = trials.iter().map(|trial| trial.number).collect();
        assert_eq!(numbers, (0..4 * EACH as u64).collect());
        let ours = trials.iter().filter(|trial| trial.user_attrs["by"] == "us").count();
        assert_eq!(ours, 2 * EACH);
        let read = optuna(version, "show", &place, &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 4 * EACH);
    });
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_reads_on_after_half_a_line() {
    for version in VERSIONS {
        let desk = Desk::new(Kind::Journal);
        let (storage, study) = desk.open();
        let storage = storage.as_ref();
        try_once(storage, study, Ending::Complete(0.5));
        let text = std::fs::read_to_string(desk.path()).unwrap();
        std::fs::write(desk.path(), format!("{text}{{\"op_code\":4,\"worker")).unwrap();
        assert_eq!(
            optuna(version, "show", &desk.place(), &["s"])["trials"].as_array().unwrap().len(),
            1
        );
        try_once(storage, study, Ending::Complete(0.75));
        assert_eq!(optuna(version, "go-on", &desk.place(), &["s", "1"])["trials"], 3);
    }
}

/// Both programs hold the same trials for dead, by the clock of a server in another time zone.
#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn hearts_beat_alike() {
    for (version, kind) in
        VERSIONS.iter().flat_map(|version| KINDS[1..].iter().map(move |k| (version, *k)))
    {
        let desk = Desk::new(kind);
        let (storage, study) = desk.open();
        let ours = [(); 2].map(|()| storage.create_trial(study).unwrap().id);
        ours.iter().for_each(|trial| storage.beat(*trial).unwrap());
        let theirs =
            [(); 2].map(|()| optuna(version, "beat", &desk.place(), &["s"]).as_u64().unwrap());
        assert_eq!(optuna(version, "stale", &desk.place(), &["s"]), json!([]));
        assert!(storage.reap_dead(study).unwrap().is_empty());
        let earlier = match kind {
            Kind::Postgresql => "heartbeat - interval '121 seconds'",
            _ => "datetime(heartbeat, '-121 seconds') || '.000000'",
        };
        let dead = [ours[1], theirs[1]];
        desk.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = {earlier} WHERE trial_id IN ({}, {})",
            dead[0], dead[1]
        ));
        assert_eq!(optuna(version, "stale", &desk.place(), &["s"]), json!(dead));
        assert_eq!(storage.reap_dead(study).unwrap(), dead);
        assert_eq!(optuna(version, "stale", &desk.place(), &["s"]), json!([]));
    }
}

/// Words of a table's definition, whatever stands between them.
fn words(sql: &str) -> String {
    let spaced = sql.replace(['(', ')', ','], " ").replace("IF NOT EXISTS", "");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn our_tables_are_those_that_optuna_makes() {
    let tables = |desk: &Desk| -> Vec<Vec<String>> {
        match &desk.server {
            Some(server) => POSTGRESQL_TABLES.iter().flat_map(|sql| server.texts(sql)).collect(),
            None => {
                let file = rusqlite::Connection::open(desk.path()).unwrap();
                let sql = "SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name";
                let mut statement = file.prepare(sql).unwrap();
                let row = |row: &rusqlite::Row<'_>| {
                    Ok(vec![row.get::<_, String>(0)?, words(&row.get::<_, String>(1)?)])
                };
                statement.query_map([], row).unwrap().map(Result::unwrap).collect()
            }
        }
    };
    for kind in [Kind::Sqlite, Kind::Postgresql] {
        let [ours, theirs] = [(); 2].map(|()| Desk::new(kind));
        ours.open();
        for version in VERSIONS {
            assert_eq!(optuna(version, "make", &theirs.place(), &[]), "v3.2.0.a");
            assert_eq!(optuna(version, "make", &ours.place(), &[]), "v3.2.0.a");
        }
        let [ours, theirs] = [tables(&ours), tables(&theirs)];
        assert!(ours.len() >= 13, "{ours:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

/// Columns, constraints, indices and lists of words.
const POSTGRESQL_TABLES: [&str; 4] = [
    "SELECT table_name::text, column_name::text, ordinal_position::text, \
     coalesce(column_default, ''), is_nullable::text, data_type::text, udt_name::text, \
     coalesce(character_maximum_length::text, '') FROM information_schema.columns \
     WHERE table_schema = current_schema() ORDER BY 1, 2",
    "SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint \
     WHERE connamespace = current_schema()::regnamespace ORDER BY 1, 2",
    "SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
    "SELECT t.typname::text, e.enumlabel::text FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid \
     WHERE t.typnamespace = current_schema()::regnamespace ORDER BY 1, e.enumsortorder",
];

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn the_dashboard_shows_our_study() {
    KINDS.into_iter().for_each(|kind| shown_in_the_dashboard(&Desk::new(kind)));
}

fn shown_in_the_dashboard(desk: &Desk) {
    let (storage, study) = desk.open();
    let storage = storage.as_ref();
    for value in [0.5, f64::NAN, 0.75] {
        try_once(storage, study, Ending::Complete(value));
    }
    let figure =
        json!({"data": [{"y": vec![0.125; 2000]}], "layout": {"title": {"text": "filter"}}});
    let short = json!({"data": [{"y": [1, 2]}], "layout": {}});
    let put = |make: &dyn Fn(&clenshaw_tune::Attributes) -> clenshaw_tune::Attributes| {
        let now = storage.study_attrs(study, Notes::System).unwrap();
        storage.set_study_attrs(study, Notes::System, &make(&now)).unwrap();
    };
    put(&|_| dashboard::metric_name("validation accuracy"));
    put(&|now| dashboard::note(now, &"old ".repeat(2000)));
    put(&|now| dashboard::note(now, "# Notes\nab\u{e4}c"));
    put(&|now| dashboard::plot(now, "response", &figure));
    put(&|now| dashboard::plot(now, "short", &figure));
    put(&|now| dashboard::plot(now, "short", &short));

    let shown = said(script("5", "dashboard.py", &[&desk.place()]));
    assert_eq!(shown["studies"][0]["study_name"], "s");
    let detail = &shown["detail"];
    assert_eq!(detail["directions"], json!(["maximize"]));
    assert_eq!(detail["note"], json!({"version": 2, "body": "# Notes\nab\u{e4}c"}));
    assert_eq!(detail["objective_names"], json!(["validation accuracy"]));
    assert_eq!(detail["best_trials"][0]["number"], 2);
    assert_eq!(detail["trials"].as_array().unwrap().len(), 3);
    assert_eq!(detail["has_intermediate_values"], true);
    let plots = detail["plotly_graph_objects"].as_array().unwrap();
    let plot = |id: &str| {
        let found = plots.iter().find(|plot| plot["id"] == id).unwrap();
        serde_json::from_str::<Value>(found["graph_object"].as_str().unwrap()).unwrap()
    };
    assert_eq!((plots.len(), plot("response"), plot("short")), (2, figure, short));
}
