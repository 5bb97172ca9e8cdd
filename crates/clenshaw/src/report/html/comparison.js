// Several runs: results with intervals and paired tests, filters and curves overlaid, accuracy against time.

const seriesClass = (index) => `s${index % CLASS_COLOURS} ${index >= CLASS_COLOURS ? "dashed" : ""}`;

/** Rows of a comparison, one per run folder; without one, each run is a row of its own. */
function comparisonRows(data) {
  if (data.comparison) return data.comparison.rows;
  return data.runs.map((run) => ({
    name: run.label, mean: run.summary.mean ?? (run.metric === "roc-auc" ? run.scores?.roc_auc : run.scores?.accuracy) ?? null,
    std: run.summary.std, ci95: run.summary.ci95, runs: run.summary.runs, seconds: run.seconds,
  }));
}

function comparisonSections(data) {
  const rows = comparisonRows(data);
  const metric = metricName(data.comparison?.metric ?? data.runs[0].metric);
  return [resultTableSection(data, rows, metric), overlaySection(data.runs), timeSection(rows, metric)].filter(Boolean);
}

function resultTableSection(data, rows, metric) {
  const number = (title, name, format) => ({ title, numeric: true, value: (row) => row[name], cell: (row) => format(row[name]) });
  const hundred = (value) => (isNumber(value) ? (100 * value).toFixed(2) : "–");
  const columns = [
    { title: "model", value: (row) => shortName(row.name, 60) },
    { title: `${metric}, %`, numeric: true, value: (row) => row.mean, cell: (row) => shareCell(row.mean, 2) },
    number("standard deviation", "std", hundred), number("± 95% interval", "ci95", hundred), number("runs", "runs", integer), number("time per run", "seconds", duration),
  ];
  const table = dataTable({ key: "comparison", label: "Results", rows, columns, sort: { column: 1, descending: true }, pageSize: 25 });
  return section("comparison", "Comparison", intervalChart(rows, metric), table, pairTable(data.comparison?.pairs ?? []));
}

function rowPoint(row, metric) {
  const hasInterval = isNumber(row.ci95);
  return {
    y: row.mean, low: hasInterval ? row.mean - row.ci95 : null, high: hasInterval ? row.mean + row.ci95 : null, radius: 6,
    lines: [row.name, `${metric} ${percent(row.mean, 2)}`, hasInterval ? `95% interval ± ${(100 * row.ci95).toFixed(2)}` : "one run: no interval", `training took ${duration(row.seconds)} per run`],
  };
}

function intervalChart(rows, metric) {
  const ranked = rows.filter((row) => isNumber(row.mean)).sort((a, b) => b.mean - a.mean);
  if (ranked.length < 2) return null;
  const items = ranked.map((row, k) => ({ x: k, ...rowPoint(row, metric) }));
  const domain = paddedDomain(items.flatMap((item) => [item.y, item.low, item.high]));
  const shown = [domain[0], Math.min(domain[1], 1.02)];
  return chart({
    id: "interval-chart", height: 260, label: `${metric} of every model with 95% interval`,
    x: { domain: [-0.5, ranked.length - 0.5], categories: ranked.map((row) => shortName(row.name, 16)) }, y: { domain: shown, label: `${metric}, mean and 95% interval`, format: axisPercent(shown) },
    layers: [{ type: "points", className: "s0", items }],
  });
}

function pairTable(pairs) {
  if (!pairs.length) return null;
  const columns = [
    { title: "model", value: (pair) => shortName(pair.a, 40) }, { title: "compared with", value: (pair) => shortName(pair.b, 40) },
    { title: "splits", numeric: true, value: (pair) => pair.runs, cell: (pair) => integer(pair.runs) },
    { title: "difference, points", numeric: true, value: (pair) => pair.difference, cell: (pair) => signed(100 * pair.difference, 2) },
    { title: "± 95% interval", numeric: true, value: (pair) => pair.ci95, cell: (pair) => (isNumber(pair.ci95) ? (100 * pair.ci95).toFixed(2) : "–") },
    { title: "p", numeric: true, value: (pair) => pair.p, cell: (pair) => (isNumber(pair.p) ? (pair.p < 0.001 ? "< 0.001" : pair.p.toFixed(3)) : "–") },
    { title: "at the 5% level", value: pairVerdict },
  ];
  return el("div", null, el("h3", null, "Paired tests"), dataTable({ key: "pairs", label: "Paired tests", rows: pairs, columns, sort: { column: 5, descending: false }, pageSize: 10 }),
    note(`Differences are computed on the same splits and seeds; p is that of a sign-flip test, and is not corrected for the number of pairs.${tooFewRuns(pairs)}`));
}

