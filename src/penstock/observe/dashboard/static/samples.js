// The last rows at each edge, for who opens it.

import { element, setHidden, setText } from "./dom.js";
import { clock } from "./format.js";

const UNSEEN = "Nothing has passed here yet, or it stays within Spark, where this program does not see it.";

export function createSamples(root) {
  const hint = root.querySelector(".hint");
  const list = root.querySelector(".samples");
  let edges = new Map();

  function show(view) {
    const names = view.edges.map(nameOf);
    if (names.join() !== [...edges.keys()].join()) build(names);
    for (const edge of view.edges) edges.get(nameOf(edge)).show(edge.sample);
    setText(
      hint,
      view.samples
        ? "The last rows at each edge. Open one, here or by a click on its line above."
        : "Rows are not shown: the pipeline runs without samples.",
    );
    for (const edge of edges.values()) setHidden(edge.root, !view.samples);
  }

  function build(names) {
    for (const edge of edges.values()) edge.root.remove();
    edges = new Map(names.map((name) => [name, createSample(name)]));
    list.append(...[...edges.values()].map((edge) => edge.root));
  }

  function open(edge) {
    edges.get(nameOf(edge))?.open();
  }

  return { show, open };
}

const nameOf = ({ giver, taker }) => `${giver} → ${taker}`;

function createSample(name) {
  const root = element("details", "sample");
  const summary = element("summary", "", name);
  const list = element("ul", "rows");
  root.dataset.edge = name;
  root.append(summary, list);
  root.addEventListener("toggle", draw);
  let rows = [];
  let shown = null;

  function show(sample) {
    rows = sample;
    draw();
  }

  // What is closed costs nothing.
  function draw() {
    const content = JSON.stringify(rows);
    if (!root.open || content === shown) return;
    shown = content;
    const lines = [...rows].reverse().map(rowOf);
    list.replaceChildren(...(lines.length ? lines : [element("li", "none", UNSEEN)]));
  }

  function open() {
    root.open = true;
    root.scrollIntoView({ block: "nearest" });
    summary.focus({ preventScroll: true });
  }

  return { root, show, open };
}

function rowOf({ at, fields, more }) {
  const line = element("li");
  line.append(element("time", "", clock(at)), ...fields.map(fieldOf));
  if (more) line.append(element("span", "more", `and ${more} more fields`));
  return line;
}

function fieldOf([name, value]) {
  const field = element("span", "field");
  if (name) {
    const label = element("i", "", name);
    label.title = name; // where it does not fit
    field.append(label);
  }
  field.append(element("span", "text", value));
  return field;
}
