// A tuning study: history of values, parallel coordinates, importance, best settings, table of trials.

/** Importances from fewer complete trials are marked as uncertain. */
const FEW_TRIALS = 30;

function studySections(study) {
  const complete = study.trials.filter((trial) => trial.state === "complete" && isNumber(trial.value));
  const best = complete.find((trial) => trial.number === study.best?.number);
  const title = `Study ${shortName(study.name, 60)}`;
  if (!best) {
    const reason = study.trials.length ? `No trial is complete yet: ${trialCounts(study)}.` : "The study has no trials yet.";
    return [section("study", title, note(reason), studyNotes(study), studyFacts(study)), study.trials.length ? trialSection(study) : null].filter(Boolean);
  }
  return [
    section("study", title, studyHeadline(study, best), studyNotes(study), historyChart(study, complete, best), note(historyNote(study)), studyFacts(study)),
    pairOf(bestSettings(study, best), importanceSection(study, complete)),
    section("parallel", "Parallel coordinates", parallelChart(complete, best, study), note("One line per complete trial, from its settings to its value on the right; better trials are darker, and the best one is highlighted.")),
    trialSection(study),
  ];
}

const TRIAL_STATES = ["complete", "pruned", "failed", "running", "waiting"];

function trialCounts(study) {
  const count = (state) => study.trials.filter((trial) => trial.state === state).length;
  return TRIAL_STATES.map((state) => [state, count(state)]).filter(([, n]) => n > 0).map(([state, n]) => `${integer(n)} ${state}`).join(", ");
}

function studyHeadline(study, best) {
  const verb = study.direction === "minimize" ? "minimises" : "maximises";
  const command = study.best.command ? " Score its settings on test nodes with the command below." : "";
  const advice = study.is_share ? ` The best of many trials is optimistic: the same validation nodes chose it.${command}` : "";
  return el("div", null,
    el("p", { class: "score" }, studyValue(study, best.value)),
    el("p", { class: "score-name" }, `${study.objective}, best so far: trial ${best.number} of ${integer(study.trials.length)}`),
    note(`Trials: ${trialCounts(study)}. The study ${verb} this value.${advice}`));
}

function studyNotes(study) {
  return study.notes.length ? el("div", { class: "warnings", role: "note" }, el("ul", null, study.notes.map((line) => el("li", null, line)))) : null;
}

function studyFacts(study) {
  return factList([...study.facts, ["storage", study.location]]);
}

function studyValue(study, value, digits = 2) {
  return study.is_share ? percent(value, digits) : decimal(value, 5);
}

/** Null is Python's None, a value like any other. */
const settingText = (value) => (value === null ? "none" : plainValue(value));

function trialLines(study, trial) {
  const value = `trial ${trial.number}, ${trial.state}: ${studyValue(study, trial.value)}`;
  return [value, ...Object.entries(trial.params).map(([name, setting]) => `${shortName(name)}: ${shortName(settingText(setting), 40)}`)];
}

// History

function historyChart(study, complete, best) {
  const point = (trial, className, radius) => ({ x: trial.number, y: trial.value, className, radius, lines: trialLines(study, trial) });
  const pruned = study.trials.filter((trial) => trial.state === "pruned" && isNumber(trial.value));
  const items = [
    ...pruned.map((trial) => point(trial, "pruned", 3.5)),
    ...complete.map((trial) => (trial === best ? point(trial, "s1", 6) : point(trial, "s0", 4.5))),
  ];
  const last = Math.max(1, maximum(items.map((item) => item.x)));
  // Pruned values may be far below: they must not squeeze the complete ones.
  const shown = complete.map((trial) => trial.value);
  return chart({
    id: "history-chart", pick: "xy", height: 300, label: `${study.objective} of every trial`,
    x: { domain: [-0.5, last + 0.5], label: "trial", integers: true },
    y: { domain: paddedDomain(shown.length > 1 ? shown : items.map((item) => item.y)), label: study.objective, format: (value) => studyValue(study, value, 1) },
    layers: [{ type: "line", name: "best so far", ...bestSoFar(study, complete, last), className: "s1", silent: true }, { type: "points", className: "s0", items: items.filter((item) => inDomain(item, shown)) }],
  });
}

