// The filter microscope: the response h(mu) over the graph's eigenvalues, the energy of labels, features and
// predictions on the same axis, and a sentence on whether the filter keeps the frequencies of the labels.

const AXIS_LEFT = 48;
const FRAME_MILLISECONDS = 180;
const filterFrames = new Map();
let playTimer = 0;
let isPlaying = false;

/** Below this share of eigenvalues and of energy, a frequency does not count as present in the graph. */
const PRESENT_EIGENVALUES = 0.005;
const PRESENT_ENERGY = 0.02;

// Analysis

/** Bins over [-1, 1] with the share of eigenvalues in each; equal shares if the density is not known. */
function spectrumBins(filter) {
  const shares = filter.density?.shares ?? new Array(80).fill(1 / 80);
  const step = 2 / shares.length;
  const floor = filter.density?.exact === false ? 1e-4 : 0;
  return shares.map((share, k) => ({ mu: -1 + (k + 0.5) * step, share: share > floor ? share : 0, step }));
}

function bandOf(energy, mu) {
  return energy.edges.findLastIndex((edge, k) => k < energy.edges.length - 1 && mu >= edge);
}

/** The bins whose gain matters: with eigenvalues, and with more than a trace of them or of the energy. */
function presentBins(filter) {
  const { energy } = filter;
  const hasEnergy = (shares, mu) => (shares?.[bandOf(energy, mu)] ?? 0) >= PRESENT_ENERGY;
  const present = spectrumBins(filter).filter(({ mu, share }) => share > 0 &&
    (share >= PRESENT_EIGENVALUES || (energy && (hasEnergy(energy.labels, mu) || hasEnergy(energy.features, mu)))));
  return present.length ? present : spectrumBins(filter);
}

function responseAt(response, mu) {
  const position = ((mu + 1) / 2) * (response.length - 1);
  const k = clamp(Math.floor(position), 0, response.length - 2);
  return response[k] + (position - k) * (response[k + 1] - response[k]);
}

/** Root mean square gain over the eigenvalues in `bins`. */
function gainOver(filter, response, bins) {
  const weight = sum(bins.map((bin) => bin.share));
  if (weight === 0) return null;
  return Math.sqrt(sum(bins.map((bin) => bin.share * responseAt(response, bin.mu) ** 2)) / weight);
}

function bandGains(filter, response) {
  const { edges } = filter.energy;
  const bins = spectrumBins(filter);
  return edges.slice(1).map((high, k) => {
    const inside = bins.filter((bin) => bin.mu >= edges[k] && bin.mu < high);
    return gainOver(filter, response, inside) ?? Math.abs(responseAt(response, (edges[k] + high) / 2));
  });
}

/** Share of each band's energy that is left after the filter, if its largest gain counts as 1. */
function keptShares(filter, response) {
  const largest = maximum(presentBins(filter).map((bin) => Math.abs(responseAt(response, bin.mu))));
  return bandGains(filter, response).map((gain) => (largest > 0 ? Math.min(1, (gain / largest) ** 2) : 0));
}

function highShare(energy, shares) {
  return sum(shares.map((share, k) => {
    const [low, high] = [energy.edges[k], energy.edges[k + 1]];
    return share * clamp((0 - low) / (high - low), 0, 1);
  }));
}

function describeFilter(filter, response) {
  const sentences = [];
  if (response) sentences.push(describePassband(filter, response));
  if (filter.energy) sentences.push(describeLabels(filter, response));
  return sentences.join(" ");
}

