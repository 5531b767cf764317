// The parts of the page that are no charts over steps.

const STATUS_SIGNS = {running: "\u25b6", finished: "\u2713", "stopped early": "\u2713", interrupted: "\u25a0", failed: "\u2715"};

function statusBadge(status) {
  if (!status) return "";
  return el("span", {class: `badge ${status.replace(" ", "-")}`}, `${STATUS_SIGNS[status] || ""} ${status}`);
}

function runDuration(record) {
  return record.start_time && record.end_time ? formatSeconds(secondsBetween(record.start_time, record.end_time)) : "";
}

function countText(value) {
  return value === undefined ? "" : groupThousands(value);
}

function bestText(record) {
  if (record.best_score === undefined) return record.best_checkpoint || "";
  const score = [record.monitor, formatNumber(record.best_score)].filter(Boolean).join(" ");
  return record.best_checkpoint ? `${score} (${record.best_checkpoint})` : score;
}

// Name and value of what is known about a run; the same for the facts of one run and the table of several.
const RUN_FIELDS = [
  ["Status", (run) => statusBadge(run.record.status)],
  ["Started", (run) => run.record.start_time ? formatTime(run.record.start_time) : ""],
  ["Duration", (run) => runDuration(run.record)],
  ["Epochs", (run) => countText(run.record.num_epochs)],
  ["Optimizer steps", (run) => countText(run.record.num_steps)],
  ["Samples", (run) => countText(run.record.num_samples)],
  ["Seed", (run) => run.record.seed || ""],
  ["Peak memory", (run) => run.record.peak_memory_bytes === undefined ? "" : formatBytes(run.record.peak_memory_bytes)],
  ["Best checkpoint", (run) => bestText(run.record)],
];

function overview(run) {
  const card = el("div", {class: "card"}, facts(RUN_FIELDS.map(([name, value]) => [name, value(run)])));
  if (run.record.command_line) card.append(el("p", {class: "command"}, el("code", {}, run.record.command_line)));
  return card.querySelector("dd, code") ? card : null;
}

function runTable(runs) {
  const known = RUN_FIELDS.filter(([, value]) => runs.some((run) => value(run) !== ""));
  if (known.length === 0) return null;
  const columns = ["Run", ...known.map(([name]) => name)].map((title) => ({title, isShort: true}));
  const rows = runs.map((run) => [runLabel(run), ...known.map(([, value]) => value(run))]);
  return section("Runs", el("div", {class: "card"}, table("Runs", columns, rows)));
}

function runLabel(run) {
  return el("span", {class: "run-label"}, swatch(curveStyle(run, 0, true), false), run.label);
}

function notices(runs, isComparison) {
  const boxes = [];
  for (const run of runs) {
    const who = isComparison ? `${run.label}: ` : "";
    if (run.record.error) boxes.push(el("div", {class: "notice bad"}, el("strong", {}, `${who}The run failed. `), el("pre", {}, run.record.error)));
    for (const note of run.notes) boxes.push(el("div", {class: "notice"}, who + note));
  }
  return boxes;
}

function place(point) {
  return `step ${groupThousands(point.step)}, epoch ${point.epoch}`;
}

function resultsOfOne(run) {
  const list = run.series.filter((series) => series.group !== "learning rate");
  if (list.length === 0) return null;
  const columns = [{title: "Metric"}, {title: "Last", isNumber: true}, {title: "Best", isNumber: true}, {title: "Best at", isShort: true},
                   {title: "Range", isNumber: true}];
  const range = (series) => series.lowest === undefined ? "" : `${formatNumber(series.lowest, 4)} \u2026 ${formatNumber(series.highest, 4)}`;
  const rows = list.map((series) => [
    series.name, formatNumber(series.last.value), series.best ? el("b", {}, formatNumber(series.best.value)) : "",
    series.best ? place(series.best) : "", range(series)]);
  return section("Results", el("div", {class: "card"}, table("Results", columns, rows)));
}

// The run with the best value of each metric; none if nothing is known to be better.
function winners(runs, names) {
  const best = new Map();
  for (const [name, better] of names) {
    for (const run of runs) {
      const series = run.series.find((s) => s.name === name);
      if (!series || !series.best || !better) continue;
      const before = best.get(name);
      const isBetter = before === undefined || (better === "lower" ? series.best.value < before : series.best.value > before);
      if (isBetter) best.set(name, series.best.value);
    }
  }
  return best;
}

