// What a visitor takes along of a figure. Pictures are made here, by plotly.js, with the caption below them; numbers, page and
// code come from the server.
"use strict";
stt.takeAlong = async (kind, figure, ask) => {
  if (kind !== "png" && kind !== "svg") { ask({ take: kind }); return; }
  const fig = JSON.parse(stt.swapColours(figure.figure)), Plotly = await stt.plotly();
  const style = getComputedStyle(document.body), tone = (name) => style.getPropertyValue(`--stt-${name}`).trim();
  const width = Math.max(figure.node.clientWidth, 320), lines = stt.wrapped(figure.caption || "", Math.floor((width - 16) / 6));
  const height = (fig.layout.height || figure.node.querySelector(".stt-plot").clientHeight) + 14 * lines.length + 12;
  const margin = { ...fig.layout.margin, b: (fig.layout.margin?.b ?? 80) + 14 * lines.length + 12 };
  const note = {
    text: lines.map((line) => line.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/\$/g, "&#36;")).join("<br>"), showarrow: false, align: "left",
    xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top", xshift: 8 - (margin.l ?? 80), yshift: -(fig.layout.margin?.b ?? 80) - 4, font: { size: 10, color: tone("muted") },
  };
  const layout = { ...fig.layout, width, height, margin, paper_bgcolor: tone("paper"), annotations: [...(fig.layout.annotations || []), note] };
  const address = await Plotly.toImage({ data: fig.data, layout }, { format: kind, width, height, scale: kind === "png" ? 2 : 1 });
  const link = Object.assign(document.createElement("a"), { href: address, download: `${figure.name}.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
};
stt.wrapped = (text, most) => {
  const lines = [""];
  for (const word of text.split(/(?<=[ ，。、])/u)) {
    if (lines.at(-1) && (lines.at(-1) + word).length > most) lines.push("");
    lines[lines.length - 1] += word;
  }
  return lines;
};
