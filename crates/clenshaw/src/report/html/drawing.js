// Nodes: a drawing of the graph on a canvas, a panel for the selected node, and a table of mistakes.

const CLASS_COLOURS = 7;
const COLOURINGS = ["class", "prediction", "correctness", "confidence"];
const nodeState = { colouring: "class", selected: new Map() };

const nodeName = (nodes, index) => nodes.name?.[index] ?? `node ${index}`;
const isWrong = (nodes, index) => nodes.label[index] >= 0 && nodes.predicted[index] >= 0 && nodes.label[index] !== nodes.predicted[index];

function className(graph, index) {
  if (index === null || index === undefined || index < 0) return "no label";
  return shortName(graph.classes[index]?.name ?? `class ${index}`, 60);
}

/** The seven largest classes have a colour each; the others share one. */
function classColours(graph) {
  const order = graph.classes.map((_, k) => k).sort((a, b) => graph.classes[b].size - graph.classes[a].size);
  const colours = new Map(order.slice(0, CLASS_COLOURS).map((k, rank) => [k, `s${rank}`]));
  return (index) => (index < 0 ? "none" : colours.get(index) ?? "other");
}

function nodeLines(graph, nodes, index) {
  const lines = [nodeName(nodes, index), `class: ${className(graph, nodes.label[index])}`, `predicted: ${className(graph, nodes.predicted[index])}`];
  if (isNumber(nodes.confidence[index])) lines.push(`confidence: ${percent(nodes.confidence[index])}`);
  return [...lines, `degree: ${integer(nodes.degree[index])}`];
}

// Drawing

function drawingBlock(graph, run, select) {
  const { drawing, nodes } = run;
  if (!drawing || drawing.nodes.length === 0) return note("A drawing of the graph is not available for this run.");
  const canvas = el("canvas", { id: "graph-canvas", tabindex: 0, role: "application", "aria-roledescription": "graph drawing", "aria-label": `Drawing of ${plural(drawing.nodes.length, "node")}. Arrow keys move between nodes, Enter selects one.` });
  const legend = el("div", { class: "legend" });
  const view = { graph, nodes, drawing, canvas, legend, colourOf: classColours(graph), active: -1, select, label: run.label };
  listenToDrawing(view);
  canvasResizer.disconnect();
  canvasResizer.observe(canvas);
  currentDrawing = view;
  const sample = drawing.sampled ? `A sample: ${integer(drawing.nodes.length)} of ${plural(graph.nodes, "node")}. ` : "";
  return el("div", { class: "drawing" }, colouringSwitch(view), canvas, legend, note(`${sample}Wrong predictions are drawn as squares.`));
}

let currentDrawing = null;
const canvasResizer = new ResizeObserver(() => currentDrawing && paintDrawing(currentDrawing));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => currentDrawing && paintDrawing(currentDrawing));

function colouringSwitch(view) {
  const radios = COLOURINGS.map((name) => {
    const radio = el("input", { type: "radio", name: "colouring", id: `colouring-${name}`, value: name, on: {
      change: () => {
        nodeState.colouring = name;
        paintDrawing(view);
      },
    } });
    radio.checked = name === nodeState.colouring;
    return el("label", null, radio, name);
  });
  return el("fieldset", { class: "switch" }, el("legend", null, "Colour nodes by"), radios);
}

function colourName(view, index) {
  const { nodes } = view;
  if (nodeState.colouring === "class") return view.colourOf(nodes.label[index]);
  if (nodeState.colouring === "prediction") return view.colourOf(nodes.predicted[index]);
  if (nodes.label[index] < 0) return "none";
  return isWrong(nodes, index) ? "s1" : "s0";
}

function paintDrawing(view) {
  const { canvas, drawing } = view;
  const width = canvas.clientWidth;
  if (width === 0) return;
  const height = Math.round(clamp(width * 0.72, 260, 560));
  const ratio = devicePixelRatio || 1;
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  canvas.style.height = `${height}px`;
  view.place = drawing.nodes.map((_, k) => [14 + drawing.x[k] * (width - 28), 14 + drawing.y[k] * (height - 28)]);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const theme = getComputedStyle(document.documentElement);
  const colour = (name) => theme.getPropertyValue(`--${name}`).trim();
  paintEdges(view, context, colour);
  paintNodes(view, context, colour);
  drawNodeLegend(view);
}

