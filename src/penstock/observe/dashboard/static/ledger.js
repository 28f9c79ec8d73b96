// The ledger: what was taken, and what became of it. The words and the numbers come with the view.

import { element, setHidden, setText } from "./dom.js";
import { count, counted } from "./format.js";
import { createLines } from "./lines.js";

export function createLedger(root, sum, list, places) {
  const cells = new Map();
  const lines = createLines(list, "No restart so far.");

  function show(ledger) {
    for (const entry of ledger.entries) {
      if (!cells.has(entry.field)) cells.set(entry.field, createEntry(root, entry));
      cells.get(entry.field).show(entry);
    }
    setText(sum, ledger.equation);
    lines.show(ledger.lines);
    showPlaces(places, [...ledger.causes.map(causeInWords), ...ledger.passages.map(passageInWords)]);
  }

  return { show };
}

function createEntry(root, { name, field, meaning }) {
  const entry = element("div", "entry");
  const number = element("dd");
  const note = element("dd", "note");
  entry.dataset.entry = field;
  entry.title = meaning;
  entry.append(element("dt", "", name), number, note);
  root.append(entry);

  function show({ text, note: where, verdict }) {
    setText(number, text);
    number.dataset.verdict = verdict;
    setText(note, where);
  }

  return { show };
}

function showPlaces(places, texts) {
  const list = places.querySelector("ul");
  setHidden(places, !texts.length);
  while (list.children.length > texts.length) list.lastChild.remove();
  texts.forEach((text, index) => {
    setText(list.children[index] ?? list.appendChild(element("li")), text);
  });
}

function causeInWords({ field, count: number, place, words, unit }) {
  const figure = number === null ? "not known" : counted(count(number), unit);
  return `${field.replaceAll("_", " ")} ${figure} at ${place}: ${words}`;
}

function passageInWords({ giver, taker, entered, left, held, aside, unit }) {
  const missing = Math.max(entered - left - held - aside, 0);
  const way = giver === taker ? `within ${giver}` : `${giver} to ${taker}`;
  const parts = [
    `${count(left)} came out`,
    held && `${count(held)} on the way`,
    aside && `${count(aside)} dead letters`,
    missing && `${count(missing)} missing`,
  ];
  return `${way}: ${counted(count(entered), unit)} went in, ${parts.filter(Boolean).join(", ")}`;
}
