// Elements, numbers in words, and the readout (tooltip and announcements).
// Text reaches the document as text nodes only: names in the data may contain HTML.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const MISSING = "not available";

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [property, setting] of Object.entries(value)) node.style.setProperty(property, setting);
    } else {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function note(text) {
  return el("p", { class: "note-text" }, text);
}

function sideBySide(...content) {
  return el("div", { class: "two-columns" }, content);
}

const groupedInteger = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function integer(value) {
  return isNumber(value) ? groupedInteger.format(value) : MISSING;
}

function percent(value, digits = 1) {
  return isNumber(value) ? `${(100 * value).toFixed(digits)}%` : MISSING;
}

const wholePercent = (value) => percent(value, 0);

/** Percent with as many decimals as the ticks of an axis over this domain need. */
function axisPercent([low, high]) {
  const span = high - low;
  const digits = span > 0.1 ? 0 : span > 0.015 ? 1 : 2;
  return (value) => percent(value, digits);
}

/** A share in whole percent, without claiming 0% or 100% where something is left. */
function roughPercent(share) {
  if (share > 0 && share < 0.01) return "less than 1%";
  if (share < 1 && share > 0.99) return "more than 99%";
  return `${Math.round(100 * share)}%`;
}

function decimal(value, digits = 3) {
  if (!isNumber(value)) return MISSING;
  const isExtreme = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
  const text = isExtreme ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(digits)));
  return text.replace(/^-/, "−");
}

function duration(seconds) {
  if (!isNumber(seconds)) return MISSING;
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** A number with its sign, for differences and contributions. */
function signed(value, digits) {
  return isNumber(value) ? `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}` : "–";
}

/** Any JSON value on one line, as a person would write it. */
function plainValue(value) {
  if (value === null || value === undefined) return MISSING;
  if (typeof value === "number") return decimal(value, 6);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function plural(count, noun) {
  return `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A name that is never empty, cut to `length` characters. */
function shortName(name, length = 24) {
  const text = String(name ?? "");
  if (text.trim() === "") return "(empty name)";
  const characters = [...text];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

const textContext = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  textContext.font = "12px system-ui, sans-serif";
  return textContext.measureText(text).width;
}

function maximum(values) {
  return values.reduce((largest, value) => (isNumber(value) && value > largest ? value : largest), -Infinity);
}

function minimum(values) {
  return values.reduce((smallest, value) => (isNumber(value) && value < smallest ? value : smallest), Infinity);
}

function sum(values) {
  return values.reduce((total, value) => total + (isNumber(value) ? value : 0), 0);
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function showTooltip(lines, clientX, clientY) {
  const tooltip = document.getElementById("tooltip");
  tooltip.replaceChildren(...lines.map((line) => el("div", null, line)));
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const left = clientX + 14 + width > innerWidth ? clientX - width - 14 : clientX + 14;
  const top = clientY + 14 + height > innerHeight ? clientY - height - 14 : clientY + 14;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}

function hideTooltip() {
  document.getElementById("tooltip").hidden = true;
}

/** Reads `text` out to screen readers. */
function announce(text) {
  document.getElementById("announcer").textContent = text;
}
