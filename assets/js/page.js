// The ground of every page: one namespace, light or dark, plotly.js loaded once, the address bar, copying.
// `window.sttPage` (words, dark colours, where plotly.js lies) is written into the page by viz/pages/front.py.
"use strict";
const stt = (window.stt = {});
const sttScript = document.currentScript;

stt.words = (window.sttPage || {}).words || {};
stt.darkOf = (window.sttPage || {}).dark || {};

// Gradio words its own few messages, and marks the page, by the browser's language; the page's language is what counts.
if (window.sttPage) Object.defineProperty(navigator, "language", { get: () => window.sttPage.language });

// ---- light and dark: ?__theme= beats the visitor's choice, which beats the system's -------------------------------
stt.remembered = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
stt.wantsDark = () => {
  const asked = new URLSearchParams(location.search).get("__theme") || stt.remembered("stt-theme");
  return asked === "dark" || (asked !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
};
stt.isDark = () => document.documentElement.classList.contains("dark");
stt.applyTheme = () => {
  const dark = stt.wantsDark(), changed = dark !== stt.isDark();
  for (const part of [document.documentElement, document.body]) {
    if (part && part.classList.contains("dark") !== dark) part.classList.toggle("dark", dark);
  }
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  if (changed) document.dispatchEvent(new Event("stt-theme"));
};
stt.toggleTheme = () => {
  const next = stt.isDark() ? "light" : "dark";
  try { localStorage.setItem("stt-theme", next); } catch { /* private window: the choice lasts until reload */ }
  const address = new URL(location.href);
  if (address.searchParams.has("__theme") || !stt.remembered("stt-theme")) {
    address.searchParams.set("__theme", next);
    history.replaceState(history.state, "", address);
  }
  stt.applyTheme();
};
stt.swapColours = (text) => (stt.isDark() ? text.replace(/#[0-9a-f]{6}/gi, (c) => stt.darkOf[c.toLowerCase()] || c) : text);

stt.applyTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", stt.applyTheme);
document.addEventListener("DOMContentLoaded", () => {
  stt.applyTheme();
  // Gradio sets the class by its own rule when it starts; ours is put back at once.
  new MutationObserver(stt.applyTheme).observe(document.body, { attributes: true, attributeFilter: ["class"] });
});

// ---- ?hide=examples,seal,norm: a teacher's link leaves out what would distract -----------------------------------
// A name is that of a part or block of the page (its id), of a panel, or of one of these groups.
const sttNamed = (name) => `#${name}, [data-part="${name}"], #${name}-seal, .stt-panel-tab[data-panel="${name}"]`;
stt.groups = { controls: ["inputs", "examples", "panels"].map(sttNamed).join(", "), seal: ".stt-seal, #seal-all", save: ".stt-take", tables: ".stt-as-table", header: ".stt-header" };
stt.hidden = (new URLSearchParams(location.search).get("hide") || "").split(",").filter((name) => /^[a-z][a-z0-9-]{0,39}$/.test(name)).slice(0, 40);
if (stt.hidden.length) {
  const which = stt.hidden.map((name) => (Object.hasOwn(stt.groups, name) ? stt.groups[name] : sttNamed(name)));
  const style = document.createElement("style");
  style.textContent = `:is(${which.join(", ")}) { display: none !important; }`;
  document.head.append(style);
}

// ---- the library, once, after the first pictures stand -----------------------------------------------------------
let library = null;
stt.plotly = () => (library ||= new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = new URL(sttScript.dataset.plotly, sttScript.src);
  script.onload = () => resolve(window.Plotly);
  script.onerror = () => { library = null; reject(new Error("plotly.js did not load")); };
  document.head.append(script);
}));
stt.whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 1000 }) : setTimeout(work, 200));
// Picks go one after the other: the next one waits until some view has its answer, and only the newest waits.
// (Gradio's "always_last" would repeat the first event's data, and "multiple" alone lets answers overtake each other.)
const sending = new Set();
stt.patience = 400; // milliseconds
stt.answered = () => [...sending].forEach((done) => done());
stt.sender = (trigger, settled = () => {}) => {
  let timer = null, next = null;
  const done = () => {
    clearTimeout(timer);
    timer = null;
    sending.delete(done);
    if (next) { const event = next; next = null; send(event); } else settled();
  };
  const send = (event) => {
    if (timer) { next = event; return; }
    timer = setTimeout(done, stt.patience); // an answer that changes no view
    sending.add(done);
    trigger("pick", { have: stt.have?.(), ...event });
  };
  return send;
};
stt.nextFrame = () => new Promise((done) => {
  // A hidden tab paints no frames: the timer keeps it going.
  const timer = setTimeout(done, 60);
  requestAnimationFrame(() => { clearTimeout(timer); setTimeout(done); });
});

