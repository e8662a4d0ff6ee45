"use strict";
// Charts from the page's own data: hover or arrow keys for values, buttons to show and hide runs. No library, no network.

const SVG = "http://www.w3.org/2000/svg";
const COLORS = 8; // --c0 to --c7, in page.css
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];
const AT_FIRST = 12; // runs shown before somebody asks for more
const BANDS_UP_TO = 24;

function make(name, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function html(name, parent, text = "", attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

const color = (line) => `var(--c${line.color % COLORS})`;
// Methods that come by the same colour again differ in their dashes at least; a counterpart is thin and dashed.
const dash = (line) => (line.thin ? "5 4" : DASHES[(Math.floor(line.color / COLORS) + line.dash) % DASHES.length]);
const weight = (line) => (line.thin ? 1 : 2);
const brief = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : String(+value.toPrecision(3)));

function ticks(low, high, log) {
  if (log) {
    const found = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade++)
      for (const k of [1, 2, 5]) {
        const value = k * 10 ** decade;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    return found.length > 8 ? found.filter((value) => Math.log10(value) % 1 === 0) : found;
  }
  const rough = (high - low || 1) / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((value) => value >= rough);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(+value.toPrecision(12));
  return found;
}

class Chart {
  constructor(figure, group, measures) {
    Object.assign(this, { figure, group, measures, view: group.views[group.first], at: null });
    this.shown = new Set(this.view.lines.slice(0, AT_FIRST));
    this.controls();
    this.plot = html("div", figure, "", { class: "plot" });
    this.svg = make("svg", { tabindex: 0, role: "application", "aria-label": `${group.title}. Left and right arrow keys read out values.` }, this.plot);
    this.tip = html("div", this.plot, "", { class: "tip", hidden: "" });
    this.said = html("p", figure, "", { class: "visually-hidden", "aria-live": "polite" });
    this.legend = html("div", figure, "", { class: "legend", role: "group", "aria-label": "Runs shown" });
    this.fillLegend();
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerdown", (event) => this.hover(event));
    // A finger that is lifted leaves too; what it tapped stays until it taps elsewhere.
    this.svg.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.point(null); });
    document.addEventListener("pointerdown", (event) => { if (!this.svg.contains(event.target)) this.point(null); });
    this.svg.addEventListener("blur", () => this.point(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.draw();
    new ResizeObserver(() => { if (this.plot.clientWidth !== this.width) this.draw(); }).observe(this.plot);
  }

  controls() {
    const bar = html("div", this.figure, "", { class: "controls" });
    const choice = (name, options) => {
      const label = html("label", bar, `${name} `);
      const select = html("select", label);
      for (const [value, text] of options) html("option", select, text, { value });
      select.addEventListener("change", () => this.draw());
      return select;
    };
    const tick = (name) => {
      const label = html("label", bar);
      const box = html("input", label, "", { type: "checkbox" });
      label.append(` ${name}`);
      box.addEventListener("change", () => this.draw());
      return box;
    };
    this.measure = choice("Measure", Object.entries(this.measures));
    if (this.group.views.length > 1) {
      this.against = choice("Against", this.group.views.map((view, i) => [i, view.name]));
      this.against.value = this.group.first;
      this.against.addEventListener("change", () => {
        this.view = this.group.views[this.against.value];
        this.shown = new Set(this.view.lines.slice(0, AT_FIRST));
        this.logX.checked = this.view.log;
        this.fillLegend();
        this.draw();
      });
    }
    this.band = choice("Bands", [["interval", "95 % interval"], ["error", "standard error"], ["none", "none"]]);
    this.logX = tick("log x");
    this.logY = tick("log y");
    this.logX.checked = this.view.log;
    if (this.group.views.some((view) => view.lines.length > 8)) {
      this.filter = html("input", bar, "", { type: "search", placeholder: "filter runs", "aria-label": "Filter runs" });
      this.filter.addEventListener("input", () => this.applyFilter());
    }
    for (const [text, all] of [["All", true], ["None", false]]) {
      html("button", bar, text, { type: "button" }).addEventListener("click", () => {
        for (const [line, button] of this.buttons) if (!button.hidden) this.shown[all ? "add" : "delete"](line);
        this.draw();
      });
    }
  }

  applyFilter() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [line, button] of this.buttons) button.hidden = !words.every((word) => line.label.toLowerCase().includes(word));
  }

  fillLegend() {
    this.legend.replaceChildren();
    this.buttons = new Map();
    for (const line of this.view.lines) {
      const button = html("button", this.legend, "", { type: "button" });
      const sample = make("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, button);
      make("line", { x1: 0, x2: 26, y1: 6, y2: 6, "stroke-width": 1.25 * weight(line), "stroke-dasharray": dash(line), style: `stroke:${color(line)}` }, sample);
      html("span", button, line.label);
      button.addEventListener("click", () => {
        this.shown[this.shown.has(line) ? "delete" : "add"](line);
        this.draw();
      });
      button.addEventListener("pointerenter", () => this.emphasise(line));
      button.addEventListener("pointerleave", () => this.emphasise(null));
      this.buttons.set(line, button);
    }
    if (this.filter) this.applyFilter();
  }

  emphasise(line) {
    for (const [other, parts] of this.parts) for (const part of parts) part.classList.toggle("faded", line !== null && this.shown.has(line) && other !== line);
  }

  draw() {
    for (const [line, button] of this.buttons) button.setAttribute("aria-pressed", this.shown.has(line));
    const measure = this.measure.value, lines = this.view.lines.filter((line) => this.shown.has(line));
    const bands = this.band.value !== "none" && lines.length <= BANDS_UP_TO;
    this.width = this.plot.clientWidth;
    const width = Math.max(280, this.width), height = Math.max(260, Math.min(460, width * 0.55));
    const edge = { left: 60, right: 12, top: 10, bottom: 40 };
    const logX = this.logX.checked, logY = this.logY.checked;
    const half = (line, i) => (bands && !line.thin ? (line.error[measure][i] ?? 0) * (this.band.value === "interval" ? line.t : 1) : 0);
    const ok = (x, y) => y !== null && (!logX || x > 0) && (!logY || y > 0);
    let xs = [], ys = [];
    for (const line of lines) line.x.forEach((x, i) => {
      const y = line.mean[measure][i];
      if (!ok(x, y)) return;
      xs.push(x);
      ys.push(y + half(line, i));
      if (!logY || y - half(line, i) > 0) ys.push(y - half(line, i)); else ys.push(y);
    });
    if (!xs.length) { xs = [1, 2]; ys = [1, 2]; }
    const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    let [x0, x1] = span(xs), [y0, y1] = span(ys);
    if (measure.endsWith("error")) { y0 = Math.max(y0, logY ? y0 : 0); y1 = Math.min(y1, 100); } // bands of few seeds reach beyond
    if (x0 === x1) { x0 = logX ? x0 / 2 : x0 - 1; x1 = logX ? x1 * 2 : x1 + 1; }
    if (y0 === y1) { y0 = logY ? y0 / 2 : y0 - 1; y1 = logY ? y1 * 2 : y1 + 1; }
    if (!logY) { const room = (y1 - y0) * 0.04; y1 += room; y0 = y0 >= 0 ? Math.max(0, y0 - room) : y0 - room; }
    const scale = (low, high, from, to, log) => (value) => {
      const part = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
      return +(from + part * (to - from)).toFixed(2);
    };
    const X = scale(x0, x1, edge.left, width - edge.right, logX), Y = scale(y0, y1, height - edge.bottom, edge.top, logY);
    const bottom = height - edge.bottom;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    for (const value of ticks(y0, y1, logY)) {
      make("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: Y(value), y2: Y(value) }, this.svg);
      make("text", { x: edge.left - 6, y: Y(value) + 4, "text-anchor": "end" }, this.svg, brief(value));
    }
    for (const value of ticks(x0, x1, logX)) make("text", { x: X(value), y: bottom + 16, "text-anchor": "middle" }, this.svg, brief(value));
    make("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: bottom, y2: bottom }, this.svg);
    make("text", { x: (edge.left + width) / 2, y: height - 4, "text-anchor": "middle" }, this.svg, this.view.name);
    make("text", { x: 12, y: (edge.top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(edge.top + bottom) / 2})` }, this.svg, this.measures[measure]);
    this.guide = make("line", { class: "guide", y1: edge.top, y2: bottom, visibility: "hidden" }, this.svg);
    this.parts = new Map();
    for (const line of lines) {
      const points = line.x.map((x, i) => [x, line.mean[measure][i], half(line, i)]);
      const good = points.filter(([x, y]) => ok(x, y)), parts = [];
      if (bands && !line.thin && good.some(([, , h]) => h > 0)) {
        const low = (y, h) => (logY && y - h <= 0 ? bottom : Math.min(Y(y - h), bottom));
        const band = [...good.map(([x, y, h]) => `${X(x)},${Math.max(Y(y + h), edge.top)}`), ...good.reverse().map(([x, y, h]) => `${X(x)},${low(y, h)}`)];
        good.reverse();
        parts.push(make("path", { class: "band", d: `M${band.join("L")}Z`, style: `fill:${color(line)}` }, this.svg));
      }
      let path = "", pen = "M"; // a value that is not a number leaves a gap
      for (const [x, y] of points) { if (ok(x, y)) { path += `${pen}${X(x)},${Y(y)}`; pen = "L"; } else pen = "M"; }
      parts.push(make("path", { class: "run", d: path, "stroke-dasharray": dash(line), style: `stroke:${color(line)};stroke-width:${weight(line)}` }, this.svg));
      if (!line.thin && good.length < 40 && lines.length <= BANDS_UP_TO) for (const [x, y] of good) parts.push(make("circle", { cx: X(x), cy: Y(y), r: 2.2, style: `fill:${color(line)}` }, this.svg));
      this.parts.set(line, parts);
    }
    const positions = [...new Set(lines.flatMap((line) => line.x))].filter((x) => !logX || x > 0).sort((a, b) => a - b);
    Object.assign(this, { X, Y, positions, lines, box: { width, edge }, at: null });
    this.tip.hidden = true;
  }

  hover(event) {
    const frame = this.svg.getBoundingClientRect(), x = ((event.clientX - frame.left) / frame.width) * this.box.width;
    const y = ((event.clientY - frame.top) / frame.height) * this.svg.viewBox.baseVal.height;
    let best = null;
    for (const value of this.positions) if (best === null || Math.abs(this.X(value) - x) < Math.abs(this.X(best) - x)) best = value;
    this.point(best, y);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move || !this.positions.length) return;
    event.preventDefault();
    const i = this.at === null ? (move > 0 ? 0 : this.positions.length - 1) : this.positions.indexOf(this.at) + move;
    this.point(this.positions[Math.max(0, Math.min(this.positions.length - 1, i))]);
    this.said.textContent = this.tip.innerText;
  }

  point(value, near = null) {
    this.at = value;
    this.guide.setAttribute("visibility", value === null ? "hidden" : "visible");
    this.tip.hidden = value === null;
    if (value === null) return;
    const x = this.X(value), measure = this.measure.value;
    this.guide.setAttribute("x1", x);
    this.guide.setAttribute("x2", x);
    let rows = [];
    for (const line of this.lines) {
      const i = line.x.indexOf(value);
      if (i >= 0 && line.mean[measure][i] !== null) rows.push([line, line.mean[measure][i], line.error[measure][i]]);
    }
    const all = rows.length;
    if (all > AT_FIRST && near !== null) rows.sort((a, b) => Math.abs(this.Y(a[1]) - near) - Math.abs(this.Y(b[1]) - near));
    rows = rows.slice(0, AT_FIRST).sort((a, b) => b[1] - a[1]);
    this.tip.replaceChildren();
    html("strong", this.tip, `${this.view.name}: ${brief(value)}`);
    if (rows.some(([, , error]) => error !== null)) html("span", this.tip, " (± standard error)");
    const table = html("table", this.tip);
    for (const [line, mean, error] of rows) {
      const row = html("tr", table);
      html("td", row, "●", { style: `color:${color(line)}` });
      html("td", row, line.label, { class: "text" });
      html("td", row, mean.toFixed(mean < 1000 ? 1 : 0) + (error === null ? "" : ` ± ${error.toFixed(error < 100 ? 1 : 0)}`));
    }
    if (all > rows.length) html("span", this.tip, `and ${all - rows.length} more`);
    const left = (x / this.box.width) * this.plot.clientWidth, wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(this.plot.clientWidth - wide, left > this.plot.clientWidth / 2 ? left - wide - 12 : left + 12))}px`;
  }
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const number = (text) => (text !== "" && !Number.isNaN(+text) ? +text : null);
      const rows = [...body.rows].map((row) => [number(value(row)), value(row), row]);
      rows.sort((a, b) => {
        if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null) || (up ? 1 : -1) * a[1].localeCompare(b[1]);
        return up ? a[0] - b[0] : b[0] - a[0];
      });
      body.append(...rows.map(([, , row]) => row));
    });
  });
}

const data = JSON.parse(document.getElementById("data").textContent);
data.groups.forEach((group, i) => {
  const figure = document.getElementById(`chart-${i}`);
  const start = () => { if (!figure.dataset.ready) { figure.dataset.ready = "yes"; new Chart(figure, group, data.measures); } };
  // Charts below are drawn when somebody comes near.
  new IntersectionObserver((seen, observer) => { if (seen.some((entry) => entry.isIntersecting)) { observer.disconnect(); start(); } }, { rootMargin: "400px" }).observe(figure);
});
document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll(".copy").forEach((block) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = block.querySelector("pre").textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch {
      const range = document.createRange();
      range.selectNodeContents(block.querySelector("pre"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
  });
  block.append(button);
});