function describePassband(filter, response) {
  const bins = spectrumBins(filter);
  const low = gainOver(filter, response, bins.filter((bin) => bin.mu > 0)) ?? 0;
  const high = gainOver(filter, response, bins.filter((bin) => bin.mu < 0)) ?? 0;
  if (low === 0 && high === 0) return "The filter is zero at every frequency of the graph.";
  if (high > 1.25 * low) return `The filter passes high frequencies (neighbours differ) ${times(high, low)} low ones: it computes differences between neighbours.`;
  if (low > 1.25 * high) return `The filter passes low frequencies (neighbours agree) ${times(low, high)} high ones: it averages neighbours.`;
  const gains = presentBins(filter).map((bin) => Math.abs(responseAt(response, bin.mu)));
  if (minimum(gains) > 0.9 * maximum(gains)) return "The filter passes all frequencies about equally.";
  return `On average, the filter passes high frequencies (neighbours differ) as strongly as low ones; its gain is largest at μ = ${decimal(strongestFrequency(filter, response), 2)}.`;
}

function strongestFrequency(filter, response) {
  const gain = (bin) => Math.abs(responseAt(response, bin.mu));
  return presentBins(filter).reduce((best, bin) => (gain(bin) > gain(best) ? bin : best)).mu;
}

function times(larger, smaller) {
  const ratio = larger / smaller;
  return ratio > 100 ? "more than 100 times as strongly as" : `${ratio.toFixed(1)} times as strongly as`;
}

function describeLabels(filter, response) {
  const place = labelPlace(filter.energy);
  if (response) return `${place}. ${verdict(filter, response)}`;
  const fate = highShare(filter.energy, filter.energy.labels) > 0.5 ? "weakens" : "keeps";
  return `${place}: averaging neighbours ${fate} it.`;
}

function labelPlace(energy) {
  const high = highShare(energy, energy.labels);
  return high > 0.5 ? `${roughPercent(high)} of the labels' energy is at high frequencies (neighbours differ)` : `${roughPercent(1 - high)} of the labels' energy is at low frequencies (neighbours agree)`;
}

/** Compares the gain at the labels' frequencies with the filter's largest gain and with its gain on the whole graph. */
function verdict(filter, response) {
  const { labels } = filter.energy;
  const kept = sum(keptShares(filter, response).map((share, k) => share * labels[k]));
  const onLabels = Math.sqrt(sum(bandGains(filter, response).map((gain, k) => gain ** 2 * labels[k])));
  const onGraph = gainOver(filter, response, spectrumBins(filter));
  const left = `${roughPercent(kept)} is left, relative to the filter's largest gain`;
  if (!(onGraph > 0)) return "It removes all of it.";
  if (kept < 0.35 && onLabels < 1.05 * onGraph) return `The filter keeps little of the labels' energy: ${left}. Most of what tells the classes apart is removed.`;
  if (onLabels >= 1.2 * onGraph) return `The filter keeps it: the gain on the labels is ${(onLabels / onGraph).toFixed(1)} times the average gain on this graph.`;
  return `The filter passes it about as strongly as the rest: ${left}.`;
}

function keepsLittle(text) {
  return text.includes("keeps little") || text.includes("removes all");
}

// Frames: the recorded epochs, then the filter of the kept model

function framesOf(run) {
  const { filter } = run;
  const { history } = filter;
  const past = (history?.epochs ?? []).map((epoch, k) => ({
    name: epoch === 0 ? "before training" : `epoch ${integer(epoch)}`, response: history.responses[k], coefficients: history.coefficients?.[k] ?? null,
  }));
  const name = run.state !== "finished" ? "now" : `kept model${isNumber(run.best_epoch) ? `, epoch ${integer(run.best_epoch)}` : ""}`;
  const frames = filter.response ? [...past, { name, response: filter.response, coefficients: filter.coefficients }] : past;
  return isFixed(frames) ? frames.slice(-1) : frames;
}

/** Filters such as APPNP's are not learned: all epochs have the same response. */
function isFixed(frames) {
  const last = frames[frames.length - 1];
  // Recorded responses are rounded to four decimals.
  return frames.length > 1 && frames.every((frame) => frame.response.every((value, k) => Math.abs(value - last.response[k]) < 2e-4));
}

// Charts

