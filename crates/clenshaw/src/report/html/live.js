// A live page: receives events of `clenshaw watch`, keeps the data of the page and draws what has changed.
// The first events after a connection contain the whole state, later ones only what is new.

const RECONNECT_MILLISECONDS = 1000;
const REDRAW_MILLISECONDS = 60;
const PAUSED_MILLISECONDS = 300;
/** The study counts as running for this time after the last change of a trial. */
const STUDY_MILLISECONDS = 5000;
/** Above this number, every second filter of a run in progress is dropped. */
const MAX_LIVE_FRAMES = 120;

const live = {
  source: null, isConnected: false, state: null, items: new Map(), selected: null, shown: null,
  study: null, trials: new Map(), trialTime: 0, message: "", timer: 0, isRunStale: false,
};

function connectLive() {
  live.source?.close();
  const source = new EventSource(live.selected === null ? "events" : `events?run=${live.selected}`);
  live.source = source;
  const listen = (name, handle) => source.addEventListener(name, (event) => {
    if (live.source === source) handle(JSON.parse(event.data));
  });
  source.addEventListener("open", () => {
    live.items.clear();
    live.isConnected = true;
    scheduleRedraw();
  });
  // Connected again by hand, because the selected run may be another one than at first.
  source.addEventListener("error", () => {
    if (live.source !== source) return;
    source.close();
    live.isConnected = false;
    scheduleRedraw();
    setTimeout(() => live.source === source && connectLive(), RECONNECT_MILLISECONDS);
  });
  listen("state", (state) => {
    live.state = state;
    scheduleRedraw();
  });
  listen("items", receiveItems);
  listen("run", receiveRun);
  listen("epochs", receiveEpochs);
  listen("report", receiveReport);
  listen("study", receiveStudy);
}

// Events

function receiveItems({ changed, removed }) {
  const before = live.items.get(live.selected)?.state;
  for (const item of changed) live.items.set(item.id, item);
  for (const id of removed) live.items.delete(id);
  const now = live.items.get(live.selected)?.state;
  if (before && now && before !== now) announce(`The run is ${now}.`);
  scheduleRedraw();
}

function receiveRun({ id, run, graph, problem }) {
  live.selected = id;
  // The report of a finished run has more than its progress.
  if (live.shown?.id === id && live.shown.report && run.state === "finished") return;
  const previous = live.shown?.id === id ? live.shown.run : null;
  // A finished run has no progress file any more; its curves stay until the report arrives.
  if (run.state === "finished" && previous && !run.epochs.train_loss.length) run = { ...run, epochs: previous.epochs, filter: previous.filter };
  live.shown = { id, run, graph, problem, report: null };
  redrawRun();
}

function receiveEpochs({ id, update }) {
  const run = live.shown?.run;
  if (live.shown?.id !== id || run.epochs.train_loss.length !== update.from) return connectLive();
  for (const name of ["train_loss", "val_loss", "val_accuracy"]) run.epochs[name].push(...update.epochs[name]);
  Object.assign(run, { seconds: update.seconds, best_epoch: update.best_epoch });
  if (run.filter && update.filters) addFilters(run, update.filters);
  redrawRun();
}

function addFilters(run, added) {
  const { filter } = run;
  for (const name of ["epochs", "responses", "coefficients"]) filter.history[name].push(...added[name]);
  filter.response = added.responses.at(-1);
  filter.coefficients = added.coefficients.at(-1);
  const label = runLabel(live.shown.id);
  while (filter.history.epochs.length > MAX_LIVE_FRAMES) {
    const last = filter.history.epochs.length - 1;
    for (const name of ["epochs", "responses", "coefficients"]) filter.history[name] = filter.history[name].filter((_, k) => k % 2 === 0 || k === last);
    if (filterFrames.has(label)) filterFrames.set(label, Math.floor(filterFrames.get(label) / 2));
  }
}

function receiveReport({ id, report, problem }) {
  if (live.shown?.id !== id) return;
  live.shown.report = report ?? null;
  live.shown.problem = problem ?? null;
  redrawRun();
}

