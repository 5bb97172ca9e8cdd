// The page: `render(data)` builds it and may be called again with new data. Scroll position, focus, slider,
// zoom, sorting and selection survive, because they are kept outside the elements.

const pageState = { run: null, pointerIsDown: false, pending: null };

function render(data) {
  // Rebuilding the page under a pressed pointer would end the drag of a slider or a zoom.
  if (pageState.pointerIsDown) {
    pageState.pending = data;
    return;
  }
  const focus = rememberFocus();
  const details = rememberDetails();
  const { scrollX: left, scrollY: top } = window;
  clearInterval(playTimer);
  forgetCharts();
  currentDrawing = null;
  hideTooltip();
  document.title = `${data.title}: clenshaw report`;
  const sections = pageSections(data);
  document.getElementById("top").replaceChildren(...pageHeader(data));
  document.getElementById("content").replaceChildren(...sections);
  document.getElementById("contents").replaceChildren(...sectionLinks(sections));
  document.getElementById("foot").replaceChildren(el("p", null, `Made by ${data.program}. This page ${data.live ? "is updated by clenshaw watch" : "is one file"} and loads nothing from elsewhere.`));
  drawNewCharts();
  if (currentDrawing) paintDrawing(currentDrawing);
  restoreDetails(details);
  restoreFocus(focus);
  window.scrollTo(left, top);
}

function pageSections(data) {
  const sections = data.choice ? choiceSections(data.choice) : data.study ? studySections(data.study) : [];
  if (data.runs.length > 1 || data.comparison) sections.push(...comparisonSections(data));
  const run = data.runs.find((candidate) => candidate.label === pageState.run) ?? data.runs[0];
  if (data.runs.length > 1) sections.push(runPicker(data, run));
  if (run) sections.push(...runSections(data.graph, run));
  else {
    if (!data.study && !data.comparison) sections.push(missingSection("result", "Result", "No run has started yet."));
    if (data.graph) sections.push(graphSection(data.graph));
  }
  if (data.choice && data.study) sections.push(...studySections(data.study));
  return sections;
}

function runPicker(data, run) {
  const select = el("select", { id: "run-picker", on: {
    change: () => {
      pageState.run = data.runs[select.selectedIndex].label;
      render(data);
    },
  } }, data.runs.map((candidate) => el("option", null, shortName(candidate.label, 80))));
  select.selectedIndex = data.runs.indexOf(run);
  return el("div", { class: "run-picker" }, el("label", { for: "run-picker" }, "Details of run"), select);
}

function pageHeader(data) {
  const { graph } = data;
  if (!graph) return [el("h1", null, shortName(data.title, 200)), data.live ? el("p", { class: "subtitle" }, el("span", { class: "badge live" }, "live")) : null].filter(Boolean);
  const facts = [...(isNumber(graph.nodes) ? [plural(graph.nodes, "node"), plural(graph.edges, "edge")] : ["graph not loaded"]), isNumber(graph.edge_homophily) ? `edge homophily ${graph.edge_homophily.toFixed(2)}` : null];
  return [
    el("h1", null, shortName(data.title, 200)),
    el("p", { class: "subtitle" }, `${shortName(graph.name, 80)}: ${facts.filter(Boolean).join(", ")}`, data.live ? el("span", { class: "badge live" }, "live") : null),
  ];
}

function sectionLinks(sections) {
  const targets = sections.flatMap((part) => (part.matches("section") ? [part] : [...part.querySelectorAll("section")]));
  return [el("ul", null, targets.map((target) => el("li", null, el("a", { href: `#${target.id}` }, shortName(target.querySelector("h2").textContent, 40)))))];
}

/** Which lists are open, and how far tables are scrolled sideways. */
function rememberDetails() {
  const open = [...document.querySelectorAll("#content details")].map((part) => [part.firstChild.textContent, part.open]);
  const scrolled = [...document.querySelectorAll("#content .scroller")].map((part) => [part.getAttribute("aria-label"), part.scrollLeft]);
  return { open: new Map(open), scrolled: new Map(scrolled) };
}

function restoreDetails({ open, scrolled }) {
  for (const part of document.querySelectorAll("#content details")) part.open = open.get(part.firstChild.textContent) ?? part.open;
  for (const part of document.querySelectorAll("#content .scroller")) part.scrollLeft = scrolled.get(part.getAttribute("aria-label")) ?? 0;
}

function rememberFocus() {
  const { activeElement: active } = document;
  return active?.id ? { id: active.id, start: active.selectionStart, end: active.selectionEnd } : null;
}

function restoreFocus(focus) {
  const target = focus && document.getElementById(focus.id);
  if (!target || target === document.activeElement) return;
  target.focus({ preventScroll: true });
  if (isNumber(focus.start)) target.setSelectionRange?.(focus.start, focus.end);
}

addEventListener("pointerdown", () => {
  pageState.pointerIsDown = true;
});

for (const release of ["pointerup", "pointercancel"]) {
  addEventListener(release, () => {
    pageState.pointerIsDown = false;
    const { pending } = pageState;
    pageState.pending = null;
    // A click's own listeners run after this event and need the elements they were attached to.
    if (pending) setTimeout(() => render(pending));
  });
}

const embedded = document.getElementById("report-data").textContent.trim();
if (embedded) render(JSON.parse(embedded));
