// How a chart is read and zoomed: with a mouse, a finger or the keyboard.

const MAX_READ_OUT = 12;
const MIN_DRAG = 6;

// The point of each curve that is nearest to what is read. First the x of the nearest point of all.
function readValues(chart) {
  const {x, y, shown} = chart.geometry;
  const candidates = shown.filter(({points}) => points.xs.length > 0).map(({curve, points}) => {
    const source = points.smooth || points;
    const i = nearestIndex(source.xs, chart.readX);
    return {curve, x: source.xs[i], value: source.values[i]};
  });
  const inside = candidates.filter((item) => item.x >= chart.domain[0] && item.x <= chart.domain[1]);
  const distance = (item) => Math.abs(x.toPixel(item.x) - x.toPixel(chart.readX));
  inside.sort((a, b) => distance(a) - distance(b));
  if (inside.length > 0) chart.cursorX = inside[0].x;
  // As they lie above each other in the chart.
  const height = (item) => isDrawable(item.value, y.isLog) ? y.toPixel(item.value) : -1;
  return inside.sort((a, b) => height(a) - height(b));
}

function formatX(chart, value) {
  if (chart.options.xName) return formatNumber(value);
  return chart.view.axis === "steps" ? groupThousands(value) : trimZeros(value.toFixed(2));
}

function drawReadOut(chart, items) {
  const {x, y, height, width, left} = chart.geometry;
  const at = x.toPixel(chart.cursorX);
  chart.cursor.append(svg("line", {class: "cursor", x1: at, x2: at, y1: MARGIN.top, y2: height - MARGIN.bottom}));
  for (const item of items) {
    if (!isDrawable(item.value, y.isLog)) continue;
    chart.cursor.append(svg("circle", {class: "dot", cx: x.toPixel(item.x), cy: y.toPixel(item.value), r: 4, fill: item.curve.style.color}));
  }
  const rows = items.slice(0, MAX_READ_OUT).map((item) => el("div", {},
    swatch(item.curve.style, item.curve.hasMarkers), el("span", {}, item.curve.fullLabel),
    item.x === chart.cursorX ? null : el("small", {}, `at ${formatX(chart, item.x)}`), el("b", {}, formatNumber(item.value))));
  if (items.length > MAX_READ_OUT) rows.push(el("div", {}, `and ${items.length - MAX_READ_OUT} more`));
  chart.readOut.replaceChildren(el("strong", {}, `${chart.xName()} ${formatX(chart, chart.cursorX)}`), ...rows);
  // On the side with more room, so that the finger or the pointer does not hide it.
  const isRight = at - left > (width - left) / 2;
  chart.readOut.style.left = isRight ? "auto" : `${at + 14}px`;
  chart.readOut.style.right = isRight ? `${width - at + 14}px` : "auto";
}

function pointerX(chart, event) {
  const {x, left, width} = chart.geometry;
  const pixel = event.clientX - chart.frame.getBoundingClientRect().left;
  return x.toValue(Math.min(width - MARGIN.right, Math.max(left, pixel)));
}

// A mouse reads where it is and zooms by dragging; a finger reads while it moves sideways.
function listenToPointer(chart) {
  const frame = chart.frame;
  let start = null;
  frame.addEventListener("pointerdown", (event) => {
    if (!chart.geometry || event.button !== 0) return;
    if (event.pointerType === "mouse") {
      start = {x: pointerX(chart, event), pixel: event.clientX};
      frame.setPointerCapture(event.pointerId);
    }
    chart.read(pointerX(chart, event));
  });
  frame.addEventListener("pointermove", (event) => {
    if (!chart.geometry) return;
    chart.read(pointerX(chart, event));
    if (start) showSelection(chart, start.x, pointerX(chart, event));
  });
  frame.addEventListener("pointerup", (event) => {
    if (start && Math.abs(event.clientX - start.pixel) >= MIN_DRAG) {
      chart.setZoom([start.x, pointerX(chart, event)].sort((a, b) => a - b));
    }
    start = null;
  });
  frame.addEventListener("pointercancel", () => { start = null; });
  frame.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") chart.read(null);
  });
  frame.addEventListener("dblclick", () => chart.setZoom(null));
  // A touch elsewhere ends the reading.
  document.addEventListener("pointerdown", (event) => {
    if (chart.readX !== null && !frame.contains(event.target)) chart.read(null);
  });
}

function showSelection(chart, from, to) {
  const {x, height} = chart.geometry;
  const [a, b] = [x.toPixel(from), x.toPixel(to)].sort((p, q) => p - q);
  fill(chart.selection, {x: a, width: b - a, height: height - MARGIN.bottom - MARGIN.top}, []);
}

function listenToKeys(chart) {
  const actions = {
    ArrowLeft: () => moveReading(chart, -1),
    ArrowRight: () => moveReading(chart, 1),
    "+": () => chart.zoomBy(0.5),
    "=": () => chart.zoomBy(0.5),
    "-": () => chart.zoomBy(2),
    0: () => chart.setZoom(null),
    Escape: () => chart.read(null),
  };
  chart.frame.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(actions, event.key) || event.ctrlKey || event.metaKey || event.altKey || !chart.geometry) return;
    event.preventDefault();
    actions[event.key]();
  });
  chart.frame.addEventListener("blur", () => chart.read(null));
}

// To the next x at which some curve has a point.
function moveReading(chart, direction) {
  const {shown} = chart.geometry;
  if (chart.readX === null) return chart.read(chart.domain[direction > 0 ? 0 : 1]);
  let next = null;
  for (const {points} of shown) {
    const xs = (points.smooth || points).xs;
    const i = direction > 0 ? firstIndex(xs, (x) => x > chart.cursorX) : firstIndex(xs, (x) => x >= chart.cursorX) - 1;
    const x = xs[i];
    if (x === undefined || x < chart.domain[0] || x > chart.domain[1]) continue;
    if (next === null || (direction > 0 ? x < next : x > next)) next = x;
  }
  if (next !== null) chart.read(next);
}