function resultCell(series, winner) {
  if (!series) return "";
  const last = formatNumber(series.last.value);
  if (!series.best) return last;
  const isWinner = series.best.value === winner;
  return el("span", {class: isWinner ? "result winner" : "result"},
    el("b", {title: place(series.best)}, isWinner ? "\u2605 " : "", formatNumber(series.best.value), isWinner ? hiddenText(" best of all runs") : null),
    el("small", {}, `last ${last}`));
}

function resultsOfSeveral(runs) {
  const names = metricNames(runs, ["metric", "throughput"]);
  if (names.size === 0) return null;
  const best = winners(runs, names);
  const state = {name: null, isAscending: true};
  const box = el("div", {class: "card"});
  const value = (run) => {
    const series = run.series.find((s) => s.name === state.name);
    return series ? toNumber((series.best || series.last).value) : NaN;
  };
  const sorted = () => state.name === null ? runs : [...runs].sort((a, b) => compareNumbers(value(a), value(b), state.isAscending));
  const sortBy = (name) => {
    const isSame = state.name === name;
    state.isAscending = isSame ? !state.isAscending : names.get(name) !== "higher";
    state.name = name;
    render();
    box.querySelector(`th[data-index="${[...names.keys()].indexOf(name)}"] button`).focus();
  };
  const heading = (name) => el("button", {type: "button", class: "sort", onclick: () => sortBy(name)},
    name, state.name === name ? (state.isAscending ? " \u2191" : " \u2193") : "");
  const render = () => {
    const columns = [{title: "Run"}, ...[...names.keys()].map((name) => ({title: heading(name), isNumber: true}))];
    const rows = sorted().map((run) => [runLabel(run),
      ...[...names.keys()].map((name) => resultCell(run.series.find((s) => s.name === name), best.get(name)))]);
    box.replaceChildren(table("Results", columns, rows), el("p", {class: "hint"},
      "The best value of each run, its last one below; \u2605 is the best of all. A heading sorts."));
    [...box.querySelectorAll("thead th")].forEach((th, i) => {
      if (i === 0) return;
      th.dataset.index = i - 1;
      if (state.name === [...names.keys()][i - 1]) th.setAttribute("aria-sort", state.isAscending ? "ascending" : "descending");
    });
  };
  render();
  return section("Results", box);
}

// What is no number comes last.
function compareNumbers(a, b, isAscending) {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return isAscending ? a - b : b - a;
}

function timeSplit(runs, isComparison) {
  const split = runs.filter((run) => run.record.time_split);
  if (split.length === 0) return null;
  const names = [...new Set(split.flatMap((run) => run.record.time_split.map((part) => part.name)))];
  const color = (name) => `background: var(--curve-${names.indexOf(name) % NUM_COLORS})`;
  const bars = split.map((run) => el("div", {class: "split"}, isComparison ? el("div", {class: "split-name"}, run.label) : null,
    el("div", {class: "bar", "aria-hidden": "true"}, run.record.time_split.map((part) => el("span", {
      style: `width: ${100 * toNumber(part.share)}%; ${color(part.name)}`, title: `${part.name} ${formatShare(toNumber(part.share))}`},
      toNumber(part.share) >= 0.06 ? formatShare(toNumber(part.share)) : "")))));
  const part = (run, name) => run.record.time_split.find((p) => p.name === name);
  const text = (p) => p ? `${formatShare(toNumber(p.share))} (${formatSeconds(toNumber(p.seconds))})` : "";
  const columns = [{title: "Part"}, ...split.map((run) => ({title: isComparison ? run.label : "Share of the step (in all)", isNumber: true}))];
  const rows = names.map((name) => [el("span", {}, el("i", {class: "square", style: color(name)}), name), ...split.map((run) => text(part(run, name)))]);
  return section("Time of a step", el("div", {class: "card"}, bars, table("Time of a step", columns, rows)));
}

// Texts of the runs; equal ones stand once, under the names of their runs.
function sharedTexts(runs, textOf, isComparison) {
  const groups = new Map();
  for (const run of runs) {
    const text = textOf(run);
    if (text) groups.set(text, [...(groups.get(text) || []), run.label]);
  }
  return [...groups].map(([text, labels]) => [
    isComparison ? el("h3", {}, labels.length === runs.length ? "All runs" : labels.join(", ")) : null, text]);
}

