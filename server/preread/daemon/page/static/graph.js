// Draws a node and its neighbours. Each is a link to its own graph; buttons, wheel and arrow keys zoom and pan.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const { nodes, edges } = JSON.parse(document.getElementById("graph").textContent);
  const svg = document.getElementById("picture");
  const FAR = 60;
  const short = (text) => (text.length > FAR && text.lastIndexOf(" ", FAR) > 0 ? text.slice(0, text.lastIndexOf(" ", FAR)) : text);
  const make = (name, attributes, parent, text) => {
    const found = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    if (text !== undefined) found.textContent = text;
    parent.append(found);
    return found;
  };

  const points = nodes.map((node, index) => ({ node, index }));
  const byId = new Map(points.map((point) => [point.node.id, point]));
  const links = edges
    .map((edge) => ({ source: byId.get(edge.source), target: byId.get(edge.target), kind: edge.kind }));
  points[0].fx = points[0].fy = 0;
  d3.forceSimulation(points)
    .force("links", d3.forceLink(links).distance(90).strength(0.5))
    .force("charge", d3.forceManyBody().strength(-260))
    .force("collide", d3.forceCollide((point) => (point.node.kind === "fact" ? 16 : 32)))
    .force("x", d3.forceX().strength(0.04))
    .force("y", d3.forceY().strength(svg.parentElement.parentElement.clientWidth > 700 ? 0.16 : 0.05))
    .stop()
    .tick(240);

  const shapes = {
    feature: "M0-9A9 9 0 1 1 0 9A9 9 0 1 1 0-9Z", ticket: "M-8-8H8V8H-8Z", document: "M-6-8H6V8H-6Z",
    file: "M-5-6.5H5V6.5H-5Z", symbol: "M0-7.5L7.5 0L0 7.5L-7.5 0Z", test: "M0-7L7 6H-7Z",
    commit: "M-7-3H7V3H-7Z", failure: "M-6-6L6 6M6-6L-6 6",
  };
  const round = "M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z";
  const lines = make("g", { class: "edges" }, svg);
  for (const link of links) {
    const line = make("line", { x1: link.source.x, y1: link.source.y, x2: link.target.x, y2: link.target.y, class: link.kind }, lines);
    make("title", {}, line, link.kind);
    link.line = line;
  }
  const shown = make("g", { class: "nodes" }, svg);
  for (const point of points) {
    const { node } = point;
    const name = visible(node.name);
    const link = make("a", { href: node.url, class: `node is-${node.kind}${point.index ? "" : " center"}`,
      transform: `translate(${point.x} ${point.y})`, "aria-label": `${node.kind}: ${name}` }, shown);
    point.link = link;
    make("title", {}, link, `${node.kind}: ${name}`);
    make("circle", { r: 14, class: "target" }, link);
    make("path", { d: shapes[node.kind] || round }, link);
    make("text", { x: 12, y: 4 }, link, short(name));
    const mark = (on) => () => {
      for (const one of links) one.line.classList.toggle("near", on && (one.source === point || one.target === point));
    };
    for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) link.addEventListener(event, mark(on));
  }
  const kinds = [...new Set(nodes.map((node) => node.kind))];
  const legend = document.getElementById("legend");
  for (const kind of kinds) {
    const item = document.createElement("span");
    const icon = make("svg", { viewBox: "-11 -11 22 22", width: 15, height: 15, class: `node is-${kind}`, "aria-hidden": "true" }, item);
    make("path", { d: shapes[kind] || round }, icon);
    item.append(" " + kind);
    legend.append(item);
  }

  // what is in view
  const right = (point) => point.x + (point.node.kind === "fact" && point.index ? 20 : 24 + 6 * short(point.node.name).length);
  const bounds = { x: Math.min(...points.map((p) => p.x)) - 30, y: Math.min(...points.map((p) => p.y)) - 30 };
  bounds.w = Math.max(...points.map(right)) - bounds.x + 10;
  bounds.h = Math.max(...points.map((p) => p.y)) - bounds.y + 30;
  // a label that would cover another is shown only while its node is pointed at
  const taken = points.map((p) => ({ x: p.x - 5, y: p.y - 5, w: 10, h: 10, of: p }));
  for (const point of points) {
    if (point.node.kind === "fact" && point.index) continue;
    const box = { x: point.x + 12, y: point.y - 5, w: 5.6 * short(point.node.name).length, h: 11, of: point };
    const hits = (one) => one.of !== point && one.x < box.x + box.w && box.x < one.x + one.w && one.y < box.y + box.h && box.y < one.y + one.h;
    if (point.index && taken.some(hits)) point.link.classList.add("is-covered");
    else taken.push(box);
  }
  let view;
  const look = (next) => { view = next; svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`); };
  const zoom = (by, at = { x: view.x + view.w / 2, y: view.y + view.h / 2 }) =>
    look({ x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by, w: view.w * by, h: view.h * by });
  const move = (x, y) => look({ ...view, x: view.x + x * view.w, y: view.y + y * view.h });
  const fit = () => look({ ...bounds });
  const keys = {
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1),
    ArrowDown: () => move(0, 0.1), "+": () => zoom(0.8), "-": () => zoom(1.25), 0: fit,
  };
  svg.addEventListener("keydown", (event) => {
    if (event.target === svg && keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  const place = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    zoom(event.deltaY > 0 ? 1.15 : 0.87, place(event));
    event.preventDefault();
  }, { passive: false });
  let from = null;
  svg.addEventListener("pointerdown", (event) => { if (!event.target.closest("a")) { from = place(event); svg.setPointerCapture(event.pointerId); } });
  svg.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = place(event);
    look({ ...view, x: view.x + from.x - to.x, y: view.y + from.y - to.y });
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { from = null; });
  document.getElementById("zoom-in").addEventListener("click", () => zoom(0.8));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(1.25));
  document.getElementById("fit").addEventListener("click", fit);
  svg.closest("figure").hidden = false;
  fit();
  const { clientWidth: w, clientHeight: h } = svg; // if all of it would be too small to read, show its center
  if (bounds.w > 1.6 * w) look({ x: -0.6 * w, y: -0.6 * h, w: 1.2 * w, h: 1.2 * h });
})();