/** With n splits, a sign-flip test cannot give a p below 2 / 2^n. */
const smallestP = (pair) => 2 / 2 ** pair.runs;

function tooFewRuns(pairs) {
  return pairs.some((pair) => smallestP(pair) >= 0.05) ? " With fewer than 6 splits the test cannot reach the 5% level, however large the difference is; look at the interval, or train more runs with --runs." : "";
}

function pairVerdict(pair) {
  if (!isNumber(pair.p)) return "not tested";
  if (smallestP(pair) >= 0.05) return "too few splits to test";
  if (pair.p >= 0.05) return "no difference found";
  return `${shortName(pair.difference > 0 ? pair.a : pair.b, 24)} is better`;
}

function overlaySection(runs) {
  const parts = [overlaidFilters(runs), overlaidCurves(runs)].filter(Boolean);
  return parts.length ? section("overlay", "Filters and curves", sideBySide(parts), labelEnergy(runs)) : null;
}

/** Responses are divided by their largest value on the graph's eigenvalues, so that shapes can be compared. */
function overlaidFilters(runs) {
  const drawable = runs.map((run, index) => ({ run, index })).filter(({ run }) => run.filter?.response);
  if (!drawable.length) return null;
  const base = drawable[0].run.filter;
  const lines = drawable.map(({ run, index }) => {
    const bins = presentBins(run.filter);
    const largest = maximum(bins.map((bin) => Math.abs(responseAt(run.filter.response, bin.mu)))) || 1;
    return { type: "line", name: run.name ?? run.title, x: run.filter.mu, y: run.filter.response.map((value) => Math.abs(value) / largest), className: seriesClass(index) };
  });
  const density = base.density ? [densityLayer(base, [0, 1.1])] : [];
  const aligned = { left: AXIS_LEFT, right: (narrow) => (narrow ? 12 : 104) };
  const figure = chart({
    ...aligned, id: "overlay-filters", height: 300, label: "Filters of all runs", layers: [...gapLayers(base), ...density, ...lines],
    x: { ...muAxis(), hints: ["high frequency", "low frequency"] }, y: { domain: [0, 1.1], label: "|h(μ)|, largest = 1" },
  });
  const energy = base.energy ? chart({ ...energySpec(drawable[0].run, "labels", null, true), ...aligned, id: "overlay-energy" }) : null;
  return el("div", null, el("h3", null, "Filters"), figure, energy);
}

function labelEnergy(runs) {
  const filter = runs.find((run) => run.filter?.energy)?.filter;
  return filter ? note(`${labelPlace(filter.energy)}. Filters are shown relative to their largest gain on the graph's eigenvalues.`) : null;
}

function overlaidCurves(runs) {
  const layers = runs.map((run, index) => ({ run, index })).filter(({ run }) => run.epochs.val_accuracy.some(isNumber)).map(({ run, index }) => ({
    type: "line", name: run.name ?? run.title, x: run.epochs.val_accuracy.map((_, k) => k + 1), y: run.epochs.val_accuracy, className: seriesClass(index),
  }));
  if (!layers.length) return null;
  const longest = maximum(layers.map((layer) => layer.x.length));
  const figure = chart({
    id: "overlay-curves", height: 300, zoomKey: "overlay", label: "Validation accuracy of all runs", layers,
    x: { domain: [1, Math.max(2, longest)], label: "epoch", integers: true }, y: { label: "validation accuracy", format: wholePercent },
  });
  return el("div", null, el("h3", null, "Learning curves"), figure);
}

function timeSection(rows, metric) {
  const placed = rows.filter((row) => isNumber(row.mean) && row.seconds > 0);
  if (placed.length < 2) return null;
  const items = placed.map((row) => ({ x: row.seconds, name: row.name, ...rowPoint(row, metric) }));
  const times = placed.map((row) => row.seconds);
  const domain = paddedDomain(items.flatMap((item) => [item.y, item.low, item.high]));
  const figure = chart({
    id: "time-chart", pick: "xy", height: 300, label: `${metric} against training time`, layers: [{ type: "points", className: "s0", items }],
    x: { domain: [minimum(times) / 1.5, maximum(times) * 1.5], kind: "log", label: "mean training time per run (logarithmic)", format: duration },
    y: { domain, label: metric, format: axisPercent(domain) },
  });
  return section("time", "Accuracy against time", figure);
}
