// Sections of one run: result, learning curves, confusion matrix, scores by group, calibration, settings.

function section(id, title, ...content) {
  return el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), content);
}

function missingSection(id, title, reason) {
  return section(id, title, note(reason));
}

function factList(facts) {
  return el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}

const METRIC_NAMES = { accuracy: "test accuracy", "roc-auc": "test ROC AUC" };
const metricName = (metric) => METRIC_NAMES[metric] ?? metric;
const metricOf = (run, seedResult) => (run.metric === "roc-auc" ? seedResult.roc_auc : seedResult.accuracy);

// Result

function resultSection(graph, run) {
  const content = run.state === "finished" ? finishedHeadline(run) : unfinishedHeadline(run);
  return section("result", "Result", content, warningBox(graph), resultFacts(graph, run));
}

function unfinishedHeadline(run) {
  const epochs = run.epochs.train_loss.length;
  const accuracy = run.epochs.val_accuracy.findLast(isNumber);
  return el("div", { class: "headline" }, el("div", null,
    el("p", { class: "badge" }, `${run.state}, epoch ${integer(epochs)}${isNumber(run.max_epochs) ? ` of at most ${integer(run.max_epochs)}` : ""}`),
    el("p", { class: "score" }, percent(accuracy)),
    el("p", { class: "score-name" }, "validation accuracy now"),
    run.failure ? el("p", { class: "warnings" }, run.failure) : null,
    note("Validation nodes decide when training stops, so this number is optimistic. Test nodes are scored at the end.")));
}

function finishedHeadline(run) {
  const score = run.summary.mean ?? (run.metric === "roc-auc" ? run.scores?.roc_auc : run.scores?.accuracy);
  const texts = el("div", null,
    el("p", { class: isNumber(score) ? "score" : "score missing" }, percent(score), interval(run)),
    el("p", { class: "score-name" }, `${metricName(run.metric)}, ${run.summary.runs > 1 ? `mean of ${plural(run.summary.runs, "run")} with 95% interval` : "one run: no interval"}`),
    note(compareWithMajority(run, score)));
  const isScored = run.all_seeds.some((result) => isNumber(metricOf(run, result)));
  return el("div", { class: "headline" }, texts, isScored ? scoreStrip(run) : null);
}

function interval(run) {
  return isNumber(run.summary.ci95) ? el("span", { class: "interval" }, ` ± ${(100 * run.summary.ci95).toFixed(1)}`) : null;
}

/** The mean over the runs, like the score above it. */
const majorityOf = (run) => run.summary.majority_share ?? run.scores?.majority_share;

function compareWithMajority(run, score) {
  const share = majorityOf(run);
  if (run.metric !== "accuracy" || !isNumber(share)) return run.metric === "roc-auc" ? "A random ranking would score 50%." : "";
  const always = `Always predicting the most frequent class would score ${percent(share)}.`;
  return isNumber(score) && score <= share ? `${always} This model is not better than that.` : always;
}

/** One dot per seed on the scale from 0 to 100%, with the mean's interval and the majority share. */
function scoreStrip(run) {
  const items = run.all_seeds.filter((result) => isNumber(metricOf(run, result))).map((result) => ({
    x: metricOf(run, result), y: 0.32, className: "s0 faint", radius: 6,
    lines: [`seed ${result.seed}`, `${metricName(run.metric)} ${percent(metricOf(run, result), 2)}`, `training took ${duration(result.seconds)}`],
  }));
  const { mean, ci95 } = run.summary;
  const layers = [];
  if (isNumber(mean) && isNumber(ci95)) layers.push({ type: "shade", from: Math.max(0, mean - ci95), to: Math.min(1, mean + ci95) });
  const majority = run.metric === "roc-auc" ? 0.5 : majorityOf(run);
  if (isNumber(majority)) layers.push({ type: "rule", x: majority, label: run.metric === "roc-auc" ? "random 50%" : `majority class ${percent(majority)}` });
  const caption = layers[0]?.type === "shade" ? "One dot per seed; grey: 95% interval of the mean." : "One dot per seed.";
  layers.push({ type: "points", items, className: "s0" });
  return el("div", null, chart({
    id: "score-strip", pick: "xy", height: 110, top: 10, left: 16, right: () => 22, layers,
    label: `${metricName(run.metric)} of every seed`,
    x: { domain: [0, 1], label: metricName(run.metric), format: wholePercent }, y: { domain: [0, 1], ticks: [] },
  }), note(caption));
}

