// The runs of this pipeline, as its checkpoint has them, the newest on top.

import { element, setHidden, setText } from "./dom.js";
import { count, counted, duration } from "./format.js";

const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
const FIGURES = ["taken", "delivered", "dead_letters", "lost"];

export function createRuns(root) {
  const hint = root.querySelector(".hint");
  const list = root.querySelector(".run-list");

  function show({ runs, ledger }) {
    setHidden(hint, runs.length > 0);
    setText(hint, "Runs are kept with a checkpoint, and this one has none so far.");
    while (list.children.length > runs.length) list.lastChild.remove();
    [...runs].reverse().forEach((run, index) => {
      (list.children[index] ?? list.appendChild(createRun())).show(run, ledger.units);
    });
  }

  return { show };
}

function createRun() {
  const line = element("li");
  const parts = ["time", "span", "span", "span", "span"].map((tag) => element(tag));
  const [began, state, took, figures, error] = parts;
  state.className = "run-state";
  error.className = "run-error";
  line.append(...parts);
  line.show = (run, units) => {
    setText(began, WHEN.format(new Date(run.began * 1000)));
    setText(state, run.state);
    state.dataset.state = run.state;
    setText(took, run.state === "killed" ? `after ${duration(run.seconds)} or more` : duration(run.seconds));
    setText(figures, run.state === "running" ? "" : figuresOf(run, units));
    setText(error, run.error);
    setHidden(error, !run.error);
  };
  return line;
}

const figuresOf = (run, units) =>
  FIGURES.filter((name) => run[name] !== 0 || name !== "dead_letters")
    .map((name) => `${name.replace("_", " ")} ${figureOf(run[name], units[name])}`)
    .join(", ");

const figureOf = (number, unit) => (number === null ? "not known" : counted(count(number), unit));