function inDomain(item, shown) {
  if (shown.length < 2) return true;
  const [low, high] = paddedDomain(shown);
  return item.y >= low && item.y <= high;
}

/** A step line through the best value after every trial. */
function bestSoFar(study, complete, last) {
  const isBetter = study.direction === "minimize" ? (a, b) => a < b : (a, b) => a > b;
  const steps = { x: [], y: [] };
  let leader = null;
  for (const trial of [...complete].sort((a, b) => a.number - b.number)) {
    const previous = leader ?? trial.value;
    leader = isBetter(trial.value, previous) ? trial.value : previous;
    steps.x.push(trial.number, trial.number);
    steps.y.push(previous, leader);
  }
  steps.x.push(last + 0.5);
  steps.y.push(leader);
  return steps;
}

function historyNote(study) {
  const complete = study.trials.filter((trial) => trial.state === "complete" && isNumber(trial.value)).map((trial) => trial.value);
  const pruned = study.trials.filter((trial) => trial.state === "pruned" && isNumber(trial.value));
  const outside = pruned.filter((trial) => !inDomain({ y: trial.value }, complete)).length;
  if (!pruned.length) return "One dot per complete trial, in the order in which they started.";
  const hidden = outside ? ` ${plural(outside, "pruned trial")} outside the range of the complete ones ${outside === 1 ? "is" : "are"} not drawn.` : "";
  return `One dot per complete trial, in the order in which they started; rings: last value of pruned trials.${hidden}`;
}

// Importance and best settings

function importanceSection(study, complete) {
  if (!study.importances.length) return missingSection("importance", "Importance", "Not available: it needs at least four complete trials with parameters.");
  const items = study.importances.map((entry) => ({ name: shortName(entry.name, 40), value: entry.importance, text: percent(entry.importance) }));
  const uncertain = complete.length < FEW_TRIALS ? ` From ${plural(complete.length, "trial")} this is only a rough guide.` : "";
  return section("importance", "Importance", barList(items, "Importance of the hyper-parameters"),
    note(`How much the values of a hyper-parameter in the best tenth of the trials differ from its values in all trials (PED-ANOVA); the sum is 100%.${uncertain}`));
}

function bestSettings(study, best) {
  const facts = Object.entries(best.params).map(([name, value]) => [name, settingText(value)]);
  const fixed = Object.entries(study.fixed).map(([name, value]) => `${name} ${plainValue(value)}`);
  return section("best", `Best settings (trial ${best.number})`, facts.length ? factList(facts) : note("This trial has no settings."),
    fixed.length ? note(`Fixed in all trials: ${fixed.join(", ")}.`) : null, trainingCommand(study));
}

function trainingCommand(study) {
  const { command } = study.best;
  if (!command) return study.facts.length ? null : note("The study does not record a model and a graph of clenshaw, so there is no command that trains these settings.");
  return el("div", null, el("h3", null, "Train with these settings"), commandBlock(command, "best-command"));
}

// Parallel coordinates

/** Position of every trial's value of one hyper-parameter, from 0 to 1, or null; text and flags are spread evenly. */
function parallelParameter(parameter, trials) {
  const { name, kind, log } = parameter;
  const values = trials.map((trial) => trial.params[name]).filter((value) => value !== undefined && value !== null);
  if (kind === "categorical" || !values.every(isNumber)) return categoryParameter(name, trials);
  const [low, high] = [minimum(values), maximum(values)];
  const place = scale([low, high], 0, 1, log && low > 0 ? "log" : "linear");
  const ticks = low === high ? [{ at: 0.5, text: decimal(low) }] : [{ at: 0, text: decimal(low) }, { at: 1, text: decimal(high) }];
  const position = ({ trial }) => (!isNumber(trial.params[name]) ? null : low < high ? place(trial.params[name]) : 0.5);
  return { name: log ? `${name} (log)` : name, ticks: values.length ? ticks : [], position };
}

