//! Optuna's thirteen tables, as its versions 4 and 5 make and expect them.
//!
//! A word in braces is a type that databases name differently.

use super::connection::{Connection, Dialect, Fault, Told};

/// The version of the schema that Optuna has had since 3.2, by which it knows its tables.
const VERSION: &str = "v3.2.0.a";
/// The number that stood for the version before, and who is said to have made the tables.
const LEGACY: (u64, &str) = (12, "5.0.0");

const TABLES: [&str; 15] = [
    "CREATE TABLE IF NOT EXISTS studies (study_id {SERIAL} NOT NULL, \
     study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id))",
    "CREATE UNIQUE INDEX IF NOT EXISTS ix_studies_study_name ON studies (study_name)",
    "CREATE TABLE IF NOT EXISTS version_info (version_info_id INTEGER NOT NULL, \
     schema_version INTEGER, library_version VARCHAR(256), PRIMARY KEY (version_info_id), \
     CHECK (version_info_id=1))",
    "CREATE TABLE IF NOT EXISTS study_directions (study_direction_id {SERIAL} NOT NULL, \
     direction {DIRECTION} NOT NULL, study_id INTEGER NOT NULL, objective INTEGER NOT NULL, \
     PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective), \
     FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE IF NOT EXISTS study_user_attributes (study_user_attribute_id {SERIAL} NOT NULL, \
     study_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, \
     PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, \"key\"), \
     FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE IF NOT EXISTS study_system_attributes (\
     study_system_attribute_id {SERIAL} NOT NULL, study_id INTEGER, \"key\" VARCHAR(512), \
     value_json TEXT, PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, \"key\"), \
     FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE IF NOT EXISTS trials (trial_id {SERIAL} NOT NULL, number INTEGER, \
     study_id INTEGER, state {STATE} NOT NULL, datetime_start {TIME}, datetime_complete {TIME}, \
     PRIMARY KEY (trial_id), FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE INDEX IF NOT EXISTS ix_trials_study_id ON trials (study_id)",
    "CREATE TABLE IF NOT EXISTS trial_user_attributes (trial_user_attribute_id {SERIAL} NOT NULL, \
     trial_id INTEGER, \"key\" VARCHAR(512), value_json TEXT, \
     PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, \"key\"), \
     FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_system_attributes (\
     trial_system_attribute_id {SERIAL} NOT NULL, trial_id INTEGER, \"key\" VARCHAR(512), \
     value_json TEXT, PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, \"key\"), \
     FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_params (param_id {SERIAL} NOT NULL, trial_id INTEGER, \
     param_name VARCHAR(512), param_value {REAL}, distribution_json TEXT, PRIMARY KEY (param_id), \
     UNIQUE (trial_id, param_name), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_values (trial_value_id {SERIAL} NOT NULL, \
     trial_id INTEGER NOT NULL, objective INTEGER NOT NULL, value {REAL}, \
     value_type {VALUE_TYPE} NOT NULL, PRIMARY KEY (trial_value_id), \
     UNIQUE (trial_id, objective), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_intermediate_values (\
     trial_intermediate_value_id {SERIAL} NOT NULL, trial_id INTEGER NOT NULL, \
     step INTEGER NOT NULL, intermediate_value {REAL}, \
     intermediate_value_type {REPORT_TYPE} NOT NULL, PRIMARY KEY (trial_intermediate_value_id), \
     UNIQUE (trial_id, step), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_heartbeats (trial_heartbeat_id {SERIAL} NOT NULL, \
     trial_id INTEGER NOT NULL, heartbeat {TIME} NOT NULL, PRIMARY KEY (trial_heartbeat_id), \
     UNIQUE (trial_id), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL, \
     CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
];

/// Whether the tables are there and ours; an error, if they are of another version.
pub(super) fn is_ready(to: &mut dyn Connection) -> Told<bool> {
    if has_table(to, "alembic_version")? {
        let version = to.first("SELECT version_num FROM alembic_version", &[])?;
        if let Some(version) = version {
            return check(version.text(0)?).map(|()| true);
        }
    }
    if has_table(to, "version_info")? {
        let number = to.first("SELECT schema_version FROM version_info", &[])?;
        if let Some(number) = number.map(|row| row.whole(0)).transpose()?
            && number != LEGACY.0
        {
            return Err(other(&format!("number {number}")));
        }
    }
    Ok(false)
}

fn has_table(to: &mut dyn Connection, name: &str) -> Told<bool> {
    Ok(to.first(to.dialect().has_table, &[name.into()])?.is_some())
}

fn check(version: &str) -> Told<()> {
    if version == VERSION { Ok(()) } else { Err(other(version)) }
}

fn other(version: &str) -> Fault {
    Fault::Refused(format!(
        "its schema is version `{version}`, not `{VERSION}`, which Optuna 3.2 to 5 have; bring an older \
         one up to date with `optuna storage upgrade`, or name another database"
    ))
}

/// Makes the tables that are not there.
pub(super) fn make(to: &mut dyn Connection) -> Told<()> {
    let dialect = to.dialect();
    if !dialect.lock_schema.is_empty() {
        to.rows(dialect.lock_schema, &[])?;
    }
    if is_ready(to)? {
        return Ok(());
    }
    for (name, words) in dialect.lists {
        if to.first(dialect.has_type, &[(*name).into()])?.is_none() {
            to.batch(&format!("CREATE TYPE {name} AS ENUM ({words})"))?;
        }
    }
    for table in TABLES {
        to.batch(&typed(dialect, table))?;
    }
    to.rows(
        "INSERT INTO version_info (version_info_id, schema_version, library_version) \
         VALUES (1, $1, $2) ON CONFLICT DO NOTHING",
        &[LEGACY.0.into(), LEGACY.1.into()],
    )?;
    to.rows(
        "INSERT INTO alembic_version (version_num) VALUES ($1) ON CONFLICT DO NOTHING",
        &[VERSION.into()],
    )?;
    Ok(())
}

/// A statement with the types of a database.
fn typed(dialect: &Dialect, table: &str) -> String {
    let put =
        |text: String, (word, kind): &(&str, &str)| text.replace(&format!("{{{word}}}"), kind);
    dialect.types.iter().fold(table.to_owned(), put)
}
