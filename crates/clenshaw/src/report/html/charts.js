// Charts in SVG. `chart(spec)` returns a figure that draws itself at the width it is given.
// A drawing function returns its height and its marks: {x, y, lines} or {box, lines}, where
// `lines` is the text shown on hover and read out on keyboard focus.

const NARROW = 520;
const figures = new Map();
const zooms = new Map();

const resizer = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const width = Math.round(entry.contentRect.width);
    const chartState = figures.get(entry.target);
    if (chartState && width > 0 && width !== chartState.width) drawChart(entry.target, width);
  }
});

function forgetCharts() {
  resizer.disconnect();
  figures.clear();
}

/** spec: {id, label, draw?, zoomKey?, pick?: "x" | "xy" | "dots"}; the rest is for the drawing function. */
function chart(spec) {
  const picture = svg("svg", { id: spec.id, role: "application", "aria-roledescription": "chart", tabindex: 0 });
  const legend = el("div", { class: "legend", hidden: true });
  const figure = el("figure", { class: "chart" }, legend, picture);
  figures.set(figure, { spec: withDefaults(spec), picture, legend, width: 0, marks: [], active: -1 });
  listenToChart(figure);
  resizer.observe(figure);
  return figure;
}

/** Draws at once rather than at the next resize observation: until then the page would be too short to scroll back. */
function drawNewCharts() {
  const widths = [...figures.keys()].map((figure) => [figure, Math.round(figure.clientWidth)]);
  for (const [figure, width] of widths) if (width > 0) drawChart(figure, width);
}

const withDefaults = (spec) => ({ draw: drawPlot, pick: "x", ...spec });

function updateChart(figure, spec) {
  const chartState = figures.get(figure);
  chartState.spec = withDefaults(spec);
  if (chartState.width > 0) drawChart(figure, chartState.width);
}

function drawChart(figure, width) {
  const chartState = figures.get(figure);
  const { spec, picture } = chartState;
  const { height, marks, content, legend, plotArea } = spec.draw(spec, width);
  Object.assign(chartState, { width, marks, plotArea });
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("aria-label", `${spec.label}. Arrow keys read the values.`);
  const cursor = svg("g", { class: "cursor" });
  picture.replaceChildren(...content, cursor);
  chartState.cursor = cursor;
  drawLegend(chartState, legend ?? []);
  drawZoomReset(figure);
  if (chartState.active >= marks.length) chartState.active = -1;
}

function drawLegend({ legend }, layers) {
  legend.hidden = layers.length === 0;
  legend.replaceChildren(...layers.map((layer) => el("span", null, el("i", { class: `swatch ${layer.className}` }), shortName(layer.name, 40))));
}

// Reading values: pointer and keyboard

function listenToChart(figure) {
  const { picture } = figures.get(figure);
  picture.addEventListener("pointermove", (event) => {
    if (!continueZoom(figure, event)) pointAt(figure, event);
  });
  picture.addEventListener("pointerdown", (event) => startZoom(figure, event));
  picture.addEventListener("pointerup", (event) => finishZoom(figure, event));
  picture.addEventListener("pointercancel", () => cancelZoom(figure));
  picture.addEventListener("pointerleave", () => clearCursor(figure));
  picture.addEventListener("dblclick", () => setZoom(figure, null));
  picture.addEventListener("blur", () => clearCursor(figure));
  picture.addEventListener("keydown", (event) => moveByKey(figure, event));
}

function chartPosition(figure, event) {
  const { picture, width } = figures.get(figure);
  const bounds = picture.getBoundingClientRect();
  const scale = width / bounds.width;
  return { x: (event.clientX - bounds.left) * scale, y: (event.clientY - bounds.top) * scale };
}

function pointAt(figure, event) {
  const chartState = figures.get(figure);
  const index = nearestMark(chartState, chartPosition(figure, event));
  if (index < 0) return clearCursor(figure);
  chartState.active = index;
  drawCursor(chartState);
  showTooltip(chartState.marks[index].lines, event.clientX, event.clientY);
}

function nearestMark({ marks, spec }, { x, y }) {
  let best = -1;
  let bestDistance = spec.pick === "x" ? Infinity : 30;
  marks.forEach((mark, index) => {
    const distance = markDistance(mark, x, y, spec.pick);
    if (distance < bestDistance) [best, bestDistance] = [index, distance];
  });
  return best;
}

