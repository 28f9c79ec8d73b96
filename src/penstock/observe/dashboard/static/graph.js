// The stages and the edges between them: side by side where there is room, else one below another.

import { element, setAttributes, setHidden, setText, svg } from "./dom.js";
import { createEdge } from "./edges.js";
import { hasUnits, rate } from "./format.js";
import { columns, ends } from "./layout.js";
import { inWords } from "./moods.js";

// As in the style: a gap has room for the words of an edge.
const COLUMN = 140;
const GAP = 140;
// As many stages stand side by side on a narrow window.
const BESIDE = 2;

export function createGraph(root, { onStage, onEdge }) {
  const drawing = svg("svg", "edges");
  drawing.setAttribute("aria-hidden", "true");
  const words = element("ul", "for-ears");
  let structure = "";
  let stages = new Map();
  let edges = [];
  let shown = null;
  let selected = null;

  function show(view) {
    shown = view;
    if (shapeOf(view) !== structure) build(view);
    const united = hasUnits(view);
    for (const stage of view.stages) {
      stages.get(stage.name).show(stage, stage.name === selected, united ? stage.unit : "");
    }
    view.edges.forEach((edge, index) => {
      edges[index].show(edge, united ? edge.unit : "");
      setText(words.children[index], `${edge.giver} to ${edge.taker}: ${inWords(edge, united)}`);
    });
    place();
  }

  function build(view) {
    structure = shapeOf(view);
    stages = new Map(view.stages.map((stage) => [stage.name, createStage(stage, onStage)]));
    edges = view.edges.map((edge) => createEdge(() => onEdge(edge)));
    drawing.replaceChildren(...edges.map((edge) => edge.group));
    words.replaceChildren(...edges.map(() => element("li")));
    root.replaceChildren(drawing, ...columns(view.stages, view.edges).map(columnOf), words);
    root.dataset.columns = root.querySelectorAll(".column").length;
    for (const stage of stages.values()) resized.observe(stage.box);
  }

  function columnOf(names) {
    const column = element("div", names.length > BESIDE ? "column tall" : "column");
    column.append(...names.map((name) => stages.get(name).box));
    return column;
  }

  function place() {
    if (!shown) return;
    const room = root.clientWidth;
    const needed = root.dataset.columns * (COLUMN + GAP) - GAP;
    const vertical = room < needed;
    root.classList.toggle("vertical", vertical);
    const origin = root.getBoundingClientRect();
    const box = (name) => {
      const { left, top, width, height } = stages.get(name).box.getBoundingClientRect();
      return { x: left - origin.left, y: top - origin.top, width, height };
    };
    setAttributes(drawing, { width: room, height: origin.height });
    const isTall = (name) => stages.get(name).box.parentElement.classList.contains("tall");
    ends(shown.edges, box, vertical, isTall).forEach((where, index) => {
      edges[index].place(where, vertical);
    });
  }

  function select(name) {
    selected = name;
    for (const [each, stage] of stages) stage.mark(each === name);
  }

  const resized = new ResizeObserver(place);
  resized.observe(root);
  return { show, select, focus: (name) => stages.get(name)?.box.focus() };
}

const shapeOf = (view) =>
  JSON.stringify([
    view.stages.map((stage) => [stage.name, stage.kind]),
    view.edges.map((edge) => [edge.giver, edge.taker]),
  ]);

function createStage({ name, kind }, onSelect) {
  const box = element("button", "stage");
  const parts = {
    name: element("span", "name", name),
    slow: element("span", "slow"),
    rate: element("span", "rate"),
    kind: element("span", "kind", kind === name ? "" : kind),
    detail: element("span", "detail"),
    trouble: element("span", "trouble"),
  };
  box.type = "button";
  box.dataset.stage = name;
  parts.name.title = name; // where it does not fit
  box.setAttribute("aria-controls", "details");
  box.append(...Object.values(parts));
  box.addEventListener("click", () => onSelect(name));

  function show(stage, selected, unit) {
    box.classList.toggle("slowest", stage.slowest);
    box.classList.toggle("troubled", Boolean(stage.trouble));
    setHidden(parts.slow, !stage.slowest);
    setText(parts.slow, stage.trouble ? "TROUBLE" : "SLOW");
    setText(parts.rate, rate(stage.rate));
    setText(parts.detail, [unit, stage.detail].filter(Boolean).join(" · "));
    setText(parts.trouble, stage.trouble);
    mark(selected);
  }

  const mark = (selected) => box.setAttribute("aria-expanded", String(selected));
  return { box, show, mark };
}
