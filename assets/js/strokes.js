// From pen strokes to pixels: the twin of transformer/strokes.py, which says why. Same numbers, same order of operations.
// `strokes` are lists of [x, y] from 0 to 1; `rule` comes from Python. The result: one level 0 … 16 per pixel, row by row.
"use strict";
stt.LEVELS = "0123456789abcdefg";
stt.digitLevels = (strokes, rule) => {
  const across = rule.side / rule.cell, levels = new Array(across * across).fill(0);
  stt.digitBitmap(strokes, rule).forEach((on, at) => {
    const y = Math.floor(at / rule.side), x = at % rule.side;
    levels[Math.floor(y / rule.cell) * across + Math.floor(x / rule.cell)] += on;
  });
  return levels;
};
stt.digitBitmap = (strokes, rule) => {
  let bitmap = new Uint8Array(rule.side * rule.side);
  const lines = strokes.filter((stroke) => stroke.length);
  if (!lines.length) return bitmap;
  for (const radius of rule.pens) {
    bitmap = stt.drawnBitmap(stt.placedStrokes(lines, radius, rule), radius, rule.side);
    if (bitmap.reduce((sum, on) => sum + on, 0) >= rule.ink) break;
  }
  return bitmap;
};
stt.placedStrokes = (lines, radius, rule) => {
  const points = lines.flat(), ends = (axis, pick) => points.reduce((found, point) => pick(found, point[axis]), points[0][axis]);
  const low = [ends(0, Math.min), ends(1, Math.min)], high = [ends(0, Math.max), ends(1, Math.max)];
  const [x, y] = [rule.wide, rule.high].map((room, axis) => (room - 2 * radius) / Math.max(high[axis] - low[axis], rule.smallest));
  const scale = [Math.min(x, rule.stretch * y), Math.min(y, rule.stretch * x)];
  const place = (point) => point.map((value, axis) => (value - (low[axis] + high[axis]) / 2) * scale[axis] + rule.side / 2);
  return lines.map((line) => line.map(place));
};
stt.drawnBitmap = (lines, radius, side) => {
  const bitmap = new Uint8Array(side * side), within = (value) => Math.max(0, Math.min(side - 1, Math.floor(value)));
  function draw([ax, ay], [bx, by]) {
    const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
    const reach = radius + 1; // only pixels near the segment are asked
    for (let y = within(Math.min(ay, by) - reach); y <= within(Math.max(ay, by) + reach); y++) {
      for (let x = within(Math.min(ax, bx) - reach); x <= within(Math.max(ax, bx) + reach); x++) {
        const px = x + 0.5, py = y + 0.5;
        const along = Math.min(Math.max(((px - ax) * dx + (py - ay) * dy) / (length > 0 ? length : 1), 0), 1);
        const ex = px - (ax + along * dx), ey = py - (ay + along * dy);
        if (ex * ex + ey * ey <= radius * radius) bitmap[y * side + x] = 1;
      }
    }
  }
  for (const line of lines) line.forEach((point, at) => draw(point, line[at + 1] || point));
  return bitmap;
};
