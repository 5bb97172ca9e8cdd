// A table that sorts, searches and shows one page of rows at a time, so 100,000 rows cost no more than 15.

const tableStates = new Map();
const collator = new Intl.Collator("en", { numeric: true });

/**
 * spec: {key, label, rows | views: [{name, rows()}], columns, searchText?(row), sort: {column, descending}, pageSize?, empty}
 * column: {title, value(row), cell?(row), numeric?}
 */
function dataTable(spec) {
  const views = spec.views ?? [{ name: "all", rows: () => spec.rows }];
  if (!tableStates.has(spec.key)) tableStates.set(spec.key, { ...spec.sort, page: 0, query: "", view: 0 });
  const table = { spec, views, state: tableStates.get(spec.key), pageSize: spec.pageSize ?? 15 };
  table.state.view = Math.min(table.state.view, views.length - 1);
  table.body = el("tbody");
  table.heads = spec.columns.map((column, index) => headCell(table, column, index));
  table.pager = el("div", { class: "pager" });
  const grid = el("table", null, el("caption", { class: "visually-hidden" }, spec.label), el("thead", null, el("tr", null, table.heads)), table.body);
  const scroller = el("div", { class: "scroller", role: "region", "aria-label": `${spec.label}, table`, tabindex: 0 }, grid);
  const root = el("div", { class: "data-table" }, toolbar(table), scroller, table.pager);
  refreshTable(table);
  return root;
}

function headCell(table, column, index) {
  const id = `${table.spec.key}-sort-${index}`;
  const button = el("button", { id, on: { click: () => sortBy(table, index) } }, column.title, el("span", { class: "arrow", "aria-hidden": "true" }));
  return el("th", { scope: "col", class: column.numeric ? "numeric" : null }, button);
}

function sortBy(table, index) {
  const { state } = table;
  state.descending = state.column === index ? !state.descending : Boolean(table.spec.columns[index].numeric);
  Object.assign(state, { column: index, page: 0 });
  refreshTable(table);
}

function toolbar(table) {
  const controls = [];
  if (table.views.length > 1) controls.push(viewSelect(table));
  if (table.spec.searchText) controls.push(searchField(table));
  return controls.length ? el("div", { class: "toolbar" }, controls) : null;
}

function viewSelect(table) {
  const select = el("select", { id: `${table.spec.key}-view`, on: {
    change: () => {
      Object.assign(table.state, { view: select.selectedIndex, page: 0 });
      refreshTable(table);
    },
  } }, table.views.map((view) => el("option", null, view.name)));
  select.selectedIndex = table.state.view;
  return el("label", null, "Show ", select);
}

function searchField(table) {
  let timer = 0;
  const input = el("input", { type: "search", id: `${table.spec.key}-search`, autocomplete: "off", spellcheck: "false", on: {
    input: () => {
      // Kept immediately: the page may be built again before the table is searched.
      Object.assign(table.state, { query: input.value, page: 0 });
      clearTimeout(timer);
      timer = setTimeout(() => refreshTable(table), 120);
    },
  } });
  input.value = table.state.query;
  return el("label", null, "Search ", input);
}

function refreshTable(table) {
  const { spec, state } = table;
  const rows = sortedRows(spec.columns[state.column], state.descending, matchingRows(table));
  const pages = Math.max(1, Math.ceil(rows.length / table.pageSize));
  state.page = clamp(state.page, 0, pages - 1);
  const shown = rows.slice(state.page * table.pageSize, (state.page + 1) * table.pageSize);
  table.body.replaceChildren(...shown.map((row) => bodyRow(spec, row)));
  if (rows.length === 0) table.body.append(el("tr", null, el("td", { colspan: spec.columns.length, class: "empty" }, spec.empty ?? "No rows.")));
  table.heads.forEach((head, index) => markSorted(head, index === state.column ? state.descending : null));
  refreshPager(table, rows.length, pages);
}

function matchingRows({ spec, state, views }) {
  const rows = views[state.view].rows();
  const query = state.query.trim().toLowerCase();
  return query && spec.searchText ? rows.filter((row) => spec.searchText(row).toLowerCase().includes(query)) : rows;
}

/** Rows without a value come last in either direction. */
function sortedRows(column, descending, rows) {
  const keyed = rows.map((row) => ({ row, value: column.value(row) }));
  const sign = descending ? -1 : 1;
  const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
  keyed.sort((a, b) => {
    if (isMissing(a.value) || isMissing(b.value)) return isMissing(a.value) - isMissing(b.value);
    return sign * (typeof a.value === "number" ? a.value - b.value : collator.compare(a.value, b.value));
  });
  return keyed.map(({ row }) => row);
}

function bodyRow(spec, row) {
  return el("tr", null, spec.columns.map((column) => {
    const content = column.cell ? column.cell(row) : plainValue(column.value(row));
    return el("td", { class: column.numeric ? "numeric" : null }, content);
  }));
}

function markSorted(head, descending) {
  if (descending === null) head.removeAttribute("aria-sort");
  else head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  head.querySelector(".arrow").textContent = descending === null ? "" : descending ? " ▼" : " ▲";
}

function refreshPager(table, count, pages) {
  const { state, spec, pager } = table;
  if (pages === 1) {
    pager.replaceChildren(table.spec.searchText ? el("span", null, plural(count, "row")) : "");
    return;
  }
  const turn = (step) => {
    state.page += step;
    refreshTable(table);
    document.getElementById(`${spec.key}-${step > 0 ? "next" : "previous"}`)?.focus();
  };
  const button = (name, step, enabled) => el("button", { id: `${spec.key}-${name.toLowerCase()}`, "aria-disabled": String(!enabled), on: { click: () => enabled && turn(step) } }, name);
  pager.replaceChildren(button("Previous", -1, state.page > 0),
    el("span", null, `page ${integer(state.page + 1)} of ${integer(pages)}, ${plural(count, "row")}`), button("Next", 1, state.page < pages - 1));
}

/** A number with a small bar behind it, for shares between 0 and 1. */
function shareCell(value, digits = 1) {
  if (!isNumber(value)) return "–";
  return el("span", { class: "share-cell", style: { "--share": value.toFixed(4) } }, percent(value, digits));
}
