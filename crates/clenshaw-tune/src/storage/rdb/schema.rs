//! Optuna's thirteen tables, as created by its versions 4 and 5.
//!
//! Names in braces are placeholders for column types, which differ between databases.

use super::connection::{Connection, Dialect, SqlError, SqlResult};

/// The schema version of Optuna 3.2 to 5.
const VERSION: &str = "v3.2.0.a";
/// The schema version in its older form, and the Optuna version to record as the creator of the tables.
const LEGACY: (u64, &str) = (12, "5.0.0");

/// The statements that create the tables and their indices.
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
     intermediate_value_type {INTERMEDIATE_VALUE_TYPE} NOT NULL, PRIMARY KEY (trial_intermediate_value_id), \
     UNIQUE (trial_id, step), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS trial_heartbeats (trial_heartbeat_id {SERIAL} NOT NULL, \
     trial_id INTEGER NOT NULL, heartbeat {TIME} NOT NULL, PRIMARY KEY (trial_heartbeat_id), \
     UNIQUE (trial_id), FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL, \
     CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
];

/// Whether all tables exist. Their version is stored last, so a stored version means that they do.
///
/// # Errors
/// If the stored version is not supported.
pub(super) fn exists(db: &mut dyn Connection) -> SqlResult<bool> {
    if has_table(db, "alembic_version")? {
        let version = db.query_first("SELECT version_num FROM alembic_version", &[])?;
        if let Some(version) = version {
            return check_version(version.text(0)?).map(|()| true);
        }
    }
    if has_table(db, "version_info")? {
        let number = db.query_first("SELECT schema_version FROM version_info", &[])?;
        if let Some(number) = number.map(|row| row.u64(0)).transpose()?
            && number != LEGACY.0
        {
            return Err(unsupported(&number.to_string()));
        }
    }
    Ok(false)
}

fn has_table(db: &mut dyn Connection, name: &str) -> SqlResult<bool> {
    Ok(db.query_first(db.dialect().has_table, &[name.into()])?.is_some())
}

fn check_version(version: &str) -> SqlResult<()> {
    if version == VERSION { Ok(()) } else { Err(unsupported(version)) }
}

/// The error for a schema of another version.
fn unsupported(version: &str) -> SqlError {
    SqlError::Rejected(format!(
        "its schema has version `{version}`; expected `{VERSION}`, the version of Optuna 3.2 to 5; upgrade \
         an older one with `optuna storage upgrade`, or use another database"
    ))
}

/// Creates the missing tables and types, and stores the version, unless another worker already has.
pub(super) fn create(db: &mut dyn Connection) -> SqlResult<()> {
    let dialect = db.dialect();
    if !dialect.lock_schema.is_empty() {
        db.execute(dialect.lock_schema, &[])?;
    }
    if exists(db)? {
        return Ok(());
    }
    for (name, values) in dialect.enums {
        if db.query_first(dialect.has_type, &[(*name).into()])?.is_none() {
            db.execute_batch(&format!("CREATE TYPE {name} AS ENUM ({values})"))?;
        }
    }
    for table in TABLES {
        db.execute_batch(&fill_types(dialect, table))?;
    }
    db.execute(
        "INSERT INTO version_info (version_info_id, schema_version, library_version) \
         VALUES (1, $1, $2) ON CONFLICT DO NOTHING",
        &[LEGACY.0.into(), LEGACY.1.into()],
    )?;
    db.execute(
        "INSERT INTO alembic_version (version_num) VALUES ($1) ON CONFLICT DO NOTHING",
        &[VERSION.into()],
    )?;
    Ok(())
}

/// Replaces the placeholders of a statement with the types of a database.
fn fill_types(dialect: &Dialect, table: &str) -> String {
    let fill = |sql: String, (placeholder, name): &(&str, &str)| {
        sql.replace(&format!("{{{placeholder}}}"), name)
    };
    dialect.types.iter().fold(table.to_owned(), fill)
}