function markDistance(mark, x, y, pick) {
  if (mark.box) {
    const dx = Math.max(mark.box.x - x, 0, x - mark.box.x - mark.box.width);
    const dy = Math.max(mark.box.y - y, 0, y - mark.box.y - mark.box.height);
    return pick === "x" ? dx : Math.hypot(dx, dy);
  }
  if (pick === "dots") return Math.min(...mark.dots.map((dot) => Math.hypot(dot.x - x, dot.y - y)));
  return pick === "x" ? Math.abs(mark.x - x) : Math.hypot(mark.x - x, mark.y - y);
}

function drawCursor({ marks, active, cursor, plotArea }) {
  const mark = marks[active];
  const shapes = [];
  if (mark.box) shapes.push(svg("rect", { ...mark.box, class: "cursor-box" }));
  if (mark.dots && plotArea) {
    shapes.push(lineAt(mark.x, plotArea.top, mark.x, plotArea.bottom, "cursor-line"));
  }
  const dots = mark.dots ?? (mark.box ? [] : [mark]);
  shapes.push(...dots.map((dot) => svg("circle", { cx: dot.x, cy: dot.y, r: 5, class: "cursor-dot" })));
  cursor.replaceChildren(...shapes);
}

function clearCursor(figure) {
  figures.get(figure)?.cursor?.replaceChildren();
  hideTooltip();
}

function moveByKey(figure, event) {
  const chartState = figures.get(figure);
  const { marks, active } = chartState;
  const page = Math.max(1, Math.round(marks.length / 10));
  const moves = {
    ArrowRight: active + 1, ArrowDown: active + 1, ArrowLeft: active - 1, ArrowUp: active - 1,
    PageDown: active + page, PageUp: active - page, Home: 0, End: marks.length - 1,
  };
  if (event.key === "Escape") return clearCursor(figure);
  if (event.key === "+" || event.key === "-") return zoomByKey(figure, event.key);
  if (!(event.key in moves) || marks.length === 0) return;
  event.preventDefault();
  chartState.active = clamp(moves[event.key], 0, marks.length - 1);
  drawCursor(chartState);
  readOut(chartState);
}

function readOut({ marks, active, picture, width }) {
  const mark = marks[active];
  const bounds = picture.getBoundingClientRect();
  const scale = bounds.width / width;
  const x = mark.box ? mark.box.x + mark.box.width / 2 : mark.x;
  const y = mark.box ? mark.box.y : mark.y;
  showTooltip(mark.lines, bounds.left + x * scale, bounds.top + y * scale);
  announce(mark.lines.join(", "));
}

// Zooming along x: drag, double click, + and -

function startZoom(figure, event) {
  const chartState = figures.get(figure);
  if (!chartState.spec.zoomKey || event.button !== 0) return;
  chartState.dragStart = chartPosition(figure, event).x;
  chartState.picture.setPointerCapture(event.pointerId);
}

function continueZoom(figure, event) {
  const chartState = figures.get(figure);
  if (chartState.dragStart === undefined) return false;
  const [from, to] = dragRange(chartState, chartPosition(figure, event).x);
  if (to - from < 6) return false;
  const { top, bottom } = chartState.plotArea;
  chartState.cursor.replaceChildren(
    svg("rect", { x: from, width: to - from, y: top, height: bottom - top, class: "zoom-box" }));
  hideTooltip();
  return true;
}

function dragRange({ dragStart, plotArea }, x) {
  const ends = [dragStart, x].map((end) => clamp(end, plotArea.left, plotArea.right));
  return [Math.min(...ends), Math.max(...ends)];
}

function finishZoom(figure, event) {
  const chartState = figures.get(figure);
  if (chartState.dragStart === undefined) return;
  const [from, to] = dragRange(chartState, chartPosition(figure, event).x);
  cancelZoom(figure);
  if (to - from >= 6) setZoom(figure, [chartState.plotArea.invert(from), chartState.plotArea.invert(to)]);
}

function cancelZoom(figure) {
  delete figures.get(figure).dragStart;
  clearCursor(figure);
}