function categoryParameter(name, trials) {
  const values = trials.filter((trial) => name in trial.params).map((trial) => trial.params[name]);
  const sorted = values.every(isNumber) ? values.sort((a, b) => a - b).map(plainValue) : values.map(settingText).sort(collator.compare);
  const choices = [...new Set(sorted)];
  const at = (choice) => (choices.length > 1 ? choices.indexOf(choice) / (choices.length - 1) : 0.5);
  return { name, ticks: choices.map((choice) => ({ at: at(choice), text: choice })), position: ({ trial }) => (name in trial.params ? at(settingText(trial.params[name])) : null) };
}

function parallelChart(complete, best, study) {
  const parameters = study.parameters.filter(({ name }) => complete.some((trial) => name in trial.params));
  if (!parameters.length) return note("The trials have no settings.");
  const [low, high] = [minimum(complete.map((trial) => trial.value)), maximum(complete.map((trial) => trial.value))];
  const place = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const ticks = high > low ? [{ at: 0, text: studyValue(study, low) }, { at: 1, text: studyValue(study, high) }] : [{ at: 0.5, text: studyValue(study, low) }];
  const valueAxis = { name: study.objective, ticks, position: ({ trial }) => place(trial.value) };
  const goodness = (trial) => (study.direction === "minimize" ? 1 - place(trial.value) : place(trial.value));
  const lines = [...complete].sort((a, b) => goodness(a) - goodness(b)).map((trial) => ({
    trial, strength: goodness(trial), best: trial === best,
    lines: trialLines(study, trial),
  }));
  return chart({ id: "parallel-chart", draw: drawParallel, pick: "dots", height: 320, label: "Parallel coordinates of the trials", axes: [...parameters.map((parameter) => parallelParameter(parameter, complete)), valueAxis], lines });
}

// Table

function trialSection(study) {
  const columns = [
    { title: "trial", numeric: true, value: (trial) => trial.number, cell: (trial) => String(trial.number) },
    { title: shortName(study.objective, 40), numeric: true, value: (trial) => trial.value, cell: (trial) => (isNumber(trial.value) ? studyValue(study, trial.value) : "–") },
    { title: "state", value: (trial) => trial.state, cell: (trial) => (trial.reason ? `${trial.state}: ${shortName(trial.reason, 80)}` : trial.state) },
    ...study.parameters.map(({ name }) => ({
      title: shortName(name), numeric: study.trials.every((trial) => !(name in trial.params) || isNumber(trial.params[name])),
      value: (trial) => (typeof trial.params[name] === "number" ? trial.params[name] : name in trial.params ? settingText(trial.params[name]) : null),
      cell: (trial) => (name in trial.params ? settingText(trial.params[name]) : "–"),
    })),
    { title: "time", numeric: true, value: (trial) => trial.seconds, cell: (trial) => (isNumber(trial.seconds) ? duration(trial.seconds) : "–") },
  ];
  const inState = (state) => () => study.trials.filter((trial) => trial.state === state);
  const present = TRIAL_STATES.filter((state) => study.trials.some((trial) => trial.state === state));
  const views = [...present.map((state) => ({ name: state, rows: inState(state) })), { name: "all trials", rows: () => study.trials }];
  return section("trials", "Trials", dataTable({
    key: "trials", label: "Trials", views, columns, sort: { column: 1, descending: study.direction !== "minimize" }, pageSize: 10,
    searchText: (trial) => `${trial.number} ${trial.state} ${trial.reason ?? ""} ${Object.values(trial.params).map(settingText).join(" ")}`,
  }));
}
