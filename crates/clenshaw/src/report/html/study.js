// A tuning study: history of values, parallel coordinates, importance, best trials.

function studySections(study) {
  const complete = study.trials.filter((trial) => isNumber(trial.value));
  if (!complete.length) return [missingSection("study", `Study ${shortName(study.name, 60)}`, `No trial has finished yet (${plural(study.trials.length, "trial")} started).`)];
  const isBetter = study.direction === "minimize" ? (a, b) => a < b : (a, b) => a > b;
  const best = complete.reduce((leader, trial) => (isBetter(trial.value, leader.value) ? trial : leader));
  return [
    section("study", `Study ${shortName(study.name, 60)}`, studyHeadline(study, complete, best), historyChart(study, complete, best, isBetter)),
    pairOf(importanceSection(study), bestSettings(best)),
    section("parallel", "Parallel coordinates", parallelChart(complete, best, study), note("One line per finished trial, from its settings to its value on the right; better trials are darker, the best one is highlighted.")),
    trialSection(study),
  ];
}

function studyHeadline(study, complete, best) {
  const count = (state) => study.trials.filter((trial) => trial.state === state).length;
  const states = ["complete", "pruned", "failed", "running"].map((state) => [state, count(state)]).filter(([, n]) => n > 0);
  return el("div", { class: "headline" }, el("div", null,
    el("p", { class: "score" }, studyValue(study, best.value)),
    el("p", { class: "score-name" }, `best value so far, trial ${best.number} of ${integer(study.trials.length)}`),
    note(`${states.map(([state, n]) => `${integer(n)} ${state}`).join(", ")}. The study ${study.direction === "minimize" ? "minimises" : "maximises"} a validation score; the best of many trials is optimistic. Score it on test nodes with clenshaw train --config.`)));
}

/** Values to maximise are accuracies or areas, shown in percent; values to minimise are losses. */
function studyValue(study, value) {
  return study.direction === "minimize" ? decimal(value, 5) : percent(value, 2);
}

function trialLines(study, trial) {
  return [`trial ${trial.number}: ${studyValue(study, trial.value)}`, ...Object.entries(trial.params).map(([name, value]) => `${shortName(name)}: ${plainValue(value)}`)];
}

function historyChart(study, complete, best, isBetter) {
  const items = complete.map((trial) => ({
    x: trial.number, y: trial.value, className: trial === best ? "s1" : "s0 faint", radius: trial === best ? 6 : 4,
    lines: trialLines(study, trial),
  }));
  const steps = { x: [], y: [] };
  let leader = null;
  for (const trial of complete) {
    const previous = leader ?? trial.value;
    leader = isBetter(trial.value, previous) ? trial.value : previous;
    steps.x.push(trial.number, trial.number);
    steps.y.push(previous, leader);
  }
  const last = Math.max(1, maximum(complete.map((trial) => trial.number)));
  return chart({
    id: "history-chart", pick: "xy", height: 300, label: "Value of every finished trial",
    x: { domain: [-0.5, last + 0.5], label: "trial", integers: true }, y: { domain: paddedDomain(items.map((item) => item.y)), label: "value", format: (value) => studyValue(study, value) },
    layers: [{ type: "line", name: "best so far", ...steps, className: "s1" }, { type: "points", className: "s0", items }],
  });
}

function importanceSection(study) {
  if (!study.importances.length) return missingSection("importance", "Importance", "Not available: it needs more finished trials.");
  const items = [...study.importances].sort((a, b) => b.importance - a.importance).map((entry) => ({ name: shortName(entry.name, 40), value: entry.importance, text: percent(entry.importance) }));
  return section("importance", "Importance", barList(items, "Importance of the hyper-parameters"), note("Share of the variance of the trials' values that each hyper-parameter explains."));
}

function bestSettings(best) {
  const facts = Object.entries(best.params).map(([name, value]) => [name, plainValue(value)]);
  return section("best", `Best settings (trial ${best.number})`, facts.length ? factList(facts) : note("This trial has no settings."));
}

/** Position of every trial's value of one hyper-parameter, from 0 to 1; text and flags are spread evenly. */
function parallelParameter(name, trials) {
  const values = trials.map((trial) => trial.params[name]).filter((value) => value !== undefined && value !== null);
  if (!values.every(isNumber)) return categoryParameter(name, values);
  const [low, high] = [minimum(values), maximum(values)];
  const isLog = low > 0 && high / low >= 100;
  const place = scale([low, high], 0, 1, isLog ? "log" : "linear");
  const ticks = low === high ? [{ at: 0.5, text: decimal(low) }] : [{ at: 0, text: decimal(low) }, { at: 1, text: decimal(high) }];
  return { name, ticks, position: ({ trial }) => (isNumber(trial.params[name]) && low < high ? place(trial.params[name]) : 0.5) };
}

function categoryParameter(name, values) {
  const choices = [...new Set(values.map(plainValue))].sort(collator.compare);
  const at = (choice) => (choices.length > 1 ? choices.indexOf(choice) / (choices.length - 1) : 0.5);
  return { name, ticks: choices.map((choice) => ({ at: at(choice), text: choice })), position: ({ trial }) => Math.max(0, at(plainValue(trial.params[name]))) };
}

function parallelChart(complete, best, study) {
  const names = [...new Set(complete.flatMap((trial) => Object.keys(trial.params)))];
  if (!names.length) return note("The trials have no settings.");
  const [low, high] = [minimum(complete.map((trial) => trial.value)), maximum(complete.map((trial) => trial.value))];
  const place = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const valueAxis = { name: "value", ticks: [{ at: 0, text: studyValue(study, low) }, { at: 1, text: studyValue(study, high) }], position: ({ trial }) => place(trial.value) };
  const goodness = (trial) => (study.direction === "minimize" ? 1 - place(trial.value) : place(trial.value));
  const lines = [...complete].sort((a, b) => goodness(a) - goodness(b)).map((trial) => ({
    trial, strength: goodness(trial), best: trial === best,
    lines: trialLines(study, trial),
  }));
  return chart({ id: "parallel-chart", draw: drawParallel, pick: "dots", height: 320, label: "Parallel coordinates of the trials", axes: [...names.map((name) => parallelParameter(name, complete)), valueAxis], lines });
}

function trialSection(study) {
  const names = [...new Set(study.trials.flatMap((trial) => Object.keys(trial.params)))];
  const columns = [
    { title: "trial", numeric: true, value: (trial) => trial.number, cell: (trial) => String(trial.number) },
    { title: "value", numeric: true, value: (trial) => trial.value, cell: (trial) => (isNumber(trial.value) ? studyValue(study, trial.value) : "–") },
    { title: "state", value: (trial) => trial.state },
    ...names.map((name) => ({ title: shortName(name), numeric: study.trials.every((trial) => isNumber(trial.params[name])), value: (trial) => trial.params[name] })),
    { title: "time", numeric: true, value: (trial) => trial.seconds, cell: (trial) => (isNumber(trial.seconds) ? duration(trial.seconds) : "–") },
  ];
  return section("trials", "Trials", dataTable({
    key: "trials", label: "Trials", rows: study.trials, columns, sort: { column: 1, descending: study.direction !== "minimize" }, pageSize: 10,
    searchText: (trial) => `${trial.number} ${trial.state} ${Object.values(trial.params).map(plainValue).join(" ")}`,
  }));
}