function responseSpec(run, frame) {
  const { filter } = run;
  const layers = [...gapLayers(filter)];
  const domain = responseDomain(run);
  if (filter.density) layers.push(densityLayer(filter, domain));
  const isLearned = filter.initial && frame && !isFixed([{ response: filter.initial }, ...framesOf(run).slice(-1)]);
  if (isLearned) layers.push({ type: "line", name: initialName(filter), x: filter.mu, y: filter.initial, className: "initial" });
  if (frame) layers.push({ type: "line", name: isLearned ? "learned" : "filter", x: filter.mu, y: frame.response, className: "s0 thick" });
  return {
    id: "response-chart", height: filter.response ? 300 : 170, left: AXIS_LEFT, right: microscopeRight, layers,
    label: "Frequency response of the filter over the graph's eigenvalues",
    x: muAxis(), y: { domain, label: filter.response ? "gain h(μ)" : "", ticks: filter.response ? undefined : [] },
    addLines: (mu) => densityReading(filter, mu),
  };
}

/** Runs of early versions did not record the filter before training. */
function initialName({ history }) {
  return history?.epochs[0] > 0 ? `epoch ${integer(history.epochs[0])}` : "initial";
}

const microscopeRight = (narrow) => (narrow ? 12 : 68);

function muAxis() {
  return { domain: [-1, 1], label: "μ", reading: "μ =", hints: ["high: neighbours differ", "low: neighbours agree"] };
}

/** One domain for all frames, so that playing moves the curve and not the axis. */
function responseDomain(run) {
  const { filter } = run;
  const curves = [...framesOf(run).map((frame) => frame.response), filter.initial].filter(Boolean);
  if (curves.length === 0) return [0, 1];
  const bins = spectrumBins(filter).filter((bin) => bin.share > 0);
  return paddedDomain(curves.flatMap((curve) => bins.map((bin) => responseAt(curve, bin.mu))), [0]);
}

function densityLayer(filter, [low, high]) {
  const bins = spectrumBins(filter);
  const unit = (0.36 * (high - low)) / maximum(bins.map((bin) => bin.share));
  const items = bins.filter((bin) => bin.share > 0).map((bin) => ({ from: bin.mu - bin.step / 2, to: bin.mu + bin.step / 2, value: low + bin.share * unit }));
  const tallest = items.reduce((top, item) => (item.value > top.value ? item : top));
  tallest.label = "eigenvalues";
  return { type: "bars", name: "eigenvalues", base: low, items, className: "density", labelClass: "note", gap: 0.5 };
}

function densityReading(filter, mu) {
  if (!filter.density) return [];
  const bins = spectrumBins(filter);
  const bin = bins[clamp(Math.floor((mu + 1) / bins[0].step), 0, bins.length - 1)];
  return [`eigenvalues: ${percent(bin.share)} within ${decimal(bin.step)}`];
}

/** Grey areas where the graph has no eigenvalues: the response there has no effect. */
function gapLayers(filter) {
  if (!filter.density) return [];
  const gaps = [];
  for (const bin of spectrumBins(filter)) {
    const last = gaps[gaps.length - 1];
    if (bin.share > 0) continue;
    if (last && Math.abs(last.to - (bin.mu - bin.step / 2)) < 1e-9) last.to = bin.mu + bin.step / 2;
    else gaps.push({ type: "shade", from: bin.mu - bin.step / 2, to: bin.mu + bin.step / 2, label: "no eigenvalues" });
  }
  return gaps.filter((gap) => gap.to - gap.from > 0.09);
}

