// The embedded data, taken apart. A series gets steps, epochs (with the fraction of the epoch that is done) and values.

function decodeSeries(raw, spans) {
  const steps = [];
  let step = 0;
  for (const difference of raw.steps) steps.push(step += difference);
  const values = raw.values.map(toNumber);
  const epochs = [];
  for (let i = 0; i < raw.epochs.length; i += 2) {
    for (let k = 0; k < raw.epochs[i + 1]; ++k) epochs.push(epochPosition(raw.epochs[i], steps[epochs.length], spans));
  }
  return Object.assign({}, raw, {steps, epochs, values, means: decodeMeans(raw.means, steps, epochs)});
}

// Epoch 3 of 100 steps: its 50th step stands at 3.5, its last at 4.
function epochPosition(epoch, step, spans) {
  const span = spans.get(epoch);
  if (!span) return epoch;
  return epoch + Math.min(1, Math.max(0, (step - span.first + 1) / span.count));
}

// Decimated curves are smoothed through the means of their stretches.
function decodeMeans(raw, steps, epochs) {
  if (!raw) return null;
  const means = {steps: [], epochs: [], values: []};
  for (let i = 0; i < raw.length; i += 2) {
    means.steps.push(steps[raw[i]]);
    means.epochs.push(epochs[raw[i]]);
    means.values.push(toNumber(raw[i + 1]));
  }
  return means;
}

function decodeRun(raw, index) {
  const spans = new Map(raw.epochs.map(([epoch, first, count]) => [epoch, {first, count}]));
  return Object.assign({}, raw, {
    index,
    record: raw.record || {},
    series: raw.series.map((series) => decodeSeries(series, spans)),
  });
}

// Names of runs of one experiment differ in the version only.
function shortenNames(runs) {
  const heads = new Set(runs.map((run) => run.name.split("/")[0]));
  const tails = runs.map((run) => run.name.split("/").slice(1).join("/"));
  const isEnough = heads.size === 1 && new Set(tails).size === runs.length && tails.every((tail) => tail !== "");
  runs.forEach((run, i) => { run.label = isEnough ? tails[i] : run.name; });
  const counts = new Map();
  for (const run of runs) counts.set(run.label, (counts.get(run.label) || 0) + 1);
  // Two folders may have the same last two names.
  for (const run of runs) if (counts.get(run.label) > 1) run.label = run.folder;
}

// The quantities of a group in the order of appearance, losses first; each with its series of all runs.
function groupSeries(runs, group) {
  const quantities = new Map();
  for (const run of runs) {
    for (const series of run.series) {
      if (series.group !== group) continue;
      if (!quantities.has(series.quantity)) quantities.set(series.quantity, []);
      quantities.get(series.quantity).push({run, series});
    }
  }
  const isLoss = (name) => /(^|[^a-z])loss/i.test(name);
  return [...quantities].sort(([a], [b]) => isLoss(b) - isLoss(a));
}

// What tells the curves of one chart apart: "train", "val", "train, step".
function curveLabel(series, quantity) {
  if (series.group === "learning rate" && quantity === "learning rate") return series.name;
  return [series.stage || series.quantity, series.interval].filter(Boolean).join(", ");
}

// Metrics in the order of appearance over all runs.
function metricNames(runs, groups) {
  const names = new Map();
  for (const run of runs) {
    for (const series of run.series) {
      if (groups.includes(series.group) && !names.has(series.name)) names.set(series.name, series.better);
    }
  }
  return names;
}

function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  data.runs = data.runs.map(decodeRun);
  shortenNames(data.runs);
  return data;
}