function receiveStudy({ report, trials, first }) {
  if (first) {
    live.trials.clear();
  } else {
    live.trialTime = Date.now();
    setTimeout(scheduleRedraw, STUDY_MILLISECONDS + 100);
  }
  for (const trial of trials) live.trials.set(trial.number, trial);
  report.study.trials = [...live.trials.values()].sort((a, b) => a.number - b.number);
  live.study = report;
  redrawRun();
}

// Drawing

function redrawRun() {
  live.isRunStale = true;
  scheduleRedraw();
}

/** Several events that arrive together are drawn once. */
function scheduleRedraw(delay = REDRAW_MILLISECONDS) {
  live.timer ||= setTimeout(redraw, delay);
}

const isTextSelected = () => !(getSelection()?.isCollapsed ?? true);

function redraw() {
  live.timer = 0;
  if (pageState.pointerIsDown || isTextSelected()) {
    document.getElementById("live-paused")?.removeAttribute("hidden");
    scheduleRedraw(PAUSED_MILLISECONDS);
    return;
  }
  const focus = rememberFocus();
  document.getElementById("live").replaceChildren(liveSection());
  restoreFocus(focus);
  if (!live.isRunStale) return;
  live.isRunStale = false;
  if (live.study) render({ ...live.study, live: true });
  else if (live.shown) render(runData(live.shown));
}

const EMPTY_GRAPH = { nodes: null, edges: null, features: null, classes: [], unlabelled: null, edge_homophily: null, node_homophily: null, isolated: null, components: null, weighted: false, notes: [], warnings: [] };
const EMPTY_RUN = { metric: "accuracy", summary: { runs: 0, mean: null, std: null, ci95: null }, by_degree: [], by_homophily: [], confusion: null, per_class: null, calibration: null, nodes: null, drawing: null, explanations: null, provenance: {} };

/** The label of a run, unique on this page: sliders, zooms and selections are remembered by it. */
function runLabel(id) {
  const item = live.items.get(id);
  return item ? `${item.folder}, seed ${item.seed}` : `run ${id}`;
}

/** The selected run in the form of a report. */
function runData({ id, run, graph, problem, report }) {
  const item = live.items.get(id);
  const label = runLabel(id);
  if (report) return { ...report, live: true, runs: report.runs.map((finished) => ({ ...finished, label })) };
  const known = graph ?? { ...EMPTY_GRAPH, name: item?.graph ?? "graph", notes: [problem ? `Not available: ${problem}` : "The graph is being loaded."] };
  const state = run.state !== "finished" ? run.state : problem ? `finished, but its report is not available: ${problem}` : "finished, preparing the report";
  return {
    program: live.state?.program ?? "clenshaw", title: `${known.name}, ${run.title}`, live: true, graph: known, comparison: null, study: null,
    runs: [{ ...EMPTY_RUN, ...run, label, state }],
  };
}

function liveSection() {
  const isStudy = live.state?.kind === "study";
  const items = [...live.items.values()].sort((a, b) => Math.floor(b.id / 1e6) - Math.floor(a.id / 1e6) || a.id - b.id);
  return section("followed", isStudy ? "Followed study" : "Followed runs", liveStatus(items, isStudy), isStudy ? null : itemTable(items),
    live.state?.readOnly ? null : stopControls(isStudy));
}

function liveStatus(items, isStudy) {
  const count = (state) => items.filter((item) => item.state === state).length;
  const states = ["running", "waiting", "finished", "interrupted", "failed"].map((state) => [state, count(state)]).filter(([, n]) => n > 0);
  const summary = isStudy ? "" : items.length ? states.map(([state, n]) => `${integer(n)} ${state}`).join(", ") : "no runs yet";
  const lines = [
    live.isConnected ? null : "The connection to clenshaw watch is lost: it has ended or cannot be reached. Trying again.",
    live.state?.problem ? `Problem: ${live.state.problem}` : null,
    live.state?.hidden ? `${plural(live.state.hidden, "older run folder")} not shown.` : null,
    live.message || null,
  ].filter(Boolean);
  return el("div", null,
    el("p", { id: "live-status" }, el("span", { class: "badge" }, live.isConnected ? "connected" : "not connected"), ` ${[live.state?.place, summary].filter(Boolean).join(": ")}`),
    el("p", { id: "live-paused", class: "note-text", hidden: true }, "Not updated while text is selected or the pointer is pressed."),
    lines.length ? el("div", { class: "warnings", role: "note" }, lines.map((line) => el("div", null, line))) : null);
}

