// The page of a running pipeline: takes each view as it comes, and shows the last one.

import { createCharts } from "./charts.js";
import { createDetails } from "./details.js";
import { byId, setHidden, setLink, setText } from "./dom.js";
import { count, duration, seconds, stateInWords } from "./format.js";
import { createGraph } from "./graph.js";
import { createInside } from "./inside.js";
import { createLedger } from "./ledger.js";
import { createLines } from "./lines.js";
import { createMachine } from "./machine.js";
import { createRuns } from "./runs.js";
import { createSamples } from "./samples.js";
import { follow } from "./stream.js";

const ENDED = new Set(["completed", "stopped", "failed"]);

const samples = createSamples(byId("samples"));
const graph = createGraph(byId("graph"), {
  onStage: (name) => select(name === selected ? null : name),
  onEdge: samples.open,
});
const details = createDetails(byId("details"), closeDetails);
const charts = createCharts(byId("charts"), byId("charts-title"), byId("periods"), () => draw());
const ledger = createLedger(
  byId("ledger"),
  byId("equation"),
  byId("ledger-lines"),
  byId("passages"),
);
const inside = createInside(byId("inside"));
const machine = createMachine(byId("machine"));
const runs = createRuns(byId("runs"));
const errors = createLines(byId("errors"), "None.");
const letters = createLines(byId("letters"), "None.");

let view = null;
let selected = null;
let frame = 0;

follow({
  onView(next) {
    view = next;
    charts.add(next);
    setHidden(byId("connection"), true);
    draw();
  },
  onHistory(history) {
    charts.merge(history);
    draw();
  },
  onLost() {
    tell(
      view && ENDED.has(view.state)
        ? "The pipeline has ended. This is the last that it said."
        : "Connection lost, waiting for the pipeline to come back.",
    );
  },
  onRefused() {
    tell("The pipeline has a new address: open the one that it has printed.");
  },
});

// Once for each frame, and not at all while nobody looks.
function draw() {
  if (!frame) {
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (view) show(view);
    });
  }
}

function show(now) {
  showHeader(now);
  showSentence(now.sentence);
  graph.show(now);
  details.show(now, selected);
  samples.show(now);
  charts.draw();
  inside.show(now);
  machine.show(now);
  runs.show(now);
  ledger.show(now.ledger);
  errors.show(now.errors);
  letters.show(now.last_dead_letters, now.samples || !now.dead_letters ? "None." : "Not shown.");
  setText(byId("letters-count"), now.dead_letters ? count(now.dead_letters) : "");
}

function showHeader(now) {
  const { pipeline, state, batch, kept, ledger, checkpoint, spark_page } = now;
  document.title = `${pipeline} · ${state}`;
  setText(byId("pipeline"), pipeline);
  setText(byId("state"), state);
  byId("state").dataset.state = state;
  setText(byId("time"), duration(now.seconds));
  setText(byId("batch"), batch ? batchInWords(batch) : "–");
  setText(byId("kept"), stateInWords(totalOf(kept)));
  setHidden(byId("kept").parentElement, !kept.length);
  setText(byId("checkpoint"), checkpoint || "–");
  setText(byId("restarts"), `${count(ledger.restarts)}x`);
  setLink(byId("spark"), spark_page);
}

const batchInWords = ({ number, seconds: took }) =>
  took === null ? count(number) : `${count(number)} (${seconds(took)})`;

function totalOf(kept) {
  const sum = (field) => kept.reduce((total, each) => total + each[field], 0);
  return { rows: sum("rows"), bytes: sum("bytes") };
}

// Shares change all the time: who listens hears the sentence again only when its words change.
function showSentence(sentence) {
  setText(byId("sentence"), sentence);
  const spoken = byId("spoken");
  if (withoutNumbers(spoken.textContent) !== withoutNumbers(sentence)) setText(spoken, sentence);
}

const withoutNumbers = (text) => text.replace(/\d+/g, "");

function select(name) {
  selected = name;
  graph.select(name);
  if (view) details.show(view, name);
}

function closeDetails() {
  const last = selected;
  select(null);
  graph.focus(last);
}

function tell(text) {
  setText(byId("connection"), text);
  setHidden(byId("connection"), false);
}