function zoomByKey(figure, key) {
  const { spec, plotArea, marks, active } = figures.get(figure);
  if (!spec.zoomKey) return;
  const [[low, high], [first, last]] = [plotArea.xDomain, spec.x.domain];
  const centre = active >= 0 ? plotArea.invert(marks[active].x) : (low + high) / 2;
  const span = (high - low) * (key === "+" ? 0.5 : 2);
  const start = clamp(centre - span / 2, first, last - span);
  setZoom(figure, span >= last - first ? null : [start, start + span]);
}

/** Charts with the same zoom key move together. */
function setZoom(figure, range) {
  const key = figures.get(figure).spec.zoomKey;
  if (!key) return;
  if (range) zooms.set(key, range);
  else zooms.delete(key);
  for (const [other, { spec, width }] of figures) {
    if (spec.zoomKey === key && width > 0) drawChart(other, width);
  }
}

function drawZoomReset(figure) {
  const { spec } = figures.get(figure);
  const zoomed = spec.zoomKey !== undefined && zooms.has(spec.zoomKey);
  const button = figure.querySelector(".zoom-reset");
  if (zoomed && !button) {
    figure.append(el("button", { class: "zoom-reset", on: { click: () => setZoom(figure, null) } }, "Reset zoom"));
  } else if (!zoomed && button) {
    button.remove();
  }
}

function textAt(x, y, className, anchor, text) {
  return svg("text", { x, y, class: className, "text-anchor": anchor }, text);
}

function lineAt(x1, y1, x2, y2, className) {
  return svg("line", { x1, y1, x2, y2, class: className });
}

// Scales and axes

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const factors = last - first > 3 ? [1] : [1, 2, 5];
  const powers = Array.from({ length: last - first + 1 }, (_, k) => 10 ** (first + k));
  return powers.flatMap((power) => factors.map((factor) => factor * power)).filter((tick) => tick >= low && tick <= high);
}

/** The smallest domain around the values with some room; `include` lists values that must be inside. */
function paddedDomain(values, include = []) {
  const low = minimum([...values, ...include]);
  const high = maximum([...values, ...include]);
  if (!(high >= low)) return [0, 1];
  if (low === high && include.includes(low)) return [low, low + 1];
  const room = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.1 || 1;
  return [include.includes(low) ? low : low - room, include.includes(high) ? high : high + room];
}

function scale([low, high], from, to, kind) {
  const map = kind === "log" ? Math.log10 : (value) => value;
  const unmap = kind === "log" ? (value) => 10 ** value : (value) => value;
  const [start, end] = [map(low), map(high)];
  const apply = (value) => from + ((map(value) - start) / (end - start || 1)) * (to - from);
  apply.invert = (pixel) => unmap(start + ((pixel - from) / (to - from || 1)) * (end - start));
  return apply;
}

function plotFrame(spec, width) {
  const narrow = width < NARROW;
  const xDomain = (spec.zoomKey && zooms.get(spec.zoomKey)) ?? spec.x.domain;
  const yDomain = spec.y.domain ?? paddedDomain(visibleValues(spec.layers, xDomain), spec.y.include);
  const bottom = spec.height - (spec.x.hidden ? 6 : 22 + (spec.x.label ? 17 : 0) + (spec.x.secondLine ? 14 : 0));
  const top = spec.top ?? (spec.y.label ? 24 : 10);
  const yTicks = spec.y.ticks ?? niceTicks(...yDomain, Math.max(2, Math.round((bottom - top) / 36)));
  const yFormat = spec.y.format ?? ((value) => decimal(value));
  const left = spec.left ?? 10 + maximum(yTicks.map((tick) => textWidth(yFormat(tick))));
  const labels = narrow ? [] : spec.layers.filter((layer) => layer.name && layer.type === "line");
  const room = labels.length ? 14 + maximum(labels.map((layer) => textWidth(shortName(layer.name)))) : 14;
  const right = width - (spec.right ? spec.right(narrow) : Math.min(room, width * 0.3));
  const x = scale(xDomain, left, right, spec.x.kind);
  const y = scale(yDomain, bottom, top);
  return { narrow, xDomain, yDomain, yTicks, yFormat, left, right, top, bottom, x, y, width, invert: x.invert, clip: `clip-${spec.id}` };
}

function visibleValues(layers, [low, high]) {
  return layers.filter((layer) => layer.type === "line").flatMap((layer) =>
    layer.y.filter((_, index) => layer.x[index] >= low && layer.x[index] <= high));
}

