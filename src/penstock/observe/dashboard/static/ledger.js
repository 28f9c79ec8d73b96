// The books: what was taken, and what became of it.

import { element, setText } from "./dom.js";
import { count } from "./format.js";
import { createLines } from "./lines.js";

const ENTRIES = ["taken", "delivered", "replayed", "lost", "duplicated", "restarts"];
// Of these anything but none is bad news.
const FAULTS = new Set(["lost", "duplicated"]);
const VERDICTS = new Map([[0, "good"], [null, "unknown"]]);

export function createLedger(root, list) {
  const cells = new Map(ENTRIES.map((name) => [name, element("dd")]));
  for (const [name, cell] of cells) {
    const entry = element("div", "entry");
    entry.dataset.entry = name;
    entry.append(element("dt", "", name), cell);
    root.append(entry);
  }
  const lines = createLines(list, "No restart so far.");

  function show(ledger) {
    for (const [name, cell] of cells) {
      setText(cell, ledger[name] === null ? "–" : count(ledger[name]));
      if (FAULTS.has(name)) cell.dataset.verdict = VERDICTS.get(ledger[name]) ?? "bad";
    }
    lines.show(ledger.lines);
  }

  return { show };
}
