// The last signals of a stage as marbles that move from now, on the right, into the past.

import { element, setAttributes, setText, svg } from "./dom.js";

const HEIGHT = 44;
const RADIUS = 6;
const KEPT = 300;
// What comes is told four times a second: shown a little later, it moves without a jerk.
const DELAY = 0.5;
const PERIODS = [2, 5, 10, 30];
const LONGEST = 60;
// So many marbles, about, are on the line.
const WANTED = 40;
const TINTS = 5;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

export function createMarbles() {
  const root = element("div", "marbles");
  const drawing = svg("svg");
  const line = svg("path", "track");
  const scale = element("p", "scale");
  const oldest = element("span");
  scale.append(oldest, element("span", "", "now"));
  setAttributes(drawing, { height: HEIGHT, role: "img", "aria-label": "The last signals" });
  drawing.append(line);
  root.append(drawing, scale);
  const marbles = new Map();
  let period = LONGEST;
  let ahead = Infinity;
  let frame = 0;

  // The clock of the browser may differ from that of the pipeline.
  function show(stage, now) {
    ahead = Math.min(ahead, Date.now() / 1000 - now);
    period = PERIODS.find((seconds) => seconds * stage.rate >= WANTED) ?? LONGEST;
    setText(oldest, `${period} s ago`);
    for (const signal of stage.recent) add(signal);
    for (const key of [...marbles.keys()].slice(0, -KEPT)) remove(key);
    if (!frame) move();
  }

  function add({ at, text }) {
    const key = `${at} ${text}`;
    if (marbles.has(key)) return;
    const marble = svg("circle", `marble tint-${tint(text)}`);
    const title = svg("title");
    setText(title, text);
    marble.append(title);
    setAttributes(marble, { r: RADIUS, cy: HEIGHT / 2 });
    drawing.append(marble);
    marbles.set(key, { at, marble });
  }

  function remove(key) {
    marbles.get(key).marble.remove();
    marbles.delete(key);
  }

  function move() {
    const width = root.clientWidth;
    const now = Date.now() / 1000 - ahead - (CALM.matches ? 0 : DELAY);
    const pixels = (width - RADIUS) / period;
    setAttributes(line, { d: `M0 ${HEIGHT / 2}H${width}` });
    for (const [key, { at, marble }] of marbles) {
      if (now - at > period * 1.1) remove(key);
      else marble.setAttribute("cx", (width - RADIUS - (now - at) * pixels).toFixed(1));
    }
    frame = CALM.matches ? 0 : requestAnimationFrame(move);
  }

  function clear() {
    cancelAnimationFrame(frame);
    frame = 0;
    for (const key of [...marbles.keys()]) remove(key);
  }

  return { root, show, clear };
}

// Equal texts have the same tint, so that a change shows.
function tint(text) {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)) % 9973;
  return sum % TINTS;
}