function paintEdges(view, context, colour) {
  const selected = view.drawing.nodes.indexOf(nodeState.selected.get(view.label));
  const stroke = (edges, style, alpha, width) => {
    context.beginPath();
    for (const [a, b] of edges) {
      context.moveTo(...view.place[a]);
      context.lineTo(...view.place[b]);
    }
    Object.assign(context, { strokeStyle: style, globalAlpha: alpha, lineWidth: width });
    context.stroke();
    context.globalAlpha = 1;
  };
  stroke(view.drawing.edges, colour("muted"), view.drawing.edges.length > 2000 ? 0.13 : 0.28, 1);
  stroke(view.drawing.edges.filter(([a, b]) => a === selected || b === selected), colour("ink"), 0.9, 1.5);
}

function paintNodes(view, context, colour) {
  const { drawing, nodes, place } = view;
  const radius = drawing.nodes.length > 1500 ? 2.6 : drawing.nodes.length > 300 ? 4 : 6;
  drawing.nodes.forEach((index, k) => {
    const [x, y] = place[k];
    context.beginPath();
    if (isWrong(nodes, index)) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    else context.arc(x, y, radius, 0, 2 * Math.PI);
    paintNode(view, context, colour, index);
  });
  markNode(view, context, colour("ink"), drawing.nodes.indexOf(nodeState.selected.get(view.label)), radius + 4);
  markNode(view, context, colour("focus"), view.active, radius + 3);
}

function paintNode(view, context, colour, index) {
  if (nodeState.colouring === "confidence") {
    const confidence = view.nodes.confidence[index];
    context.fillStyle = isNumber(confidence) ? colour("s0") : colour("none");
    context.globalAlpha = isNumber(confidence) ? 0.12 + 0.88 * confidence : 1;
  } else {
    context.fillStyle = colour(colourName(view, index));
  }
  context.fill();
  context.globalAlpha = 1;
  Object.assign(context, { lineWidth: 0.8, strokeStyle: colour("paper") });
  context.stroke();
}

function markNode(view, context, style, position, radius) {
  if (position < 0) return;
  context.beginPath();
  context.arc(...view.place[position], radius, 0, 2 * Math.PI);
  Object.assign(context, { lineWidth: 2.5, strokeStyle: style });
  context.stroke();
}

function drawNodeLegend(view) {
  const entry = (name, style) => el("span", null, el("i", { class: `swatch dot ${style}` }), name);
  const { legend, graph, colourOf, nodes, drawing } = view;
  if (nodeState.colouring === "confidence") return legend.replaceChildren("confidence: ", el("span", null, "0%", el("i", { class: "ramp" }), "100%"));
  if (nodeState.colouring === "correctness") return legend.replaceChildren(entry("correct", "s0"), entry("wrong", "s1"), entry("no label", "none"));
  const values = nodeState.colouring === "class" ? nodes.label : nodes.predicted;
  const present = new Set(drawing.nodes.map((index) => values[index]));
  const coloured = graph.classes.map((_, k) => k).filter((k) => present.has(k) && colourOf(k) !== "other");
  const entries = coloured.map((k) => entry(shortName(graph.classes[k].name, 30), colourOf(k)));
  if (graph.classes.length > CLASS_COLOURS) entries.push(entry("other classes", "other"));
  if (present.has(-1)) entries.push(entry("no label", "none"));
  legend.replaceChildren(...entries);
}

