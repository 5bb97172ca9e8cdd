// The answer of `clenshaw auto`: the expected score, why it was chosen, and all configurations.

function choiceSections(choice) {
  return [
    section("answer", "Answer", choiceHeadline(choice), choiceWarnings(choice), el("ul", null, choice.explanation.map((line) => el("li", null, line))), choiceFacts(choice)),
    section("configurations", "Configurations", configurationTable(choice), configurationNote(choice), failedList(choice)),
    section("single", "The best single model", note(`The next sections describe one model of ${choice.single.name}, as trained on one of the validation splits; the predictions of the answer are those of the ensemble.`)),
  ];
}

function choiceHeadline({ estimate, objective }) {
  if (!estimate) return el("p", { class: "score-name" }, "No score is estimated: there are no test nodes.");
  const [low, high] = estimate.interval;
  return el("div", null,
    el("p", { class: "score" }, percent(estimate.score)),
    el("p", { class: "score-name" }, `expected ${objective}, 95% interval ${percent(low)} to ${percent(high)}, from ${plural(estimate.nodes, "test node")} that played no part in any choice`));
}

function choiceWarnings({ warnings }) {
  return warnings.length ? el("div", { class: "warnings", role: "note" }, el("ul", null, warnings.map((line) => el("li", null, line)))) : null;
}

function choiceFacts(choice) {
  const { estimate, single, objective } = choice;
  const facts = [
    ["ensemble, validation", percent(choice.ensemble_validation)],
    ["best single", `${single.name}, validation ${percent(single.validation)}${single.estimate ? `, test ${percent(single.estimate.score)}` : ""}`],
    ["temperature", decimal(choice.temperature, 3)],
  ];
  if (estimate) {
    if (objective !== "accuracy") facts.push(["test accuracy", percent(estimate.accuracy)]);
    facts.push(["macro-F1", percent(estimate.macro_f1)], ["balanced accuracy", percent(estimate.balanced_accuracy)], ["most frequent class", percent(estimate.majority_share)]);
  }
  return factList([...facts, ["time", duration(choice.seconds)]]);
}

/** Differences are only between configurations on equally many splits. */
function configurationTable(choice) {
  const rows = choice.configurations;
  const best = rows[0];
  const gap = (row) => (row.scores.length === best.scores.length ? row.validation - best.validation : null);
  const settings = (row) => Object.entries(row.hyper).map(([name, value]) => `${name} ${plainValue(value)}`).join(", ");
  const columns = [
    { title: "configuration", value: (row) => row.name, cell: (row) => `${shortName(row.name, 40)}${row.tuned ? `, tuned (trial ${row.trial})` : ""}` },
    { title: "model", value: (row) => row.model, cell: (row) => row.model },
    { title: "splits", numeric: true, value: (row) => row.scores.length, cell: (row) => integer(row.scores.length) },
    { title: `validation ${choice.objective}`, numeric: true, value: (row) => row.validation, cell: (row) => percent(row.validation, 2) },
    { title: "behind the best", numeric: true, value: gap, cell: (row) => (isNumber(gap(row)) ? percent(gap(row), 2) : "–") },
    { title: "weight", numeric: true, value: (row) => row.weight, cell: (row) => (row.weight ? percent(row.weight, 0) : "–") },
    { title: "time of a run", numeric: true, value: (row) => row.run_seconds, cell: (row) => (isNumber(row.run_seconds) ? duration(row.run_seconds) : "–") },
    { title: "settings", value: settings, cell: settings },
  ];
  const inEnsemble = { name: "in the ensemble", rows: () => rows.filter((row) => row.weight > 0) };
  return dataTable({
    key: "configurations", label: "Configurations", views: [{ name: "all", rows: () => rows }, inEnsemble], columns,
    sort: { column: 2, descending: true }, pageSize: 10, searchText: (row) => `${row.name} ${row.model} ${settings(row)}`,
  });
}

function configurationNote() {
  return note("Every configuration starts on one validation split; only the better ones are trained on the others, so scores on fewer splits are less certain. Weight: share of the ensemble.");
}

function failedList({ failed }) {
  if (!failed.length) return null;
  return el("div", null, el("h3", null, "Not trained"), el("ul", null, failed.map(([name, reason]) => el("li", null, `${shortName(name, 40)}: ${reason}`))));
}
