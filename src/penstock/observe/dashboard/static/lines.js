// Lists of what happened, the newest on top.

import { element } from "./dom.js";
import { clock } from "./format.js";

export function createLines(root, empty, most = 8) {
  let shown = null;

  function show(signals, none = empty) {
    const last = signals.slice(-most).reverse();
    const content = JSON.stringify([last, none]);
    if (content === shown) return;
    shown = content;
    root.replaceChildren(...(last.length ? last.map(lineOf) : [element("li", "none", none)]));
  }

  return { show };
}

function lineOf({ at, text }) {
  const line = element("li");
  line.append(element("time", "", clock(at)), element("span", "", text));
  return line;
}
