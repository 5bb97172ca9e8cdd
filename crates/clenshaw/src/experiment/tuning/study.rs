//! The identity of a study, stored in its user attributes, and its notes and plots in the dashboard.

use super::{DIRECTION, TuneRequest};
use crate::data::TableOptions;
use crate::error::{Error, Result};
use crate::experiment::Request;
use crate::filter::Response;
use clenshaw_tune::{AttrKind, Attributes, Storage, dashboard};
use serde_json::{Map, Value, json};

/// The attribute with the options for the user's own tables; absent if they are the defaults.
const TABLE: &str = "table";
/// Number of points in the plot of a filter.
const PLOT_POINTS: usize = 101;

/// Creates the study or opens an existing one, requeues the trials of dead workers, and returns the study's
/// id. Fails if the identity of an existing study differs from the request; a study without an identity, such as
/// one created by another program, gets that of the request.
pub(super) fn open(request: &TuneRequest, storage: &dyn Storage) -> Result<u64> {
    let study = storage.open_study(&request.study, DIRECTION)?;
    let current = storage.study_attrs(study, AttrKind::User)?;
    if current.contains_key("graph") {
        check_identity(request, &current)?;
    } else {
        store_description(request, storage, study)?;
    }
    storage.requeue_stale_trials(study)?;
    Ok(study)
}

/// The attributes that must match when a study is resumed, see [`check_identity`].
fn identity(request: &TuneRequest) -> Attributes {
    let training = &request.training;
    let attrs = [
        ("graph", json!(training.graph)),
        ("model", json!(training.model.name)),
        ("split", json!(training.split.to_string())),
        ("splits", json!(training.runs)),
        ("seed", json!(training.seed)),
        ("settings", Value::Object(fixed_settings(request))),
    ];
    let mut attrs: Attributes = attrs.map(|(key, value)| (key.to_owned(), value)).into();
    if training.table != TableOptions::default() {
        attrs.insert(TABLE.into(), json!(training.table));
    }
    attrs
}

/// The training request that the attributes of a study describe; `None` if one of them, except for [`TABLE`],
/// is missing, or if one cannot be read, as in a study that was not created by [`tune`](super::tune()).
///
/// # Errors
/// If this version does not accept the model, the split or a setting.
pub(in crate::experiment) fn stored_request(attrs: &Attributes) -> Option<Result<Request>> {
    let text = |key: &str| attrs.get(key).and_then(Value::as_str);
    let (graph, model, split) = (text("graph")?, text("model")?, text("split")?);
    let seed = attrs.get("seed").and_then(Value::as_u64)?;
    let runs = attrs.get("splits").and_then(Value::as_u64)? as usize;
    let settings = attrs.get("settings").and_then(Value::as_object)?;
    let table = match attrs.get(TABLE) {
        Some(table) => serde_json::from_value(table.clone()).ok()?,
        None => TableOptions::default(),
    };
    let read = || {
        let mut request = Request { runs, seed, table, ..Request::new(graph, model)? };
        request.set("split", split)?;
        for (key, value) in settings {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            request.hyper.set(key, &value)?;
        }
        Ok(request)
    };
    Some(read())
}

/// The hyper-parameters that are not tuned, without the defaults that records omit; see [`Params::recorded`].
///
/// [`Params::recorded`]: crate::hyper::Params::recorded
fn fixed_settings(request: &TuneRequest) -> Map<String, Value> {
    let fixed =
        request.training.hyper.recorded().filter(|(h, _)| !request.space.contains_key(h.name));
    fixed.map(|(hyper, value)| (hyper.name.to_owned(), json!(value))).collect()
}

