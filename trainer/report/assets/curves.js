// From the points of a curve to what is drawn.

const NUM_COLORS = 7;
const DASHES = ["", "7 4", "2 4", "9 3 2 3", "14 4", "9 3 2 3 2 3"];
const MAX_MARKERS = 60;

// Several runs: a run has a colour and a dash, a stage its markers. One run: each curve has a colour.
function curveStyle(run, labelIndex, isComparison) {
  const index = isComparison ? run.index : labelIndex;
  return {
    color: `var(--curve-${index % NUM_COLORS})`,
    dash: isComparison ? DASHES[run.index % DASHES.length] : "",
    shape: ["circle", "square", "triangle"][labelIndex % 3],
  };
}

// An exponential moving average that is not drawn to its start: divided by the sum of its weights.
function smooth(values, weight) {
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return NaN;
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}

// Sorted.
function curveXs(curve, view) {
  return curve.xs || curve[view.axis];
}

// The points of a curve as the view wants them: {xs, values}, and the smoothed ones if there is something to smooth.
function curvePoints(curve, view) {
  const points = {xs: curveXs(curve, view), values: curve.values, smooth: null};
  // Few points have no noise to take out, and an average would lag behind them.
  if (!curve.isNoisy || view.smoothing === 0) return points;
  const base = curve.means || curve;
  points.smooth = {xs: curveXs(base, view), values: smooth(base.values, view.smoothing)};
  return points;
}

// Indices [begin, end) of the points within low..high, and one more on each side, so that lines leave the chart.
function visibleRange(xs, low, high) {
  return [Math.max(0, firstIndex(xs, (x) => x >= low) - 1), Math.min(xs.length, firstIndex(xs, (x) => x > high) + 1)];
}

// The first index of sorted xs for which isPast holds; their number if there is none.
function firstIndex(xs, isPast) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(xs[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

function nearestIndex(xs, x) {
  const i = firstIndex(xs, (value) => value >= x);
  if (i === xs.length) return i - 1;
  return i > 0 && x - xs[i - 1] <= xs[i] - x ? i - 1 : i;
}

// Differences of larger values are infinite.
const MAX_DRAWABLE = 1e300;

function isDrawable(value, isLog) {
  return Math.abs(value) <= MAX_DRAWABLE && (!isLog || value > 0);
}

function valuesWithin({xs, values}, [low, high], isLog) {
  return values.filter((value, i) => xs[i] >= low && xs[i] <= high && isDrawable(value, isLog));
}

// The lowest and the highest value but for one in a hundred at each end.
function withoutSpikes(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const numSpikes = Math.floor(sorted.length / 100);
  return sorted.slice(numSpikes, sorted.length - numSpikes);
}

// The pixels of the points in [begin, end). Where many fall on one column of pixels, its first, lowest, highest and last
// stay; null is a gap.
function pixelPoints({xs, values}, [begin, end], scaleX, scaleY) {
  const result = [];
  let column = [];
  const flush = () => {
    result.push(...(column.length > 4 ? columnExtremes(column) : column));
    column = [];
  };
  for (let i = begin; i < end; ++i) {
    if (!isDrawable(values[i], scaleY.isLog) || !isDrawable(xs[i], scaleX.isLog)) {
      flush();
      if (result.length && result[result.length - 1] !== null) result.push(null);
      continue;
    }
    const x = scaleX.toPixel(xs[i]);
    if (column.length && Math.floor(column[0][0]) !== Math.floor(x)) flush();
    column.push([x, scaleY.toPixel(values[i])]);
  }
  flush();
  return result;
}

function columnExtremes(column) {
  let top = 0;
  let bottom = 0;
  column.forEach(([, y], i) => {
    if (y < column[top][1]) top = i;
    if (y > column[bottom][1]) bottom = i;
  });
  const kept = new Set([0, Math.min(top, bottom), Math.max(top, bottom), column.length - 1]);
  return [...kept].map((i) => column[i]);
}

function linePath(points) {
  let path = "";
  let isStart = true;
  points.forEach((point, i) => {
    if (point === null) {
      isStart = true;
      return;
    }
    path += (isStart ? "M" : "L") + point[0].toFixed(1) + " " + point[1].toFixed(1);
    // A point between two gaps is drawn as a dot.
    if (isStart && !points[i + 1]) path += "h0.01";
    isStart = false;
  });
  return path;
}

function markerPath(points, shape) {
  const drawn = points.filter((point) => point !== null);
  if (drawn.length > MAX_MARKERS) return "";
  return drawn.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}` + MARKERS[shape]).join("");
}

const MARKERS = {
  circle: "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
  square: "m-2.8 -2.8h5.6v5.6h-5.6z",
  triangle: "m0 -3.6l3.4 6h-6.8z",
};

// The line of a legend: as the curve is drawn, with its marker.
function swatch(style, hasMarker) {
  return svg("svg", {class: "swatch", width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true"},
    svg("path", {d: "M1 6H25", stroke: style.color, "stroke-width": 2.2, "stroke-dasharray": style.dash || null}),
    hasMarker ? svg("path", {d: "M13 6" + MARKERS[style.shape], fill: style.color}) : null);
}
