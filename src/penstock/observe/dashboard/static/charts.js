// The charts: of five minutes as it happens, of an hour and of a day as the pipeline sums them up.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { element, setText } from "./dom.js";
import { counted, rate, seconds, short } from "./format.js";

const HEIGHT = 150;
// Between two points farther apart than the gap nobody looked: the line is broken there.
const PERIODS = [
  { seconds: 300, words: "five minutes", short: "5 min", gap: 2, ticks: [60, 120, 300] },
  { seconds: 3600, words: "hour", short: "1 hour", step: 5, gap: 15, ticks: [600, 900, 1800] },
  { seconds: 86400, words: "24 hours", short: "24 hours", step: 60, gap: 180, ticks: [10800, 21600, 43200] },
];

const CHARTS = [
  { title: "Rate", unit: rate, lines: { in: "rate_in", out: "rate_out" }, counts: ["taken", "given"] },
  {
    title: "Demand",
    unit: (number, unit) => counted(short(number), unit),
    lines: { "asked for": "demand", "in flight": "in_flight" },
    counts: ["between", "between"],
  },
  { title: "Latency", unit: seconds, lines: { p50: "p50", p99: "p99" } },
  { title: "Lag", unit: seconds, lines: { lag: "lag" } },
];
const FIELDS = ["at", ...CHARTS.flatMap(({ lines }) => Object.values(lines))];
const COLOURS = ["--first", "--second"];

export function createCharts(root, title, buttons, onChange) {
  const scale = { period: PERIODS[0] };
  const charts = CHARTS.map((chart) => createChart(chart, scale));
  root.append(...charts.map((chart) => chart.figure));
  let points = [];
  let units = {};
  let longer = null;
  const choices = PERIODS.map((period) => createChoice(period, () => choose(period)));
  buttons.append(...choices.map((choice) => choice.button));
  mark();

  function add({ point, units: now }) {
    points.push(point);
    units = now;
    forget();
    if (longer && point.at - longer.asked >= scale.period.step) void ask();
  }

  function choose(period) {
    scale.period = period;
    longer = period.step ? { asked: 0, points: [] } : null;
    mark();
    if (longer) void ask();
    onChange();
  }

  function mark() {
    setText(title, `Last ${scale.period.words}`);
    for (const choice of choices) choice.mark(scale.period);
  }

  // The pipeline has put the points together; the page keeps those of five minutes itself.
  async function ask() {
    const { period } = scale;
    longer.asked = points.at(-1)?.at ?? 0;
    const answer = await fetch(`history?seconds=${period.seconds}`).catch(() => null);
    if (!answer?.ok) return;
    const told = pointsOf(await answer.json());
    if (scale.period !== period) return;
    longer.points = told;
    onChange();
  }

  // After a restart the pipeline knows less than the page, which has the time before it as well.
  function merge(history) {
    const told = pointsOf(history);
    if (!told.length) return;
    const before = points.filter((point) => point.at < told[0].at);
    const after = points.filter((point) => point.at > told.at(-1).at);
    points = [...before, ...told, ...after];
    forget();
  }

  function forget() {
    const oldest = points.at(-1).at - PERIODS[0].seconds;
    const kept = points.findIndex((point) => point.at >= oldest);
    if (kept > 0) points.splice(0, kept);
  }

  function draw() {
    const columns = columnsOf(longer ? longer.points : points, scale.period.gap);
    for (const chart of charts) chart.draw(columns, units);
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return { add, merge, draw };
}

const pointsOf = (history) =>
  history.at.map((_, index) =>
    Object.fromEntries(FIELDS.map((field) => [field, history[field][index]])),
  );

function createChoice(period, onChoose) {
  const button = element("button", "period", period.short);
  button.type = "button";
  button.addEventListener("click", onChoose);
  return { button, mark: (chosen) => button.setAttribute("aria-pressed", String(chosen === period)) };
}

function columnsOf(points, gap) {
  const columns = Object.fromEntries(FIELDS.map((field) => [field, []]));
  let last = Infinity;
  for (const point of points) {
    if (point.at - last > gap) {
      for (const field of FIELDS) columns[field].push(field === "at" ? last + gap / 2 : null);
    }
    for (const field of FIELDS) columns[field].push(point[field]);
    last = point.at;
  }
  return columns;
}

function createChart({ title, unit, lines, counts = [] }, scale) {
  const names = Object.keys(lines);
  const fields = Object.values(lines);
  const legend = createLegend(title, names);
  let units = {};
  const figure = element("figure", "chart");
  const place = element("div", "plot");
  figure.append(legend.caption, place);
  const plot = new uPlot(options(unit, names, showValues, scale), [[], ...names.map(() => [])], place);
  new ResizeObserver(() => fit()).observe(place);

  function fit() {
    if (place.clientWidth) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  }

  function showValues(chart) {
    const index = chart.cursor.idx ?? chart.data[0].length - 1;
    const numbers = names.map((_, line) => chart.data[line + 1][index]);
    legend.show(numbers, (number, line) => unit(number, units[counts[line]]));
  }

  function draw(columns, now) {
    units = now;
    plot.setData([columns.at, ...fields.map((field) => columns[field])]);
    showValues(plot);
  }

  return { figure, draw };
}

function createLegend(title, names) {
  const caption = element("figcaption");
  caption.append(element("h3", "", title));
  const values = names.map((name, line) => {
    const entry = element("span", `entry line-${line + 1}`);
    const value = element("b", "value", "–");
    entry.append(element("i"), element("span", "", name), value);
    caption.append(entry);
    return value;
  });

  function show(numbers, inWords) {
    numbers.forEach((number, line) => setText(values[line], number == null ? "–" : inWords(number, line)));
  }

  return { caption, show };
}

function options(unit, names, onCursor, scale) {
  const axis = {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: 280,
    height: HEIGHT,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      sync: { key: "time", setSeries: false },
      points: { size: 6 },
    },
    scales: {
      x: {
        range: (_, __, last) => [(last ?? Date.now() / 1000) - scale.period.seconds, last ?? 0],
      },
      y: { range: (_, __, most) => [0, Math.max((most ?? 0) * 1.15, 0.001)] },
    },
    axes: [
      { ...axis, size: 24, gap: 4, space: 45, incrs: () => scale.period.ticks, values: (_, at) => at.map(hourAndMinute) },
      { ...axis, size: 62, gap: 6, space: 34, values: (_, numbers) => numbers.map((number) => unit(number)) },
    ],
    series: [{}, ...names.map((_, line) => seriesOf(line))],
    hooks: { setCursor: [onCursor] },
  };
}

function seriesOf(line) {
  return {
    stroke: () => colour(COLOURS[line]),
    fill: line === 0 ? () => colour("--first-fill") : undefined,
    width: 1.75,
    points: { show: false },
  };
}

const hourAndMinute = (at) => new Date(at * 1000).toTimeString().slice(0, 5);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
