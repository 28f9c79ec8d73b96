// What is known of the stage that was clicked.

import { element, setAttributes, setHidden, setLink, setText } from "./dom.js";
import { count, counted, hasUnits, rate, stateInWords } from "./format.js";
import { createLines } from "./lines.js";
import { createMarbles } from "./marbles.js";
import { inWords } from "./moods.js";

const SIGNALS = 6;
const NONE = "None since the start.";
const NOTHING = "Nothing has passed yet.";

export function createDetails(root, onClose) {
  const title = element("h2");
  const close = element("button", "close", "Close");
  const head = element("div", "head");
  const facts = element("p", "facts-line");
  const trouble = element("p", "trouble");
  const edges = element("ul", "edges-list");
  const kept = element("ul", "kept-list");
  const spark = element("a", "", "Spark's own page");
  const marbles = createMarbles();
  const list = element("ul", "lines");
  const lines = createLines(list, NOTHING, SIGNALS);
  close.type = "button";
  close.addEventListener("click", onClose);
  head.append(title, close);
  setAttributes(spark, { target: "_blank", rel: "noopener noreferrer" });
  const signals = element("h3", "", "Last signals");
  const errors = createSection("errors", "Last errors");
  const letters = createSection("letters", "Dead letters");
  root.append(head, facts, trouble, edges, kept, spark, errors.root, letters.root);
  root.append(signals, marbles.root, list);
  root.addEventListener("keydown", (event) => event.key === "Escape" && onClose());
  let shown = null;

  function show(view, name) {
    const stage = view.stages.find((each) => each.name === name);
    setHidden(root, !stage);
    if (shown !== name) marbles.clear();
    shown = name;
    if (!stage) return;
    setText(title, stage.name);
    const united = hasUnits(view);
    const passed = counted(count(stage.passed), united ? stage.unit : "elements");
    const known = [stage.kind, passed, rate(stage.rate), stage.detail];
    setText(facts, known.filter(Boolean).join(" · "));
    setLink(spark, stage.kind === "spark" ? view.spark_page : null);
    setText(trouble, stage.trouble);
    setHidden(trouble, !stage.trouble);
    showList(edges, edgeTexts(view.edges, name, united));
    showList(kept, stage.kind === "spark" ? view.kept.map(keptInWords) : []);
    errors.show(stage.errors, stage.errors.length);
    letters.show(stage.last_dead_letters, stage.dead_letters, view.samples ? NONE : "Not shown.");
    marbles.show(stage, view.point.at);
    lines.show(stage.recent, view.samples ? NOTHING : "Elements are not shown.");
  }

  return { show };
}

function edgeTexts(all, name, united) {
  return all
    .filter((edge) => edge.giver === name || edge.taker === name)
    .map((edge) => {
      const other = edge.taker === name ? `from ${edge.giver}` : `to ${edge.taker}`;
      return `${other}: ${inWords(edge, united)}`;
    });
}

function keptInWords(state) {
  const late = state.late ? `; ${count(state.late)} rows came too late for it` : "";
  return `${state.operator} keeps ${stateInWords(state)}${late}`;
}

function showList(list, texts) {
  while (list.children.length > texts.length) list.lastChild.remove();
  texts.forEach((text, index) => {
    setText(list.children[index] ?? list.appendChild(element("li")), text);
  });
}

// What most stages have none of is not there until there is one.
function createSection(name, title) {
  const root = element("div", name);
  const heading = element("h3");
  const list = element("ul", "lines");
  const lines = createLines(list, NONE, SIGNALS);
  root.append(heading, list);

  function show(signals, number, none = NONE) {
    setHidden(root, !number);
    setText(heading, `${title} ${count(number)}`);
    lines.show(signals, none);
  }

  return { root, show };
}
