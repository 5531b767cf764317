// Uses the page as a reader would. The title of the page is the result: "passed", or what failed.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const problems = [];

function expect(isTrue, what) {
  if (!isTrue) problems.push(what);
}

function chartOf(title) {
  return all("figure").find((figure) => figure.querySelector("h3").textContent === title);
}

function buttonOf(chart, text) {
  return all("button", chart).find((button) => button.textContent === text);
}

const lines = (chart) => all("path.curve", chart).map((path) => path.getAttribute("d"));
const ticks = (chart) => all(".axes text", chart).map((text) => text.textContent).join(" ");

function press(chart, key) {
  chart.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
}

// Events that a script makes have no pointer that could be captured.
Element.prototype.setPointerCapture = () => {};

function point(chart, type, share, pointerType = "mouse") {
  const frame = chart.querySelector(".frame");
  const box = frame.getBoundingClientRect();
  frame.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerType, button: 0, pointerId: 1, clientX: box.left + share * box.width, clientY: box.top + 50}));
}

function checkContent(numRuns) {
  expect(all("h1").length === 1, "one h1");
  expect(["loss", "<img src=x onerror=console.error(1)>", "learning rate"].every((title) => chartOf(title)), "a chart for each quantity");
  expect(all("img").length === 0, "names are no markup");
  expect(all(".notice pre")[0].textContent === "<\/script><script>console.error(2)<\/script>", "the error is shown as text");
  expect(lines(chartOf("loss")).length === 2 * numRuns, "train and val of each run share a chart");
  expect(lines(chartOf("loss")).some((d) => d.lastIndexOf("M") > 0), "NaN is a gap");
  expect(chartOf("loss").querySelector(".not-finite path") !== null, "NaN is marked");
  expect(all(".bar").length === numRuns && all(".bar span").length === 2 * numRuns, "time split");
  expect(all("details").map((d) => d.querySelector("h2").textContent).join() === "Configuration,Model", "collapsible sections");
  expect(lines(chartOf("loss")).concat(lines(chartOf("learning rate"))).every((d) => !d.includes("NaN")), "paths are numbers");
  expect(document.documentElement.scrollWidth <= innerWidth, "the page is no wider than the window");
}

function checkReading() {
  const chart = chartOf("loss");
  const readOut = chart.querySelector(".read-out");
  expect(readOut.hidden, "no read-out at first");
  point(chart, "pointermove", 0.5);
  expect(!readOut.hidden && /^step \d+/.test(readOut.textContent), "the mouse reads");
  point(chart, "pointerleave", 0.5);
  expect(readOut.hidden, "the read-out ends");
  point(chart, "pointerdown", 0.4, "touch");
  expect(!readOut.hidden, "a finger reads");
  press(chart, "Escape");
  press(chart, "ArrowRight");
  press(chart, "ArrowRight");
  expect(readOut.textContent.startsWith("step 1"), "the keyboard reads: " + readOut.textContent);
  press(chart, "Escape");
}

function checkZoom() {
  const chart = chartOf("loss");
  const before = ticks(chart);
  point(chart, "pointerdown", 0.3);
  point(chart, "pointermove", 0.6);
  point(chart, "pointerup", 0.6);
  expect(ticks(chart) !== before && !buttonOf(chart, "reset").hidden, "dragging zooms");
  buttonOf(chart, "reset").click();
  expect(ticks(chart) === before && buttonOf(chart, "reset").hidden, "reset shows all");
  press(chart, "+");
  expect(ticks(chart) !== before, "a key zooms");
  press(chart, "0");
  expect(ticks(chart) === before, "a key shows all");
}

function checkSwitches() {
  const chart = chartOf("loss");
  const before = lines(chart);
  buttonOf(chart, "log").click();
  expect(lines(chart).join() !== before.join(), "log changes the curves");
  buttonOf(chart, "log").click();
  expect(lines(chart).join() === before.join(), "log can be switched off");
  all("input[name=axis]")[1].click();
  expect(ticks(chart).endsWith("epoch"), "the axis shows epochs");
  all("input[name=axis]")[0].click();
  buttonOf(chart, "val").click();
  expect(lines(chart).length === before.length / 2, "the legend hides a curve");
  buttonOf(chart, "val").click();
  expect(lines(chart).join() === before.join(), "the legend shows it again");
}

function checkComparison() {
  expect(all(".run-switches button").length === 2, "a switch for each run");
  all(".run-switches button")[0].click();
  expect(lines(chartOf("loss")).length === 2, "a run can be hidden");
  all(".run-switches button")[0].click();
  expect(all(".winner").length === 2, "the best run of each metric is marked");
  expect(all(".differs").map((key) => key.firstChild.textContent).join() === "optimizer.lr", "the settings that differ are shown");
  all(".sort")[0].click();
  expect(all("th[aria-sort]").length === 1, "a heading sorts");
}

function checkSmoothing(numRuns, done) {
  const slider = document.querySelector("input[type=range]");
  slider.value = 0.9;
  slider.dispatchEvent(new Event("input"));
  setTimeout(() => {
    expect(all("path.faint", chartOf("loss")).length === numRuns, "smoothing keeps the raw train curves, faint");
    expect(all("path.faint", chartOf("learning rate")).length === 0, "learning rates are not smoothed");
    done();
  }, 200);
}

setTimeout(() => {
  try {
    const numRuns = Math.max(1, all(".run-switches button").length);
    checkContent(numRuns);
    checkReading();
    checkZoom();
    checkSwitches();
    if (numRuns > 1) checkComparison();
    checkSmoothing(numRuns, () => { document.title = problems.length === 0 ? "passed" : problems.join("; "); });
  } catch (error) {
    document.title = `failed: ${error.stack}`;
  }
}, 300);
