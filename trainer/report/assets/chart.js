// One chart: a figure with a title, buttons, the drawing, a legend and notes.
//
// curves: {label, fullLabel, run (or null), style, xs or steps and epochs, values, means (or null), hasMarkers, isNoisy,
//          isHidden, note}
// options: {xName, isLogX, markedX}; without xName the chart follows the axis and the smoothing of `view`.

const MAX_NOTES = 3;
const MARGIN = {top: 12, right: 14, bottom: 26};

class Chart {
  constructor(title, curves, view, options = {}) {
    Object.assign(this, {title, curves, view, options, isLogY: false, zoom: null, readX: null});
    this.plot = svg("svg", {class: "plot", "aria-hidden": "true"});
    this.readOut = el("div", {class: "read-out", role: "status", hidden: true});
    this.frame = el("div", {class: "frame", tabindex: 0, role: "group", "aria-roledescription": "chart",
                            "aria-label": `${title}. Left and right read values, plus and minus zoom, 0 shows all.`},
                    this.plot, this.readOut);
    this.buttons = this.makeButtons();
    this.note = el("p", {class: "chart-note"});
    this.legend = el("div", {class: "legend"});
    this.element = el("figure", {class: "card chart"},
      el("figcaption", {}, el("h3", {}, title), el("div", {class: "buttons"}, Object.values(this.buttons))),
      this.frame, this.legend, this.note);
    listenToPointer(this);
    listenToKeys(this);
    this.drawWhenNear();
  }

  // Drawing takes time where there are many points, so a chart far from what is seen waits for its turn.
  drawWhenNear() {
    this.isNear = false;
    this.isStale = true;
    new IntersectionObserver((entries) => {
      this.isNear = entries[entries.length - 1].isIntersecting;
      if (this.isNear && this.isStale) this.draw();
    }, {rootMargin: "400px"}).observe(this.frame);
    new ResizeObserver(() => {
      if (!this.geometry || this.frame.clientWidth !== this.geometry.width) this.draw();
    }).observe(this.frame);
    window.addEventListener("beforeprint", () => {
      this.isNear = true;
      this.draw();
    });
  }

  makeButtons() {
    const button = (text, label, onclick) => el("button", {type: "button", "aria-label": `${label}: ${this.title}`, title: label, onclick}, text);
    const buttons = {
      log: button("log", "Logarithmic y axis", () => {
        this.isLogY = !this.isLogY;
        this.draw();
      }),
      out: button("\u2212", "Zoom out", () => this.zoomBy(2)),
      in: button("+", "Zoom in", () => this.zoomBy(0.5)),
      reset: button("reset", "Show all steps", () => this.setZoom(null)),
    };
    buttons.log.setAttribute("aria-pressed", "false");
    return buttons;
  }

  // Those that the reader has not switched off.
  shownCurves() {
    return this.curves.filter((curve) => !curve.isHidden && !(curve.run && this.view.hiddenRuns.has(curve.run.index)));
  }

  // Charts over steps or epochs share their axis, so that they can be compared.
  fullDomain() {
    const charts = this.options.xName ? [this] : this.view.charts.filter((chart) => !chart.options.xName);
    const drawable = charts.flatMap((chart) => chart.shownCurves()).map((curve) => {
      const xs = curveXs(curve, this.view);
      return this.options.isLogX ? xs.filter((x) => x > 0) : xs;
    });
    const filled = drawable.filter((xs) => xs.length > 0);
    if (filled.length === 0) return [1, 2];
    let low = Math.min(...filled.map((xs) => xs[0]));
    const high = Math.max(...filled.map((xs) => xs[xs.length - 1]));
    // The first step that is logged is rarely step 0.
    if (!this.options.xName && low < 0.1 * high) low = 0;
    if (low < high) return [low, high];
    return this.options.isLogX ? [low / 2, low * 2] : [low - 1, low + 1];
  }

