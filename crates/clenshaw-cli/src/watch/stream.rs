//! The events of one open page: first the whole state, then only what has changed.
//!
//! ```text
//! state     what is followed, and problems
//! items     runs whose entry in the list has changed, and ids that are gone
//! run       the selected run, completely
//! epochs    what has been added to it
//! report    the report of the selected run, once it is finished
//! study     the study without its trials, and the trials that have changed
//! ```

use super::details::LoadState;
use super::state::{MAX_FOLDERS, WatchState};
use clenshaw::experiment::{ProgressReport, ProgressUpdate, RunState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

/// The name and the data of an event.
type Event = (&'static str, Arc<str>);

/// What a page has received.
pub struct Subscription {
    read_only: bool,
    /// The id of the run that the page shows.
    selected: Option<usize>,
    /// The data of the last event `state`.
    state: String,
    /// The entries of the list, as JSON.
    items: BTreeMap<usize, String>,
    run: Option<SentRun>,
    /// Whether the report of the run, or the reason why it cannot be made, has been sent.
    has_report: bool,
    study: Option<Arc<Value>>,
}

/// What a page has received of the selected run.
struct SentRun {
    version: RunVersion,
    /// The number of epochs.
    epochs: usize,
    /// The epoch of the last filter; 0 if there is none.
    filter_epoch: usize,
}

/// If any of these change, the run is sent completely.
#[derive(PartialEq)]
struct RunVersion {
    state: RunState,
    started: Option<SystemTime>,
    has_graph: bool,
    /// Whether the graph cannot be loaded.
    has_problem: bool,
    has_filter: bool,
    /// The number of finished runs in the folder.
    n_finished: usize,
}

impl Subscription {
    /// The subscription of a page that shows this run or, without one, the [`WatchState::default_run`].
    pub fn new(selected: Option<usize>, read_only: bool) -> Self {
        Self {
            read_only,
            selected,
            state: String::new(),
            items: BTreeMap::new(),
            run: None,
            has_report: false,
            study: None,
        }
    }

    /// The events that bring the page up to date, which count as sent.
    pub fn events(&mut self, state: &mut WatchState) -> Vec<Event> {
        let mut events = vec![];
        events.extend(self.state_event(state));
        match &state.study {
            Some(study) => events.extend(self.study_event(&Arc::clone(&study.report))),
            None => {
                events.extend(self.items_event(state));
                events.extend(self.run_event(state));
                events.extend(self.report_event(state));
            }
        }
        events
    }

    /// The event `state`; `None` if nothing has changed.
    fn state_event(&mut self, state: &WatchState) -> Option<Event> {
        let data = json!({
            "program": concat!("clenshaw ", env!("CARGO_PKG_VERSION")),
            "place": state.place,
            "kind": if state.study.is_some() { "study" } else { "runs" },
            "readOnly": self.read_only,
            "problem": state.problem,
            "hidden": state.n_folders.saturating_sub(MAX_FOLDERS),
        });
        let data = data.to_string();
        let is_new = data != self.state;
        is_new.then(|| {
            self.state.clone_from(&data);
            ("state", data.into())
        })
    }

    /// The event `items`; `None` if no entry of the list has changed or gone.
    fn items_event(&mut self, state: &WatchState) -> Option<Event> {
        let items = state.items().into_iter();
        let items: BTreeMap<usize, String> = items
            .map(|item| (item.id, serde_json::to_string(&item).expect("the entry is plain")))
            .collect();
        let changed: Vec<&str> = items
            .iter()
            .filter(|(id, item)| self.items.get(id) != Some(item))
            .map(|(_, item)| item.as_str())
            .collect();
        let removed: Vec<&usize> = self.items.keys().filter(|id| !items.contains_key(id)).collect();
        let event = (!changed.is_empty() || !removed.is_empty()).then(|| {
            let data = format!("{{\"changed\":[{}],\"removed\":{removed:?}}}", changed.join(","));
            ("items", data.into())
        });
        self.items = items;
        event
    }

    /// The event `run` or `epochs`; `None` if there is no run or nothing has changed.
    fn run_event(&mut self, state: &mut WatchState) -> Option<Event> {
        let id = self.selected.or_else(|| state.default_run())?;
        self.selected = Some(id);
        let (graph, problem) = match state.graph(id)? {
            LoadState::Pending => (None, None),
            LoadState::Ready(graph) => (Some(graph), None),
            LoadState::Failed(problem) => (None, Some(problem)),
        };
        let (folder, run) = state.find(id)?;
        let progress = run.progress();
        let n_finished = folder.runs().iter().filter(|run| run.record.is_some()).count();
        let now = SentRun {
            version: RunVersion {
                state: run.state,
                started: folder.started(),
                has_graph: graph.is_some(),
                has_problem: problem.is_some(),
                has_filter: !progress.filters.is_empty(),
                n_finished,
            },
            epochs: progress.epochs.len(),
            filter_epoch: progress.filters.last().map_or(0, |filter| filter.epoch),
        };
        let before = self.run.take();
        let event = match before {
            Some(before) if before.version == now.version && before.epochs <= now.epochs => {
                let update = ProgressUpdate::new(progress, before.epochs, before.filter_epoch);
                update.map(|update| ("epochs", json!({ "id": id, "update": update })))
            }
            before => {
                let is_same =
                    before.is_some_and(|before| before.version.started == now.version.started);
                self.has_report &= is_same && run.state == RunState::Finished;
                let report = ProgressReport::new(folder, run, graph.as_deref());
                let graph = graph.as_deref();
                let data = json!({ "id": id, "run": report, "graph": graph, "problem": problem.as_deref() });
                Some(("run", data))
            }
        };
        self.run = Some(now);
        event.map(|(name, data)| (name, data.to_string().into()))
    }

    /// The event `report`: the report of the selected run, or the reason why it cannot be made. `None` unless the
    /// run is finished, the report is no longer pending, and the event has not been sent.
    fn report_event(&mut self, state: &mut WatchState) -> Option<Event> {
        let id = self.selected.filter(|_| !self.has_report)?;
        if state.find(id)?.1.state != RunState::Finished {
            return None;
        }
        let data = match state.report(id)? {
            LoadState::Pending => return None,
            LoadState::Ready(report) => format!("{{\"id\":{id},\"report\":{report}}}"),
            LoadState::Failed(problem) => json!({ "id": id, "problem": *problem }).to_string(),
        };
        self.has_report = true;
        Some(("report", data.into()))
    }

    /// The event `study`; `None` if nothing has changed.
    fn study_event(&mut self, report: &Arc<Value>) -> Option<Event> {
        let before = self.study.replace(Arc::clone(report));
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, report) || before == report) {
            return None;
        }
        let trials = |report: &Value| report["study"]["trials"].as_array().cloned();
        let known = before.and_then(|before| trials(&before)).unwrap_or_default();
        let changed: Vec<Value> = trials(report)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .filter(|(i, trial)| known.get(*i) != Some(trial))
            .map(|(_, trial)| trial)
            .collect();
        let mut rest = Value::clone(report);
        rest["study"]["trials"] = json!([]);
        let data = json!({ "report": rest, "trials": changed, "first": known.is_empty() });
        Some(("study", data.to_string().into()))
    }
}
