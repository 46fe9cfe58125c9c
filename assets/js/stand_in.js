// The page before Gradio has started: the same values, drawn from Gradio's own description of the page, in the same places.
// It is there within a quarter of a second, is only to be looked at, and goes when every view of the real page stands.
"use strict";
stt.standIn = () => {
  const config = window.gradio_config, root = document.getElementById("stt-stand-in");
  if (!config?.layout || !root) return;
  const parts = new Map(config.components.map((part) => [part.id, part]));
  const figures = [], HIDDEN = new Set([false, "hidden"]);
  let views = 0;

  const make = (tag, classes = "", text = "") => Object.assign(document.createElement(tag), { className: classes, textContent: text });
  function place(node, props) {
    if (props.scale !== undefined && props.scale !== null) node.style.flexGrow = props.scale;
    if (props.min_width) node.style.minWidth = `min(${props.min_width}px, 100%)`;
    node.classList.add(...[props.elem_classes || []].flat());
    if (props.elem_id) node.dataset.part = props.elem_id;
    return node;
  }
  function view(props) {
    const node = make("div", "block"), script = props.js_on_load || "";
    if (!props.html_template?.includes("${value}")) node.innerHTML = props.html_template || "";
    else if (typeof props.value === "string") node.innerHTML = props.value;
    if (script.startsWith("stt.plotView") && props.value) { views += 1; figures.push([node.querySelector(".stt-plot"), props.value]); }
    if (script.startsWith("stt.stageView") && props.value) stage(node.querySelector(".stt-stage"), JSON.parse(props.value));
    if (script.startsWith("stt.htmlView") && props.value) { views += 1; node.querySelector(".stt-html").innerHTML = props.value; }
    return node;
  }
  function stage(root, told) {
    stt.stageColumns(root, told.columns.length).forEach((column, number) => column.append(...told.columns[number].map((block) => {
      const part = stt.stageNode(block);
      views += 1;
      if (block.kind === "plot") figures.push([part.querySelector(".stt-plot"), block.value]);
      else part.querySelector(".stt-html").innerHTML = block.value;
      return part;
    })));
    stt.showSettings(root, told.set);
  }
  function field(props) {
    const node = make("div", "block padded"), shown = [props.value ?? ""].flat().join(", ");
    const choice = (props.choices || []).find((pair) => pair[1] === props.value);
    node.append(make("span", "stt-label", props.label || ""), make("div", "stt-value", choice ? choice[0] : shown));
    return node;
  }
  function node({ id, children = [] }) {
    const { type, props } = parts.get(id) || { type: "column", props: {} };
    if (HIDDEN.has(props.visible) || props.open === false) return null;
    if (type === "html" && !children.length) return place(view(props), props);
    if (type === "button") return place(make("button", `stt-button ${props.size || "lg"} ${props.variant || "secondary"}`, props.value), props);
    if (["textbox", "dropdown", "number", "radio", "slider"].includes(type)) return place(field(props), props);
    if (!["column", "row", "group", "form", "accordion"].includes(type)) return null;
    const box = place(make("div", type === "row" || type === "form" ? type : "column"), props);
    box.append(...children.map(node).filter(Boolean));
    return box;
  }
  function paint([host, value]) {
    const figure = value && JSON.parse(stt.swapColours(value));
    if (!figure) return;
    if (figure.layout.height) host.style.height = figure.layout.height + "px";
    stt.firstPicture(host.querySelector("canvas"), figure, host.clientWidth, host.clientHeight);
  }
  function leave() {
    clearTimeout(timer);
    watcher.disconnect();
    document.removeEventListener("stt-theme", repaint);
    document.documentElement.classList.remove("stt-waiting");
    root.remove();
  }
  const repaint = () => figures.forEach(paint);
  const ready = () => document.querySelectorAll("gradio-app :is(.stt-plot[data-first], .stt-html[data-n])").length >= views;
  const watcher = new MutationObserver(() => { if (ready()) leave(); });
  const timer = setTimeout(leave, 10000); // a page that fails to start shows what Gradio says about it

  document.documentElement.classList.add("stt-waiting");
  try {
    root.append(...(config.layout.children || []).map(node).filter(Boolean));
    root.querySelectorAll("[tabindex],a,button").forEach((item) => { item.tabIndex = -1; });
    root.querySelectorAll("[id]").forEach((item) => { item.dataset.part = item.id; item.removeAttribute("id"); });
    repaint();
  } catch (error) { console.error(error); leave(); return; }
  if (!views) { leave(); return; }
  document.addEventListener("stt-theme", repaint);
  watcher.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-first", "data-n"] });
};
