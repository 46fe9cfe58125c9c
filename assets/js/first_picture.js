// The first picture: the same figure JSON on a canvas, before plotly.js is here. Heat maps, bars, lines, rectangles, labels.
// Scales, margins and type follow the rules of plotly.js closely enough that nothing seems to move when it takes over.
"use strict";
stt.firstPicture = (canvas, fig, width, height) => {
  const { data = [], layout = {} } = fig;
  const ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.cssText = `width:${width}px;height:${height}px`;
  canvas.hidden = false;
  pen.scale(ratio, ratio);
  const base = { family: "sans-serif", size: 12, color: "#444", ...(layout.font || {}) };

  // ---- reading ----------------------------------------------------------------------------------------------------
  const KINDS = { u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
  function numbers(value) {
    if (!value || value.bdata === undefined) return (value || []).flat ? (value || []).flat(3) : value;
    const bytes = Uint8Array.from(atob(value.bdata), (c) => c.charCodeAt(0));
    return new KINDS[value.dtype](bytes.buffer);
  }
  function matrix(value) {
    const shape = value.bdata === undefined ? [value.length, (value[0] || []).length] : String(value.shape).split(",").map(Number);
    return { rows: shape[0], columns: shape[1], values: numbers(value) };
  }
  const plain = (text) => String(text ?? "").replace(/<br>/g, " ").replace(/<[^>]*>/g, "")
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(+code)).replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&");
  const font = (own = {}, bold = false) => { const f = { ...base, ...own }; pen.font = `${bold ? "bold " : ""}${f.size}px ${f.family}`; pen.fillStyle = f.color; return f; };
  const isBold = (text) => /<b[ >]/.test(text);
  const inkOf = (text) => (/color:(#[0-9a-f]{6})/i.exec(text) || [])[1];

  // ---- axes -------------------------------------------------------------------------------------------------------
  const extent = (letter, id) => {
    let low = Infinity, high = -Infinity;
    for (const trace of data) {
      if ((trace[letter + "axis"] || letter) !== id) continue;
      for (const v of numbers(trace[letter])) if (Number.isFinite(+v)) { low = Math.min(low, v); high = Math.max(high, v); }
      if (trace.type === "bar" && letter === (trace.orientation === "h" ? "x" : "y")) low = Math.min(low, 0);
      if (trace.z && low === Infinity) { const m = matrix(trace.z), n = letter === "x" ? m.columns : m.rows; low = -0.5; high = n - 0.5; }
    }
    return low < high ? [low, high] : [low - 0.5 || 0, low + 0.5 || 1];
  };
  const axes = {};
  for (const key of new Set(["xaxis", "yaxis", ...Object.keys(layout).filter((k) => /^[xy]axis\d*$/.test(k))])) {
    const letter = key[0], id = letter + key.slice(5), spec = layout[key] || {};
    let range = spec.range || extent(letter, id);
    if (!spec.range && spec.autorange === "reversed") range = [range[1], range[0]];
    axes[id] = { letter, id, spec, range, domain: spec.domain || [0, 1], side: spec.side || (letter === "x" ? "bottom" : "left") };
  }
  for (const axis of Object.values(axes)) {
    const over = axes[axis.spec.matches] || axes[axis.spec.overlaying];
    if (over && !axis.spec.range) axis.range = over.range;
    if (over && axis.spec.overlaying && !axis.spec.domain) axis.domain = over.domain;
  }
  const labelled = (axis) => axis.spec.visible !== false && axis.spec.showticklabels !== false && axis.spec.tickvals && axis.spec.ticktext;
  const margin = { l: 80, r: 80, t: 100, b: 80, ...(layout.margin || {}) };
  const labelWidth = (axis) => { const f = font(axis.spec.tickfont); return { size: f.size, widest: Math.max(0, ...axis.spec.ticktext.map((t) => pen.measureText(plain(t)).width)) }; };
  const titleRoom = (axis) => (axis.spec.title?.text ? (axis.spec.title.standoff || 8) + (axis.spec.title.font?.size || 14) * (axis.letter === "x" ? 1.3 : 0.55) : 0);
  const SIDES = { left: "l", right: "r", top: "t", bottom: "b" };
  // Vertical axes first: what they take decides whether labels along x still fit side by side.
  for (const axis of Object.values(axes).sort((a, b) => (a.letter < b.letter ? 1 : -1))) {
    if (!labelled(axis)) continue;
    const { size, widest } = labelWidth(axis), count = axis.spec.ticktext.length;
    const room = (width - margin.l - margin.r) * (axis.domain[1] - axis.domain[0]) / Math.max(1, count);
    axis.upright = axis.letter === "x" && (axis.spec.tickangle === -90 || (axis.spec.autotickangles && widest + 6 > room));
    const across = axis.letter === "y" || axis.upright ? widest + (axis.spec.ticklabelstandoff || 0) + (axis.upright ? 4 : 8) : size * 1.3 + 2;
    axis.across = across;
    if (axis.spec.automargin) margin[SIDES[axis.side]] = Math.max(margin[SIDES[axis.side]], across + titleRoom(axis) + 2);
  }
  const box = { left: margin.l, top: margin.t, width: Math.max(1, width - margin.l - margin.r), height: Math.max(1, height - margin.t - margin.b) };
  // Square cells (scaleanchor with constrain: "domain"): shrink the longer side about its middle.
  for (const axis of Object.values(axes)) {
    const anchor = axes[axis.spec.scaleanchor];
    if (!anchor || anchor === axis) continue;
    const long = (a) => (a.letter === "x" ? box.width : box.height) * (a.domain[1] - a.domain[0]), span = (a) => Math.abs(a.range[1] - a.range[0]);
    const unit = Math.min(long(axis) / span(axis), long(anchor) / span(anchor));
    for (const a of [axis, anchor]) {
      const keep = (unit * span(a)) / long(a), [low, high] = a.domain, at = { left: 0, bottom: 0, right: 1, top: 1 }[a.spec.constraintoward] ?? 0.5;
      a.domain = [low + (high - low) * (1 - keep) * at, low + (high - low) * (keep + (1 - keep) * at)];
    }
  }
  for (const a of Object.values(axes)) {
    const [low, high] = a.domain, [from, to] = a.range, unit = 1 / (to - from || 1);
    a.to = a.letter === "x"
      ? (v) => box.left + box.width * (low + (high - low) * (v - from) * unit)
      : (v) => box.top + box.height * (1 - low - (high - low) * (v - from) * unit);
    const start = a.to(from), end = a.to(to);
    a.from = (pixel) => from + ((pixel - start) / (end - start || 1)) * (to - from);
    [a.low, a.high] = [Math.min(start, end), Math.max(start, end)];
  }
  const axesOf = (part, x = "xaxis", y = "yaxis") => [axes[part[x] || "x"], axes[part[y] || "y"]];

  // ---- marks ------------------------------------------------------------------------------------------------------
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const clear = (colour) => !/^#[0-9a-f]{6}$/i.test(colour);
  function palette(scale) { // 256 colours of a plotly colour scale
    const stops = scale.map(([at, colour]) => [at, clear(colour) ? null : rgb(colour)]), table = new Uint8ClampedArray(256 * 4);
    for (let index = 0, low = 0; index < 256; index++) {
      const at = index / 255;
      while (low < stops.length - 2 && at > stops[low + 1][0]) low++;
      const [a, from] = stops[low], [b, to] = stops[Math.min(low + 1, stops.length - 1)], share = b > a ? (at - a) / (b - a) : 0;
      if (from && to) table.set([...from.map((c, i) => c + (to[i] - c) * Math.max(0, Math.min(1, share))), 255], index * 4);
    }
    return table;
  }
  const places = (trace, letter) => ({ start: +(trace[letter + "0"] ?? numbers(trace[letter])[0] ?? 0), step: +(trace["d" + letter] ?? 1) });
  const format = (value, template) => { const found = /%\{z:\.(\d)f\}/.exec(template); return found ? value.toFixed(+found[1]) : ""; };
  function heatmap(trace) {
    const { rows, columns, values } = matrix(trace.z), [ax, ay] = axesOf(trace), x = places(trace, "x"), y = places(trace, "y");
    const low = trace.zmin ?? 0, high = trace.zmax ?? 1, scale = Array.isArray(trace.colorscale) ? trace.colorscale : [[0, "#ffffff"], [1, "#888888"]];
    if (scale.some(([, colour]) => !clear(colour))) {
      const table = palette(scale), image = new ImageData(columns, rows), tile = document.createElement("canvas");
      for (let i = 0; i < rows * columns; i++) {
        if (Number.isNaN(values[i])) continue;
        const at = 4 * Math.max(0, Math.min(255, Math.round((255 * (values[i] - low)) / (high - low))));
        for (let c = 0; c < 4; c++) image.data[4 * i + c] = table[at + c];
      }
      tile.width = columns;
      tile.height = rows;
      tile.getContext("2d").putImageData(image, 0, 0);
      pen.save();
      pen.beginPath();
      pen.rect(ax.low, ay.low, ax.high - ax.low, ay.high - ay.low);
      pen.clip();
      pen.imageSmoothingEnabled = false;
      const x0 = ax.to(x.start - x.step / 2), x1 = ax.to(x.start + (columns - 0.5) * x.step), y0 = ay.to(y.start - y.step / 2), y1 = ay.to(y.start + (rows - 0.5) * y.step);
      pen.translate(x0, y0);
      pen.scale((x1 - x0) / columns, (y1 - y0) / rows);
      pen.drawImage(tile, 0, 0);
      pen.restore();
      gaps(trace, columns, rows, [x0, x1], [y0, y1]);
    }
    const texts = trace.text ? trace.text.flat() : null;
    if (!trace.texttemplate) return;
    // Type shrinks until the widest number fits its cell.
    const wordy = (i) => (texts ? plain(texts[i]) : format(values[i], trace.texttemplate)), { size } = font(trace.textfont);
    const widest = Math.max(1, ...Array.from(values, (_, i) => pen.measureText(wordy(i)).width)), cell = Math.abs(ax.to(x.step) - ax.to(0)) - (trace.xgap || 0);
    font({ ...trace.textfont, size: Math.min(size, (size * (cell - 4)) / widest) });
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let i = 0; i < rows * columns; i++) if (!Number.isNaN(values[i])) {
      pen.fillText(wordy(i), ax.to(x.start + (i % columns) * x.step), ay.to(y.start + Math.floor(i / columns) * y.step));
    }
  }
  function gaps(trace, columns, rows, [x0, x1], [y0, y1]) {
    if (trace.xgap) for (let i = 0; i <= columns; i++) pen.clearRect(x0 + ((x1 - x0) * i) / columns - trace.xgap / 2, Math.min(y0, y1) - 1, trace.xgap, Math.abs(y1 - y0) + 2);
    if (trace.ygap) for (let i = 0; i <= rows; i++) pen.clearRect(Math.min(x0, x1) - 1, y0 + ((y1 - y0) * i) / rows - trace.ygap / 2, Math.abs(x1 - x0) + 2, trace.ygap);
  }
  function bars(trace) {
    const [ax, ay] = axesOf(trace), long = numbers(trace.orientation === "h" ? trace.x : trace.y), place = numbers(trace.orientation === "h" ? trace.y : trace.x);
    const thick = 1 - (layout.bargap ?? 0.2), colours = trace.marker?.color;
    for (let i = 0; i < long.length; i++) {
      const at = place.length ? +place[i] : i, half = (trace.width?.[i] ?? trace.width ?? thick) / 2;
      const [x0, x1, y0, y1] = trace.orientation === "h" ? [ax.to(0), ax.to(long[i]), ay.to(at - half), ay.to(at + half)] : [ax.to(at - half), ax.to(at + half), ay.to(0), ay.to(long[i])];
      pen.fillStyle = (Array.isArray(colours) ? colours[i] : colours) || base.color;
      pen.beginPath();
      pen.roundRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0), [0, trace.marker?.cornerradius || 0, trace.marker?.cornerradius || 0, 0]);
      pen.fill();
      if (trace.text === undefined || trace.orientation !== "h") continue;
      font(trace.textfont || trace.outsidetextfont);
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillText(plain(Array.isArray(trace.text) ? trace.text[i] : trace.text), Math.max(x0, x1) + 4, (y0 + y1) / 2);
    }
  }
  function lines(trace) {
    const [ax, ay] = axesOf(trace), x = numbers(trace.x), y = numbers(trace.y);
    pen.save();
    pen.globalAlpha = trace.opacity ?? 1;
    pen.beginPath();
    let up = true;
    for (let i = 0; i < x.length; i++) {
      if (x[i] === null || y[i] === null || !Number.isFinite(+x[i]) || !Number.isFinite(+y[i])) { up = true; continue; }
      if (up) pen.moveTo(ax.to(x[i]), ay.to(y[i])); else pen.lineTo(ax.to(x[i]), ay.to(y[i]));
      up = false;
    }
    if (trace.fill === "toself") { pen.fillStyle = trace.fillpattern ? hatch(trace.fillpattern) : trace.fillcolor || base.color; pen.fill(); }
    if ((trace.line?.width ?? 2) > 0 && /lines/.test(trace.mode || "lines")) { pen.strokeStyle = trace.line?.color || base.color; pen.lineWidth = trace.line?.width ?? 2; pen.stroke(); }
    if (/markers/.test(trace.mode || "")) dots(trace, ax, ay, x, y);
    pen.restore();
  }
  function dots(trace, ax, ay, x, y) {
    const { color, size = 6 } = trace.marker || {};
    for (let i = 0; i < x.length; i++) {
      pen.fillStyle = (Array.isArray(color) ? color[i] : color) || base.color;
      pen.beginPath();
      pen.arc(ax.to(x[i]), ay.to(y[i]), size / 2, 0, 7);
      pen.fill();
    }
  }
  function hatch({ fgcolor, size = 8, solidity = 0.3 }) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const stroke = tile.getContext("2d");
    stroke.strokeStyle = fgcolor;
    stroke.lineWidth = Math.max(0.6, size * solidity * 0.7);
    for (const shift of [-size, 0, size]) { stroke.moveTo(shift - 1, size + 1); stroke.lineTo(shift + size + 1, -1); }
    stroke.stroke();
    return pen.createPattern(tile, "repeat");
  }
  function shape(part) {
    if (part.visible === false || (part.type !== "rect" && part.type !== "line")) return;
    const place = (letter, value) => {
      const ref = part[letter + "ref"] || letter, [axisId, domain] = ref.split(" "), axis = axes[axisId];
      if (domain && axis) return letter === "x" ? axis.low + value * (axis.high - axis.low) : axis.high - value * (axis.high - axis.low);
      return axis ? axis.to(value) : letter === "x" ? box.left + value * box.width : box.top + (1 - value) * box.height;
    };
    const [x0, x1, y0, y1] = [place("x", part.x0), place("x", part.x1), place("y", part.y0), place("y", part.y1)];
    pen.save();
    pen.globalAlpha = part.opacity ?? 1;
    pen.strokeStyle = part.line?.color || base.color;
    pen.lineWidth = part.line?.width ?? 2;
    pen.beginPath();
    if (part.type === "line") { pen.moveTo(x0, y0); pen.lineTo(x1, y1); } else pen.rect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
    if (part.fillcolor && part.type === "rect") { pen.fillStyle = part.fillcolor; pen.fill(); }
    if (pen.lineWidth && (part.line?.width ?? 2)) pen.stroke();
    pen.restore();
  }
  function ticks(axis) {
    if (!labelled(axis)) return;
    const across = Object.values(axes).find((a) => a.letter !== axis.letter), gap = (axis.spec.ticklabelstandoff || 0) + 3;
    const edge = { left: across.low, right: across.high, top: across.low, bottom: across.high }[axis.side];
    axis.spec.tickvals.forEach((value, index) => {
      const at = axis.to(value), text = axis.spec.ticktext[index];
      if (at < axis.low - 1 || at > axis.high + 1) return;
      font({ ...axis.spec.tickfont, ...(inkOf(text) ? { color: inkOf(text) } : {}) }, isBold(text));
      pen.save();
      pen.textBaseline = "middle";
      if (axis.letter === "y") { pen.textAlign = axis.side === "left" ? "right" : "left"; pen.translate(edge + (axis.side === "left" ? -gap : gap), at); }
      else {
        const up = axis.side === "top" ? -1 : 1;
        pen.translate(at, edge + up * (axis.upright ? gap + 5 : gap));
        pen.textAlign = axis.upright ? (up < 0 ? "left" : "right") : "center";
        if (axis.upright) pen.rotate(-Math.PI / 2); else pen.textBaseline = up < 0 ? "bottom" : "top";
      }
      pen.fillText(plain(text), 0, 0);
      pen.restore();
    });
  }
  function caption(axis) {
    const title = axis.spec.title?.text ? axis.spec.title : null;
    if (!title || axis.spec.visible === false) return;
    const { size } = font({ size: 14, ...title.font }), away = (axis.across || 0) - (axis.letter === "y" ? 9 : 0) + (title.standoff || 8) + size / 2;
    pen.save();
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const middle = (axis.low + axis.high) / 2, across = Object.values(axes).find((a) => a.letter !== axis.letter);
    const at = { left: [across.low - away, middle], right: [across.high + away, middle], top: [middle, across.low - away], bottom: [middle, across.high + away] }[axis.side];
    pen.translate(...at);
    if (axis.letter === "y") pen.rotate(-Math.PI / 2);
    pen.fillText(plain(title.text), 0, 0);
    pen.restore();
  }
  function note(part) {
    const { size } = font(part.font, isBold(part.text)), [ax, ay] = [axes[part.xref], axes[part.yref]];
    const x = (ax ? ax.to(part.x) : box.left + part.x * box.width) + (part.xshift || 0), y = (ay ? ay.to(part.y) : box.top + (1 - part.y) * box.height) - (part.yshift || 0);
    pen.textAlign = { left: "left", right: "right" }[part.xanchor] || "center";
    pen.textBaseline = { top: "top", bottom: "bottom" }[part.yanchor] || "middle";
    plain(String(part.text).replace(/<br>/g, "\n")).split("\n").forEach((line, index) => pen.fillText(line, x, y + index * size * 1.3));
  }

  for (const part of layout.shapes || []) if (part.layer === "below") shape(part);
  for (const trace of data) if (trace.visible !== false) ({ heatmap, bar: bars, scatter: lines, scattergl: lines })[trace.type || "scatter"]?.(trace);
  for (const part of layout.shapes || []) if (part.layer !== "below") shape(part);
  Object.values(axes).forEach((axis) => { ticks(axis); caption(axis); });
  (layout.annotations || []).forEach(note);
  if (layout.title?.text) {
    font({ size: 17, ...layout.title.font }, isBold(layout.title.text));
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillText(plain(layout.title.text), box.left + (layout.title.x ?? 0.05) * box.width, margin.t / 2);
  }

  // What lies under a pixel, as plotly.js would tell it.
  return (px, py) => {
    for (let curve = data.length - 1; curve >= 0; curve--) {
      const trace = data[curve], [ax, ay] = axesOf(trace);
      if (trace.hoverinfo === "skip" || px < ax.low || px > ax.high || py < ay.low || py > ay.high) continue;
      if (trace.type === "heatmap") {
        const { rows, columns, values } = matrix(trace.z), x = places(trace, "x"), y = places(trace, "y");
        const column = Math.round((ax.from(px) - x.start) / x.step), row = Math.round((ay.from(py) - y.start) / y.step), z = values[row * columns + column];
        if (column < 0 || row < 0 || column >= columns || row >= rows || Number.isNaN(z)) continue;
        return { curve, x: x.start + column * x.step, y: y.start + row * y.step, z, point: [row, column] };
      }
      if (trace.type === "bar" && trace.orientation === "h") {
        const row = Math.round(ay.from(py)), long = numbers(trace.x);
        if (row >= 0 && row < long.length) return { curve, x: long[row], y: row, z: null, point: row };
      }
    }
    return null;
  };
};