function energySpec(run, kind, frame, isLast) {
  const { energy } = run.filter;
  const shares = energy[kind];
  const kept = kind === "labels" && frame ? keptShares(run.filter, frame.response) : null;
  const items = shares.map((share, k) => energyBar(energy, kind, share, k, kept));
  const strongest = items[shares.indexOf(maximum(shares))];
  if (strongest) strongest.label = percent(strongest.value, 0);
  const largest = maximum([...energy.labels, ...(energy.features ?? []), ...(energy.predictions ?? [])]);
  return {
    id: `energy-${kind}`, height: isLast ? 138 : 100, top: 38, labelLeft: AXIS_LEFT, left: AXIS_LEFT, right: microscopeRight,
    label: `Energy of the ${kind} per frequency band`,
    x: { ...muAxis(), hidden: !isLast }, y: { domain: [0, largest * 1.2], ticks: [], label: kept ? `${ENERGY_NAMES[kind]}; dark: left after the filter` : ENERGY_NAMES[kind] },
    layers: [{ type: "bars", className: ENERGY_COLOURS[kind], items }],
  };
}

const ENERGY_NAMES = { labels: "energy of the labels", features: "energy of the features", predictions: "energy of the predictions" };
const ENERGY_COLOURS = { labels: "s1", features: "s2", predictions: "s3" };

function energyBar(energy, kind, share, k, kept) {
  const lines = [`μ from ${decimal(energy.edges[k])} to ${decimal(energy.edges[k + 1])}`, `${percent(share)} of the energy of the ${kind}`];
  if (kept) lines.push(`${roughPercent(kept[k])} of it is left after the filter`);
  return { from: energy.edges[k], to: energy.edges[k + 1], value: share, kept: kept ? share * kept[k] : null, lines };
}

function coefficientSpec(run, frame) {
  const { filter } = run;
  const all = framesOf(run).flatMap((other) => other.coefficients ?? []);
  const items = frame.coefficients.map((value, k) => ({ from: k - 0.5, to: k + 0.5, value, lines: [`k = ${k}`, `coefficient ${decimal(value, 4)}`] }));
  return {
    id: "coefficient-chart", height: 220,
    label: "Coefficients of the filter", layers: [{ type: "bars", className: "s0", base: 0, items, gap: 3 }],
    x: { domain: [-0.6, items.length - 0.4], categories: items.map((_, k) => String(k)), label: "order k" },
    y: { domain: paddedDomain(all, [0]), label: `coefficient${filter.basis ? `, basis ${shortName(filter.basis, 28)}` : ""}` },
  };
}

// Section

function filterSection(graph, run) {
  const { filter } = run;
  if (!filter) return missingSection("filter", "Filter microscope", "This run has no filter: the model does not filter graph frequencies, or its filter was not recorded.");
  const frames = framesOf(run);
  const view = { graph, run, frames, index: startFrame(run, frames), charts: {} };
  const sentence = el("p", { class: "lead", id: "filter-sentence" });
  const main = el("div", { class: "microscope-main" }, responseChart(view), energyCharts(view));
  const side = el("div", { class: "microscope-side" }, coefficientChart(view), explainFilter(filter));
  view.sentence = sentence;
  describeView(view);
  return section("filter", "Filter microscope", sentence, frames.length > 1 ? epochControls(view) : null, el("div", { class: "microscope" }, main, side));
}

function startFrame(run, frames) {
  const remembered = filterFrames.get(run.label);
  return remembered === undefined ? frames.length - 1 : clamp(remembered, 0, frames.length - 1);
}

const currentFrame = (view) => view.frames[view.index] ?? null;

function responseChart(view) {
  view.charts.response = chart(responseSpec(view.run, currentFrame(view)));
  return view.charts.response;
}

function energyCharts(view) {
  const { energy } = view.run.filter;
  if (!energy) return note("The energy of labels and predictions per frequency is not available for this run.");
  const kinds = ["labels", "features", "predictions"].filter((kind) => energy[kind]?.length);
  return kinds.map((kind, k) => {
    const figure = chart(energySpec(view.run, kind, currentFrame(view), k === kinds.length - 1));
    if (kind === "labels") view.charts.labels = { figure, isLast: k === kinds.length - 1 };
    return figure;
  });
}

function coefficientChart(view) {
  if (!currentFrame(view)?.coefficients) return null;
  view.charts.coefficients = chart(coefficientSpec(view.run, currentFrame(view)));
  return view.charts.coefficients;
}

