// The stage: one panel of blocks, figures and HTML. The value is JSON (viz/pages/stage.py); blocks that stand here already come
// without content, and every pick tells which stand here, so that the server makes nothing twice.
"use strict";
stt.have = () => ({}); // block -> key, of the stage once there is one

// A block as it stands in the page, empty; the stand-in uses it too.
stt.stageNode = (block) => {
  const node = document.createElement("div");
  node.className = `stt-part stt-part-${block.kind}`;
  node.id = block.name;
  const words = stt.words, label = (block.label || "").replace(/[&"<]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  if (block.kind === "html") {
    node.innerHTML = `<div class="stt-html" role="group"${block.live ? ' aria-live="polite"' : ""}></div>`;
    return node;
  }
  const kinds = ["png", "svg", "html", ...block.tools.filter((tool) => tool !== "table")];
  const takes = kinds.map((kind) => `<button type="button" data-take="${kind}" title="${words["take_" + kind] || kind}">${words["take_" + kind] || kind}</button>`);
  const table = block.tools.includes("table") ? `<button type="button" class="stt-as-table" aria-expanded="false">${words.table || "table"}</button>` : "";
  node.innerHTML = `<div class="stt-plot" tabindex="0" role="img" aria-label="${label}"><canvas aria-hidden="true"></canvas><div class="stt-plot-live"></div></div>`
    + `<div class="stt-tools">${table}<details class="stt-take"><summary>${words.take || "save"}</summary><span class="stt-takes">${takes.join("")}</span></details></div>`;
  return node;
};
stt.stageColumns = (root, count) => {
  root.className = `stt-stage stt-columns-${count}`;
  while (root.children.length > count) root.lastElementChild.remove();
  while (root.children.length < count) root.append(Object.assign(document.createElement("div"), { className: "stt-column" }));
  return [...root.children];
};
// Every control shows what is chosen, but the one in a visitor's hand.
stt.showSettings = (root, set) => {
  for (const control of root.querySelectorAll("[data-set]")) {
    const value = set[control.dataset.set];
    if (value === undefined) continue;
    if (control.matches("button")) control.setAttribute("aria-pressed", String(control.dataset.value === value));
    else if (control.type === "checkbox") control.checked = value === "on";
    else if (control !== document.activeElement || control.matches("select")) control.value = value;
  }
  for (const output of root.querySelectorAll("[data-shows]")) output.textContent = set[output.dataset.shows] ?? "";
};

stt.stageView = (element, trigger, props, watch) => {
  const root = element.querySelector(".stt-stage"), spoken = element.querySelector(".stt-unseen");
  const blocks = new Map(); // name -> {node, key, props, changed: {what: fn}, leave}
  let shown = null, told = null, playing = null;
  stt.patience = 4000; // every pick is answered here, if only by its turn
  stt.have = () => Object.fromEntries([...blocks].map(([name, block]) => [name, block.key]));
  const tell = (event, data) => trigger(event, { ...data, have: stt.have() });

  // ---- blocks -----------------------------------------------------------------------------------------------------
  function made(block) {
    const node = stt.stageNode(block), one = { node, key: null, kind: block.kind, props: { value: null, select: null }, changed: {} };
    blocks.set(block.name, one);
    one.start = () => {
      const hear = (what, work) => { one.changed[what] = work; };
      const say = (event, data) => tell(data.ask !== undefined ? "ask" : event, { ...data, block: block.name });
      one.leave = (block.kind === "plot" ? stt.plotView : stt.htmlView)(node, say, one.props, hear);
      if (block.kind === "plot") tools(node, block.name);
    };
    return one;
  }
  function tools(node, name) {
    node.querySelector(".stt-tools").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.classList.contains("stt-as-table")) send({ table: name, block: name });
      else stt.takeAlong(button.dataset.take, { name, node, figure: blocks.get(name).props.value, caption: told.caption }, (data) => tell("take", { ...data, block: name }));
    });
  }
  function fill(one, block) {
    if (block.value !== undefined) {
      one.props.value = block.value;
      one.key = block.key;
      if (!one.changed.value) one.start();
      else one.changed.value();
    }
    if (block.kind !== "plot") return;
    one.node.querySelector(".stt-plot").setAttribute("aria-label", block.label); // may name the token that is looked at
    const at = block.select ? JSON.stringify(block.select) : null;
    if (block.value === undefined && at && at !== one.props.select) { one.props.select = at; one.changed.select?.(); }
    one.props.select = at;
    one.node.querySelector(".stt-as-table")?.setAttribute("aria-expanded", String(!!block.open));
  }
  function drop(name) {
    const one = blocks.get(name);
    blocks.delete(name);
    one.node.remove();
    one.leave?.();
  }

  // ---- a whole panel ----------------------------------------------------------------------------------------------
  function lay(next) {
    const wanted = new Map(next.columns.flat().map((block) => [block.name, block]));
    for (const [name, one] of [...blocks]) if (!wanted.has(name) || wanted.get(name).kind !== one.kind) drop(name);
    const columns = stt.stageColumns(root, next.columns.length);
    let missing = false;
    next.columns.forEach((column, number) => column.forEach((block, place) => {
      const one = blocks.get(block.name) || made(block), there = columns[number].children[place];
      if (there !== one.node) columns[number].insertBefore(one.node, there || null);
      if (block.value === undefined && block.key !== one.key) missing = true;
    }));
    // Only in the page: a figure asks how wide it is.
    for (const [name, block] of wanted) fill(blocks.get(name), block);
    stt.showSettings(root, next.set);
    if (spoken.textContent !== next.said) spoken.textContent = next.said;
    return missing;
  }
  const send = stt.sender(tell);
  function show() {
    if (!props.value || props.value === shown) return;
    shown = props.value;
    const next = JSON.parse(shown);
    if (next.part !== undefined) {
      const one = blocks.get(next.part);
      if (one) { one.props.value = next.value; one.changed.value(); } // its key stays: it is kept while the run is
      stt.answered();
      return;
    }
    const another = told && told.panel !== next.panel;
    told = next;
    const missing = lay(next);
    document.documentElement.dataset.panel = next.panel;
    root.dataset.n = 1 + (+root.dataset.n || 0);
    stt.answered();
    if (missing) send({ refresh: 1 });
    else if (playing) goOn();
    if (another) playing = null;
  }

  // ---- play: one step after the other, until it ends or a visitor stops it ------------------------------------------
  const button = () => root.querySelector("[data-play]");
  function mark() {
    const one = button();
    if (!one) return;
    one.dataset.wordsPlay ||= one.textContent;
    one.textContent = playing ? one.dataset.playWordsStop : one.dataset.wordsPlay;
    one.setAttribute("aria-pressed", String(!!playing));
  }
  function goOn() {
    if (!button() || root.querySelector("[data-finished]")) playing = null;
    mark();
    if (playing) playing = setTimeout(() => send({ grow: "1", block: button()?.closest(".stt-part").id }), 120);
  }
  root.addEventListener("click", (event) => {
    if (!event.target.closest("[data-play]")) { if (event.target.closest("[data-grow]")) playing = null; return; }
    event.stopPropagation();
    if (playing) { clearTimeout(playing); playing = null; mark(); } else { playing = 1; goOn(); }
  }, true);

  watch("value", show);
  show();
};

// What belongs together is marked together: the elements that share a word of `data-tie`.
stt.ties = () => {
  let marked = [];
  const mark = (event) => {
    const at = event.target.closest?.("[data-tie]");
    for (const node of marked) node.classList.remove("stt-tied");
    marked = [];
    if (!at) return;
    const words = new Set(at.dataset.tie.split(" "));
    const around = at.closest(".stt-html") || document;
    marked = [...around.querySelectorAll("[data-tie]")].filter((node) => node.dataset.tie.split(" ").some((word) => words.has(word)));
    for (const node of marked) node.classList.add("stt-tied");
  };
  for (const what of ["pointerover", "focusin"]) document.addEventListener(what, mark);
};
stt.ties();
