// The charts of the last five minutes.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { element, setText } from "./dom.js";
import { rate, seconds, short } from "./format.js";

const HEIGHT = 150;
const PERIOD = 300;
// Between two points farther apart than this nobody looked: the line has a gap there.
const GAP = 2;

const CHARTS = [
  { title: "Rate", unit: rate, lines: { in: "rate_in", out: "rate_out" } },
  { title: "Demand", unit: short, lines: { "asked for": "demand", "in flight": "in_flight" } },
  { title: "Latency", unit: seconds, lines: { p50: "p50", p99: "p99" } },
  { title: "Lag", unit: seconds, lines: { lag: "lag" } },
];
const FIELDS = ["at", ...CHARTS.flatMap(({ lines }) => Object.values(lines))];
const COLOURS = ["--first", "--second"];

export function createCharts(root) {
  const charts = CHARTS.map(createChart);
  root.append(...charts.map((chart) => chart.figure));
  let points = [];

  function add(point) {
    points.push(point);
    forget();
  }

  // After a restart the pipeline knows less than the page, which has the time before it as well.
  function merge(history) {
    const told = history.at.map((_, index) =>
      Object.fromEntries(FIELDS.map((field) => [field, history[field][index]])),
    );
    if (!told.length) return;
    const before = points.filter((point) => point.at < told[0].at);
    const after = points.filter((point) => point.at > told.at(-1).at);
    points = [...before, ...told, ...after];
    forget();
  }

  function forget() {
    const oldest = points.at(-1).at - PERIOD;
    const kept = points.findIndex((point) => point.at >= oldest);
    if (kept > 0) points.splice(0, kept);
  }

  function draw() {
    const columns = columnsOf(points);
    for (const chart of charts) chart.draw(columns);
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  return { add, merge, draw };
}

function columnsOf(points) {
  const columns = Object.fromEntries(FIELDS.map((field) => [field, []]));
  let last = Infinity;
  for (const point of points) {
    if (point.at - last > GAP) {
      for (const field of FIELDS) columns[field].push(field === "at" ? last + GAP / 2 : null);
    }
    for (const field of FIELDS) columns[field].push(point[field]);
    last = point.at;
  }
  return columns;
}

function createChart({ title, unit, lines }) {
  const names = Object.keys(lines);
  const fields = Object.values(lines);
  const legend = createLegend(title, names);
  const figure = element("figure", "chart");
  const place = element("div", "plot");
  figure.append(legend.caption, place);
  const plot = new uPlot(options(unit, names, showValues), [[], ...names.map(() => [])], place);
  new ResizeObserver(() => fit()).observe(place);

  function fit() {
    if (place.clientWidth) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  }

  function showValues(chart) {
    const index = chart.cursor.idx ?? chart.data[0].length - 1;
    legend.show(names.map((_, line) => chart.data[line + 1][index]), unit);
  }

  function draw(columns) {
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

  function show(numbers, unit) {
    numbers.forEach((number, line) => setText(values[line], number == null ? "–" : unit(number)));
  }

  return { caption, show };
}

function options(unit, names, onCursor) {
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
      x: { range: (_, __, last) => [(last ?? Date.now() / 1000) - PERIOD, last ?? 0] },
      y: { range: (_, __, most) => [0, Math.max((most ?? 0) * 1.15, 0.001)] },
    },
    axes: [
      { ...axis, size: 24, gap: 4, space: 45, incrs: [60, 120, 300], values: (_, at) => at.map(hourAndMinute) },
      { ...axis, size: 54, gap: 6, space: 34, values: (_, numbers) => numbers.map(unit) },
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
