// A view of our own escaped HTML (tokens, diagram, arithmetic). Whatever carries a data-… can be picked by mouse and keyboard.
"use strict";
stt.htmlView = (element, trigger, props, watch) => {
  const host = element.querySelector(".stt-html");
  const NATIVE = "a[href],button,input,select,textarea,summary";
  const INPUT = "input,select,textarea";
  const QUIET = new Set(["tie", "shows", "finished"]); // they mark, and are nothing to pick
  const isPickable = (node) => Object.keys(node.dataset || {}).some((name) => !QUIET.has(name)) && !node.matches(INPUT);
  const pickable = (node) => {
    for (let at = node; at && at !== host; at = at.parentElement) if (isPickable(at)) return at;
    return null;
  };
  const items = () => [...host.querySelectorAll("*")].filter(isPickable);
  const signature = (node) => JSON.stringify({ ...node.dataset });
  const send = stt.sender(trigger);
  let shown = null;

  // One stop of the Tab key per view: the marked item, else the first; arrows walk among the items.
  function prepare() {
    const all = items();
    const marked = all.find((node) => node.matches("[aria-pressed=true],[aria-selected=true],[aria-current]:not([aria-current=false])"));
    for (const node of all) {
      if (!node.matches(NATIVE) && !node.hasAttribute("role")) node.setAttribute("role", "button");
      if (node.dataset.copy === undefined) node.tabIndex = node === (marked || all[0]) ? 0 : -1;
    }
    const box = marked && marked.closest(".stt-strip"); // a long strip scrolls in itself: its marked token is in sight
    if (box && box.scrollHeight > box.clientHeight) {
      const at = marked.getBoundingClientRect(), frame = box.getBoundingClientRect();
      if (at.top < frame.top || at.bottom > frame.bottom) box.scrollTop += at.top - frame.top - frame.height / 2;
    }
    const wide = marked && marked.closest(".stt-levels-box"); // and so does a table that is wider than the page
    if (wide) {
      const at = marked.getBoundingClientRect(), frame = wide.getBoundingClientRect();
      const head = wide.querySelector("th").getBoundingClientRect().width, rtl = getComputedStyle(wide).direction === "rtl";
      const [left, right] = rtl ? [frame.left, frame.right - head] : [frame.left + head, frame.right];
      if (at.left < left || at.right > right) wide.scrollLeft += (at.left + at.right - left - right) / 2;
    }
  }
  function show() {
    if (props.value === shown) return;
    const focused = host.contains(document.activeElement) ? pickable(document.activeElement) : null;
    const was = focused && signature(focused);
    const held = host.contains(document.activeElement) && document.activeElement.matches(INPUT) ? document.activeElement.dataset.set : null;
    const sideways = host.querySelector(".stt-levels-box")?.scrollLeft;
    host.innerHTML = shown = props.value || "";
    if (sideways && host.querySelector(".stt-levels-box")) host.querySelector(".stt-levels-box").scrollLeft = sideways;
    prepare();
    if (was) items().find((node) => signature(node) === was)?.focus({ preventScroll: true });
    if (held) host.querySelector(`[data-set="${held}"]`)?.focus({ preventScroll: true });
    host.dataset.n = 1 + (+host.dataset.n || 0);
    stt.answered();
  }
  async function act(item) {
    if (item.dataset.ask !== undefined) { trigger("ask", { ...item.dataset }); return; }
    if (item.dataset.play !== undefined) return;
    if (item.dataset.copy === undefined) { send({ ...item.dataset }); return; }
    const done = await stt.copy(item.dataset.copy);
    stt.say(done ? stt.words.copied : stt.words.copy_failed);
    item.classList.toggle("stt-copied", done);
    setTimeout(() => item.classList.remove("stt-copied"), 2500);
  }
  // Patches of an image lie in rows: up and down lead to the nearest one there.
  function across(item, all, down) {
    const middle = (node) => { const { x, y, width, height } = node.getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
    const [x, y] = middle(item), row = item.getBoundingClientRect().height / 2;
    const far = (node) => Math.hypot(middle(node)[0] - x, middle(node)[1] - y);
    const there = all.filter((node) => node.ownerSVGElement && (middle(node)[1] - y) * (down ? 1 : -1) > row);
    return there.sort((one, other) => far(one) - far(other))[0] || item;
  }
  function walk(item, key) {
    const all = items().filter((node) => node.dataset.copy === undefined), at = all.indexOf(item);
    const on = getComputedStyle(item).direction === "rtl" ? -1 : 1;
    const to = { ArrowRight: at + on, ArrowDown: at + 1, ArrowLeft: at - on, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[key];
    const steps = item.ownerSVGElement && /^Arrow(Up|Down)$/.test(key);
    const next = steps ? across(item, all, key === "ArrowDown") : at >= 0 && to !== undefined ? all[Math.max(0, Math.min(all.length - 1, to))] : null;
    if (!next) return false;
    item.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    return true;
  }
  // A control reports itself: a slider while it is pulled, everything else when it is set.
  function set(event) {
    const { target } = event;
    if (!target.matches("[data-set]") || (event.type === "input") !== (target.type === "range")) return;
    const value = target.type === "checkbox" ? (target.checked ? "on" : "off") : target.value;
    for (const output of host.querySelectorAll(`[data-shows="${target.dataset.set}"]`)) output.textContent = value;
    send({ set: target.dataset.set, value });
  }
  for (const what of ["input", "change"]) host.addEventListener(what, set);
  host.addEventListener("click", (event) => {
    const item = pickable(event.target);
    if (item) act(item);
  });
  host.addEventListener("keydown", (event) => {
    const item = pickable(event.target);
    if (!item || event.ctrlKey || event.metaKey || event.altKey || event.target.matches(INPUT)) return;
    const pressed = (event.key === "Enter" || event.key === " ") && !item.matches(NATIVE);
    if (pressed) act(item);
    if (pressed || walk(item, event.key)) event.preventDefault();
  });
  watch("value", show);
  show();
};