function warningBox(graph) {
  if (!graph.warnings.length) return null;
  return el("div", { class: "warnings", role: "note" }, el("strong", null, graph.warnings.length === 1 ? "Warning" : "Warnings"),
    el("ul", null, graph.warnings.map((warning) => el("li", null, warning))));
}

function resultFacts(graph, run) {
  const { scores } = run;
  const facts = [["model", run.title], ["graph", graph.name], ["split", run.split]];
  if (scores) facts.push(...scoreFacts(run, scores));
  facts.push(["training time", duration(run.seconds)], ["epochs", integer(run.epochs.train_loss.length)]);
  return factList(facts);
}

function scoreFacts(run, scores) {
  const first = run.summary.runs > 1 ? ` (seed ${run.seed})` : "";
  return [
    [`accuracy${first}`, percent(scores.accuracy)], ["macro F1", percent(scores.macro_f1)],
    ["balanced accuracy", percent(scores.balanced_accuracy)], ["majority share", percent(scores.majority_share)],
    ...(isNumber(scores.roc_auc) || run.metric === "roc-auc" ? [["ROC AUC", percent(scores.roc_auc)]] : []),
  ];
}

// Graph

function graphSection(graph) {
  const homophily = isNumber(graph.edge_homophily)
    ? `${graph.edge_homophily.toFixed(2)}: ${roughPercent(graph.edge_homophily)} of the edges join nodes of one class` : MISSING;
  const facts = factList([
    ["nodes", integer(graph.nodes)], ["edges", integer(graph.edges)], ["features", integer(graph.features)],
    ["classes", integer(graph.classes.length)], ["nodes without a label", integer(graph.unlabelled)],
    ["edge homophily", homophily], ["node homophily", isNumber(graph.node_homophily) ? graph.node_homophily.toFixed(2) : MISSING],
    ["isolated nodes", integer(graph.isolated)], ["components", integer(graph.components)], ["edge weights", graph.weighted ? "yes" : "no"],
  ]);
  const sizes = graph.classes.map((entry) => ({ name: shortName(entry.name, 40), value: entry.size, text: integer(entry.size) }));
  const notes = graph.notes.length ? el("ul", { class: "note-text" }, graph.notes.map((line) => el("li", null, line))) : null;
  return section("graph", "Graph", sideBySide(el("div", null, facts, notes), classSizes(sizes)));
}

function classSizes(sizes) {
  const list = barList(sizes, "Nodes per class");
  const content = sizes.length > 15 ? el("details", null, el("summary", null, `${integer(sizes.length)} classes`), list) : list;
  return el("div", null, el("h3", null, "Nodes per class"), sizes.length ? content : note("The graph has no classes."));
}

// Learning curves

function curvesSection(run) {
  const { train_loss: trainLoss, val_loss: valLoss, val_accuracy: valAccuracy } = run.epochs;
  if (!trainLoss.length) return null;
  const epochs = trainLoss.map((_, k) => k + 1);
  const stop = isNumber(run.best_epoch) ? [{ type: "rule", x: run.best_epoch, label: `${run.state === "finished" ? "kept" : "best so far"}: epoch ${integer(run.best_epoch)}` }] : [];
  const common = { height: 250, zoomKey: `curves ${run.label}` };
  const x = { domain: [1, Math.max(2, epochs.length)], label: "epoch", integers: true };
  const lossLines = [["training", trainLoss, "s0"], ["validation", valLoss, "s1"]].filter(([, values]) => values.some(isNumber))
    .map(([name, y, colour]) => ({ type: "line", name, x: epochs, y, className: colour }));
  const loss = chart({ ...common, id: "loss-chart", label: "Loss per epoch", x, y: { label: "loss (cross-entropy)" }, layers: [...lossLines, ...stop] });
  const accuracy = valAccuracy.some(isNumber)
    ? chart({ ...common, id: "accuracy-chart", label: "Validation accuracy per epoch", x, y: { label: "validation accuracy", format: (value) => percent(value, 1) },
      layers: [{ type: "line", x: epochs, y: valAccuracy, className: "s1" }, ...stop] })
    : note("Validation accuracy is not available for this run.");
  const kept = run.state === "finished" && stop.length && valLoss.some(isNumber) ? " The weights of the marked epoch were kept. The validation nodes chose that epoch, so its validation accuracy is optimistic; test nodes were not used." : "";
  return section("curves", "Learning curves", sideBySide(loss, accuracy), note(`Drag over a curve to zoom; double click to reset.${kept}`));
}

// Confusion and classes