// Figures of one answer are drawn one per frame: the first is seen while the others wait.
let sttTurn = null;
stt.inTurn = (draw) => {
  const turn = (sttTurn ? sttTurn.then(draw) : Promise.resolve(draw())).then(stt.nextFrame);
  sttTurn = turn;
  turn.then(() => { if (sttTurn === turn) sttTurn = null; });
};

// ---- the address bar holds the state of the page, and the language link carries it over --------------------------
stt.remember = (query) => {
  const theme = new URLSearchParams(location.search).get("__theme");
  const wanted = new URLSearchParams(query);
  if (theme) wanted.set("__theme", theme);
  if (stt.hidden.length) wanted.set("hide", stt.hidden.join(","));
  const search = wanted.toString();
  history.replaceState(history.state, "", location.pathname + (search ? "?" + search : ""));
};
stt.languageHref = (link) => {
  const query = new URLSearchParams(location.search);
  query.set("lang", link.dataset.language);
  return link.dataset.path + "?" + query;
};
stt.addressView = (element, trigger, props, watch) => {
  let last = null;
  const show = () => { if (props.value && props.value !== last) { last = props.value; stt.remember(last); } };
  watch("value", show);
  // The first value is what the address said already: nothing to write.
  last = props.value;
};

// A file that the server has ready: fetched once, under its own name.
stt.downloadView = (element, trigger, props, watch) => watch("value", () => {
  if (!props.value) return;
  const { address, name } = JSON.parse(props.value);
  const link = Object.assign(document.createElement("a"), { href: new URL(address, sttScript.src), download: name });
  document.body.append(link);
  link.click();
  link.remove();
});

// ---- copying, also where the clipboard is refused (a page inside a frame) -----------------------------------------
stt.copy = async (text) => {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* the old way below */ }
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.setAttribute("aria-hidden", "true");
  area.style.cssText = "position:fixed;top:0;left:0;opacity:0";
  document.body.append(area);
  area.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { done = false; }
  area.remove();
  if (before) before.focus({ preventScroll: true });
  return done;
};
stt.say = (text) => {
  let line = document.getElementById("stt-said");
  if (!line) {
    line = Object.assign(document.createElement("div"), { id: "stt-said", className: "stt-said" });
    line.setAttribute("role", "status");
    document.body.append(line);
  }
  line.textContent = text;
  line.classList.add("stt-said-now");
  clearTimeout(stt.sayTimer);
  stt.sayTimer = setTimeout(() => line.classList.remove("stt-said-now"), 2500);
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-stt]");
  if (!button) return;
  if (button.dataset.stt === "skip") { // "#text" alone would be an address of the base and reload the page
    event.preventDefault();
    document.querySelector("#text :is(textarea, input)")?.focus();
  }
  if (button.dataset.stt === "theme") stt.toggleTheme();
  if (button.dataset.stt === "language") button.href = stt.languageHref(button);
  if (button.dataset.stt === "link") {
    const address = new URL(location.href);
    address.searchParams.set("lang", document.documentElement.lang.slice(0, 2));
    stt.copy(address.href).then((done) => stt.say(done ? stt.words.link_copied : stt.words.copy_failed));
  }
});