function listenToDrawing(view) {
  const { canvas } = view;
  canvas.addEventListener("pointermove", (event) => {
    setActive(view, nearestNode(view, event));
    if (view.active < 0) hideTooltip();
    else showTooltip(nodeLines(view.graph, view.nodes, view.drawing.nodes[view.active]), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => leaveDrawing(view));
  canvas.addEventListener("blur", () => leaveDrawing(view));
  canvas.addEventListener("click", (event) => {
    const position = nearestNode(view, event);
    if (position >= 0) view.select(view.drawing.nodes[position]);
  });
  canvas.addEventListener("keydown", (event) => keyOnDrawing(view, event));
}

function leaveDrawing(view) {
  setActive(view, -1);
  hideTooltip();
}

function setActive(view, position) {
  if (view.active === position) return;
  view.active = position;
  paintDrawing(view);
}

function nearestNode(view, event) {
  const bounds = view.canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
  let [best, bestDistance] = [-1, 16];
  (view.place ?? []).forEach(([px, py], k) => {
    const distance = Math.hypot(px - x, py - y);
    if (distance < bestDistance) [best, bestDistance] = [k, distance];
  });
  return best;
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function keyOnDrawing(view, event) {
  if (event.key === "Enter" && view.active >= 0) return view.select(view.drawing.nodes[view.active]);
  if (!(event.key in DIRECTIONS)) return;
  event.preventDefault();
  const next = view.active < 0 ? 0 : nodeTowards(view, DIRECTIONS[event.key]);
  setActive(view, next);
  const lines = nodeLines(view.graph, view.nodes, view.drawing.nodes[next]);
  const bounds = view.canvas.getBoundingClientRect();
  showTooltip(lines, bounds.left + view.place[next][0], bounds.top + view.place[next][1]);
  announce(lines.join(", "));
}

/** The nearest node in a direction; sideways distance counts double. */
function nodeTowards({ place, active }, [dx, dy]) {
  const [x, y] = place[active];
  let [best, bestCost] = [active, Infinity];
  place.forEach(([px, py], k) => {
    const along = (px - x) * dx + (py - y) * dy;
    const across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
    if (along > 0.5 && along + 2 * across < bestCost) [best, bestCost] = [k, along + 2 * across];
  });
  return best;
}

// Panel of one node

function nodePanel(graph, run, index, select) {
  if (index === undefined || index === null || index >= run.nodes.label.length) {
    return [el("h3", null, "Selected node"), note("Select a node in the drawing or in the table to see its prediction.")];
  }
  const { nodes } = run;
  const facts = factList([
    ["class", className(graph, nodes.label[index])],
    ["predicted", className(graph, nodes.predicted[index])],
    ["confidence", percent(nodes.confidence[index])],
    ["part of the split", PART_NAMES[nodes.part[index]] ?? "none"],
    ["neighbours", integer(nodes.degree[index])],
    ["local homophily", isNumber(nodes.homophily[index]) ? `${percent(nodes.homophily[index], 0)} of the labelled neighbours share the class` : MISSING],
  ]);
  const heading = el("h3", { id: "node-heading", tabindex: -1 }, shortName(nodeName(nodes, index), 80));
  const status = isWrong(nodes, index) ? el("p", { class: "badge wrong" }, "wrong prediction") : null;
  return [heading, status, facts, ...probabilityBars(graph, nodes, index), ...explanationBars(run, index, select)];
}

const PART_NAMES = { train: "training", val: "validation", test: "test" };

function probabilityBars(graph, nodes, index) {
  const probabilities = nodes.probabilities?.[index];
  const heading = el("h4", null, "Predicted probabilities");
  if (!probabilities) return [heading, note("Only the probability of the predicted class (its confidence) is stored on this page.")];
  const items = probabilities.map((value, k) => ({ name: className(graph, k), value, text: percent(value) }))
    .sort((a, b) => b.value - a.value).slice(0, 8);
  return [heading, barList(items, "Predicted probabilities")];
}

function explanationBars(run, index, select) {
  const explanation = run.explanations?.nodes?.[index];
  if (!explanation) return run.explanations ? [el("h4", null, "Explanation"), note(run.explanations.note)] : [];
  const [predicted, other] = explanation.classes.map((entry) => shortName(entry.class, 40));
  const { features, nearest } = explanation;
  const groups = [
    ["By distance", hopItems(explanation)],
    ["By node", explanation.nodes.map((item) => contributionItem(`${shortName(item.node, 30)} (${hopName(item.hop)})`, item, () => select(item.index)))],
    ["By term of the polynomial", (explanation.terms?.terms ?? []).map((item, k) => contributionItem(`k = ${k}, coefficient ${decimal(item.coefficient)}`, item))],
    ["By feature, summed over nodes", features.strongest.map((item) => contributionItem(shortName(item.feature, 40), item))],
  ];
  const sum = `Margin: the score of ${predicted} minus that of ${other}, ${signed(explanation.total.margin, 3)}. Positive contributions support ${predicted}.`;
  return [el("h4", null, "Explanation"), note(sum), note(methodSentence(explanation)), ...explanation.notes.map(note),
    ...groups.flatMap(([title, items]) => (items.length ? [el("h5", null, title), barList(items, title)] : [])),
    ...nearestNodes(nearest, select)];
}

const hopName = (hop) => (hop === null ? "not connected" : hop === 0 ? "the node itself" : plural(hop, "hop"));

function contributionItem(name, item, action) {
  return { name, value: item.margin, text: signed(item.margin, 3), action };
}

function hopItems(explanation) {
  const rest = explanation.method === "exact" ? "no node (biases)" : "no node (zero features)";
  return [
    ...explanation.hops.map((item) => contributionItem(`${hopName(item.hop)} (${plural(item.nodes, "node")})`, item)),
    contributionItem(rest, explanation.without_nodes), contributionItem("gap", explanation.gap),
  ];
}

function methodSentence({ method, gap, features }) {
  if (method === "exact") return `The contributions of nodes are exact; those of features are integrated gradients with a gap of ${signed(features.gap.margin, 3)}.`;
  return `Integrated gradients from zero features, ${plural(features.points, "point")}; the contributions lack ${signed(gap.margin, 3)} to the margin (gap).`;
}

function nearestNodes({ representation, nodes }, select) {
  if (!nodes.length) return [];
  const what = representation === "hidden-layer" ? "the last hidden layer" : "class scores";
  const items = nodes.map((item) => el("li", null, el("button", { class: "link", on: { click: () => select(item.index) } }, shortName(item.node, 30)), ` ${shortName(item.label, 30)}, distance ${decimal(item.distance)}`));
  return [el("h5", null, `Nearest training nodes, by ${what}`), el("ul", null, items)];
}

// Table

function nodeTable(graph, run, select) {
  const { nodes } = run;
  const rowsWhere = (test) => () => nodes.label.map((_, index) => index).filter(test);
  const views = [
    { name: "mistakes on test nodes", rows: rowsWhere((index) => nodes.part[index] === "test" && isWrong(nodes, index)) },
    { name: "all mistakes", rows: rowsWhere((index) => isWrong(nodes, index)) },
    { name: "nodes without a label", rows: rowsWhere((index) => nodes.label[index] < 0) },
    { name: "all nodes", rows: rowsWhere(() => true) },
  ];
  const columns = [
    { title: "node", value: (index) => nodes.name?.[index] ?? index, cell: (index) => nodeButton(nodes, index, select) },
    { title: "class", value: (index) => className(graph, nodes.label[index]) },
    { title: "predicted", value: (index) => className(graph, nodes.predicted[index]) },
    { title: "confidence", numeric: true, value: (index) => nodes.confidence[index], cell: (index) => shareCell(nodes.confidence[index]) },
    { title: "degree", numeric: true, value: (index) => nodes.degree[index], cell: (index) => integer(nodes.degree[index]) },
    { title: "local homophily", numeric: true, value: (index) => nodes.homophily[index], cell: (index) => (isNumber(nodes.homophily[index]) ? nodes.homophily[index].toFixed(2) : "–") },
    { title: "part", value: (index) => PART_NAMES[nodes.part[index]] ?? "none" },
  ];
  return dataTable({
    key: "nodes", label: "Most confident mistakes", views, columns, sort: { column: 3, descending: true }, empty: "No node matches.",
    searchText: (index) => `${nodeName(nodes, index)}\n${className(graph, nodes.label[index])}\n${className(graph, nodes.predicted[index])}`,
  });
}

function nodeButton(nodes, index, select) {
  return el("button", { class: "link", on: { click: () => select(index, true) } }, shortName(nodeName(nodes, index), 40));
}

// Sections

function mostConfidentMistake(nodes) {
  let best = null;
  nodes.label.forEach((_, index) => {
    const isCandidate = nodes.part[index] === "test" && isWrong(nodes, index) && isNumber(nodes.confidence[index]);
    if (isCandidate && (best === null || nodes.confidence[index] > nodes.confidence[best])) best = index;
  });
  return best;
}

function nodeSections(graph, run) {
  if (!run.nodes?.label?.length) return null;
  const panel = el("div", { class: "node-panel", id: "node-panel" });
  const showNode = () => panel.replaceChildren(...nodePanel(graph, run, nodeState.selected.get(run.label), select).filter(Boolean));
  const select = (index, moveThere) => {
    nodeState.selected.set(run.label, index);
    showNode();
    if (currentDrawing) paintDrawing(currentDrawing);
    if (moveThere) panel.scrollIntoView({ block: "nearest" });
    document.getElementById("node-heading")?.focus({ preventScroll: true });
  };
  if (!nodeState.selected.has(run.label)) nodeState.selected.set(run.label, mostConfidentMistake(run.nodes));
  showNode();
  const truncated = run.nodes.truncated ? note("The page lists only some of the nodes; clenshaw predict RUN lists all of them.") : null;
  return [
    section("mistakes", "Most confident mistakes", truncated, nodeTable(graph, run, select)),
    section("nodes", "Graph and node explorer", el("div", { class: "explorer" }, drawingBlock(graph, run, select), panel)),
  ];
}