function confusionSection(graph, run) {
  if (!run.confusion) return null;
  const names = graph.classes.map((entry) => shortName(entry.name, 60));
  const totals = run.confusion.map(sum);
  const spec = {
    id: "confusion-chart", draw: drawHeatMap, pick: "xy", label: "Confusion matrix of the test nodes, rows are true classes", corner: "rows: true class, columns: predicted",
    rows: names, columns: names,
    shade: (i, j) => (totals[i] ? run.confusion[i][j] / totals[i] : 0),
    text: (i, j) => (run.confusion[i][j] ? integer(run.confusion[i][j]) : ""),
    lines: (i, j) => [`true: ${names[i]}`, `predicted: ${names[j]}`, plural(run.confusion[i][j], "test node"),
      totals[i] ? `${percent(run.confusion[i][j] / totals[i])} of this class` : "no test node of this class"],
  };
  return section("confusion", "Confusion matrix", chart(spec), note(`Test nodes${run.summary.runs > 1 ? ` of seed ${run.seed}` : ""}. Numbers are nodes; the shade is the share of the true class.`), commonConfusion(run, names));
}

function commonConfusion(run, names) {
  const pairs = run.confusion.flatMap((row, i) => row.map((count, j) => ({ i, j, count }))).filter(({ i, j, count }) => i !== j && count > 0);
  const worst = pairs.sort((a, b) => b.count - a.count)[0];
  return worst ? note(`Most frequent mistake: ${names[worst.i]} predicted as ${names[worst.j]} (${plural(worst.count, "node")}).`) : null;
}

function classSection(run) {
  if (!run.per_class) return null;
  const share = (title, name) => ({ title, numeric: true, value: (row) => row[name], cell: (row) => shareCell(row[name]) });
  const columns = [
    { title: "class", value: (row) => shortName(row.name, 60) }, share("precision", "precision"), share("recall", "recall"), share("F1", "f1"),
    { title: "test nodes", numeric: true, value: (row) => row.support, cell: (row) => integer(row.support) },
  ];
  const table = dataTable({ key: "classes", label: "Scores per class", rows: run.per_class, columns, sort: { column: 4, descending: true }, pageSize: 12 });
  return section("classes", "Scores per class", table, note("Precision: share of the nodes predicted as this class that belong to it. Recall: share of the class that was found. F1: their harmonic mean."));
}

// Groups of nodes

