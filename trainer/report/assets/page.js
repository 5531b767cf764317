// Puts the page together.

const data = readData();
const runs = data.runs;
const isComparison = runs.length > 1;
const view = {axis: "steps", smoothing: 0, hiddenRuns: new Set(), charts: []};
const charts = view.charts;

function notFiniteNote(series, label) {
  if (!series.num_not_finite) return "";
  return `${label} has ${plural(series.num_not_finite, "value")} that ${series.num_not_finite === 1 ? "is" : "are"} NaN or infinite (\u00d7), first at step ${groupThousands(series.first_not_finite)}.`;
}

function makeChart(title, curves, options) {
  const chart = new Chart(title, curves, view, options);
  charts.push(chart);
  return chart.element;
}

const LABEL_ORDER = ["train", "val", "test"];

function labelRank(label) {
  const rank = LABEL_ORDER.indexOf(label.split(",")[0]);
  return rank < 0 ? LABEL_ORDER.length : rank;
}

// A chart of one quantity: every stage of every run.
function quantityChart(quantity, members) {
  const labels = [...new Set(members.map(({series}) => curveLabel(series, quantity)))].sort((a, b) => labelRank(a) - labelRank(b));
  const curves = members.map(({run, series}) => {
    const label = curveLabel(series, quantity);
    const fullLabel = !isComparison ? label : labels.length > 1 ? `${run.label} ${label}` : run.label;
    return {
      run, label, fullLabel, steps: series.steps, epochs: series.epochs, values: series.values, means: series.means,
      style: curveStyle(run, labels.indexOf(label), isComparison), hasMarkers: series.values.length <= MAX_MARKERS,
      isNoisy: series.values.length > MAX_MARKERS && series.group !== "learning rate",
      note: notFiniteNote(series, fullLabel), isHidden: false,
    };
  });
  // The curve with most points lies below the others.
  curves.sort((a, b) => b.values.length - a.values.length);
  const element = makeChart(quantity, curves);
  const chart = charts[charts.length - 1];
  if (labels.length > 1 || (!isComparison && labels[0] !== quantity)) chart.legend.append(...labels.map((label) => legendButton(chart, label)));
  return element;
}

function legendButton(chart, label) {
  const mine = chart.curves.filter((curve) => curve.label === label);
  const style = isComparison ? {color: "currentColor", dash: "", shape: mine[0].style.shape} : mine[0].style;
  const isOnly = chart.curves.every((curve) => curve.label === label);
  const content = [swatch(style, mine.some((curve) => curve.hasMarkers)), label];
  if (isOnly) return el("span", {class: "chip still"}, content);
  return toggle(content, (isOn) => {
    for (const curve of mine) curve.isHidden = !isOn;
    chart.draw();
  });
}

function toggle(content, onchange) {
  const button = el("button", {type: "button", class: "chip", "aria-pressed": "true", onclick: () => {
    const isOn = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isOn));
    onchange(isOn);
  }}, content);
  return button;
}

function drawAll() {
  for (const chart of charts) chart.draw();
}

function chartGroup(title, group) {
  const quantities = groupSeries(runs, group);
  if (quantities.length === 0) return null;
  return section(title, el("div", {class: "charts"}, quantities.map(([quantity, members]) => quantityChart(quantity, members))));
}

function axisSwitch() {
  const radio = (axis, label) => el("label", {}, el("input", {type: "radio", name: "axis", checked: axis === view.axis, onchange: () => {
    view.axis = axis;
    for (const chart of charts) if (!chart.options.xName) chart.zoom = chart.readX = null;
    drawAll();
  }}), el("span", {}, label));
  return el("fieldset", {class: "segments"}, el("legend", {class: "hidden-text"}, "Horizontal axis"), radio("steps", "Step"), radio("epochs", "Epoch"));
}

function smoothingSlider() {
  const shown = el("output", {}, "0");
  let isPending = false;
  const input = el("input", {type: "range", min: 0, max: 0.99, step: 0.01, value: 0, oninput: () => {
    view.smoothing = Number(input.value);
    shown.textContent = trimZeros(view.smoothing.toFixed(2));
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      drawAll();
    });
  }});
  return el("label", {class: "slider"}, "Smoothing", input, shown);
}

function runSwitches() {
  const buttons = runs.map((run) => toggle([swatch(curveStyle(run, 0, true), false), run.label], (isOn) => {
    if (isOn) view.hiddenRuns.delete(run.index);
    else view.hiddenRuns.add(run.index);
    drawAll();
  }));
  return el("div", {class: "run-switches", role: "group", "aria-label": "Runs"}, buttons);
}

function toolbar() {
  return el("div", {class: "toolbar", role: "group", "aria-label": "Curves"},
    el("div", {class: "switches"}, axisSwitch(), smoothingSlider()), isComparison ? runSwitches() : null);
}

function extraCurve(title, curve, run) {
  const points = curve.x.map((x, i) => [toNumber(x), toNumber(curve.y[i])]).filter(([x]) => Number.isFinite(x))
    .sort((a, b) => a[0] - b[0]);
  const label = curve.y_name || title;
  const drawn = {run: null, label, fullLabel: label, xs: points.map((p) => p[0]), values: points.map((p) => p[1]), means: null,
                 style: curveStyle(run, 0, isComparison), hasMarkers: points.length <= MAX_MARKERS, isHidden: false};
  return makeChart(label, [drawn], {xName: curve.x_name || "x", isLogX: curve.is_log_x, markedX: toOptional(curve.marked_x)});
}

function toOptional(value) {
  return value === undefined ? undefined : toNumber(value);
}

function extraSections() {
  return runs.flatMap((run) => (run.record.sections || []).map((extra) => section(
    isComparison ? `${extra.title}: ${run.label}` : extra.title,
    extra.text ? el("p", {}, extra.text) : null,
    extra.curve ? el("div", {class: "charts"}, extraCurve(extra.title, extra.curve, run)) : null,
    extra.table ? el("div", {class: "card"}, table(extra.title, extra.table.columns.map((title) => ({title})), extra.table.rows)) : null)));
}

function heading() {
  const title = isComparison ? `${runs.length} runs` : runs[0].name;
  const below = isComparison ? runs.map((run) => run.name).join(", ") : runs[0].folder;
  return [el("p", {class: "brand"}, "Levin run report"), el("h1", {}, title), el("p", {class: "muted path"}, below)];
}

function fillPage() {
  document.getElementById("top").append(...heading());
  const hasCurves = runs.some((run) => run.series.length > 0);
  const parts = [
    ...notices(runs, isComparison),
    ...(isComparison ? [resultsOfSeveral(runs)] : [overview(runs[0]), resultsOfOne(runs[0])]),
    hasCurves ? toolbar() : null,
    chartGroup("Metrics", "metric"), chartGroup("Learning rate", "learning rate"), chartGroup("Throughput", "throughput"),
    timeSplit(runs, isComparison), ...extraSections(), isComparison ? runTable(runs) : null,
    configuration(runs, isComparison), modelSummary(runs, isComparison), environment(runs, isComparison),
  ];
  document.getElementById("report").replaceChildren(...parts.filter(Boolean));
  document.getElementById("foot").append(`Levin ${data.version}, written ${formatTime(data.written_at)}`);
}

fillPage();
