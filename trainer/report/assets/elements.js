// Making elements. Texts always become text nodes, so that nothing in a run's files is taken for markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function hiddenText(text) {
  return el("span", {class: "hidden-text"}, text);
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function collapsible(title, isOpen, ...children) {
  return el("details", {class: "card", open: isOpen}, el("summary", {}, el("h2", {}, title)), ...children);
}

// A table may be wider than a phone: it scrolls in a box of its own, which the keyboard reaches.
function scrollBox(label, child) {
  return el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": label}, child);
}

// columns: {title, isNumber, isShort (on one line)}; rows: lists of texts or elements.
function table(label, columns, rows, footer) {
  const cell = (content, i) => el(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: cellClass(columns[i])}, content);
  const head = columns.map((c) => el("th", {scope: "col", class: cellClass(c)}, c.title));
  return scrollBox(label, el("table", {},
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))),
    footer ? el("tfoot", {}, el("tr", {}, footer.map(cell))) : null));
}

function cellClass(column) {
  if (!column) return null;
  return column.isNumber ? "number" : column.isShort ? "short" : null;
}

function isLong(value) {
  return typeof value === "string" && value.length > 20;
}

// Names and values side by side; pairs without a value are left out.
function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return el("dl", {class: "facts"}, known.map(([name, value]) => el("div", {class: isLong(value) ? "wide" : null}, el("dt", {}, name), el("dd", {}, value))));
}
