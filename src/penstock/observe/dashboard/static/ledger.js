// The books: what was taken, and what became of it.

import { element, setHidden, setText } from "./dom.js";
import { count } from "./format.js";
import { createLines } from "./lines.js";

const ENTRIES = ["taken", "delivered", "replayed", "lost", "duplicated", "restarts"];
// Of these anything but none is bad news.
const FAULTS = new Set(["lost", "duplicated"]);
const VERDICTS = new Map([[0, "good"], [null, "unknown"]]);
const NOT_KNOWN = "not known";

export function createLedger(root, list, places) {
  const cells = new Map(ENTRIES.map((name) => [name, element("dd")]));
  for (const [name, cell] of cells) {
    const entry = element("div", "entry");
    entry.dataset.entry = name;
    entry.append(element("dt", "", name), cell);
    root.append(entry);
  }
  const untold = element("dd", "untold");
  cells.get("duplicated").after(untold);
  const lines = createLines(list, "No restart so far.");

  function show(ledger) {
    for (const [name, cell] of cells) {
      setText(cell, ledger[name] === null ? NOT_KNOWN : count(ledger[name]));
      if (FAULTS.has(name)) cell.dataset.verdict = VERDICTS.get(ledger[name]) ?? "bad";
    }
    const partly = ledger.duplicated !== null && ledger.cannot_tell.length > 0;
    setText(untold, partly ? `${NOT_KNOWN} at ${ledger.cannot_tell.join(", ")}` : "");
    lines.show(ledger.lines);
    showPassages(places, ledger.passages);
  }

  return { show };
}

function showPassages(places, passages) {
  const list = places.querySelector("ul");
  setHidden(places, !passages.length);
  while (list.children.length > passages.length) list.lastChild.remove();
  passages.forEach((passage, index) => {
    setText(list.children[index] ?? list.appendChild(element("li")), inWords(passage));
  });
}

function inWords({ giver, taker, entered, left, held, aside }) {
  const missing = Math.max(entered - left - held - aside, 0);
  const way = giver === taker ? `within ${giver}` : `${giver} to ${taker}`;
  const parts = [
    `${count(left)} came out`,
    held && `${count(held)} on the way`,
    aside && `${count(aside)} dead letters`,
    missing && `${count(missing)} missing`,
  ];
  return `${way}: ${count(entered)} went in, ${parts.filter(Boolean).join(", ")}`;
}