function preformatted(label, text) {
  return el("pre", {tabindex: 0, role: "region", "aria-label": label}, text);
}

function environment(runs, isComparison) {
  const parts = sharedTexts(runs, (run) => run.record.environment, isComparison);
  if (parts.length === 0) return null;
  return collapsible("Environment", false, parts.map(([head, text]) => [head, preformatted("Environment", text)]));
}

// Every setting of all runs: [key, one value per run (or undefined)].
function settingRows(runs) {
  const maps = runs.map((run) => new Map([...run.settings, ...(run.record.hyper_parameters || []).map(([k, v]) => [`hyper-parameter ${k}`, v])]));
  const keys = new Set(maps.flatMap((map) => [...map.keys()]));
  return [...keys].map((key) => ({key, values: maps.map((map) => map.get(key))}));
}

function settingsTable(runs) {
  const rows = settingRows(runs);
  const differs = (row) => row.values.some((value) => value !== row.values[0]);
  const numDifferent = rows.filter(differs).length;
  const box = el("div", {});
  const check = el("input", {type: "checkbox", checked: numDifferent > 0, onchange: () => render()});
  const render = () => {
    const shown = check.checked ? rows.filter(differs) : rows;
    const columns = [{title: "Key"}, ...runs.map((run) => ({title: runLabel(run)}))];
    box.replaceChildren(table("Configuration", columns, shown.map((row) => [
      differs(row) ? el("span", {class: "differs"}, row.key, hiddenText(" (differs)")) : row.key,
      ...row.values.map((value) => value === undefined ? el("span", {class: "muted"}, "\u2013") : el("code", {}, value))])));
  };
  render();
  const count = numDifferent === 0 ? "All settings are the same." : `${plural(numDifferent, "setting")} of ${rows.length} differ${numDifferent === 1 ? "s" : ""}.`;
  return [el("p", {}, el("label", {class: "check"}, check, " Only what differs"), " ", el("span", {class: "muted"}, count)), box];
}

function configuration(runs, isComparison) {
  if (!runs.some((run) => run.config || run.record.hyper_parameters)) return null;
  if (isComparison) return collapsible("Configuration", true, settingsTable(runs));
  const [run] = runs;
  const hyper = run.record.hyper_parameters;
  return collapsible("Configuration", false,
    hyper ? [el("h3", {}, "Hyper-parameters"), table("Hyper-parameters", [{title: "Name"}, {title: "Value"}], hyper)] : null,
    run.config ? [hyper ? el("h3", {}, "config.yaml") : null, preformatted("Configuration", run.config)] : null);
}

function modelTable(rows) {
  const hasShapes = rows.some((row) => row.output_shape);
  const names = new Set(rows.map((row) => row.name));
  const isTop = (row) => !row.name.split(".").slice(0, -1).some((_, i, parts) => names.has(parts.slice(0, i + 1).join(".")));
  const total = (key) => rows.filter(isTop).reduce((sum, row) => sum + row[key], 0);
  const cells = (name, type, shape, parameters, bytes) => [name, type, ...(hasShapes ? [shape] : []), groupThousands(parameters), formatBytes(bytes)];
  const columns = [{title: "Layer"}, {title: "Type"}, ...(hasShapes ? [{title: "Output"}] : []),
                   {title: "Parameters", isNumber: true}, {title: "Size", isNumber: true}];
  const depth = (row) => row.name === "." ? 0 : row.name.split(".").length - 1;
  const body = rows.map((row) => cells(
    el("span", {style: `padding-left: ${depth(row)}em`}, row.name || "."), row.type, row.output_shape || "", row.parameters, row.bytes));
  return table("Model", columns, body, cells("Total", "", "", total("parameters"), total("bytes")));
}

function modelSummary(runs, isComparison) {
  const parts = sharedTexts(runs, (run) => run.record.model ? JSON.stringify(run.record.model) : "", isComparison);
  if (parts.length === 0) return null;
  return collapsible("Model", false, parts.map(([head, text]) => [head, modelTable(JSON.parse(text))]));
}