/** Wilson's 95% interval of a share. */
function wilson(share, n) {
  const z = 1.96;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

function groupChart(id, run, groups, what) {
  const present = groups.filter((group) => group.n > 0 && isNumber(group.accuracy));
  if (!present.length) return null;
  const items = present.map((group, k) => {
    const [low, high] = wilson(group.accuracy, group.n);
    return { from: k - 0.36, to: k + 0.36, value: group.accuracy, low, high,
      lines: [`${what}: ${group.label}`, `accuracy ${percent(group.accuracy)}`, `95% interval ${percent(low)} to ${percent(high)}`, plural(group.n, "test node")] };
  });
  const overall = isNumber(run.scores?.accuracy) ? [{ type: "rule", y: run.scores.accuracy, label: `all ${percent(run.scores.accuracy, 0)}` }] : [];
  return chart({
    id, height: 250, right: () => 58, label: `Test accuracy by ${what}`, layers: [{ type: "bars", className: "s0", items, gap: 0 }, ...overall],
    x: { domain: [-0.6, present.length - 0.4], categories: present.map((group) => shortName(group.label, 14)), secondLine: present.map((group) => `n ${integer(group.n)}`), label: what },
    y: { domain: [0, 1.05], ticks: [0, 0.25, 0.5, 0.75, 1], label: "test accuracy", format: wholePercent },
  });
}

function groupSection(run) {
  const charts = [groupChart("degree-chart", run, run.by_degree, "degree"), groupChart("homophily-chart", run, run.by_homophily, "local homophily")].filter(Boolean);
  if (!charts.length) return null;
  return section("groups", "Accuracy by degree and homophily", sideBySide(charts),
    note("Degree: number of neighbours. Local homophily: share of a node's neighbours that have its class. Whiskers: 95% interval (Wilson)."));
}

// Calibration

function calibrationSection(run) {
  const { calibration } = run;
  if (!calibration) return null;
  const bins = calibration.bins.filter((bin) => bin.n > 0 && isNumber(bin.accuracy));
  const items = bins.map((bin) => {
    const [low, high] = wilson(bin.accuracy, bin.n);
    return { x: bin.confidence, y: bin.accuracy, low, high, radius: 5,
      lines: [`confidence ${percent(bin.low, 0)} to ${percent(bin.high, 0)}`, `mean confidence ${percent(bin.confidence)}`, `accuracy ${percent(bin.accuracy)}`, plural(bin.n, "test node")] };
  });
  const largest = maximum(bins.map((bin) => bin.n));
  const counts = bins.map((bin) => ({ from: bin.low, to: bin.high, value: (0.25 * bin.n) / largest }));
  const percentAxis = { domain: [0, 1.02], format: wholePercent };
  const diagram = chart({
    id: "calibration-chart", pick: "xy", height: 300, label: "Reliability diagram: accuracy against confidence",
    x: { ...percentAxis, label: "confidence" }, y: { ...percentAxis, label: "test accuracy", ticks: [0, 0.25, 0.5, 0.75, 1] },
    layers: [{ type: "bars", className: "density", items: counts }, { type: "line", x: [0, 1], y: [0, 1], className: "initial", dash: "4 4", silent: true },
      { type: "points", className: "s0", items }],
  });
  return section("calibration", "Calibration", diagram, note(calibrationSentence(calibration, bins)), note("Dashed: confidence equals accuracy. Grey bars: number of nodes. Whiskers: 95% interval (Wilson)."));
}

function calibrationSentence({ ece }, bins) {
  const total = sum(bins.map((bin) => bin.n));
  const gap = sum(bins.map((bin) => bin.n * (bin.confidence - bin.accuracy))) / total;
  const error = `Expected calibration error (ECE) ${percent(ece)}: the average gap between confidence and accuracy.`;
  if (!(Math.abs(gap) > 0.02)) return `${error} On average, confidence and accuracy agree.`;
  return `${error} The model is ${gap > 0 ? "overconfident" : "underconfident"}: its confidence is ${percent(Math.abs(gap))} ${gap > 0 ? "above" : "below"} its accuracy on average.`;
}

// Settings and provenance

function commandBlock(command, id) {
  // Lines break before options, not within them.
  const words = command.split(/ (?=--)/).flatMap((word, k) => [k > 0 ? " " : "", el("span", null, word)]);
  return el("pre", { class: "command", tabindex: 0, id, "aria-label": "Command" }, words);
}

function settingsSection(run) {
  const hyper = Object.entries(run.hyper).map(([name, value]) => [name, plainValue(value)]);
  const origin = Object.entries(run.provenance ?? {}).map(([name, value]) => [name.replaceAll("_", " "), plainValue(value)]);
  const model = el("div", null, el("h3", null, "Model"), el("p", null, run.title, run.paper ? ` (${run.paper})` : ""), el("pre", { tabindex: 0, "aria-label": "Equation of the model" }, run.equation));
  const command = run.command ? el("div", null, el("h3", null, run.summary.runs > 1 ? "Train these runs again" : "Train this run again"), commandBlock(run.command, "run-command")) : null;
  return section("settings", "Settings and provenance", model, command,
    sideBySide(el("div", null, el("h3", null, "Hyper-parameters"), hyper.length ? factList(hyper) : note("None.")), el("div", null, el("h3", null, "Provenance"), factList(origin))));
}

function runSections(graph, run) {
  const optional = {
    "learning curves": curvesSection(run), "confusion matrix": confusionSection(graph, run), calibration: calibrationSection(run),
    "scores per class": classSection(run), "accuracy by degree and homophily": groupSection(run), "predictions of single nodes": nodeSections(graph, run),
  };
  const [curves, confusion, calibration, classes, groups, nodes] = Object.values(optional);
  // A matrix of many classes needs the full width.
  const matrix = confusion && calibration && graph.classes.length <= 12 ? pairOf(confusion, calibration) : [confusion, calibration];
  const missing = Object.keys(optional).filter((name) => !optional[name]);
  return [resultSection(graph, run), filterSection(graph, run), curves, matrix, classes, groups, nodes, missing.length ? missingParts(run, missing) : null,
    isNumber(graph.nodes) ? graphSection(graph) : missingSection("graph", "Graph", graph.notes.join(" ")), settingsSection(run)]
    .flat().filter(Boolean);
}

function missingParts(run, names) {
  const reason = run.state !== "finished" ? " Test nodes are scored when the run has finished." : "";
  return missingSection("missing", "Not available", `Not available for this run: ${names.join(", ")}.${reason}`);
}

function pairOf(first, second) {
  return el("div", { class: "pair" }, first, second);
}
