//! A study's identity, kept as user attributes, and what the dashboard shows of it.

use super::{DIRECTION, TuneRequest};
use crate::error::{Error, Result};
use crate::filter::Response;
use clenshaw_tune::{Attributes, Notes, Storage, Trial, dashboard};
use serde_json::{Map, Value, json};

/// Points of the filter's plot.
const POINTS: usize = 101;

/// Makes the study or finds it; trials that dead workers have left wait to be taken up again.
pub(super) fn open(asked: &TuneRequest, storage: &dyn Storage) -> Result<u64> {
    let study = storage.study(&asked.study, DIRECTION)?;
    let now = storage.study_attrs(study, Notes::User)?;
    if now.contains_key("graph") {
        compare(asked, &now)?;
    } else {
        introduce(asked, storage, study)?;
    }
    reap(storage, study)?;
    Ok(study)
}

/// Lets the parameters of trials whose workers have died wait for others.
pub(super) fn reap(storage: &dyn Storage, study: u64) -> Result<()> {
    let dead = storage.reap_dead(study)?;
    if dead.is_empty() {
        return Ok(());
    }
    let trials = storage.trials(study)?;
    let mut dead = trials.iter().filter(|trial| dead.contains(&trial.id));
    dead.try_for_each(|trial| wait_again(storage, study, trial))
}

/// Lets a trial's parameters wait for the next worker.
pub(super) fn wait_again(storage: &dyn Storage, study: u64, trial: &Trial) -> Result<()> {
    let intended = trial.intended();
    match intended.is_empty() {
        true => Ok(()),
        false => Ok(storage.enqueue(study, &intended).map(drop)?),
    }
}

/// What must not change while a study goes on.
fn identity(asked: &TuneRequest) -> Attributes {
    let request = &asked.request;
    let attrs = [
        ("graph", json!(request.graph)),
        ("model", json!(request.model.name)),
        ("split", json!(request.split.to_string())),
        ("splits", json!(request.runs)),
        ("seed", json!(request.seed)),
        ("settings", Value::Object(fixed(asked))),
    ];
    attrs.map(|(key, value)| (key.to_owned(), value)).into()
}

/// The hyper-parameters that are not tuned.
fn fixed(asked: &TuneRequest) -> Map<String, Value> {
    let fixed = asked.request.hyper.iter().filter(|(h, _)| !asked.space.contains_key(h.name));
    fixed.map(|(hyper, value)| (hyper.name.to_owned(), json!(value))).collect()
}

/// Refuses a study about something else.
fn compare(asked: &TuneRequest, theirs: &Attributes) -> Result<()> {
    let refused = |problem: String| {
        let place = format!("study `{}`", asked.study);
        Err(Error::Data { place, problem })
    };
    let mut ours = identity(asked);
    ours.remove("settings");
    for (key, here) in &ours {
        let there = theirs.get(key).unwrap_or(&Value::Null);
        if there != here {
            return refused(format!("its {key} is {there}, not {here}"));
        }
    }
    let (here, there) = (fixed(asked), theirs.get("settings").and_then(Value::as_object));
    let there = there.cloned().unwrap_or_default();
    for hyper in asked.request.model.hyper_params() {
        let name = hyper.name;
        match (there.get(name), here.get(name)) {
            (Some(there), Some(here)) if there != here => {
                return refused(format!("its `{name}` is {there}, not {here}"));
            }
            (Some(there), None) => {
                return refused(format!("its `{name}` is fixed at {there}, not tuned"));
            }
            (None, Some(here)) => {
                return refused(format!("its `{name}` is tuned, not fixed at {here}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Says what a new study is about.
fn introduce(asked: &TuneRequest, storage: &dyn Storage, study: u64) -> Result<()> {
    let mut user = identity(asked);
    user.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    storage.set_study_attrs(study, Notes::User, &user)?;
    let mut system = dashboard::metric_name("validation accuracy");
    let now = storage.study_attrs(study, Notes::System)?;
    system.extend(dashboard::note(&now, &note(asked)));
    Ok(storage.set_study_attrs(study, Notes::System, &system)?)
}

/// The dashboard's note, in Markdown.
fn note(asked: &TuneRequest) -> String {
    let request = &asked.request;
    let (model, graph, split) = (request.model.name, &request.graph, &request.split);
    let (n, seed) = (request.runs, request.seed);
    let names: Vec<String> = asked.space.keys().map(|name| format!("`{name}`")).collect();
    let mut note = format!(
        "**{model}** on **{graph}**: validation accuracy, mean over {n} splits (`{split}`), \
         seeds from {seed}. Test labels are not read.\n\nTuned: {}.\n",
        names.join(", ")
    );
    if !asked.command.is_empty() {
        note += &format!("\n```\n{}\n```\n", asked.command);
    }
    note
}

/// Draws the filter of the best trial in the dashboard.
pub(super) fn draw(
    storage: &dyn Storage,
    study: u64,
    number: u64,
    response: &Response,
) -> Result<()> {
    let rounded = |v: f64| (v * 1e6).round() / 1e6;
    let (mu, h): (Vec<f64>, Vec<f64>) =
        response.sample(POINTS).into_iter().map(|(mu, h)| (rounded(mu), rounded(h))).unzip();
    let title = format!("Filter of trial {number}, the best, on the first split");
    let figure = json!({
        "data": [{"type": "scatter", "mode": "lines", "name": "h(mu)", "x": mu, "y": h}],
        "layout": {
            "title": {"text": title},
            "xaxis": {"title": {"text": "mu, eigenvalue of the operator"}},
            "yaxis": {"title": {"text": "h(mu)"}},
        },
    });
    let now = storage.study_attrs(study, Notes::System)?;
    Ok(storage.set_study_attrs(study, Notes::System, &dashboard::plot(&now, "filter", &figure))?)
}
