// The pad: strokes on paper, the pixels they become (strokes.js), touching up pixel by pixel, ready digits, undo.
// data-kit is {rule, digits} as JSON (transformer/strokes.py); props.value and what 'drawn' tells are the picture as text.
"use strict";
stt.drawPad = (element, trigger, props, watch) => {
  const host = element.querySelector(".stt-pad"), part = (name) => host.querySelector(".stt-pad-" + name);
  const paper = part("paper"), ink = part("ink"), pixels = part("pixels"), cursor = part("cursor"), said = part("said");
  const undo = part("undo"), clear = part("clear"), ready = [...host.querySelectorAll("[data-ready]")];
  const squares = [...pixels.querySelectorAll(".stt-pixel")], side = Math.sqrt(squares.length);
  const { rule, digits } = JSON.parse(element.querySelector(".stt-pad").dataset.kit), DARKEST = stt.LEVELS.length - 1;
  const CLOSEST = 0.008, MOST_POINTS = 4000, MOST_STEPS = 200; // of the pen: nearer points are left out; of a picture; of undo
  const REST = 350, ECHO = 5000; // ms: after the last key it is told; how long an answer may show an older picture of ours

  const textOf = (levels) => levels.map((level) => stt.LEVELS[level]).join("");
  const blank = () => ({ strokes: [], levels: squares.map(() => 0) });
  const drawn = (strokes) => ({ strokes, levels: stt.digitLevels(strokes, rule) });
  const readyTexts = digits.map((one) => textOf(stt.digitLevels(one.strokes, rule)));
  const send = stt.sender((_, event) => trigger("drawn", event));
  // Strokes and pixels together are a picture; pixels that were touched up, or came as text, hold until the next stroke.
  let now = blank(), before = [], stroke = null, at = [0, 0], timer = null, frame = null, told = [];

  // ---- showing ----------------------------------------------------------------------------------------------------
  const path = (strokes) => strokes.map((line) => "M" + [...line, line[line.length - 1]].map((point) => point.join(" ")).join("L")).join("");
  function show(picture = now) {
    const text = textOf(picture.levels);
    ink.setAttribute("d", path(picture.strokes));
    picture.levels.forEach((level, index) => squares[index].setAttribute("fill-opacity", level / DARKEST));
    ready.forEach((button) => button.setAttribute("aria-pressed", readyTexts[button.dataset.ready] === text));
    undo.disabled = !before.length;
    clear.disabled = !picture.levels.some((level) => level > 0) && !picture.strokes.length;
    host.dataset.image = text;
  }
  function point(index, say = true) {
    at = index;
    cursor.setAttribute("x", at[0]);
    cursor.setAttribute("y", at[1]);
    const level = now.levels[at[1] * side + at[0]];
    const words = { row: at[1] + 1, column: at[0] + 1, level };
    if (say) said.textContent = pixels.dataset.words.replace(/\{(\w+)\}/g, (_, name) => words[name]);
  }

  // ---- changing ---------------------------------------------------------------------------------------------------
  function tell() {
    clearTimeout(timer);
    told.push(host.dataset.image);
    setTimeout(() => told.shift(), ECHO);
    send({ image: host.dataset.image });
  }
  function become(picture, rest = 0) {
    before = [...before, now].slice(-MOST_STEPS);
    now = picture;
    show();
    clearTimeout(timer);
    if (rest) timer = setTimeout(tell, rest); else tell();
  }
  function takeBack() {
    if (!before.length) return;
    now = before.pop();
    show();
    tell();
  }
  function wipe() {
    if (!clear.disabled) become(blank());
    if (document.activeElement === pixels) point(at);
  }
  function paint(change) {
    const levels = [...now.levels], index = at[1] * side + at[0];
    levels[index] = Math.max(0, Math.min(DARKEST, change(levels[index])));
    if (levels[index] !== now.levels[index]) become({ strokes: now.strokes, levels }, REST);
    point(at);
  }
  const toggle = (level) => (level ? 0 : DARKEST);

  // ---- the pen ----------------------------------------------------------------------------------------------------
  const place = (event) => {
    const edge = paper.getBoundingClientRect();
    const share = [(event.clientX - edge.left) / edge.width, (event.clientY - edge.top) / edge.height];
    return share.map((value) => Math.round(Math.max(0, Math.min(1, value)) * 1000) / 1000);
  };
  const withStroke = () => drawn([...now.strokes, stroke]);
  function extend(event) {
    const next = place(event), last = stroke[stroke.length - 1];
    const points = stroke.length + now.strokes.reduce((sum, line) => sum + line.length, 0);
    if (points < MOST_POINTS && Math.hypot(next[0] - last[0], next[1] - last[1]) >= CLOSEST) stroke.push(next);
  }
  function put(event) {
    if (!event.isPrimary || event.button !== 0) return;
    event.preventDefault(); // no text is selected by drawing
    paper.setPointerCapture(event.pointerId);
    stroke = [place(event)];
    show(withStroke());
  }
  function move(event) {
    if (!stroke) return;
    const parts = event.getCoalescedEvents?.() || [];
    (parts.length ? parts : [event]).forEach(extend);
    frame ||= requestAnimationFrame(() => { frame = null; if (stroke) show(withStroke()); });
  }
  function lift(event) {
    if (!stroke) return;
    extend(event);
    const picture = withStroke();
    stroke = null;
    said.textContent = "";
    become(picture);
  }
  function drop() { if (stroke) { stroke = null; show(); } }

  // ---- keys, clicks, ready digits ---------------------------------------------------------------------------------
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-side, 0], End: [side, 0] };
  const ACTS = {
    " ": () => paint(toggle), Enter: () => paint(toggle), Delete: wipe, Backspace: wipe,
    "+": () => paint((level) => level + 1), "=": () => paint((level) => level + 1), "-": () => paint((level) => level - 1),
  };
  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (step) point(at.map((value, axis) => Math.max(0, Math.min(side - 1, value + step[axis]))));
    else if (ACTS[event.key]) ACTS[event.key]();
    else return;
    event.preventDefault();
  }
  function touchUp(event) {
    const edge = pixels.getBoundingClientRect();
    const share = [(event.clientX - edge.left) / edge.width, (event.clientY - edge.top) / edge.height];
    point(share.map((value) => Math.max(0, Math.min(side - 1, Math.floor(value * side)))), false);
    paint(toggle);
  }
  function walk(event) {
    const from = ready.indexOf(event.target.closest("[data-ready]")), step = STEPS[event.key];
    if (from < 0 || !step) return;
    const to = Math.max(0, Math.min(ready.length - 1, from + step[0] + step[1] * (ready.length / 2)));
    event.preventDefault();
    ready[from].tabIndex = -1;
    ready[to].tabIndex = 0;
    ready[to].focus();
  }
  function take(event) {
    const button = event.target.closest("[data-ready]");
    if (!button) return;
    ready.forEach((one) => { one.tabIndex = one === button ? 0 : -1; });
    become(drawn(digits[button.dataset.ready].strokes));
  }

  // ---- what the page sends ----------------------------------------------------------------------------------------
  function receive() {
    const text = String(props.value || "").replace(/\s/g, "").toLowerCase(), levels = [...text].map((sign) => stt.LEVELS.indexOf(sign));
    const usable = levels.length === squares.length && !levels.includes(-1);
    const late = told.includes(text) && text !== told[told.length - 1]; // the answer to a picture that has changed since
    if (!usable || late || stroke || text === host.dataset.image) return;
    const found = readyTexts.indexOf(text);
    if (host.dataset.image !== undefined) before = [...before, now].slice(-MOST_STEPS);
    now = { strokes: found < 0 ? [] : digits[found].strokes, levels };
    show();
  }

  paper.addEventListener("pointerdown", put);
  paper.addEventListener("pointermove", move);
  paper.addEventListener("pointerup", lift);
  for (const name of ["pointercancel", "lostpointercapture"]) paper.addEventListener(name, drop);
  pixels.addEventListener("keydown", press);
  pixels.addEventListener("click", touchUp);
  pixels.addEventListener("focus", () => point(at));
  pixels.addEventListener("blur", () => { said.textContent = ""; });
  undo.addEventListener("click", takeBack);
  clear.addEventListener("click", wipe);
  part("ready").addEventListener("click", take);
  part("ready").addEventListener("keydown", walk);
  host.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z") { event.preventDefault(); takeBack(); }
  });
  watch("value", () => { receive(); stt.answered(); });
  receive();
  if (host.dataset.image === undefined) show();
};
