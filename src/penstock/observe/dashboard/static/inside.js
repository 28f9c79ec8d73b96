// Inside the engine: where the time of a batch goes, how far event time is, and the segments of flows.

import { element, setHidden, setText } from "./dom.js";
import { count, seconds, stateInWords } from "./format.js";
import { fit, showPairs } from "./pairs.js";

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
const UTC = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23", timeZone: "UTC" });
const MEANINGS = {
  look: "asks the sources what there is to read",
  plan: "plans the batch, and writes that down",
  compute: "reads the rows and computes",
  deliver: "this program gives the rows to the sinks",
  commit: "writes down that the batch is done",
};

export function createInside(root) {
  const phases = createPhases(root.querySelector(".phases"));
  const facts = root.querySelector(".inside-facts");
  const flows = root.querySelector(".flows");

  function show({ engine, kept, checkpoint }) {
    phases.show(engine);
    showPairs(facts, [...factsOf(engine, checkpoint), ...kept.map(keptOf)]);
    showPairs(flows, engine.flows.map(({ flow, segments }) => [flow, segments.join(" → ")]));
    setHidden(root, !(engine.phases.length || facts.childElementCount || flows.childElementCount));
  }

  return { show };
}

function factsOf({ watermark, checkpoint_age: age }, checkpoint) {
  const facts = [];
  if (watermark !== null) facts.push(["watermark", `${moment(watermark)} UTC: what is older is late`]);
  if (age !== null) facts.push(["checkpoint", `${checkpoint}, written ${seconds(age)} ago`]);
  return facts;
}

const moment = (at) => `${DAY.format(new Date(at * 1000))}, ${UTC.format(new Date(at * 1000))}`;

const keptOf = (state) => [
  state.operator,
  `keeps ${stateInWords(state)}${state.late ? `, ${count(state.late)} rows came too late for it` : ""}`,
];

function createPhases(root) {
  const title = element("p", "phases-title");
  const bar = element("div", "bar");
  const legend = element("ul", "phases-legend");
  bar.setAttribute("aria-hidden", "true");
  root.append(title, bar, legend);

  function show({ phases, phases_of: number }) {
    setHidden(root, !phases.length);
    const total = phases.reduce((sum, [, each]) => sum + each, 0);
    setText(title, `Batch ${number === null ? "–" : count(number)}: ${seconds(total)}`);
    fit(bar, phases.length, () => element("span"));
    fit(legend, phases.length, entry);
    phases.forEach(([name, each], index) => {
      bar.children[index].className = `phase ${name}`;
      bar.children[index].style.flexGrow = each / (total || 1);
      legend.children[index].className = `phase ${name}`;
      legend.children[index].title = MEANINGS[name] ?? "";
      setText(legend.children[index].querySelector("b"), seconds(each));
      setText(legend.children[index].querySelector("span"), name);
    });
  }

  return { show };
}

function entry() {
  const item = element("li");
  item.append(element("i"), element("span"), element("b", "value"));
  return item;
}
