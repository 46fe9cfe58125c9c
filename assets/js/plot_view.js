// The clickable figure: a first picture at once, plotly.js when it has come; picks by mouse, finger and keyboard.
// The value is the figure's JSON as one string. layout.meta.select, where there is one, is the grid a selection moves on:
// {origin: [x, y], pitch: [x, y], size: [x, y], count: [columns, rows], at: [column, row] | null}  (viz/figures/axes.py)
"use strict";
stt.plotView = (element, trigger, props, watch) => {
  const host = element.querySelector(".stt-plot");
  const plot = host.querySelector(".stt-plot-live"), canvas = host.querySelector("canvas");
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  // Once it is answered, another view may move the selection: what comes in the same breath is the answer itself.
  const send = stt.sender(trigger, () => { if (mine) mine.until = Math.min(mine.until, performance.now() + 100); });
  let mine = null; // {at, until}: a selection of the visitor's that an older answer must not move back
  let text = null, fig = null, first = null, Plotly = null, busy = false, again = false;

  const grid = () => fig?.layout?.meta?.select || null;
  const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));

  // ---- selection: one rectangle on a grid, moved before the server answers ----------------------------------------
  function frame(at) {
    const { origin, pitch, size } = grid();
    const [left, top] = at.map((step, axis) => origin[axis] + step * pitch[axis]);
    return { x0: left, x1: left + size[0], y0: top, y1: top + size[1] };
  }
  function shapeIndex() {
    const shapes = (fig.layout.shapes ||= []);
    const found = shapes.findIndex((shape) => shape.name === "selected");
    if (found >= 0 || shapes.length === 1) return Math.max(found, 0);
    const colour = getComputedStyle(host).getPropertyValue("--stt-select").trim() || "#e06c00";
    return shapes.push({ name: "selected", type: "rect", line: { color: colour, width: 2 } }) - 1;
  }
  function select(at) {
    if (!grid() || !at) return;
    grid().at = at;
    Object.assign(fig.layout.shapes[shapeIndex()], frame(at));
    // All shapes anew: plotly.js would take a single one for one more, and draw the whole figure again for its sides.
    if (plot._fullLayout && !busy) Plotly.relayout(plot, { shapes: fig.layout.shapes.map((shape) => ({ ...shape })) });
    else if (!plot._fullLayout) paintFirst();
  }
  function choose(at) {
    mine = { at, until: performance.now() + 1000 };
    select(at);
  }
  function keepMine() {
    if (!mine || !grid()) return;
    if (String(mine.at) === String(grid().at) || performance.now() > mine.until) { mine = null; return; }
    grid().at = mine.at;
    Object.assign(fig.layout.shapes[shapeIndex()], frame(mine.at));
  }
  function cellAt(x, y) {
    const { origin, pitch, count } = grid();
    return [x, y].map((value, axis) => clamp(Math.floor((value - origin[axis]) / pitch[axis]), count[axis]));
  }
  const dots = () => !grid() && (plot.calcdata || []).some(([first]) => isDotted(first?.trace));
  const isDotted = (trace) => trace?.type === "scatter" && /markers/.test(trace.mode || "");
  function dotAt(x, y, reach = 20) {
    let found = null;
    for (const points of plot.calcdata) {
      const { trace } = points[0];
      if (!isDotted(trace)) continue;
      const [across, along] = ["x", "y"].map((axis) => plot._fullLayout[axis + "axis" + trace[axis + "axis"].slice(1)]);
      points.forEach((at, point) => {
        const far = Math.hypot(across._offset + across.c2p(at.x) - x, along._offset + along.c2p(at.y) - y);
        const custom = trace.customdata?.[point] ?? null;
        if (far < reach) { reach = far; found = { curve: trace.index, x: at.x, y: at.y, z: null, point, custom }; }
      });
    }
    return found;
  }
  function pick(event) {
    if (grid() && Number.isFinite(event.x) && Number.isFinite(event.y)) {
      const at = cellAt(event.x, event.y);
      [event.column, event.row] = at;
      choose(at);
      send(event);
    } else send(event);
  }
  // A double click undoes a zoom. (For plotly.js two quick clicks are one wherever they are, and it goes back to the ranges
  // of the first figure that was drawn here.)
  let before = null, ranges = {}; // the last click; the axes as the figure has them
  function isSecond(event) {
    const last = before;
    before = { x: event.clientX, y: event.clientY, when: event.timeStamp };
    return last && before.when - last.when < 400 && Math.hypot(before.x - last.x, before.y - last.y) <= 5;
  }
  function unzoom() {
    const changes = {};
    for (const [name, { range, autorange }] of Object.entries(ranges)) {
      const axis = plot._fullLayout[name];
      if (range && String(axis?.range) !== String(range)) changes[`${name}.range`] = [...range];
      else if (!range && axis && !axis.autorange) changes[`${name}.autorange`] = autorange ?? true;
    }
    if (Object.keys(changes).length) Plotly.relayout(plot, changes);
  }
  // Cells and dots are read from the pixel: plotly.js tells what its last hover found, which a quick click outruns.
  let down = null;
  const forget = () => { down = null; };
  function lift(event) {
    const start = down;
    down = null;
    if (!start || !plot._fullLayout || Math.hypot(event.clientX - start[0], event.clientY - start[1]) > 5) return;
    const { xaxis, yaxis } = plot._fullLayout, edge = plot.getBoundingClientRect();
    const across = event.clientX - edge.left - xaxis._offset, along = event.clientY - edge.top - yaxis._offset;
    if (isSecond(event)) unzoom();
    if (dots()) { const dot = dotAt(event.clientX - edge.left, event.clientY - edge.top); if (dot) pick(dot); }
    if (!grid() || across < 0 || along < 0 || across > xaxis._length || along > yaxis._length) return;
    const x = xaxis.p2l(across), y = yaxis.p2l(along), { origin, pitch, count } = grid();
    if (count[1] > 1 && (y < origin[1] || y > origin[1] + pitch[1] * count[1])) return; // below the last row, as the bar of all others is
    pick({ x, y });
  }
  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !fig) return;
    const { key } = event, step = STEPS[key];
    if (!step && !["Home", "End", "Enter"].includes(key)) return;
    event.preventDefault();
    if (!grid()) { send({ key }); return; }
    const now = grid().at || [0, 0], { count } = grid();
    const far = { Home: [0, now[1]], End: [count[0] - 1, now[1]] }[key];
    const at = far || (step && grid().at ? now.map((value, axis) => clamp(value + step[axis], count[axis])) : now);
    choose(at);
    const [x, y] = at.map((cell, axis) => grid().origin[axis] + (cell + 0.5) * grid().pitch[axis]); // its middle
    send({ key, column: at[0], row: at[1], x, y });
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------
  function parse() {
    try { fig = text ? JSON.parse(stt.swapColours(text)) : null; } catch (error) { console.error(error); fig = null; }
    if (!fig) return;
    fig.layout = { ...fig.layout, autosize: true };
    delete fig.layout.width;
    fig.layout.uirevision ??= "stt";
    const axes = Object.entries(fig.layout).filter(([name]) => /^[xy]axis\d*$/.test(name));
    ranges = Object.fromEntries(axes.map(([name, axis]) => [name, { range: axis.range?.slice(), autorange: axis.autorange }]));
    keepMine();
    if (fig.layout.height) host.style.height = fig.layout.height + "px";
    host.setAttribute("role", grid() ? "application" : "img");
  }
  function paintFirst() {
    if (!fig || !host.clientWidth || plot._fullLayout) return;
    try { first = stt.firstPicture(canvas, fig, host.clientWidth, host.clientHeight); } catch (error) { console.error(error); }
    host.dataset.first = 1;
  }
  function retire() { canvas.hidden = true; first = null; canvas.width = canvas.height = 1; }
  async function drawLive() {
    if (busy) { again = true; return; } // frames that come faster than they can be drawn are dropped
    busy = true;
    try {
      do {
        again = false;
        if (!fig) { Plotly.purge(plot); continue; }
        const fresh = !plot._fullLayout;
        const config = { responsive: false, displaylogo: false, displayModeBar: false, doubleClick: false, ...(fig.config || {}) };
        await Plotly.react(plot, { data: fig.data, layout: fig.layout, frames: fig.frames || [], config });
        if (fresh) { plot.on("plotly_click", (event) => { if (!grid() && !dots()) clicked(event); }); retire(); }
        host.dataset.n = 1 + (+host.dataset.n || 0);
      } while (again);
    } finally { busy = false; }
  }
  function clicked(event) {
    const point = event.points && event.points[0];
    if (!point) return;
    const place = point.pointIndex ?? point.pointNumber ?? null, custom = [point.customdata ?? null].flat()[0];
    pick({ curve: point.curveNumber, x: point.x, y: point.y, z: point.z ?? null, point: place, custom });
  }
  async function takeOver() {
    try { Plotly = await stt.plotly(); } catch (error) { console.error(error); return; } // the first picture stays
    stt.inTurn(() => host.isConnected && drawLive());
  }
  function draw() {
    if (!plot._fullLayout) paintFirst();
    if (Plotly) stt.inTurn(() => host.isConnected && drawLive());
  }
  function update() {
    if (props.value === text) return;
    text = props.value;
    parse();
    draw();
    stt.answered();
  }

  // ---- life -------------------------------------------------------------------------------------------------------
  const retheme = () => { if (!host.isConnected) return leave(); parse(); draw(); };
  const resizer = new ResizeObserver(() => {
    if (!host.isConnected) return leave();
    if (!host.clientWidth) return;
    if (!plot._fullLayout) paintFirst();
    else if (Math.abs(plot._fullLayout.width - host.clientWidth) > 1 || Math.abs(plot._fullLayout.height - host.clientHeight) > 1) Plotly.Plots.resize(plot);
  });
  function leave() {
    resizer.disconnect();
    document.removeEventListener("stt-theme", retheme);
    document.removeEventListener("pointerup", lift, true);
    document.removeEventListener("pointercancel", forget, true);
    if (plot._fullLayout) Plotly.purge(plot);
  }
  host.addEventListener("keydown", press);
  plot.addEventListener("pointerdown", (event) => { down = event.isPrimary && event.button === 0 ? [event.clientX, event.clientY] : null; }, true);
  document.addEventListener("pointerup", lift, true); // plotly.js lays a cover over the page while a button is down
  document.addEventListener("pointercancel", forget, true);
  canvas.addEventListener("click", (event) => {
    const found = first && first(event.offsetX, event.offsetY);
    if (found) pick(found);
  });
  document.addEventListener("stt-theme", retheme);
  watch("value", update);
  watch("select", () => {
    mine = null;
    try { select(JSON.parse(props.select)); } catch (error) { console.error(error); }
    stt.answered();
  });
  update();
  resizer.observe(host);
  stt.whenIdle(takeOver);
  return leave;
};