  valueDomain(shown, domain) {
    let low = Infinity;
    let high = -Infinity;
    for (const {points} of shown) {
      // Who smooths wants to see the trend: a few spikes may then leave the chart.
      const parts = points.smooth ? [withoutSpikes(valuesWithin(points, domain, this.isLogY)), valuesWithin(points.smooth, domain, this.isLogY)]
                                  : [valuesWithin(points, domain, this.isLogY)];
      for (const value of parts.flat()) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    if (low > high) return this.isLogY ? [0.1, 1] : [0, 1];
    return padDomain(low, high, this.isLogY);
  }

  draw() {
    const width = this.frame.clientWidth;
    const height = this.frame.clientHeight;
    this.isStale = !this.isNear || width === 0;
    if (this.isStale) return;
    const shown = this.shownCurves().map((curve) => ({curve, points: curvePoints(curve, this.view)}));
    this.domain = this.zoom || this.fullDomain();
    const y = makeScale(...this.valueDomain(shown, this.domain), height - MARGIN.bottom, MARGIN.top, this.isLogY);
    const ticksY = makeTicks(y, height / 44);
    const left = 14 + 6.6 * Math.max(2, ...ticksY.map((tick) => tick.text.length));
    const x = makeScale(...this.domain, left, width - MARGIN.right, this.options.isLogX);
    this.geometry = {x, y, left, width, height, shown};
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot.replaceChildren(
      this.drawAxes(ticksY), this.drawMark(), ...shown.map((item) => this.drawCurve(item)), this.drawNotFinite(),
      this.cursor = svg("g", {}), this.selection = svg("rect", {class: "selection", y: MARGIN.top, height: 0}));
    this.updateControls();
    this.showReadOut();
  }

  drawAxes(ticksY) {
    const {x, y, left, width, height} = this.geometry;
    const bottom = height - MARGIN.bottom;
    const isWhole = !this.options.xName && this.view.axis === "steps";
    const group = svg("g", {class: "axes"});
    for (const tick of ticksY) {
      const at = y.toPixel(tick.value);
      group.append(svg("line", {x1: left, x2: width - MARGIN.right, y1: at, y2: at}),
                   svg("text", {x: left - 6, y: at + 4, "text-anchor": "end"}, tick.text));
    }
    const name = this.xName();
    const nameLeft = width - MARGIN.right - 6.5 * name.length - 10;
    for (const tick of makeTicks(x, (width - left) / 80, isWhole)) {
      const at = x.toPixel(tick.value);
      group.append(svg("line", {class: "tick", x1: at, x2: at, y1: bottom, y2: bottom + 4}));
      const end = at + 3.3 * tick.text.length;
      if (end < nameLeft) group.append(svg("text", {x: at, y: bottom + 17, "text-anchor": "middle"}, tick.text));
    }
    group.append(svg("line", {class: "base", x1: left, x2: width - MARGIN.right, y1: bottom, y2: bottom}),
                 svg("text", {class: "name", x: width - MARGIN.right, y: bottom + 17, "text-anchor": "end"}, name));
    return group;
  }

  drawCurve({curve, points}) {
    const {x, y, left, width, height} = this.geometry;
    const {color, dash, shape} = curve.style;
    const pixels = (p) => pixelPoints(p, visibleRange(p.xs, ...this.domain), x, y);
    const raw = pixels(points);
    const isFaint = points.smooth !== null;
    // Lines go on beyond the part that is shown: a nested drawing cuts them off.
    const box = svg("svg", {x: left - 4, y: 0, width: Math.max(0, width - MARGIN.right - left + 8), height: height - MARGIN.bottom + 4,
                            viewBox: `${left - 4} 0 ${Math.max(1, width - MARGIN.right - left + 8)} ${height - MARGIN.bottom + 4}`});
    box.append(svg("path", {class: isFaint ? "curve faint" : "curve", d: linePath(raw), stroke: color, "stroke-dasharray": dash || null}));
    if (isFaint) {
      box.append(svg("path", {class: "curve", d: linePath(pixels(points.smooth)), stroke: color, "stroke-dasharray": dash || null}));
    }
    if (curve.hasMarkers) {
      box.append(svg("path", {d: markerPath(raw, shape), fill: color}));
    }
    return box;
  }

  // A cross at the top edge for each column of pixels with a value that is NaN or infinite.
  drawNotFinite() {
    const {x, shown} = this.geometry;
    const group = svg("g", {class: "not-finite"});
    for (const {curve, points} of shown) {
      const columns = new Set();
      points.values.forEach((value, i) => {
        const inside = points.xs[i] >= this.domain[0] && points.xs[i] <= this.domain[1];
        if (inside && !Number.isFinite(value)) columns.add(Math.round(x.toPixel(points.xs[i]) / 6) * 6);
      });
      for (const at of columns) group.append(svg("path", {d: `M${at - 3} 3l6 6m0 -6l-6 6`, stroke: curve.style.color}));
    }
    return group;
  }

  drawMark() {
    const value = this.options.markedX;
    if (value === undefined || value < this.domain[0] || value > this.domain[1]) return svg("g", {});
    const {x, height, width} = this.geometry;
    const at = x.toPixel(value);
    const isRight = at > width / 2;
    return svg("g", {class: "mark"},
      svg("line", {x1: at, x2: at, y1: MARGIN.top, y2: height - MARGIN.bottom}),
      svg("text", {x: at + (isRight ? -5 : 5), y: MARGIN.top + 10, "text-anchor": isRight ? "end" : "start"}, formatNumber(value, 3)));
  }

  xName() {
    return this.options.xName || (this.view.axis === "steps" ? "step" : "epoch");
  }

  updateControls() {
    this.buttons.log.setAttribute("aria-pressed", String(this.isLogY));
    this.buttons.reset.hidden = this.zoom === null;
    this.buttons.out.disabled = this.zoom === null;
    const texts = this.curves.map((curve) => curve.note).filter(Boolean);
    if (texts.length > MAX_NOTES) texts.splice(MAX_NOTES, Infinity, `So have ${plural(texts.length - MAX_NOTES, "other curve")}.`);
    const hasHiddenValues = this.isLogY && this.geometry.shown.some(({points}) => points.values.some((value) => value <= 0));
    if (hasHiddenValues) texts.push("Values that are not positive have no place on a logarithmic axis.");
    this.note.textContent = texts.join(" ");
  }

  setZoom(domain) {
    this.zoom = domain;
    this.draw();
  }

  // Around the value that is read, or the middle; a factor below 1 comes closer.
  zoomBy(factor) {
    if (!this.geometry) return;
    const [first, last] = this.fullDomain();
    const {x} = this.geometry;
    const center = x.toPixel(this.readX === null ? x.toValue((x.toPixel(x.low) + x.toPixel(x.high)) / 2) : this.readX);
    const low = Math.max(first, x.toValue(center + (x.toPixel(x.low) - center) * factor));
    const high = Math.min(last, x.toValue(center + (x.toPixel(x.high) - center) * factor));
    if (!(high > low)) return;
    this.setZoom(low <= first && high >= last ? null : [low, high]);
  }

  // Values at x, or of nothing for null.
  read(x) {
    this.readX = x;
    this.showReadOut();
  }

  showReadOut() {
    const items = this.readX === null || !this.geometry ? [] : readValues(this);
    this.readOut.hidden = items.length === 0;
    this.cursor.replaceChildren();
    if (items.length > 0) drawReadOut(this, items);
  }
}
