//! Studies shared with Optuna 4 and 5 and optuna-dashboard, in journals, SQLite and PostgreSQL.

use crate::postgres_server::Database;
use crate::python::{VERSIONS, optuna, start_script, wait_for_output};
use clenshaw_tune::{
    AttrKind, Attributes, Direction, Distribution, ParamValue, Params, Storage, StorageLocation,
    Trial, TrialOutcome, TrialState, dashboard,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// A temporary storage.
struct TestStorage {
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

/// Runs a test for every version of Optuna and every kind of storage.
fn for_every_storage(test: impl Fn(&'static str, TestStorage)) {
    for version in VERSIONS {
        KINDS.into_iter().for_each(|kind| test(version, TestStorage::new(kind)));
    }
}

impl TestStorage {
    fn new(kind: Kind) -> Self {
        let server = (kind == Kind::Postgresql).then(Database::new);
        Self { folder: tempfile::tempdir().unwrap(), server, kind }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("study")
    }

    /// The path or URL, as passed to Optuna.
    fn location(&self) -> String {
        let path = self.path();
        match (&self.server, self.kind) {
            (Some(server), _) => server.url().replace("postgresql:", "postgresql+psycopg2:"),
            (None, Kind::Sqlite) => format!("sqlite:///{}", path.display()),
            (None, _) => path.display().to_string(),
        }
    }

    /// Opens the storage and its study.
    fn open(&self) -> (Box<dyn Storage>, u64) {
        open(&self.location())
    }

    /// Executes SQL directly.
    fn execute(&self, sql: &str) {
        match &self.server {
            Some(server) => server.execute(sql),
            None => rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap(),
        }
    }
}

fn open(location: &str) -> (Box<dyn Storage>, u64) {
    let storage = location.parse::<StorageLocation>().unwrap().open().unwrap();
    let study = storage.open_study("s", Direction::Maximize).unwrap();
    (storage, study)
}

fn choices() -> Distribution {
    let text = ParamValue::Str("word".into());
    let choices = vec![
        ParamValue::None,
        ParamValue::Bool(true),
        ParamValue::Int(3),
        ParamValue::Float(0.5),
        text,
    ];
    Distribution::Categorical { choices }
}

/// Parameters of the space that `study.py` samples from.
fn params() -> Params {
    let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
    let drop = Distribution::Float { low: 0.0, high: 0.9, log: false, step: Some(0.1) };
    let order = Distribution::Int { low: 2, high: 10, log: false, step: 2 };
    [
        ("rate".to_owned(), (rate, 0.0123)),
        ("drop".to_owned(), (drop, 0.5)),
        ("order".to_owned(), (order, 6.0)),
        ("kind".to_owned(), (choices(), 4.0)),
    ]
    .into()
}

/// Runs a trial of this crate.
fn run_trial(storage: &dyn Storage, study: u64, outcome: TrialOutcome) -> Trial {
    let trial = storage.create_trial(study).unwrap();
    storage.set_params(trial.id, &params()).unwrap();
    storage.report(trial.id, 0, 0.25).unwrap();
    storage.report(trial.id, 10, 1.0).unwrap();
    storage
        .set_trial_attrs(trial.id, AttrKind::User, &[("by".into(), json!("us"))].into())
        .unwrap();
    storage
        .set_trial_attrs(trial.id, AttrKind::System, &[("rung".into(), json!(2))].into())
        .unwrap();
    storage.finish(trial.id, outcome).unwrap();
    trial
}

fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_reads_every_field() {
    for_every_storage(|version, test| {
        let began = unix_now();
        let (storage, study) = test.open();
        let storage = storage.as_ref();
        run_trial(storage, study, TrialOutcome::Complete(0.5));
        run_trial(storage, study, TrialOutcome::Pruned(Some(1.0)));
        run_trial(storage, study, TrialOutcome::Complete(f64::NAN));
        storage
            .enqueue_trial(study, &[("rate".to_owned(), ParamValue::Float(0.5))].into())
            .unwrap();
        storage.create_trial(study).unwrap();
        let attrs = [("graph".to_owned(), json!({"name": "cora"}))].into();
        storage.set_study_attrs(study, AttrKind::User, &attrs).unwrap();
        let metric = dashboard::metric_name("accuracy");
        storage.set_study_attrs(study, AttrKind::System, &metric).unwrap();

        let read = optuna(version, "show", &test.location(), &["s"]);
        assert!(read["version"].as_str().unwrap().starts_with(version));
        assert_eq!(read["directions"], json!(["MAXIMIZE"]));
        assert_eq!(
            (&read["user_attrs"]["graph"]["name"], &read["best"]),
            (&json!("cora"), &json!(0))
        );
        assert_eq!(read["metric_names"], json!(["accuracy"]));
        let trials = read["trials"].as_array().unwrap();
        let field = |key: &str| trials.iter().map(|trial| trial[key].clone()).collect::<Vec<_>>();
        assert_eq!(field("state"), ["COMPLETE", "PRUNED", "FAIL", "WAITING", "RUNNING"]);
        assert_eq!(json!(field("value")), json!([0.5, 1.0, null, null, null]));
        let ids: Vec<u64> = storage.trials(study).unwrap().iter().map(|trial| trial.id).collect();
        assert_eq!(
            (json!(field("number")), json!(field("id"))),
            (json!([0, 1, 2, 3, 4]), json!(ids))
        );
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
fn optuna_and_this_crate_continue_each_others_studies() {
    for_every_storage(|version, test| {
        let (storage, study) = test.open();
        let storage = storage.as_ref();
        run_trial(storage, study, TrialOutcome::Complete(0.5));
        storage
            .enqueue_trial(study, &[("kind".to_owned(), ParamValue::Bool(true))].into())
            .unwrap();
        assert_eq!(optuna(version, "run", &test.location(), &["s", "6"])["trials"], 7);
        run_trial(storage, study, TrialOutcome::Complete(0.25));
        let trials = storage.trials(study).unwrap();
        assert_eq!(trials.len(), 8);
        for trial in &trials[1..7] {
            assert_eq!(trial.state, TrialState::Complete);
            assert!(trial.params.iter().all(|(name, (kind, _))| *kind == params()[name].0));
            let sampled = trial.external_params();
            let ParamValue::Float(rate) = sampled["rate"] else { panic!("{sampled:?}") };
            let ParamValue::Float(drop) = sampled["drop"] else { panic!("{sampled:?}") };
            let ParamValue::Int(order) = sampled["order"] else { panic!("{sampled:?}") };
            let word = f64::from(u8::from(sampled["kind"] == ParamValue::Str("word".into())));
            assert_eq!(trial.value, Some(rate + drop + order as f64 + word));
            assert_eq!(trial.intermediate_values.len(), 3);
            assert!(trial.user_attrs["by"].as_str().unwrap().starts_with(version));
            assert!(trial.datetime_start.is_some() && trial.datetime_complete.is_some());
        }
        assert_eq!(trials[1].external_params()["kind"], ParamValue::Bool(true));
        let read = optuna(version, "show", &test.location(), &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 8);
    });
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn reads_fields_that_only_optuna_writes() {
    for_every_storage(|version, test| {
        assert_eq!(optuna(version, "oddities", &test.location(), &["s"])["trials"], 3);
        let (storage, study) = test.open();
        assert_eq!(storage.study_attrs(study, AttrKind::User).unwrap()["who"], "Optuna");
        let system = storage.study_attrs(study, AttrKind::System).unwrap();
        assert_eq!(system["study:metric_names"], json!(["accuracy"]));
        let error = storage.open_study("two", Direction::Minimize).unwrap_err().to_string();
        assert!(
            error.ends_with("study `two` has 2 objectives; expected one to minimize"),
            "{error}"
        );

        let trials = storage.trials(study).unwrap();
        let states: Vec<TrialState> = trials.iter().map(|trial| trial.state).collect();
        assert_eq!(states, [TrialState::Pruned, TrialState::Fail, TrialState::Waiting]);
        assert!(
            trials[0].intermediate_values[&0].is_nan()
                && trials[0].intermediate_values[&1] == f64::INFINITY
        );
        let (list, _) = &trials[0].params["x"];
        assert_eq!(trials[1].user_attrs["odd"][0], "-Infinity");
        // A list of choices with NaN can be written again.
        let ours = storage.create_trial(study).unwrap();
        storage.set_params(ours.id, &[("x".to_owned(), (list.clone(), 0.0))].into()).unwrap();
        storage.finish(ours.id, TrialOutcome::Complete(1.0)).unwrap();
        let rate = Distribution::Float { low: 1e-4, high: 1.0, log: true, step: None };
        let claimed = storage.claim_waiting_trial(study).unwrap().unwrap();
        assert_eq!((claimed.number, claimed.fixed_param("rate", &rate)), (2, Some(0.25)));
        assert_eq!(
            storage.finish(claimed.id, TrialOutcome::Complete(0.5)).unwrap(),
            TrialState::Complete
        );
    });
}

/// The number of trials of each worker.
const N_TRIALS: usize = 15;

/// The body of a worker process; without the variable it does nothing.
#[test]
fn worker_process() {
    let Ok(location) = std::env::var("CLENSHAW_WORKER") else { return };
    let (storage, study) = open(&location);
    for _ in 0..N_TRIALS {
        run_trial(storage.as_ref(), study, TrialOutcome::Complete(0.5));
    }
}

/// Starts a worker process of this crate.
fn start_worker(location: &str) -> Child {
    let mut worker = Command::new(std::env::current_exe().unwrap());
    worker.args(["--exact", "optuna::worker_process"]).env("CLENSHAW_WORKER", location);
    worker.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn concurrent_workers_lose_no_trial() {
    for_every_storage(|version, test| {
        let location = test.location();
        let (storage, study) = test.open();
        let arguments = ["run", &location, "s", "15"];
        let theirs = [(); 2].map(|()| start_script(version, "study.py", &arguments));
        let ours = [(); 2].map(|()| start_worker(&location));
        for mut worker in ours {
            assert!(worker.wait().unwrap().success());
        }
        theirs.into_iter().map(wait_for_output).for_each(drop);
        let trials = storage.trials(study).unwrap();
        assert_eq!(trials.len(), 4 * N_TRIALS, "{:?}", test.kind);
        assert!(trials.iter().all(|trial| trial.state == TrialState::Complete));
        let numbers: BTreeSet<u64> = trials.iter().map(|trial| trial.number).collect();
        assert_eq!(numbers, (0..4 * N_TRIALS as u64).collect());
        let ours = trials.iter().filter(|trial| trial.user_attrs["by"] == "us").count();
        assert_eq!(ours, 2 * N_TRIALS);
        let read = optuna(version, "show", &location, &["s"]);
        assert_eq!(read["trials"].as_array().unwrap().len(), 4 * N_TRIALS);
    });
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_continues_after_a_truncated_line() {
    for version in VERSIONS {
        let test = TestStorage::new(Kind::Journal);
        let (storage, study) = test.open();
        let storage = storage.as_ref();
        run_trial(storage, study, TrialOutcome::Complete(0.5));
        let text = std::fs::read_to_string(test.path()).unwrap();
        std::fs::write(test.path(), format!("{text}{{\"op_code\":4,\"worker")).unwrap();
        assert_eq!(
            optuna(version, "show", &test.location(), &["s"])["trials"].as_array().unwrap().len(),
            1
        );
        run_trial(storage, study, TrialOutcome::Complete(0.75));
        assert_eq!(optuna(version, "run", &test.location(), &["s", "1"])["trials"], 3);
    }
}

/// The PostgreSQL server runs in another time zone than the tests.
#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn optuna_finds_the_same_stale_trials() {
    for (version, kind) in
        VERSIONS.iter().flat_map(|version| KINDS[1..].iter().map(move |k| (version, *k)))
    {
        let test = TestStorage::new(kind);
        let (storage, study) = test.open();
        let ours = [(); 2].map(|()| storage.create_trial(study).unwrap().id);
        ours.iter().for_each(|trial| storage.record_heartbeat(*trial).unwrap());
        let theirs = [(); 2]
            .map(|()| optuna(version, "heartbeat", &test.location(), &["s"]).as_u64().unwrap());
        assert_eq!(optuna(version, "stale", &test.location(), &["s"]), json!([]));
        assert!(storage.fail_stale_trials(study).unwrap().is_empty());
        let earlier = match kind {
            Kind::Postgresql => "heartbeat - interval '121 seconds'",
            _ => "datetime(heartbeat, '-121 seconds') || '.000000'",
        };
        let stale = [ours[1], theirs[1]];
        test.execute(&format!(
            "UPDATE trial_heartbeats SET heartbeat = {earlier} WHERE trial_id IN ({}, {})",
            stale[0], stale[1]
        ));
        assert_eq!(optuna(version, "stale", &test.location(), &["s"]), json!(stale));
        assert_eq!(storage.fail_stale_trials(study).unwrap(), stale);
        assert_eq!(optuna(version, "stale", &test.location(), &["s"]), json!([]));
    }
}

/// A table definition with normalized white space and punctuation.
fn normalize(sql: &str) -> String {
    let spaced = sql.replace(['(', ')', ','], " ").replace("IF NOT EXISTS", "");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs Optuna: cargo xtask optuna"]
fn tables_equal_those_of_optuna() {
    let tables = |test: &TestStorage| -> Vec<Vec<String>> {
        match &test.server {
            Some(server) => {
                POSTGRESQL_TABLES.iter().flat_map(|sql| server.query_texts(sql)).collect()
            }
            None => {
                let file = rusqlite::Connection::open(test.path()).unwrap();
                let sql = "SELECT name, coalesce(sql, '') FROM sqlite_master ORDER BY name";
                let mut statement = file.prepare(sql).unwrap();
                let row = |row: &rusqlite::Row<'_>| {
                    Ok(vec![row.get::<_, String>(0)?, normalize(&row.get::<_, String>(1)?)])
                };
                statement.query_map([], row).unwrap().map(Result::unwrap).collect()
            }
        }
    };
    for kind in [Kind::Sqlite, Kind::Postgresql] {
        let [ours, theirs] = [(); 2].map(|()| TestStorage::new(kind));
        ours.open();
        for version in VERSIONS {
            assert_eq!(optuna(version, "create", &theirs.location(), &[]), "v3.2.0.a");
            assert_eq!(optuna(version, "create", &ours.location(), &[]), "v3.2.0.a");
        }
        let [ours, theirs] = [tables(&ours), tables(&theirs)];
        assert!(ours.len() >= 13, "{ours:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

/// Columns, constraints, indices and enum types.
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
fn dashboard_shows_a_study() {
    KINDS.into_iter().for_each(|kind| check_dashboard(&TestStorage::new(kind)));
}

fn check_dashboard(test: &TestStorage) {
    let (storage, study) = test.open();
    let storage = storage.as_ref();
    for value in [0.5, f64::NAN, 0.75] {
        run_trial(storage, study, TrialOutcome::Complete(value));
    }
    let figure =
        json!({"data": [{"y": vec![0.125; 2000]}], "layout": {"title": {"text": "filter"}}});
    let short = json!({"data": [{"y": [1, 2]}], "layout": {}});
    let set = |make: &dyn Fn(&Attributes) -> Attributes| {
        let current = storage.study_attrs(study, AttrKind::System).unwrap();
        storage.set_study_attrs(study, AttrKind::System, &make(&current)).unwrap();
    };
    set(&|_| dashboard::metric_name("validation accuracy"));
    set(&|current| dashboard::note(current, &"old ".repeat(2000)));
    set(&|current| dashboard::note(current, "# Notes\nab\u{e4}c"));
    set(&|current| dashboard::plot(current, "response", &figure));
    set(&|current| dashboard::plot(current, "short", &figure));
    set(&|current| dashboard::plot(current, "short", &short));

    let shown = wait_for_output(start_script("5", "dashboard.py", &[&test.location()]));
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