function drawPlot(spec, width) {
  const frame = plotFrame(spec, width);
  const drawn = spec.layers.map((layer) => LAYERS[layer.type](layer, frame));
  const clip = svg("clipPath", { id: frame.clip },
    svg("rect", { x: frame.left - 1, y: frame.top - 1, width: frame.right - frame.left + 2, height: frame.bottom - frame.top + 2 }));
  const content = [
    clip, ...yAxis(spec, frame), ...xAxis(spec, frame),
    svg("g", { "clip-path": `url(#${frame.clip})` }, drawn.map((layer) => layer.clipped ?? [])),
    ...drawn.flatMap((layer) => layer.free ?? []), ...endLabels(spec, frame),
  ];
  const legend = frame.narrow ? spec.layers.filter((layer) => layer.name) : [];
  return { height: spec.height, content, legend, plotArea: frame, marks: plotMarks(spec, drawn, frame) };
}

function yAxis(spec, frame) {
  const ticks = frame.yTicks.flatMap((tick) => {
    const y = frame.y(tick);
    return [
      lineAt(frame.left, y, frame.right, y, tick === 0 ? "axis" : "gridline"),
      textAt(frame.left - 6, y + 4, "tick", "end", frame.yFormat(tick)),
    ];
  });
  return spec.y.label ? [...ticks, textAt(spec.labelLeft ?? 0, frame.top - 12, "axis-label", "start", spec.y.label)] : ticks;
}