function describeView(view) {
  const text = describeFilter(view.run.filter, currentFrame(view)?.response ?? null);
  const intro = view.run.filter.response ? "" : "This model has no filter whose response could be drawn. ";
  view.sentence.textContent = intro + text + mixingSentence(view, text);
  view.sentence.classList.toggle("alert", keepsLittle(text));
}

/** Why averaging fails, in terms of the edges: only where the labels are at high frequencies and are not kept. */
function mixingSentence({ graph, run }, text) {
  const share = graph?.edge_homophily;
  const isLost = keepsLittle(text) || !run.filter.response;
  if (!isLost || !isNumber(share) || !run.filter.energy || highShare(run.filter.energy, run.filter.energy.labels) <= 0.5) return "";
  return ` Only ${roughPercent(share)} of the edges join nodes of one class, so averaging a node with its neighbours mixes the classes.`;
}

function explainFilter(filter) {
  const notes = [
    "μ is an eigenvalue of the normalised adjacency matrix: near 1 neighbours have equal values, towards −1 they differ.",
    "The gain h(μ) is the factor by which the filter multiplies a signal at that frequency.",
    "Energy is a signal's share in each band. A model cannot use class differences at frequencies that its filter removes.",
  ];
  if (filter.density) notes.push(`Eigenvalues: ${filter.density.exact ? "exact" : "density estimated by the kernel polynomial method"}.`);
  if (filter.channels > 1) notes.push(`The filter has ${plural(filter.channels, "channel")}; the curve is their mean.`);
  if (filter.note) notes.push(filter.note);
  return el("details", { class: "explain", open: true }, el("summary", null, "How to read this"), el("ul", null, notes.map((note) => el("li", null, note))));
}

function epochControls(view) {
  const output = el("output", { for: "epoch-slider", class: "epoch-name" });
  const slider = el("input", { type: "range", id: "epoch-slider", min: 0, max: view.frames.length - 1, step: 1, "aria-label": "Training epoch of the filter" });
  const button = el("button", { id: "epoch-play" });
  slider.value = String(view.index);
  Object.assign(view, { output, slider, button });
  slider.addEventListener("input", () => {
    stopPlaying(view);
    showFrame(view, Number(slider.value));
  });
  button.addEventListener("click", () => (isPlaying ? stopPlaying(view) : startPlaying(view)));
  nameFrame(view);
  if (isPlaying) resumePlaying(view);
  else button.textContent = "Play";
  return el("div", { class: "epoch-controls" }, button, slider, output);
}

function showFrame(view, index) {
  view.index = index;
  // At the last frame nothing is remembered, so that a live page follows the training.
  if (index === view.frames.length - 1) filterFrames.delete(view.run.label);
  else filterFrames.set(view.run.label, index);
  const frame = currentFrame(view);
  updateChart(view.charts.response, responseSpec(view.run, frame));
  if (view.charts.coefficients && frame.coefficients) updateChart(view.charts.coefficients, coefficientSpec(view.run, frame));
  if (view.charts.labels) updateChart(view.charts.labels.figure, energySpec(view.run, "labels", frame, view.charts.labels.isLast));
  describeView(view);
  nameFrame(view);
}

function nameFrame({ slider, output, frames, index }) {
  output.textContent = frames[index].name;
  slider.setAttribute("aria-valuetext", frames[index].name);
}

function startPlaying(view) {
  if (view.index === view.frames.length - 1) showFrame(view, 0);
  resumePlaying(view);
}

function resumePlaying(view) {
  clearInterval(playTimer);
  isPlaying = true;
  view.button.textContent = "Pause";
  playTimer = setInterval(() => {
    const next = view.index + 1;
    if (next >= view.frames.length) return stopPlaying(view);
    view.slider.value = String(next);
    showFrame(view, next);
  }, FRAME_MILLISECONDS);
}

function stopPlaying(view) {
  clearInterval(playTimer);
  isPlaying = false;
  view.button.textContent = "Play";
}