function itemTable(items) {
  const share = (value) => (isNumber(value) ? percent(value) : "–");
  const columns = [
    { title: "run", value: (item) => item.order, cell: (item) => itemButton(item) },
    { title: "graph", value: (item) => shortName(item.graph, 40) }, { title: "model", value: (item) => item.model },
    { title: "seed", numeric: true, value: (item) => item.seed, cell: (item) => String(item.seed) },
    { title: "state", value: (item) => item.state, cell: (item) => el("span", { class: `run-state ${item.state}` }, item.stop_requested ? "stopping" : item.state) },
    { title: "epoch", numeric: true, value: (item) => item.epoch, cell: (item) => `${integer(item.epoch)} of ${integer(item.max_epochs)}` },
    { title: "validation accuracy", numeric: true, value: (item) => item.val_accuracy, cell: (item) => share(item.val_accuracy) },
    { title: "test accuracy", numeric: true, value: (item) => item.accuracy, cell: (item) => share(item.accuracy) },
    { title: "time", numeric: true, value: (item) => item.seconds, cell: (item) => (isNumber(item.seconds) ? duration(item.seconds) : "–") },
  ];
  return dataTable({
    key: "followed", label: "Followed runs", rows: items.map((item, order) => ({ ...item, order })), columns, sort: { column: 0, descending: false }, pageSize: 8,
    searchText: (item) => `${item.folder} ${item.graph} ${item.model} ${item.seed} ${item.state}`, empty: "No runs yet.",
  });
}

function itemButton(item) {
  const isShown = item.id === live.selected;
  return el("button", { class: "link", id: `followed-${item.id}`, "aria-pressed": String(isShown), on: { click: () => selectRun(item.id) } }, `${shortName(item.folder, 60)}${isShown ? " (shown below)" : ""}`);
}

function selectRun(id) {
  live.selected = id;
  live.message = "";
  connectLive();
}

// Stopping

function stopControls(isStudy) {
  const item = live.items.get(live.selected);
  const isRunning = () => Date.now() - live.trialTime < STUDY_MILLISECONDS || [...live.trials.values()].some((trial) => trial.state === "running");
  const canStop = isStudy ? isRunning() : item?.active;
  if (!canStop) return null;
  return el("div", { class: "stop-controls" }, el("button", { id: "stop-button", on: { click: () => confirmStop(isStudy, item) } }, isStudy ? "Stop the study …" : "Stop training …"));
}

/** The dialog is outside of what is redrawn. */
function confirmStop(isStudy, item) {
  const target = isStudy ? 0 : item.id;
  const what = isStudy
    ? "All clenshaw workers of this study stop as with Ctrl-C. Trials in progress are queued again; run the same command to resume the study."
    : `The program that trains ${item.folder} stops as with Ctrl-C, with all other runs that it trains. It saves its state; run the same command to resume.`;
  const dialog = el("dialog", { id: "stop-dialog", "aria-labelledby": "stop-title" });
  const close = () => dialog.remove();
  const confirm = () => {
    close();
    requestStop(target);
  };
  dialog.append(el("h2", { id: "stop-title" }, isStudy ? "Stop the study?" : "Stop training?"), el("p", null, what),
    el("div", { class: "stop-controls" }, el("button", { id: "stop-confirm", on: { click: confirm } }, "Stop"), el("button", { id: "stop-cancel", on: { click: close } }, "Continue")));
  dialog.addEventListener("close", close);
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("#stop-cancel").focus();
}

async function requestStop(target) {
  try {
    const response = await fetch(`stop/${target}`, { method: "POST" });
    live.message = response.ok ? "Stop requested. It takes effect at the end of the current epoch." : `Not stopped: ${await response.text()}`;
  } catch (error) {
    live.message = `Not stopped: ${error.message}`;
  }
  announce(live.message);
  scheduleRedraw();
}

document.getElementById("content").before(el("div", { id: "live", class: "live" }));
connectLive();