function xAxis(spec, frame) {
  const base = lineAt(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  if (spec.x.hidden) return [base];
  const parts = [base, ...xTicks(spec, frame)];
  const y = spec.height - 5;
  const [leftHint, rightHint] = spec.x.hints ?? [];
  if (leftHint) parts.push(textAt(frame.left, y, "hint", "start", leftHint));
  const hintRoom = leftHint ? textWidth(leftHint) + textWidth(rightHint) + 30 : 0;
  if (spec.x.label && hintRoom < frame.right - frame.left) parts.push(textAt((frame.left + frame.right) / 2, y, "axis-label", "middle", spec.x.label));
  if (rightHint) parts.push(textAt(frame.right, y, "hint", "end", rightHint));
  return parts;
}

function xTicks(spec, frame) {
  if (spec.x.categories) return categoryTicks(spec, frame);
  const count = Math.max(2, Math.round((frame.right - frame.left) / 64));
  const ticks = spec.x.kind === "log" ? logTicks(...frame.xDomain) : niceTicks(...frame.xDomain, count);
  const format = spec.x.format ?? ((value) => decimal(value));
  return ticks.filter((tick) => !spec.x.integers || Number.isInteger(tick)).map((tick) =>
    textAt(frame.x(tick), frame.bottom + 16, "tick", "middle", format(tick)));
}

function categoryTicks(spec, frame) {
  const room = (frame.right - frame.left) / spec.x.categories.length;
  const widest = maximum(spec.x.categories.map((name) => textWidth(name)));
  const every = Math.max(1, Math.ceil((widest + 6) / room));
  return spec.x.categories.flatMap((name, index) => {
    if (index % every !== 0) return [];
    const x = frame.x(index);
    const texts = [textAt(x, frame.bottom + 16, "tick", "middle", name)];
    const second = spec.x.secondLine?.[index];
    if (second) texts.push(textAt(x, frame.bottom + 30, "hint", "middle", second));
    return texts;
  });
}

/** Names at the right end of the lines, moved apart where they would overlap. */
function endLabels(spec, frame) {
  if (frame.narrow) return [];
  const labels = spec.layers.filter((layer) => layer.type === "line" && layer.name).map((layer) => {
    const last = layer.y.findLastIndex((value, index) => isNumber(value) && layer.x[index] <= frame.xDomain[1]);
    const y = last < 0 ? frame.bottom : clamp(frame.y(layer.y[last]), frame.top + 6, frame.bottom - 4);
    return { layer, y };
  }).sort((a, b) => a.y - b.y);
  for (let k = 1; k < labels.length; k += 1) labels[k].y = Math.max(labels[k].y, labels[k - 1].y + 15);
  const overflow = labels.length ? Math.max(0, labels[labels.length - 1].y - frame.bottom + 2) : 0;
  const textRoom = Math.floor((frame.width - frame.right - 8) / 6.2);
  return labels.map(({ layer, y }) =>
    textAt(frame.right + 6, y - overflow + 4, `direct ${layer.className}`, "start", shortName(layer.name, Math.max(8, textRoom))));
}

/** Marks of all layers; with `pick: "x"` the lines' values at one x make one mark. */
function plotMarks(spec, drawn, frame) {
  const own = drawn.flatMap((layer) => layer.marks ?? []);
  if (spec.pick !== "x") return own.sort(byPosition);
  const columns = new Map();
  for (const layer of spec.layers.filter((candidate) => candidate.type === "line" && !candidate.silent)) addToColumns(columns, layer, spec, frame);
  return [...own, ...columns.values()].sort(byPosition);
}

function byPosition(a, b) {
  return (a.box?.x ?? a.x) - (b.box?.x ?? b.x) || (a.box?.y ?? a.y) - (b.box?.y ?? b.y);
}

function addToColumns(columns, layer, spec, frame) {
  const format = layer.format ?? spec.y.format ?? ((value) => decimal(value, 4));
  layer.x.forEach((value, index) => {
    if (!isNumber(layer.y[index]) || value < frame.xDomain[0] || value > frame.xDomain[1]) return;
    if (!columns.has(value)) {
      const lines = [`${spec.x.reading ?? spec.x.label} ${decimal(value, 6)}`, ...(spec.addLines?.(value) ?? [])];
      columns.set(value, { x: frame.x(value), y: frame.y(layer.y[index]), lines, dots: [] });
    }
    const column = columns.get(value);
    column.lines.push(layer.name ? `${layer.name}: ${format(layer.y[index])}` : format(layer.y[index]));
    column.dots.push({ x: column.x, y: frame.y(layer.y[index]) });
  });
}

// Layers

const LAYERS = { line: lineLayer, bars: barLayer, points: pointLayer, rule: ruleLayer, shade: shadeLayer };

function lineLayer(layer, frame) {
  let path = "";
  let pen = "M";
  layer.x.forEach((value, index) => {
    if (!isNumber(layer.y[index])) {
      pen = "M";
      return;
    }
    path += `${pen}${frame.x(value).toFixed(1)},${frame.y(layer.y[index]).toFixed(1)}`;
    pen = "L";
  });
  return { clipped: [svg("path", { d: path, class: `line ${layer.className}`, "stroke-dasharray": layer.dash })] };
}

/** items: {from, to, value, kept?, low?, high?, lines, label?}; `kept` fills part of the bar. */
function barLayer(layer, frame) {
  const zero = frame.y(layer.base ?? Math.max(0, frame.yDomain[0]));
  const parts = layer.items.map((item) => barShapes(item, layer, frame, zero));
  return {
    clipped: parts.flatMap((part) => part.shapes),
    free: parts.flatMap((part) => part.texts),
    marks: parts.flatMap((part) => part.marks),
  };
}

function barShapes(item, layer, frame, zero) {
  const x = frame.x(item.from);
  const width = Math.max(1, frame.x(item.to) - x - (layer.gap ?? 2));
  if (!isNumber(item.value)) return { shapes: [], texts: [], marks: [] };
  const rectangle = (value, className) => {
    const y = frame.y(value);
    return svg("rect", { x, width, y: Math.min(y, zero), height: Math.abs(zero - y), class: className });
  };
  const shapes = [rectangle(item.value, `bar ${layer.className}`)];
  if (isNumber(item.kept)) shapes.push(rectangle(item.kept, `bar kept ${layer.className}`));
  const middle = x + width / 2;
  if (isNumber(item.low)) shapes.push(whisker(middle, frame.y(item.low), frame.y(item.high)));
  const above = Math.min(frame.y(isNumber(item.high) ? item.high : item.value), zero) - 5;
  const texts = item.label ? [textAt(middle, above, layer.labelClass ?? "value", "middle", item.label)] : [];
  const top = Math.min(frame.y(item.value), zero);
  const box = { x, y: top, width, height: Math.max(2, Math.abs(zero - frame.y(item.value))) };
  return { shapes, texts, marks: item.lines ? [{ box, lines: item.lines }] : [] };
}

function whisker(x, low, high) {
  return svg("path", { d: `M${x},${low}V${high}M${x - 4},${low}h8M${x - 4},${high}h8`, class: "whisker" });
}

/** items: {x, y, radius?, left?, right?, low?, high?, className?, name?, lines}. */
function pointLayer(layer, frame) {
  const clipped = [];
  const free = [];
  const marks = [];
  for (const item of layer.items) {
    const [x, y] = [frame.x(item.x), frame.y(item.y)];
    if (isNumber(item.low)) clipped.push(whisker(x, frame.y(item.low), frame.y(item.high)));
    free.push(svg("circle", { cx: x, cy: y, r: item.radius ?? 4, class: `point ${item.className ?? layer.className}` }));
    if (item.name) free.push(pointName(item, x, y, frame));
    if (item.lines) marks.push({ x, y, lines: item.lines });
  }
  return { clipped, free, marks };
}

function pointName(item, x, y, frame) {
  const text = shortName(item.name);
  const fits = x + 10 + textWidth(text) < frame.width;
  return textAt(fits ? x + 9 : x - 9, fits ? y - 7 : y + 16, "direct", fits ? "start" : "end", text);
}

function ruleLayer(layer, frame) {
  const vertical = isNumber(layer.x);
  const [x, y] = [vertical ? frame.x(layer.x) : 0, vertical ? 0 : frame.y(layer.y)];
  if (vertical && (layer.x < frame.xDomain[0] || layer.x > frame.xDomain[1])) return {};
  const line = vertical
    ? lineAt(x, frame.top, x, frame.bottom, "rule")
    : lineAt(frame.left, y, frame.right, y, "rule");
  if (!layer.label) return { free: [line] };
  const fits = x + 6 + textWidth(layer.label) < frame.right;
  const text = vertical
    ? textAt(fits ? x + 5 : x - 5, frame.top + 11, "note", fits ? "start" : "end", layer.label)
    : textAt(frame.right + 4, y + 4, "note", "start", layer.label);
  return { free: [line, text] };
}

function shadeLayer(layer, frame) {
  const [from, to] = [frame.x(layer.from), frame.x(layer.to)];
  const area = svg("rect", { x: from, width: Math.max(0, to - from), y: frame.top, height: frame.bottom - frame.top, class: "shade" });
  if (!layer.label || to - from < textWidth(layer.label) + 8) return { clipped: [area] };
  return { clipped: [area], free: [textAt((from + to) / 2, frame.top + 12, "hint", "middle", layer.label)] };
}

// Heat map

/** spec: {rows, columns, rowTitle, columnTitle, shade(i, j): 0..1, text(i, j), lines(i, j)}. */
function drawHeatMap(spec, width) {
  const rowRoom = Math.min(width * 0.28, 12 + maximum(spec.rows.map((name) => textWidth(shortName(name, 20)))));
  const widest = maximum(spec.columns.map((name) => textWidth(shortName(name, 16))));
  const isTurned = widest > (width - rowRoom) / spec.columns.length - 4;
  const cell = clamp((width - rowRoom - (isTurned ? Math.min(70, 0.7 * widest) : 4)) / spec.columns.length, 4, 72);
  const columnRoom = cell < 9 ? 22 : 36 + (isTurned ? Math.min(80, 0.75 * widest) : 0);
  const content = [textAt(0, 12, "axis-label", "start", spec.corner)];
  const marks = [];
  spec.rows.forEach((name, i) => {
    const y = columnRoom + i * cell;
    if (cell >= 9) content.push(textAt(rowRoom - 6, y + cell / 2 + 4, cell < 12 ? "tick tiny" : "tick", "end", shortName(name, Math.max(4, Math.floor((rowRoom - 8) / 6.4)))));
    spec.columns.forEach((_, j) => content.push(...heatCell(spec, i, j, rowRoom + j * cell, y, cell, marks)));
  });
  if (cell >= 9) {
    spec.columns.forEach((name, j) => {
      const x = rowRoom + (j + 0.5) * cell;
      const placing = isTurned ? { transform: `rotate(-45 ${x} ${columnRoom - 6})` } : { "text-anchor": "middle" };
      content.push(svg("text", { x, y: columnRoom - 6, class: cell < 12 ? "tick tiny" : "tick", ...placing }, shortName(name, 16)));
    });
  }
  return { height: columnRoom + spec.rows.length * cell + 4, content, marks };
}

function heatCell(spec, i, j, x, y, cell, marks) {
  const share = spec.shade(i, j);
  const box = { x, y, width: cell - 1, height: cell - 1 };
  marks.push({ box, lines: spec.lines(i, j) });
  const rectangle = svg("rect", { ...box, class: i === j ? "heat diagonal" : "heat", style: { "--share": share.toFixed(3) } });
  const text = spec.text(i, j);
  if (cell < textWidth(text) + 4) return [rectangle];
  const number = textAt(x + (cell - 1) / 2, y + cell / 2 + 4, share > 0.85 ? "heat-text strong" : "heat-text", "middle", text);
  return [rectangle, number];
}

// Parallel coordinates

/** spec: {axes: [{name, position(line): 0..1 or null, ticks: [{at, text}]}], lines: [{strength, best, lines}]}. */
function drawParallel(spec, width) {
  const left = 10;
  const right = width - Math.min(90, width * 0.2);
  const gap = (right - left) / Math.max(1, spec.axes.length - 1);
  const isTurned = gap < 11 + maximum(spec.axes.map((axis) => textWidth(shortName(axis.name, 14))));
  const [top, bottom] = [isTurned ? 84 : 36, spec.height + (isTurned ? 48 : 0) - 14];
  const at = spec.axes.map((_, k) => left + k * gap);
  const y = (position) => bottom - position * (bottom - top);
  const marks = [];
  const paths = spec.lines.map((line) => {
    // A trial may lack a setting; its line then ends and starts again.
    const positions = spec.axes.map((axis, k) => ({ x: at[k], position: axis.position(line) }));
    const points = positions.map(({ x, position }) => (isNumber(position) ? { x, y: y(position) } : null));
    const present = points.filter(Boolean);
    marks.push({ ...present[present.length - 1], dots: present, lines: line.lines });
    const d = points.map((point, k) => (point ? `${k > 0 && points[k - 1] ? "L" : "M"}${point.x.toFixed(1)},${point.y.toFixed(1)}` : "")).join("");
    return svg("path", { d, class: line.best ? "trial best" : "trial", style: { "--share": line.strength.toFixed(3) } });
  });
  const axes = spec.axes.flatMap((axis, k) => parallelAxis(axis, { x: at[k], top, bottom, y, isTurned, room: k === spec.axes.length - 1 ? width - right : gap }));
  return { height: bottom + 14, content: [...paths, ...axes], marks: marks.sort((a, b) => a.y - b.y) };
}

function parallelAxis(axis, { x, top, bottom, y, isTurned, room }) {
  const line = lineAt(x, top, x, bottom, "axis");
  const placing = isTurned ? { transform: `rotate(-45 ${x} ${top - 8})` } : { "text-anchor": x < 40 ? "start" : "middle" };
  const name = svg("text", { x, y: top - 10, class: "axis-label", ...placing }, shortName(axis.name, 14));
  // Narrow charts have no room for the values; the readout shows them.
  const length = Math.floor((room - 8) / 6.4);
  const ticks = length < 3 ? [] : axis.ticks.map((tick) => textAt(x + 5, y(tick.at) + 4, "tick halo", "start", shortName(tick.text, Math.min(12, length))));
  return [line, name, ...ticks];
}

// Horizontal bars with names and numbers, as HTML: they need no hover and wrap on a phone

/** items: {name, value, text, action?}; negative values extend to the left of the middle. */
function barList(items, label) {
  const largest = maximum(items.map((item) => Math.abs(item.value))) || 1;
  const signed = items.some((item) => item.value < 0);
  const rows = items.map((item) => {
    const share = Math.abs(item.value) / largest;
    const size = signed ? share / 2 : share;
    const start = !signed ? 0 : item.value < 0 ? 0.5 - size : 0.5;
    const bar = el("span", { class: `fill ${item.value < 0 ? "s1" : "s0"}`, style: { left: `${100 * start}%`, width: `${100 * size}%` } });
    const name = item.action ? el("button", { class: "link", on: { click: item.action } }, item.name) : item.name;
    return el("li", null, el("span", { class: "bar-name" }, name),
      el("span", { class: signed ? "bar-track signed" : "bar-track", "aria-hidden": "true" }, bar), el("span", { class: "bar-value" }, item.text));
  });
  return el("ul", { class: "bar-list", "aria-label": label }, rows);
}
