// The lines between the stages: thick where much moves, coloured by who waits for whom.

import { setAttributes, setText, svg } from "./dom.js";
import { demand, short } from "./format.js";
import { mood, wait } from "./moods.js";

const ARROW = 9;
const BEND = 34;
const ASIDE = 26;
const CORNER = 8;

export function createEdge(onClick) {
  const group = svg("g", "edge");
  const parts = {
    hit: svg("path", "hit"),
    line: svg("path", "line"),
    beads: svg("path", "beads"),
    arrow: svg("path", "arrow"),
    gate: svg("path", "gate"),
    demand: svg("text", "demand"),
    flight: svg("text", "flight"),
    unit: svg("text", "unit"),
    wait: svg("text", "wait"),
  };
  group.append(...Object.values(parts));
  group.addEventListener("click", onClick);

  function show(edge, unit) {
    group.dataset.mood = mood(edge);
    group.dataset.pace = pace(edge.rate);
    group.style.setProperty("--thickness", `${thickness(edge.rate)}px`);
    setText(parts.demand, `asked for ${demand(edge)}`);
    setText(parts.flight, `${short(edge.in_flight)} waiting`);
    setText(parts.unit, unit); // of both, for which there is no room beside a number
    setText(parts.wait, wait(edge));
  }

  function place({ from, to, early, lane }, vertical) {
    if (lane) {
      placeInLane(parts, lane);
      return;
    }
    const end = vertical ? { x: to.x, y: to.y - ARROW } : { x: to.x - ARROW, y: to.y };
    const way = route(from, end, early, vertical);
    setAttributes(parts.hit, { d: way.path });
    setAttributes(parts.line, { d: way.path });
    setAttributes(parts.beads, { d: way.path });
    setAttributes(parts.arrow, { d: arrowhead(to, vertical) });
    setAttributes(parts.gate, { d: gate(end, vertical) });
    placeTexts(parts, way.middle, vertical);
  }

  return { group, show, place };
}

function placeInLane(parts, { points, text, sideways }) {
  const to = points.at(-1);
  const end = sideways ? { x: to.x - ARROW, y: to.y } : { x: to.x, y: to.y - ARROW };
  const path = rounded([...points.slice(0, -1), end]);
  setAttributes(parts.hit, { d: path });
  setAttributes(parts.line, { d: path });
  setAttributes(parts.beads, { d: path });
  setAttributes(parts.arrow, { d: arrowhead(to, !sideways) });
  setAttributes(parts.gate, { d: gate(end, !sideways) });
  placeTexts(parts, text, true);
}

function rounded(points) {
  const turns = points.slice(1, -1).map((corner, index) => {
    const [before, after] = [towards(corner, points[index]), towards(corner, points[index + 2])];
    return `L${point(before)}Q${point(corner)} ${point(after)}`;
  });
  return `M${point(points[0])}${turns.join("")}L${point(points.at(-1))}`;
}

function towards(corner, other) {
  const length = Math.hypot(other.x - corner.x, other.y - corner.y);
  const part = length ? Math.min(CORNER / length, 0.5) : 0;
  return { x: corner.x + (other.x - corner.x) * part, y: corner.y + (other.y - corner.y) * part };
}

// Straight but for one bend, early or late, so that the texts stand beside a straight line.
function route(from, to, early, vertical) {
  const [along, across] = vertical ? ["y", "x"] : ["x", "y"];
  const shift = from[across] === to[across] ? 0 : BEND;
  const start = early ? from : { ...from, [along]: to[along] - shift };
  const stop = early ? { ...to, [along]: from[along] + shift } : to;
  const half = (start[along] + stop[along]) / 2;
  const turns = [{ ...start, [along]: half }, { ...stop, [along]: half }, stop];
  return {
    path: `M${point(from)}L${point(start)}C${turns.map(point).join(" ")}L${point(to)}`,
    middle: vertical && shift ? beside(from, to, early) : between(early ? [stop, to] : [from, start]),
  };
}

const between = ([one, other]) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });

// Close to its own stage: the line may pass behind others on its way.
const beside = (from, to, early) =>
  early ? { x: to.x, y: to.y - ASIDE } : { x: from.x, y: from.y + ASIDE };

const point = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;

function arrowhead({ x, y }, vertical) {
  return vertical
    ? `M${x} ${y}l-6 ${-ARROW}h12z`
    : `M${x} ${y}l${-ARROW} -6v12z`;
}

function gate({ x, y }, vertical) {
  return vertical ? `M${x - 9} ${y - 5}h18` : `M${x - 5} ${y - 9}v18`;
}

function placeTexts(parts, middle, vertical) {
  const heights = vertical ? [-14, 1, 15, 29] : [-11, 21, 36, 51];
  const x = vertical ? middle.x + 10 : middle.x;
  const below = [parts.flight, parts.unit, parts.wait].filter((text) => text.textContent);
  [parts.demand, ...below].forEach((text, index) => {
    setAttributes(text, { x, y: middle.y + heights[index] });
  });
}

const thickness = (rate) => Math.min(2 + 2 * Math.log10(1 + Math.max(rate, 0)), 11).toFixed(1);

function pace(rate) {
  if (rate <= 0) return "still";
  if (rate < 10) return "slow";
  return rate < 1000 ? "brisk" : "fast";
}
