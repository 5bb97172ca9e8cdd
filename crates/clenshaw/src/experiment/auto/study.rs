//! The identity of a study, stored in its user attributes, and its note in the dashboard.

use super::{AutoRequest, Objective};
use crate::data::{Dataset, TableOptions};
use crate::error::{Error, Result};
use clenshaw_tune::{AttrKind, Attributes, Direction, Storage, dashboard};
use serde_json::{Value, json};

/// The attribute with the digest of the portfolio, which only studies of `auto` have.
pub(in crate::experiment) const PORTFOLIO: &str = "portfolio";
/// The attribute with the seconds that earlier processes have used.
const SECONDS: &str = "seconds";

/// The attributes that must be the same when a study is resumed, in the order in which they are compared.
fn identity(
    request: &AutoRequest,
    objective: Objective,
    dataset: &Dataset,
) -> Vec<(&'static str, Value)> {
    let split = request.split.as_ref().map(ToString::to_string);
    let mut attrs = vec![
        ("graph", json!(request.graph)),
        ("data_sha256", json!(dataset.sha256())),
        ("split", json!(split.unwrap_or_else(|| "default".into()))),
        ("splits", json!(request.splits)),
        ("seed", json!(request.seed)),
        ("metric", json!(objective.word())),
        (PORTFOLIO, json!(request.portfolio.sha256())),
    ];
    if request.table != TableOptions::default() {
        attrs.push(("table", json!(request.table)));
    }
    attrs
}

/// Creates the study or opens an existing one, requeues the trials of dead workers, and returns its id. Fails
/// if an existing study belongs to another request, or the storage fails.
pub(super) fn open(
    request: &AutoRequest,
    objective: Objective,
    dataset: &Dataset,
    storage: &dyn Storage,
) -> Result<u64> {
    let study = storage.open_study(&request.study, Direction::Maximize)?;
    let current = storage.study_attrs(study, AttrKind::User)?;
    let identity = identity(request, objective, dataset);
    if current.contains_key("graph") {
        check(request, &identity, &current)?;
    } else {
        let mut user: Attributes =
            identity.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        user.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        storage.set_study_attrs(study, AttrKind::User, &user)?;
        let mut system = dashboard::metric_name(&format!("validation {}", objective.title()));
        let current = storage.study_attrs(study, AttrKind::System)?;
        system.extend(dashboard::note(&current, &note(request, objective)));
        storage.set_study_attrs(study, AttrKind::System, &system)?;
    }
    storage.requeue_stale_trials(study)?;
    Ok(study)
}

/// Fails if a stored attribute differs from that of the request.
fn check(request: &AutoRequest, identity: &[(&str, Value)], stored: &Attributes) -> Result<()> {
    let missing = json!("missing");
    for (key, value) in identity {
        let before = stored.get(*key).unwrap_or(&missing);
        if before != value {
            let problem = format!("its `{key}` is {before}, not {value}; start again with --fresh");
            return Err(Error::Data { place: format!("study `{}`", request.study), problem });
        }
    }
    Ok(())
}

/// The seconds stored by earlier processes of the study; 0 if there are none.
pub(super) fn earlier_seconds(storage: &dyn Storage, study: u64) -> Result<f64> {
    let attrs = storage.study_attrs(study, AttrKind::User)?;
    Ok(attrs.get(SECONDS).and_then(Value::as_f64).unwrap_or(0.0))
}

/// Stores the seconds that this and earlier processes have used.
pub(super) fn store_seconds(storage: &dyn Storage, study: u64, seconds: f64) -> Result<()> {
    let attrs = [(SECONDS.to_owned(), json!(seconds))].into();
    Ok(storage.set_study_attrs(study, AttrKind::User, &attrs)?)
}

/// The note shown in the dashboard, in Markdown.
fn note(request: &AutoRequest, objective: Objective) -> String {
    let (graph, n, seed) = (&request.graph, request.portfolio.entries.len(), request.seed);
    let mut note = format!(
        "**{graph}**: mean validation {} over up to {} splits, seed {seed}. A portfolio of {n} \
         configurations, then tuning of the best models. Test nodes play no part.\n",
        objective.title(),
        request.splits,
    );
    if !request.command.is_empty() {
        note += &format!("\n```\n{}\n```\n", request.command);
    }
    note
}