/// Rejects a study with a different graph, model, kind or number of splits, seed, table options or
/// [fixed settings](fixed_settings).
fn check_identity(request: &TuneRequest, attrs: &Attributes) -> Result<()> {
    let mismatch = |problem: String| {
        let place = format!("study `{}`", request.study);
        Err(Error::Data { place, problem })
    };
    let identity = identity(request);
    for key in ["graph", "model", "split", "splits", "seed", TABLE] {
        let value = |attrs: &'_ Attributes| attrs.get(key).cloned().unwrap_or_default();
        let (stored, requested) = (value(attrs), value(&identity));
        if stored != requested {
            return mismatch(format!("its `{key}` is {stored}, not {requested}"));
        }
    }
    let (requested, stored) =
        (fixed_settings(request), attrs.get("settings").and_then(Value::as_object));
    let stored = stored.cloned().unwrap_or_default();
    for hyper in request.training.model.hyper_params() {
        let (name, default) = (hyper.name, json!(hyper.default));
        match (stored.get(name), requested.get(name)) {
            (Some(stored), Some(requested)) if stored != requested => {
                return mismatch(format!("its `{name}` is {stored}, not {requested}"));
            }
            (Some(stored), None) if request.space.contains_key(name) => {
                return mismatch(format!("its `{name}` is fixed at {stored}, not tuned"));
            }
            // A default that records omit.
            (Some(stored), None) => {
                return mismatch(format!("its `{name}` is {stored}, not {default}"));
            }
            (None, Some(requested)) if hyper.omit_default => {
                return mismatch(format!("its `{name}` is {default} or tuned, not {requested}"));
            }
            (None, Some(requested)) => {
                return mismatch(format!("its `{name}` is tuned, not fixed at {requested}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Stores the identity, the version, the name of the metric and the note in a study without an identity.
fn store_description(request: &TuneRequest, storage: &dyn Storage, study: u64) -> Result<()> {
    let mut user = identity(request);
    user.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    storage.set_study_attrs(study, AttrKind::User, &user)?;
    let mut system = dashboard::metric_name(&format!("validation {}", request.score_name()));
    let current = storage.study_attrs(study, AttrKind::System)?;
    system.extend(dashboard::note(&current, &note(request)));
    Ok(storage.set_study_attrs(study, AttrKind::System, &system)?)
}

/// The note shown in the dashboard, in Markdown.
fn note(request: &TuneRequest) -> String {
    let training = &request.training;
    let (model, graph, split) = (training.model.name, &training.graph, &training.split);
    let (n, seed) = (training.runs, training.seed);
    let names: Vec<String> = request.space.keys().map(|name| format!("`{name}`")).collect();
    let splits = if n == 1 { "split" } else { "splits" };
    let score = request.score_name();
    let mut note = format!(
        "**{model}** on **{graph}**: mean validation {score} over {n} {splits} (`{split}`), \
         seeds from {seed}. Test labels are not used.\n\nTuned: {}.\n",
        names.join(", ")
    );
    if !request.command.is_empty() {
        note += &format!("\n```\n{}\n```\n", request.command);
    }
    note
}

/// Stores a plot for the dashboard: the filter `response` that trial `number`, the best one, learned on the
/// first split.
pub(super) fn plot_filter(
    storage: &dyn Storage,
    study: u64,
    number: u64,
    response: &Response,
) -> Result<()> {
    let rounded = |v: f64| (v * 1e6).round() / 1e6;
    let (mu, h): (Vec<f64>, Vec<f64>) =
        response.sample(PLOT_POINTS).into_iter().map(|(mu, h)| (rounded(mu), rounded(h))).unzip();
    let title = format!("Filter of the best trial ({number}) on the first split");
    let figure = json!({
        "data": [{"type": "scatter", "mode": "lines", "name": "h(mu)", "x": mu, "y": h}],
        "layout": {
            "title": {"text": title},
            "xaxis": {"title": {"text": "mu, eigenvalue of the operator"}},
            "yaxis": {"title": {"text": "h(mu)"}},
        },
    });
    let current = storage.study_attrs(study, AttrKind::System)?;
    let plot = dashboard::plot(&current, "filter", &figure);
    Ok(storage.set_study_attrs(study, AttrKind::System, &plot)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_that_is_not_stored_is_not_called_tuned() {
        let request = |class_weights: &str| {
            let mut request = TuneRequest::new(Request::new("csbm", "gcn").unwrap(), "s");
            request.fix("class_weights", class_weights).unwrap();
            request
        };
        let resume = |before: &str, now: &str| {
            check_identity(&request(now), &identity(&request(before))).unwrap_err().to_string()
        };
        let expected = "study `s`: its `class_weights` is false or tuned, not true";
        assert_eq!(resume("false", "true"), expected);
        assert_eq!(resume("true", "false"), "study `s`: its `class_weights` is true, not false");
    }
}
